package grep

import (
	"regexp"
	"regexp/syntax"
	"unicode/utf8"

	"mrlocal/jobs/grep/dfa"
)

// lineMatcher decides where no literal can. It belongs to one mapper. A line
// is without its newline, and is matched as if there were no other.
type lineMatcher interface {
	match(line []byte) bool
	// find is the leftmost match that begins at or after from, which is 0 or
	// the end of a match, or a rune after it; start is none without one.
	find(line []byte, from int) (start, end int)
	// countLines is the number of lines of data that match; the last one may
	// lack its newline.
	countLines(data []byte) int64
	// nextLine is the next line of data that matches, from the start of a line
	// on; start is none without one.
	nextLine(data []byte, from int) (start, end int)
}

// newLineMatchers compiles a pattern, given as text and as its simplified
// tree, and returns what makes a matcher of it for each mapper.
func newLineMatchers(text string, tree *syntax.Regexp, b border) (func() lineMatcher, error) {
	plain, err := newRegexpMatcher(text, tree, b)
	if err != nil {
		return nil, err
	}
	program := dfa.Compile(tree, b.dfa())
	if program == nil {
		return func() lineMatcher { return plain }, nil
	}
	return func() lineMatcher { return &dfaMatcher{program.NewMatcher(), plain} }, nil
}

func (b border) dfa() dfa.Border {
	switch b {
	case wordEnds:
		return dfa.WordEnds
	case wholeLine:
		return dfa.WholeLine
	}
	return dfa.Anywhere
}

// dfaMatcher is a lineMatcher by automata, and by the standard library where
// one of them gives up: its states would not fit its memory.
type dfaMatcher struct {
	automata *dfa.Matcher
	plain    *regexpMatcher
}

func (m *dfaMatcher) match(line []byte) bool {
	if matches, ok := m.automata.Match(line); ok {
		return matches
	}
	return m.plain.match(line)
}

func (m *dfaMatcher) find(line []byte, from int) (start, end int) {
	start, end, ok := m.automata.Find(line, from)
	if !ok {
		return m.plain.find(line, from)
	}
	return start, end
}

func (m *dfaMatcher) countLines(data []byte) int64 {
	if lines, ok := m.automata.CountLines(data); ok {
		return lines
	}
	return m.plain.countLines(data)
}

func (m *dfaMatcher) nextLine(data []byte, from int) (start, end int) {
	start, end, ok := m.automata.NextLine(data, from)
	if !ok {
		return m.plain.nextLine(data, from)
	}
	return start, end
}

// regexpMatcher is a lineMatcher by the standard library. Its searches begin
// at the start of what they are given; a match further on must still see what
// lies before it, for ^ and \b and for -w. So later searches start one rune
// early and the expression consumes that rune, outside of its group.
type regexpMatcher struct {
	lines *regexp.Regexp // without groups: does a line match
	first *regexp.Regexp // at the start of a line
	later *regexp.Regexp // at a place inside it
	group int            // of the match in first: 1 where it lies inside borders
	after int            // of the match in later
}

func newRegexpMatcher(text string, tree *syntax.Regexp, b border) (*regexpMatcher, error) {
	var lines, first, later string
	m := &regexpMatcher{}
	switch {
	case b == wholeLine:
		lines = `\A(?:` + text + `)\z`
		first, later = lines, `\A[^\x00-\x{10FFFF}]` // nothing can follow a whole line
	case b == wordEnds:
		lines = `(?:\A|\W)(?:` + text + `)(?:\W|\z)`
		first, later = `(?:\A|\W)(`+text+`)(?:\W|\z)`, `\W(`+text+`)(?:\W|\z)`
		m.group, m.after = 1, 1
	case looksBack(tree):
		lines, first, later = text, text, `(?s:.)(`+text+`)`
		m.after = 1
	default:
		lines, first, later = text, text, text
	}
	for _, c := range []struct {
		re   **regexp.Regexp
		text string
	}{{&m.lines, lines}, {&m.first, first}, {&m.later, later}} {
		var err error
		if *c.re, err = regexp.Compile(c.text); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// looksBack reports whether what lies before a match can decide about it.
func looksBack(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpBeginLine, syntax.OpBeginText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return true
	}
	for _, sub := range re.Sub {
		if looksBack(sub) {
			return true
		}
	}
	return false
}

func (m *regexpMatcher) match(line []byte) bool { return m.lines.Match(line) }

func (m *regexpMatcher) find(line []byte, from int) (start, end int) {
	re, group, base := m.first, m.group, from
	if from > 0 {
		re, group = m.later, m.after
		if group != 0 {
			_, width := utf8.DecodeLastRune(line[:from])
			base -= width
		}
	}
	if group == 0 {
		if at := re.FindIndex(line[base:]); at != nil {
			return base + at[0], base + at[1]
		}
	} else if at := re.FindSubmatchIndex(line[base:]); at != nil {
		return base + at[2*group], base + at[2*group+1]
	}
	return none, none
}

func (m *regexpMatcher) countLines(data []byte) (lines int64) {
	for from := 0; from < len(data); {
		end := lineEnd(data, from)
		if m.match(data[from:end]) {
			lines++
		}
		from = end + 1
	}
	return lines
}

func (m *regexpMatcher) nextLine(data []byte, from int) (start, end int) {
	for from < len(data) {
		end := lineEnd(data, from)
		if m.match(data[from:end]) {
			return from, end
		}
		from = end + 1
	}
	return none, none
}
