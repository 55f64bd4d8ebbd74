package tools

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
		o     findOptions
		roots string
		want  string
	}{
		{"ignore files", findOptions{}, "", "doc/build/k.md keep.log src/a.go src/b.py src/keep.tmp src/sub/c.go"},
		{"a dot as root", findOptions{}, "./doc", "./doc/build/k.md"},
		{"rules of directories above", findOptions{}, "src/sub", "src/sub/c.go"},
		{"no ignore files", findOptions{NoIgnore: true}, "src", "src/a.go src/b.py src/keep.tmp src/sub/c.go src/sub/z.c src/x.log"},
		{"a named file is taken", findOptions{}, "src/x.log -", "src/x.log -"},
		{"a named directory is taken", findOptions{}, "build", "build/o.go"},
		{"hidden", findOptions{Hidden: true, Globs: []string{"!.git"}, Types: []string{"go"}}, "", ".hid/h.go src/a.go src/sub/c.go"},
		{"a glob counts more than ignore files", findOptions{Globs: []string{"*.log"}}, "", "keep.log src/x.log"},
		{"an anchored glob", findOptions{Globs: []string{"/src/*.go"}}, "", "src/a.go"},
		{"a glob that leaves out", findOptions{Globs: []string{"!src"}}, "", "doc/build/k.md keep.log"},
		{"types", findOptions{Types: []string{"py", "md"}}, "", "doc/build/k.md src/b.py"},
		{"include", findOptions{Include: []string{"*.go"}}, "src keep.log", "src/a.go src/sub/c.go"},
		{"exclude", findOptions{Exclude: []string{"*.go"}, ExcludeDir: []string{"doc"}}, "src doc", "src/b.py src/keep.tmp"},
	} {
		roots := strings.Fields(c.roots)
		if len(roots) == 0 {
			roots = []string{""}
		}
		c.o.Missing = func(path string, err error) { t.Errorf("%s: %s: %v", c.name, path, err) }
		files, err := findFiles(roots, c.o)
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
	files, err := findFiles([]string{""}, findOptions{Missing: func(path string, err error) { t.Error(path, err) }})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(slices.Collect(files), " "); got != "d/y" {
		t.Errorf("got %q", got)
	}
}
