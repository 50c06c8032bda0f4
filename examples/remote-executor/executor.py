"""A remote executor for Muster that decides by comparing words.

It serves one call a step: the node sends what is wanted, this program asks to see and to do things,
and ends with a verdict. The node checks every action, types the secrets and keeps the budgets; this
program never sees a secret's value. docs/remote-executor.md says what may be sent.

usage: executor.py PORT    with the token that nodes must bring in EXECUTOR_TOKEN
"""

import hmac
import json
import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor

import grpc

from muster.v1 import executor_pb2 as pb
from muster.v1 import executor_pb2_grpc as wire

TOKEN = os.environ["EXECUTOR_TOKEN"]


class Ended(Exception):
    """The node ended the step, or hung up."""


class Unsure(Exception):
    """Words alone do not tell what to do."""


class Talk:
    """One call. Everything that is sent is yielded, so its users say `yield from`."""

    def __init__(self, messages):
        self.messages = messages
        self.seq = 0

    def ask(self, **request):
        """Sends a request and returns the field of its answer that is set."""
        self.seq += 1
        yield pb.FromExecutor(request=pb.Request(seq=self.seq, **request))
        message = next(self.messages, None)
        if message is None or message.HasField("stop"):
            raise Ended
        answer = message.answer
        return getattr(answer, answer.WhichOneof("answer"))

    def observe(self):
        return (yield from self.ask(observe=pb.Observe()))

    def act(self, **verb):
        """Does something; a choice is told first, so that it counts in the step's budget."""
        yield from self.ask(count=pb.Count())
        told = yield from self.ask(act=pb.Action(**verb))
        if isinstance(told, pb.NotDone):
            raise Unsure(told.message)
        # After `MaybeDone` the action must not be repeated. The next look shows what came of it.


def words(text):
    return set(re.findall(r"[a-z0-9£]+", text.lower())) - {"a", "an", "as", "the", "to", "of", "in"}


def find(screen, wanted, fits):
    """The one element whose name shares most words with what is wanted."""
    wanted = words(wanted)
    scored = []
    for element in screen.elements:
        if fits(element) and "disabled" not in element.states:
            own = words(element.name or element.placeholder or element.text)
            if shared := len(own & wanted):
                scored.append((shared, shared / len(own), element))
    scored.sort(key=lambda entry: entry[:2], reverse=True)
    if not scored:
        raise Unsure(f"nothing on the screen is called {' '.join(sorted(wanted))!r}")
    if len(scored) > 1 and scored[0][:2] == scored[1][:2]:
        raise Unsure(f"{scored[0][2].name!r} is there twice")
    return scored[0][2].id


def field(element):
    return element.editable


def clickable(element):
    return element.role in ("link", "button", "radio", "checkbox", "tab")


def reach(begin, talk):
    """Reaches a goal clause by clause: `search for X`, `enter X as FIELD`, `open X`, `press X`."""
    params = json.loads(begin.params_json) or {}
    for clause in re.split(r",\s*(?:and\s+)?|\s+and\s+", begin.instruction):
        screen = yield from talk.observe()
        if found := re.match(r"(?i)search for \{(\w+)\}", clause):
            box = find(screen, "search", field)
            yield from talk.act(type=pb.TypeText(element=box, text=params[found[1]]))
            yield from talk.act(press=pb.Press(element=box, key="Enter"))
        elif found := re.match(r"(?i)enter \{(\w+)\} as (.+)", clause):
            value, box = params[found[1]], find(screen, found[2], field)
            if isinstance(value, dict):  # {"kind": "secret", "name": …}
                secret = pb.TypeSecret(element=box, name=value["name"])
                yield from talk.act(type_secret=secret)
            else:
                yield from talk.act(type=pb.TypeText(element=box, text=value))
        elif found := re.match(r"(?i)(?:open|press) (.+)", clause):
            target = find(screen, found[1], clickable)
            yield from talk.act(tap=pb.OnElement(element=target))
        else:
            raise Unsure(f"{clause!r} is none of the things that are understood here")
    yield pb.FromExecutor(
        verdict=pb.Verdict(status=pb.Verdict.PASSED, summary=f"did: {begin.instruction}")
    )


def judge(begin, talk):
    """A statement holds where all that it quotes is on the screen."""
    screen = yield from talk.observe()
    quoted = re.findall(r'"([^"]+)"', begin.instruction)
    missing = [text for text in quoted if text not in screen.text]
    if not quoted:
        answer, why = pb.Judgment.INCONCLUSIVE, "it quotes nothing to look for"
    elif missing:
        answer, why = pb.Judgment.FAILS, f"not on the screen: {', '.join(missing)}"
    else:
        answer, why = pb.Judgment.HOLDS, "all that it quotes is on the screen"
    yield pb.FromExecutor(judgment=pb.Judgment(answer=answer, explanation=why))


def read(begin, talk):
    """Reads the first element of the role that is asked for, e.g. `the heading`."""
    screen = yield from talk.observe()
    asked = words(begin.instruction)
    texts = [element.name or element.text for element in screen.elements if element.role in asked]
    data = json.dumps(texts[0]) if texts else None
    yield pb.FromExecutor(extracted=pb.Extracted(data_json=data))


class Executor(wire.ExecutorServiceServicer):
    def Step(self, messages, context):
        brought = dict(context.invocation_metadata()).get("authorization", "")
        if not hmac.compare_digest(brought, f"Bearer {TOKEN}"):
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "bring EXECUTOR_TOKEN as bearer token")
        begin = next(messages).begin
        asked = {pb.ASK_ACT: reach, pb.ASK_ASSERT: judge, pb.ASK_EXTRACT: read}[begin.ask]
        try:
            yield from asked(begin, Talk(messages))
        except Unsure as unsure:
            yield pb.FromExecutor(
                verdict=pb.Verdict(
                    status=pb.Verdict.BLOCKED, summary=str(unsure), code="AUTOMATION_UNSUPPORTED"
                )
            )
        except Ended:
            pass


def main():
    server = grpc.server(ThreadPoolExecutor(max_workers=16))
    wire.add_ExecutorServiceServicer_to_server(Executor(), server)
    port = server.add_insecure_port(f"127.0.0.1:{sys.argv[1]}")
    server.start()
    print(f"listening on 127.0.0.1:{port}", flush=True)
    server.wait_for_termination()


if __name__ == "__main__":
    main()
