package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// IsMount reports whether a directory lies on another file system than its parent, so that a
// rename cannot replace it. It returns false if the system has no device numbers.
func IsMount(dir, parent fs.FileInfo) bool {
	a, okA := dir.Sys().(*syscall.Stat_t)
	b, okB := parent.Sys().(*syscall.Stat_t)
	return okA && okB && a.Dev != b.Dev
}

// KeepOwner gives f the owner of the file that it replaces. It fails if the system does not allow that.
func KeepOwner(f *File, of fs.FileInfo) error {
	if st, ok := of.Sys().(*syscall.Stat_t); ok {
		return f.Chown(int(st.Uid), int(st.Gid))
	}
	return nil
}

// LosesByRename reports whether a new file in place of the file at path would lose something: other names
// of the file, its owner, special bits of its mode, its access control list or other attributes. It also
// returns true if the directory lets the process make no file, or not replace this one.
func LosesByRename(path string, info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	if st.Nlink > 1 || info.Mode()&specialBits != 0 || MayMakeIn(filepath.Dir(path)) != nil {
		return true
	}
	if user := uint32(os.Geteuid()); user != 0 {
		groups, _ := os.Getgroups()
		if st.Uid != user || int(st.Gid) != os.Getegid() && !slices.Contains(groups, int(st.Gid)) {
			return true
		}
	}
	// The system gives a new file its label of SELinux.
	names := make([]byte, 64<<10) // no list is longer
	n, err := unix.Listxattr(path, names)
	return err == nil && strings.ReplaceAll(string(names[:n]), "security.selinux\x00", "") != ""
}

// syncUnsupported reports whether err says that a file cannot be synced, for example a pipe.
func syncUnsupported(err error) bool {
	return errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EROFS)
}
