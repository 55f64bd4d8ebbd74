package dfa

import (
	"regexp/syntax"
	"slices"
)

// side is what lies on one side of a place.
type side uint8

const (
	edge    side = iota // nothing: the text ends there
	noWord              // a rune that is no word character
	word                // a word character
	unknown             // only ahead: not looked at
	sides   = 3         // that are known
)

func sideOf(b byte) side {
	if b|0x20 >= 'a' && b|0x20 <= 'z' || b >= '0' && b <= '9' || b == '_' {
		return word
	}
	return noWord
}

// holds are the assertions that hold between before and after.
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

// threads steps lists of threads, which are named by their instructions. What
// it returns is its own until the next call.
type threads struct {
	*program
	ordered bool // the first thread that matches ends those behind it
	matched bool // the last list that was closed held a match
	waits   bool // and a thread that looks ahead

	list   []uint32
	origin []uint32 // the roots that added to it
	roots  []uint32
	stack  []uint32
	seen   []uint32 // by instruction, the generation that saw it
	serial uint32
}

func newThreads(p *program, ordered bool) *threads {
	return &threads{program: p, ordered: ordered, seen: make([]uint32, len(p.insts))}
}

// closed follows roots, in order, through everything that takes no rune. Where
// after is unknown the threads that look ahead stay as they are. A match is
// noted, not listed.
func (t *threads) closed(roots []uint32, before, after side) []uint32 {
	t.list, t.origin, t.matched, t.waits = t.list[:0], t.origin[:0], false, false
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
				t.stack = append(t.stack, in.arg, in.out)
			case opEmpty:
				if in.empty&^holding == 0 {
					t.stack = append(t.stack, in.out)
				} else if after == unknown && in.empty&^holding&^lookingAhead == 0 {
					t.list, t.waits = append(t.list, pc), true
				}
			case opRune:
				t.list = append(t.list, pc)
			case opMatch:
				t.matched = true
				if t.ordered {
					return t.list
				}
			}
		}
	}
	return t.list
}

// stepped is what becomes of list, closed with nothing unknown, by a rune of
// class.
func (t *threads) stepped(list []uint32, class uint16) []uint32 {
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
	if !t.ordered {
		slices.Sort(t.list)
	}
	return t.list
}

// word reports whether class is of word characters; only programs that ask
// have classes that say so.
func (c *classes) word(class uint16) bool {
	r := c.some[class]
	return r < 0x80 && sideOf(byte(r)) == word
}
