//go:build !unix

package input

import "os"

// identityOf returns the identity behind fi. There are no inode numbers here.
func identityOf(fi os.FileInfo) identity {
	return identity{mtimeNanos: fi.ModTime().UnixNano()}
}

// nonBlocking is 0: open never waits here.
const nonBlocking = 0
