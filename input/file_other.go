//go:build !unix

package input

import "os"

// identityOf returns the identity behind fi. There are no inode numbers here.
func identityOf(fi os.FileInfo) identity {
	return identity{mtimeNanos: fi.ModTime().UnixNano()}
}

// readable makes sure that path may be read, by opening it.
func readable(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}

// nonBlocking is no flag here: opening never waits.
const nonBlocking = 0
