// Package dfa finds lines that match a regular expression, and the bounds of
// matches in them. It builds deterministic automata from regexp/syntax programs,
// state by state as the text needs them. Its results equal those of package
// regexp on each line: leftmost-first, and with invalid UTF-8.
//
// There are three automata, because each question needs other states:
//
//	does a line match     over bytes; a state is a set of threads, and nothing
//	                      follows the first match; a newline ends one line and
//	                      begins the next
//	where does a match    over runes; threads are ordered by priority, which makes
//	end                   the match leftmost-first
//	where did it begin    over runes, backwards from the end; a state is a set of
//	                      threads, and the longest match wins
//
// A state is a list of threads. Each is followed through all instructions that
// take no rune, up to assertions that look ahead ($, \b): these wait until the
// next rune is known. If threads are ordered, the whole state then waits.
// Automata over bytes also keep the bytes of an incomplete rune. If the sequence
// turns out to be invalid, each of its bytes counts as U+FFFD, as in package
// unicode/utf8. Bytes and runes that no instruction distinguishes share a column
// of the table.
//
// To count lines, a block is cut into four pieces, which are walked in one loop.
// A step must wait for the table; the steps of the other pieces use that time.
// On the machine of docs/performance.md this makes 2.4 GB/s on one core, where
// one piece alone makes 0.6. A search for the next match walks one piece. If a
// match can begin with only a few bytes, it jumps from one of these bytes to the
// next.
//
// Memory: a Matcher belongs to one mapper. Each automaton that it has used holds about
// CacheBytes. The one for lines holds up to ManyLinesBytes if the pattern has many
// instructions. Account has these bytes charged. A full cache is cleared. The automaton
// gives up for good if the cache was filled by less than 20 bytes of text for each state.
// If there are many instructions, the limit is 1 byte. It says so, and the caller uses
// package regexp. So the time is linear in the text for every pattern. Programs of more
// than 50,000 instructions are refused.
//
// Neighbours: regexp/syntax parses patterns; package grep decides what to search
// for.
package dfa

import (
	"math"
	"regexp/syntax"
)

// CacheBytes is about the memory of one automaton.
const CacheBytes = 1 << 20

// Border says what must lie around a match.
type Border uint8

const (
	Anywhere  Border = iota
	WordEnds         // no word character before it and behind it
	WholeLine        // nothing before it and behind it
)

// Program is a compiled pattern. Several Matchers may share it.
type Program struct {
	// Both are only read after Compile.
	forward, backward *program
}

// Compile compiles a simplified tree. It returns nil if the program is too
// large for automata.
func Compile(tree *syntax.Regexp, b Border) *Program {
	p := &Program{forward: compile(tree, b), backward: compile(reversed(tree), b)}
	if p.forward == nil || p.backward == nil {
		return nil
	}
	p.forward.firsts = newFirsts(p.forward)
	p.backward.firsts = &firsts{} // a search backwards begins at a given place
	p.forward.class, p.forward.some = p.forward.classes.bytes()
	return p
}

// Matcher searches with the automata of a Program. One goroutine at a time may
// use it.
type Matcher struct {
	program *Program
	// The three automata; nil until the first call that needs one.
	lines       *lines
	ends        *runes
	starts      *runes
	cacheBytes  int // for ends and starts
	linesBytes  int // for lines
	leastFilled int
	charge      func(bytes int64) bool
	charged     int // bytes, for the automata there are
}

// NewMatcher returns a Matcher. It builds its automata when they are needed.
func (p *Program) NewMatcher() *Matcher {
	m := &Matcher{program: p, cacheBytes: CacheBytes, linesBytes: CacheBytes, leastFilled: leastFilled}
	if len(p.forward.insts) > manyInsts {
		m.linesBytes, m.leastFilled = ManyLinesBytes, leastFilledByMany
	}
	return m
}

// Account makes the Matcher ask charge before it takes memory for an automaton.
// While charge refuses, the automaton gets half as much, but at least
// leastCacheBytes. The automata of the last user of the Matcher are charged
// anew, or dropped. If charge is nil, nothing is asked.
func (m *Matcher) Account(charge func(bytes int64) bool) {
	m.charge = charge
	if charge != nil && m.charged > 0 && !charge(int64(m.charged)) {
		m.lines, m.ends, m.starts, m.charged = nil, nil, nil, 0
	}
}

// leastCacheBytes is what an automaton gets even if charge refuses it.
const leastCacheBytes = 128 << 10

// room returns how much of most bytes an automaton may take.
func (m *Matcher) room(most int) int {
	for m.charge != nil && !m.charge(int64(most)) {
		if most <= leastCacheBytes {
			return most
		}
		// A smaller cache is cleared more often, but finds the same lines.
		most /= 2
	}
	m.charged += most
	return most
}

// manyInsts is the size of a program above which regexp stops to backtrack.
// From there on its speed falls with the number of instructions, from 30 MB/s
// to 0.1 MB/s with a thousand words. Filling a cache again and again is then
// faster, even if each state serves only a few bytes.
const (
	manyInsts         = 500
	leastFilledByMany = 1
)

// ManyLinesBytes is the memory of the automaton for lines, if a pattern has
// many instructions. It is enough for the states of some thousand words.
const ManyLinesBytes = 4 << 20

// leastFilled is how many bytes of text each state must have served, on
// average, for a full cache to be cleared and filled again.
const leastFilled = 20

// None is returned as a place if there is no match. It is larger than any
// place.
const None = math.MaxInt

// Match reports whether line, without its newline, matches. ok is false if the
// automaton has given up.
func (m *Matcher) Match(line []byte) (matches, ok bool) {
	return m.automaton().match(line)
}

// CountLines returns the number of lines of data that match. ok is false if the
// automaton has given up.
func (m *Matcher) CountLines(data []byte) (lines int64, ok bool) {
	return m.automaton().count(data)
}

// NextLine returns the next line of data that matches. from must be the start
// of a line. start is None if there is no such line. ok is false if the
// automaton has given up.
func (m *Matcher) NextLine(data []byte, from int) (start, end int, ok bool) {
	return m.automaton().next(data, from)
}

// automaton returns the automaton for lines. It is built at its first use, because its memory
// is charged.
func (m *Matcher) automaton() *lines {
	if m.lines == nil {
		m.lines = newLines(m.program.forward, m.room(m.linesBytes), m.leastFilled)
	}
	return m.lines
}

// Find returns the leftmost-first match in a line that begins at or behind
// from, which must be the start of a rune. start is None if there is no match.
// ok is false if an automaton has given up.
func (m *Matcher) Find(line []byte, from int) (start, end int, ok bool) {
	// Both are made at once: a match that has an end needs its beginning too.
	if m.ends == nil {
		m.ends = newRunes(m.program.forward, true, m.room(m.cacheBytes), m.leastFilled)
		m.starts = newRunes(m.program.backward, false, m.room(m.cacheBytes), m.leastFilled)
	}
	// The end comes first, because only a search forward knows which alternative is preferred.
	end, ok = m.ends.end(line, from)
	if !ok || end == None {
		return None, None, ok
	}
	start, ok = m.starts.start(line, from, end)
	return start, end, ok
}
