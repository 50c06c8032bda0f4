#!/usr/bin/env bash
# run.sh MUSTER: what a goal's cold run sends to a model, in input tokens and calls, with an oracle
# that knows the right calls; beside it the same goals through @playwright/mcp; then the warm run.
# Fails where a cold goal takes more than 5,000 tokens or 3 calls in the mean, or a warm one any.
set -euo pipefail

muster=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
oracle=
cleanup() {
    [ -z "$oracle" ] || kill "$oracle" 2>/dev/null || true
    rm -rf "$work"
}
trap cleanup EXIT
export SHOP_PASSWORD=heather-and-gorse

browser=/usr/lib/chromium/chromium-headless-shell
echo "browser: $($browser --version)"
echo "machine: $(nproc) cores, load $(cut -d' ' -f1-3 /proc/loadavg)"
cd "$here"
npm install --silent --no-package-lock --no-audit --no-fund

node oracle.mjs "$work/port" &
oracle=$!
for _ in $(seq 100); do
    [ -s "$work/port" ] && break
    sleep 0.1
done

prepare() { # prepare NAME FOLDER: a copy of a suite whose goals the oracle decides
    mkdir "$work/$1"
    cp -r "$2/." "$work/$1/"
    rm -rf "$work/$1/.muster"
    cat >>"$work/$1/muster.toml" <<TOML

[agents.default]
executor = "agent"
model = { name = "oracle", base-url = "http://127.0.0.1:$(cat "$work/port")/v1" }
TOML
}
goals() { # goals NAME OUT: runs a suite's goals and keeps its report
    (cd "$work/$1" && "$muster" run --slots 2 --cache read-write --retries 0 --tag goal --exclude-tag declined) >"$work/out" 2>&1 || {
        cat "$work/out" >&2
        exit 1
    }
    cp "$work/$1/.muster/report.json" "$work/$2-$1.json"
}

prepare shop "$here/../../examples/shop"
prepare hostile "$here/hostile"
for run in cold warm; do
    for suite in shop hostile; do goals "$suite" "$run"; done
done
echo "asking @playwright/mcp $(jq -r '.dependencies["@playwright/mcp"]' package.json) the same (about a minute)"
node peer.mjs "$browser" "$muster" demo-app >"$work/peer.jsonl"

steps='[.units[].attempts[].steps[] | select(.agent.call == "act") | .agent | {goal: .instruction, calls: .usage.modelCalls, tokens: .usage.inputTokens}]'
for run in cold warm; do
    jq -s "map($steps) | add" "$work/$run-shop.json" "$work/$run-hostile.json" >"$work/$run.json"
done
jq -rn --slurpfile cold "$work/cold.json" --slurpfile warm "$work/warm.json" --slurpfile peer "$work/peer.jsonl" '
    def mean: add / length | round;
    def row: "\(.calls) calls \(.tokens) tokens";
    ($cold[0] | map(. as $own | $peer | map(. as $p | select($own.goal | startswith($p.goal))) | first | {$own, peer: .})) as $pairs
    | ($pairs[] | "\(.own | row), peer \(.peer | row): \(.own.goal)"),
      "",
      "cold: \($pairs | length) goals, mean \([$pairs[].own.tokens] | mean) tokens and \(([$pairs[].own.calls] | add / length * 10 | round) / 10) calls a goal; most \([$pairs[].own.tokens] | max) tokens, \([$pairs[].own.calls] | max) calls",
      "peer: mean \([$pairs[].peer.tokens] | mean) tokens; ratio \(([$pairs[].peer.tokens] | add) / ([$pairs[].own.tokens] | add) * 10 | round / 10)",
      "warm: \([$warm[0][].calls] | add) calls, \([$warm[0][].tokens] | add) tokens over \($warm[0] | length) goals"'
jq -en --slurpfile cold "$work/cold.json" --slurpfile warm "$work/warm.json" '
    ($cold[0] | length) == 17 and ($warm[0] | length) == 17
    and ([$cold[0][].tokens] | add / 17) <= 5000 and ([$cold[0][].calls] | add / 17) <= 3
    and ([$warm[0][].calls] | add) == 0' >/dev/null || {
    echo "bench-tokens: over 5000 tokens or 3 calls a goal cold, or a call warm" >&2
    exit 1
}
