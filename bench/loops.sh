#!/usr/bin/env bash
# Runs the benchmark of each hot loop and prints a table: loop, benchmark, figure.
#
#   bench/loops.sh [BENCHTIME]      0.3s
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-0.3s}

# loop WHAT PACKAGE PATTERN [UNIT] prints a row for the benchmark of PACKAGE that PATTERN matches. It
# has the result in UNIT of each case.
loop() {
	go test -run '^$' -bench "$3" -benchtime "$time" "$2" | W=$1 P=$2 U=${4:-MB/s} awk '
		/^Benchmark/ {
			name = $1
			sub(/^Benchmark/, "", name)
			sub(/-[0-9]+$/, "", name)
			gsub(/\|/, "\\|", name)
			part = name
			if (!sub(/^[^\/]*\//, "", part)) part = ""
			sub(/\/.*/, "", name)
			for (i = 3; i < NF; i += 2) if ($(i + 1) == ENVIRON["U"]) {
				unit = $(i + 1)
				value = $i
				if (unit == "MB/s" && value >= 1000) { unit = "GB/s"; value /= 1000 }
				figures = figures (figures == "" ? "" : "; ") (part == "" ? "" : part " ") \
					(value < 10 ? sprintf("%.1f", value) : sprintf("%.0f", value)) " " unit
				bench = name
			}
		}
		END {
			if (figures == "") exit 1
			printf "| %s | `%s` %s | %s |\n", ENVIRON["W"], ENVIRON["P"], bench, figures
		}' || { echo "loops.sh: $2 has no benchmark $3 in ${4:-MB/s}" >&2; exit 1; }
}

echo "| loop | package and benchmark | figure of each case |"
echo "| --- | --- | --- |"
loop "read a file of the page cache" ./input 'ReaderNext/codec=none'
loop "mark literals and newlines" ./internal/scan 'Mark'
loop "mark the ends of words" ./internal/scan 'Edges'
loop "the same without assembly" ./internal/scan 'Kernels/.*/kernel=portable'
loop "grep: a block, whole" ./jobs/grep 'Map$'
loop "grep: release lines in order" ./jobs/grep 'Release'
loop "grep: the automaton" ./jobs/grep/internal/dfa 'Search/(count|next|find)'
loop "grep: many strings" ./jobs/grep/internal/words 'Search'
loop "wordcount: a block, whole" ./jobs/wordcount 'Map$' Mwords/s
loop "count: a block's lines, fields, columns" ./jobs/count 'Map$'
loop "ignore case" ./jobs/internal/lines 'Lower$'
loop "sum by key, by the number of different keys" ./spill 'Sum$' Mrecords/s
loop "sum words handed over at once" ./spill 'SumSpans' ns/word
loop "fold words handed over at once" ./spill 'FoldSpans' ns/word
loop "grow a table, and sort it" ./spill 'TableGrowth' ns/word
loop "sort: a block's lines" ./jobs/sort 'Map$' Mrecords/s
loop "sort: repeated lines of -u" ./jobs/sort 'WithoutRepeats'
loop "sort: keys of -k" ./jobs/sort 'AppendKey'
loop "sort: 64 MiB, by reference" ./spill 'TakeAndSort' Mrecords/s
loop "sort late: divide a map's entries" ./shuffle/record 'Divide' Mrecords/s
loop "sort late: put records of a range side by side" ./shuffle/record 'Arrange' Mrecords/s
loop "sort late: gather and sort a part" ./shuffle/record 'GatherAndSort' Mrecords/s
loop "sort late: prefixes of whole keys again" ./shuffle/record 'Restore'
loop "emit into the kvbuffer" ./spill 'Emit$' ns/op
loop "merge runs" ./spill 'Merge' Mrecords/s
loop "values of a group" ./spill 'Values' ns/value
loop "push memory out, by codec" ./spill 'Evict'
loop "streaming: cut lines that a command writes" ./hadoop/streaming 'Lines'
loop "write results" ./output 'Write/.*/piece=1MiB'
loop "shuffle: a map output" ./shuffle 'Copy' ns/output
loop "take and give back a chunk" ./internal/membudget 'Chunk' ns/op
loop "a user's job: inverted index" ./engine 'Index'
loop "a closure on a slot's thread" ./engine 'Run$' ns/op
loop "a decision" ./slots 'Ledger$/policy=pi-dhfs' ns/op
loop "an event, kept and written" ./trace 'Append' ns/op
loop "simulate: the event queue" ./sim/events 'Queue' ns/op
loop "simulate: tasks that share a resource" ./sim/cost 'Pool' ns/op
loop "generate data" ./internal/datagen 'Fill'
