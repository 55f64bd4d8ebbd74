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
