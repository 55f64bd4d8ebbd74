package bench

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"mrlocal/internal/stats"
	"mrlocal/slots/policy/ras"
)

// value is the value of a sum in an expression: a list of numbers, such as one for each run or step.
type value struct {
	v []float64
	x []float64 // for each number the value of the swept flag, or the step; nil: they have none
}

// one returns the only number of a value. It fails if there are more or fewer.
func (a value) one() (float64, error) {
	if len(a.v) != 1 {
		return 0, fmt.Errorf("%d numbers where one is meant; use min, max, mean or another function", len(a.v))
	}
	return a.v[0], nil
}

// lookup returns the value of a metric. For maps[lazy, A, 4] its arguments are maps and the words lazy,
// A and 4.
type lookup func(metric string, words []string) (value, error)

// parser reads an expression and evaluates it at the same time. The grammar is:
//
//	comparison = sum { ("<" | "<=" | ">" | ">=" | "==") sum }
//	sum        = term { ("+" | "-") term }
//	term       = factor { ("*" | "/") factor }
//	factor     = "-" factor | number [ "%" ] | "(" sum ")" | function "(" sum { "," sum } ")" | metric "[" words "]"
type parser struct {
	text  string
	at    int
	look  lookup
	err   error
	atEnd bool // where_least has found the smallest number at an end of the sweep
}

// relation is the result of an expression: the values of its sides, and the signs between them. An
// expression without a comparison has one side.
type relation struct {
	sides  []value
	signs  []string
	margin []margin // of all pairs of numbers that are compared
	atEnd  bool     // as in parser
}

// margin is the difference of two numbers that are compared. It is above 0 if the comparison is true,
// and below 0 if it is false. If the numbers are equal, it is 0. Then the comparison is true unless
// the sign is strict. For == the margin is never above 0.
type margin struct {
	by     float64
	strict bool // the sign is < or >
}

// evaluate evaluates an expression. look returns its metrics. evaluate fails at the first mistake,
// and if look fails.
func evaluate(text string, look lookup) (relation, error) {
	p := &parser{text: text, look: look}
	r := relation{sides: []value{p.sum()}}
	// A chain such as 1 < a < 2 compares each side with the next one.
	for p.err == nil {
		sign := p.sign()
		if sign == "" {
			break
		}
		r.signs = append(r.signs, sign)
		r.sides = append(r.sides, p.sum())
		if n := len(r.sides); p.err == nil {
			r.margin = append(r.margin, p.margins(r.sides[n-2], r.sides[n-1], sign)...)
		}
	}
	if p.space(); p.err == nil && p.at < len(p.text) {
		p.fail("%q is too much", p.text[p.at:])
	}
	r.atEnd = p.atEnd
	return r, p.err
}

// fail keeps the first mistake, after the text of the expression. It returns a value without
// meaning, so that a method can return the result of fail.
func (p *parser) fail(format string, args ...any) value {
	if p.err == nil {
		p.err = fmt.Errorf("%s: "+format, append([]any{p.text}, args...)...)
	}
	return number(0)
}

// number returns a value of one number, without x.
func number(n float64) value { return value{v: []float64{n}} }

// space skips spaces. The grammar allows no other white space.
func (p *parser) space() {
	for p.at < len(p.text) && p.text[p.at] == ' ' {
		p.at++
	}
}

// accept reports whether token comes next. If so, it skips the token.
func (p *parser) accept(token string) bool {
	if p.space(); strings.HasPrefix(p.text[p.at:], token) {
		p.at += len(token)
		return true
	}
	return false
}

// sign reads a sign of comparison; "": none comes next. It tries <= before <, because both begin
// with the same character.
func (p *parser) sign() string {
	for _, s := range []string{"<=", ">=", "==", "<", ">"} {
		if p.accept(s) {
			return s
		}
	}
	return ""
}

// margins returns the margins of a comparison, as pair combines the numbers.
func (p *parser) margins(a, b value, sign string) (all []margin) {
	// The result of pair is not used, only its calls.
	p.pair(a, b, func(x, y float64) float64 {
		m := margin{by: y - x, strict: len(sign) == 1}
		switch sign {
		case ">", ">=":
			m.by = x - y
		case "==":
			m.by = -math.Abs(x - y)
		}
		// A difference of less than one part in 10⁹ is a rounding error.
		if math.Abs(m.by) < 1e-9*max(1, math.Abs(x)) {
			m.by = 0
		}
		all = append(all, m)
		return 0
	})
	return all
}

// pair combines two values with f, number by number. If one value is a single number, f gets it with
// each number of the other. The result has the x of the longer value. pair fails for lists of
// different lengths, because they come from different sweeps.
func (p *parser) pair(a, b value, f func(x, y float64) float64) value {
	if len(a.v) != len(b.v) && len(a.v) != 1 && len(b.v) != 1 {
		return p.fail("%d numbers against %d", len(a.v), len(b.v))
	}
	r := value{v: make([]float64, max(len(a.v), len(b.v))), x: a.x}
	if len(b.v) > len(a.v) || r.x == nil {
		r.x = b.x
	}
	if len(r.x) != len(r.v) {
		r.x = nil
	}
	for i := range r.v {
		r.v[i] = f(a.v[min(i, len(a.v)-1)], b.v[min(i, len(b.v)-1)])
	}
	return r
}

// sum, term and factor read the parts of the grammar with these names. After a mistake their value has
// no meaning, and p.err is set.
func (p *parser) sum() value {
	a := p.term()
	for p.err == nil {
		switch {
		case p.accept("+"):
			a = p.pair(a, p.term(), func(x, y float64) float64 { return x + y })
		case p.accept("-"):
			a = p.pair(a, p.term(), func(x, y float64) float64 { return x - y })
		default:
			return a
		}
	}
	return a
}

// term reads factors with * and / between them, from left to right.
func (p *parser) term() value {
	a := p.factor()
	for p.err == nil {
		switch {
		case p.accept("*"):
			a = p.pair(a, p.factor(), func(x, y float64) float64 { return x * y })
		case p.accept("/"):
			a = p.pair(a, p.factor(), func(x, y float64) float64 { return x / y })
		default:
			return a
		}
	}
	return a
}

// factor reads a number, a function, a metric, or a sum in parentheses. A word before ( is a function,
// and a word before [ a metric.
func (p *parser) factor() value {
	switch {
	case p.accept("-"):
		return p.pair(number(0), p.factor(), func(x, y float64) float64 { return x - y })
	case p.accept("("):
		a := p.sum()
		p.must(")")
		return a
	}
	word := p.word()
	if word == "" {
		return p.fail("a number, a function or a metric is expected at %q", p.text[p.at:])
	}
	if n, err := strconv.ParseFloat(word, 64); err == nil {
		// A percentage becomes a fraction, because metrics are fractions.
		if p.accept("%") {
			n /= 100
		}
		return number(n)
	}
	switch {
	case p.accept("("):
		return p.function(word)
	case p.accept("["):
		return p.metric(word)
	}
	return p.fail("%q is neither a number nor followed by ( or [", word)
}

// must skips token. It fails if another text comes next.
func (p *parser) must(token string) {
	if p.err == nil && !p.accept(token) {
		p.fail("%s is missing before %q", token, p.text[p.at:])
	}
}

// word reads a number or a name in lower case; "": neither comes next.
func (p *parser) word() string {
	p.space()
	start := p.at
	for p.at < len(p.text) && (p.text[p.at] == '_' || p.text[p.at] == '.' || '0' <= p.text[p.at] && p.text[p.at] <= '9' || 'a' <= p.text[p.at] && p.text[p.at] <= 'z') {
		p.at++
	}
	return p.text[start:p.at]
}

// metric reads the words up to ], and returns the value of the metric from look. Words may have any
// character except a comma and ], such as the star of fair-*.
func (p *parser) metric(name string) value {
	inside, rest, ok := strings.Cut(p.text[p.at:], "]")
	if !ok {
		return p.fail("no ] after %s[", name)
	}
	p.at = len(p.text) - len(rest)
	words := strings.Split(inside, ",")
	for i := range words {
		words[i] = strings.TrimSpace(words[i])
	}
	v, err := p.look(name, words)
	if err != nil {
		return p.fail("%s[%s]: %v", name, inside, err)
	}
	return v
}

// ofNumbers has the functions that make one number of any numbers.
var ofNumbers = map[string]func(all []float64) float64{
	"min":    slices.Min[[]float64],
	"max":    slices.Max[[]float64],
	"mean":   average,
	"median": stats.Median,
	"spread": func(all []float64) float64 { return slices.Max(all) / slices.Min(all) }, // the largest by the smallest
	"rise":   rise,
}

func average(all []float64) float64 {
	sum := 0.0
	for _, n := range all {
		sum += n
	}
	return sum / float64(len(all))
}

// rise is the smallest difference of a number and the one before: negative if any falls.
func rise(all []float64) float64 {
	least := math.Inf(1)
	for i := 1; i < len(all); i++ {
		least = min(least, all[i]-all[i-1])
	}
	return least
}

// ofLists returns a number of two lists of one length: the paper's, number by number, and after them ours, as one list.
func (p *parser) ofLists(name string, of func(theirs, ours []float64) float64) value {
	var theirs, ours []float64
	for p.err == nil && len(ours) == 0 {
		if a := p.sum(); len(a.v) > 1 {
			ours = a.v
		} else {
			theirs = append(theirs, a.v...)
			p.must(",")
		}
	}
	p.must(")")
	switch {
	case p.err != nil:
		return number(0)
	case len(theirs) != len(ours):
		return p.fail("%s: of %d numbers and a list of %d", name, len(theirs), len(ours))
	}
	return number(of(theirs, ours))
}

// function reads the arguments of a function up to ), and returns its value. least combines its arguments as pair
// does. rank_correlation, explained and not_above have two lists. inner and ends return a part of their numbers. All
// functions but least, inner and ends return one number.
func (p *parser) function(name string) value {
	switch name {
	case "least": // number by number
		a := p.sum()
		for p.err == nil && p.accept(",") {
			a = p.pair(a, p.sum(), math.Min)
		}
		p.must(")")
		return a
	case "not_above": // the share of the numbers of a that are at most those of b
		a := p.sum()
		p.must(",")
		a = p.pair(a, p.sum(), func(x, y float64) float64 {
			if x <= y {
				return 1
			}
			return 0
		})
		p.must(")")
		return number(average(a.v))
	case "rank_correlation":
		return p.ofLists(name, stats.RankCorrelation)
	case "explained":
		return p.ofLists(name, stats.Explained)
	}
	// All arguments make one list, so max(a, b) is the largest number of both.
	var all value
	for p.err == nil {
		a := p.sum()
		all.v, all.x = append(all.v, a.v...), append(all.x, a.x...)
		if !p.accept(",") {
			break
		}
	}
	p.must(")")
	if p.err != nil || len(all.v) == 0 {
		return number(0)
	}
	if of, ok := ofNumbers[name]; ok {
		return number(of(all.v))
	}
	switch name {
	case "inner", "ends": // the numbers of a sweep without its two ends, or only its ends
		if len(all.v) < 3 {
			return p.fail("%s: of three numbers at least", name)
		}
		if name == "ends" {
			return value{v: []float64{all.v[0], all.v[len(all.v)-1]}}
		}
		return value{v: all.v[1 : len(all.v)-1]}
	case "where_least": // the x of the smallest number; the first one if there are several
		if len(all.x) != len(all.v) {
			return p.fail("where_least: of runs that were swept")
		}
		i := slices.Index(all.v, slices.Min(all.v))
		p.atEnd = p.atEnd || i == 0 || i == len(all.v)-1
		return number(all.x[i])
	case "ras_utility": // arguments: maps placed, required and pending; reduces placed and pending [RAS11, eq. 1]
		if len(all.v) != 5 {
			return p.fail("ras_utility: of five numbers")
		}
		n := func(i int) int32 { return int32(all.v[i]) }
		return number(ras.Utility(n(0), n(1), n(2), n(3), n(4)))
	}
	return p.fail("no function %s; there are min, max, mean, median, least, spread, rise, inner, ends, where_least, rank_correlation, explained, not_above, ras_utility", name)
}
