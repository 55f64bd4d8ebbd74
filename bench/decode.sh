#!/usr/bin/env bash
# Measures how fast one large compressed file is read, on one core and on two.
#
#   bench/decode.sh [-size SIZE] [-runs N]
#
#   -size    size of the text before it is compressed; 128MiB
#   -runs    runs of each command, in turn, of which medians are taken; 3
#
# Each command counts the lines that match a rare literal, which costs little in comparison with
# decoding. The peer decodes the file into a pipe to grep, on two cores. The last column is the time on
# one core divided by the time on two. Only one core decodes a file of one member, or of zstd. Such a
# file has a second row, without a peer: wordcount, whose maps run during the decoding.
set -euo pipefail
cd "$(dirname "$0")/.."
. bench/measure.sh
export LC_ALL=C
size=128MiB runs=3
while [ $# -gt 0 ]; do
	case $1 in
	-size) size=$2 && shift 2 ;;
	-runs) runs=$2 && shift 2 ;;
	*) die "unknown option $1; the first lines of bench/decode.sh list the options" ;;
	esac
done
for tool in bzip2 gzip zstd lbzip2 bgzip:tabix taskset:util-linux; do need "${tool%:*}" "${tool#*:}"; done
workdir
text=$work/text
"$work/mrlocal" gen corpus --size "$size" --seed 7 "$text"

# parts FILE COMMAND... writes FILE: the text in parts of 8 MiB, each compressed by itself.
parts() {
	local to=$1
	shift
	split -b 8M "$text" "$work/part." && for part in "$work"/part.*; do "$@" <"$part"; done >"$to"
	rm "$work"/part.*
}

lbzip2 -n 2 -c "$text" >"$work/blocks.bz2"
gzip -c "$text" >"$work/one-member.gz"
bgzip -c "$text" >"$work/small-members.gz"
parts "$work/large-members.gz" gzip -c
zstd -q -c "$text" >"$work/one-frame.zst"

ours() { taskset -c "$1" "$work/mrlocal" run grep -c -e retry_budget_exhausted "$2" --progress none; }
peer() { taskset -c 0,1 bash -c "$1 '$2' | grep -c retry_budget_exhausted"; }

# words FILE prints the time of wordcount on one core and on two.
words() {
	: >"$work/one" && : >"$work/two"
	for _ in $(seq "$runs"); do
		for cores in 0:one 0,1:two; do
			micros taskset -c "${cores%:*}" "$work/mrlocal" run wordcount "$1" --progress none -o "$work/counts" >>"$work/${cores#*:}"
		done
	done
	awk -v n="${1##*/}" -v a="$(median <"$work/one")" -v b="$(median <"$work/two")" \
		'BEGIN { printf "%-18s %6.2f s %6.2f s           %-12s %6.2f\n", n, a / 1e6, b / 1e6, "wordcount", a / b }'
}

printf '%-18s %8s %8s %8s  %-12s %6s\n' file 'one core' 'two' peer '' ratio
for file in blocks.bz2:bzip2 blocks.bz2:'lbzip2 -n2' one-member.gz:gzip small-members.gz:gzip large-members.gz:gzip one-frame.zst:zstd; do
	name=${file%%:*} with=${file#*:}
	[ "$(ours 0,1 "$work/$name")" = "$(peer "$with -dc" "$work/$name")" ] || die "$name: another count than $with"
	: >"$work/one" && : >"$work/two" && : >"$work/peer"
	for _ in $(seq "$runs"); do
		micros ours 0 "$work/$name" >>"$work/one"
		micros ours 0,1 "$work/$name" >>"$work/two"
		micros peer "$with -dc" "$work/$name" >>"$work/peer"
	done
	awk -v n="$name" -v a="$(median <"$work/one")" -v b="$(median <"$work/two")" -v c="$(median <"$work/peer")" -v w="$with" \
		'BEGIN { printf "%-18s %6.2f s %6.2f s %6.2f s  %-12s %6.2f\n", n, a / 1e6, b / 1e6, c / 1e6, w, a / b }'
done
words "$work/one-member.gz"
words "$work/one-frame.zst"
