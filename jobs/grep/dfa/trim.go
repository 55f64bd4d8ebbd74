package dfa

import (
	"regexp/syntax"
	"slices"
)

// trimmed returns a tree that matches somewhere in a line if re does. What may be empty is left out at its front and
// its back, with an edge of the line around it. The bounds of matches may differ. re is not changed.
func trimmed(re *syntax.Regexp, front, back bool) *syntax.Regexp {
	switch re.Op {
	case syntax.OpStar, syntax.OpQuest:
		return &syntax.Regexp{Op: syntax.OpEmptyMatch}
	case syntax.OpPlus, syntax.OpCapture:
		return trimmed(re.Sub[0], front, back)
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

func trimmedConcat(re *syntax.Regexp, front, back bool) *syntax.Regexp {
	r := *re
	for ; front && len(r.Sub) > 0; r.Sub = r.Sub[1:] {
		if len(r.Sub) > 1 && anything(r.Sub[1]) && (r.Sub[0].Op == syntax.OpBeginText || r.Sub[0].Op == syntax.OpBeginLine) {
			continue
		}
		if !mayBeEmpty(r.Sub[0]) {
			break
		}
	}
	for ; back && len(r.Sub) > 0; r.Sub = r.Sub[:len(r.Sub)-1] {
		last := len(r.Sub) - 1
		if last > 0 && anything(r.Sub[last-1]) && (r.Sub[last].Op == syntax.OpEndText || r.Sub[last].Op == syntax.OpEndLine) {
			continue
		}
		if !mayBeEmpty(r.Sub[last]) {
			break
		}
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
