#!/usr/bin/env bash
# Runs jobs inside a memory control group of the bound + 96 MiB. Data, spills and results are on disk,
# and the kernel charges their pages in the cache to the group. It must not kill any run.
#
#   bench/cgroup.sh [MB_OF_DATA]    default 400
#
# Needs root and the memory controller, of version 1 or 2. Without them it prints the reason and does
# nothing. It prints the time of each run, and the time of the same run without a group.
set -euo pipefail
cd "$(dirname "$0")/.."
size=${1:-400} over=96
root=/sys/fs/cgroup
if [ -d "$root/memory" ]; then
	group=$root/memory/mrlocal.$$ limit=memory.limit_in_bytes peak=memory.max_usage_in_bytes
elif grep -qsw memory "$root/cgroup.subtree_control"; then
	group=$root/mrlocal.$$ limit=memory.max peak=memory.peak
else
	echo "left out: no memory controller below $root"
	exit 0
fi
mkdir "$group" 2>/dev/null || { echo "left out: cannot make $group"; exit 0; }
work=$(mktemp -d "${TMPDIR:-/var/tmp}/mrlocal-cgroup.XXXXXX")
trap 'rm -rf "$work"; rmdir "$group"' EXIT
go build -o "$work/mrlocal" ./cmd/mrlocal

# Distinct keys of 15 letters, compressed keys, lines of 12 MiB in bzip2, and 100,000 files.
base64 -w 15 /dev/urandom | head -c "$((size * 1000000 / 16 * 16))" >"$work/keys" || true
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
			begun=$EPOCHREALTIME without=0
			"${run[@]}" >/dev/null 2>&1 || without=$?
			between=$EPOCHREALTIME code=0
			echo 0 2>/dev/null >"$group/$peak" || true # version 2 may refuse it, and then the peak is that of all runs so far
			(echo "$BASHPID" >"$group/cgroup.procs" && exec "${run[@]}") >/dev/null 2>"$work/err" || code=$?
			ended=$EPOCHREALTIME verdict=ok
			[ "$code" = "$without" ] || verdict="FAILED, without a group $without" failed=1
			[ "$code" -lt 128 ] || verdict=KILLED failed=1
			awk -v n="$job of $input" -v b="$bound" -v c="$code" -v v="$verdict" -v a="$begun" -v m="$between" -v e="$ended" -v p="$(cat "$group/$peak")" \
				'BEGIN { printf "%-30s %3d MiB: %6.2f s, %6.2f s without a group, %4d MiB at most, exit code %d  %s\n", n, b, e - m, m - a, p / 1048576, c, v }'
		done
	done
done
exit "$failed"
