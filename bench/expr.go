package bench

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mrlocal/internal/errs"
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

// evaluation evaluates an expression. An expression is one of Go with these differences:
//
//	makespan[fair-*]   a metric, with words that may have any character but commas, ] and quotes
//	29 %               a fraction, as metrics are
//	1 < a <= 2         a chain, in which each side is compared with the next one
//
// It has numbers, + - * /, < <= > >= ==, parentheses and calls of functions.
type evaluation struct {
	text  string
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
	atEnd  bool     // as in evaluation
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
	e, r := &evaluation{text: text, look: look}, relation{}
	// A metric becomes a call with a raw string, and a percentage a quotient.
	source := strings.NewReplacer("[", "(`", "]", "`)").Replace(text)
	source = regexp.MustCompile(`([\d.]+) *%`).ReplaceAllString(source, "($1 / 100)")
	tree, err := parser.ParseExpr(source)
	var wrong scanner.ErrorList
	switch {
	case errors.As(err, &wrong):
		e.fail("%s", wrong[0].Msg) // without its place, which is one in source
	case err != nil:
		e.fail("%v", err)
	default:
		e.compare(tree, &r)
	}
	r.atEnd = e.atEnd
	return r, e.err
}

// compare adds the sides, signs and margins of an expression to r. Go reads a chain from left to right.
func (e *evaluation) compare(n ast.Expr, r *relation) {
	b, ok := n.(*ast.BinaryExpr)
	if !ok || !slices.Contains([]token.Token{token.LSS, token.LEQ, token.GTR, token.GEQ, token.EQL}, b.Op) {
		r.sides = append(r.sides, e.value(n))
		return
	}
	e.compare(b.X, r)
	r.signs = append(r.signs, b.Op.String())
	r.sides = append(r.sides, e.value(b.Y))
	if n := len(r.sides); e.err == nil {
		r.margin = append(r.margin, e.margins(r.sides[n-2], r.sides[n-1], b.Op.String())...)
	}
}

// fail keeps the first mistake, after the text of the expression. It returns a value without
// meaning, so that a method can return the result of fail.
func (e *evaluation) fail(format string, args ...any) value {
	if e.err == nil {
		e.err = fmt.Errorf("%s: "+format, append([]any{e.text}, args...)...)
	}
	return number(0)
}

// number returns a value of one number, without x.
func number(n float64) value { return value{v: []float64{n}} }

// margins returns the margins of a comparison, as pair combines the numbers.
func (e *evaluation) margins(a, b value, sign string) (all []margin) {
	// The result of pair is not used, only its calls.
	e.pair(a, b, func(x, y float64) float64 {
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
func (e *evaluation) pair(a, b value, f func(x, y float64) float64) value {
	if len(a.v) != len(b.v) && len(a.v) != 1 && len(b.v) != 1 {
		return e.fail("%s against %d", errs.Counted(len(a.v), "number"), len(b.v))
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

// value returns the value of an expression without a comparison. After a mistake the value has no meaning, and
// e.err is set.
func (e *evaluation) value(n ast.Expr) value {
	switch n := n.(type) {
	case *ast.ParenExpr:
		return e.value(n.X)
	case *ast.BasicLit:
		f, err := strconv.ParseFloat(n.Value, 64)
		if err != nil {
			return e.fail("%s is not a number", n.Value)
		}
		return number(f)
	case *ast.UnaryExpr:
		if n.Op == token.SUB {
			return e.pair(number(0), e.value(n.X), func(x, y float64) float64 { return x - y })
		}
	case *ast.BinaryExpr:
		of, ok := map[token.Token]func(x, y float64) float64{
			token.ADD: func(x, y float64) float64 { return x + y }, token.SUB: func(x, y float64) float64 { return x - y },
			token.MUL: func(x, y float64) float64 { return x * y }, token.QUO: func(x, y float64) float64 { return x / y },
		}[n.Op]
		if !ok {
			return e.fail("%s cannot stand inside of a number", n.Op)
		}
		return e.pair(e.value(n.X), e.value(n.Y), of)
	case *ast.CallExpr:
		if name, ok := n.Fun.(*ast.Ident); ok && len(n.Args) > 0 {
			return e.call(name.Name, n.Args)
		}
	case *ast.Ident:
		return e.fail("%q is neither a number nor followed by ( or [", n.Name)
	}
	return e.fail("a number, a function or a metric is expected")
}

// call returns the value of a metric, whose words are a raw string, or that of a function.
func (e *evaluation) call(name string, args []ast.Expr) value {
	if text, ok := args[0].(*ast.BasicLit); ok && text.Kind == token.STRING {
		inside := strings.Trim(text.Value, "`")
		words := strings.Split(inside, ",")
		for i := range words {
			words[i] = strings.TrimSpace(words[i])
		}
		v, err := e.look(name, words)
		if err != nil {
			return e.fail("%s[%s]: %v", name, inside, err)
		}
		return v
	}
	var values []value
	for _, a := range args {
		values = append(values, e.value(a))
	}
	if e.err != nil {
		return number(0)
	}
	return e.function(name, values)
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

// function returns the value of a function. least combines its arguments as pair does. The last argument of
// rank_correlation and explained is our list; the numbers before it are the paper's. inner and ends return a part of
// their numbers. All functions but least, inner and ends return one number.
func (e *evaluation) function(name string, args []value) value {
	switch name {
	case "least": // number by number
		a := args[0]
		for _, b := range args[1:] {
			a = e.pair(a, b, math.Min)
		}
		return a
	case "not_above": // the share of the numbers of a that are at most those of b
		if len(args) != 2 {
			return e.fail("not_above: of two values")
		}
		return number(average(e.pair(args[0], args[1], func(x, y float64) float64 {
			if x <= y {
				return 1
			}
			return 0
		}).v))
	}
	// All arguments make one list, so max(a, b) is the largest number of both.
	var all value
	for _, a := range args {
		all.v, all.x = append(all.v, a.v...), append(all.x, a.x...)
	}
	if name == "rank_correlation" || name == "explained" {
		ours := args[len(args)-1].v
		theirs := all.v[:len(all.v)-len(ours)]
		if len(theirs) != len(ours) {
			return e.fail("%s: of %d numbers and a list of %d", name, len(theirs), len(ours))
		}
		if name == "explained" {
			return number(stats.Explained(theirs, ours))
		}
		return number(stats.RankCorrelation(theirs, ours))
	}
	if of, ok := ofNumbers[name]; ok {
		return number(of(all.v))
	}
	switch name {
	case "inner", "ends": // the numbers of a sweep without its two ends, or only its ends
		if len(all.v) < 3 {
			return e.fail("%s: of three numbers at least", name)
		}
		if name == "ends" {
			return value{v: []float64{all.v[0], all.v[len(all.v)-1]}}
		}
		return value{v: all.v[1 : len(all.v)-1]}
	case "where_least": // the x of the smallest number; the first one if there are several
		if len(all.x) != len(all.v) {
			return e.fail("where_least: of runs that were swept")
		}
		i := slices.Index(all.v, slices.Min(all.v))
		e.atEnd = e.atEnd || i == 0 || i == len(all.v)-1
		return number(all.x[i])
	case "ras_utility": // arguments: maps placed, required and pending; reduces placed and pending [RAS11, eq. 1]
		if len(all.v) != 5 {
			return e.fail("ras_utility: of five numbers")
		}
		n := func(i int) int32 { return int32(all.v[i]) }
		return number(ras.Utility(n(0), n(1), n(2), n(3), n(4)))
	}
	return e.fail("no function %s; there are min, max, mean, median, least, spread, rise, inner, ends, where_least, rank_correlation, explained, not_above, ras_utility", name)
}
