#!/usr/bin/env bash
# bench/jobs.sh [BYTES [FLAGS]] compares each job of the papers with a straightforward program for
# this job only (jobs/puma/straight_test.go), which has two threads. It compares the results, and
# prints wall and CPU time of both, and the ratios. BYTES is the size of the input; 64 MiB by default.
#
#	bench/jobs.sh                          # 64 MiB
#	bench/jobs.sh $((1 << 30)) -judge      # 1 GiB; fails if a job takes more than twice the time
#	bench/jobs.sh $((64 << 20)) -only terasort -runs 9
set -euo pipefail
cd "$(dirname "$0")/.."
bytes=${1:-$((64 << 20))}
shift || true
go test -count=1 -timeout 3h ./jobs/puma -run TestRatios -v -size "$bytes" "$@"
