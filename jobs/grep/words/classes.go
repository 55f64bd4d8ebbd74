package words

import (
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"

	"mrlocal/internal/scan"
)

// This file finds short sequences of byte sets that each match of a regular expression contains. They serve
// expressions without a rare literal, such as \d+\.\d+.

// sequence is a list of byte sets: text with one byte of each, in this order.
type sequence []element

// element is a byte set, and the probability that a byte of a text is in it.
type element struct {
	set    *scan.ByteSet
	chance float64
}

// shape holds what is known about the sequences of an expression. Lists that are nil are not known.
type shape struct {
	exact []sequence // each match is one of these
	need  []sequence // each match contains one of these
	edge  []sequence // each match begins with one of these, and ends with one
}

// mostSequences is the most sequences in a list, and mostSets the most sets in a sequence.
const mostSequences, mostSets = 16, 32

// Triples returns sequences of three byte sets, of which each match of re contains one, and the probability that one
// lies at a given offset of a text. nil: none is known. No set contains a newline. re must be simplified.
func Triples(re *syntax.Regexp) (triples []scan.Triple, chance float64) {
	s := shapeOf(re)
	for _, q := range cheapest(s.exact, s.need) {
		at, one := rarest(q)
		triple := scan.Triple{*q[at].set, *q[at+1].set, *q[at+2].set}
		if !slices.Contains(triples, triple) {
			triples = append(triples, triple)
			chance += one
		}
	}
	return triples, chance
}

// shapeOf returns the shape of re, which must be simplified.
func shapeOf(re *syntax.Regexp) shape {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return shape{exact: []sequence{{}}}
	case syntax.OpLiteral:
		return concat(len(re.Rune), func(i int) shape { return shapeOfRune(re.Rune[i], re.Flags&syntax.FoldCase != 0) })
	case syntax.OpCharClass:
		return shapeOfClass(re.Rune)
	case syntax.OpCapture:
		return shapeOf(re.Sub[0])
	case syntax.OpPlus:
		s := shapeOf(re.Sub[0])
		return shape{need: cheapest(s.exact, s.need), edge: s.exact}
	case syntax.OpQuest:
		if s := shapeOf(re.Sub[0]); s.exact != nil {
			return shape{exact: append(s.exact, sequence{})}
		}
	case syntax.OpConcat:
		return concat(len(re.Sub), func(i int) shape { return shapeOf(re.Sub[i]) })
	case syntax.OpAlternate:
		return alternate(re.Sub)
	}
	return shape{}
}

// shapeOfRune returns the shape of a rune. A rune that folds to one beyond ASCII, and one that stands for
// invalid bytes too, has none.
func shapeOfRune(r rune, fold bool) shape {
	if fold {
		all := []rune{r, r}
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			all = append(all, f, f)
		}
		return shapeOfClass(all)
	}
	if r < utf8.RuneSelf || r == utf8.RuneError {
		return shapeOfClass([]rune{r, r})
	}
	var q sequence
	for _, c := range []byte(string(r)) {
		var set scan.ByteSet
		set[c] = true
		q = append(q, newElement(set))
	}
	return shape{exact: []sequence{q}}
}

// shapeOfClass returns the shape of a class of ASCII characters. ranges has pairs of first and last runes.
func shapeOfClass(ranges []rune) shape {
	var set scan.ByteSet
	for i := 0; i+1 < len(ranges); i += 2 {
		if ranges[i+1] >= utf8.RuneSelf {
			return shape{}
		}
		for c := ranges[i]; c <= ranges[i+1]; c++ {
			set[c] = c != '\n'
		}
	}
	if set == (scan.ByteSet{}) {
		return shape{}
	}
	return shape{exact: []sequence{{newElement(set)}}}
}

// newElement estimates the probability of a set as Chance does.
func newElement(set scan.ByteSet) element {
	sum := 0.0
	for c, in := range set {
		if in {
			sum += scan.Frequency(byte(c))
		}
	}
	return element{&set, min(1, 3*sum)}
}

// concat returns the shape of n expressions that follow each other. Where the number of sequences grows too large, or
// a part is not exact, a new run of neighbours begins. The cheapest run counts.
func concat(n int, part func(i int) shape) shape {
	var best []sequence
	run, whole := []sequence{{}}, true
	for i := range n {
		s := part(i)
		longer := follow(run, s.exact)
		if longer != nil {
			run = longer
			continue
		}
		whole = false
		best = cheapest(best, run, s.need, follow(run, s.edge))
		run = slices.Concat(s.exact, s.edge) // one of them is nil
		if run == nil {
			run = []sequence{{}}
		}
	}
	if whole {
		return shape{exact: run}
	}
	return shape{need: cheapest(best, run)}
}

// follow returns each sequence of a followed by each one of b; nil: there would be too many, or too long ones.
func follow(a, b []sequence) (all []sequence) {
	if len(a)*len(b) > mostSequences {
		return nil
	}
	for _, x := range a {
		for _, y := range b {
			if len(x)+len(y) > mostSets {
				return nil
			}
			all = append(all, slices.Concat(x, y))
		}
	}
	return all
}

// alternate returns the shape of expressions of which one matches.
func alternate(subs []*syntax.Regexp) (all shape) {
	if len(subs) > mostSequences {
		return shape{}
	}
	exact, need := true, true
	for _, sub := range subs {
		s := shapeOf(sub)
		inside := cheapest(s.exact, s.need)
		exact, need = exact && s.exact != nil, need && inside != nil
		all.exact, all.need = append(all.exact, s.exact...), append(all.need, inside...)
	}
	if !exact || len(all.exact) > mostSequences {
		all.exact = nil
	}
	if !need || len(all.need) > mostSequences {
		all.need = nil
	}
	return all
}

// cheapest returns the list whose triples occur least often; nil: none of the lists has a triple in each sequence.
func cheapest(lists ...[]sequence) (best []sequence) {
	least := 1.0
	for _, list := range lists {
		sum := 0.0
		for _, q := range list {
			_, chance := rarest(q)
			sum += chance
		}
		if len(list) > 0 && sum < least {
			best, least = list, sum
		}
	}
	return best
}

// rarest returns the offset in q of the three sets that occur least often together, and their probability at an
// offset of a text; 1: q is too short.
func rarest(q sequence) (at int, chance float64) {
	chance = 1
	for i := range max(0, len(q)-2) {
		if c := q[i].chance * q[i+1].chance * q[i+2].chance; c < chance {
			at, chance = i, c
		}
	}
	return at, chance
}
