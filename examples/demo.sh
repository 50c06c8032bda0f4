#!/usr/bin/env bash
# demo.sh MUSTER SUITE LEAST: runs a suite twice over two nodes. The first run records; the second,
# in new processes and with a fresh app, replays, and nobody may decide. The figures come from the
# two reports. Fails where fewer than LEAST recordings are saved or the second run decides anything.
set -euo pipefail

muster=$(realpath "$1")
least=$3
cd "$(dirname "$0")/$2"
# The demo customers' passwords are no secrets; they show how real ones reach a node.
export SHOP_PASSWORD=${SHOP_PASSWORD:-heather-and-gorse}
export WAGTAIL_PASSWORD=${WAGTAIL_PASSWORD:-keep-the-gate-shut}
first=.muster/demo-first.json second=.muster/demo-second.json

say() { printf '\n== %s\n' "$*"; }
figure() { jq -r "$2" "$1"; }
expect() { # expect WHAT ACTUAL OP WANTED
    if ! [ "$2" "$3" "$4" ]; then
        echo "demo: $1: $2 (wanted $3 $4)" >&2
        exit 1
    fi
}

say "First run: nothing is recorded"
"$muster" cache clear
"$muster" run --nodes 2 --slots 2 --cache read-write
cp .muster/report.json $first

say "Second run: new processes, a fresh app, and nobody may decide"
# Goals that must be declined have nothing to replay.
"$muster" run --nodes 2 --slots 2 --cache read-write --agents none --exclude-tag declined
cp .muster/report.json $second

saved=$(figure $first .totals.cache.saved)
decided=$(figure $first .totals.ai.decisions)
goals=$(figure $second .totals.cache.goals)
replayed=$(figure $second .totals.cache.replayed)
handed=$(figure $second .totals.cache.handedOff)
missed=$(figure $second .totals.cache.missed)
elsewhere=$(figure $second .totals.cache.replayedOnOtherNode)
calls=$(figure $second .totals.ai.modelCalls)
decisions=$(figure $second .totals.ai.decisions)

say "What the two reports say"
echo "first run:  $saved recordings saved, $decided decisions"
echo "second run: $replayed of $goals goals replayed, $handed handed off, $missed missed, $calls model calls, $decisions decisions"
echo "            $elsewhere of $replayed replayed on a node that did not record them"

expect "recordings saved" "$saved" -ge "$least"
expect "decisions in the first run" "$decided" -gt 0
expect "goals replayed" "$replayed" -eq "$goals"
expect "goals handed off" "$handed" -eq 0
expect "goals missed" "$missed" -eq 0
expect "model calls" "$calls" -eq 0
expect "decisions" "$decisions" -eq 0
expect "goals replayed elsewhere, doubled" "$((elsewhere * 2))" -ge "$replayed"
