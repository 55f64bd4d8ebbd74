//go:build unix

package input

import (
	"os"
	"syscall"
)

// identityOf returns the identity behind fi.
func identityOf(fi os.FileInfo) identity {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return identity{mtimeNanos: fi.ModTime().UnixNano()}
	}
	return identity{dev: uint64(st.Dev), ino: uint64(st.Ino), mtimeNanos: fi.ModTime().UnixNano()}
}

// nonBlocking is the flag with which open does not wait if the file has become a FIFO.
const nonBlocking = syscall.O_NONBLOCK
