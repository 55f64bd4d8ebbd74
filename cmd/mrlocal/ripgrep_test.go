package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mrlocal/internal/testkit"
)

// ripgrep returns the path of a ripgrep whose version begins so, or skips the test. It looks in all
// directories of PATH.
func ripgrep(t *testing.T, version string) string {
	t.Helper()
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		path := filepath.Join(dir, "rg")
		if out, err := exec.Command(path, "--version").Output(); err == nil && strings.HasPrefix(string(out), "ripgrep "+version) {
			return path
		}
	}
	t.Skip("no ripgrep " + version + " to compare with")
	return ""
}

// timings matches the fields that differ from run to run: times, and how many bytes the search had
// read at its end.
var timings = regexp.MustCompile(`"secs":\d+,"nanos":\d+,"human":"[^"]*"|"human":"[^"]*","nanos":\d+,"secs":\d+|"bytes_searched":\d+`)

// compareRipgrep compares output and exit code with ripgrep, in the working directory. ours has the
// flags of this tool, and theirs those of ripgrep.
func compareRipgrep(t rapid.TB, path, stdin string, block int64, ours, theirs []string) {
	t.Helper()
	c := exec.Command(path, append([]string{"--no-config", "--no-heading", "--color=never"}, theirs...)...)
	c.Stdin = strings.NewReader(stdin)
	c.Env = append(os.Environ(), "LC_ALL=C")
	want, err := c.Output()
	if _, ok := err.(*exec.ExitError); err != nil && !ok {
		t.Fatal(err)
	}
	wantCode := c.ProcessState.ExitCode()
	if !slices.Contains(ours, "-F") {
		ours = append([]string{"-P"}, ours...)
	}
	got, trouble, code := runGrepTool(block, stdin, ours...)
	mask := func(b []byte) string { return string(timings.ReplaceAll(b, []byte("…"))) }
	if mask([]byte(got)) != mask(want) || code != wantCode {
		t.Fatalf("grep %q with blocks of %d bytes: rg %q\ngot  %d %s %s\nwant %d %s", ours, block, theirs, code, mask([]byte(got)), trouble, wantCode, mask(want))
	}
}

// writeBelow writes files below the working directory.
func writeBelow(t rapid.TB, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestGrepJSONIsRipgrep compares --json, byte for byte but for timings.
func TestGrepJSONIsRipgrep(t *testing.T) {
	path := ripgrep(t, "13.")
	t.Chdir(t.TempDir())
	writeBelow(t, map[string]string{
		"a": "foo bar foo\nx\ny\n\xff foo \"\\\t\x01\x7f é\nz\nlast foo", "d": "x\nfoo\nfoo\nfoo\ny\nfoo\n",
		"n\xff": "foo\n", "sp \"ace": "\rfoo\r\n\b\f\u2028foo\n", "none": "bar\n",
	})
	for _, args := range []string{
		"foo a none d", "-C1 foo a", "-v foo a", "-v -C1 foo a d", "-m1 -A2 foo d", "-m2 foo d", "-m0 foo d", "-o foo a", "-n -H foo a",
		"-q foo a", "-q zzz a", "zzz a d", "-w foo d", "$ d", "x* d", "-B2 -A1 foo a d", "-i FOO -", "-e foo -e last .", "foo .", "-F foo .", "-c foo a", "-x foo d",
	} {
		words := strings.Fields(args)
		compareRipgrep(t, path, "x\nfoo", 3, append([]string{"--json"}, words...), append([]string{"--json", "--sort=path"}, words...))
	}
	testkit.Check(t, func(r *rapid.T) {
		// In RE2 a word has ASCII letters only, in ripgrep those of Unicode.
		letters, patterns := []rune("ab \n\n\"é"), []string{"a", "ab", "a+b", "^a", "b$", "[^a]b", "a.b", "zz", "a{2}", "B", `a\sb`}
		words := rapid.Bool().Draw(r, "words")
		if words {
			letters, patterns = []rune("ab \n\n\""), append(patterns, `\ba`, `b\b`)
		}
		// In RE2, a dot matches a byte that is not UTF-8. In ripgrep it does not.
		invalid := !words && rapid.Bool().Draw(r, "invalid")
		if invalid {
			patterns = []string{"a", "ab", "a+b", "^a", "b$", "zz"}
		}
		files := map[string]string{}
		for _, name := range []string{"f", "g"} {
			files[name] = rapid.StringOfN(rapid.SampledFrom(letters), 0, 60, -1).Draw(r, "text")
			if invalid {
				files[name] = strings.Replace(files[name], "é", "\xe9", 1)
			}
		}
		writeBelow(r, files)
		args := []string{"--json"}
		around := rapid.SampledFrom([][]string{nil, {"-A1"}, {"-A3"}, {"-B1"}, {"-B4", "-A1"}, {"-C0"}, {"-C2"}}).Draw(r, "around")
		args = append(args, around...) // in ripgrep -C wins over -A, in GNU grep it does not
		for _, flag := range []string{"-i", "-m1", "-m2", "-v", "-w", "-x", "-q", "--no-messages"} {
			if rapid.IntRange(0, 7).Draw(r, flag) == 7 && (words || flag != "-w") {
				args = append(args, flag)
			}
		}
		args = append(args, "-e", rapid.SampledFrom(patterns).Draw(r, "pattern"), "f", "g", "-")
		block := rapid.SampledFrom([]int64{1, 3, 7, 1 << 20}).Draw(r, "block")
		compareRipgrep(r, path, "ab\nb\n", block, args, append(args, "--sort=path"))
	})
}

// TestGrepMultilineIsRipgrep compares -U on random texts, patterns and flags.
func TestGrepMultilineIsRipgrep(t *testing.T) {
	path := ripgrep(t, "13.")
	t.Chdir(t.TempDir())
	// In ripgrep -C wins over -A and -B, -o makes -c count matches, and --json excludes -c and -l.
	apart := map[string][]string{"-C1": {"-A1", "-B2"}, "-o": {"-c", "-A1", "-B2", "-C1"}, "--json": {"-c", "-l", "-v"}, "-l": {"-c"}, "-v": {"-c", "-l", "-o"}, "-q": {"-v"}}
	testkit.Check(t, func(r *rapid.T) {
		letters := rapid.SampledFrom([]rune("aab \n\n\r"))
		writeBelow(r, map[string]string{"f": rapid.StringOfN(letters, 0, 60, -1).Draw(r, "f"), "g": rapid.StringOfN(letters, 0, 20, -1).Draw(r, "g")})
		args := []string{"-U"}
		for _, flag := range []string{"-A1", "-B2", "-C1", "-b", "-c", "-i", "-l", "-n", "-o", "-v", "-w", "-x", "-q", "--json"} {
			if rapid.IntRange(0, 6).Draw(r, flag) != 6 || slices.ContainsFunc(apart[flag], func(f string) bool { return slices.Contains(args, f) }) {
				continue
			}
			args = append(args, flag)
		}
		args = append(args, "-e", rapid.SampledFrom([]string{"a", `a\n`, `a\nb`, `b\s+a`, "[^a]b", "(?s)a.*?b", "^a", "b$", `a$\n^b`, `\n`, `\n\n`, `a\s*\n`, `(a|b)\n(a|b)`, "A", "x"}).Draw(r, "pattern"), "f", "g")
		compareRipgrep(r, path, "", 0, args, append([]string{"--sort=path", "--include-zero"}, args...))
	})
}

// TestGrepMultilineOfAPipe checks a pipe that is longer than a split, and one without room in memory.
func TestGrepMultilineOfAPipe(t *testing.T) {
	text := strings.Repeat("foo\nbar\n", 1<<18)
	if stdout, stderr, code := runGrepTool(0, text, "-PU", "-c", `foo\nbar`); stdout != "262144\n" || code != 0 {
		t.Errorf("got %d %q %q", code, stdout, stderr)
	}
	if stdout, stderr, code := runGrepTool(0, strings.Repeat(text, 40), "-PU", "-c", `foo\nbar`); code != 2 || !strings.Contains(stderr, "no room for the whole file; raise --memory") {
		t.Errorf("got %d %q %q", code, stdout, stderr)
	}
}

// TestGrepMultilineOfNamedPipes checks that a pipe with a name is searched as a file is, and is named in the
// output and in errors.
func TestGrepMultilineOfNamedPipes(t *testing.T) {
	t.Chdir(t.TempDir())
	text := strings.Repeat("foo\nbar\n", 1<<19)
	writeBelow(t, map[string]string{"text": text, "huge": strings.Repeat(text, 20)})
	for _, c := range []struct {
		file, want string
		code       int
	}{{"text", "pipe:524288\ntext:524288\n", 0}, {"huge", "pipe: a match may span lines, and the run has no room", 2}} {
		if err := exec.Command("mkfifo", "pipe").Run(); err != nil {
			t.Skip(err)
		}
		writer := exec.Command("sh", "-c", "cat "+c.file+" >pipe")
		if err := writer.Start(); err != nil {
			t.Fatal(err)
		}
		stdout, stderr, code := runGrepTool(0, "", "-PU", "-c", `foo\nbar`, "pipe", "text")
		if all := stdout + stderr; code != c.code || !strings.Contains(all, c.want) || strings.Contains(all, "pipe-") {
			t.Errorf("%s: got %d %q", c.file, code, all)
		}
		_ = writer.Wait() // it may have failed, because the search has ended
		if err := os.Remove("pipe"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestGrepMultilineChargesMatches checks that many matches of one chunk take no memory in addition to the text.
func TestGrepMultilineChargesMatches(t *testing.T) {
	const lines = 1 << 22 // a list of their matches would have 96 MiB
	text := strings.Repeat("\n", lines)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if stdout, stderr, code := runGrepTool(0, text, "-PU", "-c", `x*\n`); stdout != "4194304\n" || code != 0 {
		t.Errorf("got %d %q %q", code, stdout, stderr)
	}
	if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 64<<20 {
		t.Errorf("%d bytes", after.TotalAlloc-before.TotalAlloc)
	}
	if stdout, stderr, code := runGrepTool(0, text, "-PU", "--json", `\n`); code != 2 || stdout != "" && !strings.Contains(stderr, "no room for the message") {
		t.Errorf("got %d %.80q %q", code, stdout, stderr)
	}
}

// TestGrepJSONOfBinaryFiles checks a difference from ripgrep: as without --json, a binary file is
// named on standard error, and it has no messages.
func TestGrepJSONOfBinaryFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	writeBelow(t, map[string]string{"b": "\x00\nfoo\n"})
	stdout, stderr, code := runGrepTool(4, "", "--json", "foo", "b")
	if strings.Count(stdout, "\n") != 1 || !bytes.Contains([]byte(stdout), []byte(`"type":"summary"`)) || stderr != "mrlocal: grep: b: binary file matches\n" || code != 0 {
		t.Errorf("got %d %q %q", code, stdout, stderr)
	}
}

// TestGrepFilesAreRipgreps compares with ripgrep which files are searched, and in which order. It
// uses a table, and random trees with ignore files, globs, types and flags.
func TestGrepFilesAreRipgreps(t *testing.T) {
	path := ripgrep(t, "")
	roots := []string{"."}
	if out, err := exec.Command(path, "--version").Output(); err == nil && !regexp.MustCompile(`^ripgrep 1[0-4]\.`).Match(out) {
		// Before version 15, ripgrep matched rules of a directory above the root with wrong paths.
		roots = []string{".", "d", "./d", "d/", "d/e", "x.log", "missing", "d/../d"}
	}
	t.Chdir(t.TempDir())
	writeBelow(t, map[string]string{".git/HEAD": "", ".git/info/exclude": "excluded\n"})
	for _, name := range []string{
		"a.go", "b.py", "Makefile", ".hidden", "d/a.go", "d/A.GO", "d/.h/x.c", "d/e/x.c", "d/e/y.h", "d/e/excluded", "kept/x.log", "x.log", "d/x.log", "b/c", "bc", "b-c",
	} {
		writeBelow(t, map[string]string{name: "foo\nFoo\n"})
	}
	top, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if len(roots) > 1 {
		roots = append(roots, "../"+filepath.Base(top), "../"+filepath.Base(top)+"/d/e", top, top+"/d")
	}
	compare := func(t rapid.TB, args []string, roots ...string) {
		t.Helper()
		args = append(args, roots...)
		compareRipgrep(t, path, "", 0, args, append([]string{"--sort=path"}, args...))
	}
	// The user has settings of git too.
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	for _, args := range []string{
		"", "-u", "-uu", "--hidden", "--no-ignore", "--hidden --no-ignore", "-g *.go", "-g !*.go", "-g *.go -g !a.go", "-g d", "-g d/**", "-g /d/*.go", "-g *.{c,h}",
		"-g !d/e", "-g **/e/*", "-t go", "-t c", "-t py -t make", "-t c -g !*.h", "-g *.go -t py", "-S", "-S -i", "-0", "-0 --hidden", "--sort=path", "-g e/", "-g !e/", "-g [ab].*", "-g .h", "-g .h/**",
		"-g !.git --hidden", "-g *", "-g *.log --no-ignore", "-uu -g !.git",
	} {
		for _, rules := range []string{"", "*.log\n!kept/*.log\n", "/d\n", "d/\n!d/e\n", ".*\n!.hidden\n"} {
			writeBelow(t, map[string]string{".gitignore": rules})
			compare(t, strings.Fields(args), "--files")
		}
	}
	// Rules are made of these words, which mean the same to ripgrep and to git.
	words := []string{"a", "b", "c", "d", "e", "*", "/", "/", "?", "[ab]", "[a-c]", ".c", "x", "!", "log"}
	rule := rapid.Custom(func(r *rapid.T) string {
		// In ripgrep, a rule that has only blanks matches.
		return rapid.SampledFrom([]string{"", "", "!", "/", "**/"}).Draw(r, "head") + strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 1, 4).Draw(r, "words"), "") + rapid.SampledFrom([]string{"", "", "/", "/**", " "}).Draw(r, "tail")
	}).Filter(func(rule string) bool {
		return strings.Trim(rule, "!/ ") != "" && !strings.Contains(rule, "//") && !strings.Contains(strings.TrimSuffix(strings.TrimPrefix(rule, "**/"), "/**"), "**")
	})
	testkit.Check(t, func(r *rapid.T) {
		files := map[string]string{}
		files[home+"/.gitconfig"] = rapid.SampledFrom([]string{"", "[core]\n\texcludesFile = ~/mine\n"}).Draw(r, "settings")
		for _, name := range []string{".gitignore", ".ignore", ".rgignore", "d/.gitignore", "d/.ignore", "d/e/.gitignore", "b/.gitignore", home + "/.config/git/ignore", home + "/mine"} {
			text := ""
			if rapid.IntRange(0, 2).Draw(r, name) == 0 {
				text = strings.Join(rapid.SliceOfN(rule, 1, 3).Draw(r, "rules"), "\n") + "\n"
			}
			if strings.HasPrefix(name, home) {
				text = strings.ReplaceAll(text, "/", "") // ripgrep has anchors at the working directory, and git at the top
			}
			files[name] = text
		}
		writeBelow(r, files)
		var args []string
		for _, flag := range []string{"-u", "-uu", "--hidden", "--no-ignore", "-tgo", "-tc", "-tall", "-g!b", "-g*.go", "-gd/**", "-g!*.c", "-0", "-i"} {
			if rapid.IntRange(0, 9).Draw(r, flag) == 9 {
				args = append(args, flag)
			}
		}
		search := rapid.SampledFrom([][]string{{"-l", "foo"}, {"--files"}}).Draw(r, "search")
		root := rapid.SampledFrom(roots).Draw(r, "root")
		compare(r, args, append(search, root)...)
	})
}
