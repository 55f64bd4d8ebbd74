package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestPublishLosesNothing shows which files Publish replaces, and that other files keep what they are.
func TestPublishLosesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(path string) error // path exists
		same    bool                    // the inode
	}{
		"a file": {func(path string) error { return os.Chmod(path, 0o640) }, false},
		"none":   {os.Remove, false},
		"links":  {func(path string) error { return os.Link(path, path+"2") }, true},
		"a link": {func(path string) error {
			return errors.Join(os.Rename(path, path+"2"), os.Symlink("f2", path))
		}, true},
		"special bits": {func(path string) error { return os.Chmod(path, 0o755|os.ModeSticky) }, true},
		"another owner": {func(path string) error {
			if os.Geteuid() != 0 {
				return nil
			}
			return errors.Join(os.Chmod(path, 0o604), os.Chown(path, 65534, 65534))
		}, false},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "f")
		must(t, os.WriteFile(path, []byte("an old text that is longer"), 0o600))
		must(t, c.prepare(path))
		before, _ := os.Stat(path)
		names, _ := os.ReadDir(dir)
		f, err := Beside(path)
		must(t, err)
		_, err = f.WriteString("new")
		must(t, err)
		must(t, Publish(Of(f), path))
		text, err := os.ReadFile(path)
		after, _ := os.Stat(path)
		if string(text) != "new" || err != nil {
			t.Errorf("%s: %q, %v", name, text, err)
		}
		if before == nil {
			continue
		}
		if before.Mode() != after.Mode() || os.SameFile(before, after) != c.same || owner(before) != owner(after) {
			t.Errorf("%s: %v became %v", name, before, after)
		}
		if left, _ := os.ReadDir(dir); len(left) != len(names) || left[0].Type() != names[0].Type() {
			t.Errorf("%s: left: %v", name, left)
		}
	}
}

// owner returns the user and the group of a file.
func owner(info fs.FileInfo) [2]uint32 {
	st := info.Sys().(*syscall.Stat_t)
	return [2]uint32{st.Uid, st.Gid}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
