package output

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// replace writes text to the file at path as a result of one part.
func replace(t *testing.T, path, text string) error {
	t.Helper()
	target, err := Open(Spec{File: path, Overwrite: true})
	if err != nil {
		return err
	}
	if err := target.Start(); err != nil {
		return err
	}
	target.Expect(Parts{Count: 1})
	part, err := target.Part(0, 0)
	if err != nil {
		return err
	}
	if _, err := part.Write([]byte(text)); err != nil {
		return err
	}
	if err := part.Commit(); err != nil {
		return err
	}
	return target.Commit()
}

// A file keeps its inode where a new file would lose something, and gets a new one otherwise.
func TestAFileKeepsWhatARenameWouldLose(t *testing.T) {
	inode := func(path string) uint64 {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Sys().(*syscall.Stat_t).Ino
	}
	for name, c := range map[string]struct {
		prepare func(path string) error
		same    bool // the inode
	}{
		"a file":                {func(string) error { return nil }, false},
		"a mode":                {func(path string) error { return os.Chmod(path, 0o640) }, false},
		"a hard link":           {func(path string) error { return os.Link(path, path+".link") }, true},
		"setuid":                {func(path string) error { return os.Chmod(path, 0o755|os.ModeSetuid) }, true},
		"setgid":                {func(path string) error { return os.Chmod(path, 0o755|os.ModeSetgid) }, true},
		"sticky":                {func(path string) error { return os.Chmod(path, 0o644|os.ModeSticky) }, true},
		"all bits":              {func(path string) error { return os.Chmod(path, 0o640|os.ModeSetuid|os.ModeSetgid|os.ModeSticky) }, true},
		"an extended attribute": {func(path string) error { return unix.Setxattr(path, "user.note", []byte("x"), 0) }, true},
		"a symbolic link": {func(path string) error {
			if err := os.Rename(path, path+".real"); err != nil {
				return err
			}
			return os.Symlink(filepath.Base(path)+".real", path)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "f")
			if err := os.WriteFile(path, []byte("an old text that is longer"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := c.prepare(path); err != nil {
				t.Skip(err)
			}
			entries, _ := os.ReadDir(dir)
			beforeInode := inode(path)
			// A write by a user other than root clears bits of the mode.
			must(t, os.WriteFile(path, []byte("another old text"), 0))
			before := mode(t, path)
			if err := replace(t, path, "new"); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(path)
			if string(text) != "new" || err != nil || mode(t, path) != before || (inode(path) == beforeInode) != c.same {
				t.Errorf("%q, %v, mode %v, inode %d; it had %v and %d", text, err, mode(t, path), inode(path), before, beforeInode)
			}
			if left, _ := os.ReadDir(dir); len(left) != len(entries) {
				t.Errorf("left: %v", left)
			}
			if link, err := os.ReadFile(path + ".link"); err == nil && string(link) != "new" {
				t.Errorf("the link has %q", link)
			}
		})
	}
}

// TestAPendingFileElsewhereIsPrivate: others may read the directory of temporary files, but not always that
// of the result.
func TestAPendingFileElsewhereIsPrivate(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	old, err := os.Stat("/dev/null") // with all permissions
	if err != nil {
		t.Fatal(err)
	}
	p := &pendingFile{name: "f", path: filepath.Join(t.TempDir(), "closed", "f"), replaces: old, inPlace: true}
	if err := p.start(); err != nil {
		t.Fatal(err)
	}
	if got := mode(t, p.mu.f.Name()); got != 0o600 {
		t.Errorf("%s has the mode %v", p.mu.f.Name(), got)
	}
	if err := p.abort(); err != nil {
		t.Fatal(err)
	}
}

func mode(t *testing.T, path string) os.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode()
}
