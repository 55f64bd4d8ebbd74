package bench

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"mrlocal/slots/policy/ras"
)

// value is the result of an expression: one number for each run or step, and the
// values of the flag that was swept, if one was.
type value struct {
	v []float64
	x []float64 // as long as v, or nil
}

// one returns the number of a value that must have exactly one.
func (a value) one() (float64, error) {
	if len(a.v) != 1 {
		return 0, fmt.Errorf("%d numbers where one is meant; take min, max, mean or another of them", len(a.v))
	}
	return a.v[0], nil
}

// lookup returns a metric: for makespan[lazy] it is called with makespan and lazy.
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
	atEnd bool // where_least found its number at an end of a sweep
}

// relation is the result of an expression: its sides and the signs between them.
type relation struct {
	sides  []value
	signs  []string
	margin []margin
	atEnd  bool // where_least found its number at an end of a sweep
}

// margin is by how much two numbers of a comparison are on the side that the sign asks for.
// It is negative where they are on the other side. A sign that lets them be equal is not
// strict. Both sides of == are at 0 if they are equal, and below 0 if not.
type margin struct {
	by     float64
	strict bool
}

// evaluate evaluates text.
func evaluate(text string, look lookup) (relation, error) {
	p := &parser{text: text, look: look}
	r := relation{sides: []value{p.sum()}}
	// A chain such as 1 < a < 2 compares neighbours, and all comparisons must hold.
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

// fail keeps the first mistake, with the whole expression in front. It returns any value,
// for a reader that has none.
func (p *parser) fail(format string, args ...any) value {
	if p.err == nil {
		p.err = fmt.Errorf("%s: "+format, append([]any{p.text}, args...)...)
	}
	return number(0)
}

// number returns a value of one number, which was not swept.
func number(n float64) value { return value{v: []float64{n}} }

// space skips spaces. No other white space is allowed.
func (p *parser) space() {
	for p.at < len(p.text) && p.text[p.at] == ' ' {
		p.at++
	}
}

// take skips token and reports true, if token comes next.
func (p *parser) take(token string) bool {
	if p.space(); strings.HasPrefix(p.text[p.at:], token) {
		p.at += len(token)
		return true
	}
	return false
}

// sign reads a sign of comparison, or returns "". The longer signs come first, because < begins
// <= too.
func (p *parser) sign() string {
	for _, s := range []string{"<=", ">=", "==", "<", ">"} {
		if p.take(s) {
			return s
		}
	}
	return ""
}

// margins compares element by element. A single number is compared with each.
func (p *parser) margins(a, b value, sign string) (all []margin) {
	// pair is used for its walk alone; its result is dropped.
	p.pair(a, b, func(x, y float64) float64 {
		m := margin{by: y - x, strict: len(sign) == 1}
		switch sign {
		case ">", ">=":
			m.by = x - y
		case "==":
			m.by = -math.Abs(x - y)
		}
		// Sums of floating-point numbers are rarely equal to the last bit, so one part in 10⁹ is
		// no difference.
		if math.Abs(m.by) < 1e-9*max(1, math.Abs(x)) {
			m.by = 0
		}
		all = append(all, m)
		return 0
	})
	return all
}

// pair combines two values element by element. A single number goes with each.
func (p *parser) pair(a, b value, f func(x, y float64) float64) value {
	// Lists of different lengths come from different sweeps. To combine them would mean nothing.
	if len(a.v) != len(b.v) && len(a.v) != 1 && len(b.v) != 1 {
		return p.fail("%d numbers beside %d", len(a.v), len(b.v))
	}
	// The result keeps the swept values of the longer side, for charts and where_least.
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

// sum, term and factor follow the grammar at parser. After a mistake they return any value;
// evaluate returns the mistake.
func (p *parser) sum() value {
	a := p.term()
	for p.err == nil {
		switch {
		case p.take("+"):
			a = p.pair(a, p.term(), func(x, y float64) float64 { return x + y })
		case p.take("-"):
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
		case p.take("*"):
			a = p.pair(a, p.factor(), func(x, y float64) float64 { return x * y })
		case p.take("/"):
			a = p.pair(a, p.factor(), func(x, y float64) float64 { return x / y })
		default:
			return a
		}
	}
	return a
}

// factor reads a number, a function, a metric, or a sum in parentheses. A word followed by ( is
// a function, and by [ a metric.
func (p *parser) factor() value {
	switch {
	case p.take("-"):
		return p.pair(number(0), p.factor(), func(x, y float64) float64 { return x - y })
	case p.take("("):
		a := p.sum()
		p.must(")")
		return a
	}
	word := p.word()
	if word == "" {
		return p.fail("a number, a function or a metric is expected at %q", p.text[p.at:])
	}
	if n, err := strconv.ParseFloat(word, 64); err == nil {
		// A percentage becomes a fraction, as the figures of the runs are.
		if p.take("%") {
			n /= 100
		}
		return number(n)
	}
	switch {
	case p.take("("):
		return p.function(word)
	case p.take("["):
		return p.metric(word)
	}
	return p.fail("%q is neither a number nor followed by ( or [", word)
}

// must skips token, or fails without it.
func (p *parser) must(token string) {
	if p.err == nil && !p.take(token) {
		p.fail("%s is missing before %q", token, p.text[p.at:])
	}
}

// word reads a number or a name.
func (p *parser) word() string {
	p.space()
	start := p.at
	// Names are in lower case. A number has digits and a point.
	for p.at < len(p.text) && (p.text[p.at] == '_' || p.text[p.at] == '.' || '0' <= p.text[p.at] && p.text[p.at] <= '9' || 'a' <= p.text[p.at] && p.text[p.at] <= 'z') {
		p.at++
	}
	return p.text[start:p.at]
}

// metric reads the words in the brackets and asks for the figure. Words may hold any character
// but a comma or bracket, such as the star of fair-*.
func (p *parser) metric(name string) value {
	// A metric's words end at the next bracket; brackets do not nest.
	inside, rest, ok := strings.Cut(p.text[p.at:], "]")
	if !ok {
		return p.fail("no ] after %s[", name)
	}
	p.at = len(p.text) - len(rest)
	// The first word names runs, the others are arguments.
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

// function evaluates a function. inner and ends return a part of their numbers, the
// others turn them into one.
func (p *parser) function(name string) value {
	// The arguments are joined to one list, so max(a, b) and max of a swept run are the same.
	var all value
	for p.err == nil {
		a := p.sum()
		all.v, all.x = append(all.v, a.v...), append(all.x, a.x...)
		if !p.take(",") {
			break
		}
	}
	p.must(")")
	if p.err != nil || len(all.v) == 0 {
		return number(0)
	}
	switch name {
	case "min":
		return number(slices.Min(all.v))
	case "max":
		return number(slices.Max(all.v))
	case "mean":
		sum := 0.0
		for _, n := range all.v {
			sum += n
		}
		return number(sum / float64(len(all.v)))
	case "median": // of an even number of them the mean of the middle two
		slices.Sort(all.v)
		n := len(all.v)
		return number((all.v[(n-1)/2] + all.v[n/2]) / 2)
	case "spread": // the largest divided by the smallest
		return number(slices.Max(all.v) / slices.Min(all.v))
	case "rise": // the smallest step from one to the next: not negative where they never fall
		least := math.Inf(1)
		for i := 1; i < len(all.v); i++ {
			least = min(least, all.v[i]-all.v[i-1])
		}
		return number(least)
	case "inner", "ends": // the numbers of a sweep without its two ends, or these two alone
		if len(all.v) < 3 {
			return p.fail("%s: of three numbers at least", name)
		}
		if name == "ends" {
			return value{v: []float64{all.v[0], all.v[len(all.v)-1]}}
		}
		return value{v: all.v[1 : len(all.v)-1]}
	case "where_least": // the value of the swept flag at the smallest number, the first of several
		if len(all.x) != len(all.v) {
			return p.fail("where_least: of runs that were swept")
		}
		i := slices.Index(all.v, slices.Min(all.v))
		p.atEnd = p.atEnd || i == 0 || i == len(all.v)-1
		return number(all.x[i])
	case "ras_utility": // of maps placed, required and pending, and reduces placed and pending [RAS11, eq. 1]
		if len(all.v) != 5 {
			return p.fail("ras_utility: of five numbers")
		}
		n := func(i int) int32 { return int32(all.v[i]) }
		return number(ras.Utility(n(0), n(1), n(2), n(3), n(4)))
	}
	return p.fail("no function %s; there are min, max, mean, median, spread, rise, inner, ends, where_least, ras_utility", name)
}
