// Package golden compares what a test got with a text file beside it.
//
// Two shapes. Check compares one text with one file. Script reads a file of
// cases, each commands above a line "----" and the expected text below it,
// and is how decisions are tested: text in, a picture out, readable as a
// specification. `go test ./that/package -rewrite` writes what was got into
// the files; the change is then reviewed as a diff.
//
// Only tests import it. Neighbours: slots and slots/policy keep their policy
// scripts in this form.
package golden

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write what the tests got into their golden files")

// Check fails the test where got differs from the file at path, and shows the
// first line that does.
func Check(t testing.TB, path string, got []byte) {
	t.Helper()
	if *rewrite {
		write(t, path, got)
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("golden: %v (make it with -rewrite)", err)
	}
	if d := firstDifference(want, got); d != "" {
		t.Errorf("%s differs (-rewrite accepts what was got)\n%s\n---- got, whole\n%s", path, d, got)
	}
}

// Case is one case of a script: the text above "----" without its comments,
// and the line it starts at.
type Case struct {
	Line  int
	Input string
}

// Script runs every case of the file at path through run, in order, and
// compares what it returns with the text that stands below "----". A case ends
// at the first blank line after its "----"; an output that has blank lines of
// its own is kept between two lines "----" and two more at its end. Text
// before the first case, and lines that start with "#", are comments.
func Script(t *testing.T, path string, run func(t *testing.T, c Case) string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("golden: %v", err)
	}
	blocks, err := parse(string(text))
	if err != nil {
		t.Fatalf("golden: %s:%v", path, err)
	}
	var out bytes.Buffer
	for _, b := range blocks {
		if b.line == 0 {
			out.WriteString(b.head)
			continue
		}
		got := run(t, Case{Line: b.line, Input: b.input})
		if got != "" && !strings.HasSuffix(got, "\n") {
			got += "\n"
		}
		if d := firstDifference([]byte(b.output), []byte(got)); d != "" && !*rewrite {
			t.Errorf("%s:%d: differs (-rewrite accepts what was got)\n%s\n---- got, whole\n%s", path, b.line, d, got)
		}
		b.format(&out, got)
	}
	if *rewrite {
		write(t, path, out.Bytes())
	}
}

// Scripts runs Script on every file that matches pattern, each as a subtest
// named after the file.
func Scripts(t *testing.T, pattern string, run func(t *testing.T, c Case) string) {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("golden: %s: no such files (%v)", pattern, err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
		t.Run(name, func(t *testing.T) { Script(t, path, run) })
	}
}

// block is a case as it stands in the file; head keeps comments and blank
// lines, so that a rewrite changes outputs only.
type block struct {
	line                int
	head, input, output string
}

func (b block) format(w *bytes.Buffer, got string) {
	w.WriteString(b.head)
	if strings.HasPrefix(got, "\n") || strings.Contains(got, "\n\n") {
		fmt.Fprintf(w, "----\n----\n%s----\n----\n", got)
		return
	}
	fmt.Fprintf(w, "----\n%s", got)
}

func parse(text string) ([]block, error) {
	var blocks []block
	var cur block
	lines := strings.SplitAfter(text, "\n")
	for i := 0; i < len(lines); i++ {
		line := strings.TrimRight(lines[i], "\r\n")
		if line != "----" {
			cur.head += lines[i]
			if line != "" && !strings.HasPrefix(line, "#") {
				if cur.line == 0 {
					cur.line = i + 1
				}
				cur.input += line + "\n"
			}
			continue
		}
		if cur.line == 0 {
			return nil, fmt.Errorf("%d: ---- without a case above it", i+1)
		}
		var err error
		if cur.output, i, err = parseOutput(lines, i+1); err != nil {
			return nil, err
		}
		blocks = append(blocks, cur)
		cur = block{}
	}
	if cur.line != 0 {
		return nil, fmt.Errorf("%d: a case without ----", cur.line)
	}
	if strings.TrimSpace(cur.head) != "" { // comments after the last case
		blocks = append(blocks, cur)
	}
	return blocks, nil
}

// parseOutput reads the expected text from line i on and returns the index of
// its last line.
func parseOutput(lines []string, i int) (string, int, error) {
	is := func(j int, s string) bool { return j < len(lines) && strings.TrimRight(lines[j], "\r\n") == s }
	var out strings.Builder
	if is(i, "----") {
		for j := i + 1; j < len(lines); j++ {
			if is(j, "----") && is(j+1, "----") {
				return out.String(), j + 1, nil
			}
			out.WriteString(lines[j])
		}
		return "", 0, fmt.Errorf("%d: an output that is never closed by two lines ----", i)
	}
	for i < len(lines) && lines[i] != "" && !is(i, "") {
		out.WriteString(lines[i])
		i++
	}
	return out.String(), i - 1, nil
}

func firstDifference(want, got []byte) string {
	if bytes.Equal(want, got) {
		return ""
	}
	w, g := strings.Split(string(want), "\n"), strings.Split(string(got), "\n")
	for i := 0; i < len(w) || i < len(g); i++ {
		var a, b string
		if i < len(w) {
			a = w[i]
		}
		if i < len(g) {
			b = g[i]
		}
		if a != b || i >= len(w) || i >= len(g) {
			return fmt.Sprintf("line %d\n  want %q\n  got  %q", i+1, a, b)
		}
	}
	return "the ends of lines differ"
}

func write(t testing.TB, path string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatalf("golden: %v", err)
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatalf("golden: %v", err)
	}
}
