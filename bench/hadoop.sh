#!/usr/bin/env bash
# Compares mrlocal with Hadoop itself: WordCount, Sort and Grep of hadoop-mapreduce-examples, and Streaming jobs.
#
#   bench/hadoop.sh [-size SIZE] [-runs N] [-only GLOB] [-cluster] [-dir DIR]
#
#   -size      size of the text; 1GiB
#   -runs      runs of Hadoop and mrlocal, in turn, of which medians are taken; 1
#   -only      only the rows whose name in the first column the GLOB matches
#   -cluster   two more columns: a run of Hadoop's job on a pseudo-distributed cluster on this machine (HDFS, YARN);
#              a run of mrlocal that reads the text from that HDFS
#   -dir       keep jars, text and the cluster in DIR for other calls; hadoop/cluster down DIR/cluster ends it
#
# Hadoop runs on its local runner, with two maps and two reduces at a time, 1 GiB of heap and all of Java's compilers.
# Tasks on the cluster have all compilers, too, and four tasks run at a time. The script compares all answers with
# those of mrlocal. The rows of Streaming have a second peer, GNU parallel. It needs Java and Maven; hadoop/get
# loads the jars.
set -euo pipefail
cd "$(dirname "$0")/.."
. bench/measure.sh
export LC_ALL=C
unset PYTHONUNBUFFERED # with it, Python makes a system call for each word
size=1GiB runs=1 only='*' cluster= dir=
while [ $# -gt 0 ]; do
	case $1 in
	-size) size=$2 && shift 2 ;;
	-runs) runs=$2 && shift 2 ;;
	-only) only=$2 && shift 2 ;;
	-cluster) cluster=yes && shift ;;
	-dir) dir=$2 && shift 2 ;;
	*) die "unknown option $1; the first lines of bench/hadoop.sh list the options" ;;
	esac
done
for tool in java mvn; do
	command -v "$tool" >/dev/null || { echo "left out: $tool is missing, so there is no Hadoop to compare with"; exit 0; }
done
if [ "$(nproc)" -gt 2 ] && command -v taskset >/dev/null; then taskset -pc 0,1 $$ >/dev/null; fi
workdir
dir=$(mkdir -p "${dir:-$work}" && cd "${dir:-$work}" && pwd)
hadoop/get "$dir/hadoop"
export HADOOP_HOME=$dir/hadoop
text=$dir/text-$size python=$PWD/hadoop/wordcount pattern='in[a-z]*'
if [ ! -e "$text" ]; then
	# Hadoop turns bytes that are not UTF-8 into U+FFFD, and mrlocal keeps them. So they are removed from the text.
	"$work/mrlocal" gen corpus --size "$size" --seed 7 "$work/made"
	iconv -c -f UTF-8 -t UTF-8 "$work/made" >"$work/clean" || true # its exit code only says that there were such bytes
	rm "$work/made"
	mv "$work/clean" "$text"
fi
input=("$text")
mkdir "$work/empty" # the local runner makes links to shipped files in its working directory
cat >"$work/conf.xml" <<X
<configuration>
<property><name>hadoop.tmp.dir</name><value>$work/tmp</value></property>
<property><name>mapreduce.local.map.tasks.maximum</name><value>2</value></property>
<property><name>mapreduce.local.reduce.tasks.maximum</name><value>2</value></property>
</configuration>
X

# local_runner ARGUMENT... runs hadoop/local with 1 GiB of heap. The arguments must name $work/theirs as output.
local_runner() {
	rm -rf "$work/theirs"
	(cd "$work/empty" && HADOOP_OPTS='-Xmx1g' "$OLDPWD/hadoop/local" "$@")
}

# Sort reads a key and a value from each line. With a separator that no line has, the whole line is the key. Sort
# writes a tab after each key.
lines=(-D mapreduce.input.keyvaluelinerecordreader.key.value.separator=$'\x7f' -inFormat org.apache.hadoop.mapreduce.lib.input.KeyValueTextInputFormat -outFormat org.apache.hadoop.mapreduce.lib.output.TextOutputFormat
	-outKey org.apache.hadoop.io.Text -outValue org.apache.hadoop.io.Text)
wc=(-files "$python/mapper.py,$python/reducer.py" -mapper "python3 mapper.py" -combiner "python3 reducer.py" -reducer "python3 reducer.py" -numReduceTasks 2)
cat=(-mapper cat -reducer "wc -l")
jar() { local_runner -conf "$work/conf.xml" "$@"; }
example() { local_runner -example "$1" -conf "$work/conf.xml" "${@:2}"; }
ours() { rm -rf "$work/ours" && "$work/mrlocal" "$@"; }

their_wordcount() { example wordcount "$text" "$work/theirs"; }
our_wordcount() { ours run wordcount "${input[@]}" -o "$work/ours" --progress none; }
their_sort() { example sort "${lines[@]}" -r 1 "$text" "$work/theirs"; }
our_sort() { ours run sort "${input[@]}" -o "$work/ours" --progress none; }
their_grep() { example grep "$text" "$work/theirs" "$pattern"; }
our_grep() { ours run grep -e "$pattern" "${input[@]}" --output-file "$work/ours" --progress none; }
their_cat() { jar "${cat[@]}" -input "$text" -output "$work/theirs"; }
our_cat() { ours streaming "${cat[@]}" -input "$text" -output "$work/ours"; }
their_python() { jar "${wc[@]}" -input "$text" -output "$work/theirs"; }
our_python() { ours streaming "${wc[@]}" -input "$text" -output "$work/ours"; }
parallel_cat() { parallel --pipepart -j2 --block -2 -a "$text" cat | wc -l >"$work/theirs"; }
parallel_python() { parallel --pipepart -j2 --block -2 -a "$text" "python3 $python/mapper.py | sort -S 64M | python3 $python/reducer.py" | sort -S 128M | python3 "$python/reducer.py" >"$work/theirs"; }

# text_of PATH prints a result, which is a file or a directory with parts.
text_of() { if [ -d "$1" ]; then cat "$1"/part-*; else cat "$1"; fi; }
same() { cmp <(text_of "$work/theirs") <(text_of "$work/ours"); }
same_set() { cmp <(text_of "$work/theirs" | sort) <(text_of "$work/ours" | sort); }
same_lines() { cmp <(text_of "$work/theirs" | sed 's/\t$//') "$work/ours"; }
same_count() { [ "$(text_of "$work/theirs" | tr -d ' \t')" = "$(text_of "$work/ours" | tr -d ' \t')" ]; }

# row NAME WORK PEER CHECK THEIRS OURS measures and prints one line of the table. THEIRS and OURS are functions that
# write $work/theirs and $work/ours, and CHECK compares these results.
row() {
	local name=$1 i p o far=
	# shellcheck disable=SC2053
	[[ $name == $only ]] || return 0
	: >"$work/p.times" && : >"$work/o.times"
	for ((i = 0; i < runs; i++)); do
		micros "$5" >>"$work/p.times"
		micros "$6" >>"$work/o.times"
		[ "$i" != 0 ] || "$4" || die "$name: the answers differ"
	done
	p=$(median <"$work/p.times") o=$(median <"$work/o.times")
	[ -z "$cluster" ] || far=$(on_cluster "$name" "$4" "$6") # its exit code ends the script
	awk -v n="$name" -v w="$2" -v q="$3" -v p="$p" -v o="$o" -v c="$far" \
		'BEGIN { printf "| %s | %s | %s | %.1f s | %.2f s | %.1f |%s\n", n, w, q, p / 1e6, o / 1e6, p / o, c }'
}

# on_cluster NAME CHECK OURS prints the time of Hadoop's job on HDFS and YARN, and the time of mrlocal with its input
# on that HDFS. It prints empty cells if there is no such job. OURS has already run on the local file.
on_cluster() {
	local hadoop=$dir/cluster/bin/hadoop in=$root/text-$size out=$root/out-$1 java="-Xmx384m -XX:+UseSerialGC --add-opens=java.base/java.lang=ALL-UNNAMED" run time hdfs=
	local examples=("$HADOOP_HOME"/share/hadoop/mapreduce/hadoop-mapreduce-examples-*.jar) stream=("$HADOOP_HOME"/share/hadoop/tools/lib/hadoop-streaming-*.jar)
	local with=(-D "mapreduce.map.java.opts=$java" -D "mapreduce.reduce.java.opts=$java")
	case $1 in
	wordcount) run=("${examples[0]}" wordcount "${with[@]}" "$in" "$out") ;;
	sort) run=("${examples[0]}" sort "${with[@]}" "${lines[@]}" -r 1 "$in" "$out") ;;
	grep) run=("${examples[0]}" grep "${with[@]}" "$in" "$out" "$pattern") ;;
	streaming-cat) run=("${stream[0]}" "${with[@]}" "${cat[@]}" -input "$in" -output "$out") ;;
	streaming-python) run=("${stream[0]}" "${with[@]}" "${wc[@]}" -input "$in" -output "$out") ;;
	*) printf ' | |' && return ;;
	esac
	"$hadoop" fs -rm -r -f -skipTrash "$out" >/dev/null 2>&1
	time=$(micros "$hadoop" jar "${run[@]}") || exit
	rm -rf "$work/theirs"
	"$hadoop" fs -cat "$out/part-*" >"$work/theirs" 2>/dev/null
	"$hadoop" fs -rm -r -skipTrash "$out" >/dev/null 2>&1
	"$2" || die "$1: the answers of the cluster and mrlocal differ"
	case $1 in
	wordcount | sort | grep)
		local input=("$in" --webhdfs "127.0.0.1:$((port + 1))")
		hdfs=$(micros "$3") || exit
		"$2" || die "$1: mrlocal gives another answer on HDFS"
		;;
	esac
	rm -rf "$work/theirs"
	awk -v t="$time" -v h="$hdfs" 'BEGIN { printf " %.1f s | %s |", t / 1e6, h ? sprintf("%.2f s", h / 1e6) : "" }'
}

port=19200 root=hdfs://127.0.0.1:19200
if [ -n "$cluster" ]; then
	[ "$dir" != "$work" ] || trap 'hadoop/cluster down "$work/cluster"; rm -rf "$work"' EXIT
	hadoop/cluster status "$dir/cluster" >/dev/null || hadoop/cluster up "$dir/cluster" "$port" >/dev/null 2>"$work/stderr" || die "no cluster: $(tail -n 3 "$work/stderr")"
	"$dir/cluster/bin/hadoop" fs -test -e "$root/text-$size" 2>/dev/null || "$dir/cluster/bin/hadoop" fs -put "$text" "$root/text-$size" 2>/dev/null
fi
[ "$runs" = 1 ] && how="One run each" || how="Medians of $runs runs in turn"
echo "$how, 2 cores, Hadoop $(cat "$HADOOP_HOME/version"), commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown), text of $size. Ratio: the peer's time divided by ours."
echo
echo "| row | work | peer | its time | mrlocal | ratio |${cluster:+ on the cluster | mrlocal from its HDFS |}"
echo "| --- | --- | --- | ---: | ---: | ---: |${cluster:+ ---: | ---: |}"
row wordcount "count words" "WordCount" same_set their_wordcount our_wordcount
row sort "sort lines" "Sort" same_lines their_sort our_sort
row grep "count matches of \`$pattern\`" "Grep" same_set their_grep our_grep
if "$work/mrlocal" streaming --help >/dev/null 2>&1; then
	row streaming-cat "Streaming: \`cat\`, \`wc -l\`" "hadoop-streaming" same_count their_cat our_cat
	row streaming-python "Streaming: word count in Python" "hadoop-streaming" same their_python our_python
	if command -v parallel >/dev/null; then
		row parallel-cat "Streaming: \`cat\`, \`wc -l\`" "parallel --pipepart" same_count parallel_cat our_cat
		row parallel-python "Streaming: word count in Python" "parallel --pipepart" same_set parallel_python our_python
	fi
fi
