package disk

import (
	"testing"

	"golang.org/x/sys/unix"
)

// mountSmall mounts a tmpfs of 1 MiB for the test, which root may do.
func mountSmall(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("cannot mount a tmpfs: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}
