#!/usr/bin/env bash
# decide.sh MUSTER: the decision executor on MiniWoB's tasks, ten seeds each, by gate: keyless alone,
# then with the sample service (examples/decision-service) behind gates of 0, .5 and .8. Fails where a
# test passes though the page's own reward says no. TASK=click-test runs one task, AGENTS="keyless" a
# part of the agents.
set -euo pipefail

muster=$(realpath "$1")
cd "$(dirname "$0")"
mkdir -p .muster
select=(${TASK:+--tag "$TASK"})

coproc SERVICE { exec python3 ../../examples/decision-service/service.py 0; }
service=$SERVICE_PID
trap 'kill "$service" 2>/dev/null && wait "$service" || true; rm -f muster-decide.toml' EXIT
# It says its port when it listens.
read -r port <&"${SERVICE[0]}" || { echo "service.py did not start" >&2; exit 1; }
sed "s/127.0.0.1:7080/127.0.0.1:$port/" muster.toml >muster-decide.toml

echo "browser: $(/usr/lib/chromium/chromium-headless-shell --version)"
echo "machine: $(nproc) cores, load $(cut -d' ' -f1-3 /proc/loadavg)"
wrong=0
for agent in ${AGENTS:-keyless service-0 service-50 service-80}; do
    # Tests fail where a goal is not reached: that is what is counted.
    "$muster" run --config muster-decide.toml --slots 3 --no-cache --retries 0 --agent "$agent" "${select[@]}" >.muster/out 2>&1 || [ $? -eq 1 ] || {
        tail -30 .muster/out >&2
        exit 1
    }
    python3 score.py --tasks --events "$agent" || wrong=1
done
echo "load after: $(cut -d' ' -f1-3 /proc/loadavg)"
exit $wrong
