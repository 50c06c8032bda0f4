#!/usr/bin/env bash
# Runs the shop's suite twice over two nodes: a first run that records, then a second one, in new
# processes and with a fresh shop, in which nobody may decide. The figures come from report.json.
set -euo pipefail

muster=$(realpath "$1")
cd "$(dirname "$0")"
export SHOP_PASSWORD=${SHOP_PASSWORD:-heather-and-gorse}
mkdir -p .muster

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
cp .muster/report.json .muster/demo-first.json

say "Second run: new processes, a fresh shop, and nobody may decide"
"$muster" run --nodes 2 --slots 2 --cache read-write --agents none --exclude-tag declined
cp .muster/report.json .muster/demo-second.json

first=.muster/demo-first.json second=.muster/demo-second.json
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

expect "recordings saved" "$saved" -ge 12
expect "decisions in the first run" "$decided" -gt 0
expect "goals replayed" "$replayed" -eq "$goals"
expect "goals handed off" "$handed" -eq 0
expect "goals missed" "$missed" -eq 0
expect "model calls" "$calls" -eq 0
expect "decisions" "$decisions" -eq 0
expect "goals replayed elsewhere, doubled" "$((elsewhere * 2))" -ge "$replayed"
