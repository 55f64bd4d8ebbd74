package find

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestFiles checks which files are searched. The expected files are those of ripgrep 13, and with
// its flags those of GNU grep.
func TestFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		".git/HEAD": "", ".gitignore": "*.log\n!keep.log\n/build/\n# c\n*.tmp\n!src/keep.tmp\nsrc/**/z.c\n",
		"doc/.ignore": "r.md\n", "src/a.go": "", "src/b.py": "", "src/sub/c.go": "", "src/x.log": "", "src/keep.tmp": "",
		"src/sub/z.c": "", "build/o.go": "", "doc/build/k.md": "", "doc/r.md": "", ".hid/h.go": "", ".env": "", "keep.log": "", "n.tmp": "",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name  string
		o     Options
		roots string
		want  string
	}{
		{"ignore files", Options{}, "", "doc/build/k.md keep.log src/a.go src/b.py src/keep.tmp src/sub/c.go"},
		{"a dot as root", Options{}, "./doc", "./doc/build/k.md"},
		{"rules of directories above", Options{}, "src/sub", "src/sub/c.go"},
		{"no ignore files", Options{NoIgnore: true}, "src", "src/a.go src/b.py src/keep.tmp src/sub/c.go src/sub/z.c src/x.log"},
		{"a named file is taken", Options{}, "src/x.log -", "src/x.log -"},
		{"a named directory is taken", Options{}, "build", "build/o.go"},
		{"hidden", Options{Hidden: true, Globs: []string{"!.git"}, Types: []string{"go"}}, "", ".hid/h.go src/a.go src/sub/c.go"},
		{"a glob counts more than ignore files", Options{Globs: []string{"*.log"}}, "", "keep.log src/x.log"},
		{"an anchored glob", Options{Globs: []string{"/src/*.go"}}, "", "src/a.go"},
		{"a glob that leaves out", Options{Globs: []string{"!src"}}, "", "doc/build/k.md keep.log"},
		{"types", Options{Types: []string{"py", "md"}}, "", "doc/build/k.md src/b.py"},
		{"include", Options{Names: []Name{{Include, "*.go"}}}, "src keep.log", "src/a.go src/sub/c.go"},
		{"exclude", Options{Names: []Name{{Exclude, "*.go"}, {ExcludeDir, "doc"}}}, "src doc", "src/b.py src/keep.tmp"},
	} {
		roots := strings.Fields(c.roots)
		if len(roots) == 0 {
			roots = []string{""}
		}
		c.o.Missing = func(path string, err error) { t.Errorf("%s: %s: %v", c.name, path, err) }
		files, err := Files(roots, c.o)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(slices.Collect(files), " "); err != nil || got != c.want {
			t.Errorf("%s: got %q %v, want %q", c.name, got, err, c.want)
		}
	}
}

// As in ripgrep, an .rgignore wins over an .ignore in a nearer directory.
func TestAnRgignoreCountsMoreThanAnIgnoreFileBelow(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{".rgignore": "e\n", "d/.ignore": "!e\n", "d/e/x": "", "d/y": ""} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	files, err := Files([]string{""}, Options{Missing: func(path string, err error) { t.Error(path, err) }})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(slices.Collect(files), " "); got != "d/y" {
		t.Errorf("got %q", got)
	}
}
