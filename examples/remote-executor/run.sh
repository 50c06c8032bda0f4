#!/usr/bin/env bash
# run.sh MUSTER: starts executor.py and runs the suite in this folder against it, twice. The first run
# records what the executor reached; the second replays it, and nobody is asked.
#
# The first start installs pinned packages into .muster/venv and generates the wire's classes from
# executor.proto. Needs python3 with venv and pip, and port 7070.
set -euo pipefail

muster=$(realpath "$1")
cd "$(dirname "$0")"
home=.muster
venv=$home/venv
proto=../../proto/proto

mkdir -p "$home"
if ! cmp -s requirements.txt "$venv/installed"; then
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check --requirement requirements.txt
    cp requirements.txt "$venv/installed"
fi
rm -rf "$home/wire"
mkdir "$home/wire"
"$venv/bin/python" -m grpc_tools.protoc --proto_path=$proto \
    --python_out="$home/wire" --grpc_python_out="$home/wire" $proto/muster/v1/executor.proto

EXECUTOR_TOKEN=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
# The demo customer's password is no secret; it shows how real ones reach a node.
export EXECUTOR_TOKEN SHOP_PASSWORD=${SHOP_PASSWORD:-heather-and-gorse}

# It gets the token and nothing else of this environment: no password.
coproc EXECUTOR {
    exec env -i PATH="$PATH" PYTHONPATH="$home/wire" EXECUTOR_TOKEN="$EXECUTOR_TOKEN" \
        "$venv/bin/python" executor.py 7070
}
executor=$EXECUTOR_PID
trap 'kill "$executor" 2>/dev/null && wait "$executor" || true' EXIT
# It says so when it listens; it has gone where it can't.
read -r listening <&"${EXECUTOR[0]}" || { echo "executor.py did not start" >&2; exit 1; }

say() { printf '\n== %s\n' "$*"; }
figure() { jq -r "$1" .muster/report.json; }
expect() { # expect WHAT ACTUAL WANTED
    if [ "$2" != "$3" ]; then
        echo "run.sh: $1: $2 (wanted $3)" >&2
        exit 1
    fi
}

say "The executor is $listening"
"$muster" cache clear
"$muster" run --cache read-write
expect "goals recorded" "$(figure .totals.cache.saved)" 3
expect "choices of the executor" "$(figure .totals.ai.decisions)" 8

say "Again, and nobody may decide"
"$muster" run --cache read-write --agents none --tag goal
expect "goals replayed" "$(figure .totals.cache.replayed)" 3
expect "choices" "$(figure .totals.ai.decisions)" 0
