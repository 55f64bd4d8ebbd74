package grep

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"unicode/utf8"

	"mrlocal/jobs/grep/dfa"
)

// lineMatcher decides about lines if literals cannot. It belongs to one mapper. A line is
// matched by itself, without its newline.
type lineMatcher interface {
	match(line []byte) bool
	// find returns the leftmost match that begins at or behind from. from is 0, the end of a
	// match, or the end of the rune behind a match. start is none if there is no match.
	find(line []byte, from int) (start, end int)
	// countLines returns the number of lines of data that match. The last line may lack its
	// newline.
	countLines(data []byte) int64
	// nextLine returns the next line of data that matches, without its newline. from is the
	// start of a line. start is none if there is no such line.
	nextLine(data []byte, from int) (start, end int)
}

// newLineMatchers compiles a pattern, given as text and as its simplified tree. It returns a
// function that makes a lineMatcher for one mapper. It fails as regexp.Compile does.
func newLineMatchers(text string, tree *syntax.Regexp, b border) (func() lineMatcher, error) {
	plain, err := newRegexpMatcher(text, tree, b)
	if err != nil {
		return nil, err
	}
	program := dfa.Compile(tree, b.dfa())
	// The program is too large for automata.
	if program == nil {
		return func() lineMatcher { return plain }, nil
	}
	return func() lineMatcher { return &dfaMatcher{program.NewMatcher(), plain} }, nil
}

// dfa returns the border in the form of package dfa.
func (b border) dfa() dfa.Border {
	switch b {
	case wordEnds:
		return dfa.WordEnds
	case wholeLine:
		return dfa.WholeLine
	}
	return dfa.Anywhere
}

// dfaMatcher is a lineMatcher that uses automata. If an automaton gives up, because its states
// do not fit in its memory, it uses package regexp. An automaton that has given up says so at
// each call.
type dfaMatcher struct {
	automata *dfa.Matcher
	plain    *regexpMatcher
}

// match implements lineMatcher.
func (m *dfaMatcher) match(line []byte) bool {
	if matches, ok := m.automata.Match(line); ok {
		return matches
	}
	return m.plain.match(line)
}

// find implements lineMatcher. Offsets count from the start of line.
func (m *dfaMatcher) find(line []byte, from int) (start, end int) {
	start, end, ok := m.automata.Find(line, from)
	if !ok {
		return m.plain.find(line, from)
	}
	return start, end
}

// countLines implements lineMatcher.
func (m *dfaMatcher) countLines(data []byte) int64 {
	if lines, ok := m.automata.CountLines(data); ok {
		return lines
	}
	return m.plain.countLines(data)
}

// nextLine implements lineMatcher. Offsets count from the start of data.
func (m *dfaMatcher) nextLine(data []byte, from int) (start, end int) {
	start, end, ok := m.automata.NextLine(data, from)
	if !ok {
		return m.plain.nextLine(data, from)
	}
	return start, end
}

// regexpMatcher is a lineMatcher that uses package regexp. A search of that package sees
// nothing before its start, but ^, \b and -w depend on the text before a match. So a search
// inside a line starts one rune early, and the expression matches that rune outside of its
// group.
type regexpMatcher struct {
	lines *regexp.Regexp // without groups: decides whether a line matches
	first *regexp.Regexp // for a search from the start of a line
	later *regexp.Regexp // for a search that begins inside a line
	group int            // group of the match in first; 0: the whole match
	after int            // group of the match in later; 0: the whole match
}

// newRegexpMatcher compiles the expressions for text, whose syntax tree is tree. It fails as
// regexp.Compile does.
func newRegexpMatcher(text string, tree *syntax.Regexp, b border) (*regexpMatcher, error) {
	var lines, first, later string
	m := &regexpMatcher{}
	switch {
	case b == wholeLine:
		lines = `\A(?:` + text + `)\z`
		first, later = lines, `\A[^\x00-\x{10FFFF}]` // no match can follow a whole line
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

// looksBack reports whether a match may depend on the text before it.
func looksBack(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpBeginLine, syntax.OpBeginText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return true
	}
	return slices.ContainsFunc(re.Sub, looksBack)
}

// match implements lineMatcher.
func (m *regexpMatcher) match(line []byte) bool { return m.lines.Match(line) }

// find implements lineMatcher.
func (m *regexpMatcher) find(line []byte, from int) (start, end int) {
	re, group, base := m.first, m.group, from
	if from > 0 {
		re, group = m.later, m.after
		if group != 0 {
			// later matches one rune before its group, so the search begins one rune early.
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

// countLines implements lineMatcher.
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

// nextLine implements lineMatcher.
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
