package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"mrlocal"
	"mrlocal/internal/testkit"
)

// runGrepTool runs mrlocal grep with splits of the given number of bytes.
func runGrepTool(blockBytes int64, stdin string, args ...string) (stdout, stderr string, code int) {
	return runGrepOn(blockBytes, strings.NewReader(stdin), args...)
}

// runGrepOn is runGrepTool with a reader as standard input.
func runGrepOn(blockBytes int64, stdin io.Reader, args ...string) (stdout, stderr string, code int) {
	var out, trouble bytes.Buffer
	o := mrlocal.Options{MemoryBytes: 64 << 20, NoPin: true}
	o.MapSlots, o.ReduceSlots, o.BlockBytes = 2, 1, blockBytes
	code = runTool(context.Background(), "grep", args, Env{Stdin: stdin, Stdout: &out, Stderr: &trouble, Getenv: os.Getenv}, o)
	return out.String(), trouble.String(), code
}

// gnuGrep returns the path of GNU grep, or skips the test.
func gnuGrep(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("grep")
	if err == nil {
		var version []byte
		version, err = exec.Command(path, "--version").Output()
		if err == nil && !bytes.Contains(version, []byte("GNU grep) 3.")) {
			err = fmt.Errorf("it is not GNU grep 3")
		}
	}
	if err != nil {
		t.Skipf("no GNU grep to compare with: %v", err)
	}
	return path
}

// runGrepOf runs another grep in a directory.
func runGrepOf(t *testing.T, dir, stdin, path string, args ...string) (stdout string, code int) {
	t.Helper()
	c := exec.Command(path, args...)
	c.Dir, c.Stdin = dir, strings.NewReader(stdin)
	c.Env = append(os.Environ(), "LC_ALL=C", "TERM=xterm")
	out, err := c.Output()
	if _, ok := err.(*exec.ExitError); err != nil && !ok {
		t.Fatal(err)
	}
	return string(out), c.ProcessState.ExitCode()
}

// A pattern or a file may have the name of a flag, or the beginning of one.
func TestAWordWithoutHyphensIsAPatternOrAFile(t *testing.T) {
	t.Chdir(t.TempDir())
	words := []string{"col", "colo", "5", "V", "check=quiet", "ch="}
	for _, name := range []string{"grep", "sort"} {
		for _, f := range made(name, Env{}, mrlocal.Options{}).Settings {
			words = append(words, f.Name)
		}
	}
	for _, word := range words {
		if out, errs, code := runGrepTool(1<<20, "x\na "+word+"\n", word); out != "a "+word+"\n" || code != 0 {
			t.Errorf("grep %s: %q, exit %d, %s", word, out, code, errs)
		}
		if err := os.WriteFile(word, []byte(word), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, errs, code := call(t, "sort", "", word); out != word+"\n" || code != 0 {
			t.Errorf("sort %s: %q, exit %d, %s", word, out, code, errs)
		}
	}
}

// TestGrepIsGNU compares output and exit code with GNU grep, on random files,
// patterns and flags. Patterns mean the same in POSIX syntax and in RE2.
func TestGrepIsGNU(t *testing.T) {
	path, dir := gnuGrep(t), t.TempDir()
	t.Chdir(dir)
	testkit.Check(t, func(r *rapid.T) {
		var args []string
		letters := []rune("ab \n\n")
		if null := rapid.SampledFrom([]string{"", "", "-a", "-z", "-I"}).Draw(r, "null"); null != "" {
			args, letters = append(args, null), append(letters, 0)
		}
		for i, name := range []string{"f", "g"} {
			text := rapid.StringOfN(rapid.SampledFrom(letters), 0, 60, -1).Draw(r, "text")
			if i == 1 && strings.HasSuffix(text, "\n") {
				text += "b"
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				r.Fatal(err)
			}
		}
		for _, flag := range []string{"-A1", "-A3", "-B1", "-B4", "-C0", "-C2", "-c", "-h", "-H", "-i", "-l", "-L", "-m0", "-m1", "-m2", "-n", "-o", "-q", "-v", "-w", "-x", "-Z", "--color=always",
			"-b", "-T", "-y", "--no-ignore-case", "-2", "-n10", "--group-separator=x", "--no-group-separator", "--line-buffered", "--binary", "--label=S", "-D", "-d"} {
			if rapid.IntRange(0, 7).Draw(r, flag) != 7 {
				continue
			}
			if flag == "-n10" && slices.Contains(args, "-T") || flag == "-T" && (slices.Contains(args, "-n") || slices.Contains(args, "-b")) {
				continue // GNU grep pads the numbers
			}
			if flag == "-v" && slices.Contains(args, "-o") { // of lines around others, GNU grep writes the matches
				continue
			}
			if flag == "-x" && slices.Contains(args, "-w") { // GNU grep 3.8 then takes the newline for a part of the match
				continue
			}
			args = append(args, flag)
			if flag == "-D" || flag == "-d" {
				args = append(args, "skip")
			}
		}
		pattern := rapid.SampledFrom([]string{"a", "b", "ab", "a+b", "^a", "b$", "", "[^a]b", "a.b", "^$", "zz", "a{2}", "B", `a\sb`, "[^b]a", `a\W`}).Draw(r, "pattern")
		if pattern == "" && slices.Contains(args, "-v") { // GNU grep then opens no file
			pattern = "a"
		}
		args = append(append(args, "-E", "-e", pattern), rapid.SampledFrom([][]string{{"f"}, {"f", "g"}, {"g", "-", "f"}, nil}).Draw(r, "files")...)
		stdin := "ab\nb\n"
		want, wantCode := runGrepOf(t, dir, stdin, path, args...)
		block := rapid.SampledFrom([]int64{1, 3, 7, 1 << 20}).Draw(r, "block")
		if slices.Contains(args, "-I") { // a file is binary by its first block
			block = 1 << 20
		}
		got, trouble, code := runGrepTool(block, stdin, args...)
		if got != want || code != wantCode {
			f, _ := os.ReadFile("f")
			g, _ := os.ReadFile("g")
			r.Fatalf("grep %q with blocks of %d bytes\nf: %q\ng: %q\ngot  %d %q %s\nwant %d %q", args, block, f, g, code, got, trouble, wantCode, want)
		}
	})
}

// TestGrepColorsAreGNU compares lines in colours with GNU grep, on random values of GREP_COLORS.
func TestGrepColorsAreGNU(t *testing.T) {
	path, dir := gnuGrep(t), t.TempDir()
	t.Chdir(dir)
	t.Setenv("GREP_COLORS", "")
	part := rapid.SampledFrom([]string{"sl=1", "cx=2", "mt=3", "ms=4;5", "mc=6", "fn=7", "ln=8", "bn=9", "se=10", "rv", "ne", "sl=", "mt=", "se=", "fn=", "ne=1", "rv=", "mt", "x=1", "=1", "ms=a", "ms=1=2", "", "sl"})
	testkit.Check(t, func(r *rapid.T) {
		os.Setenv("GREP_COLORS", strings.Join(rapid.SliceOfN(part, 0, 5).Draw(r, "colours"), ":"))
		text := rapid.StringOfN(rapid.SampledFrom([]rune("aab\r\n\n")), 0, 30, -1).Draw(r, "text")
		if err := os.WriteFile("f", []byte(text), 0o644); err != nil {
			r.Fatal(err)
		}
		args := []string{"--color=always", "-e", rapid.SampledFrom([]string{"a", "b", "a.", "^a", "", "x*"}).Draw(r, "pattern"), "f"}
		for _, flag := range []string{"-b", "-n", "-H", "-v", "-A1", "-A3", "-B1", "-C2", "-m1", "-m2", "-c", "-l", "-o", "-z", "-T"} {
			if rapid.IntRange(0, 3).Draw(r, flag) != 3 || flag == "-o" && slices.Contains(args, "-v") || flag == "-T" && (slices.Contains(args, "-n") || slices.Contains(args, "-b")) {
				continue
			}
			args = append(args, flag)
		}
		want, wantCode := runGrepOf(t, dir, "", path, args...)
		got, _, code := runGrepTool(rapid.SampledFrom([]int64{0, 3}).Draw(r, "block"), "", args...)
		if got != want || code != wantCode {
			r.Fatalf("GREP_COLORS=%s grep %q, text %q: %q and %d, want %q and %d", os.Getenv("GREP_COLORS"), args, text, got, code, want, wantCode)
		}
	})
}

// TestColorsBeyondTheLimitAreGNU: behind the last line of -m, a line that matches is one around others.
func TestColorsBeyondTheLimitAreGNU(t *testing.T) {
	path, dir := gnuGrep(t), t.TempDir()
	t.Chdir(dir)
	t.Setenv("GREP_COLORS", "sl=1:cx=2:mc=6")
	if err := os.WriteFile("f", []byte("b\nfoobar\na+b\nbar foo-\nfoo\n\nb\nfoo\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, limit := range []string{"-m0", "-m1", "-m2", "-m3"} {
		for _, context := range []string{"-A1", "-A2", "-A9", "-B1", "-C1", "-C2"} {
			for _, more := range []string{"-n", "-v", "-nv", "-Hb", "-z", "-o"} {
				args := []string{"--color=always", limit, context, more, "foo", "f"}
				want, wantCode := runGrepOf(t, dir, "", path, args...)
				for _, block := range []int64{0, 3} {
					if got, _, code := runGrepTool(block, "", args...); got != want || code != wantCode {
						t.Errorf("grep %q: %q and %d, want %q and %d", args, got, code, want, wantCode)
					}
				}
			}
		}
	}
}

// TestGrepFlagsAreGNUs parses the help of GNU grep. Each flag is known here or stands in the table of
// differences of docs/grep.md, and none that the table calls missing is known.
func TestGrepFlagsAreGNUs(t *testing.T) {
	help, err := exec.Command(gnuGrep(t), "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	docs, err := os.ReadFile("../../docs/grep.md")
	if err != nil {
		t.Fatal(err)
	}
	missing := map[string]bool{}
	for _, row := range regexp.MustCompile(`(?m)^\| GNU grep \| (.*) \| missing \|$`).FindAllSubmatch(docs, -1) {
		for _, flag := range regexp.MustCompile("`(-[^` ]+)`").FindAllSubmatch(row[1], -1) {
			missing[string(flag[1])] = true
		}
	}
	// A value follows the last name of a flag. Of -NUM the test takes a number.
	values := map[string]string{"NUM": "1", "WHEN": "never", "TYPE": "text", "ACTION": "read"}
	t.Chdir(t.TempDir())
	writeBelow(t, map[string]string{"f": "foo\n"})
	flags := 0
	for _, line := range strings.Split(string(help), "\n") {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "-") {
			continue
		}
		line, _, _ = strings.Cut(line, "  ")
		_, value, valued := strings.Cut(strings.Replace(line, "[", "", 1), "=")
		value = cmp.Or(values[strings.Trim(value, "],")], "f")
		for _, flag := range regexp.MustCompile(`-[-\w]+`).FindAllString(line, -1) {
			args := []string{flag}
			switch {
			case flag == "-NUM":
				args = []string{"-1"}
			case valued && strings.HasPrefix(flag, "--"):
				args = []string{flag + "=" + value}
			case valued:
				args = []string{flag, value}
			}
			flags++
			_, stderr, _ := runGrepTool(0, "foo\n", append(args, "foo", "f")...)
			if unknown := strings.Contains(stderr, "no such flag"); unknown != missing[flag] || !unknown && strings.Contains(stderr, "mrlocal: grep: -") {
				t.Errorf("grep %q: %q; it is missing in the table: %t", args, stderr, missing[flag])
			}
		}
	}
	if flags < 60 {
		t.Errorf("only %d flags in the help of GNU grep", flags)
	}
}

// TestManyWordsAreGNU compares the search for many fixed strings with GNU grep. They share beginnings
// and ends, overlap and repeat; some are empty or no UTF-8.
func TestManyWordsAreGNU(t *testing.T) {
	path, dir := gnuGrep(t), t.TempDir()
	t.Chdir(dir)
	testkit.Check(t, func(r *rapid.T) {
		piece := rapid.SampledFrom([]string{"a", "b", "ab", "abcdefgh", "_", "B", "A-", "c", "xyzzy", "\xff", "\xc3"})
		word := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(piece, 1, 5).Draw(t, "word"), "") })
		words := rapid.SliceOfN(word, 1, 50).Draw(r, "words")
		var args []string
		for _, flag := range []string{"-c", "-i", "-l", "-m1", "-m2", "-n", "-o", "-v", "-w", "-x", "-z"} {
			if rapid.IntRange(0, 3).Draw(r, flag) != 3 || flag == "-x" && slices.Contains(args, "-w") {
				continue
			}
			args = append(args, flag)
		}
		if slices.Contains(args, "-o") && slices.Contains(args, "-w") { // "b-" is one word b here, and b and - in GNU grep
			words = slices.DeleteFunc(words, func(w string) bool { return !regexp.MustCompile(`^\w`).MatchString(w) })
		}
		if rapid.IntRange(0, 7).Draw(r, "empty") == 7 {
			words = append(words, "")
		}
		between := []string{"\n", " ", "\n\n", "-", "q"}
		if slices.Contains(args, "-z") {
			between = append(between, "\x00")
		}
		text := rapid.SliceOfN(rapid.OneOf(word, rapid.SampledFrom(between)), 0, 60).Draw(r, "text")
		for name, data := range map[string]string{"words": strings.Join(words, "\n") + "\n", "text": strings.Join(text, "")} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o644); err != nil {
				r.Fatal(err)
			}
		}
		args = append(args, "-a", "-F", "-f", "words", "text")
		want, wantCode := runGrepOf(t, dir, "", path, args...)
		got, _, code := runGrepTool(rapid.SampledFrom([]int64{0, 16}).Draw(r, "block"), "", args...)
		if got != want || code != wantCode {
			r.Fatalf("grep %q, words %q, text %q: %q and %d, want %q and %d", args, words, text, got, code, want, wantCode)
		}
	})
}

// TestGrepMessages checks the messages for wrong calls, and the exit code 2.
func TestGrepMessages(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("f", []byte("foo\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args           string
		code           int
		stdout, stderr string
	}{
		{"foo f missing", 2, "f:foo\n", "mrlocal: grep: missing: no such file or directory\n"},
		{"-s foo f missing", 2, "f:foo\n", ""},
		{"-q foo f missing", 0, "", "mrlocal: grep: missing: no such file or directory\n"},
		{"-P a( f", 2, "", "mrlocal: grep: --regexp: \"a(\": position 2: missing closing )\n"},
		{"-E a( f", 2, "", "mrlocal: grep: --regexp: \"a(\": unmatched (\n"},
		{"-E (o)\\1 f", 2, "", "mrlocal: grep: --regexp: \"(o)\\\\1\": \\1: back references are not supported\n"},
		{"-E o{32768} f", 2, "", "mrlocal: grep: --regexp: \"o{32768}\": {32768}: a repetition has a count of at most 32767\n"},
		{"-E (o{300}){300} f", 2, "", "mrlocal: grep: --regexp: \"(o{300}){300}\": its repeats make it too large; at most 40000 copies of a character\n"},
		{"-E -P foo f", 2, "", "mrlocal: grep: -E, -P: give one of them, not both\n"},
		{"f\\oo f", 0, "foo\n", "mrlocal: grep: warning: stray \\ before o\n"},
		{"-E *oo f", 0, "foo\n", "mrlocal: grep: warning: * at start of expression\n"},
		{"-E ^*{1}oo f", 0, "foo\n", "mrlocal: grep: warning: * at start of expression\nmrlocal: grep: warning: {...} at start of expression\n"},
		{"-E {6,3}|({})|^*{x|foo f", 0, "foo\n", "mrlocal: grep: warning: * at start of expression\n"}, // braces that are characters
		{"f\\oo\\( f", 2, "", "mrlocal: grep: --regexp: \"f\\\\oo\\\\(\": unmatched \\(\n"},            // and no warning
		{"-t nonsense foo f", 2, "", "mrlocal: grep: --type: \"nonsense\": no such type\n"},
		{"", 2, "", "mrlocal: grep: name a PATTERN; mrlocal grep --help lists the flags\n"},
		{"-S FOO f", 1, "", ""},
		{"-i -S FOO f", 1, "", ""},
		{"-S -i FOO f", 0, "foo\n", ""},
		{"-S -c foo f", 0, "1\n", ""},
	} {
		stdout, stderr, code := runGrepTool(0, "", strings.Fields(c.args)...)
		if stdout != c.stdout || stderr != c.stderr || code != c.code {
			t.Errorf("grep %s: got %d %q %q, want %d %q %q", c.args, code, stdout, stderr, c.code, c.stdout, c.stderr)
		}
	}
}

// TestGrepOfRegularStandardInput checks a standard input that is a regular file. As in GNU grep, it
// is at its end if it is named again, and it is not searched if it is also the output.
func TestGrepOfRegularStandardInput(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		args   string
		append bool // standard output goes to the end of the file
		code   int
		stdout string
		stderr string
	}{
		{"-c foo - -", false, 0, "(standard input):2\n(standard input):0\n", ""},
		{"-h foo - f -", false, 0, "foo\nfoo\nfoo\nfoo\n", ""},
		{"foo", true, 2, "", "mrlocal: grep: (standard input): input file is also the output\n"},
		{"-m2 foo -", true, 2, "", "mrlocal: grep: (standard input): input file is also the output\n"},
		{"foo f", true, 2, "", "mrlocal: grep: f: input file is also the output\n"},
		{"-c foo", true, 0, "2\n", ""}, {"-l foo", true, 0, "(standard input)\n", ""}, {"-l foo f", true, 0, "f\n", ""},
		{"-q foo", true, 0, "", ""}, {"-c foo f .", true, 2, "", "mrlocal: grep: f: input file is also the output\nmrlocal: grep: ./f: input file is also the output\n"}, {"-L foo", true, 0, "", ""}, {"-m1 foo", true, 0, "foo\n", ""},
	} {
		const text = "foo\nfoo\n"
		if err := os.WriteFile("f", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		in, err := os.Open("f")
		if err != nil {
			t.Fatal(err)
		}
		out, err := os.OpenFile("f", os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		var written, trouble bytes.Buffer
		e := Env{Stdin: in, Stdout: &written, Stderr: &trouble, Getenv: os.Getenv}
		if c.append {
			e.Stdout = out
		}
		code := runTool(context.Background(), "grep", strings.Fields(c.args), e, mrlocal.Options{MemoryBytes: 64 << 20, NoPin: true})
		got, err := os.ReadFile("f")
		if stdout := strings.TrimPrefix(string(got), text) + written.String(); err != nil || stdout != c.stdout || trouble.String() != c.stderr || code != c.code {
			t.Errorf("grep %s: got %d %q %q, %v; want %d %q %q", c.args, code, stdout, trouble.String(), err, c.code, c.stdout, c.stderr)
		}
		_, _ = in.Close(), out.Close()
	}
}

// TestGrepBinary checks the message for a file with NUL bytes whose match is in the second split.
func TestGrepBinary(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("b", []byte("\x00\nx\nfoo\nfoo\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, flags := range []string{"", "-n", "-C1", "-v", "-o", "--color=always", "-Hm1"} {
		stdout, stderr, code := runGrepTool(4, "foo\n", append(strings.Fields(flags), "-h", "foo", "b", "-")...)
		if strings.Contains(stdout, "x") || strings.Count(stdout, "\n") != 1 && flags != "-v" || stderr != "mrlocal: grep: b: binary file matches\n" || code != 0 {
			t.Errorf("grep %s: got %d %q %q", flags, code, stdout, stderr)
		}
	}
}

// TestGrepOfAPipe checks a pipe whose writer waits. As in GNU grep, lines appear at once, and the
// search ends as soon as the rest of the pipe cannot change the result.
func TestGrepOfAPipe(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("f", []byte("foo\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, want string }{
		{"-m1 foo", "foo\n"},
		{"-l foo", "(standard input)\n"},
		{"-q foo", ""},
		{"-L foo", ""},
		{"-n -m2 foo", "1:foo\n3:foo\n"},
	} {
		in, writer, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := writer.WriteString("foo\nx\nfoo\nf"); err != nil {
			t.Fatal(err)
		}
		stdout, stderr, _ := runGrepOn(0, in, strings.Fields(c.args)...) // it hangs if it waits for more
		if stdout != c.want {
			t.Errorf("grep %s: got %q %q, want %q", c.args, stdout, stderr, c.want)
		}
		// The feeder may still wait in a read. It ends when the writer closes.
		_ = writer.Close()
		_ = in.Close()
	}
	in, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() { // a writer that does not end, with a file behind it
		for err == nil {
			_, err = writer.WriteString("foo\n")
		}
	}()
	stdout, stderr, _ := runGrepOn(0, in, "-m1", "foo", "-", "f")
	if stdout != "(standard input):foo\nf:foo\n" {
		t.Errorf("a pipe without end and a file: got %q %q", stdout, stderr)
	}
	_ = in.Close()
}

// TestGrepSort compares --sort with ripgrep.
func TestGrepSort(t *testing.T) {
	path := ripgrep(t, "")
	t.Chdir(t.TempDir())
	names := []string{"b", "a-", "a.c", "z", "a/x", "a/b/y", "0"}
	for _, name := range names {
		writeBelow(t, map[string]string{name: "foo\n"})
	}
	for i, name := range names {
		at := time.Unix(int64(1e9+(i*5)%7), 5)
		if err := os.Chtimes(name, at, at); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range []string{"--sort=path", "--sort path", "--sort=path -g !b"} {
		words := append(strings.Fields(args), "-c", "foo", ".")
		compareRipgrep(t, path, "", 0, words, words)
	}
	// ripgrep 13 orders the files of each directory. Later versions and this tool order all files
	// together.
	ours, _, code := runGrepTool(0, "", "--sort=modified", "-c", "foo", "z", "b", "a-", "a.c")
	theirs, theirCode := runGrepOf(t, ".", "", path, "--sort=modified", "-H", "-c", "foo", "--max-depth=1", ".")
	theirs = strings.ReplaceAll(strings.ReplaceAll(theirs, "./", ""), "0:1\n", "")
	if ours != theirs || code != theirCode {
		t.Errorf("by time: got %d %q, want %d %q", code, ours, theirCode, theirs)
	}
}

// TestGrepComplaints makes errors of the walk and of the output in one run. The race detector
// reports it if both are written at the same time.
func TestGrepComplaints(t *testing.T) {
	t.Chdir(t.TempDir())
	args := []string{"-h", "foo"}
	writeBelow(t, map[string]string{"b": "\x00\nfoo\n"})
	for range 50 {
		args = append(args, "b", "missing")
	}
	_, stderr, code := runGrepTool(0, "", args...)
	if n := strings.Count(stderr, "\n"); code != 2 || n != 100 || strings.Count(stderr, "missing: no such file") != 50 {
		t.Errorf("got %d and %d lines: %s", code, n, stderr)
	}
}

// TestGrepFixedBytesAreGNUs compares strings of any bytes, with the empty string among them. In the C locale,
// a character of GNU grep is a byte.
func TestGrepFixedBytesAreGNUs(t *testing.T) {
	path := gnuGrep(t)
	dir := t.TempDir()
	testkit.Check(t, func(t *rapid.T) {
		letters := rapid.SampledFrom([]string{"a", "b", " ", "\xa9", "\xc2", "\xe2", "\x82", "é", "€"})
		text := strings.Join(rapid.SliceOfN(rapid.OneOf(letters, rapid.Just("\n")), 0, 20).Draw(t, "text"), "")
		writeBelow(t, map[string]string{filepath.Join(dir, "f"): text})
		args := []string{"-aF"}
		for _, flag := range []string{"-o", "-o", "-b", "-c", "-v", "-x", "-m1"} {
			if rapid.IntRange(0, 3).Draw(t, flag) == 0 {
				args = append(args, flag)
			}
		}
		for range rapid.IntRange(1, 3).Draw(t, "patterns") {
			args = append(args, "-e", strings.Join(rapid.SliceOfN(letters, 0, 2).Draw(t, "pattern"), ""))
		}
		if rapid.Bool().Draw(t, "within") {
			args = append(args, "-o", "-e", "", "-e", rapid.SampledFrom([]string{"\xa9", "\x82", "\x82\xac"}).Draw(t, "rest"))
		}
		args = append(args, filepath.Join(dir, "f"))
		c := exec.Command(path, args...)
		c.Env = append(os.Environ(), "LC_ALL=C")
		want, _ := c.Output()
		got, _, code := runGrepTool(3, "", args...)
		if got != string(want) || code != c.ProcessState.ExitCode() {
			t.Fatalf("grep %q on %q\ngot  %d %q\nwant %d %q", args, text, code, got, c.ProcessState.ExitCode(), want)
		}
	})
}
