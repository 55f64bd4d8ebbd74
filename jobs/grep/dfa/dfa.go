// Package dfa decides about lines, and finds the exact bounds of matches in
// them, by lazily built deterministic automata over regexp/syntax programs. It
// equals regexp on every line, leftmost-first, invalid UTF-8 included.
//
// Three automata share the work, because what must be known decides what a
// state has to tell apart:
//
//	does a line match   over bytes; a set of threads, and nothing after the
//	                    first match; a newline ends one line and begins the next
//	where does a match  over runes; threads by priority, which makes the match
//	end                 leftmost-first
//	where did it begin  over runes, backwards from the end; a set of threads,
//	                    the longest match wins
//
// A state is a list of threads, closed over everything that is known, and
// waits at assertions that look ahead ($, \b) until the next rune is; by
// priority it then waits as a whole, before it is closed. Automata
// over bytes also hold the bytes of a rune that is not complete; where a
// sequence turns out to be invalid, each of its bytes is a U+FFFD, as in
// package unicode/utf8. Bytes and runes that no instruction tells apart share
// a column.
//
// Blocks are cut into four pieces that are walked in one loop, because a step
// waits for the table while those of the others need not: 2.4 GB/s a core on a
// machine where one stream reaches 0.6. Matches are looked for in one stream,
// which goes from one byte that a match can begin with to the next where these
// are few.
//
// Memory is bounded: a Matcher, which belongs to one mapper, holds about
// CacheBytes in each of its three automata, of those that it has used; of a
// pattern with many instructions ManyLinesBytes in the one for lines. A full
// cache is cleared; one that is full again after less than 20 bytes of text for
// each of its states (one byte, where there are many instructions) gives up for
// good, and says so: the caller has regexp. So time stays linear whatever the
// pattern. Programs of more than 50,000 instructions are not taken at all.
//
// Parsing is regexp/syntax's; package grep decides what is looked for here.
package dfa

import (
	"math"
	"regexp/syntax"
)

// CacheBytes bounds an automaton's states, about.
const CacheBytes = 1 << 20

// Border is what must surround a match.
type Border uint8

const (
	Anywhere  Border = iota
	WordEnds         // no word character before and behind it
	WholeLine        // nothing before and behind it
)

// A Program is a compiled pattern; Matchers share it.
type Program struct {
	forward, backward *program
}

// Compile compiles a simplified tree; nil where the program is too large for
// automata to pay.
func Compile(tree *syntax.Regexp, b Border) *Program {
	p := &Program{forward: compile(tree, b), backward: compile(reversed(tree), b)}
	if p.forward == nil || p.backward == nil {
		return nil
	}
	p.forward.firsts = newFirsts(p.forward)
	p.backward.firsts = &firsts{} // it begins where it is told to
	p.forward.class, p.forward.some = p.forward.classes.bytes()
	return p
}

// A Matcher searches; it is for one goroutine.
type Matcher struct {
	program     *Program
	lines       *lines
	ends        *runes
	starts      *runes
	cacheBytes  int // of ends and starts
	linesBytes  int // of lines
	leastFilled int
}

// NewMatcher makes a Matcher, whose automata are built as they are needed.
func (p *Program) NewMatcher() *Matcher {
	m := &Matcher{program: p, cacheBytes: CacheBytes, linesBytes: CacheBytes, leastFilled: leastFilled}
	if len(p.forward.insts) > manyInsts {
		m.linesBytes, m.leastFilled = ManyLinesBytes, leastFilledByMany
	}
	return m
}

// manyInsts is where regexp stops to backtrack, and becomes slower by the number
// of instructions: from 30 MB/s to 0.1 with a thousand words. Filling a cache
// over and over is faster, nearly however few bytes a state is worth.
const (
	manyInsts         = 500
	leastFilledByMany = 1
)

// ManyLinesBytes is CacheBytes of the automaton for lines where a pattern has
// many instructions: states for some thousand words.
const ManyLinesBytes = 4 << 20

// leastFilled is how many bytes of text a state must be worth, on average, for
// a full cache to be cleared and filled again.
const leastFilled = 20

// None is no place: it lies behind all of them.
const None = math.MaxInt

// Match reports whether line, without its newline, matches; ok is false when
// the automaton has given up.
func (m *Matcher) Match(line []byte) (matches, ok bool) {
	return m.automaton().match(line)
}

// CountLines counts the lines of data that match.
func (m *Matcher) CountLines(data []byte) (lines int64, ok bool) {
	return m.automaton().count(data)
}

// NextLine finds the next line of data that matches, from the start of a line
// on; start is None without one.
func (m *Matcher) NextLine(data []byte, from int) (start, end int, ok bool) {
	return m.automaton().next(data, from)
}

func (m *Matcher) automaton() *lines {
	if m.lines == nil {
		m.lines = newLines(m.program.forward, m.linesBytes, m.leastFilled)
	}
	return m.lines
}

// Find finds the leftmost-first match that begins at or after from, a rune's
// start, in a line; start is None without one.
func (m *Matcher) Find(line []byte, from int) (start, end int, ok bool) {
	if m.ends == nil {
		m.ends = newRunes(m.program.forward, true, m.cacheBytes, m.leastFilled)
		m.starts = newRunes(m.program.backward, false, m.cacheBytes, m.leastFilled)
	}
	end, ok = m.ends.end(line, from)
	if !ok || end == None {
		return None, None, ok
	}
	start, ok = m.starts.start(line, from, end)
	return start, end, ok
}
