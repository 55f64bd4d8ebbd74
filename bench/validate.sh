#!/usr/bin/env bash
# Measures how well the simulator predicts this machine:
#
#   bench/validate.sh [RUNS [MIB [DIR [FIRST [LAST]]]]]
#
# It profiles wordcount, sort and grep, each on MIB MiB of text (default 64). Then it validates
# twenty-four mixes that were not profiled. They have other inputs, sizes, jobs and slots. It makes
# RUNS real runs of each mix (default 7) under each of two or three policies. It prints a line for each
# mix, and the medians. It needs a quiet machine for ten minutes. The speed probe shows how much the
# speed of the machine has changed since the profile.
#
# With DIR it works in that directory and keeps its files. A second call continues with the same
# profile, for example with mixes FIRST to LAST. The medians are those of all mixes in DIR.
#
# Most mixes compare fifo or fair with a policy that lends slots. With one map slot or one reduce slot,
# a core is idle unless its slot is lent. The first two mixes compare fifo with fair. Mixes 13 and 14
# have more slots than cores under any policy. In those four mixes the policies tie, or nearly tie. In
# the other twenty they need not tie, so the aim of ten leaves room for the noise of the machine.
set -euo pipefail
runs=${1:-7} mib=${2:-64} kept=${3:+$(realpath -m "$3")} first=${4:-1} last=${5:-99}
cd "$(dirname "$0")/.."
work=${kept:-$(mktemp -d)}
mkdir -p "$work"
[ -n "$kept" ] || trap 'rm -rf "$work"' EXIT
go build -o "$work/mrlocal" ./cmd/mrlocal
cd "$work"

# job NAME JOB INPUT BLOCK [SUBMIT] prints an item of jobs in a workload file.
job() {
	local more=
	[ "$2" != grep ] || more="regexp: '[a-z]+ing', "
	echo "  - {name: $1, job: $2, submit: ${5:-0s}, args: {${more}input: $3, block-size: $4, reducers: 4, output: out/$1}}"
}
if [ ! -e measured.yaml ]; then
	./mrlocal gen corpus --size "${mib}MiB" --seed 1 text
	for seed in 2 3 4; do ./mrlocal gen corpus --size "$((mib * (seed - 1) / 2))MiB" --seed "$seed" "other$seed"; done
	{
		echo jobs:
		job count wordcount text 2MiB
		job lines sort text 2MiB
		job links grep text 2MiB
	} >profile.yaml
	./mrlocal profile profile.yaml -o measured.yaml --progress none
fi
grep probe: measured.yaml

mixes=0
# mix POLICIES SLOTS validates the next mix. Its jobs are on standard input, and SLOTS has flags for
# the slots.
mix() {
	mixes=$((mixes + 1))
	[ "$mixes" -ge "$first" ] && [ "$mixes" -le "$last" ] || return 0
	{ echo jobs:; cat; } >"mix$mixes.yaml"
	# shellcheck disable=SC2086
	./mrlocal validate "mix$mixes.yaml" --measured measured.yaml --sched "$1" --runs "$runs" --progress none --report "v$mixes.json" $2 >"v$mixes.txt"
	echo "mix $mixes ($1 $2): $(grep -E 'median|best|machine|warning' "v$mixes.txt" | tr '\n' ';') $(awk '/makespan\)/ { print $1, $3, $4, $5, $6, $7 }' "v$mixes.txt" | tr '\n' ';')"
}
one='--map-slots 1 --reduce-slots 1'
mix fifo,fair "$one" < <(job a wordcount other3 3MiB; job b wordcount other4 2MiB; job c wordcount other3 4MiB)
mix fifo,fair "$one" < <(job a sort other4 4MiB; job b sort other3 2MiB; job c sort other4 1MiB)
mix fifo,fair,pi-dhfs "$one" < <(job a sort other4 3MiB; job b wordcount other4 2MiB; job c grep other4 2MiB)
mix fair,pi-dhfs "$one" < <(job a wordcount other4 6MiB)
mix fair,pd-dhfs "$one" < <(job a sort other4 4MiB; job b wordcount other3 2MiB 200ms)
mix fair,pi-fifo "$one" < <(job a grep other4 1MiB; job b grep other3 2MiB; job c wordcount other4 2MiB)
mix fair,pi-dhfs '--map-slots 1 --reduce-slots 2' < <(job a wordcount other4 2MiB; job b grep other4 2MiB)
mix fair,pi-dhfs '--map-slots 2 --reduce-slots 1' < <(job a sort other4 2MiB; job b sort other3 4MiB)
mix fifo,pi-fifo '--map-slots 2 --reduce-slots 1' < <(job a wordcount other4 4MiB)
mix fair,pd-dhfs '--map-slots 3 --reduce-slots 1' < <(job a wordcount other3 2MiB; job b wordcount other4 3MiB)
mix fifo,pi-dhfs "$one --slowstart 0.3" < <(job a sort other4 2MiB; job b wordcount other3 3MiB)
mix fair,yarn "$one" < <(job a sort other3 2MiB; job b grep other4 4MiB; job c wordcount other2 2MiB; job d sort other2 2MiB 400ms)
many='--map-slots 3 --reduce-slots 2'
mix fair,pi-dhfs "$many" < <(job a wordcount other2 2MiB; job b wordcount other3 2MiB 100ms; job c wordcount other4 2MiB 200ms)
mix fifo,fair,pi-dhfs "$many" < <(job a sort other3 2MiB; job b grep other4 1MiB; job c wordcount other2 4MiB; job d grep other2 2MiB 400ms)
mix fair,pi-dhfs '--map-slots 1 --reduce-slots 2' < <(job a wordcount other3 3MiB)
mix fifo,pd-dhfs "$one" < <(job a sort other4 1MiB)
mix fair,yarn "$one" < <(job a wordcount other4 3MiB)
mix fair,pi-dhfs "$one" < <(job a sort other4 2MiB)
mix fair,pd-dhfs "$one" < <(job a wordcount other4 2MiB; job b wordcount other3 3MiB)
mix fifo,pi-fifo "$one" < <(job a grep other4 2MiB; job b sort other4 2MiB)
mix fair,yarn "$one" < <(job a wordcount other4 4MiB; job b sort other4 3MiB)
mix fair,pi-dhfs "$one" < <(job a wordcount other2 1MiB; job b wordcount other3 2MiB 100ms; job c wordcount other4 3MiB 300ms)
mix fifo,yarn "$one" < <(job a sort other4 4MiB; job b sort other3 1MiB)
mix fair,pd-dhfs "$one" < <(job a grep other4 2MiB; job b wordcount other4 2MiB)

# median prints the median of numbers, as a percentage. errors PATTERN [KEY] prints the absolute
# errors of makespans or of jobs in all reports.
median() { sort -g | awk '{ x[NR] = $1 } END { print NR ? 100 * (x[int((NR + 1) / 2)] + x[int(NR / 2) + 1]) / 2 : 0 }'; }
errors() { grep -hE "^$1\"${2:-error}\"" v*.json | sed 's/.*: -*//; s/,$//'; }
echo "median error of makespans: $(errors '   ' | median) %, of jobs: $(errors '     ' | median) %"
echo "median error of makespans without the scale of the speed probe: $(errors '   ' unscaled_error | median) %"
decided=$({ grep -l '"best_ties": false' v*.json || true; } | wc -l)
named=$({ grep -l '"best_ties": false' v*.json || true; } | { xargs -r grep -l '"best_agrees": true' || true; } | wc -l)
made=$(ls v*.json | wc -l)
echo "best policy named: $named of $decided mixes whose best policy does not tie (aim: at least 10), of $made"
echo "order of policies: $({ grep -l '"order_agrees": true' v*.json || true; } | wc -l) of $made mixes"
