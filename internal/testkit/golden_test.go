package testkit

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const script = `# A comment above.

upper a
# inside
b
----
A B

upper c
----
----

C

----
----

# after
`

func TestAScriptIsReadCaseByCaseAndWrittenBackAsItStands(t *testing.T) {
	blocks, err := parse(script, false)
	if err != nil {
		t.Fatal(err)
	}
	var inputs []string
	var out bytes.Buffer
	for _, b := range blocks {
		if b.line == 0 {
			out.WriteString(b.head)
			continue
		}
		inputs = append(inputs, b.input)
		b.format(&out, b.output)
	}
	if got, want := strings.Join(inputs, "|"), "upper a\nb\n|upper c\n"; got != want {
		t.Errorf("inputs %q, want %q", got, want)
	}
	if out.String() != script {
		t.Errorf("written back as\n%s", out.String())
	}
}

func TestBrokenScriptsNameTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"----\nx\n":            "1: ----",
		"a\n":                  "1: a case without",
		"a\n----\n----\nb\n\n": "2: an output",
	} {
		if _, err := parse(text, false); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestScriptComparesEachCase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.txt")
	if err := os.WriteFile(path, []byte("a\n----\nA\n\nb\n----\nB\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	Scripts(t, path, func(_ *testing.T, c Case) string { return strings.ToUpper(c.Input) })
	Golden(t, path, []byte("a\n----\nA\n\nb\n----\nB\n"))
}

func TestFirstDifferenceNamesTheLine(t *testing.T) {
	if d := firstDifference([]byte("a\nb\n"), []byte("a\nc\n")); !strings.HasPrefix(d, "line 2") {
		t.Errorf("got %q", d)
	}
	if d := firstDifference([]byte("a\n"), []byte("a\n")); d != "" {
		t.Errorf("got %q", d)
	}
}

// TestARewriteAddsTheLineToNewCases: a case without "----" ends at the next blank line.
func TestARewriteAddsTheLineToNewCases(t *testing.T) {
	blocks, err := parse("# new\na\n\n# old\nb\n----\nB\n\nc\nd", true)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for _, b := range blocks {
		b.format(&out, strings.ToUpper(b.input))
	}
	if got, want := out.String(), "# new\na\n----\nA\n\n# old\nb\n----\nB\n\nc\nd\n----\nC\nD\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
