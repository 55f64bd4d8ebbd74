package arch

import (
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	mostMarkdownColumns   = 120
	mostArchitectureLines = 100
)

// Rows of tables and code blocks cannot be wrapped, so they may be longer.
func TestDocumentsHaveShortLines(t *testing.T) {
	for name, text := range tracked(t) {
		if !strings.HasSuffix(name, ".md") {
			continue
		}
		lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
		code := false
		for i, line := range lines {
			if strings.HasPrefix(line, "```") {
				code = !code
			}
			if n := utf8.RuneCountInString(line); n > mostMarkdownColumns && !code && !strings.HasPrefix(line, "|") {
				t.Errorf("%s:%d: %d columns, at most %d", name, i+1, n, mostMarkdownColumns)
			}
		}
		if name == "ARCHITECTURE.md" && len(lines) > mostArchitectureLines {
			t.Errorf("%s has %d lines, at most %d: a page that is read whole", name, len(lines), mostArchitectureLines)
		}
	}
}
