package dfa

import (
	"bufio"
	"compress/bzip2"
	"fmt"
	"go/build"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"mrlocal/internal/scan"
)

// table opens a file of test cases of the Go distribution.
func table(t *testing.T, name string) io.Reader {
	f, err := os.Open(filepath.Join(build.Default.GOROOT, "src", "regexp", "testdata", name))
	if err != nil {
		t.Skipf("this Go distribution lacks its regexp tables: %v", err)
	}
	t.Cleanup(func() { _ = f.Close() })
	if strings.HasSuffix(name, ".bz2") {
		return bzip2.NewReader(f)
	}
	return f
}

// matchesOf returns the first match of a line in the format of RE2's tables: its bounds, if
// there is one.
func matchesOf(t *testing.T, m *Matcher, text string) string {
	line := []byte(text)
	start, end := m.Find(line, 0)
	matches := m.Match(line)
	if (start != None) != matches {
		t.Fatalf("%q matches: %v, at %d", text, matches, start)
	}
	if !matches {
		return "-"
	}
	return fmt.Sprintf("%d-%d", start, end)
}

// TestTablesOfRE2 compares matchers with RE2's own results, for the whole line and for any part
// of it. It uses every 199th pattern of the exhaustive table, because each one takes long.
func TestTablesOfRE2(t *testing.T) {
	for name, every := range map[string]int{"re2-search.txt": 1, "re2-exhaustive.txt.bz2": 199} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && every > 1 {
				t.Skip("takes seconds to unpack")
			}
			cases, regexps := 0, 0
			var texts, left []string
			var whole, anywhere *Matcher
			pattern, strings_ := "", false
			for lines := bufio.NewScanner(table(t, name)); lines.Scan(); {
				line := lines.Text()
				switch c := line[0]; {
				case line == "strings":
					texts, strings_ = nil, true
				case line == "regexps":
					strings_ = false
				case c == '"' && strings_:
					text, err := strconv.Unquote(line)
					if err != nil {
						t.Fatal(err)
					}
					texts = append(texts, text)
				case c == '"':
					left = nil
					if regexps++; regexps%every != 0 {
						continue
					}
					pattern, _ = strconv.Unquote(line)
					if _, err := regexp.Compile(pattern); err != nil {
						continue // \C, which Go does not have
					}
					left = texts
					whole, anywhere = matcherOf(t, pattern, scan.WholeLine, cacheBytes), matcherOf(t, pattern, scan.Anywhere, cacheBytes)
				case (c == '-' || '0' <= c && c <= '9') && len(left) > 0:
					text := left[0]
					left = left[1:]
					if strings.ContainsFunc(text, func(r rune) bool { return r >= 0x80 }) && strings.Contains(pattern, `\B`) || strings.Contains(text, "\n") {
						continue // \B between the bytes of a rune differs in Go, and a line has no newline
					}
					cases++
					results := strings.Split(line, ";")
					for i, m := range []*Matcher{whole, anywhere} {
						want, _, _ := strings.Cut(results[i], " ")
						if got := matchesOf(t, m, text); got != want {
							t.Errorf("%q in %q: %s, want %s", pattern, text, got, want)
						}
					}
				}
			}
			if cases < 1000 {
				t.Errorf("only %d cases", cases)
			}
		})
	}
}

// TestTablesOfFowler compares matchers with the standard library, on patterns whose results in
// the table are those of POSIX. POSIX agrees on whether there is a match, but not on its end.
func TestTablesOfFowler(t *testing.T) {
	for _, name := range []string{"basic.dat", "nullsubexpr.dat", "repetition.dat"} {
		t.Run(name, func(t *testing.T) {
			cases, last := 0, ""
			for lines := bufio.NewScanner(table(t, name)); lines.Scan(); {
				fields := strings.FieldsFunc(lines.Text(), func(r rune) bool { return r == '\t' })
				if len(fields) < 4 || !strings.Contains(fields[0], "E") || strings.ContainsAny(fields[0], "#?&|;{}") {
					continue
				}
				pattern, text := fields[1], fields[2]
				if strings.Contains(fields[0], "$") {
					pattern, _ = strconv.Unquote(`"` + pattern + `"`)
					text, _ = strconv.Unquote(`"` + text + `"`)
				}
				if pattern == "SAME" {
					pattern = last
				}
				last = pattern
				if text == "NULL" {
					text = ""
				}
				if strings.Contains(fields[0], "i") {
					pattern = "(?i)" + pattern
				}
				if _, err := regexp.Compile(pattern); err != nil {
					continue
				}
				cases++
				for _, b := range borders() {
					o, err := newOracle(pattern, b)
					if err != nil {
						t.Fatal(err)
					}
					compare(t, matcherOf(t, pattern, b, cacheBytes), o, pattern, []byte(text))
				}
				wants := strings.HasPrefix(fields[3], "(")
				if matches := matcherOf(t, pattern, scan.Anywhere, cacheBytes).Match([]byte(text)); matches != wants && !strings.Contains(text, "\n") {
					t.Errorf("%q in %q: %v, want %v", pattern, text, matches, wants)
				}
			}
			if cases < 10 {
				t.Errorf("only %d cases", cases)
			}
		})
	}
}
