#!/bin/sh
# Serves MiniWoB's pages for the suite in this folder: serve.sh PORT
#
# The first start installs the pinned package, which holds the pages, into .muster/venv.
set -eu

port=${1:?usage: serve.sh PORT}
here=$(cd "$(dirname "$0")" && pwd)
venv=$here/.muster/venv
version=1.1.0

mkdir -p "$here/.muster"
exec 9>"$here/.muster/lock"
flock 9
if [ "$(cat "$venv/installed" 2>/dev/null)" != "$version" ]; then
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps "miniwob==$version"
    echo "$version" >"$venv/installed"
fi
exec 9>&-

exec "$venv/bin/python" "$here/serve.py" "$port"
