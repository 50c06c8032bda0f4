#!/usr/bin/env bash
# decide.sh MUSTER: the decision executor on MiniWoB's tasks, ten seeds each, by gate. Fails where a
# test passes though the page's own reward says no. TASK=click-test runs one task.
set -euo pipefail

muster=$(realpath "$1")
cd "$(dirname "$0")"
mkdir -p .muster
select=(${TASK:+--tag "$TASK"})

echo "browser: $(/usr/lib/chromium/chromium-headless-shell --version)"
echo "machine: $(nproc) cores, load $(cut -d' ' -f1-3 /proc/loadavg)"
for agent in default; do
    # Tests fail where a goal is not reached: that is what is counted.
    "$muster" run --slots 3 --no-cache --retries 0 --agent "$agent" "${select[@]}" >.muster/out 2>&1 || [ $? -eq 1 ] || {
        tail -30 .muster/out >&2
        exit 1
    }
    python3 score.py --tasks --events "$agent"
done
echo "load after: $(cut -d' ' -f1-3 /proc/loadavg)"
