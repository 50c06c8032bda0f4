"""Joins a report with the rewards that the pages gave: score.py [--tasks] LABEL

covered   the executor claimed to have reached the goal, of all episodes
right     the page's own reward is full, of those claimed
denied    claimed, but the page says no: the check after the goal failed the test
wrong     the test passed although the page says no: must be 0, and the exit code is 1 where it isn't
decision  median milliseconds of a goal divided by its decisions and model calls
"""

import json
import pathlib
import statistics
import sys
from collections import defaultdict

HERE = pathlib.Path(__file__).parent / ".muster"


def main():
    label = sys.argv[-1]
    report = json.loads((HERE / "report.json").read_text())
    rewards = {}
    for line in (HERE / "rewards.jsonl").read_text().splitlines():
        told = json.loads(line)
        rewards[told["task"], told["seed"]] = told["reward"]

    tasks = defaultdict(lambda: defaultdict(int))
    times, stalls, unfit = [], defaultdict(int), defaultdict(int)
    for unit in report["units"]:
        task, seed = unit["titlePath"][0], unit["titlePath"][1].removeprefix("seed ")
        full = rewards.get((task, seed), 0) == 1
        count = tasks[task]
        count["episodes"] += 1
        for step in (step for attempt in unit["attempts"] for step in attempt["steps"] if step.get("agent")):
            claimed = step["status"] == "passed"
            count["claimed"] += claimed
            count["right"] += claimed and full
            used = step["agent"]["usage"]
            asked = used["decisions"] + used["modelCalls"]
            if asked:
                times.append(step["durationMs"] / asked)
            for event in step["agent"].get("events", []):
                stalls[event["kind"], event["name"]] += 1
            if step.get("problem"):
                unfit[step["problem"]["code"]] += 1
        count["wrong"] += unit["status"] in ("passed", "flaky") and not full
        if unit["status"] not in ("passed", "flaky", "failed"):
            unfit[f"test {unit['status']}"] += 1

    if "--tasks" in sys.argv:
        for task, count in sorted(tasks.items()):
            print(f"  {task:26} {count['claimed']:3} of {count['episodes']} claimed, {count['right']:3} right")
    episodes, claimed, right, wrong = (
        sum(count[key] for count in tasks.values()) for key in ("episodes", "claimed", "right", "wrong")
    )
    share = lambda part, whole: f"{100 * part / whole:.0f}%" if whole else "-"
    print(
        f"{label}: {len(tasks)} tasks, {episodes} episodes: covered {claimed} ({share(claimed, episodes)}), "
        f"right {right} ({share(right, claimed)} of those), denied by the page {claimed - right}, "
        f"wrong passes {wrong}; {statistics.median(times):.0f} ms a decision"
    )
    if "--events" in sys.argv:
        for (kind, name), times_seen in sorted(stalls.items()):
            print(f"  {kind} {name}: {times_seen}")
        for code, times_seen in sorted(unfit.items()):
            print(f"  ended with {code}: {times_seen}")
    sys.exit(wrong > 0)


main()
