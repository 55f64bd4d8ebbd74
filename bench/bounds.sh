#!/usr/bin/env bash
# Shows which programs sort lines and count words within a bound of memory that is far below the size of the data.
#
#   bench/bounds.sh [-memory MIB] [-size SIZE]    default 24 1GiB
#
# Each program gets the bound by its own option, and two threads. The table has its peak of resident memory, its time
# and CPU time, and whether it gave the answer that mrlocal gave. It fails if mrlocal has no right answer, which is
# compared with GNU sort and mawk, or takes more than the bound and 96 MiB.
# Peers: GNU sort and mawk (which has no bound). duckdb, polars (no bound) and chdb (ClickHouse), where python3 or the
# Python that PYTHON names has them. The sort of uutils, where UUTILS names it.
set -euo pipefail
cd "$(dirname "$0")/.."
. bench/measure.sh
export LC_ALL=C
mib=24 size=1GiB
while [ $# -gt 0 ]; do
	case $1 in
	-memory) mib=$2 && shift 2 ;;
	-size) size=$2 && shift 2 ;;
	*) die "unknown option $1; the first lines of bench/bounds.sh list the options" ;;
	esac
done
[ -x /usr/bin/time ] || need /usr/bin/time time
need mawk mawk
workdir
"$work/mrlocal" gen corpus --size "$size" --seed 7 "$work/text"
text=$work/text out=$work/out python=${PYTHON:-python3} failed=0

# line TASK NAME COMMAND...: runs a command that writes $out, and prints a line of the table. The first command of a
# task, which is mrlocal's, makes the answer that later ones must give.
line() {
	local task=$1 name=$2 code=0 answer peak took cpu
	shift 2
	rm -f "$out"
	/usr/bin/time -o "$work/time" -f '%M %e %U %S' "$@" >"$work/stdout" 2>"$work/stderr" || code=$?
	read -r peak took cpu < <(awk 'END { printf "%d %.1f %.1f\n", $1 / 1024, $2, $3 + $4 }' "$work/time")
	case $task in words) [ ! -e "$out" ] || sort -T "$work" -o "$out" "$out" ;; esac
	if [ "$code" != 0 ]; then
		answer="none: exit code $code"
		case $name in mrlocal*) failed=1 ;; esac
	elif [ ! -e "$work/$task" ]; then
		mv "$out" "$work/$task"
		answer=right
		[ "$peak" -le $((mib + 96)) ] || { answer="too much memory" failed=1; }
	elif cmp -s "$out" "$work/$task"; then
		answer=right
	else
		answer=wrong
		case $name in mawk* | GNU*) failed=1 ;; esac
	fi
	echo "| $task | $name | $peak MiB | $took s | $cpu s | $answer |"
}

echo "Text: $size. Bound: $mib MiB. $(nproc) cores. Commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown)."
echo
echo "| work | program | peak | time | CPU | answer |"
echo "| --- | --- | ---: | ---: | ---: | --- |"
own="$work/mrlocal run wordcount --memory ${mib}MiB --tmp $work --progress none"
line sort "mrlocal run sort --memory ${mib}MiB" "$work/mrlocal" run sort --memory "${mib}MiB" --tmp "$work" "$text" -o "$out" --progress none
line sort "GNU sort -S ${mib}M" sort -S "${mib}M" --parallel=2 -T "$work" "$text" -o "$out"
[ -z "${UUTILS:-}" ] || line sort "sort of uutils -S ${mib}M" "$UUTILS" -S "${mib}M" --parallel=2 -T "$work" "$text" -o "$out"
line words "mrlocal run wordcount --memory ${mib}MiB" bash -c "$own $text -o $work/counts && mawk -F'\t' '{ print \$2, \$1 }' $work/counts >$out"
line words "mawk, without a bound" bash -c "mawk '{ for (i = 1; i <= NF; i++) c[\$i]++ } END { for (w in c) print c[w], w }' $text >$out"
for engine in duckdb chdb polars; do
	"$python" -c "import $engine" 2>/dev/null || { echo "left out: $python has no $engine" >&2 && continue; }
	name="$engine, ${mib} MiB"
	[ "$engine" != polars ] || name="polars, without a bound"
	line sort "$name" "$python" bench/databases.py "$engine" sort "$text" "$out" "$mib"
	line words "$name" "$python" bench/databases.py "$engine" words "$text" "$out" "$mib"
done
exit "$failed"
