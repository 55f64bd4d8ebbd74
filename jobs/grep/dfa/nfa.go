package dfa

import (
	"encoding/binary"
	"unicode/utf8"
)

// nfa finds the threads of a program that live: those that the rest of the line leads to a match. It
// walks a line backwards, and follows all threads at once, as bits of a set. Its time for a rune does not
// depend on the text. So it replaces an automaton that makes new states without end.
//
// The threads that live decide everything. A line matches if a thread lives where it begins. The
// leftmost match begins at the first such offset. From there, the first thread by priority that lives
// leads to its end.
//
// A thread stands at a position: an instruction that takes a rune, and the instruction behind it.
// Positions are numbered in the order of the pattern. So most threads move by the same small distances,
// and a shift moves them all. Groups move the others: if one of them lives, all threads before it live.
type nfa struct {
	*program
	behind   []uint32    // by position: the instruction behind it
	at       [][2]uint32 // by instruction: its first position, and the one behind its last
	setWords int         // number of words of a set
	takes    []uint64    // by class: the set of positions that take its runes
	sides    []side      // by class
	contexts [sides][sides]*context
	cost     int // number of operations with words for a rune
}

// context says how threads move between two runes, given the sides that they make.
type context struct {
	shifts []shift
	groups []group
	ends   []uint64 // positions behind which a match ends
	begins []uint64 // positions at which a match begins
	empty  bool     // the empty text matches
}

// shift: if the thread at position p+by lives, that at p does, for each p of to.
type shift struct {
	by uint
	to []uint64
}

// group: if a thread of from lives, all of to do.
type group struct{ from, to []part }

// part is a word of a set that is not 0.
type part struct {
	word int
	bits uint64
}

const (
	mostPositions = 2048
	mostTaken     = 1 << 16 // words of all sets of takes
	mostCost      = 512     // with more, an automaton is as fast although each byte makes a state
	// stateCost is about the time of making a state, in operations with words.
	stateCost = 300
)

// newNFA returns nil if p is too large.
func newNFA(p *program) *nfa {
	n := &nfa{program: p, at: make([][2]uint32, len(p.insts)), sides: make([]side, len(p.classes.some))}
	if p.several || !n.number() {
		return nil
	}
	if n.setWords = (len(n.behind) + 63) / 64; n.setWords*len(n.sides) > mostTaken {
		return nil
	}
	n.takes = make([]uint64, n.setWords*len(n.sides))
	for class := range n.sides {
		n.sides[class] = p.side(uint16(class))
		for pc, in := range p.insts {
			if n.at[pc][0] == n.at[pc][1] || !p.classes.has(uint16(class), in.set) {
				continue
			}
			for q := n.at[pc][0]; q < n.at[pc][1]; q++ {
				if in.choices == nil || in.choices[class] == n.behind[q] {
					add(n.takes[class*n.setWords:], int(q))
				}
			}
		}
	}
	t := newThreads(p, false)
	for before := range side(newline) {
		for after := range side(newline) {
			if p.words || before != word && after != word {
				c, cost := n.context(t, before, after)
				n.contexts[before][after], n.cost = c, max(n.cost, cost)
			}
		}
	}
	if n.cost > mostCost {
		return nil
	}
	return n
}

// number numbers the positions. It returns false if they are too many.
func (n *nfa) number() bool {
	seen := make([]bool, len(n.insts))
	for stack := []uint32{n.entry}; len(stack) > 0; {
		pc := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[pc] {
			continue
		}
		seen[pc] = true
		switch in := &n.insts[pc]; in.op {
		case opAlt:
			stack = append(stack, in.arg, in.out)
		case opEmpty:
			stack = append(stack, in.out)
		case opRune:
			first := len(n.behind)
			if n.behind = append(n.behind, in.out); in.choices != nil {
				n.behind = n.behind[:first]
				added := map[uint32]bool{}
				for class, out := range in.choices {
					if n.classes.has(uint16(class), in.set) && !added[out] {
						added[out] = true
						n.behind = append(n.behind, out)
					}
				}
			}
			n.at[pc] = [2]uint32{uint32(first), uint32(len(n.behind))}
			stack = append(stack, n.behind[first:]...)
		}
		if len(n.behind) > mostPositions {
			return false
		}
	}
	return len(n.behind) > 0
}

// context returns how threads move between two runes that make the sides before and after, and what that
// costs.
func (n *nfa) context(t *threads, before, after side) (c *context, cost int) {
	c = &context{ends: make([]uint64, n.setWords), begins: make([]uint64, n.setWords)}
	followers := func(root uint32, each func(q int)) {
		for _, pc := range t.closed([]uint32{root}, before, after) {
			for q := n.at[pc][0]; q < n.at[pc][1]; q++ {
				each(int(q))
			}
		}
	}
	followers(n.entry, func(q int) { add(c.begins, q) })
	c.empty = t.matched
	var often [64]int // by distance: the number of threads that move by it
	for p, out := range n.behind {
		followers(out, func(q int) {
			if by := q - p; 0 <= by && by < len(often) {
				often[by]++
			}
		})
		if t.matched {
			add(c.ends, p)
		}
	}
	shifted := map[int][]uint64{}
	for by, many := range often {
		if many > n.setWords {
			shifted[by] = make([]uint64, n.setWords)
			c.shifts = append(c.shifts, shift{uint(by), shifted[by]})
		}
	}
	leaders := make([][]uint64, len(n.behind)) // by position: those before it, if no shift moves them
	for p, out := range n.behind {
		followers(out, func(q int) {
			if set := shifted[q-p]; set != nil {
				add(set, p)
				return
			}
			if leaders[q] == nil {
				leaders[q] = make([]uint64, n.setWords)
			}
			add(leaders[q], p)
		})
	}
	cost = n.setWords * (4 + 2*len(c.shifts))
	c.groups = grouping(leaders, n.setWords)
	for _, g := range c.groups {
		cost += len(g.from) + len(g.to)
	}
	return c, cost
}

// grouping returns the groups: positions with the same leaders are one. leaders has a set of the given
// number of words, or nil, for each position.
func grouping(leaders [][]uint64, words int) (groups []group) {
	var from [][]uint64
	number := map[string]int{}
	for q, set := range leaders {
		if set == nil {
			continue
		}
		to := parts(set)
		var key []byte
		for _, p := range to {
			key = binary.AppendUvarint(binary.AppendUvarint(key, uint64(p.word)), p.bits)
		}
		i, ok := number[string(key)]
		if !ok {
			i, number[string(key)] = len(groups), len(groups)
			groups, from = append(groups, group{to: to}), append(from, make([]uint64, words))
		}
		add(from[i], q)
	}
	for i := range groups {
		groups[i].from = parts(from[i])
	}
	return groups
}

// parts returns the words of a set that are not 0.
func parts(set []uint64) (all []part) {
	for w, bits := range set {
		if bits != 0 {
			all = append(all, part{w, bits})
		}
	}
	return all
}

func add(set []uint64, position int) { set[position/64] |= 1 << (position % 64) }

// back sets next to the threads of takes that live, given those that live one rune later.
func (c *context) back(next, alive, takes []uint64) {
	later := uint64(0)
	for w := len(next) - 1; w >= 0; w-- {
		here := alive[w]
		live := c.ends[w]
		for _, s := range c.shifts {
			live |= (here>>s.by | later<<(64-s.by)) & s.to[w]
		}
		next[w], later = live, here
	}
	for _, g := range c.groups {
		for _, f := range g.from {
			if alive[f.word]&f.bits != 0 {
				for _, t := range g.to {
					next[t.word] |= t.bits
				}
				break
			}
		}
	}
	for w, t := range takes[:len(next)] {
		next[w] &= t
	}
}

// begin reports whether a match begins where the threads of alive live.
func (c *context) begin(alive []uint64) bool {
	for w, b := range c.begins {
		if alive[w]&b != 0 {
			return true
		}
	}
	return c.empty
}

// simulation searches with an nfa. It belongs to a Matcher.
type simulation struct {
	*nfa
	threads *threads
	line    []byte   // the line of find
	rows    []uint64 // by offset in line: the set of threads that live
	starts  []int    // offsets in line at which a match may begin, descending
	two     []uint64 // the set of match, and the one after it
}

func newSimulation(n *nfa) *simulation {
	return &simulation{nfa: n, threads: newThreads(n.program, true), two: make([]uint64, 2*n.setWords)}
}

// match reports whether line, without its newline, matches.
func (s *simulation) match(line []byte) bool { return s.walk(line, false) }

// walk walks line from its end to its beginning. It keeps all rows and starts. If keep is false, it keeps
// nothing, and returns true as soon as a match may begin.
func (s *simulation) walk(line []byte, keep bool) bool {
	alive, next := s.two[:s.setWords], s.two[s.setWords:]
	clear(alive)
	c := s.classes
	for at, after := len(line), edge; ; {
		class, width, before := uint16(0), 0, edge
		if at > 0 {
			if class, width = c.ascii[line[at-1]&0x7f], 1; line[at-1] >= utf8.RuneSelf {
				var r rune
				r, width = utf8.DecodeLastRune(line[:at])
				class = c.of(r)
			}
			before = s.sides[class]
		}
		ctx := s.contexts[before][after]
		if ctx.begin(alive) {
			if !keep {
				return true
			}
			s.starts = append(s.starts, at)
		}
		if at == 0 {
			return false
		}
		at -= width
		if keep {
			next = s.rows[at*s.setWords:][:s.setWords]
		}
		ctx.back(next, alive, s.takes[int(class)*s.setWords:])
		alive, next, after = next, alive, before
	}
}

// rowBytes returns the memory for finding the matches in line.
func (n *nfa) rowBytes(line []byte) int { return (len(line) + 1) * n.setWords * 8 }

// find is Matcher.Find. from must not decrease on a line, unless it is 0.
func (s *simulation) find(line []byte, from int) (start, end int) {
	if from == 0 || len(line) != len(s.line) || &line[0] != &s.line[0] {
		if need := (len(line) + 1) * s.setWords; len(s.rows) < need {
			s.rows = make([]uint64, need)
		}
		clear(s.rows[len(line)*s.setWords : (len(line)+1)*s.setWords])
		s.line, s.starts = line, s.starts[:0]
		s.walk(line, true)
	}
	last := len(s.starts) - 1
	for last >= 0 && s.starts[last] < from {
		last--
	}
	if s.starts = s.starts[:last+1]; last < 0 {
		return None, None
	}
	start = s.starts[last]
	for at, root, before := start, s.entry, s.sideBefore(line, start); ; {
		after, width := edge, 0
		if at < len(line) {
			var r rune
			r, width = utf8.DecodeRune(line[at:])
			after = s.sides[s.classes.of(r)]
		}
		s.threads.closed([]uint32{root}, before, after)
		live := false
		if root, live = s.preferred(s.rows[at*s.setWords:]); !live {
			return start, at
		}
		at, before = at+width, after
	}
}

// preferred returns the instruction behind the first thread that lives. live is false if none does.
func (s *simulation) preferred(row []uint64) (behind uint32, live bool) {
	for _, pc := range s.threads.list {
		for q := s.at[pc][0]; q < s.at[pc][1]; q++ {
			if row[q/64]>>(q%64)&1 != 0 {
				return s.behind[q], true
			}
		}
	}
	return 0, false
}
