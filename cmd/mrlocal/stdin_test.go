package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mrlocal"
	"mrlocal/internal/testkit"
)

// rest runs a command on the file at path from an offset on. It returns the exit code, and what a
// process that shares the offset reads afterwards.
func rest(t rapid.TB, path string, at int64, run func(stdin *os.File) int) (code int, left string) {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Seek(at, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	code = run(f)
	data, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return code, string(data)
}

// ours runs a tool in splits of 1 KiB. Its output goes to out.
func ours(words []string, out io.Writer) func(*os.File) int {
	return func(stdin *os.File) int {
		o := mrlocal.Options{NoPin: true}
		o.BlockBytes = 1 << 10
		return runTool(context.Background(), words[0], words[1:], Env{Stdin: stdin, Stdout: out, Stderr: io.Discard, Getenv: os.Getenv}, o)
	}
}

// gnu runs a GNU tool. Its output goes to out, which must not be the null device: GNU grep stops early then.
func gnu(t rapid.TB, words []string, out *bytes.Buffer) func(*os.File) int {
	return func(stdin *os.File) int {
		c := exec.Command(words[0], words[1:]...)
		c.Stdin, c.Stdout, c.Env = stdin, out, append(os.Environ(), "LC_ALL=C")
		if _, exited := c.Run().(*exec.ExitError); c.ProcessState == nil && !exited {
			t.Fatalf("%q does not run", words)
		}
		return c.ProcessState.ExitCode()
	}
}

func TestStandardInputIsLeftBehindWhatWasUsed(t *testing.T) {
	gnuGrep(t)
	path := filepath.Join(t.TempDir(), "in")
	text := "b 1\na 2\nc 3\na 4\n\nd 5\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		command string
		left    string // of text, which has 6 lines
		gnu     bool   // as the GNU tool does
	}{
		{"sort", "", true}, {"sort -u", "", true}, {"sort -m", "", true}, {"sort - -", "", true}, {"sort " + path + " -", "", true},
		{"sort -k0", text, true}, {"sort - missing", text, true}, {"sort -o /dev/full", "", true}, {"sort -o missing/x", text, true},
		{"sort -c", "c 3\na 4\n\nd 5\n", false}, {"sort -C", "c 3\na 4\n\nd 5\n", false}, {"sort -c -s -k3", "", true}, {"sort --csv", "", false}, {"sort --json k", "", false},
		{"count", "", false}, {"count --csv", "", false}, {"count -w", "", false},
		{"grep a", "", true}, {"grep zz", "", true}, {"grep -q a", "", true}, {"grep -q zz", "", true}, {"grep -l a", "", true}, {"grep -L a", "", true}, {"grep -c a", "", true},
		{"grep -m1 a", "c 3\na 4\n\nd 5\n", true}, {"grep -m2 a", "\nd 5\n", true}, {"grep -m3 a", "", true}, {"grep -m0 a", text, true}, {"grep -m1 -c a", "c 3\na 4\n\nd 5\n", true},
		{"grep -m1 -v b", "c 3\na 4\n\nd 5\n", true}, {"grep -m2 -vn b", "a 4\n\nd 5\n", true}, {"grep -m1 -o a", "c 3\na 4\n\nd 5\n", true}, {"grep -m1 -A1 a", "c 3\na 4\n\nd 5\n", true},
		{"grep -m1 -l a", "", true}, {"grep -m1 -L a", "", true}, {"grep -m2 -l a", "", true}, {"grep -m1 -z a", "", true}, {"grep -m1 -q a", "", true},
		{"grep -m1 a - missing", "c 3\na 4\n\nd 5\n", true}, {"grep -m1 a missing -", "c 3\na 4\n\nd 5\n", true}, {"grep -q a " + path + " -", text, true}, {"grep -m1 a " + path + " -", "c 3\na 4\n\nd 5\n", true},
		{"grep -P -U -m1 \\d[^z]a", "\nd 5\n", false}, {"grep -P -U -m2 \\d[^z]a", "", false}, {"grep -P -U -v -m1 \\d[^z]a", "d 5\n", false}, {"grep -U -m1 1[^z]a", "c 3\na 4\n\nd 5\n", false},
		{"grep [ -", text, true}, {"grep a " + path, text, true}, {"grep -f - " + path, "", true},
	} {
		words := strings.Fields(c.command)
		if _, left := rest(t, path, 0, ours(words, io.Discard)); left != c.left {
			t.Errorf("%s leaves %q; want %q", c.command, left, c.left)
		}
		if _, left := rest(t, path, int64(len(text)), ours(words, io.Discard)); left != "" {
			t.Errorf("%s at the end of the file leaves %q", c.command, left)
		}
		if !c.gnu {
			continue
		}
		if _, left := rest(t, path, 0, gnu(t, words, &bytes.Buffer{})); left != c.left {
			t.Errorf("GNU %s leaves %q; want %q", c.command, left, c.left)
		}
	}
}

// A file of several splits, an offset at any line, and a limit at any line.
func TestGrepLeavesTheOffsetOfGNUGrep(t *testing.T) {
	gnuGrep(t)
	path := filepath.Join(t.TempDir(), "in")
	testkit.Check(t, func(t *rapid.T) {
		var text strings.Builder
		// GNU grep reads blocks of 96 KiB, which matters for some flags. So some files have several.
		lines, wide := rapid.IntRange(0, 1500).Draw(t, "lines"), rapid.SampledFrom([]int{7, 7, 300}).Draw(t, "wide")
		for i := range lines {
			fmt.Fprintf(&text, "%d%s\n", i, strings.Repeat("x", i%wide))
		}
		in := text.String()
		if rapid.Bool().Draw(t, "no newline at the end") {
			in = strings.TrimSuffix(in, "\n")
		}
		if err := os.WriteFile(path, []byte(in), 0o600); err != nil {
			t.Fatal(err)
		}
		words := []string{"grep", "-m", fmt.Sprint(rapid.IntRange(1, 200).Draw(t, "limit"))}
		for _, flag := range []string{"-v", "-c", "-n", "-o", "-A3", "-l", "-q", "-L", "-z", "-i"} {
			if rapid.IntRange(0, 4).Draw(t, flag) == 0 {
				words = append(words, flag)
			}
		}
		words = append(words, rapid.SampledFrom([]string{"7", "xxx", "1.*1", "zz", "99$", "^", "x*$"}).Draw(t, "pattern"))
		at := int64(rapid.IntRange(0, len(in)).Draw(t, "offset"))
		code, left := rest(t, path, at, ours(words, io.Discard))
		if wantCode, want := rest(t, path, at, gnu(t, words, &bytes.Buffer{})); left != want || code != wantCode {
			t.Fatalf("%q at %d: exit %d, leaves %d bytes; GNU grep exit %d, %d bytes", words, at, code, len(left), wantCode, len(want))
		}
	})
}

// The search of a standard input that is named again begins where the search before has left it.
func TestAStandardInputThatIsNamedAgain(t *testing.T) {
	gnuGrep(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "in")
	for name, text := range map[string]string{"some": "x\nz\n", "none": "q\n", "empty": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Check(t, func(t *rapid.T) {
		var text strings.Builder
		lines, every := rapid.SampledFrom([]int{0, 3, 12, 12, 30_000}).Draw(t, "lines"), rapid.IntRange(1, 9).Draw(t, "every")
		for i := range lines {
			text.WriteString(map[bool]string{true: "xx x\n", false: fmt.Sprintf("line %d\n", i)}[i%every == 0 && i < 20_000])
		}
		if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		words := []string{"grep", "--label=in"}
		for _, flag := range []string{"-m1", "-m2", "-l", "-L", "-q", "-c", "-n", "-b", "-A1", "-C2", "-h", "-w", "-v"} {
			if rapid.IntRange(0, 3).Draw(t, flag) == 0 {
				words = append(words, flag)
			}
		}
		words = append(words, "x")
		for range rapid.IntRange(1, 4).Draw(t, "files") {
			file := rapid.SampledFrom([]string{"-", "-", "-", "some", "none", "empty", "missing"}).Draw(t, "file")
			if file != "-" {
				file = filepath.Join(dir, file)
			}
			words = append(words, file)
		}
		var got, want bytes.Buffer
		code, left := rest(t, path, 0, ours(words, &got))
		wantCode, wantLeft := rest(t, path, 0, gnu(t, words, &want))
		if code != wantCode || left != wantLeft || !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Fatalf("%q: exit %d, leaves %d bytes, writes\n%.200q\nGNU grep exit %d, %d bytes,\n%.200q", words, code, len(left), got.Bytes(), wantCode, len(wantLeft), want.Bytes())
		}
	})
}

// GNU grep's manual has this loop. It ends only if each call begins behind the line of the last one.
func TestALoopOfGrepEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(path, []byte("x 1\ny\nx 2\nx 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	calls := 0
	for calls < 10 && ours([]string{"grep", "-m1", "x"}, io.Discard)(f) == 0 {
		calls++
	}
	if calls != 3 {
		t.Errorf("%d calls find a line; want 3", calls)
	}
}
