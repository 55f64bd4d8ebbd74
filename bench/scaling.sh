#!/usr/bin/env bash
# Measures how time grows with the input, and shrinks with a second core.
#
#   bench/scaling.sh [-sizes 'SIZE…'] [-jobs 'JOB…'] [-dir DIR] FILE
#
#   -sizes   sizes of the generated text ('' only prints the table); '1MiB 8MiB 64MiB 512MiB 1GiB 2GiB 4GiB 8GiB'
#   -jobs    jobs to measure; 'sort wordcount grep'
#   -dir     directory for data and outputs that are too large for /dev/shm; $TMPDIR or /tmp
#
# Runs each job on the same text on one core and on two. It appends lines "job, cores, MiB, seconds"
# to FILE. The seconds are the median of 5 runs, of 3 from 512 MiB on, or one run from 4 GiB on.
# Then it prints all lines of FILE as a table. If FILE has several lines for a job, cores and size,
# the last one counts. docs/scaling.tsv is such a file; `go test ./bench -run Scaling -rewrite`
# draws it.
set -euo pipefail
cd "$(dirname "$0")/.."
. bench/measure.sh
export LC_ALL=C

sizes='1MiB 8MiB 64MiB 512MiB 1GiB 2GiB 4GiB 8GiB' jobs='sort wordcount grep' dir=${TMPDIR:-/tmp} file=
while [ $# -gt 0 ]; do
	case $1 in
	-sizes) sizes=$2 && shift 2 ;;
	-jobs) jobs=$2 && shift 2 ;;
	-dir) dir=$2 && shift 2 ;;
	-*) die "unknown option $1; the first lines of bench/scaling.sh list the options" ;;
	*) file=$1 && shift ;;
	esac
done
[ -n "$file" ] || die "name the FILE for the results"
command -v taskset >/dev/null || die "taskset is missing"
workdir

# on runs a job on $cores. mrlocal makes its slots for the cores that it may use.
on() { taskset -c "$cores" "$work/mrlocal" run "$@" --progress none; }
sort_job() { on sort "$place/text" -o "$place/out" --tmp "$place"; }
wordcount_job() { on wordcount "$place/text" -o "$place/out" --tmp "$place"; }
grep_job() { on grep -c -e '[A-Z][a-z]+ing\b' "$place/text" >/dev/null; }

for size in $sizes; do
	place=$work
	mib=$(numfmt --from=iec-i --to-unit=Mi "${size%B}")
	if [ $((mib * 6)) -gt "$(df -m --output=avail "$work" | tail -n 1)" ]; then
		place=$(mktemp -d "$dir/mrlocal-scaling.XXXXXX")
		trap 'rm -rf "$work" "$place"' EXIT
	fi
	"$work/mrlocal" gen corpus --size "$size" --seed 7 "$place/text"
	runs=$((mib < 512 ? 5 : mib < 4096 ? 3 : 1))
	for job in $jobs; do
		for cores in 0 0,1; do
			cat "$place/text" >/dev/null
			for ((i = 0; i < runs; i++)); do rm -f "$place/out" && micros ${job}_job; done | median |
				awk -v j="$job" -v c="$((${#cores} / 2 + 1))" -v m="$mib" '{ printf "%s\t%d\t%d\t%.4f\n", j, c, m, $1 / 1e6 }' >>"$file"
		done
	done
	rm -f "$place/text" "$place/out"
	[ "$place" = "$work" ] || rmdir "$place"
done

awk -F '\t' '
	{ seconds[$1, $2, $3] = $4; if (!($3 in seen)) { seen[$3] = 1; size[n++] = $3 } }
	END {
		print "| input | sort, 1 core | 2 cores | gain | wordcount, 1 core | 2 cores | gain | grep, 1 core | 2 cores | gain |"
		print "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
		for (i = 0; i < n; i++) {
			m = size[i]
			line = "| " (m < 1024 ? m " MiB" : m / 1024 " GiB") " |"
			split("sort wordcount grep", jobs, " ")
			for (j = 1; j <= 3; j++) {
				one = seconds[jobs[j], 1, m]; two = seconds[jobs[j], 2, m]
				line = line (two > 0 ? sprintf(" %.3f s | %.3f s | %.2f |", one, two, one / two) : " | | |")
			}
			print line
		}
	}' "$file"
