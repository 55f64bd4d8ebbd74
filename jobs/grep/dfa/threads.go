package dfa

import (
	"regexp/syntax"
	"slices"
)

// side is what lies on one side of a place.
type side uint8

const (
	edge    side = iota // nothing: the text ends here
	noWord              // a rune that is no word character
	word                // a word character
	unknown             // not known yet; only ahead
	sides   = 3         // the number of known ones
)

// sideOf returns the side for a byte. Bytes beyond ASCII are no word characters.
func sideOf(b byte) side {
	if b|0x20 >= 'a' && b|0x20 <= 'z' || b >= '0' && b <= '9' || b == '_' {
		return word
	}
	return noWord
}

// holds returns the assertions that are true between before and after.
// If after is unknown, assertions about it do not hold.
func holds(before, after side) (ops syntax.EmptyOp) {
	if before == edge {
		ops |= syntax.EmptyBeginText | syntax.EmptyBeginLine
	}
	if before != word {
		ops |= noWordBefore
	}
	if after == unknown {
		return ops
	}
	if after == edge {
		ops |= syntax.EmptyEndText | syntax.EmptyEndLine
	}
	if after != word {
		ops |= noWordAfter
	}
	if (before == word) != (after == word) {
		return ops | syntax.EmptyWordBoundary
	}
	return ops | syntax.EmptyNoWordBoundary
}

// threads moves lists of threads by one rune. A thread is named by its
// instruction. The lists that its methods return are valid until the next call.
// serial makes it unnecessary to clear seen for each list.
type threads struct {
	*program
	ordered bool // a thread that matches removes all threads behind it
	matched bool // the list that was closed last holds a match
	waits   bool // it also holds a thread that looks ahead

	list   []uint32
	origin []uint32 // the roots that added threads to it
	roots  []uint32
	stack  []uint32
	seen   []uint32 // for each instruction, the generation that saw it
	serial uint32
}

// newThreads makes room for the threads of p. ordered is for searches that prefer the
// first alternative.
func newThreads(p *program, ordered bool) *threads {
	return &threads{program: p, ordered: ordered, seen: make([]uint32, len(p.insts))}
}

// closed follows roots, in order, through all instructions that take no rune.
// If after is unknown, threads that look ahead stay as they are. A match is
// noted in matched, and not in the list.
// Each instruction is followed once, so the time is linear in their number.
func (t *threads) closed(roots []uint32, before, after side) []uint32 {
	t.list, t.origin, t.matched, t.waits = t.list[:0], t.origin[:0], false, false
	// No instruction has been seen in this generation.
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
				// out is taken from the stack first, because it is the preferred way.
				t.stack = append(t.stack, in.arg, in.out)
			case opEmpty:
				// The first branch: all assertions hold. The second: those that fail only lack the
				// rune ahead.
				if in.empty&^holding == 0 {
					t.stack = append(t.stack, in.out)
				} else if after == unknown && in.empty&^holding&^lookingAhead == 0 {
					t.list, t.waits = append(t.list, pc), true
				}
			case opRune:
				t.list = append(t.list, pc)
			case opMatch:
				t.matched = true
				// Threads behind this one are not preferred to the match, so they end.
				if t.ordered {
					return t.list
				}
			}
		}
	}
	return t.list
}

// stepped returns what becomes of list by a rune of class. list must be closed,
// with nothing unknown.
func (t *threads) stepped(list []uint32, class uint16) []uint32 {
	// One row says for each set whether it holds the runes of the class.
	has := t.classes.has[class]
	t.roots = t.roots[:0]
	for _, pc := range list {
		if in := &t.insts[pc]; has[in.set] {
			t.roots = append(t.roots, in.out)
		}
	}
	after := noWord
	if t.words && t.classes.word(class) {
		after = word
	}
	t.closed(t.roots, after, unknown)
	// In a set the order means nothing. Sorted lists make equal sets equal keys.
	if !t.ordered {
		slices.Sort(t.list)
	}
	return t.list
}

// word reports whether class holds word characters. Only programs that need
// this have classes that show it.
func (c *classes) word(class uint16) bool {
	// Any rune of the class will do: word characters have classes of their own.
	r := c.some[class]
	return r < 0x80 && sideOf(byte(r)) == word
}
