#!/usr/bin/env bash
# Compares mrlocal with the tools that it replaces: GNU sort, uniq and grep, mawk, ripgrep. Where python3, or the
# Python that PYTHON names, has duckdb, polars or chdb (ClickHouse), there are rows of these. Their times include the
# start of Python and the import, which are the same for each size. With g++ there is a row of bench/reference/sort.cc.
#
#   bench/peers.sh [-size SIZE] [-runs N] [-data DIR] [-only GLOB] [-patterns] [-judge] [-expect FILE] [-update FILE]
#
#   -size    size of the records and of the text; 1GiB
#   -runs    runs of peer and mrlocal, in turn, of which medians are taken; 5
#   -data    directory with the files records and text and the directory tree;
#            rows of missing ones are left out. Without -data the script makes
#            all three, and removes them at the end. (For mawk, form feeds,
#            carriage returns and vertical tabs are letters, so replace them in
#            your own text: tr '\f\r\v' '   ')
#   -only    only the rows whose name in the first column the GLOB matches
#   -patterns  instead, a row for each expression of bench/patterns.tsv
#   -judge   exit 1 if a floor is missed; floors and aims are meant for 1 GiB
#   -expect  print how much each ratio differs from the one in FILE, and warn
#            if it is down by a fifth; exit 1 if it is down by half
#   -update  write the ratios to FILE
#
# Answers are compared before times are measured. Missing peers are installed
# from Debian packages. Data and outputs are in memory if there is /dev/shm,
# because writing back to a disk makes times noisy. The literals suit the
# generated data. For other text set RARE (a few hits), COMMON (many lines),
# NOCASE (a literal, any case) and FIVE (five words in one string). For the tree
# set TREE.
set -euo pipefail
cd "$(dirname "$0")/.."
. bench/measure.sh
export LC_ALL=C

RARE=${RARE:-retry_budget_exhausted} COMMON=${COMMON:-the} NOCASE=${NOCASE:-worker} TREE=${TREE:-EXPORT_SYMBOL}
FIVE=${FIVE:-EXPORT_SYMBOL MODULE_DEVICE dev_err assertEqual goto}
size=1GiB runs=5 data= only='*' judge= expect= update= patterns=
while [ $# -gt 0 ]; do
	case $1 in
	-size) size=$2 && shift 2 ;;
	-runs) runs=$2 && shift 2 ;;
	-data) data=$2 && shift 2 ;;
	-only) only=$2 && shift 2 ;;
	-expect) expect=$2 && shift 2 ;;
	-update) update=$2 && shift 2 ;;
	-judge) judge=yes && shift ;;
	-patterns) patterns=yes && shift ;;
	*) die "unknown option $1; the first lines of bench/peers.sh list the options" ;;
	esac
done

# On a larger machine everything runs on two cores. The peers get the number of threads by flags.
if [ "$(nproc)" -gt 2 ] && command -v taskset >/dev/null; then taskset -pc 0,1 $$ >/dev/null; fi
need mawk mawk
need rg ripgrep
need sort coreutils
need grep grep
workdir
missed=0 lost=0 warnings=() p=0 o=0 ratio=0 p_cpu=0 o_cpu=0

# tree_of FILE DIR cuts a file into small files in 100 directories. They have 20 KB on average, and
# most are smaller. A GiB becomes some 50,000 files.
tree_of() {
	mkdir -p "$2"
	(cd "$2" && mkdir $(seq -f 'dir-%02.0f' 0 99))
	mawk -v dir="$2" 'BEGIN { srand(7) }
		NR > last { close(file); file = sprintf("%s/dir-%02d/file-%05d.txt", dir, n % 100, n); n++; last = NR + 20 * 2 ^ (7 * rand()) }
		{ print > file }' "$1"
}

if [ -z "$data" ]; then
	data=$work/data
	mkdir "$data"
	"$work/mrlocal" gen records --size "$size" --seed 7 "$data/records"
	"$work/mrlocal" gen corpus --size "$size" --seed 7 "$data/text"
	for row in tree grep-tool-tree; do
		case $row in $only) [ -e "$data/tree" ] || tree_of "$data/text" "$data/tree" ;; esac
	done
fi
cd "$data" && data=$PWD && cd - >/dev/null
records=$data/records text=$data/text tree=$data/tree
peer=$work/peer ours=$work/ours

# row NAME WORK PEER FLOOR AIM NEEDS CHECK THEIRS OURS measures and prints one line of the table.
# THEIRS and OURS are functions that write $peer and $ours, and CHECK compares these files. NEEDS is
# the data that they read.
row() {
	local name=$1 work_name=$2 peer_name=$3 floor=$4 aim=$5 needs=$6 check=$7 theirs=$8 own=$9
	# shellcheck disable=SC2053
	[[ $name == $only && -e $needs ]] || return 0
	$theirs && $own # for the check; it also warms the page cache
	$check || { echo "peers.sh: $name: the answers differ" >&2; exit 1; }
	measure "$theirs" "$own"
	if [ -n "$expect" ] && [ "$(change "$name")" -le -20 ]; then
		measure "$theirs" "$own" # again, because the machine may have been busy
	fi
	rm -f "$peer" "$ours"
	verdict "$name" "$work_name" "$peer_name" "$floor" "$aim"
}

# measure THEIRS OURS sets $p and $o, medians in microseconds, $ratio, and $p_cpu and $o_cpu, medians of the CPU
# seconds (user and system) of all processes.
measure() {
	local i TIMEFORMAT='%U %S'
	rm -f "$work"/{p,o}.{times,cpu}
	for ((i = 0; i < runs; i++)); do
		rm -f "$peer" "$ours" # so that no run has to remove the output of the one before
		{ time micros "$1" >>"$work/p.times" 2>&3; } 3>&2 2>>"$work/p.cpu"
		rm -f "$peer"
		{ time micros "$2" >>"$work/o.times" 2>&3; } 3>&2 2>>"$work/o.cpu"
	done
	p=$(median <"$work/p.times") o=$(median <"$work/o.times")
	p_cpu=$(awk '{ print $1 + $2 }' "$work/p.cpu" | median) o_cpu=$(awk '{ print $1 + $2 }' "$work/o.cpu" | median)
	ratio=$(awk -v p="$p" -v o="$o" 'BEGIN { printf "%.3f", p / o }')
}

# change NAME prints how much $ratio differs from the expected one, in %.
change() {
	awk -v n="$1" -v r="$ratio" '$1 == n && $2 > 0 { c = (r / $2 - 1) * 100 } END { printf "%+.0f", c }' "$expect"
}

# verdict NAME WORK PEER FLOOR AIM prints the line, and stores the results for -judge, -expect and
# -update.
verdict() {
	local name=$1 met line change
	met=$(awk -v r="$ratio" -v f="$4" -v a="$5" 'BEGIN { print (r >= a ? "aim" : r >= f ? "floor" : "MISSED") }')
	[ "$met" != MISSED ] || missed=1
	line="| $name | $2 | $3 | $(awk -v p="$p" -v o="$o" -v r="$ratio" 'BEGIN { printf "%.3f s | %.3f s | %.2f", p / 1e6, o / 1e6, r }') | $p_cpu s | $o_cpu s | $4 | $5 | $met |"
	[ -z "$update" ] || printf '%s\t%.2f\n' "$name" "$ratio" >>"$work/update"
	if [ -n "$expect" ]; then
		change=$(change "$name")
		line+=" $change % |"
		[ "$change" -gt -20 ] || warnings+=("$name: the ratio is $ratio, $change % against $expect")
		[ "$change" -gt -50 ] || lost=1
	fi
	echo "$line"
}

same() { cmp "$peer" "$ours"; }
same_set() { cmp <(sort "$peer") <(sort "$ours"); }

gnu_records() { sort -S 128M --parallel=2 -T "$work" "$records" -o "$peer"; }
gnu_text() { sort -S 128M --parallel=2 -T "$work" "$text" -o "$peer"; }
our_records() { mr sort "$records" -o "$ours" --tmp "$work"; }
our_bounded() { mr sort --memory 128MiB "$records" -o "$ours" --tmp "$work"; }
gnu_fields() { sort -S 128M --parallel=2 -T "$work" -k3,3V -k2,2nr "$text" -o "$peer"; }
our_fields() { "$work/mrlocal" sort -T "$work" -k3,3V -k2,2nr "$text" -o "$ours"; }
our_text() { mr sort "$text" -o "$ours" --tmp "$work"; }
reference_text() { "$work/reference" "$text" "$peer"; }

mawk_count() { mawk '{ for (i = 1; i <= NF; i++) c[$i]++ } END { for (w in c) print w "\t" c[w] }' "$text" >"$peer"; }
our_count() { mr wordcount "$text" -o "$ours"; }

gnu_uniq() { sort -S 128M --parallel=2 -T "$work" "$text" | uniq -c >"$peer"; }
mawk_uniq() { mawk '{ n[$0]++ } END { for (l in n) printf "%7d %s\n", n[l], l }' "$text" >"$peer"; }
our_uniq() { "$work/mrlocal" count --tmp "$work" "$text" -o "$ours"; }
gnu_field() { cut -d' ' -f1 "$text" | sort -S 128M --parallel=2 -T "$work" | uniq -c >"$peer"; }
our_field() { "$work/mrlocal" count --tmp "$work" -d' ' -f1 "$text" -o "$ours"; }

engine= python=${PYTHON:-python3} absent=
database() { "$python" bench/databases.py "$engine" "$1" "$text" "$peer"; }
database_words() { database words; }
database_field() { database field; }
database_sort() { database sort; }
same_words() { cmp <(sort "$peer") <(awk -F'\t' '{ print $2, $1 }' "$ours" | sort); }
same_counts() { cmp "$peer" <(sed 's/^ *//' "$ours"); }

# With -c and one file neither prints a name. For a count of 0 ripgrep prints nothing.
same_count() { if [ -s "$peer" ]; then cmp "$peer" "$ours"; else [ "$(cat "$ours")" = 0 ]; fi; }
flags=() pattern=() # of the current row
rg_c() { rg -j2 --no-unicode -c "${flags[@]}" "${pattern[@]}" "$text" >"$peer" || [ $? = 1 ]; }
our_c() { mr grep -c "${flags[@]}" "${pattern[@]}" "$text" >"$ours" || [ $? = 1 ]; }
rg_tree() { rg -j2 -uuu -a -n "${pattern[@]}" "$tree" >"$peer" || [ $? = 1 ]; }
our_tree() { mr grep -a -n --all "${pattern[@]}" "$tree" >"$ours" || [ $? = 1 ]; }
rg_lines() { rg -j2 --no-unicode -n "${pattern[@]}" "$text" >"$peer"; }
gnu_lines() { grep -n "${pattern[@]}" "$text" >"$peer"; }
tool_lines() { "$work/mrlocal" grep -n "${pattern[@]}" "$text" >"$ours"; }
rg_files() { rg -j2 -n "${pattern[@]}" "$tree" >"$peer" || [ $? = 1 ]; }
tool_files() { "$work/mrlocal" grep -n "${pattern[@]}" "$tree" >"$ours" || [ $? = 1 ]; }
grep_row() { # NAME WORK FLOOR AIM
	row "$1" "grep -c: $2" 'rg -j2 --no-unicode -c' "$3" "$4" "$text" same_count rg_c our_c
}

gnu_strings() { grep "${flags[@]}" -f "$work/strings" "$text" >"$peer" || [ $? = 1 ]; }
tool_strings() { "$work/mrlocal" grep "${flags[@]}" -f "$work/strings" "$text" >"$ours" || [ $? = 1 ]; }

# strings_row NAME NUMBER AIM FLAG measures a search for the given number of words or, with -x, lines that occur
# once in the first 16 MiB of the text.
strings_row() {
	[[ $1 == $only && -e $text ]] || return 0 # shellcheck disable=SC2053
	local cut=(tr -cs 'A-Za-z' '\n')
	[ "$4" != -cxF ] || cut=(cat)
	head -c 16M "$text" | "${cut[@]}" | mawk 'length($0) > 3 { n[$0]++ } END { for (w in n) if (n[w] == 1) print w }' | sort >"$work/once"
	mawk -v n="$2" -v all="$(wc -l <"$work/once")" 'NR * n / all >= made + 1 { made++; print }' "$work/once" >"$work/strings"
	flags=("$4")
	row "$1" "mrlocal grep $4: $2 strings" "GNU grep $4" 1.0 "$3" "$text" same gnu_strings tool_strings
}

# patterns_rows measures a search for each expression of bench/patterns.tsv.
patterns_rows() {
	local name expression
	while IFS=$'\t' read -r name expression; do
		[ "${name:0:1}" != "#" ] || continue
		flags=() pattern=(-e "$expression")
		grep_row "$name" "\`${expression//|/\\|}\`" 0.8 1.2
	done <bench/patterns.tsv
}

# small_row measures wordcount, sort and grep of 10 KB, and prints a line for the slowest of them.
small_row() {
	local most=0 m job from=$text
	[[ small == $only ]] || return 0 # shellcheck disable=SC2053
	[ -e "$from" ] || from=bench/peers.sh
	head -c 10240 "$from" >"$work/small"
	for job in wordcount sort 'grep -c -e the'; do
		: >"$work/o.times"
		for _ in {1..25}; do
			# shellcheck disable=SC2086
			micros mr $job "$work/small" >>"$work/o.times"
		done
		m=$(median <"$work/o.times")
		[ "$m" -lt "$most" ] || most=$m
	done
	local met=MISSED
	[ "$most" -ge 30000 ] || met=floor
	[ "$most" -ge 15000 ] || met=aim
	[ "$met" != MISSED ] || missed=1
	awk -v o="$most" -v m="$met" -v e="${expect:+ |}" 'BEGIN { printf "| small | a job of 10 KB, start to end (the slowest of wordcount, sort, grep) | | | %.3f s | | | | 0.030 s | 0.015 s | %s |%s\n", o / 1e6, m, e }'
}

mib() { echo "$(($(stat -L -c %s "$1") >> 20)) MiB"; }
about="Medians of $runs runs in turn on $(nproc) cores. Commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown)."
[ ! -e "$records" ] || about+=" Records: $(mib "$records")."
[ ! -e "$text" ] || about+=" Text: $(mib "$text")."
if [ -e "$tree" ]; then
	about+=" Tree: $(find -L "$tree" -type f | wc -l) files."
	find -L "$tree" -type f -print0 | xargs -0 cat >/dev/null # puts the tree into the page cache
fi
echo "$about"
echo "Ratio: the peer's time divided by ours; above 1 mrlocal is faster."
echo
echo "| row | work | peer | its time | mrlocal | ratio | its CPU | our CPU | floor | aim | met |${expect:+ change |}"
echo "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |${expect:+ ---: |}"
[ -z "$patterns" ] || { patterns_rows && only=none; }
row sort-records "sort, 100-byte records, ample memory" 'sort -S 128M --parallel=2' 2.5 4.4 "$records" same gnu_records our_records
row sort-bounded 'the same, ours with `--memory 128MiB`' 'sort -S 128M --parallel=2' 1.6 2.1 "$records" same gnu_records our_bounded
row sort-text "sort, text lines" 'sort -S 128M --parallel=2' 2.0 2.7 "$text" same gnu_text our_text
if [[ sort-reference == $only ]] && command -v g++ >/dev/null; then # shellcheck disable=SC2053
	g++ -O3 -march=native -pthread bench/reference/sort.cc -o "$work/reference"
	row sort-reference "sort, text lines" 'std::sort, 2 threads' 0.8 1.0 "$text" same reference_text our_text
fi
row sort-tool 'mrlocal sort -k3,3V -k2,2nr, text lines' 'sort -S 128M --parallel=2' 2.0 3.0 "$text" same gnu_fields our_fields
row wordcount "wordcount" 'mawk' 4.5 7 "$text" same_set mawk_count our_count
row count-tool "mrlocal count, text lines" 'sort -S 128M --parallel=2 \| uniq -c' 1.5 3 "$text" same gnu_uniq our_uniq
row count-mawk "the same" 'mawk' 2 4 "$text" same_set mawk_uniq our_uniq
row count-field "mrlocal count -f1 -d' ', text" 'cut \| sort -S 128M --parallel=2 \| uniq -c' 3 6 "$text" same gnu_field our_field
pattern=(-e "$RARE") && grep_row grep-rare "a rare literal" 0.7 1.2
pattern=(-e "$COMMON") && grep_row grep-common "a common literal" 1.0 1.8
pattern=(-e "$NOCASE") flags=(-i) && grep_row grep-nocase "a literal, any case" 0.8 1.6
flags=() pattern=() && for word in $FIVE; do pattern+=(-e "$word"); done
grep_row grep-five "five literals" 0.7 1.6
pattern=(-e '[A-Z][a-z]+ing\b') && grep_row grep-class '`[A-Z][a-z]+ing\b`' 0.8 1.6
pattern=(-e '\w{5}\s+\w{5}\s+\w{5}') && grep_row grep-words '`\w{5}\s+\w{5}\s+\w{5}`' 1.5 3.5
pattern=(-e "$TREE")
row tree "grep -n on a tree of small files" 'rg -j2 -uuu -a -n' 0.8 1.1 "$tree" same_set rg_tree our_tree
row grep-tool-tree "mrlocal grep -n on the same" 'rg -j2 -n' 1.0 1.2 "$tree" same_set rg_files tool_files
pattern=(-e "$COMMON")
row grep-tool "mrlocal grep -n: a common literal" 'rg -j2 --no-unicode -n' 1.0 1.8 "$text" same rg_lines tool_lines
row grep-tool-gnu "the same" 'GNU grep -n' 1.0 4 "$text" same gnu_lines tool_lines
strings_row strings-100 100 6 -cF
strings_row strings-2000 2000 3 -oF
strings_row strings-20000 20000 2 -cF
strings_row strings-nocase 2000 2 -cFi
strings_row strings-lines 20000 1.5 -cxF
for engine in duckdb polars chdb; do
	"$python" -c "import $engine" 2>/dev/null || { absent+=" $engine" && continue; }
	row "$engine-words" "wordcount" "$engine" 1.0 1.2 "$text" same_words database_words our_count
	row "$engine-field" "mrlocal count -f1 -d' '" "$engine" 1.0 1.2 "$text" same_counts database_field our_field
	row "$engine-sort" "sort, text lines" "$engine" 1.0 1.2 "$text" same database_sort our_text
done
small_row

[ -z "$update" ] || mv "$work/update" "$update"
[ "$only" != '*' ] || [ -z "$absent" ] || printf '\nleft out, because %s has none of them:%s\n' "$python" "$absent"
[ ${#warnings[@]} = 0 ] || { echo && printf 'WARNING: %s\n' "${warnings[@]}"; }
[ "$lost" = 0 ] || { echo "peers.sh: a ratio is down by half" >&2; exit 1; }
[ -z "$judge" ] || [ "$missed" = 0 ] || { echo "peers.sh: a floor is missed" >&2; exit 1; }
