package dfa

import (
	"regexp/syntax"
	"slices"

	"mrlocal/internal/scan"
)

// side describes the text directly before or behind an offset.
type side uint8

const (
	edge    side = iota // nothing: the text begins or ends here
	noWord              // a rune that is not a word character
	word                // a word character
	newline             // a newline, in a program for texts of several lines
	unknown             // not known yet; only for the side behind
	sides   = 4         // number of known sides
)

// sideOf returns the side that byte b makes. Bytes beyond ASCII are not word characters.
func sideOf(b byte) side {
	if scan.IsWord(b) {
		return word
	}
	return noWord
}

// Of each known side, the assertions that hold behind it, and in front of it. Those about word boundaries depend on
// both sides.
var (
	behindSide = [sides]syntax.EmptyOp{
		edge:    syntax.EmptyBeginText | syntax.EmptyBeginLine | noWordBefore,
		noWord:  noWordBefore,
		newline: syntax.EmptyBeginLine | noWordBefore,
	}
	beforeSide = [sides]syntax.EmptyOp{
		edge:    syntax.EmptyEndText | syntax.EmptyEndLine | noWordAfter,
		noWord:  noWordAfter,
		newline: syntax.EmptyEndLine | noWordAfter,
	}
)

// holds returns the assertions that hold between the sides before and after. If after is
// unknown, it leaves out assertions that look ahead.
func holds(before, after side) syntax.EmptyOp {
	switch {
	case after == unknown:
		return behindSide[before]
	case (before == word) != (after == word):
		return behindSide[before] | beforeSide[after] | syntax.EmptyWordBoundary
	}
	return behindSide[before] | beforeSide[after] | syntax.EmptyNoWordBoundary
}

// threads moves lists of threads by one rune. The name of a thread is the number of its
// instruction. Lists that methods return are valid until the next call.
type threads struct {
	*program
	ordered bool // a thread that matches removes all threads behind it
	matched bool // the list that was closed last has a match
	waits   bool // that list has a thread that looks ahead

	list   []uint32 // result of closed
	origin []uint32 // roots that added threads to list
	roots  []uint32 // scratch of stepped
	stack  []uint32
	seen   []uint32 // by instruction: the serial of the call of closed that has seen it
	serial uint32   // number of the call of closed, so that seen need not be cleared
}

// newThreads makes a threads for p. ordered is true for searches that prefer the first
// alternative.
func newThreads(p *program, ordered bool) *threads {
	return &threads{program: p, ordered: ordered, seen: make([]uint32, len(p.insts))}
}

// closed follows roots, in order, through all instructions that take no rune, and returns the
// instructions that it reaches. If after is unknown, threads that look ahead stay where they
// are. A match sets matched and is not in the list. Each instruction is followed once, so the
// time is linear in their number.
func (t *threads) closed(roots []uint32, before, after side) []uint32 {
	t.list = t.list[:0]
	t.origin = t.origin[:0]
	t.matched, t.waits = false, false
	t.serial++
	holding := holds(before, after)
	for _, root := range roots {
		if t.seen[root] == t.serial {
			continue
		}
		t.origin = append(t.origin, root)
		t.stack = append(t.stack[:0], root)
		for len(t.stack) > 0 {
			pc := t.stack[len(t.stack)-1]
			t.stack = t.stack[:len(t.stack)-1]
			if t.seen[pc] == t.serial {
				continue
			}
			t.seen[pc] = t.serial
			switch in := &t.insts[pc]; in.op {
			case opAlt:
				// out is popped first, because it is preferred.
				t.stack = append(t.stack, in.arg, in.out)
			case opEmpty:
				// First case: all assertions hold. Second case: those that do not hold need the
				// next rune.
				if in.empty&^holding == 0 {
					t.stack = append(t.stack, in.out)
				} else if after == unknown && in.empty&^holding&^lookingAhead == 0 {
					t.list, t.waits = append(t.list, pc), true
				}
			case opRune:
				t.list = append(t.list, pc)
			case opMatch:
				t.matched = true
				// The match is preferred to all threads behind it, so they end.
				if t.ordered {
					return t.list
				}
			}
		}
	}
	return t.list
}

// stepped returns the threads into which list moves by a rune of class, closed up to assertions
// that look ahead. list must have no thread that looks ahead.
func (t *threads) stepped(list []uint32, class uint16) []uint32 {
	t.roots = t.roots[:0]
	for _, pc := range list {
		if in := &t.insts[pc]; t.classes.has(class, in.set) {
			out := in.out
			if in.choices != nil {
				out = in.choices[class]
			}
			t.roots = append(t.roots, out)
		}
	}
	t.closed(t.roots, t.side(class), unknown)
	// In a set, the order has no meaning. Sorting gives equal sets equal keys.
	if !t.ordered {
		slices.Sort(t.list)
	}
	return t.list
}

// side returns the side that a rune of class makes.
func (p *program) side(class uint16) side {
	switch {
	case p.several && class == p.classes.ascii['\n']:
		return newline
	case p.words && p.classes.word(class):
		return word
	}
	return noWord
}

// sideOf returns the side that byte b of a text makes.
func (p *program) sideOf(b byte) side {
	if p.several && b == '\n' {
		return newline
	}
	return sideOf(b)
}

// word reports whether class has word characters. The result is valid only for programs with
// words set, in which word characters have classes of their own.
func (c *classes) word(class uint16) bool {
	r := c.some[class]
	return r < 0x80 && sideOf(byte(r)) == word
}
