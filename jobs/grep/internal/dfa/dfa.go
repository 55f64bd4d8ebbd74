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
// whether a match begins there (firstStart). If these walks are long, the automaton starts over instead.
// So the time is linear in the text for every pattern. At worst, each byte makes a state, in a time that
// is linear in the number of instructions.
package dfa

import (
	"encoding/binary"
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

// cache holds the states of an automaton. The transitions of a state are a row of one table.
// The offset of the row in the table is the name of the state. A transition of 0 is not known
// yet.
//
// The key of a state defines it: a byte of flags, the bytes of an incomplete rune, and the
// threads. A full cache is cleared, except for the first states and those in use.
type cache struct {
	width uint32
	// Row 0 is the unknown state, so no known transition is 0.
	table  []uint32
	states []state // by row
	rows   map[string]uint32
	fixed  int // number of rows that are never dropped
	stays  int // number of fixed rows whose transitions lead only to one another

	// Memory in bytes, approximately. Fixed rows do not count, because they are never freed.
	used, most int // in use; most that may be in use

	// explodes decides, when the cache is cleared, whether the automaton shall give up. It is told the
	// number of states, and of the bytes walked since the last time. nil: never.
	explodes func(states, walked int) bool
	exploded bool
	walked   int

	key  []byte
	held []uint32 // threads of the state that read returned last
}

// state is the information about a state in addition to its row of transitions.
type state struct {
	key  string
	ends [sides]ending
}

// ending says whether there is a match if the text ends here.
type ending uint8

const (
	endUnknown ending = iota
	endNoMatch
	endMatch
)

// stateBytes is about the memory of a state in addition to its row and its key.
const stateBytes = 100

// fewestStates is the number of states that may always be in the cache. The automaton cannot
// run with fewer.
const fewestStates = 12

// newCache makes a cache for rows of the given number of columns. most is its memory in bytes.
func newCache(columns, most int) cache {
	// A power of two up to 16 keeps a narrow row in one cache line.
	width := uint32(16)
	switch {
	case columns <= 4:
		width = 4
	case columns <= 8:
		width = 8
	case columns > 16:
		width = uint32(columns+15) &^ 15
	}
	return cache{width: width, most: most, rows: map[string]uint32{}}
}

// reserve adds n rows without a state.
func (c *cache) reserve(n int) {
	c.table = append(c.table, make([]uint32, n*int(c.width))...)
	c.states = append(c.states, make([]state, n)...)
}

// add adds a state with a key that is not in the cache, and returns its row.
func (c *cache) add(key string) uint32 {
	// Growing the table may move it, so loops read c.table again after each step.
	row := uint32(len(c.table))
	c.reserve(1)
	c.states[row/c.width].key = key
	c.rows[key] = row
	c.used += int(c.width)*4 + len(key) + stateBytes
	return row
}

// row returns the row of the state with the key c.key, and adds it if it is new. If the cache
// has to be cleared, the states of live are kept, and their rows are updated.
func (c *cache) row(live []uint32) uint32 {
	// The compiler makes no copy of the key for this look-up.
	if row, ok := c.rows[string(c.key)]; ok {
		return row
	}
	key := string(c.key)
	if c.used+len(key) > c.most && len(c.states) >= c.fixed+fewestStates {
		c.clear(live)
		// clear may have kept this state, because it is in live.
		if row, ok := c.rows[key]; ok {
			return row
		}
	}
	return c.add(key)
}

// clear removes all states except the fixed ones and those of live, whose rows it updates.
func (c *cache) clear(live []uint32) {
	// The keys are saved first, because clearing removes them.
	kept := make([]string, len(live))
	for i, row := range live {
		kept[i] = c.states[row/c.width].key
	}
	// The first rows lead only to one another and stay valid. Transitions of other rows may
	// lead to removed states.
	if c.explodes != nil {
		c.exploded = c.exploded || c.explodes(len(c.states), c.walked)
	}
	c.walked = 0
	clear(c.table[c.stays*int(c.width):])
	clear(c.states[c.fixed:])
	clear(c.rows)
	c.table = c.table[:c.fixed*int(c.width)]
	c.states = c.states[:c.fixed]
	c.used = 0
	for i, key := range kept {
		// Fixed rows keep their places.
		if live[i]/c.width < uint32(c.fixed) {
			continue
		}
		row, ok := c.rows[key]
		if !ok {
			row = c.add(key)
		}
		live[i] = row
	}
}

// A key begins with flags: two bits for the side before, and flagRestart if matches may begin
// from here on. The bits from pendingBit on are the number of pending bytes.
const (
	flagRestart = 1 << 2
	pendingBit  = 3
)

// write sets c.key to the key of a state. Equal states have equal keys.
func (c *cache) write(before side, restart bool, pending []byte, list []uint32) {
	flags := byte(before) | byte(len(pending))<<pendingBit
	if restart {
		flags |= flagRestart
	}
	c.key = append(append(c.key[:0], flags), pending...)
	// Varints keep keys short, because most programs have few instructions.
	for _, pc := range list {
		c.key = binary.AppendUvarint(c.key, uint64(pc))
	}
}

// read is the inverse of write. The list is valid until the next read.
func (c *cache) read(key string) (before side, restart bool, pending string, list []uint32) {
	flags := key[0]
	pending = key[1 : 1+flags>>pendingBit]
	key = key[1+len(pending):]
	c.held = c.held[:0]
	for at := 0; at < len(key); {
		pc, shift := uint32(0), 0
		for ; key[at] >= 0x80; at++ {
			pc |= uint32(key[at]&0x7f) << shift
			shift += 7
		}
		c.held = append(c.held, pc|uint32(key[at])<<shift)
		at++
	}
	return side(flags & 3), flags&flagRestart != 0, pending, c.held
}
