#!/bin/sh
# Runs a command of package.json: `run.sh start` the service, `run.sh seed` the built program of that name, `run.sh bench/run.ts` a script by its source.
# Brings dist/ up to date before, but for --help, which is to answer at once: a program's own words, or the comment that a script begins with.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
name=$1
shift

help=false
for word; do case $word in --help | -h) help=true ;; esac; done

case $name in
*.ts)
  if $help; then exec sed -n -e '/^\/\/ /!q' -e 's/^\/\/ //p' "$here/../$name"; fi
  sh "$here/build.sh"
  exec "$here/../node_modules/.bin/tsx" "$name" "$@"
  ;;
start)
  $help || sh "$here/build.sh"
  exec sh "$here/start.sh" "$@"
  ;;
*)
  program=$here/../dist/programs/$name.js
  $help && [ -e "$program" ] || sh "$here/build.sh"
  exec node --enable-source-maps "$program" "$@"
  ;;
esac
