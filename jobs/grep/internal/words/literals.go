package words

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mrlocal/internal/scan"
)

// This file finds the strings that each match of a regular expression contains.

// Literal is a string of bytes to search for. While literals are found, it may be empty.
type Literal = scan.Literal

// Needs holds what is known about the literals of a pattern.
//
// If Exact is not nil, each match of the pattern is one of its literals, and they are in the
// order of preference. If Pure is true, the reverse holds too: wherever one of them occurs,
// there is a match. If need is not nil, each match contains one of its literals. A set that is
// nil is always safe: lines are then searched without it.
//
// No literal contains a newline. None contains U+FFFD, which in package regexp also matches any
// invalid byte.
type Needs struct {
	Exact []Literal // nil: not known
	Pure  bool
	need  []Literal
}

// Most is the most literals that are searched for as such.
const Most = scan.MaxSet

// Limit bounds each set, also intermediate ones.
type Limit int

// Few is the limit of sets of literals that are searched for as such.
const Few Limit = Most

// Analyse returns the literals of re, which must be simplified.
func (most Limit) Analyse(re *syntax.Regexp) Needs {
	switch re.Op {
	case syntax.OpEmptyMatch:
		return Needs{Exact: []Literal{{}}, Pure: true}
	case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return Needs{Exact: []Literal{{}}}
	case syntax.OpLiteral:
		return analyseLiteral(re)
	case syntax.OpCharClass:
		return analyseClass(re.Rune)
	case syntax.OpCapture:
		return most.Analyse(re.Sub[0])
	case syntax.OpPlus:
		return Needs{need: most.Analyse(re.Sub[0]).Inside()}
	case syntax.OpQuest:
		return most.analyseQuest(re)
	case syntax.OpConcat:
		return most.analyseConcat(re.Sub)
	case syntax.OpAlternate:
		return most.analyseAlternate(re.Sub)
	}
	return Needs{}
}

// Inside returns a set of which each match contains a literal; nil: not known. A set with the
// empty literal is of no use, because that literal is found everywhere.
func (n Needs) Inside() []Literal {
	if n.Exact == nil {
		return n.need
	}
	if slices.ContainsFunc(n.Exact, func(l Literal) bool { return l.Text == "" }) {
		return nil
	}
	return n.Exact
}

// analyseLiteral analyses a literal. It cuts it at runes whose bytes are not certain: folded
// letters beyond ASCII, and runes that no literal may contain.
func analyseLiteral(re *syntax.Regexp) Needs {
	var pieces []string
	var piece strings.Builder
	fold := re.Flags&syntax.FoldCase != 0
	whole := true
	for _, r := range re.Rune {
		if r == '\n' || r == utf8.RuneError || fold && r >= utf8.RuneSelf && unicode.SimpleFold(r) != r {
			whole = false
			pieces = append(pieces, piece.String())
			piece.Reset()
			continue
		}
		if fold && 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		piece.WriteRune(r)
	}
	pieces = append(pieces, piece.String())
	if whole {
		return Needs{Exact: []Literal{NewLiteral(pieces[0], fold)}, Pure: true}
	}
	var best []Literal
	for _, p := range pieces {
		if p != "" {
			best = cheaper(best, []Literal{NewLiteral(p, fold)})
		}
	}
	return Needs{need: best}
}

// NewLiteral makes a literal. It ignores fold if text has no letter.
func NewLiteral(text string, fold bool) Literal {
	return Literal{Text: text, Fold: fold && hasLetter(text)}
}

// hasLetter reports whether s has an ASCII letter.
func hasLetter(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r|0x20 >= 'a' && r|0x20 <= 'z' })
}

// analyseClass makes a literal of each rune of a small class. ranges has pairs of first and
// last runes.
func analyseClass(ranges []rune) Needs {
	var set []Literal
	for i := 0; i+1 < len(ranges); i += 2 {
		if ranges[i+1]-ranges[i] > Most {
			return Needs{}
		}
		for r := ranges[i]; r <= ranges[i+1]; r++ {
			if r == utf8.RuneError {
				return Needs{}
			}
			if r != '\n' {
				set = append(set, Literal{Text: string(r)})
			}
		}
	}
	// A class of only the newline matches nothing in a line.
	if len(set) == 0 || len(set) > Most {
		return Needs{}
	}
	return Needs{Exact: set, Pure: true}
}

// analyseQuest adds the empty literal: first if the expression is not greedy, and otherwise
// last.
func (most Limit) analyseQuest(re *syntax.Regexp) Needs {
	sub := most.Analyse(re.Sub[0])
	// There must be room for the empty literal.
	if sub.Exact == nil || len(sub.Exact) >= int(most) {
		return Needs{}
	}
	if re.Flags&syntax.NonGreedy != 0 {
		return Needs{Exact: append([]Literal{{}}, sub.Exact...), Pure: sub.Pure}
	}
	return Needs{Exact: append(append([]Literal(nil), sub.Exact...), Literal{}), Pure: sub.Pure}
}

// analyseAlternate joins the sets of all branches. If a branch has no set, the result has none.
func (most Limit) analyseAlternate(subs []*syntax.Regexp) Needs {
	all := Needs{Pure: true}
	exact, need := true, true
	for _, s := range subs {
		sub := most.Analyse(s)
		exact = exact && sub.Exact != nil
		all.Exact = append(all.Exact, sub.Exact...)
		all.Pure = all.Pure && sub.Pure
		inside := sub.Inside()
		need = need && inside != nil
		all.need = append(all.need, inside...)
	}
	if !exact || len(all.Exact) > int(most) {
		all.Exact, all.Pure = nil, false
	}
	if !need || len(all.need) > int(most) {
		all.need = nil
	}
	return all
}

// analyseConcat combines the sets of neighbours as long as the product is small. If it is not
// the whole pattern in the end, it returns the cheapest set of all runs of neighbours.
func (most Limit) analyseConcat(subs []*syntax.Regexp) Needs {
	var best []Literal
	run := Needs{Exact: []Literal{{}}, Pure: true}
	whole := true
	for _, s := range subs {
		sub := most.Analyse(s)
		if sub.Exact != nil && most.allows(len(run.Exact), len(sub.Exact)) {
			run = product(run, sub)
			continue
		}
		whole = false
		best = cheaper(cheaper(best, run.Inside()), sub.Inside())
		// A new run begins. It is not the whole pattern, so it is not pure.
		run = Needs{Exact: []Literal{{}}}
		if sub.Exact != nil {
			run = sub
		}
	}
	if whole {
		return run
	}
	return Needs{need: cheaper(best, run.Inside())}
}

// allows reports whether each of a literals may be followed by each of b. Many literals come from
// alternatives that a pattern lists. An automaton is better for the products of classes.
func (most Limit) allows(a, b int) bool {
	return a*b <= Most || min(a, b) == 1 && max(a, b) <= int(most)
}

// product returns each literal of a followed by each literal of b, in the order of preference.
func product(a, b Needs) Needs {
	p := Needs{Pure: a.Pure && b.Pure}
	for _, x := range a.Exact {
		for _, y := range b.Exact {
			l, same := join(x, y)
			p.Exact = append(p.Exact, l)
			p.Pure = p.Pure && same
		}
	}
	return p
}

// join appends b to a. same is false if the result matches more than a followed by b: one of
// them folds case, and the other one has letters.
func join(a, b Literal) (l Literal, same bool) {
	same = a.Fold == b.Fold || !a.Fold && !hasLetter(a.Text) || !b.Fold && !hasLetter(b.Text)
	l = Literal{Text: a.Text + b.Text, Fold: a.Fold || b.Fold}
	if !same {
		// The result may be searched for, but finding it does not prove a match.
		l.Text = asciiLower(l.Text)
	}
	return l, same
}

// asciiLower turns A to Z into small letters. It changes no other letters, because fold is
// about ASCII.
func asciiLower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + ('a' - 'A')
		}
		return r
	}, s)
}

// cheaper returns the set that is expected to cost less to search for. nil costs most.
func cheaper(a, b []Literal) []Literal {
	if len(a) == 0 || len(b) > 0 && cost(b) < cost(a) {
		return b
	}
	return a
}

// cost estimates the time of searching for set, in nanoseconds for each byte of text. It is the
// sum of three costs. These are searching for the rarest byte of each literal, stopping where
// that byte occurs, and checking the lines that contain a literal.
func cost(set []Literal) float64 {
	const stream, stop, verify = 0.05, 6, 400
	sum := verify * Chance(set)
	for _, l := range set {
		rarest := 1.0
		for i := range len(l.Text) {
			rarest = min(rarest, l.Frequency(i))
		}
		sum += stream + stop*rarest
	}
	return sum
}

// Chance estimates the probability that a literal of set begins at a given offset of a text.
func Chance(set []Literal) float64 {
	sum := 0.0
	for _, l := range set {
		one := 1.0
		for i := range len(l.Text) {
			one *= min(1, 3*l.Frequency(i)) // the factor 3: neighbouring bytes are not independent
		}
		sum += one
	}
	return sum
}

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
		return shapeOfClass(scan.FoldClass(r))
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
