#!/usr/bin/env bash
# Checks that a run keeps the bound of --memory. The peak resident set of the run must stay below
# bound + 96 MiB. It is VmHWM, which both the script and the run itself read.
#
#   bench/memory.sh [BOUND_MIB] [TIMES]    default 256 20: inputs of 20 times the bound
#
# The cases are many distinct keys, a single key, one line of three quarters of the bound, and many
# files. The script checks each answer. The exit code is 1 if a run exceeds its bound.
set -euo pipefail
cd "$(dirname "$0")/.."
bound=${1:-256} times=${2:-20}
over=96 # MiB that the program may take in addition to the bound
files=100000
bytes=$((bound * times << 20))

memory=/dev/shm
[ -d "$memory" ] && [ -w "$memory" ] || memory=${TMPDIR:-/tmp}
work=$(mktemp -d "$memory/mrlocal-memory.XXXXXX")
trap 'rm -rf "$work"' EXIT
go build -o "$work/mrlocal" ./cmd/mrlocal
export LC_ALL=C
failed=0

# peak COMMAND... runs a command and sets hwm to the largest VmHWM that it has seen, in KiB.
peak() {
	"$@" &
	local pid=$! line seen=0
	while line=$(grep VmHWM "/proc/$pid/status" 2>/dev/null); do
		line=${line//[!0-9]/}
		[ "${line:-0}" -gt "$seen" ] && seen=$line
		sleep 0.05
	done
	wait "$pid"
	hwm=$seen
}

# bounded NAME JOB ARGS... runs a job with the bound and prints its peak. The output is in $work/out.
bounded() {
	local name=$1 own begun=$SECONDS
	shift
	peak "$work/mrlocal" run "$@" --memory "${bound}MiB" --tmp "$work" --output-file "$work/out" --report "$work/report" --progress none
	own=$(sed -n 's/.*"peak_rss_bytes": *\([0-9]*\).*/\1/p' "$work/report")
	own=$((own >> 10))
	[ "$own" -gt "$hwm" ] && hwm=$own
	local verdict=ok
	[ "$hwm" -lt $(((bound + over) << 10)) ] || { verdict=BROKEN failed=1; }
	printf '%-46s peak %5d MiB of %d + %d, %3d s  %s\n' "$name" $((hwm >> 10)) "$bound" "$over" $((SECONDS - begun)) "$verdict"
}
# sorted INPUT NAME checks order and size of the output of a sort. This is cheap at any size.
sorted() { sort -c "$work/out" && [ "$(stat -c %s "$work/out")" = "$(stat -c %s "$1")" ] || wrong "$2"; }
wrong() { echo "memory.sh: $1: wrong answer" >&2; exit 1; }

"$work/mrlocal" gen records --size "$bytes" "$work/in"
bounded "sort, many keys, ${times} times the bound" sort "$work/in"
sorted "$work/in" "sort, many keys"
bounded "wordcount, many keys, ${times} times the bound" wordcount "$work/in"
[ "$(wc -l <"$work/out")" -gt $((bytes / 100)) ] || wrong "wordcount, many keys" # each row's id is a word of its own
bounded "grep, every line, ${times} times the bound" grep --lines -v -e 'no such thing' "$work/in"
cmp "$work/in" "$work/out" || wrong "grep, every line"
rm "$work/in"

word=onewordonewordonewordonewordone # 31 letters
yes "$word" | head -c "$bytes" >"$work/in" || true
bounded "sort, one key, ${times} times the bound" sort "$work/in"
cmp "$work/in" "$work/out" || wrong "sort, one key"
bounded "wordcount, one key, ${times} times the bound" wordcount "$work/in"
[ "$(cat "$work/out")" = "$word	$((bytes / 32))" ] || wrong "wordcount, one key"
rm "$work/in"

head -c $((bound * 3 / 4 << 20)) /dev/zero | tr '\0' x >"$work/in"
bounded "sort, one line of three quarters of the bound" sort "$work/in"
cmp <(cat "$work/in" && echo) "$work/out" || wrong "sort, one line"
rm "$work/in" "$work/out"

mkdir "$work/in"
(cd "$work/in" && seq -f 'word%.0f' 1 "$files" | split -l 1 -a 5 -)
bounded "wordcount, $files files" wordcount "$work/in"
[ "$(wc -l <"$work/out")" = "$files" ] || wrong "wordcount, $files files"
exit "$failed"
