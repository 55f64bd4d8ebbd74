# The scripts next to it source this file. It installs programs that they need, makes a directory for
# data in memory, and measures wall times in microseconds and their medians.

# need PROGRAM PACKAGE installs the Debian package if the program is missing.
need() {
	command -v "$1" >/dev/null && return
	command -v apt-get >/dev/null || die "$1 is missing, and there is no apt-get to install it"
	local root=()
	[ "$(id -u)" = 0 ] || root=(sudo)
	"${root[@]}" apt-get update -q >/dev/null || true
	DEBIAN_FRONTEND=noninteractive "${root[@]}" apt-get install -qy "$2" >/dev/null
}

die() { echo "${0##*/}: $*" >&2; exit 2; }

# workdir makes the directory $work and builds $work/mrlocal. It removes $work at the end. $work is in
# memory if there is /dev/shm, because writing back to a disk makes times noisy.
workdir() {
	local memory=/dev/shm
	[ -d "$memory" ] && [ -w "$memory" ] || memory=${TMPDIR:-/tmp}
	work=$(mktemp -d "$memory/mrlocal-bench.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	CGO_ENABLED=0 go build -o "$work/mrlocal" ./cmd/mrlocal # as it is shipped
}

# mr runs a job without a progress display.
mr() { "$work/mrlocal" run "$@" --progress none; }

# micros COMMAND... prints the wall time of a command in microseconds. It accepts exit code 1, which
# means "no match".
micros() {
	local from=$EPOCHREALTIME to
	"$@" >"$work/stdout" 2>"$work/stderr" || [ $? = 1 ] || { cat "$work/stderr" >&2; die "failed: $*"; }
	to=$EPOCHREALTIME
	echo $((${to/./} - ${from/./}))
}

# median prints the median of the numbers on standard input, one on each line.
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
