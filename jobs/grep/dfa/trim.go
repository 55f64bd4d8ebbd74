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
