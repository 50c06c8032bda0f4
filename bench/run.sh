#!/usr/bin/env bash
# run.sh MUSTER: what replaying saves. The shop's goals are run live, recorded and replayed, in
# turn, by the same binary; figures are whole runs of one command, in seconds, with their ratio.
# Build with --release for figures to quote.
set -euo pipefail

muster=$(realpath "$1")
rounds=${ROUNDS:-3}
cd "$(dirname "$0")/../examples/shop"
export SHOP_PASSWORD=heather-and-gorse

browser=$(/usr/lib/chromium/chromium-headless-shell --version 2>/dev/null || echo "no headless shell")
echo "browser: $browser"
echo "machine: $(nproc) cores, load $(cut -d' ' -f1-3 /proc/loadavg)"

timed() { # timed LABEL ARG...: seconds of one run; fails with its output where the run fails
    local label=$1 start end out
    shift
    start=$(date +%s.%N)
    out=$("$muster" run --nodes 2 --slots 2 --tag goal "$@" 2>&1) || {
        echo "$out" >&2
        echo "bench: the $label run failed" >&2
        exit 1
    }
    end=$(date +%s.%N)
    awk -v a="$start" -v b="$end" 'BEGIN { printf "%.2f", b - a }'
}

"$muster" cache clear >/dev/null
timed recording --cache read-write >/dev/null
for round in $(seq "$rounds"); do
    live=$(timed live --no-cache)
    replayed=$(timed replayed --cache read-only --agents none)
    awk -v n="$round" -v l="$live" -v r="$replayed" \
        'BEGIN { printf "round %d: live (keyless decider) %s s, replayed %s s, replayed/live %.2f\n", n, l, r, r / l }'
done
echo "load after: $(cut -d' ' -f1-3 /proc/loadavg)"
