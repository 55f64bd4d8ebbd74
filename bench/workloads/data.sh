#!/usr/bin/env bash
# data.sh table1 | omo | mix5 [SIZE] | two-pools [SIZE] makes the missing input files of the workload
# of that name, in the current directory. For mix5, SIZE is the size of each job's data (default
# 40MiB). For two-pools it is the size of wiki/ (default 64MiB). It needs mrlocal: the command of that
# name, or $MRLOCAL.
set -euo pipefail

mrlocal=${MRLOCAL:-mrlocal}

# make KIND SIZE SEED PLACE generates data, unless PLACE exists.
make() { [ -e "$4" ] || "$mrlocal" gen "$1" --size "$2" --seed "$3" "$4"; }

case "${1-}" in
table1)
	mkdir -p table1-data
	for mib in 10 20 30 40; do make lines ${mib}MiB $mib table1-data/${mib}MiB.txt; done
	;;
omo)
	mkdir -p omo-data
	make lines 20MiB 20 omo-data/20MiB.txt
	make lines 8000KiB 50 omo-data/50.txt # 50 blocks of 160 KiB
	make lines 8MiB 32 omo-data/32.txt
	;;
mix5)
	size=${2:-40MiB}
	mkdir -p mix5-data
	make words "$size" 1 mix5-data/words.txt
	make lines "$size" 2 mix5-data/lines.txt
	make lines "$size" 3 mix5-data/text.txt
	make records "$size" 4 mix5-data/records
	make wiki "$size" 5 mix5-data/wiki
	;;
two-pools) make wiki "${2:-64MiB}" 1 wiki ;;
*)
	echo "data.sh: table1, omo, mix5 [SIZE] or two-pools [SIZE]" >&2
	exit 2
	;;
esac
