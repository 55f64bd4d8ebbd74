// Package testkit has helpers for the tests of several packages: golden files, scripts of cases,
// and buffers that end at a guarded page.
//
// Golden compares the output of a test with a text file. Script reads a file of cases. Each case
// has its input above a line "----" and the expected output below it. So such a file reads as a
// specification. `go test ./package -rewrite` writes the output of the test into the files, and adds
// the "----" that a new case lacks. Review the change as a diff.
//
// CheckStates checks an enum of states, and Transitions that tests make each of its transitions.
//
// Only tests import this package. Its only state is the flag, and the enums that CheckStates has
// seen.
package testkit

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mrlocal/internal/invariant"
)

// rewrite is a flag of each test binary that imports testkit. It is a global variable, because the
// flags of tests are global.
var rewrite = flag.Bool("rewrite", false, "write what the tests got into their golden files")

// Rewrite reports whether the test writes its golden files.
func Rewrite() bool { return *rewrite }

// Golden fails the test if got differs from the file at path, and shows the first line
// that differs.
func Golden(t testing.TB, path string, got []byte) {
	t.Helper()
	if *rewrite {
		// Any output is accepted, because the diff is reviewed.
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

// Case is one case of a script.
type Case struct {
	Line  int    // of its first line, from 1
	Input string // the text above "----", without comments
}

// Script calls run for every case of the file at path, in order, and compares the result
// with the text below "----". A case ends at the first blank line after its "----". An
// output with blank lines stands between two lines "----" before and two after it.
// Lines that start with "#", and the text before the first case, are comments.
func Script(t *testing.T, path string, run func(t *testing.T, c Case) string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("golden: %v", err)
	}
	// With -rewrite a new case may still lack its output.
	blocks, err := parse(string(text), *rewrite)
	if err != nil {
		t.Fatalf("golden: %s:%v", path, err)
	}
	var out bytes.Buffer
	for _, b := range blocks {
		// Comments behind the last case are kept.
		if b.line == 0 {
			out.WriteString(b.head)
			continue
		}
		got := run(t, Case{Line: b.line, Input: b.input})
		// Texts are compared by lines, so a missing last newline makes no difference.
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

// Scripts runs Script on every file that matches pattern, each as a subtest with the name
// of the file. It fails if there is none.
func Scripts(t *testing.T, pattern string, run func(t *testing.T, c Case) string) {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	// If the pattern matched nothing, the test would pass without a case.
	if err != nil || len(paths) == 0 {
		t.Fatalf("golden: %s: no such files (%v)", pattern, err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
		t.Run(name, func(t *testing.T) { Script(t, path, run) })
	}
}

// block is a case with the text around it, so that a rewrite changes only outputs.
type block struct {
	line          int    // of the case, from 1; 0: only comments, behind the last case
	head          string // everything above "----", comments and blank lines included
	input, output string
}

// format writes the block with got as its output.
func (b block) format(w *bytes.Buffer, got string) {
	w.WriteString(b.head)
	// The last case of a file may end without a newline.
	if b.head != "" && !strings.HasSuffix(b.head, "\n") {
		w.WriteString("\n")
	}
	// A blank line ends a plain output, so an output that has one needs the long form.
	if strings.HasPrefix(got, "\n") || strings.Contains(got, "\n\n") {
		fmt.Fprintf(w, "----\n----\n%s----\n----\n", got)
		return
	}
	fmt.Fprintf(w, "----\n%s", got)
}

// parse divides a script into blocks. An error begins with the number of the line. A case without
// "----" is an error, unless mend is true. Then it ends at the next blank line.
func parse(text string, mend bool) ([]block, error) {
	var blocks []block
	var cur block
	// Lines keep their line feeds, so that head is written back byte for byte.
	lines := strings.SplitAfter(text, "\n")
	for i := 0; i < len(lines); i++ {
		// Editors on Windows add a carriage return.
		line := strings.TrimRight(lines[i], "\r\n")
		if line != "----" {
			// A new case has no "----" yet, so a blank line is its only end.
			if mend && line == "" && cur.line != 0 {
				blocks = append(blocks, cur)
				cur = block{}
			}
			cur.head += lines[i]
			// The head has all lines. The input has no comments and blank lines.
			if line != "" && !strings.HasPrefix(line, "#") {
				cur.line = cmp.Or(cur.line, i+1)
				cur.input += line + "\n"
			}
			continue
		}
		if cur.line == 0 {
			return nil, fmt.Errorf("%d: ---- without a case above it", i+1)
		}
		var err error
		// i becomes the index of the last line of the output. The loop goes on with the next one.
		if cur.output, i, err = parseOutput(lines, i+1); err != nil {
			return nil, err
		}
		blocks = append(blocks, cur)
		cur = block{}
	}
	if cur.line != 0 {
		if !mend {
			return nil, fmt.Errorf("%d: a case without ---- (-rewrite adds it)", cur.line)
		}
		blocks = append(blocks, cur)
		return blocks, nil
	}
	if strings.TrimSpace(cur.head) != "" { // comments after the last case
		blocks = append(blocks, cur)
	}
	return blocks, nil
}

// parseOutput reads the expected text from line i on. It returns the text and the index
// of its last line.
func parseOutput(lines []string, i int) (string, int, error) {
	is := func(j int, s string) bool { return j < len(lines) && strings.TrimRight(lines[j], "\r\n") == s }
	var out strings.Builder
	if is(i, "----") {
		for j := i + 1; j < len(lines); j++ {
			// A single line "----" may be a part of the output.
			if is(j, "----") && is(j+1, "----") {
				return out.String(), j + 1, nil
			}
			out.WriteString(lines[j])
		}
		return "", 0, fmt.Errorf("%d: an output that is never closed by two lines ----", i)
	}
	// The last element of lines is empty if the file ends with a line feed.
	for i < len(lines) && lines[i] != "" && !is(i, "") {
		out.WriteString(lines[i])
		i++
	}
	// The blank line belongs to the head of the next case.
	return out.String(), i - 1, nil
}

// firstDifference describes the first line in which two texts differ; "": they are equal.
func firstDifference(want, got []byte) string {
	// A line that only one of the texts has is a difference, even if it is empty.
	w, g := strings.Split(string(want), "\n"), strings.Split(string(got), "\n")
	n := 0
	for n < min(len(w), len(g)) && w[n] == g[n] {
		n++
	}
	if n == max(len(w), len(g)) {
		return ""
	}
	line := func(of []string) string { return strings.Join(of[n:min(n+1, len(of))], "") }
	return fmt.Sprintf("line %d\n  want %q\n  got  %q", n+1, line(w), line(g))
}

// write writes a golden file and the directories above it.
func write(t testing.TB, path string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatalf("golden: %v", err)
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatalf("golden: %v", err)
	}
}

// CheckStates fails the test if an enum of states breaks a rule. Every state has a name of its own.
// Next returns only later states. Every state but the first is in the Next of another one. All
// states but last and those of final have a successor. The enum goes from 0 to last. Transitions
// checks that the tests of the package make each of its transitions.
func CheckStates[S invariant.State[S]](t testing.TB, last S, final ...S) {
	t.Helper()
	tables[fmt.Sprintf("%T", last)] = func() []string { return neverMade(last) }
	reached := map[S]bool{0: true}
	names := map[string]bool{}
	final = append(final, last)
	for s := S(0); s <= last; s++ {
		if !reached[s] {
			t.Errorf("%T: no state leads to %v", s, s)
		}
		if name := s.String(); name == "" || names[name] {
			t.Errorf("%T: the name %q of %d", s, name, s)
		}
		names[s.String()] = true
		for _, n := range s.Next() {
			if n <= s {
				t.Errorf("%T goes back from %v to %v", s, s, n)
			}
			reached[n] = true
		}
		if (len(s.Next()) == 0) != slices.Contains(final, s) {
			t.Errorf("%T: %v leads to %v", s, s, s.Next())
		}
	}
}

// tables has a function for each enum that CheckStates has seen. It returns the transitions that
// were never made.
var tables = map[string]func() []string{}

// neverMade returns the transitions of a table that no state has made in this process.
func neverMade[S invariant.State[S]](last S) (never []string) {
	for s := S(0); s <= last; s++ {
		for _, n := range s.Next() {
			if _, made := invariant.Moves.Load([2]S{s, n}); !made {
				never = append(never, fmt.Sprintf("%T never goes from %v to %v", s, s, n))
			}
		}
	}
	return never
}

// Transitions runs the tests of a package whose enums of states CheckStates knows. In a checked
// build it fails if no test makes a transition that a table lists. Such a table would also allow
// a wrong transition. It does not look if only some of the tests run.
type Transitions struct{ *testing.M }

// Run runs the tests and returns the exit code.
func (t Transitions) Run() int {
	code := t.M.Run()
	if code != 0 || !invariant.Enabled || someOnly() {
		return code
	}
	var never []string
	for _, table := range tables {
		never = append(never, table()...)
	}
	slices.Sort(never)
	for _, n := range never {
		fmt.Fprintf(flag.CommandLine.Output(), "%s: write a test that makes this transition, or remove it from the table\n", n)
		code = 1
	}
	return code
}

// someOnly reports whether flags choose some of the tests.
func someOnly() bool {
	return slices.ContainsFunc([]string{"run", "skip", "list", "fuzz"}, func(name string) bool {
		return flag.Lookup("test."+name).Value.String() != ""
	})
}
