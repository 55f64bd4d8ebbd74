package find

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// ripgreps returns the paths of all programs named rg whose version begins so, or skips the test.
func ripgreps(t *testing.T, version string) (paths []string) {
	t.Helper()
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		path := filepath.Join(dir, "rg")
		if v := versionOf(path); v != "" && strings.HasPrefix(v, version) {
			paths = append(paths, path)
		}
	}
	if len(paths) == 0 {
		t.Skip("no ripgrep to compare with")
	}
	return paths
}

// versionOf returns the version of a ripgrep, or "" if there is no ripgrep of that path.
func versionOf(path string) string {
	out, _ := exec.Command(path, "--version").Output()
	_, version, _ := strings.Cut(string(out), "ripgrep ")
	return version
}

// TestGlobsAreRipgreps compares the files that random globs of -g choose with ripgrep.
func TestGlobsAreRipgreps(t *testing.T) {
	// Only version 15 has classes and nested alternatives.
	path := ripgreps(t, "15.")[0]
	top := t.TempDir()
	t.Chdir(top)
	makeFiles(t, []string{"a", "b", "ab", "a.c", "x/a", "x/b.c", "x/y/a", "x/y/b.c", "é", "a,b", "[a]", "a b", "\\", "-", "x/-c", "c/{", "!a"}, nil)
	n, r := checks(t)
	words := []string{"a", "b", "c", "x", "y", "*", "*", "?", "/", "/", ".c", "[ab]", "[!a]", "[a-c]", "[]a]", "[a-]", "[-c]", "[", "{a,b}", "{a,x/*}", "{*.c,}", "{}", "{", "}", ",", "{a,b,[}]}", "{*}", "{x/,y}", "{**/,a}", "{{},x}", "**", "\\", "\\a", "\\*", "é", "-", " ", "[\\]", "[c-a]", "[[:alpha:]]"}
	for range n {
		var args []string
		o := Options{NoIgnore: true, Hidden: true}
		for range 1 + r.IntN(2) {
			g := draw(r, []string{"", "", "!", "/", "**/", "x/**", "x/**/"})
			for range r.IntN(4) {
				g += draw(r, words)
			}
			g += draw(r, []string{"", "", "", "/", "/**", " ", "  ", "\\ ", "\t"})
			o.Globs, args = append(o.Globs, g), append(args, "-g"+g)
		}
		// What ripgrep says of an empty glob depends on its version, and two slashes are rare.
		if slices.ContainsFunc(o.Globs, func(g string) bool {
			return strings.Trim(g, ` !/\`) == "" || strings.Contains(g, "//") || strings.Contains(g, "[!")
		}) {
			continue
		}
		root := draw(r, []string{".", top, "x", "../" + filepath.Base(top)})
		out, err := exec.Command(path, slices.Concat([]string{"--files", "--no-config", "-uu", "--sort=path"}, args, []string{root})...).Output()
		wrong := err != nil && err.(*exec.ExitError).ExitCode() == 2
		want := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
		o.Missing = func(path string, cause error) { t.Error(path, cause) }
		files, err := Files([]string{root}, o)
		if wrong != (err != nil) {
			t.Errorf("-g %q: got %v, want an error: %t", o.Globs, err, wrong)
		}
		if err != nil {
			continue
		}
		got := slices.Collect(files)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) && len(got)+len(out) > 0 {
			t.Errorf("-g %q in %s:\ngot  %q\nwant %q", o.Globs, root, got, want)
		}
	}
}

// TestFollowIsRipgreps compares the files and the loops that links lead to with ripgrep.
func TestFollowIsRipgreps(t *testing.T) {
	path := ripgreps(t, "")[0]
	n, r := checks(t)
	top := t.TempDir()
	for i := range max(n/10, 1) {
		dir := filepath.Join(top, strconv.Itoa(i))
		directories := makeTree(t, r, dir, func() string { return someRules(r) })
		for range r.IntN(5) {
			d, target := draw(r, directories), draw(r, directories)
			if r.IntN(3) == 0 {
				target = filepath.Join(target, draw(r, sourceNames()))
			}
			_ = os.Symlink(target, filepath.Join(d, draw(r, []string{"link", "l.c", ".h", "a"}))) // the name may be taken
		}
		args := []string{"--files", "--no-config", "--no-ignore", "--sort=path", "--follow", "--no-messages", dir}
		out, _ := exec.Command(path, args...).Output()
		want := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
		o := Options{Follow: true, NoIgnore: true, Missing: func(string, error) {}}
		files, err := Files([]string{dir}, o)
		if err != nil {
			t.Fatal(err)
		}
		got := slices.Collect(files)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) && len(got)+len(out) > 0 {
			t.Fatalf("got  %q\nwant %q", got, want)
		}
	}
}

// TestTypesAreRipgreps compares the types with those that each installed ripgrep lists. Types that grew
// since ripgrep 13 have other globs there.
func TestTypesAreRipgreps(t *testing.T) {
	grew := strings.Fields("asp bazel crystal ebuild elixir fut gradle h js json lisp lock make markdown md meson msbuild php ps puppet py r " +
		"ruby sh tf ts vim vimscript")
	for _, path := range ripgreps(t, "") {
		out, err := exec.Command(path, "--type-list").Output()
		if err != nil {
			t.Fatal(err)
		}
		old := !strings.HasPrefix(versionOf(path), "15.")
		for line := range strings.Lines(string(out)) {
			name, globs, _ := strings.Cut(strings.TrimSpace(line), ": ")
			got, known := typeGlobs(name)
			if !known || strings.Join(got, ", ") != globs && !(old && slices.Contains(grew, name)) {
				t.Errorf("%s: %s: got %q, want %q", path, name, got, globs)
			}
		}
	}
}
