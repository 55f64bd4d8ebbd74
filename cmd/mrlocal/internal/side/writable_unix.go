//go:build unix

package side

import "golang.org/x/sys/unix"

// writable asks the system whether path may be written.
func writable(path string) error { return unix.Access(path, unix.W_OK) }
