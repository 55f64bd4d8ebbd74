#!/usr/bin/env bash
# Runs jobs of mrlocal on a Hadoop and on a Spark of this machine, and here, on the same text.
#
#   bench/clusters.sh [-size SIZE] [-dir DIR]    default 1GiB
#
# mrlocal submit runs wordcount, sort and grep, each with two reduces: on a pseudo-distributed Hadoop (HDFS, YARN, four
# tasks at a time), and on a Spark with two worker processes (local-cluster). Each answer is compared with that of
# mrlocal run. The table has wall times of one run each. -dir keeps the jars for other calls.
# It needs Java and Maven for Hadoop, and the Python that has pyspark: PYSPARK_PYTHON, or python3.
set -euo pipefail
cd "$(dirname "$0")/.."
. bench/measure.sh
export LC_ALL=C PYSPARK_PYTHON=${PYSPARK_PYTHON:-python3} SPARK_LOCAL_IP=127.0.0.1
size=1GiB dir=
while [ $# -gt 0 ]; do
	case $1 in
	-size) size=$2 && shift 2 ;;
	-dir) dir=$2 && shift 2 ;;
	*) die "unknown option $1; the first lines of bench/clusters.sh list the options" ;;
	esac
done
SPARK_HOME=$("$PYSPARK_PYTHON" -c 'import os, pyspark; print(os.path.dirname(pyspark.__file__))') || die "$PYSPARK_PYTHON has no pyspark"
export SPARK_HOME
workdir
dir=$(mkdir -p "${dir:-$work}" && cd "${dir:-$work}" && pwd)
cluster=$(mktemp -d "${TMPDIR:-/tmp}/mrlocal-clusters.XXXXXX") # on a disk, because HDFS and the jobs need several times the text
trap 'hadoop/cluster down "$cluster/hadoop" || true; rm -rf "$work" "$cluster"' EXIT
hadoop/get "$dir/hadoop"
export HADOOP_HOME=$dir/hadoop
port=19300 root=hdfs://127.0.0.1:19300
text=$work/text hadoop=$cluster/hadoop/bin/hadoop
"$work/mrlocal" gen corpus --size "$size" --seed 7 "$text"
hadoop/cluster up "$cluster/hadoop" "$port" >/dev/null 2>"$work/stderr" || die "no cluster: $(tail -n 3 "$work/stderr")"
"$hadoop" fs -put "$text" "$root/text" 2>/dev/null

here() { rm -f "$work/here" && mr "${job[@]}" "$text" --output-file "$work/here"; }
on_hadoop() {
	"$work/mrlocal" submit "${job[@]}" --reducers 2 --input "$root/text" --output "$root/$1" --hadoop "$hadoop" --webhdfs "127.0.0.1:$((port + 1))"
}
on_spark() {
	"$work/mrlocal" submit "${job[@]}" --reducers 2 --engine spark --input "$text" --output "$cluster/spark-$1" --spark-submit "$SPARK_HOME/bin/spark-submit" \
		--property "spark.master=local-cluster[2,1,1024]" --property spark.ui.enabled=false --property "spark.local.dir=$cluster"
}

# row NAME JOB...: runs the job in each way, compares the answers and prints a line of the table.
row() {
	local name=$1 own far spark
	job=("${@:2}")
	own=$(micros here) || exit
	far=$(micros on_hadoop "$name") || exit
	"$hadoop" fs -cat "$root/$name/part-*" 2>/dev/null | cmp - "$work/here" || die "$name: Hadoop's answer differs"
	spark=$(micros on_spark "$name") || exit
	cat "$cluster/spark-$name"/part-* | cmp - "$work/here" || die "$name: Spark's answer differs"
	rm -rf "$cluster/spark-$name"
	awk -v n="$name" -v o="$own" -v f="$far" -v s="$spark" 'BEGIN { printf "| %s | %.1f s | %.0f s | %.0f s |\n", n, o / 1e6, f / 1e6, s / 1e6 }'
}

echo "Text: $size. $(nproc) cores. Commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown). One run each."
echo
echo "| job | mrlocal run | Hadoop on YARN | Spark |"
echo "| --- | ---: | ---: | ---: |"
row wordcount wordcount
row sort sort
row grep grep -e 'in[a-z]*'
