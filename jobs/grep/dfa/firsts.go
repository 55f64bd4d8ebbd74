package dfa

import (
	"bytes"
	"unicode/utf8"

	"mrlocal/internal/scan"
)

// firsts are the bytes that a match can begin with. Where they are few, a
// search that has nothing begun goes to the next of them at once, in place of
// one step of the automaton a byte, which waits for the step before.
type firsts struct {
	few bool // else there is nothing to gain, or a match may be empty
	one int  // the only byte, or -1
	in  [256]bool
}

// mostFirsts is how often a place of a text may hold one of few bytes.
const mostFirsts = 0.1

func newFirsts(p *program) *firsts {
	f := &firsts{one: -1}
	t := newThreads(p, false)
	added := map[int]bool{}
	for before := range side(sides) {
		for after := range side(sides) {
			for _, pc := range t.closed([]uint32{p.entry}, before, after) {
				if set := p.insts[pc].set; !added[set] {
					added[set] = true
					f.add(p, set)
				}
			}
			if t.matched {
				return f
			}
		}
	}
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
	f.few = p.restarts && often < mostFirsts
	return f
}

func (f *firsts) add(p *program, set int) {
	c := p.classes
	for b := range f.in {
		f.in[b] = f.in[b] || b < utf8.RuneSelf && c.has[c.ascii[b]][set]
	}
	for i := c.interval(utf8.RuneSelf); i < len(c.class); i++ {
		if c.has[c.class[i]][set] {
			for b := utf8.RuneSelf; b < len(f.in); b++ {
				f.in[b] = true
			}
			return
		}
	}
}

// next is the first place from at on with a byte that a match can begin with,
// or the end.
func (f *firsts) next(text []byte, at int) int {
	if f.one >= 0 {
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
