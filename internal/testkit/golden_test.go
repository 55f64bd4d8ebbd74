package testkit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

func TestScriptsCompareEachCase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.txt")
	text := "# first\na b=c\n----\nA B=C\n\nb\nc\n----\n----\nB\n\nC\n----\n----\n"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cases := 0
	Scripts(t, path, func(_ *testing.T, d *datadriven.TestData) string {
		cases++
		return strings.ToUpper(strings.ReplaceAll(d.String(), "b\nc", "b\n\nc"))
	})
	if cases != 2 {
		t.Errorf("%d cases, want 2", cases)
	}
	Golden(t, path, []byte(text))
}
