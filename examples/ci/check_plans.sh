#!/bin/sh
# Checks transfer plans in continuous integration: compiles each from the layouts in the repository,
# verifies it, compares it with the committed one, and prints what has changed as Markdown.
#
# Usage: check_plans.sh [OPTION...] FOLDER...
#   FOLDER            has train.json, infer.json, topo.json and, once it is committed, plan.fb;
#                     links are refused, and what is no file in place of one
#   --base REVISION   compare with the plan.fb of this git revision; the plan.fb of the working
#                     tree then has to be there and be what its layouts compile to, and each
#                     plan.fb of the repository that only the revision has fails: what has been
#                     moved, as git sees it, is compared with where it was
#   --allow-removed   plans that only the revision has are named and do not fail
#   --fail-if GATES   what must not change, as in `reshardc diff --fail-if`; without it any change
#                     of a plan fails
#   --reports FOLDER  also write an HTML page of each plan there: plans+deepseek.html of
#                     plans/deepseek
#
# Environment: RESHARDC, the program (reshardc); TIME_LIMIT_S, of each of its runs (300);
# MEMORY_LIMIT_KB, of each (8388608).
#
# Nothing of a plan is executed. Exit status: 0 all is as it has to be; 1 a layout, a plan or a
# change is not; 2 something could not be judged.
set -eu

usage() {
  echo "usage: check_plans.sh [--base REVISION [--allow-removed]] [--fail-if GATES]" >&2
  echo "                      [--reports FOLDER] FOLDER..." >&2
  exit 2
}

base="" gates="" reports="" allow_removed=""
while [ $# -gt 0 ]; do
  case $1 in
    --base | --fail-if | --reports)
      [ $# -ge 2 ] || usage
      case $1 in
        --base)
          base=$2
          # A variable that is not set is no revision, and none is no wish to compare with plan.fb.
          case $base in '' | -*) usage ;; esac
          ;;
        --fail-if) gates=$2 ;;
        --reports) reports=$2 ;;
      esac
      shift 2
      ;;
    --allow-removed)
      allow_removed=1
      shift
      ;;
    -*) usage ;;
    *) break ;;
  esac
done
[ $# -ge 1 ] || usage

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
worst=0
# Repositories that have been looked at; folders in them that have been compared.
: >"$work/roots"
: >"$work/seen"

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

# Whether the name of a folder can stand in Markdown and in the name of a page.
is_plain() {
  case $1 in
    *[!A-Za-z0-9._/-]* | -* | '') return 1 ;;
  esac
}

# Whether folder $1 and what is read in it are no links, which could lead to any file of this
# machine for messages to quote, and nothing but files: a pipe would be waited for. Else "$work/log"
# says what is.
is_regular() {
  path=$1
  while [ -n "$path" ]; do
    [ ! -L "$path" ] || { echo "$path is a link" >"$work/log" && return 1; }
    case $path in
      */*) path=${path%/*} ;;
      *) path= ;;
    esac
  done
  for path in train.json infer.json topo.json plan.fb; do
    path=$1/$path
    [ ! -L "$path" ] || { echo "$path is a link" >"$work/log" && return 1; }
    [ ! -e "$path" ] || [ -f "$path" ] || { echo "$path is no file" >"$work/log" && return 1; }
  done
}

# Sets $commit to the base revision in the repository around folder $1.
resolve_base() {
  commit=$(cd "$1" && git rev-parse --verify "$base^{commit}" 2>&1) && return
  printf '%s: %s\n' "$base" "$commit" >"$work/log"
  return 1
}

# Folder $1 of the repository at $2 as it is named from here, or from the root (":/") of that.
shown() {
  here=""
  if [ "$2" = "$(git rev-parse --show-toplevel 2>/dev/null)" ]; then
    here=$(git rev-parse --show-prefix)
    case "$1/" in
      "$here") echo . && return ;;
      "$here"*) echo "${1#"$here"}" && return ;;
    esac
  fi
  echo ":/${1#.}"
}

# The folder of the repository from which most layouts of folder $1 have been moved since $commit;
# or nothing. "." is the root of the repository.
moved_from() {
  (cd "$1" && git -c core.quotePath=off diff --no-ext-diff --no-relative --name-status \
    --find-renames --diff-filter=R "$commit" -- ':(top,glob)**/train.json' \
    ':(top,glob)**/infer.json' ':(top,glob)**/topo.json') 2>"$work/log" >"$work/renames" ||
    return 1
  to=$(cd "$1" && git rev-parse --show-prefix) awk -F '\t' '
    function folder(path) { return match(path, /.*\//) ? substr(path, 1, RLENGTH) : "" }
    folder($3) == ENVIRON["to"] { ++count[folder($2)] }
    END {
      for (name in count) {
        if (count[name] > most || (count[name] == most && name < from)) {
          most = count[name]
          from = name
        }
      }
      if (most > 0) print from == "" ? "." : substr(from, 1, length(from) - 1)
    }' "$work/renames"
}

# The plan to compare folder $1 with as "$work/old.fb". Status 1: there is none; 2: it cannot be
# told, "$work/log" says why.
committed_plan() {
  rm -f "$work/old.fb"
  if [ -z "$base" ]; then
    [ -f "$1/plan.fb" ] || return 1
    cp "$1/plan.fb" "$work/old.fb" 2>"$work/log" || return 2
    return 0
  fi
  resolve_base "$1" || return 2
  old=$(cd "$1" && git rev-parse --show-prefix)plan.fb
  listed=$(cd "$1" && git ls-tree --full-tree --name-only "$commit" "$old" 2>"$work/log") ||
    return 2
  if [ -z "$listed" ]; then
    from=$(moved_from "$1") || return 2
    is_plain "$from" || return 1
    old=${from#.}
    old=${old:+$from/}plan.fb
    listed=$(cd "$1" && git ls-tree --full-tree --name-only "$commit" "$old" 2>"$work/log") ||
      return 2
    [ -n "$listed" ] || return 1
    root=$(cd "$1" && git rev-parse --show-toplevel)
    printf '%s\n' "$root/$from" >>"$work/seen"
    echo "moved, compared with what was in $(shown "$from" "$root"):"
    echo
  fi
  (cd "$1" && git show "$commit:$old") >"$work/old.fb" 2>"$work/log" || return 2
}

# Plans that the base revision has in the repository at $1 and that are no longer there.
check_removed() {
  root=$1
  if ! resolve_base "$root" ||
    ! (cd "$root" && git -c core.quotePath=off ls-tree -r --name-only "$commit") \
      >"$work/listed" 2>"$work/log"; then
    echo "### $root"
    echo
    echo "**could not be judged**: which plans the base revision has"
    quote "$work/log"
    settle 2
    return
  fi
  grep -E '(^|/)plan\.fb"?$' "$work/listed" >"$work/plans" || return 0
  while IFS= read -r plan; do
    [ ! -f "$root/$plan" ] || continue
    case $plan in
      plan.fb) folder=. ;;
      *) folder=${plan%/plan.fb*} ;;
    esac
    if ! is_plain "$folder"; then
      refuse_name
      continue
    fi
    ! grep -Fxq -e "$root/$folder" "$work/seen" || continue
    echo "### $(shown "$folder" "$root")"
    echo
    echo "**removed plan**: only the base revision has it"
    echo
    [ -n "$allow_removed" ] || settle 1
  done <"$work/plans"
}

refuse_name() {
  echo "### a folder whose name has other characters than letters, digits, '.', '_', '-', '/'"
  echo
  settle 2
}

# The page of one plan or of two; the change of the plan has been judged before. No folder has a
# '+' in its name: no two have one page.
write_page() {
  name=$1
  shift
  [ -n "$reports" ] || return 0
  mkdir -p "$reports"
  page=$reports/$(printf '%s' "$name" | tr / +).html
  status=0
  (cd "$work" && run report "$@" -o page.html) >"$work/log" 2>&1 || status=$?
  [ ! -f "$work/page.html" ] || mv "$work/page.html" "$page"
  [ $status = 0 ] || quote "$work/log"
  settle $status
}

check() {
  folder=$1
  status=0
  if ! is_regular "$folder"; then
    echo "**refused**: only folders and files are read"
    quote "$work/log"
    settle 2
    return
  fi
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
  if [ -n "$base" ] && [ ! -f "$folder/plan.fb" ]; then
    echo "**plan.fb is missing**: compile it and commit it."
    echo
    settle 1
  elif [ -n "$base" ]; then
    run diff "$folder/plan.fb" "$work/new.fb" --quiet 2>"$work/log" || status=$?
    if [ $status != 0 ]; then
      echo "**plan.fb is not what its layouts compile to** (exit status $status): compile it again"
      echo "and commit it."
      echo
      settle $status
    fi
  fi
  found=0
  committed_plan "$folder" || found=$?
  if [ $found = 2 ]; then
    echo "**could not be judged**: the plan to compare with cannot be read"
    quote "$work/log"
    settle 2
    return
  fi
  if [ $found != 0 ]; then
    echo "**new plan**: there is none to compare it with"
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
  if ! is_plain "$folder"; then
    refuse_name
    continue
  fi
  folder=$(printf '%s' "$folder" | tr -s / | sed 's/\(.\)\/$/\1/')
  echo "### $folder"
  echo
  check "$folder"
  echo
  # Outside of a repository nothing has been compared, and check() has said so.
  if [ -z "$base" ] || [ ! -d "$folder" ]; then continue; fi
  root=$(cd "$folder" && git rev-parse --show-toplevel 2>/dev/null) || continue
  prefix=$(cd "$folder" && git rev-parse --show-prefix)
  prefix=${prefix%/}
  printf '%s\n' "$root" >>"$work/roots"
  printf '%s\n' "$root/${prefix:-.}" >>"$work/seen"
done
sort -u "$work/roots" >"$work/repositories"
while IFS= read -r root; do
  check_removed "$root"
done <"$work/repositories"
exit $worst
