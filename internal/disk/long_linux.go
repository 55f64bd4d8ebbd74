package disk

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Short returns a path of the same file that a system call accepts: shorter than 4096 bytes. For a longer path it
// opens the directories of its first parts. The caller calls release after the last use of the result. If a
// directory cannot be opened, Short returns path, so that the system call reports an error.
func Short(path string) (short string, release func()) {
	if len(path) < unix.PathMax {
		return path, func() {}
	}
	at, rest := unix.AT_FDCWD, path
	release = func() {
		if at >= 0 {
			_ = unix.Close(at)
		}
	}
	// The directory that replaces the first parts has a shorter name than this.
	const nameBytes = 64
	for len(rest) >= unix.PathMax-nameBytes {
		end := strings.LastIndexByte(rest[:unix.PathMax-nameBytes], '/')
		if end <= 0 {
			return path, release
		}
		next, err := unix.Openat(at, rest[:end], unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		release()
		if at = next; err != nil {
			at = -1
			return path, release
		}
		rest = strings.TrimLeft(rest[end:], "/")
	}
	return "/proc/self/fd/" + strconv.Itoa(at) + "/" + rest, release
}
