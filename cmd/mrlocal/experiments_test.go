package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mrlocal/bench"
)

// The test writes the document of only two experiments. Package bench compares the document of all
// experiments with docs/reproduction.md.
func TestTheDocumentIsWritten(t *testing.T) {
	all, err := bench.All()
	if err != nil {
		t.Fatal(err)
	}
	some, err := bench.Named(all, []string{"omo-fig4", "fig6"})
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	var out bytes.Buffer
	c := reproduceCommand{Env: Env{Stdout: &out}, format: "text", document: true}
	if err := c.runAll(t.Context(), some); err != nil {
		t.Fatal(err)
	}
	document, err := os.ReadFile(filepath.Join("docs", "reproduction.md"))
	if err != nil {
		t.Fatal(err)
	}
	for text, part := range map[string]string{out.String(): "2 experiments, 8 figures:", string(document): "\n| [DHFS13] | 1 | 0 | 1 | 0 | 0 |\n"} {
		if !strings.Contains(text, "omo-fig4") || !strings.Contains(text, "fig6") || !strings.Contains(text, part) {
			t.Errorf("%s", text)
		}
	}
	if _, err := os.Stat(filepath.Join("docs", "reproduction", "fig6.svg")); err != nil {
		t.Error(err)
	}
}
