package dfa

import (
	"bytes"
	"regexp/syntax"
	"slices"
	"unicode/utf8"

	"mrlocal/internal/scan"
)

// trimmed returns a tree that matches somewhere in a line if re does. What may be empty is left out at its front and
// its back, with an edge of the line around it. The bounds of matches may differ. re is not changed.
func trimmed(re *syntax.Regexp, front, back bool) *syntax.Regexp {
	switch re.Op {
	case syntax.OpStar, syntax.OpQuest:
		return &syntax.Regexp{Op: syntax.OpEmptyMatch}
	case syntax.OpPlus, syntax.OpCapture:
		if re.Op == syntax.OpPlus || re.Cap >= 0 {
			return trimmed(re.Sub[0], front, back)
		}
	case syntax.OpAlternate:
		r := *re
		r.Sub = make([]*syntax.Regexp, len(re.Sub))
		for i, sub := range re.Sub {
			r.Sub[i] = trimmed(sub, front, back)
		}
		return &r
	case syntax.OpConcat:
		return trimmedConcat(re, front, back)
	}
	return re
}

// trimmedConcat is trimmed for a concatenation.
func trimmedConcat(re *syntax.Regexp, front, back bool) *syntax.Regexp {
	r := *re
	for front && len(r.Sub) > 0 && droppable(r.Sub[0], r.Sub[1:min(2, len(r.Sub))], syntax.OpBeginText, syntax.OpBeginLine) {
		r.Sub = r.Sub[1:]
	}
	for back && len(r.Sub) > 0 {
		last := len(r.Sub) - 1
		if !droppable(r.Sub[last], r.Sub[max(0, last-1):last], syntax.OpEndText, syntax.OpEndLine) {
			break
		}
		r.Sub = r.Sub[:last]
	}
	switch last := len(r.Sub) - 1; last {
	case -1:
		return &syntax.Regexp{Op: syntax.OpEmptyMatch}
	case 0:
		return trimmed(r.Sub[0], front, back)
	default:
		r.Sub = slices.Clone(r.Sub)
		if front {
			r.Sub[0] = trimmed(r.Sub[0], true, false)
		}
		if back {
			r.Sub[last] = trimmed(r.Sub[last], false, true)
		}
	}
	return &r
}

// droppable reports whether an end of a concatenation may be left out. next has its neighbour, if there is
// one. edges are the two edges of a line on that side.
func droppable(end *syntax.Regexp, next []*syntax.Regexp, edges ...syntax.Op) bool {
	return mayBeEmpty(end) || len(next) > 0 && anything(next[0]) && slices.Contains(edges, end.Op)
}

// anything reports whether re matches every text of a line.
func anything(re *syntax.Regexp) bool {
	return re.Op == syntax.OpStar && (re.Sub[0].Op == syntax.OpAnyChar || re.Sub[0].Op == syntax.OpAnyCharNotNL)
}

// mayBeEmpty reports whether re matches the empty text at every place.
func mayBeEmpty(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpStar, syntax.OpQuest:
		return true
	case syntax.OpCapture, syntax.OpPlus:
		return mayBeEmpty(re.Sub[0])
	case syntax.OpAlternate:
		return slices.ContainsFunc(re.Sub, mayBeEmpty)
	case syntax.OpConcat:
		return !slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return !mayBeEmpty(sub) })
	}
	return false
}

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
