#!/bin/sh
# Starts the service with the settings that keep its memory small and flat (docs/how-to/operations.md, "Memory"). The shell gives way to Node: one
# process, which receives the signals. Arguments are further options of Node.
set -u

case ${1-} in
--help | -h)
  cat <<'TEXT'
Usage: npm start [-- options of Node]

Starts the service. Environment variables configure it (.env.example), such as:
  PORT=3001           where it listens
  DATABASE_URL=...    a PostgreSQL; without it the service runs its own in DATA_DIR (.data)
  LOG_FORMAT=json     lines for programs, also at a terminal
TEXT
  exit 0
  ;;
esac

# Without what CDPATH makes of it: another directory of that name, and its path printed.
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
main=$here/../dist/main.js
export GLIBC_TUNABLES="${GLIBC_TUNABLES:-glibc.malloc.mmap_threshold=8388608:glibc.malloc.hugetlb=1:glibc.malloc.arena_max=2}"

# They have to be there when V8 makes its heap: set later (v8.setFlagsFromString) the first changes nothing. V8 promises none of them, and
# Node ends with exit code 9 at one that it doesn't know.
wanted='--max-semi-space-size=16 --heap-growing-percent=50 --no-allocation-site-pretenuring'
known=$wanted
# shellcheck disable=SC2086 -- words are what is wanted
if ! node $wanted --version >/dev/null 2>&1; then
  known=''
  for option in $wanted; do
    if node "$option" --version >/dev/null 2>&1; then
      known="$known $option"
    else
      echo "$(node --version) does not know $option: starting without it, which costs memory (docs/how-to/operations.md, \"Memory\")" >&2
    fi
  done
fi
# shellcheck disable=SC2086
exec node $known --enable-source-maps --require "$here/thread-priority.cjs" "$@" "$main"
