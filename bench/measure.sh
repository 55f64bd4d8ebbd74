# Sourced by the scripts beside it: programs that must be there, a place for
# data in memory, wall times in microseconds, medians.

# need PROGRAM PACKAGE installs what is missing from Debian packages.
need() {
	command -v "$1" >/dev/null && return
	command -v apt-get >/dev/null || die "$1 is missing, and there is no apt-get to install it"
	local root=()
	[ "$(id -u)" = 0 ] || root=(sudo)
	"${root[@]}" apt-get update -q >/dev/null || true
	DEBIAN_FRONTEND=noninteractive "${root[@]}" apt-get install -qy "$2" >/dev/null
}

die() { echo "${0##*/}: $*" >&2; exit 2; }

# workdir makes $work, in memory where there is /dev/shm (write-back is noise),
# which is removed at the end, and builds $work/mrlocal.
workdir() {
	local memory=/dev/shm
	[ -d "$memory" ] && [ -w "$memory" ] || memory=${TMPDIR:-/tmp}
	work=$(mktemp -d "$memory/mrlocal-bench.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	go build -o "$work/mrlocal" ./cmd/mrlocal
}

# mr runs a job without anything drawn.
mr() { "$work/mrlocal" run "$@" --progress none; }

# micros COMMAND... prints its wall time. Exit code 1 is "no match".
micros() {
	local from=$EPOCHREALTIME to
	"$@" >"$work/stdout" 2>"$work/stderr" || [ $? = 1 ] || { cat "$work/stderr" >&2; die "failed: $*"; }
	to=$EPOCHREALTIME
	echo $((${to/./} - ${from/./}))
}

# median reads numbers, a line each.
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
