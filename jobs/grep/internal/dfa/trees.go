package dfa

import (
	"bytes"
	"regexp/syntax"
	"slices"
	"unicode/utf8"

	"mrlocal/internal/scan"
)

// grouped returns a tree that matches as re does, if ordered with the same preference. Of alternatives that
// begin alike, it has that beginning once. So a state holds few threads, also if thousands of alternatives
// may follow. re is not changed.
func grouped(re *syntax.Regexp, ordered bool) *syntax.Regexp {
	if re.Op == syntax.OpCapture && re.Cap >= 0 {
		return grouped(re.Sub[0], ordered)
	}
	if len(re.Sub) == 0 {
		return re
	}
	r := *re
	r.Sub = make([]*syntax.Regexp, len(re.Sub))
	for i, sub := range re.Sub {
		r.Sub[i] = grouped(sub, ordered)
	}
	if r.Op == syntax.OpAlternate {
		return alternation(r.Sub, ordered)
	}
	return &r
}

// alternation returns the alternation of subs, which are grouped. Alternatives that begin with
// different runes never match at one place, so the order between them has no meaning. If ordered, all others
// keep their order.
func alternation(subs []*syntax.Regexp, ordered bool) *syntax.Regexp {
	subs = flat(subs)
	all := &syntax.Regexp{Op: syntax.OpAlternate}
	// A rune is its own beginning if no alternative ignores case.
	fold := slices.ContainsFunc(subs, func(re *syntax.Regexp) bool {
		first := head(re, ordered)
		return first != nil && (first.Op == syntax.OpCharClass || first.Flags&syntax.FoldCase != 0)
	})
	var order []string // the keys of groups
	groups := map[string][]*syntax.Regexp{}
	apart := true // whether each rune begins the alternatives of one group only
	flush := func() {
		for _, key := range order {
			all.Sub = append(all.Sub, factored(groups[key], ordered)...)
		}
		order, apart = order[:0], true
		clear(groups)
	}
	for _, sub := range subs {
		first := head(sub, ordered)
		if first == nil {
			if ordered {
				flush()
			}
			all.Sub = append(all.Sub, sub)
			continue
		}
		key, one := firstRune(first, fold)
		if !one {
			key = "set" + first.String() // longer than a rune
		}
		// Only the alternatives of groups that are apart may pass one another.
		if apart = apart && one; ordered && !apart && (len(order) != 1 || order[0] != key) {
			flush()
			apart = one
		}
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], sub)
	}
	flush()
	if len(all.Sub) == 1 {
		return all.Sub[0]
	}
	return all
}

// factored returns alternatives that match as those of group do: one, if all of group begin alike.
func factored(group []*syntax.Regexp, ordered bool) []*syntax.Regexp {
	common := *head(group[0], ordered)
	for _, sub := range group[1:] {
		next := head(sub, ordered)
		if common.Op != syntax.OpLiteral {
			if !common.Equal(next) {
				return group
			}
			continue
		}
		n := 0
		for next.Op == common.Op && n < min(len(common.Rune), len(next.Rune)) && common.Rune[n] == next.Rune[n] {
			n++
		}
		if n == 0 || (common.Flags^next.Flags)&syntax.FoldCase != 0 {
			return group
		}
		common.Rune = common.Rune[:n]
	}
	if len(group) == 1 {
		return group
	}
	rest := make([]*syntax.Regexp, len(group))
	for i, sub := range group {
		rest[i] = behindHead(sub, len(common.Rune))
	}
	return []*syntax.Regexp{{Op: syntax.OpConcat, Sub: []*syntax.Regexp{&common, alternation(rest, ordered)}}}
}

// flat returns subs with the alternatives of alternations in their places.
func flat(subs []*syntax.Regexp) (all []*syntax.Regexp) {
	for _, sub := range subs {
		if sub.Op == syntax.OpAlternate {
			all = append(all, flat(sub.Sub)...)
		} else {
			all = append(all, sub)
		}
	}
	return all
}

// head returns the literal, set of runes or assertion that re begins with; nil: it begins with
// something else, of which a match may have more or less. If the order has no meaning, a repetition is a head, too.
func head(re *syntax.Regexp, ordered bool) *syntax.Regexp {
	switch re.Op {
	case syntax.OpConcat:
		return head(re.Sub[0], ordered)
	case syntax.OpStar, syntax.OpPlus:
		if !ordered {
			return re
		}
	case syntax.OpLiteral, syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL, syntax.OpBeginLine, syntax.OpEndLine,
		syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return re
	}
	return nil
}

// firstRune returns the rune that every match of a head begins with, as a key. one is false if there
// are several. With fold, runes that differ only in case count as one.
func firstRune(first *syntax.Regexp, fold bool) (key string, one bool) {
	switch {
	case first.Op == syntax.OpLiteral && !fold:
		return string(first.Rune[:1]), true
	case first.Op == syntax.OpLiteral:
		return string(scan.FoldClass(first.Rune[0])[:1]), true
	case first.Op != syntax.OpCharClass || len(first.Rune) == 0:
		return "", false
	}
	least := scan.FoldClass(first.Rune[0])[0]
	for i := 0; i < len(first.Rune); i += 2 {
		if first.Rune[i] != first.Rune[i+1] || scan.FoldClass(first.Rune[i])[0] != least {
			return "", false
		}
	}
	return string(least), true
}

// behindHead returns what follows the head of re, or the first n runes of it if it is a literal.
func behindHead(re *syntax.Regexp, n int) *syntax.Regexp {
	r := *re
	switch {
	case re.Op == syntax.OpConcat:
		r.Sub = slices.Clone(re.Sub)
		r.Sub[0] = behindHead(re.Sub[0], n)
		if r.Sub[0].Op == syntax.OpEmptyMatch && len(r.Sub) > 1 {
			r.Sub = r.Sub[1:]
		}
		if len(r.Sub) == 1 {
			return r.Sub[0] // it may be an alternation, which becomes part of another one
		}
		return &r
	case re.Op == syntax.OpLiteral && n < len(re.Rune):
		r.Rune = re.Rune[n:]
		return &r
	}
	return &syntax.Regexp{Op: syntax.OpEmptyMatch}
}

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
