#!/usr/bin/env bash
# Replaces the text between the lines <!-- NAME --> and <!-- /NAME --> of each file with standard
# input.
#
#   bench/peers.sh | bench/paste.sh peers docs/performance.md
#   bench/scaling.sh docs/scaling.tsv | bench/paste.sh scaling docs/performance.md
#   bench/hadoop.sh -cluster -only '@(wordcount|sort|grep)' | bench/paste.sh hadoop docs/performance.md
#   bench/loops.sh | bench/paste.sh loops docs/loops.md
set -euo pipefail
name=$1 text=$(cat)
shift
[ -n "$text" ] || { echo "paste.sh: nothing to paste" >&2; exit 1; }
for file in "$@"; do
	grep -qxF "<!-- $name -->" "$file" || { echo "paste.sh: $file has no place for $name" >&2; exit 1; }
	new=$(TEXT=$text NAME=$name awk '
		$0 == "<!-- /" ENVIRON["NAME"] " -->" { inside = 0 }
		!inside
		$0 == "<!-- " ENVIRON["NAME"] " -->" { inside = 1; print ENVIRON["TEXT"] }' "$file")
	printf '%s\n' "$new" >"$file"
done
