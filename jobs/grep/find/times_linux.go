package find

import (
	"io/fs"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// accessed returns when the file was last read. A file system may record this late or not at all, as
// with the mount option noatime.
func accessed(_ string, info fs.FileInfo) (time.Time, error) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return time.Time{}, errNoTime
	}
	return time.Unix(st.Atim.Unix()), nil
}

// created returns when the file was created. It returns errNoTime if the file system does not record
// this.
func created(path string, _ fs.FileInfo) (time.Time, error) {
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_BTIME, &st); err != nil {
		return time.Time{}, err
	}
	if st.Mask&unix.STATX_BTIME == 0 {
		return time.Time{}, errNoTime
	}
	return time.Unix(st.Btime.Sec, int64(st.Btime.Nsec)), nil
}
