//go:build !unix

package input

import "os"

// identityOf returns the identity behind fi. There are no inode numbers here.
func identityOf(fi os.FileInfo) identity {
	return identity{mtimeNanos: fi.ModTime().UnixNano()}
}

// nonBlocking is no flag here: opening never waits.
const nonBlocking = 0
