#!/usr/bin/env bash
# Brings what Muster needs from Debian's packages and says what it does. Does nothing where all is
# there. `install.sh python` also brings what the examples in Python need.
set -euo pipefail

missing=()
need() { # need PACKAGE TEST...
    local package=$1
    shift
    "$@" >/dev/null 2>&1 || missing+=("$package")
}

need gcc sh -c 'command -v cc'
need libc6-dev test -e /usr/include/stdlib.h
need chromium-headless-shell test -x /usr/lib/chromium/chromium-headless-shell
need fonts-liberation sh -c 'fc-list 2>/dev/null | grep -qi liberation || test -d /usr/share/fonts/truetype/liberation'
need jq sh -c 'command -v jq'
need procps sh -c 'command -v pgrep'

if [ "${1:-}" = python ]; then
    need python3 sh -c 'command -v python3'
    need python3-venv python3 -c 'import ensurepip, venv'
fi

command -v cargo >/dev/null || {
    echo "muster: no cargo on PATH; install the Rust toolchain with rustup, then run this again" >&2
    exit 1
}
[ ${#missing[@]} -eq 0 ] && exit 0

echo "muster: installing Debian packages: ${missing[*]}"
if [ "$(id -u)" -eq 0 ]; then sudo=(); else sudo=(sudo); fi
export DEBIAN_FRONTEND=noninteractive
"${sudo[@]}" apt-get update -qq
"${sudo[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
echo "muster: done"
