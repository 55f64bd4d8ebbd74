#!/usr/bin/env bash
# Compares streaming jobs with Hadoop's local runner and with parallel --pipe. The jobs are cat with
# wc -l, and a word count in Python. Prints a row with seconds and ratios for each.
#
#   bench/streaming.sh [-size 1GiB] [-data DIR] [-slots N]
#
# It needs an otherwise idle machine; the programs run in turn. It measures Hadoop if HADOOP_HOME names
# a directory of hadoop/get, and parallel if GNU parallel is installed.
set -euo pipefail
cd "$(dirname "$0")/.."
size=1GiB data= slots=$(nproc)
while [ $# -gt 0 ]; do
	case $1 in
	-size) size=$2 ;;
	-data) data=$2 ;;
	-slots) slots=$2 ;;
	*) echo "streaming.sh: $1: no such option" >&2; exit 2 ;;
	esac
	shift 2
done
work=$(mktemp -d "${TMPDIR:-/tmp}/mrlocal-bench-streaming.XXXXXX")
trap 'rm -rf "$work"' EXIT
go build -o "$work/mrlocal" ./cmd/mrlocal
input=${data:-$work}/text-$size.txt
[ -e "$input" ] || "$work/mrlocal" gen corpus --size "$size" "$input"
cat > "$work/m.py" <<'PY'
import sys
for line in sys.stdin:
    for word in line.split():
        print(word + "\t1")
PY
cat > "$work/r.py" <<'PY'
import sys
last, n = None, 0
for line in sys.stdin:
    word, _, count = line.rpartition("\t")
    if word != last:
        if last is not None:
            print(last + "\t" + str(n))
        last, n = word, 0
    n += int(count)
if last is not None:
    print(last + "\t" + str(n))
PY

# timed FILE COMMAND... prints the seconds that a command takes, and writes its output to FILE.
timed() {
	local out=$1 from to
	shift
	from=$(date +%s.%N)
	"$@" > "$out" 2> "$work/log" || { echo "streaming.sh: $*:" >&2; tail -n 5 "$work/log" >&2; echo failed; return; }
	to=$(date +%s.%N)
	awk -v a="$from" -v b="$to" 'BEGIN { printf "%.2f", b - a }'
}

# row NAME ARGS... runs one job with mrlocal, Hadoop and parallel, and prints its row. It checks that
# mrlocal and Hadoop give the same result.
row() {
	local name=$1 ours=- theirs=- ratio=- peer=-
	shift
	rm -rf "$work/ours" "$work/theirs"
	ours=$(timed /dev/null "$work/mrlocal" streaming "$@" -input "$input" -output "$work/ours")
	if [ -n "${HADOOP_HOME:-}" ]; then
		theirs=$(timed /dev/null hadoop/local "$@" -input "$input" -output "$work/theirs")
		cat "$work"/ours/part-* | LC_ALL=C sort | cksum > "$work/a"
		cat "$work"/theirs/part-* | LC_ALL=C sort | cksum > "$work/b"
		cmp -s "$work/a" "$work/b" || { echo "streaming.sh: $name: the results differ" >&2; exit 1; }
		ratio=$(awk -v a="$theirs" -v b="$ours" 'BEGIN { printf "%.2f", a / b }')
	fi
	if command -v parallel > /dev/null; then
		peer=$(timed /dev/null parallel -j "$slots" --pipe-part --block 32M -a "$input" "${pipe[@]}")
	fi
	echo "| $name | $ours s | $theirs s | $ratio | $peer s |"
}

echo "| job, $size | mrlocal | Hadoop, local runner | ratio | parallel --pipe, map side alone |"
echo "| --- | ---: | ---: | ---: | ---: |"
pipe=(cat)
row "cat, wc -l" -D mapreduce.job.reduces="$slots" -mapper cat -reducer 'wc -l'
if command -v python3 > /dev/null; then
	pipe=("python3 $work/m.py")
	row "word count in Python" -files "$work/m.py,$work/r.py" -D mapreduce.job.reduces="$slots" -mapper 'python3 m.py' -reducer 'python3 r.py'
fi
