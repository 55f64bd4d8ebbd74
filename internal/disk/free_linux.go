package disk

import "golang.org/x/sys/unix"

// FreeBytes returns how many bytes this user may still write to the file system of a path.
// It reports false where the system does not tell.
func FreeBytes(path string) (bytes int64, ok bool) {
	var st unix.Statfs_t
	if unix.Statfs(path, &st) != nil {
		return 0, false
	}
	return int64(st.Bavail) * st.Bsize, true
}
