// Package dfa finds lines that match a regular expression, and the bounds of matches in them. It
// builds deterministic automata from programs of regexp/syntax. It builds a state when the text
// first leads to it. Its results equal those of package regexp on each line: they are
// leftmost-first, or with Program.Longest leftmost-longest, also for invalid UTF-8.
//
// There are four automata, because each question needs other states:
//
//	does a line match     over bytes; a state is a set of threads, and nothing
//	                      follows the first match; a newline ends one line and
//	                      begins the next
//	where does a match    over runes; threads are ordered by priority, which makes
//	end                   the match leftmost-first
//	where did it begin    over runes, backwards from the end; a state is a set of
//	                      threads, and the longest match wins
//	where does the        over runes, from a known beginning; a state is a set of
//	longest one end       threads, and the longest match wins
//
// A state is a list of threads. Each thread is followed through all instructions that take no rune,
// up to assertions that look ahead ($, \b). These wait until the next rune is known. If threads are
// ordered, the whole state then waits. The automaton over bytes also keeps the bytes of an
// incomplete rune. If the sequence turns out to be invalid, each of its bytes counts as U+FFFD, as
// in package unicode/utf8. Bytes and runes that no instruction distinguishes share a column of the
// table.
//
// To count lines, a block is cut into four pieces, which are walked in one loop. Each step waits for
// a load from the table; the steps of the other pieces use that time. So four pieces are counted
// about two to three times as fast as one (docs/loops.md). A search for the next match walks one
// piece. If a match can begin with only a few bytes, the search jumps from one of these bytes to the
// next. The automaton for lines leaves out what may be empty at
// either end of the pattern, because it needs no bounds of matches.
//
// Memory: a Matcher belongs to one mapper. Each automaton that it has used holds about cacheBytes.
// Automata for lines hold up to manyLinesBytes if the pattern has many instructions. Account
// charges these bytes.
//
// A full cache is cleared, and the automaton starts over. If the cache has filled up within little text,
// the automaton gives up for the next 16 MiB. Then the Matcher walks from each offset, and so finds
// whether a match begins there (places.go). If these walks are long, the automaton starts over instead.
// So the time is linear in the text for every pattern. At worst, each byte makes a state, in a time that
// is linear in the number of instructions.
package dfa

import (
	"math"
	"regexp/syntax"
	"slices"
	"sync"

	"mrlocal/internal/scan"
)

// cacheBytes is about the memory of one automaton.
const cacheBytes = 1 << 20

// Program is a compiled pattern. It is never changed after Compile, so Matchers in several
// goroutines may share it.
type Program struct {
	lines             *program        // not ordered, and trimmed
	places            func() *program // not ordered
	forward, backward *program

	// Longest makes Find return the longest of the matches that begin at one place, as POSIX has it. It may be set
	// before the first Matcher is made.
	Longest bool
}

// Compile compiles a simplified tree, which it does not change. It returns nil if the pattern
// distinguishes more than 65,535 classes of runes.
func Compile(tree *syntax.Regexp, b scan.Border) *Program { return compileBoth(tree, b, false) }

// CompileText is Compile for texts of several lines. Of the Matchers, only Find may be used. The border of
// a line and the assertions ^ and $ with the flag m hold at each newline.
func CompileText(tree *syntax.Regexp, b scan.Border) *Program { return compileBoth(tree, b, true) }

// Spans reports whether a match of tree may have a newline, or depends on one. Such a tree is for CompileText.
func Spans(tree *syntax.Regexp) bool {
	switch tree.Op {
	case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpAnyChar:
		return true
	case syntax.OpLiteral:
		return slices.Contains(tree.Rune, '\n')
	case syntax.OpCharClass:
		for i := 0; i < len(tree.Rune); i += 2 {
			if tree.Rune[i] <= '\n' && '\n' <= tree.Rune[i+1] {
				return true
			}
		}
	}
	return slices.ContainsFunc(tree.Sub, Spans)
}

func compileBoth(tree *syntax.Regexp, b scan.Border, several bool) *Program {
	p := &Program{forward: compile(grouped(tree, true), b, several), backward: compile(grouped(reversed(tree), false), b, several)}
	if p.forward == nil || p.backward == nil {
		return nil
	}
	p.forward.firsts = newFirsts(p.forward)
	p.backward.firsts = &firsts{} // a search backwards begins at a given place
	p.places = sync.OnceValue(func() *program { return compileLines(tree, b) })
	switch {
	case several:
		p.lines = p.forward // NewMatcher reads its length; there is no automaton of it
	case b == scan.Anywhere:
		p.lines = compileLines(trimmed(tree, true, true), b)
	default:
		p.lines = p.places()
	}
	return p
}

// compileLines compiles a tree for an automaton that decides about lines.
func compileLines(tree *syntax.Regexp, b scan.Border) *program {
	p := compile(grouped(tree, false), b, false)
	p.firsts = newFirsts(p)
	p.class, p.some = p.classes.bytes()
	return p
}

// Matcher searches with the automata of a Program. Only one goroutine at a time may use it.
type Matcher struct {
	program *Program
	// The automata. Each is nil until the first call that needs it.
	lines      *lines
	places     *lines // for the beginnings of matches, in place of starts
	ends       *runes
	starts     *runes
	longest    *runes // for the ends of matches with known beginnings, if the program wants the longest
	cacheBytes int    // for ends and starts
	linesBytes int    // for lines, and for places
	slow       int    // number of bytes until walks from each place are tried again
	charge     func(bytes int64) bool
	charged    int // memory of all automata, in bytes
}

// NewMatcher returns a Matcher. It builds its automata when they are needed.
func (p *Program) NewMatcher() *Matcher {
	m := &Matcher{program: p, cacheBytes: cacheBytes, linesBytes: cacheBytes}
	if len(p.lines.insts) > manyInsts {
		m.linesBytes = manyLinesBytes
	}
	if p.forward.several {
		m.slow = math.MaxInt
	}
	return m
}

// Account makes the Matcher call charge before it takes memory for an automaton. If charge
// returns false, the Matcher asks for half as much, until charge returns true or
// leastCacheBytes is reached. Automata from earlier use are charged again, or dropped if charge
// returns false. A nil charge is never called.
func (m *Matcher) Account(charge func(bytes int64) bool) {
	m.charge = charge
	if charge != nil && m.charged > 0 && !charge(int64(m.charged)) {
		m.lines, m.places = nil, nil
		m.ends, m.starts = nil, nil
		m.longest = nil
		m.charged = 0
	}
}

// leastCacheBytes is the memory that an automaton gets even if charge refuses it.
const leastCacheBytes = 128 << 10

// room returns how many bytes, up to most, a new automaton may use.
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

// If a pattern has more than manyInsts instructions, manyLinesBytes is the memory of its automaton for
// lines. It is enough for the states of several thousand words.
const (
	manyInsts      = 500
	manyLinesBytes = 4 << 20
)

// None is returned as an offset if there is no match. It is larger than any offset.
const None = math.MaxInt

// Match reports whether line, without its newline, matches.
func (m *Matcher) Match(line []byte) bool {
	if d := m.automaton(); !m.gaveUp(&d.cache, len(line)) {
		if matched := d.match(line); !d.exploded {
			return matched
		}
	}
	return m.decide(line)
}

// CountLines returns the number of lines of data that match. The last line may lack its newline.
func (m *Matcher) CountLines(data []byte) (lines int64) {
	d := m.automaton()
	if m.gaveUp(&d.cache, len(data)) {
		d.rest = append(d.rest, data)
	} else {
		lines = d.count(data)
	}
	for _, rest := range d.rest {
		for start, end := m.decideNext(rest, 0); start != None; start, end = m.decideNext(rest, end+1) {
			lines++
		}
	}
	d.rest = d.rest[:0]
	return lines
}

// NextLine returns the next line of data that matches, without its newline. from must be the
// start of a line. start is None if there is no such line.
func (m *Matcher) NextLine(data []byte, from int) (start, end int) {
	d := m.automaton()
	if !m.gaveUp(&d.cache, 0) {
		start, end = d.next(data, from)
		if start != None || !d.exploded {
			return start, end
		}
		from = end
	}
	start, end = m.decideNext(data, from)
	m.gaveUp(&d.cache, min(start, len(data))-from)
	return start, end
}

// decideNext is NextLine without the automaton that has exploded.
func (m *Matcher) decideNext(data []byte, from int) (start, end int) {
	for from < len(data) {
		end := scan.LineEnd(data, from)
		if m.decide(data[from:end]) {
			return from, end
		}
		from = end + 1
	}
	return None, None
}

// decide is Match if the automaton has exploded: by walks from each place. If they are slow, the automaton starts
// over as often as it must.
func (m *Matcher) decide(line []byte) bool {
	if at, ok := m.firstStart(m.lines, line, 0); ok {
		return at != None
	}
	d := m.lines
	explodes := d.explodes
	d.explodes = nil
	d.exploded = false
	matched := d.match(line)
	d.explodes, d.exploded = explodes, true
	return matched
}

// firstStart calls d.firstStart, unless walks have been slow lately. ok is false then, and if they are slow now.
func (m *Matcher) firstStart(d *lines, line []byte, from int) (at int, ok bool) {
	if m.slow > 0 {
		m.slow -= len(line) - from + 1
		return None, false
	}
	if at, ok = d.firstStart(line, from); !ok {
		m.slow = givenUpBytes
	}
	return at, ok
}

// automaton returns the automaton for lines. The first call makes it, because its memory is
// charged.
func (m *Matcher) automaton() *lines {
	if m.lines == nil {
		m.lines = newLines(m.program.lines, m.room(m.linesBytes))
		m.lines.explodes = m.explodes
	}
	return m.lines
}

// explodes reports whether an automaton that has made states while it walked takes longer than what
// replaces it.
func (m *Matcher) explodes(states, walked int) bool {
	return m.slow <= 0 && walked*placesCost < states*stateCost
}

const (
	placesCost = 8   // about the number of operations that walks from each place take for a byte
	stateCost  = 300 // about the number of operations that make a state
)

// gaveUp reports whether something else searches text of the given length in place of the automaton of
// c. After givenUpBytes, the automaton is tried again, because the text may have changed.
func (m *Matcher) gaveUp(c *cache, length int) bool {
	if c.exploded {
		if c.walked += length; c.walked > givenUpBytes {
			c.exploded, c.walked = false, 0
		}
	}
	return c.exploded
}

// givenUpBytes is large enough that an automaton that explodes again costs little.
const givenUpBytes = 16 << 20

// Find returns the leftmost-first match, or the leftmost-longest one, in a line that begins at or behind from. from
// is 0, or not before the end of the last match in the same line. start is None if there is no match.
func (m *Matcher) Find(line []byte, from int) (start, end int) {
	// Both are made together, because a match with an end needs its beginning too.
	if m.ends == nil {
		m.ends = newRunes(m.program.forward, true, m.room(m.cacheBytes))
		m.starts = newRunes(m.program.backward, false, m.room(m.cacheBytes))
		m.ends.explodes, m.starts.explodes = m.explodes, m.explodes
	}
	if m.gaveUp(&m.ends.cache, len(line)-from) || m.gaveUp(&m.starts.cache, len(line)-from) {
		if start, end, ok := m.findPlace(line, from); ok {
			return start, end
		}
	}
	// The end is found first, because only a forward search knows which alternative is
	// preferred.
	if end = m.ends.end(line, from, false); end == None {
		return None, None
	}
	start = m.starts.start(line, from, end)
	return start, m.endOf(line, start, end)
}

// endOf returns the end of the match that begins at start; end: where the leftmost-first match ends.
func (m *Matcher) endOf(line []byte, start, end int) int {
	if !m.program.Longest {
		return end
	}
	if m.longest == nil {
		m.longest = newRunes(m.program.forward, false, m.room(m.cacheBytes))
	}
	return m.longest.end(line, start, true)
}

// findPlace is Find by walks from each place. ok is false if they are slow.
func (m *Matcher) findPlace(line []byte, from int) (start, end int, ok bool) {
	if m.places == nil && m.slow <= 0 {
		if m.places = m.lines; m.places == nil || m.program.places() != m.program.lines {
			m.places = newLines(m.program.places(), m.room(m.linesBytes))
		}
	}
	if start, ok = m.firstStart(m.places, line, from); !ok || start == None {
		return None, None, ok
	}
	return start, m.endOf(line, start, m.ends.end(line, start, true)), true
}
