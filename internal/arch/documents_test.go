package arch

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	mostMarkdownColumns   = 120
	mostArchitectureLines = 100
)

// Rows of tables and code blocks cannot be wrapped, so they may be longer, but not in
// ARCHITECTURE.md: a row of many columns is not read.
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
			if n := utf8.RuneCountInString(line); n > mostMarkdownColumns && !code && (name == "ARCHITECTURE.md" || !strings.HasPrefix(line, "|")) {
				t.Errorf("%s:%d: %d columns, at most %d", name, i+1, n, mostMarkdownColumns)
			}
		}
		if name == "ARCHITECTURE.md" && len(lines) > mostArchitectureLines {
			t.Errorf("%s has %d lines, at most %d: a page that is read whole", name, len(lines), mostArchitectureLines)
		}
	}
}

// TestArchitectureNamesEachPackage: each package stands in ARCHITECTURE.md, by its path or as
// the NAME of a parent's row; cmd/../ stands for cmd/mrlocal/internal/ there.
func TestArchitectureNamesEachPackage(t *testing.T) {
	named := map[string]bool{"": true} // the root package
	for _, m := range regexp.MustCompile("`([a-z0-9_./]+(?:NAME)?)`").FindAllStringSubmatch(string(tracked(t)["ARCHITECTURE.md"]), -1) {
		named[strings.Replace(m[1], "cmd/../", "cmd/mrlocal/internal/", 1)] = true
	}
	_, all := load(t)
	packages := map[string]bool{}
	for _, s := range all {
		packages[s.pkg] = true
	}
	for _, pkg := range slices.Sorted(maps.Keys(packages)) {
		if !named[pkg] && !named[path.Join(path.Dir(pkg), "NAME")] {
			t.Errorf("ARCHITECTURE.md does not say what to look for in %s", pkg)
		}
	}
}
