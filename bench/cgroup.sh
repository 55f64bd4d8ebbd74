#!/usr/bin/env bash
# Runs jobs inside a memory control group of the bound + 96 MiB, with data, spills and
# results on disk, whose pages the group is charged for. No run may be killed.
#
#   bench/cgroup.sh [MIB_OF_DATA]    default 400
#
# Needs root and the memory controller, of version 1 or 2; otherwise it says why it
# does nothing. Prints for each run its time, and the time without a group.
set -euo pipefail
cd "$(dirname "$0")/.."
size=${1:-400} over=96
root=/sys/fs/cgroup
if [ -d "$root/memory" ]; then
	group=$root/memory/mrlocal.$$ limit=memory.limit_in_bytes
elif grep -qsw memory "$root/cgroup.subtree_control"; then
	group=$root/mrlocal.$$ limit=memory.max
else
	echo "left out: no memory controller below $root"
	exit 0
fi
mkdir "$group" 2>/dev/null || { echo "left out: cannot make $group"; exit 0; }
work=$(mktemp -d "${TMPDIR:-/var/tmp}/mrlocal-cgroup.XXXXXX")
trap 'rm -rf "$work"; rmdir "$group"' EXIT
go build -o "$work/mrlocal" ./cmd/mrlocal

# Distinct keys, compressed keys, lines of 12 MiB in bzip2, and 100,000 files.
"$work/mrlocal" gen records --size "${size}MiB" "$work/keys"
gzip -1 -c "$work/keys" >"$work/keys.gz"
! command -v zstd >/dev/null || zstd -q -k "$work/keys" -o "$work/keys.zst"
! command -v bzip2 >/dev/null || for _ in 1 2 3; do head -c $((12 << 20)) "$work/keys" | tr '\n' ' ' && echo; done | bzip2 -1 >"$work/lines.bz2"
mkdir "$work/many"
(cd "$work/many" && head -c 50000000 "$work/keys" | split -a 6 -d -b 500)

failed=0
for bound in 16 64; do
	echo $(((bound + over) << 20)) >"$group/$limit"
	for input in keys keys.gz keys.zst lines.bz2 many; do
		[ -e "$work/$input" ] || continue
		for job in "wordcount" "sort" "grep -c -e abc"; do
			run=("$work/mrlocal" run $job "$work/$input" --output-file "$work/out" --tmp "$work" --memory "${bound}MiB" --progress none)
			begun=$EPOCHREALTIME
			"${run[@]}" >/dev/null 2>&1 || true
			between=$EPOCHREALTIME code=0
			(echo "$BASHPID" >"$group/cgroup.procs" && exec "${run[@]}") >/dev/null 2>"$work/err" || code=$?
			ended=$EPOCHREALTIME verdict=ok
			[ "$code" -lt 128 ] || verdict=KILLED failed=1
			awk -v n="$job of $input" -v b="$bound" -v c="$code" -v v="$verdict" -v a="$begun" -v m="$between" -v e="$ended" \
				'BEGIN { printf "%-30s %3d MiB: %6.2f s, %6.2f s without a group, exit code %d  %s\n", n, b, e - m, m - a, c, v }'
		done
	done
done
exit "$failed"
