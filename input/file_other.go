//go:build !unix

package input

import "os"

// identityOf is the identity behind fi: here without inode numbers.
func identityOf(fi os.FileInfo) identity {
	return identity{mtimeNanos: fi.ModTime().UnixNano()}
}

// readable asks whether path may be read, by opening it.
func readable(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}

// nonBlocking: here opening never waits.
const nonBlocking = 0
