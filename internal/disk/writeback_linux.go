package disk

import "golang.org/x/sys/unix"

// startWriteback asks the disk to begin with a part of f and does not wait. Errors show in
// the sync.
func startWriteback(f *File, offset, bytes int64) {
	withFD(f, func(fd int) { _ = unix.SyncFileRange(fd, offset, bytes, unix.SYNC_FILE_RANGE_WRITE) })
}

// dropPages waits until a part of f is on the disk, and gives up its pages in memory.
func dropPages(f *File, offset, bytes int64) {
	const wait = unix.SYNC_FILE_RANGE_WAIT_BEFORE | unix.SYNC_FILE_RANGE_WRITE | unix.SYNC_FILE_RANGE_WAIT_AFTER
	withFD(f, func(fd int) {
		if unix.SyncFileRange(fd, offset, bytes, wait) == nil {
			_ = unix.Fadvise(fd, offset, bytes, unix.FADV_DONTNEED)
		}
	})
}

func withFD(f *File, do func(fd int)) {
	c, err := f.SyscallConn() // unlike Fd it may meet a Close from elsewhere
	if err != nil {
		return
	}
	_ = c.Control(func(fd uintptr) { do(int(fd)) })
}
