#!/usr/bin/env bash
# Measures the cost of --resume. It makes pairs of runs, one with --resume and one without. All maps of
# both spill.
#
#   bench/resume.sh [-size SIZE] [-pairs N] [-memory SIZE] [-dir DIR] [-bin FILE]
#
#   -size    size of the records to sort; 512MiB
#   -pairs   number of pairs, of which medians are taken; 11
#   -memory  memory bound, so small that the run without --resume spills as well; 32MiB
#   -dir     directory for input, spills and result; TMPDIR or /tmp. It should be on a disk.
#   -bin     a built mrlocal; without it the script builds one
#
# It prints the medians of wall time, processor time and system time, and the medians of the
# differences in a pair. On a busy machine these vary less than the difference of the medians. The last
# lines are for a bound with which everything fits in memory. Then a run without --resume spills nothing.
#
# If a file system is mounted with discard, each removal of a file waits until the disk has freed its
# blocks. Only synced spills have blocks. So the script prints a note if -dir has this option.
set -euo pipefail
cd "$(dirname "$0")/.."
. bench/measure.sh
size=512MiB pairs=11 memory=32MiB dir=${TMPDIR:-/tmp} bin=
while [ $# -gt 0 ]; do
	case $1 in
	-size) size=$2 && shift 2 ;;
	-pairs) pairs=$2 && shift 2 ;;
	-memory) memory=$2 && shift 2 ;;
	-dir) dir=$2 && shift 2 ;;
	-bin) bin=$2 && shift 2 ;;
	*) die "unknown option $1; the first lines of bench/resume.sh list the options" ;;
	esac
done
work=$(mktemp -d "$dir/mrlocal-resume.XXXXXX")
trap 'rm -rf "$work"' EXIT
if [ -n "$bin" ]; then cp "$bin" "$work/mrlocal"; else go build -o "$work/mrlocal" ./cmd/mrlocal; fi
"$work/mrlocal" gen records --size "$size" --seed 7 "$work/records"
TIMEFORMAT='%R %U %S'

# timed FILE COMMAND... appends wall time, processor time and system time of a command to FILE, in
# seconds.
timed() {
	local to=$1
	shift
	rm -f "$work/out"
	{ time "$@" >"$work/stdout" 2>"$work/stderr" || { cat "$work/stderr" >&2; die "failed: $*"; }; } 2>>"$work/times"
	tail -n 1 "$work/times" | awk '{ print $1, $2 + $3, $3 }' >>"$to"
}

plain() { mr sort "$work/records" -o "$work/out" --memory "$1" --tmp "$work"; }
resumed() { mr sort "$work/records" -o "$work/out" --memory "$1" --resume "$work/kept"; }

# compare MEMORY runs the pairs with that bound and prints the three lines.
compare() {
	local i column name
	: >"$work/plain" && : >"$work/resumed"
	plain "$1" && md5sum <"$work/out" >"$work/sum" && resumed "$1"
	md5sum <"$work/out" | cmp -s - "$work/sum" || die "the results differ"
	for ((i = 0; i < pairs; i++)); do
		# The order changes from pair to pair, because a run leaves work for the disk to the next one.
		if ((i % 2)); then timed "$work/plain" plain "$1" && timed "$work/resumed" resumed "$1"; else timed "$work/resumed" resumed "$1" && timed "$work/plain" plain "$1"; fi
	done
	for column in 1 2 3; do
		name=(wall processor system)
		awk -v c=$column '{ print $c }' "$work/plain" | median >"$work/a"
		awk -v c=$column '{ print $c }' "$work/resumed" | median >"$work/b"
		paste -d' ' "$work/plain" "$work/resumed" | awk -v c=$column '{ print ($(c + 3) / $c - 1) * 100 }' | median >"$work/c"
		awk -v n="${name[column - 1]}" -v a="$(cat "$work/a")" -v b="$(cat "$work/b")" -v c="$(cat "$work/c")" \
			'BEGIN { printf "%-10s %7.3f s without, %7.3f s with --resume, %+5.1f %% in a pair\n", n, a, b, c }'
	done
}

echo "sort of $size of records, --memory $memory, $pairs pairs, $(nproc) cores, load $(cut -d' ' -f1 /proc/loadavg), commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown)"
! findmnt -no OPTIONS -T "$dir" 2>/dev/null | grep -qw discard || echo "the file system of $dir is mounted with discard: removing synced spills waits for the disk"
compare "$memory"
echo "the same with --memory 4GiB: all would fit"
compare 4GiB
