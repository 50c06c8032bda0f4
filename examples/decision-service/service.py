"""A decision service that goes by words: service.py PORT

It knows no app. An option's weight is the share of its words that stand in the goal; probabilities
are those weights, normalized; the confidence is the distance between the two best. What it takes for
the next operation follows from the elements: the one whose best element fits best.

The wire is described in docs/decision-service.md. It answers one POST at any path.
"""

import json
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

VERSION = 1
MOST = 8 * 1024 * 1024
SHARP = 6  # how steeply probabilities follow weights
ROLES = {"button", "link", "textbox", "checkbox", "radio", "combobox", "tab", "element", "option", "in", "none", "of", "these"}
VERBS = {
    "tap": {"click", "press", "tap", "push", "open", "choose", "select", "focus", "expand", "submit", "go"},
    "type": {"type", "enter", "fill", "write", "input", "put", "search"},
    "select": {"select", "choose", "pick", "set"},
    "check": {"check", "tick", "select", "choose", "mark", "enable"},
    "uncheck": {"uncheck", "untick", "clear", "disable"},
}


def words(text):
    return re.findall(r"\w+", text.lower())


def overlap(label, goal):
    """The share of a label's words that stand in the goal, 0 to 1."""
    own = [word for word in words(label) if word not in ROLES]
    return sum(word in goal for word in own) / len(own) if own else 0.0


def spread(weights):
    """Probabilities by option, and how far the best is from the second best."""
    steep = {option: 10 ** (SHARP * (weight - 1)) for option, weight in weights.items()}
    whole = sum(steep.values())
    shares = {option: weight / whole for option, weight in steep.items()}
    best = sorted(shares.values(), reverse=True)
    return shares, best[0] - (best[1] if len(best) > 1 else 0.0)


def targets(question, state, goal):
    """Weights of the elements of one operation. What was acted on already counts little."""
    done = " ".join(state["history"])
    weights = {}
    for option in question["options"]:
        fits = overlap(option["label"], goal)
        weights[option["id"]] = fits / 4 if option["label"] in done else fits
    weights["none"] = 0.3
    return weights


def best(name, asked, state, goal):
    """How well the best element of an operation fits. An only field needs no name to be meant."""
    done = " ".join(state["history"])
    if asked:
        return max(targets(asked, state, goal).values())
    only = next(element for element in state["elements"] if name in element["operations"])
    if f'{only["role"] or "element"} "{only["label"]}"' in done:
        return 0.0
    return 1.0 if name == "type" else overlap(only["label"], goal)


def operation(request, state, goal):
    """Weights of the operations: by the goal's verbs, and by the best element of each."""
    questions = {question["name"]: question for question in request["questions"]}
    changed = any(line.endswith(": changed") for line in state["history"])
    weights = {"done": 0.8 if changed else 0.0, "blocked": 0.2}
    for option in questions["operation"]["options"]:
        name = option["id"]
        if name in VERBS:
            said = 1.0 if VERBS[name] & goal else 0.5
            weights[name] = said * best(name, questions.get(f"{name}_target"), state, goal)
    if weights.get("type", 0) >= 0.5 and VERBS["type"] & goal:
        # Fields are filled before anything is sent.
        weights["tap"] = weights.get("tap", 0.0) / 2
    return weights


def holds(state):
    """A claim holds if something was done last and it changed the screen."""
    last = state["history"][-1] if state["history"] else ""
    changed = last.endswith(": changed")
    return {"holds": 1.0 if changed else 0.4, "fails": 0.2, "inconclusive": 0.5}


def answer(request):
    state = request["state"]
    goal = set(words(state["goal"]))
    answers = []
    for question in request["questions"]:
        name = question["name"]
        ids = {option["id"] for option in question["options"]}
        if name == "operation":
            weights = operation(request, state, goal)
        elif name.endswith("_target"):
            weights = targets(question, state, goal)
        elif name == "completion":
            weights = holds(state)
        elif name == "verdict":
            shown = set(words(state["page"]["text"]))
            share = sum(word in shown for word in goal) / max(len(goal), 1)
            weights = {"holds": share, "fails": 0.2, "inconclusive": 0.6}
        else:
            weights = {option["id"]: overlap(option["label"], goal) for option in question["options"]}
        shares, apart = spread({option: weights.get(option, 0.0) for option in ids})
        chosen = max(sorted(shares), key=shares.get)
        answers.append({"question": name, "chosen": chosen, "probabilities": shares, "confidence": apart})
    return {"version": VERSION, "answers": answers}


class Service(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        length = int(self.headers.get("content-length", 0))
        if length > MOST:
            return self.say(413, {"error": f"at most {MOST} bytes"})
        try:
            request = json.loads(self.rfile.read(length))
            if request["version"] != VERSION:
                return self.say(400, {"error": f"this service speaks version {VERSION}"})
            said = answer(request)
        except (ValueError, KeyError, TypeError) as error:
            return self.say(400, {"error": f"that is no request: {error!r}"})
        self.say(200, said)

    def say(self, status, body):
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Service)
    print(server.server_address[1], flush=True)
    server.serve_forever()
