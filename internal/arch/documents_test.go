package arch

import (
	"bytes"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	mostColumns           = 120
	mostArchitectureLines = 110
)

// Rows of tables and code blocks cannot be wrapped, so they may be longer. ARCHITECTURE.md
// may have no longer ones, because nobody reads a row of many columns.
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
			if n := utf8.RuneCountInString(line); n > mostColumns && !code && (name == "ARCHITECTURE.md" || !strings.HasPrefix(line, "|")) {
				t.Errorf("%s:%d: %d columns, at most %d", name, i+1, n, mostColumns)
			}
		}
		if name == "ARCHITECTURE.md" && len(lines) > mostArchitectureLines {
			t.Errorf("%s has %d lines, at most %d: a page that is read whole", name, len(lines), mostArchitectureLines)
		}
	}
}

// A comment is read next to the code. One that is longer than a window is wide is not read to its end. A tab counts as
// four columns.
func TestCommentsHaveShortLines(t *testing.T) {
	for name, text := range tracked(t) {
		if path.Ext(name) != ".go" {
			continue
		}
		for i, line := range strings.Split(string(text), "\n") {
			line = strings.ReplaceAll(line, "\t", "    ")
			if n := utf8.RuneCountInString(line); n > mostColumns && strings.HasPrefix(strings.TrimSpace(line), "//") {
				t.Errorf("%s:%d: %d columns, at most %d", name, i+1, n, mostColumns)
			}
		}
	}
}

// Terms are defined in docs/glossary.md. The pages that use them lead there.
func TestPagesLinkToTheGlossary(t *testing.T) {
	for name, text := range tracked(t) {
		if strings.HasPrefix(name, "docs/") && path.Ext(name) == ".md" && !strings.HasPrefix(name, "docs/adr/") && name != "docs/glossary.md" && !bytes.Contains(text, []byte("glossary.md)")) {
			t.Errorf("%s: no link to docs/glossary.md", name)
		}
	}
}

// Each term of the glossary has one row.
func TestTheGlossaryDefinesATermOnce(t *testing.T) {
	row := map[string]int{}
	for i, line := range strings.Split(string(tracked(t)["docs/glossary.md"]), "\n") {
		cells := strings.Split(line, " | ")
		if !strings.HasPrefix(line, "| ") || len(cells) < 2 || cells[0] == "| term" || cells[0] == "| ---" {
			continue
		}
		for _, term := range strings.Split(strings.TrimPrefix(cells[0], "| "), ", ") {
			if before := row[term]; before > 0 {
				t.Errorf("docs/glossary.md:%d: %s has a row already, on line %d", i+1, term, before)
			}
			row[term] = i + 1
		}
	}
	if len(row) < 100 {
		t.Errorf("only %d terms found", len(row))
	}
}

// TestArchitectureNamesEachPackage: each package stands in ARCHITECTURE.md, by its path or as
// the NAME of a parent's row. Each folder at the
// top is named too, by itself or by what is in it.
func TestArchitectureNamesEachPackage(t *testing.T) {
	texts := tracked(t)
	named := map[string]bool{"": true, "docs": true} // the root package; docs is linked
	for _, m := range regexp.MustCompile("`([a-z0-9_./]+(?:NAME)?)`").FindAllStringSubmatch(string(texts["ARCHITECTURE.md"]), -1) {
		name := m[1]
		top, _, _ := strings.Cut(name, "/")
		named[name], named[top] = true, true
	}
	missing := map[string]bool{}
	for name := range texts {
		if top, _, below := strings.Cut(name, "/"); below && !named[top] {
			missing[top] = true
		}
	}
	_, all := load(t)
	for _, s := range all {
		if !named[s.pkg] && !named[path.Join(path.Dir(s.pkg), "NAME")] {
			missing[s.pkg] = true
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(missing)) {
		t.Errorf("ARCHITECTURE.md does not say what to look for in %s", folder)
	}
}

// TestDocumentsNameFilesThatExist: a word in backquotes that looks like a path below a folder of
// the repository is one. ARCHITECTURE.md and CONTRIBUTING.md may name a Go file without its
// folder; it exists too. CHANGELOG.md may name files that are gone.
func TestDocumentsNameFilesThatExist(t *testing.T) {
	texts := tracked(t)
	// The reader makes these.
	there := map[string]bool{"slots/policy/shortest": true, "index": true}
	for name := range texts {
		there[path.Base(name)] = true
		for ; name != "."; name = path.Dir(name) {
			there[name] = true
		}
	}
	word := regexp.MustCompile(`^(?:\./)?([\w.-]+(?:/[\w.-]+)*)/?$`)
	names := 0
	for page, text := range texts {
		if path.Ext(page) != ".md" || page == "CHANGELOG.md" {
			continue
		}
		for _, quoted := range regexp.MustCompile("`[^`\n]+`").FindAllString(string(text), -1) {
			for _, w := range strings.Fields(strings.Trim(quoted, "`")) {
				m := word.FindStringSubmatch(w)
				if m == nil || strings.Contains(w, "NAME") || w == "./..." || w == "./PACKAGE" {
					continue
				}
				top, _, below := strings.Cut(m[1], "/")
				if !(below && there[top]) && path.Ext(m[1]) != ".go" && !strings.HasPrefix(w, "./") {
					continue
				}
				names++
				if full := m[1]; !there[full] && !there[path.Join(path.Dir(page), full)] && !isScript(full, texts) {
					t.Errorf("%s: there is no %s", page, w)
				}
			}
		}
	}
	if names < 250 {
		t.Errorf("the documents name %d files only", names)
	}
}

// .ci/run and .ci/full pass -long to the tests that have one of these calls in their own text.
var callsOfLong = regexp.MustCompile(`testkit\.(Rounds|Long)\(`)

func TestTestsThemselvesAskForAllRounds(t *testing.T) {
	for name, text := range tracked(t) {
		if !strings.HasSuffix(name, "_test.go") {
			continue
		}
		function := ""
		for i, line := range strings.Split(string(text), "\n") {
			if strings.HasPrefix(line, "func ") {
				function = line
			}
			if callsOfLong.MatchString(line) && !strings.HasPrefix(function, "func Test") {
				t.Errorf("%s:%d: .ci/full does not find which tests make more rounds here with -long", name, i+1)
			}
		}
	}
}
