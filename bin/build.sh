#!/bin/sh
# Brings dist/ up to date before a program of it runs: builds when what a source says has changed since the last build. Where nothing can be built (an
# image without a compiler, a checkout that may not be written), what is there runs.
set -eu

cd -- "$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)"
[ -x node_modules/.bin/tsc ] && [ -d src ] || exit 0
if [ -e dist ]; then [ -w dist ] || exit 0; else [ -w . ] || exit 0; fi

sources='src package.json tsconfig.json tsconfig.build.json bundle.mjs'
built=dist/.built-of

# dist/main.js bears the time at which its build began. By the time of change (ctime): an archive that is unpacked keeps the older times of its files.
# A `find` that doesn't know -cnewer says so, which counts as a change.
if [ -e dist/main.js ]; then
  # shellcheck disable=SC2086 -- a list of paths
  changed=$(find $sources -cnewer dist/main.js 2>&1 | head -n 1)
  [ -n "$changed" ] || exit 0
fi

# What was only touched (checked out to and fro, copied, saved again) says the same as before. A build by other means leaves no such list (bundle.mjs).
mkdir -p dist
looked=$(mktemp dist/.looked.XXXXXX)
trap 'rm -f "$looked"' EXIT
# shellcheck disable=SC2086
sums() { find $sources -type f -exec cksum {} + | LC_ALL=C sort; }
before=$(sums)
if [ -e dist/main.js ] && [ -n "$before" ] && [ "$before" = "$(cat "$built" 2>/dev/null)" ]; then
  touch -r "$looked" dist/main.js
  exit 0
fi
if [ -t 2 ]; then echo 'building: sources have changed' >&2; fi
npm run -s build
if [ "$before" = "$(sums)" ]; then printf '%s\n' "$before" >"$built"; fi
