package find

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// makeFiles makes a file with the text foo for each path below the working directory, and the links.
func makeFiles(t *testing.T, paths []string, links map[string]string) {
	t.Helper()
	for _, path := range paths {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("foo\n"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range links {
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
	}
}

// listAll returns the paths that Files finds, and those that it complains about.
func listAll(t *testing.T, roots []string, o Options) (paths, troubles []string) {
	t.Helper()
	o.Missing = func(path string, _ error) { troubles = append(troubles, path) }
	o.Loop = func(path string) { troubles = append(troubles, "loop "+path) }
	files, err := Files(roots, o)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Collect(files), troubles
}

// randomName returns a random --include, --exclude or --exclude-dir.
func randomName(r *rand.Rand) Name {
	kind := draw(r, []NameKind{Include, Exclude, ExcludeDir})
	globs := []string{"*.c", "a.c", "sub/*", "*/a.c", "a?c", "[ab].c", "[!a]*", "[^a]*", "*", "sub", "sub/", "./sub", ".", "..", "", "/", "//", "deep", "sub/deep", "*b", "./*", "s*", "[", "[a", "we[ird", "we\\[ird", "we[[]ird",
		"\\a.c", "a\\.c", "*.c/", "[[:alpha:]].c", "[[:upper:]]*", "[a-]*", "[]w]*", "*.[ch]", "a*c", "link", "link*", "{a,b}.c", "**", "a\\\\b", "a[\\\\]b", "é", "?", "??", "[z-a].c", "[[:foo:]]*", "[[:alpha:]", "deep/", "x\\", "sub//a.c", "*a.c", "/a.c",
		"[[.a.]].c", "[[=a=]].c", "[[.a.]-c].[c-[.h.]]", "[[.a.]-].c", "[![=a=]]*", "[[=a=]-c].*", "[[.ab.]]*", "[[.].][...][.-.]]*", "[a-[=h=]*", "[[.[.]]a", "[[=ab=]].c", "[[.a.][=b=]].[ch]", "[[.a", "[a[.foo.]b].c", "[!a[.foo.]b].c", "[a-[.foo.]b].[a-h]", "[ab[.foo.]-z].c", "[a[.foo.].c", "[b[..]a].*", "[[.foo.]a].c"}
	return Name{kind, draw(r, globs)}
}

// TestNamesAreGNUs compares the files that --include, --exclude, --exclude-dir and --exclude-from choose,
// in random order, with GNU grep -r and -R.
func TestNamesAreGNUs(t *testing.T) {
	path, err := exec.LookPath("grep")
	if err == nil {
		var version []byte
		if version, err = exec.Command(path, "--version").Output(); !bytes.Contains(version, []byte("GNU grep) 3.")) {
			err = errors.New("it is not GNU grep 3")
		}
	}
	if err != nil {
		t.Skipf("no GNU grep to compare with: %v", err)
	}
	top := t.TempDir()
	t.Chdir(top)
	makeFiles(t, []string{"a.c", "b.h", "sub/a.c", "sub/b.h", "sub/deep/x.c", "sub/deep/sub/a.c", "c/x", "we[ird", `a\b`, "é", "Up.c", "-b", "[a", "[", "x\\", ".h"},
		map[string]string{"link": "sub", "c/link": "../sub/deep", "c/link.c": "../a.c", "sub/deep/up": "..", "broken.c": "missing"})
	n, r := checks(t)
	for range n {
		var args []string
		o := Options{Hidden: true, NoIgnore: true, Follow: r.IntN(3) == 0}
		for range r.IntN(5) {
			n := randomName(r)
			o.Names = append(o.Names, n)
			switch n.Kind {
			case Include:
				args = append(args, "--include="+n.Glob)
			case ExcludeDir:
				args = append(args, "--exclude-dir="+n.Glob)
			default:
				args = append(args, "--exclude="+n.Glob)
			}
		}
		if r.IntN(8) == 0 {
			text := draw(r, []string{"*.c\n", "*.c", "b.h \t\n\n a.c\n", "\n", "", "sub\r\n*x\r\n", "#a\n*.h"})
			if err := os.WriteFile(filepath.Join(top, "..", "from"), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			args = append(args, "--exclude-from=../from")
			for _, g := range PatternsOf(text) {
				o.Names = append(o.Names, Name{Exclude, g})
			}
		}
		var roots []string
		for range 1 + r.IntN(2) {
			roots = append(roots, draw(r, []string{".", "sub", "sub/", "./sub", "sub//", "sub/.", top + "/sub", "a.c", "./a.c", "sub/a.c", "sub//a.c", "sub/../sub", "link", "link/", "c/link.c", "..//" + filepath.Base(top), "missing"}))
		}
		if r.IntN(4) == 0 {
			roots = nil
		}
		flag := "-rl"
		if o.Follow {
			flag = "-Rl"
		}
		c := exec.Command(path, slices.Concat([]string{flag}, args, []string{"foo"}, roots)...)
		c.Env = append(os.Environ(), "LC_ALL=C")
		out, err := c.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if roots == nil {
			roots = []string{""}
		}
		var want, wantTroubles []string
		for line := range strings.Lines(string(out)) {
			line = strings.TrimSuffix(line, "\n")
			if trouble, ok := strings.CutPrefix(line, path+": "); ok {
				name, warning, _ := strings.Cut(trouble, ": ")
				if strings.HasPrefix(warning, "warning") {
					name = "loop " + name
				}
				wantTroubles = append(wantTroubles, name)
			} else {
				want = append(want, line)
			}
		}
		got, troubles := listAll(t, roots, o)
		for _, s := range [][]string{want, wantTroubles, got, troubles} {
			slices.Sort(s)
		}
		if !slices.Equal(got, want) || !slices.Equal(troubles, wantTroubles) {
			t.Errorf("grep %s %q foo %q:\ngot  %q %q\nwant %q %q", flag, args, roots, got, troubles, want, wantTroubles)
		}
	}
}
