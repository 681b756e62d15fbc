#!/bin/sh
# Checks transfer plans in continuous integration: compiles each from the layouts in the repository,
# verifies it, compares it with the committed one, and prints what has changed as Markdown.
#
# Usage: check_plans.sh [OPTION...] FOLDER...
#   FOLDER            has train.json, infer.json, topo.json and, once it is committed, plan.fb
#   --base REVISION   compare with the plan.fb of this git revision; the plan.fb of the working
#                     tree then has to be what its layouts compile to
#   --fail-if GATES   what must not change, as in `reshardc diff --fail-if`; without it any change
#                     of a plan fails
#   --reports FOLDER  also write an HTML page of each plan there
#
# Environment: RESHARDC, the program (reshardc); TIME_LIMIT_S, of each of its runs (300);
# MEMORY_LIMIT_KB, of each (8388608).
#
# Nothing of a plan is executed. Exit status: 0 all is as it has to be; 1 a layout, a plan or a
# change is not; 2 something could not be judged.
set -eu

usage() {
  echo "usage: check_plans.sh [--base REVISION] [--fail-if GATES] [--reports FOLDER] FOLDER..." >&2
  exit 2
}

base= gates= reports=
while [ $# -gt 0 ]; do
  case $1 in
    --base | --fail-if | --reports)
      [ $# -ge 2 ] || usage
      case $1 in
        --base) base=$2 ;;
        --fail-if) gates=$2 ;;
        --reports) reports=$2 ;;
      esac
      shift 2
      ;;
    -*) usage ;;
    *) break ;;
  esac
done
[ $# -ge 1 ] || usage

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
worst=0

run() {
  (
    ulimit -v "${MEMORY_LIMIT_KB:-8388608}"
    exec timeout "${TIME_LIMIT_S:-300}" "${RESHARDC:-reshardc}" "$@"
  )
}

# The worse of the exit statuses so far and $1: any 1 is a "no", whatever else could not be judged.
# A time limit (124), a signal or a bug of the program (3) is no judgement.
settle() {
  case $1 in
    0) ;;
    1) worst=1 ;;
    *) [ "$worst" = 1 ] || worst=2 ;;
  esac
}

# What a program said, as a code block: indented lines cannot end it, whatever is in them.
quote() {
  echo
  head -n 60 "$1" | cut -c 1-400 | sed 's/^/    /'
  echo
}

# The committed plan of folder $1 as "$work/old.fb"; false when there is none.
committed_plan() {
  rm -f "$work/old.fb"
  if [ -z "$base" ]; then
    [ -f "$1/plan.fb" ] && cp "$1/plan.fb" "$work/old.fb"
  else
    (cd "$1" && git show "$base:./plan.fb") >"$work/shown" 2>/dev/null &&
      mv "$work/shown" "$work/old.fb"
  fi
}

# The page of one plan or of two; the change of the plan has been judged before.
write_page() {
  name=$1
  shift
  [ -n "$reports" ] || return 0
  mkdir -p "$reports"
  page=$reports/$(printf '%s' "$name" | tr / -).html
  status=0
  (cd "$work" && run report "$@" -o page.html) >"$work/log" 2>&1 || status=$?
  [ ! -f "$work/page.html" ] || mv "$work/page.html" "$page"
  [ $status = 0 ] || quote "$work/log"
  settle $status
}

check() {
  folder=$1
  status=0
  run compile "$folder/train.json" "$folder/infer.json" "$folder/topo.json" -o "$work/new.fb" \
    >"$work/summary" 2>"$work/log" || status=$?
  if [ $status != 0 ]; then
    echo "**does not compile** (exit status $status)"
    quote "$work/log"
    settle $status
    return
  fi
  if [ -s "$work/log" ]; then
    echo "**compiles with warnings**"
    quote "$work/log"
  fi
  run verify "$work/new.fb" --inputs "$folder/train.json" "$folder/infer.json" "$folder/topo.json" \
    >"$work/log" 2>&1 || status=$?
  if [ $status != 0 ]; then
    echo "**not verified** (exit status $status)"
    quote "$work/log"
    settle $status
    return
  fi
  if [ -n "$base" ] && [ -f "$folder/plan.fb" ]; then
    run diff "$folder/plan.fb" "$work/new.fb" --quiet 2>"$work/log" || status=$?
    if [ $status != 0 ]; then
      echo "**plan.fb is not what its layouts compile to** (exit status $status): compile it again"
      echo "and commit it."
      echo
      settle $status
    fi
  fi
  if ! committed_plan "$folder"; then
    echo "**new plan**"
    quote "$work/summary"
    write_page "$folder" new.fb
    return
  fi
  status=0
  (cd "$work" && run diff old.fb new.fb --format markdown ${gates:+--fail-if "$gates"}) \
    >"$work/change" 2>"$work/log" || status=$?
  cat "$work/change"
  [ ! -s "$work/log" ] || quote "$work/log"
  settle $status
  write_page "$folder" old.fb new.fb
}

for folder in "$@"; do
  folder=${folder%/}
  # The name goes into Markdown and into the name of a page.
  case $folder in
    *[!A-Za-z0-9._/-]* | -* | '')
      echo "### a folder whose name has other characters than letters, digits, '.', '_', '-', '/'"
      settle 2
      continue
      ;;
  esac
  echo "### $folder"
  echo
  check "$folder"
  echo
done
exit $worst
