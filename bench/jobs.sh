#!/usr/bin/env bash
# bench/jobs.sh [BYTES [FLAGS]]: each job of the papers against a straightforward program with two
# threads that was written for this job alone (bench/jobs/straight_test.go). It compares the
# results, and prints wall and CPU time of both and the ratios. BYTES of input, 64 MiB by default.
#
#	bench/jobs.sh                          # 64 MiB
#	bench/jobs.sh $((1 << 30)) -judge      # 1 GiB; fails where a job takes more than twice the time
#	bench/jobs.sh $((64 << 20)) -only terasort -runs 9
set -euo pipefail
cd "$(dirname "$0")/.."
bytes=${1:-$((64 << 20))}
shift || true
go test -count=1 -timeout 3h ./bench/jobs -run TestRatios -v -size "$bytes" "$@"
