package dfa

import (
	"bytes"
	"unicode/utf8"

	"mrlocal/internal/scan"
)

// firsts has the bytes with which a match can begin. If they are few, a search in which nothing
// has begun jumps to the next of them. A jump replaces one step of the automaton for each byte,
// and each step waits for the one before.
type firsts struct {
	few bool // false if they are many, or if a match may be empty
	one int  // the only byte; -1 if there are several
	in  [256]bool
}

// mostFirsts is the largest share of such bytes in text for which jumping pays.
const mostFirsts = 0.1

// newFirsts finds the first bytes of p. It tries all pairs of sides, because assertions decide
// which threads begin.
func newFirsts(p *program) *firsts {
	f := &firsts{one: -1}
	t := newThreads(p, false)
	// Sets that were added already. Programs often repeat sets.
	added := map[int]bool{}
	for before := range side(sides) {
		for after := range side(sides) {
			for _, pc := range t.closed([]uint32{p.entry}, before, after) {
				if set := p.insts[pc].set; !added[set] {
					added[set] = true
					f.add(p, set)
				}
			}
			// A match without any rune can begin anywhere.
			if t.matched {
				return f
			}
		}
	}
	// The frequencies are those of typical text, so the choice does not depend on the input.
	often, n := 0.0, 0
	for b, in := range f.in {
		if in {
			often += scan.Frequency(byte(b))
			f.one = b
			n++
		}
	}
	if n != 1 {
		f.one = -1
	}
	// Without restarts a match begins only at the start of a line, so there is nothing to jump
	// to.
	f.few = p.restarts && often < mostFirsts
	return f
}

// add adds the first bytes of the runes of a set. If the set has runes beyond ASCII, it adds
// all bytes from 0x80 on. So a jump may stop where no match begins; the automaton then decides.
func (f *firsts) add(p *program, set int) {
	c := p.classes
	for b := range f.in {
		f.in[b] = f.in[b] || b < utf8.RuneSelf && c.has(c.ascii[b], set)
	}
	for i := c.interval(utf8.RuneSelf); i < len(c.class); i++ {
		if c.has(c.class[i], set) {
			for b := utf8.RuneSelf; b < len(f.in); b++ {
				f.in[b] = true
			}
			return
		}
	}
}

// next returns the first offset from at on at which a match can begin, or len(text).
func (f *firsts) next(text []byte, at int) int {
	if f.one >= 0 {
		// IndexByte looks at many bytes at a time.
		if n := bytes.IndexByte(text[at:], byte(f.one)); n >= 0 {
			return at + n
		}
		return len(text)
	}
	for at < len(text) && !f.in[text[at]] {
		at++
	}
	return at
}
