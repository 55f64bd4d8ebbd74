package main

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mrlocal/internal/testkit"
)

// TestGrepFlagOrderIsGNUs compares flags in a random order, some of them more than once, with GNU grep.
func TestGrepFlagOrderIsGNUs(t *testing.T) {
	path := gnuGrep(t)
	t.Chdir(t.TempDir())
	writeBelow(t, map[string]string{
		"f": "a.b\naxb\nab\nA+B\nx\n", "g": "a+b\naab\n", "d/h": "a.b\n", "d/i.c": "x\na+b\n", "none": "",
		"dots": "a.b\n", "plus": "a+b\nx\n", "empty": "", "line": "\n",
	})
	testkit.Check(t, func(r *rapid.T) {
		flags := []string{"-h", "-H", "-l", "-L", "-c", "-n", "-q", "-i", "-v", "-w", "-m1", "-m2", "-A1", "-A0", "-B1", "-C1", "-C0", "-ea.b", "-ea+b", "-eB", "-ex", "-fdots", "-fplus", "-fempty", "-fline",
			"--include=*.c", "--exclude=*.c", "--exclude=f", "--include=[fg]", "--exclude=*", "--exclude-dir=d", "--regexp=b", "--no-filename", "--with-filename", "--colour=never", "--color=auto"}
		syntax := rapid.SampledFrom([][]string{{"-E"}, {"-F"}, {"-E", "-E"}, {"-F", "-E"}}).Draw(r, "syntax")
		args := append(rapid.SliceOfN(rapid.SampledFrom(flags), 1, 7).Draw(r, "flags"), syntax...)
		if args = rapid.Permutation(args).Draw(r, "order"); !slices.ContainsFunc(args, func(arg string) bool {
			return strings.HasPrefix(arg, "-e") || strings.HasPrefix(arg, "-f") || strings.HasPrefix(arg, "--reg")
		}) {
			args = append(args, "a.b")
		}
		args = append(args, "-r")
		args = append(args, rapid.SampledFrom([][]string{{"f"}, {"f", "g", "-"}, {"g", "d/i.c"}, {"none", "d/h", "d/i.c"}}).Draw(r, "files")...)
		want, wantCode := runGrepOf(t, ".", "a.b\nB\n", path, args...)
		got, trouble, code := runGrepTool(1<<20, "a.b\nB\n", args...)
		if got != want || code != wantCode || (trouble != "") != (code == 2) {
			r.Fatalf("grep %q:\ngot  %d %q %s\nwant %d %q", args, code, got, trouble, wantCode, want)
		}
	})
}

// gnuSort returns the path of GNU sort, or skips the test.
func gnuSort(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("sort")
	if err == nil {
		var version []byte
		if version, err = exec.Command(path, "--version").Output(); !strings.Contains(string(version), "GNU coreutils") {
			err = errors.New("it is not GNU sort")
		}
	}
	if err != nil {
		t.Skipf("no GNU sort to compare with: %v", err)
	}
	return path
}

// TestSortFlagOrderIsGNUs compares flags in a random order, some of them more than once, with GNU sort.
func TestSortFlagOrderIsGNUs(t *testing.T) {
	path := gnuSort(t)
	text := "b,2;z\na,10;Y\n B,2;x\nc,-1;y\na,9;z\n\nA,10;y\n_a;,3\n b,1\n"
	testkit.Check(t, func(r *rapid.T) {
		flags := []string{"-k1", "-k2", "-k1,1", "-k2,2n", "-k2nr", "-k1.2,1.3", "-k2b,2", "-k1f,1", "-k2,2r", "-k1,1d", "-k2g", "-k3", "-k1,2V", "-n", "-r", "-f", "-b", "-d", "-i", "-s", "-u", "-g", "-V", "-t,", "-t;", "-t,", "--key=2,2", "--sort=numeric",
			"--reverse", "-M", "-h", "-z", "-c", "-C", "--parallel=2", "--parallel=1", "-S1M", "-S2M"}
		args := rapid.SliceOfN(rapid.SampledFrom(flags), 1, 6).Draw(r, "flags")
		want, wantCode := runGrepOf(t, ".", text, path, args...)
		got, trouble, code := call(t, "sort", text, args...)
		if got != want || code != wantCode {
			r.Fatalf("sort %q:\ngot  %d %q %s\nwant %d %q", args, code, got, trouble, wantCode, want)
		}
	})
}

// TestGrepOfLinksAndLists checks messages and exit codes of the flags that choose files.
func TestGrepOfLinksAndLists(t *testing.T) {
	t.Chdir(t.TempDir())
	writeBelow(t, map[string]string{"d/a": "foo\n", "d/sub/b": "foo\n", "o/x": "foo\n", "names": "x \n\nb\t\n"})
	for link, target := range map[string]string{"o/l": "../d/sub", "d/sub/up": ".."} {
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
	}
	const back, loop = "the link leads back to a directory around it", "warning: recursive directory loop"
	for _, c := range []struct {
		args           string
		code           int
		stdout, stderr string // a bar stands for a newline
	}{
		{"--files", 0, "d/a|d/sub/b|names|o/x|", ""},
		{"--files -0 d o", 0, "d/a\x00d/sub/b\x00o/x\x00", ""},
		{"--files ./o// d/a", 0, "./o/x|d/a|", ""},
		{"--files -q", 0, "", ""},
		{"--files -g *.c", 1, "", ""},
		{"--files o missing", 2, "o/x|", "missing: no such file or directory|"},
		{"--files -s missing", 2, "", ""},
		{"--files -q missing o", 0, "", "missing: no such file or directory|"}, // as in ripgrep
		{"--files --exclude-from names", 0, "d/a|names|", ""},
		{"--files --exclude-from none", 2, "", "--exclude-from: open none: no such file or directory|"},
		{"--files --exclude-from names --include x", 0, "d/a|names|o/x|", ""},
		{"--files --follow", 2, "d/a|d/sub/b|names|o/l/b|o/l/up/a|o/l/up/sub/b|o/x|", "d/sub/up: " + back + "|o/l/up/sub/up: " + back + "|"},
		{"-R -l foo d o", 0, "d/a|d/sub/b|o/l/b|o/l/up/a|o/x|", "d/sub/up: " + loop + "|o/l/up/sub: " + loop + "|"},
		{"-R -r -l foo", 0, "d/a|d/sub/b|o/l/b|o/l/up/a|o/x|", "d/sub/up: " + loop + "|o/l/up/sub: " + loop + "|"},
		{"-r -c foo o/l", 0, "o/l/b:1|", ""},
		{"-E -F foo d", 2, "", "-E, -F: give one of them, not both|"},
		{"-c -v zzz d missing", 2, "d/a:1|d/sub/b:1|", "missing: no such file or directory|"},
	} {
		stdout, stderr, code := runGrepTool(0, "", strings.Fields(c.args)...)
		stdout, stderr = strings.ReplaceAll(stdout, "\n", "|"), strings.ReplaceAll(strings.ReplaceAll(stderr, "mrlocal: grep: ", ""), "\n", "|")
		if stdout != c.stdout || stderr != c.stderr || code != c.code {
			t.Errorf("grep %s:\ngot  %d %q %q\nwant %d %q %q", c.args, code, stdout, stderr, c.code, c.stdout, c.stderr)
		}
	}
}
