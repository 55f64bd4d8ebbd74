package dfa

import (
	"regexp/syntax"
	"slices"
	"unicode"
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
func flat(subs []*syntax.Regexp) []*syntax.Regexp {
	var all []*syntax.Regexp
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
		return string(folded(first.Rune[0])), true
	case first.Op != syntax.OpCharClass || len(first.Rune) == 0:
		return "", false
	}
	least := folded(first.Rune[0])
	for i := 0; i < len(first.Rune); i += 2 {
		if first.Rune[i] != first.Rune[i+1] || folded(first.Rune[i]) != least {
			return "", false
		}
	}
	return string(least), true
}

// folded returns the least of the runes that differ from r only in case.
func folded(r rune) rune {
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	return least
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
