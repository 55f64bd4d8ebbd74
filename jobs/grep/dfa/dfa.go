// Package dfa finds lines that match a regular expression, and the bounds of matches in them. It
// builds deterministic automata from programs of regexp/syntax. It builds a state when the text
// first leads to it. Its results equal those of package regexp on each line: they are
// leftmost-first, also for invalid UTF-8.
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
// A state is a list of threads. Each thread is followed through all instructions that take no rune,
// up to assertions that look ahead ($, \b). These wait until the next rune is known. If threads are
// ordered, the whole state then waits. The automaton over bytes also keeps the bytes of an
// incomplete rune. If the sequence turns out to be invalid, each of its bytes counts as U+FFFD, as
// in package unicode/utf8. Bytes and runes that no instruction distinguishes share a column of the
// table.
//
// To count lines, a block is cut into four pieces, which are walked in one loop. Each step waits for
// a load from the table; the steps of the other pieces use that time. On the machine of
// docs/performance.md, four pieces reach 2.4 GB/s on one core, and one piece alone 0.6 GB/s. A
// search for the next match walks one piece. If a match can begin with only a few bytes, the search
// jumps from one of these bytes to the next.
//
// Memory: a Matcher belongs to one mapper. Each automaton that it has used holds about cacheBytes.
// The automaton for lines holds up to manyLinesBytes if the pattern has many instructions. Account
// charges these bytes.
//
// A full cache is cleared, and the automaton starts over. If the cache has filled up within little text,
// the automaton gives up, and a simulation of all threads searches the next 16 MiB. Large programs have no
// simulation. So the time is linear in the text for every pattern: at worst, each byte makes a state, in a
// time that is linear in the number of instructions.
package dfa

import (
	"math"
	"regexp/syntax"
	"slices"
	"sync"
)

// cacheBytes is about the memory of one automaton.
const cacheBytes = 1 << 20

// Border says which surroundings a match must have. Package words has the same values.
type Border uint8

const (
	Anywhere  Border = iota
	WordEnds         // no word character directly before it or behind it
	WholeLine        // nothing before it or behind it
)

// Program is a compiled pattern. It is never changed after Compile, so Matchers in several
// goroutines may share it.
type Program struct {
	forward, backward *program
	simulated         func() *nfa // of forward
}

// Compile compiles a simplified tree, which it does not change. It returns nil if the pattern
// distinguishes more than 65,535 classes of runes.
func Compile(tree *syntax.Regexp, b Border) *Program { return compileBoth(tree, b, false) }

// CompileText is Compile for texts of several lines. Of the Matchers, only Find may be used. The border of
// a line and the assertions ^ and $ with the flag m hold at each newline.
func CompileText(tree *syntax.Regexp, b Border) *Program { return compileBoth(tree, b, true) }

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

func compileBoth(tree *syntax.Regexp, b Border, several bool) *Program {
	p := &Program{forward: compile(grouped(tree, true), b, several), backward: compile(grouped(reversed(tree), false), b, several)}
	if p.forward == nil || p.backward == nil {
		return nil
	}
	p.forward.firsts = newFirsts(p.forward)
	p.backward.firsts = &firsts{} // a search backwards begins at a given place
	p.forward.class, p.forward.some = p.forward.classes.bytes()
	p.simulated = sync.OnceValue(func() *nfa { return newNFA(p.forward) })
	return p
}

// Matcher searches with the automata of a Program. Only one goroutine at a time may use it.
type Matcher struct {
	program *Program
	// The three automata. Each is nil until the first call that needs it.
	lines      *lines
	ends       *runes
	starts     *runes
	simulated  *simulation
	cacheBytes int // for ends and starts
	linesBytes int // for lines
	rowBytes   int // for the rows of simulated; 0: not charged yet
	charge     func(bytes int64) bool
	charged    int // memory of all automata, in bytes
}

// NewMatcher returns a Matcher. It builds its automata when they are needed.
func (p *Program) NewMatcher() *Matcher {
	m := &Matcher{program: p, cacheBytes: cacheBytes, linesBytes: cacheBytes}
	if len(p.forward.insts) > manyInsts {
		m.linesBytes = manyLinesBytes
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
		m.lines, m.ends, m.starts, m.simulated, m.rowBytes, m.charged = nil, nil, nil, nil, 0, 0
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
	if d := m.automaton(); !m.simulates(&d.cache, len(line)) {
		if matched := d.match(line); !d.exploded {
			return matched
		}
	}
	return m.simulation().match(line)
}

// CountLines returns the number of lines of data that match. The last line may lack its newline.
func (m *Matcher) CountLines(data []byte) (lines int64) {
	d := m.automaton()
	if m.simulates(&d.cache, len(data)) {
		return m.simulation().count(data)
	}
	lines = d.count(data)
	for _, rest := range d.rest {
		lines += m.simulation().count(rest)
	}
	d.rest = d.rest[:0]
	return lines
}

// NextLine returns the next line of data that matches, without its newline. from must be the
// start of a line. start is None if there is no such line.
func (m *Matcher) NextLine(data []byte, from int) (start, end int) {
	d := m.automaton()
	if !m.simulates(&d.cache, 0) {
		start, end = d.next(data, from)
		if start != None || !d.exploded {
			return start, end
		}
		from = end
	}
	start, end = m.simulation().next(data, from)
	m.simulates(&d.cache, min(start, len(data))-from)
	return start, end
}

// automaton returns the automaton for lines. The first call makes it, because its memory is
// charged.
func (m *Matcher) automaton() *lines {
	if m.lines == nil {
		m.lines = newLines(m.program.forward, m.room(m.linesBytes))
		m.lines.explodes = m.explodes
	}
	return m.lines
}

// explodes reports whether an automaton that has made states while it walked takes longer than a
// simulation.
func (m *Matcher) explodes(states, walked int) bool {
	n := m.program.simulated()
	return n != nil && walked*n.cost < states*stateCost
}

// simulation returns the simulation that replaces an automaton that has exploded.
func (m *Matcher) simulation() *simulation {
	if m.simulated == nil {
		m.simulated = newSimulation(m.program.simulated())
	}
	return m.simulated
}

// simulates reports whether a simulation searches text of the given length in place of the automaton of
// c. After simulatedBytes, the automaton is tried again, because the text may have changed.
func (m *Matcher) simulates(c *cache, length int) bool {
	if c.exploded {
		if c.walked += length; c.walked > simulatedBytes {
			c.exploded, c.walked = false, 0
		}
	}
	return c.exploded
}

// simulatedBytes is large enough that an automaton that explodes again costs little.
const simulatedBytes = 16 << 20

// Find returns the leftmost-first match in a line that begins at or behind from. from is 0, or not before
// the end of the last match in the same line. start is None if there is no match.
func (m *Matcher) Find(line []byte, from int) (start, end int) {
	// Both are made together, because a match with an end needs its beginning too.
	if m.ends == nil {
		m.ends = newRunes(m.program.forward, true, m.room(m.cacheBytes))
		m.starts = newRunes(m.program.backward, false, m.room(m.cacheBytes))
		m.ends.explodes, m.starts.explodes = m.explodes, m.explodes
	}
	if m.simulates(&m.ends.cache, len(line)-from) || m.simulates(&m.starts.cache, len(line)-from) {
		if m.rowBytes == 0 {
			m.rowBytes = m.room(m.cacheBytes)
		}
		if s := m.simulation(); s.rowBytes(line) <= m.rowBytes {
			return s.find(line, from)
		}
	}
	// The end is found first, because only a forward search knows which alternative is
	// preferred.
	if end = m.ends.end(line, from); end == None {
		return None, None
	}
	return m.starts.start(line, from, end), end
}
