"""Serves MiniWoB's pages, one seeded episode a visit, and keeps the rewards that they give.

`/TASK?seed=N` is the task's own page with episode.js added. What a page's own judge says of an
episode is posted to `/reward` and appended to .muster/rewards.jsonl: `{"task","seed","reward"}`.
The file begins anew with every start of this program.
"""

import json
import pathlib
import sys
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from urllib.parse import urlsplit

HERE = pathlib.Path(__file__).parent
PAGES = pathlib.Path(find_spec("miniwob").submodule_search_locations[0]) / "html"
EPISODE = (HERE / "episode.js").read_text()
REWARDS = HERE / ".muster" / "rewards.jsonl"
WRITING = threading.Lock()


class Pages(SimpleHTTPRequestHandler):
    def __init__(self, *args):
        super().__init__(*args, directory=str(PAGES))

    def do_GET(self):
        path = urlsplit(self.path).path
        task = PAGES / "miniwob" / f"{path.strip('/')}.html"
        if path.count("/") == 1 and task.is_file():
            # The page's own addresses are relative to its folder. A <base> would turn the fragments of
            # its tabs into other pages.
            page = task.read_text().replace('"../', '"/').replace("'../", "'/")
            self.answer(200, "text/html; charset=utf-8", f"{page}<script>{EPISODE}</script>")
        elif path == "/":
            self.answer(200, "text/plain", "MiniWoB")
        else:
            super().do_GET()

    def do_POST(self):
        length = int(self.headers.get("content-length", 0))
        if self.path != "/reward" or length > 1000:
            return self.answer(404, "text/plain", "")
        told = json.loads(self.rfile.read(length))
        line = json.dumps({key: told[key] for key in ("task", "seed", "reward")})
        with WRITING, REWARDS.open("a") as rewards:
            rewards.write(line + "\n")
        self.answer(204, "text/plain", "")

    def answer(self, status, kind, text):
        body = text.encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    REWARDS.parent.mkdir(exist_ok=True)
    REWARDS.write_text("")
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Pages).serve_forever()
