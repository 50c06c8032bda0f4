#!/bin/sh
# Serves a fresh Wagtail site for the suite in this folder: serve.sh PORT
#
# The first start installs a pinned Wagtail into .muster/wagtail (about 20 s); later ones reuse it.
# Every start makes a new site with an empty database, so that nothing is left of the run before.
# Needs python3 with venv and pip. The administrator is "editor"; the password comes from the
# environment variable WAGTAIL_PASSWORD.
set -eu

port=${1:?usage: serve.sh PORT}
: "${WAGTAIL_PASSWORD:?set WAGTAIL_PASSWORD to the password that the suite logs in with}"

here=$(cd "$(dirname "$0")" && pwd)
home=$here/.muster/wagtail
venv=$home/venv
version=8.0.1

# A marker, not the folder, says that the installation ended; a lock lets two runs start at once.
mkdir -p "$home"
exec 9>"$home/lock"
flock 9
if [ "$(cat "$venv/installed" 2>/dev/null)" != "$version" ]; then
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check "wagtail==$version"
    echo "$version" >"$venv/installed"
fi
exec 9>&-

# The site of the last start on this port goes now: a killed server can't clean up after itself.
site=$home/site-$port
rm -rf "$site"
mkdir -p "$site"
cd "$site"
"$venv/bin/wagtail" start demo . >/dev/null
# Drafts are saved when a test says so, and nothing is asked of the outside world.
echo 'WAGTAIL_AUTOSAVE_INTERVAL = 0' >>demo/settings/dev.py
echo 'WAGTAIL_ENABLE_UPDATE_CHECK = False' >>demo/settings/dev.py
echo 'WAGTAIL_ENABLE_WHATS_NEW_BANNER = False' >>demo/settings/dev.py
# Several visitors write at once: they wait for each other instead of failing.
cat >>demo/settings/dev.py <<'SETTINGS'
DATABASES["default"]["OPTIONS"] = {
    "timeout": 30,
    "transaction_mode": "IMMEDIATE",
    "init_command": "PRAGMA journal_mode=WAL;",
}
SETTINGS
"$venv/bin/python" manage.py migrate --verbosity 0
DJANGO_SUPERUSER_PASSWORD=$WAGTAIL_PASSWORD "$venv/bin/python" manage.py createsuperuser \
    --noinput --username editor --email editor@example.com >/dev/null

exec "$venv/bin/python" manage.py runserver --noreload --insecure "127.0.0.1:$port"
