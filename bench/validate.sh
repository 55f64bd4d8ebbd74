#!/usr/bin/env bash
# How well the simulator predicts this machine: bench/validate.sh [RUNS] [MIB]
#
# Profiles wordcount, sort and grep on MIB MiB of text each (default 64), then validates twelve
# mixes that were not profiled, with other inputs, sizes, jobs and slots, RUNS real runs of each
# under three policies (default 3). Prints a line a mix, and the medians. Wants a quiet machine.
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${1:-3} mib=${2:-64}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -o "$work/mrlocal" ./cmd/mrlocal
cd "$work"
./mrlocal gen corpus --size "${mib}MiB" --seed 1 text
for seed in 2 3 4; do ./mrlocal gen corpus --size "$((mib * (seed - 1) / 2))MiB" --seed "$seed" "other$seed"; done

# job NAME JOB INPUT BLOCK [SUBMIT]: an entry of a workload file.
job() {
	local more=
	[ "$2" != grep ] || more="regexp: '[a-z]+ing', "
	echo "  - {name: $1, job: $2, submit: ${5:-0s}, args: {${more}input: $3, block-size: $4, reducers: 4, output: out/$1}}"
}
{
	echo jobs:
	job count wordcount text 2MiB
	job lines sort text 2MiB
	job links grep text 2MiB
} >profile.yaml
./mrlocal profile profile.yaml -o measured.yaml --progress none

mixes=0
# mix SLOTS: the jobs on standard input, with flags for the slots.
mix() {
	mixes=$((mixes + 1))
	{ echo jobs:; cat; } >"mix$mixes.yaml"
	# shellcheck disable=SC2086
	./mrlocal validate "mix$mixes.yaml" --measured measured.yaml --sched fair,pi-dhfs,pd-dhfs --runs "$runs" --progress none --report "v$mixes.json" $1 >"v$mixes.txt"
	echo "mix $mixes ($1): $(grep -E 'median|best' "v$mixes.txt" | tr '\n' ';')"
}
home='--map-slots 1 --reduce-slots 1' more='--map-slots 2 --reduce-slots 1' many='--map-slots 3 --reduce-slots 2'
mix "$home" < <(job a wordcount other3 4MiB; job b wordcount other4 2MiB 200ms)
mix "$home" < <(job a sort other3 4MiB; job b wordcount other2 2MiB)
mix "$home" < <(job a grep other4 4MiB; job b sort other3 2MiB 100ms)
mix "$home" < <(job a grep other2 1MiB; job b grep other3 2MiB; job c wordcount other2 2MiB)
mix "$home" < <(job a sort other2 1MiB; job b sort other3 4MiB 300ms; job c grep other4 2MiB)
mix "$home" < <(job a wordcount other2 8MiB; job b sort other2 8MiB; job c grep other2 8MiB)
mix "$home" < <(job a wordcount other4 4MiB)
mix "$more" < <(job a sort other4 4MiB)
mix "$more" < <(job a wordcount other3 2MiB; job b sort other2 2MiB)
mix "$more" < <(job a grep other3 2MiB; job b wordcount other3 2MiB; job c sort other4 2MiB 500ms)
mix "$many" < <(job a wordcount other2 2MiB; job b wordcount other3 2MiB 100ms; job c wordcount other4 2MiB 200ms)
mix "$many" < <(job a sort other3 2MiB; job b grep other4 1MiB; job c wordcount other2 4MiB; job d grep other2 2MiB 400ms)

# All errors of makespans and of jobs, without signs; and how often the best policy was named.
median() { sort -g | awk '{ x[NR] = $1 } END { print NR ? 100 * (x[int((NR + 1) / 2)] + x[int(NR / 2) + 1]) / 2 : 0 }'; }
errors() { grep -h "^   *\"error\"" v*.json | grep -E "^$1\"error" | tr -d ' ",:a-z-'; }
echo "median error of makespans: $(errors '   ' | median) %, of jobs: $(errors '     ' | median) %"
decided=$({ grep -l '"best_ties": false' v*.json || true; } | wc -l)
named=$({ grep -l '"best_ties": false' v*.json || true; } | { xargs -r grep -l '"best_agrees": true' || true; } | wc -l)
echo "best policy named: $named of $decided mixes whose best policy does not tie, of $mixes"
echo "order of policies: $({ grep -l '"order_agrees": true' v*.json || true; } | wc -l) of $mixes mixes"
