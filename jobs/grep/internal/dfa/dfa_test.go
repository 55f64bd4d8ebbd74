package dfa

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"regexp/syntax"
	"testing"
	"unicode/utf8"

	"mrlocal/internal/scan"
)

// oracle returns the results of the standard library, for each border.
type oracle struct {
	first, later *regexp.Regexp
	group, after int
}

func newOracle(pattern string, b scan.Border) (*oracle, error) {
	o := &oracle{}
	var first, later string
	switch b {
	case scan.WholeLine:
		first, later = `\A(?:`+pattern+`)\z`, `\A[^\x00-\x{10FFFF}]`
	case scan.WordEnds:
		first, later = `(?:\A|\W)(`+pattern+`)(?:\W|\z)`, `\W(`+pattern+`)(?:\W|\z)`
		o.group, o.after = 1, 1
	default:
		first, later = pattern, `(?s:.)(`+pattern+`)`
		o.after = 1
	}
	var err error
	if o.first, err = regexp.Compile(first); err != nil {
		return nil, err
	}
	o.later, err = regexp.Compile(later)
	return o, err
}

func (o *oracle) match(line []byte) bool { return o.first.Match(line) }

func (o *oracle) find(line []byte, from int) (start, end int) {
	re, group, base := o.first, o.group, from
	if from > 0 {
		re, group = o.later, o.after
		_, width := utf8.DecodeLastRune(line[:from])
		base -= width
	}
	at := re.FindSubmatchIndex(line[base:])
	if at == nil {
		return None, None
	}
	return base + at[2*group], base + at[2*group+1]
}

func borders() []scan.Border { return []scan.Border{scan.Anywhere, scan.WordEnds, scan.WholeLine} }

// matcherOf compiles a pattern that must compile. most is as for newCache.
func matcherOf(t testing.TB, pattern string, b scan.Border, most int) *Matcher {
	t.Helper()
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		t.Fatal(err)
	}
	p := Compile(tree.Simplify(), b)
	if p == nil {
		t.Fatalf("%q is too large", pattern)
	}
	m := p.NewMatcher()
	m.cacheBytes, m.linesBytes = most, most
	return m
}

// matchersOf returns Matchers that work in different ways: with a cache of most bytes that starts over for ever, with
// one that gives up, with walks from each place, and with one that has given up and starts over for each line.
func matchersOf(t testing.TB, pattern string, b scan.Border, most int) map[string]*Matcher {
	all := map[string]*Matcher{}
	for _, name := range []string{"cleared", "given up", "places", "line by line"} {
		m := matcherOf(t, pattern, b, most)
		if name == "cleared" || name == "line by line" {
			m.slow = math.MaxInt
		}
		if name == "places" || name == "line by line" {
			m.automaton().exploded = true
			m.Find(nil, 0)
			m.ends.exploded = true
		}
		all[fmt.Sprintf("%s, %q, %d bytes", name, pattern, most)] = m
	}
	return all
}

// compare compares m with the standard library: for each line of text, for all
// matches in it, and for the text as a block.
func compare(t failer, m *Matcher, o *oracle, name string, text []byte) {
	t.Helper()
	counted := m.CountLines(text) // runs first, while no transition is known
	count := int64(0)
	rest := text
	for at := 0; len(rest) > 0; {
		line, next, _ := bytes.Cut(rest, []byte{'\n'})
		want := o.match(line)
		if got := m.Match(line); got != want {
			t.Fatalf("%s: line %q matches: %v, want %v", name, line, got, want)
		}
		compareMatches(t, m, o, name, line)
		if start, end := m.NextLine(text, at); want && (start != at || end != at+len(line)) || !want && start == at {
			t.Fatalf("%s: next line of %q from %d is %d:%d, want %v", name, text, at, start, end, want)
		}
		if want {
			count++
		}
		at += len(rest) - len(next)
		rest = next
	}
	if counted != count {
		t.Fatalf("%s: %d lines of %q match, want %d", name, counted, text, count)
	}
	if again := m.CountLines(text); again != count {
		t.Fatalf("%s: %d lines of %q match the second time, want %d", name, again, text, count)
	}
}

func compareMatches(t failer, m *Matcher, o *oracle, name string, line []byte) {
	t.Helper()
	for from := 0; from <= len(line); {
		wantStart, wantEnd := o.find(line, from)
		start, end := m.Find(line, from)
		if start != wantStart || end != wantEnd {
			t.Fatalf("%s: in %q from %d: %d:%d, want %d:%d", name, line, from, start, end, wantStart, wantEnd)
		}
		if wantStart == None {
			return
		}
		if from = wantEnd; wantEnd == wantStart {
			_, width := utf8.DecodeRune(line[wantEnd:])
			from += max(width, 1)
		}
	}
}

func FuzzEqualsRegexp(f *testing.F) {
	for _, seed := range [][2]string{
		{"foo|bar", "foo\nbar baz\n"}, {`\bs.*k\b`, "S k\nſ \u212a"}, {"(?i)straße", "STRASSE\nstraße"},
		{`[[:^word:]]+`, "a-\xff\n"}, {"a*?b|", "aab\n\nb"}, {`(?m)^$`, "a\n\n"}, {"[^\\x00-\\x{10ffff}]|é", "é"},
		{`\b^a|\B`, "a\nba"}, {`.\z`, "\xe2\x84\n\xf0\x9f\x98"}, {`\ufffd{2}\b`, "\xe2\x84a"}, {`\p{L}+?\b`, "Ж日a本\xff"},
		{`(a*)*b|[a-q][^u-z]{3}x`, "abcdex\naaab"}, {`(|a)*?(?:^|\b)`, "aab"}, {`[\x{d700}-\x{e001}]`, "\ue000\xed\xa0\x80"},
	} {
		f.Add(seed[0], []byte(seed[1]), uint8(0))
	}
	f.Fuzz(func(t *testing.T, pattern string, text []byte, bits uint8) {
		if len(pattern) > 100 || len(text) > 200 { // compare searches from every offset of the text
			return
		}
		if bits&1 != 0 {
			pattern = "(?i:" + pattern + ")"
		}
		if _, err := regexp.Compile(pattern); err != nil {
			return
		}
		border := borders()[int(bits>>1)%3]
		o, err := newOracle(pattern, border)
		if err != nil {
			return
		}
		compare(t, matcherOf(t, pattern, border, cacheBytes), o, pattern, text)
		for name, m := range matchersOf(t, pattern, border, 0) {
			compare(t, m, o, name, text)
		}
	})
}

// failer is a test, with or without random input.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}
