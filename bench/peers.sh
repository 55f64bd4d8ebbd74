#!/usr/bin/env bash
# Compares mrlocal with the tools it replaces: mawk, GNU sort, ripgrep.
#
#   bench/peers.sh [SIZE] [RUNS]        default 1GiB 5
#
# Makes its data with `mrlocal gen`, checks that the answers agree, runs peer
# and mrlocal in turn, and prints a table of medians. Data and outputs lie in
# memory (/dev/shm where there is one): write-back is noise. Peers that are
# missing are installed from Debian packages.
set -euo pipefail
cd "$(dirname "$0")/.."
size=${1:-1GiB} runs=${2:-5}

# need PROGRAM PACKAGE installs what is missing.
need() {
	command -v "$1" >/dev/null && return
	command -v apt-get >/dev/null || { echo "peers.sh: $1 is missing, and there is no apt-get to install it" >&2; exit 2; }
	local root=()
	[ "$(id -u)" = 0 ] || root=(sudo)
	"${root[@]}" apt-get update -q >/dev/null || true
	DEBIAN_FRONTEND=noninteractive "${root[@]}" apt-get install -qy "$2" >/dev/null
}
need mawk mawk
need rg ripgrep
need sort coreutils

memory=/dev/shm
[ -d "$memory" ] && [ -w "$memory" ] || memory=${TMPDIR:-/tmp}
work=$(mktemp -d "$memory/mrlocal-peers.XXXXXX")
trap 'rm -rf "$work"' EXIT
go build -o "$work/mrlocal" ./cmd/mrlocal
mr() { "$work/mrlocal" run "$@" --progress none; }
export LC_ALL=C TIMEFORMAT=%R

for kind in wiki words records lines; do
	"$work/mrlocal" gen "$kind" --size "$size" --seed 7 "$work/$kind"
done
cat "$work"/wiki/* >/dev/null # in memory before anything is timed

# seconds COMMAND... prints its wall time. Exit code 1 is "no match".
seconds() {
	{ time "$@" >"$work/stdout" 2>"$work/stderr" || [ $? = 1 ]; } 2>"$work/time" || { cat "$work/stderr" >&2; echo "peers.sh: failed: $*" >&2; exit 1; }
	tail -n 1 "$work/time"
}
median() { sort -n | sed -n "$((runs / 2 + 1))p"; }

# compare NAME CHECK PEER OURS: functions; CHECK compares $work/peer and
# $work/ours, which they write.
compare() {
	local name=$1 check=$2 peer=$3 ours=$4 i
	$peer >/dev/null && $ours >/dev/null # warm, and for the check
	$check || { echo "peers.sh: $name: the answers differ" >&2; exit 1; }
	rm -f "$work/peer.times" "$work/ours.times"
	for ((i = 0; i < runs; i++)); do
		seconds "$peer" >>"$work/peer.times"
		seconds "$ours" >>"$work/ours.times"
	done
	local p o
	p=$(median <"$work/peer.times") o=$(median <"$work/ours.times")
	mawk -v n="$name" -v p="$p" -v o="$o" 'BEGIN { printf "| %s | %.2f s | %.2f s | %.2f |\n", n, p, o, p / (o > 0 ? o : 0.001) }'
}
same() { cmp "$work/peer" "$work/ours"; }
same_lines() { cmp <(sort "$work/peer") <(grep -v ':0$' "$work/ours" | sort); }
same_set() { cmp <(sort "$work/peer") <(sort "$work/ours"); }

count_words='{ for (i = 1; i <= NF; i++) c[$i]++ } END { for (w in c) print w "\t" c[w] }'
mawk_words() { mawk "$count_words" "$work/words" >"$work/peer"; }
our_words() { mr wordcount "$work/words" -o "$work/ours"; }
mawk_wiki() { cat "$work"/wiki/* | mawk "$count_words" >"$work/peer"; }
our_wiki() { mr wordcount "$work/wiki" -o "$work/ours"; }

sort_records() { sort -T "$work" "$work/records" -o "$work/peer"; }
our_records() { mr sort "$work/records" -o "$work/ours" --tmp "$work"; }
sort_lines() { sort -T "$work" "$work/lines" -o "$work/peer"; }
our_lines() { mr sort "$work/lines" -o "$work/ours" --tmp "$work"; }
sort_bounded() { sort -S 128M -T "$work" "$work/records" -o "$work/peer"; }
our_bounded() { mr sort --memory 128MiB "$work/records" -o "$work/ours" --tmp "$work"; }

pattern=
rg_count() { rg -uu --no-config -c -e "$pattern" "$work/wiki" >"$work/peer" || [ $? = 1 ]; }
our_count() { mr grep -c -e "$pattern" "$work/wiki" >"$work/ours" || [ $? = 1 ]; }
rg_match() { rg -uu --no-config --no-heading -N -H -e "$pattern" "$work/wiki" >"$work/peer" || [ $? = 1 ]; }
our_match() { mr grep --lines -e "$pattern" "$work/wiki" >"$work/ours" || [ $? = 1 ]; }

echo "Inputs of $size each, medians of $runs runs, $(nproc) cores. Ratio: the peer's time by ours; above 1 mrlocal is faster."
echo
echo "| task | peer | mrlocal | ratio |"
echo "| --- | ---: | ---: | ---: |"
compare "wordcount of Zipf words, mawk (unsorted)" same_set mawk_words our_words
compare "wordcount of a wiki, mawk (unsorted)" same_set mawk_wiki our_wiki
compare "sort of 100-byte records, GNU sort" same sort_records our_records
compare "sort of text lines, GNU sort" same sort_lines our_lines
compare "sort of records within 128 MiB, GNU sort -S 128M" same sort_bounded our_bounded
pattern='Thessalonica' && compare "grep -c, a literal that is not there, ripgrep" same_lines rg_count our_count
pattern='\[\[The\]\]' && compare "grep -c, a rare literal, ripgrep" same_lines rg_count our_count
pattern='the' && compare "grep -c, a common literal, ripgrep" same_lines rg_count our_count
pattern='\[\[The\]\]' && compare "grep --lines, a rare literal, ripgrep" same_set rg_match our_match
pattern='the' && compare "grep --lines, a common literal, ripgrep" same_set rg_match our_match
pattern='\[\[[A-Z][a-z]+ of [a-z]+\]\]' && compare "grep -c, a pattern, ripgrep" same_lines rg_count our_count
