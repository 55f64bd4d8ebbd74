package grep

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mrlocal/internal/scan"
)

// literal is a string of bytes to search for. If fold is set, its ASCII letters
// are in lower case and match in either case.
type literal struct {
	text string
	fold bool
}

// scanned returns the literal in the form of package scan.
func (l literal) scanned() scan.Literal { return scan.Literal{Text: l.text, Fold: l.fold} }

// needs holds what is known about the literals of a pattern.
//
// If exact is not nil, each match of the pattern is one of its literals, and they are in the
// order of preference. If pure is true, the reverse holds too: wherever one of them occurs,
// there is a match. If need is not nil, each match contains one of its literals. A set that is
// nil is always safe: lines are then searched without it.
//
// No literal contains a newline. None contains U+FFFD, which in package regexp also matches any
// invalid byte.
type needs struct {
	exact []literal // nil: not known
	pure  bool
	need  []literal
}

// maxLiterals is the most literals that are searched for as such.
const maxLiterals = scan.MaxSet

// limit bounds each set, also intermediate ones.
type limit int

// fewLiterals is the limit of sets of literals that are searched for as such.
const fewLiterals limit = maxLiterals

// analyse returns the literals of re, which must be simplified.
func (most limit) analyse(re *syntax.Regexp) needs {
	switch re.Op {
	case syntax.OpEmptyMatch:
		return needs{exact: []literal{{}}, pure: true}
	case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return needs{exact: []literal{{}}}
	case syntax.OpLiteral:
		return analyseLiteral(re)
	case syntax.OpCharClass:
		return analyseClass(re.Rune)
	case syntax.OpCapture:
		return most.analyse(re.Sub[0])
	case syntax.OpPlus:
		return needs{need: most.analyse(re.Sub[0]).inside()}
	case syntax.OpQuest:
		return most.analyseQuest(re)
	case syntax.OpConcat:
		return most.analyseConcat(re.Sub)
	case syntax.OpAlternate:
		return most.analyseAlternate(re.Sub)
	}
	return needs{}
}

// inside returns a set of which each match contains a literal; nil: not known. A set with the
// empty literal is of no use, because that literal is found everywhere.
func (n needs) inside() []literal {
	if n.exact == nil {
		return n.need
	}
	if slices.ContainsFunc(n.exact, func(l literal) bool { return l.text == "" }) {
		return nil
	}
	return n.exact
}

// analyseLiteral analyses a literal. It cuts it at runes whose bytes are not certain: folded
// letters beyond ASCII, and runes that no literal may contain.
func analyseLiteral(re *syntax.Regexp) needs {
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
		return needs{exact: []literal{newLiteral(pieces[0], fold)}, pure: true}
	}
	var best []literal
	for _, p := range pieces {
		if p != "" {
			best = cheaper(best, []literal{newLiteral(p, fold)})
		}
	}
	return needs{need: best}
}

// newLiteral makes a literal. It ignores fold if text has no letter.
func newLiteral(text string, fold bool) literal {
	return literal{text, fold && hasLetter(text)}
}

// hasLetter reports whether s has an ASCII letter.
func hasLetter(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r|0x20 >= 'a' && r|0x20 <= 'z' })
}

// analyseClass makes a literal of each rune of a small class. ranges has pairs of first and
// last runes.
func analyseClass(ranges []rune) needs {
	var set []literal
	for i := 0; i+1 < len(ranges); i += 2 {
		if ranges[i+1]-ranges[i] > maxLiterals {
			return needs{}
		}
		for r := ranges[i]; r <= ranges[i+1]; r++ {
			if r == utf8.RuneError {
				return needs{}
			}
			if r != '\n' {
				set = append(set, literal{text: string(r)})
			}
		}
	}
	// A class of only the newline matches nothing in a line.
	if len(set) == 0 || len(set) > maxLiterals {
		return needs{}
	}
	return needs{exact: set, pure: true}
}

// analyseQuest adds the empty literal: first if the expression is not greedy, and otherwise
// last.
func (most limit) analyseQuest(re *syntax.Regexp) needs {
	sub := most.analyse(re.Sub[0])
	// There must be room for the empty literal.
	if sub.exact == nil || len(sub.exact) >= int(most) {
		return needs{}
	}
	if re.Flags&syntax.NonGreedy != 0 {
		return needs{exact: append([]literal{{}}, sub.exact...), pure: sub.pure}
	}
	return needs{exact: append(append([]literal(nil), sub.exact...), literal{}), pure: sub.pure}
}

// analyseAlternate joins the sets of all branches. If a branch has no set, the result has none.
func (most limit) analyseAlternate(subs []*syntax.Regexp) needs {
	all := needs{pure: true}
	exact, need := true, true
	for _, s := range subs {
		sub := most.analyse(s)
		exact = exact && sub.exact != nil
		all.exact = append(all.exact, sub.exact...)
		all.pure = all.pure && sub.pure
		inside := sub.inside()
		need = need && inside != nil
		all.need = append(all.need, inside...)
	}
	if !exact || len(all.exact) > int(most) {
		all.exact, all.pure = nil, false
	}
	if !need || len(all.need) > int(most) {
		all.need = nil
	}
	return all
}

// analyseConcat combines the sets of neighbours as long as the product is small. If it is not
// the whole pattern in the end, it returns the cheapest set of all runs of neighbours.
func (most limit) analyseConcat(subs []*syntax.Regexp) needs {
	var best []literal
	run := needs{exact: []literal{{}}, pure: true}
	whole := true
	for _, s := range subs {
		sub := most.analyse(s)
		if sub.exact != nil && most.allows(len(run.exact), len(sub.exact)) {
			run = product(run, sub)
			continue
		}
		whole = false
		best = cheaper(cheaper(best, run.inside()), sub.inside())
		// A new run begins. It is not the whole pattern, so it is not pure.
		run = needs{exact: []literal{{}}}
		if sub.exact != nil {
			run = sub
		}
	}
	if whole {
		return run
	}
	return needs{need: cheaper(best, run.inside())}
}

// allows reports whether each of a literals may be followed by each of b. Many literals come from
// alternatives that a pattern lists. An automaton is better for the products of classes.
func (most limit) allows(a, b int) bool {
	return a*b <= maxLiterals || min(a, b) == 1 && max(a, b) <= int(most)
}

// product returns each literal of a followed by each literal of b, in the order of preference.
func product(a, b needs) needs {
	p := needs{pure: a.pure && b.pure}
	for _, x := range a.exact {
		for _, y := range b.exact {
			l, same := join(x, y)
			p.exact = append(p.exact, l)
			p.pure = p.pure && same
		}
	}
	return p
}

// join appends b to a. same is false if the result matches more than a followed by b: one of
// them folds case, and the other one has letters.
func join(a, b literal) (l literal, same bool) {
	same = a.fold == b.fold || !a.fold && !hasLetter(a.text) || !b.fold && !hasLetter(b.text)
	l = literal{a.text + b.text, a.fold || b.fold}
	if !same {
		// The result may be searched for, but finding it does not prove a match.
		l.text = asciiLower(l.text)
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
func cheaper(a, b []literal) []literal {
	if len(a) == 0 || len(b) > 0 && cost(b) < cost(a) {
		return b
	}
	return a
}

// cost estimates the time of searching for set, in nanoseconds for each byte of text. It is the
// sum of three costs. These are searching for the rarest byte of each literal, stopping where
// that byte occurs, and checking the lines that contain a literal.
func cost(set []literal) float64 {
	const stream, stop, verify = 0.05, 6, 400
	sum := verify * chance(set)
	for _, l := range set {
		rarest := 1.0
		for i := range len(l.text) {
			rarest = min(rarest, l.scanned().Frequency(i))
		}
		sum += stream + stop*rarest
	}
	return sum
}

// chance estimates the probability that a literal of set begins at a given offset of a text.
func chance(set []literal) float64 {
	sum := 0.0
	for _, l := range set {
		one := 1.0
		for i := range len(l.text) {
			one *= min(1, 3*l.scanned().Frequency(i)) // the factor 3: neighbouring bytes are not independent
		}
		sum += one
	}
	return sum
}
