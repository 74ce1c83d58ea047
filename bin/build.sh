#!/bin/sh
# Brings dist/ up to date before a program of it runs: builds when a source has changed since the last build. Where nothing can be built (an image
# without a compiler, a checkout that may not be written), what is there runs.
set -eu

cd -- "$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)"
[ -x node_modules/.bin/tsc ] && [ -d src ] || exit 0
if [ -e dist ]; then [ -w dist ] || exit 0; else [ -w . ] || exit 0; fi

# dist/main.js bears the time at which its build began. By the time of change (ctime): an archive that is unpacked keeps the older times of its files.
# A `find` that doesn't know -cnewer says so, which counts as a change.
if [ -e dist/main.js ]; then
  changed=$(find src package.json tsconfig.json tsconfig.build.json bundle.mjs -cnewer dist/main.js 2>&1 | head -n 1)
  [ -n "$changed" ] || exit 0
fi
exec npm run -s build
