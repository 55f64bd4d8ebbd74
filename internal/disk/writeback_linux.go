package disk

import "golang.org/x/sys/unix"

// startWriteback asks the disk to begin with a part of f and does not wait. Errors show in
// the sync.
func startWriteback(f *File, offset, bytes int64) {
	c, err := f.SyscallConn() // unlike Fd it may meet a Close from elsewhere
	if err != nil {
		return
	}
	_ = c.Control(func(fd uintptr) {
		_ = unix.SyncFileRange(int(fd), offset, bytes, unix.SYNC_FILE_RANGE_WRITE)
	})
}
