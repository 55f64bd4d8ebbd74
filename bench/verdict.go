package bench

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"mrlocal/internal/stats"
	"mrlocal/workload"
)

// Verdict says how well a figure of ours agrees with the paper's.
type Verdict uint8

// Verdicts. Whether a comparison holds is no verdict: Line.Ours says so.
const (
	Exact   Verdict = iota // a run computed the paper's figure, to its last digit
	Inside                 // in the band
	Outside                // out of the band, or not built
	Words                  // a comparison that the paper makes in words
)

// verdictWords are the words of the verdicts in all formats, by Verdict.
var verdictWords = [...]string{"exact", "inside", "outside", "words"}

func (v Verdict) String() string { return verdictWords[v] }

// MarshalText returns the word of v.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads the word of a verdict. It fails for any other text.
func (v *Verdict) UnmarshalText(text []byte) error {
	i, err := wordIn(verdictWords[:], text)
	*v = Verdict(i)
	return err
}

// Direction says whether a figure is on the paper's side of the value that means no
// change. Of a comparison it says whether its sides are in the paper's order.
type Direction uint8

// Directions.
const (
	None     Direction = iota // the figure has no direction, or the interval holds both
	Same                      // the paper's
	Opposite                  // the other one
)

// directionWords are the words of the directions in all formats, by Direction.
var directionWords = [...]string{"none", "same", "opposite"}

func (d Direction) String() string { return directionWords[d] }

// MarshalText returns the word of d.
func (d Direction) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads the word of a direction. It fails for any other text.
func (d *Direction) UnmarshalText(text []byte) error {
	i, err := wordIn(directionWords[:], text)
	*d = Direction(i)
	return err
}

// wordIn returns the place of a word in a list that must have it.
func wordIn(words []string, text []byte) (int, error) {
	i := slices.Index(words, string(text))
	if i < 0 {
		return 0, fmt.Errorf("%q is none of %s", text, strings.Join(words, ", "))
	}
	return i, nil
}

// Line is a figure with its verdict. Numbers are in the unit of the paper's figure and
// written without it. JSON has the columns of CSV and, for readers, more.
type Line struct {
	Experiment string    `json:"experiment"`
	What       string    `json:"figure"`
	Paper      string    `json:"paper"`
	Ours       Cell      `json:"ours"` // a number, or true or false of a comparison; "" if the figure is not built
	Low        Cell      `json:"low"`  // the band; "": a comparison, or the band is withdrawn
	High       Cell      `json:"high"`
	Verdict    Verdict   `json:"verdict"`
	Fitted     bool      `json:"fitted"`
	Seeds      int       `json:"seeds"`  // number of runs behind Ours, each with a seed of its own
	Reason     string    `json:"reason"` // why an open line is open; "" for any other line
	Direction  Direction `json:"direction"`
	CILow      Cell      `json:"ci_low"` // 95 % interval of Ours, or of a comparison's closest difference; "": one seed
	CIHigh     Cell      `json:"ci_high"`
	Withdrawn  string    `json:"withdrawn"` // what was set after a run and no longer counts; "": nothing
	Shown      string    `json:"shown"`     // Ours for readers: with its unit, or with the sides of a comparison
	Claim      string    `json:"claim"`     // the claim of docs/papers that the figure shows; "": none
	Because    string    `json:"because"`   // the reason of the file, which a line that is not open does not need
	Isolated   string    `json:"isolated"`  // what came out with each change that the file isolates; "": none
}

// Cell is a number, true, false or nothing, as text.
type Cell string

// MarshalJSON returns the number, the truth value, or null for nothing.
func (c Cell) MarshalJSON() ([]byte, error) {
	if c == "" {
		return []byte("null"), nil
	}
	return []byte(c), nil
}

// UnmarshalJSON reads a number of any precision as its text, and null as "".
func (c *Cell) UnmarshalJSON(text []byte) error {
	*c = Cell(text)
	if string(text) == "null" {
		*c = ""
	}
	return nil
}

// Open reports whether the line needs a reason: ours is outside, or the comparison does
// not hold.
func (l *Line) Open() bool { return l.Verdict == Outside || l.Ours == "false" }

// explain sets the reason of an open line: that of the file, or that there were few seeds.
func (l *Line) explain(seeds int) {
	switch {
	case !l.Open():
	case l.Because == "" && l.Seeds < seeds:
		l.Reason = fmt.Sprintf("judged by %d of %d seeds only", l.Seeds, seeds)
	default:
		l.Reason = l.Because
	}
}

// check reports a figure whose band, or lack of one, breaks the rules. A band is the range
// that the paper prints, or at most a quarter of its number on each side. A withdrawn band is
// left out.
func check(f *workload.Figure) error {
	paper, err := parseQuantity(f.Paper)
	compares := strings.ContainsAny(f.Ours, "<>=")
	switch {
	case f.Ours == "":
		return nil
	case compares && f.Band != nil:
		return errors.New("a comparison has no band")
	case compares:
		return nil
	case err != nil:
		return err
	case bandless(f) && f.Band != nil:
		return errors.New("the band is withdrawn; leave it out")
	}
	least, most, err := band(f, &paper)
	if err != nil {
		return err
	}
	// The file may round its bounds to the last digit that it prints.
	from, to := paper.widest()
	if round := 2 * paper.half(); least > most || least < from-round || most > to+round {
		return fmt.Errorf("the band %s to %s is wider than %s to %s: the paper's range, or 25 %% of its figure", paper.bound(least), paper.bound(most), paper.bound(from), paper.bound(to))
	}
	return nil
}

// bandless reports whether the band of a figure is withdrawn, so that it has none.
func bandless(f *workload.Figure) bool { return strings.HasPrefix(f.Withdrawn, "the band") }

// band returns the band of the file, or the widest one where the file has none.
func band(f *workload.Figure, paper *quantity) (least, most float64, err error) {
	least, most = paper.widest()
	if f.Band == nil {
		return least, most, nil
	}
	// A bound may be a number with a unit, as the figure of the paper.
	from, err := parseQuantity(f.Band[0])
	if err != nil {
		return 0, 0, err
	}
	to, err := parseQuantity(f.Band[1])
	return from.least, to.most, err
}

// judge compares the results of a figure's expression, one for each seed, with the paper's
// figure. mean is the result with the means of all metrics over the seeds. computed says
// that the result comes from a run, and not from the workload file alone.
func judge(f *workload.Figure, all []relation, mean *relation, computed bool) (Line, error) {
	// The line keeps the words of the file; the verdict is added.
	l := Line{What: f.What, Claim: f.Target, Paper: f.Paper, Fitted: f.Fitted, Withdrawn: f.Withdrawn, Because: f.Because, Seeds: len(all)}
	switch {
	case f.Ours == "":
		return l, l.unbuilt(f)
	case len(mean.signs) > 0:
		l.compare(all, mean)
		return l, nil
	}
	var sample []float64
	for i := range all {
		ours, err := all[i].sides[0].one()
		if err != nil {
			return l, err
		}
		sample = append(sample, ours)
	}
	return l, l.measure(f, stats.IntervalOf(sample), mean.atEnd, computed)
}

// unbuilt judges a figure that no run computes.
func (l *Line) unbuilt(f *workload.Figure) error {
	l.Verdict, l.Shown = Outside, "not built"
	paper, err := parseQuantity(f.Paper)
	if err != nil {
		return nil // the paper has words
	}
	least, most, err := band(f, &paper)
	l.Low, l.High = Cell(paper.bound(least)), Cell(paper.bound(most))
	return err
}

// compare judges a comparison. It holds if the interval of each difference between its
// sides, paired by seed, lies on the side that its sign asks for.
func (l *Line) compare(all []relation, mean *relation) {
	holds, reversed := true, false
	closest := stats.Interval{Low: math.Inf(1)}
	for k := range mean.margin {
		var sample []float64
		for i := range all {
			sample = append(sample, all[i].margin[min(k, len(all[i].margin)-1)].by)
		}
		d := stats.IntervalOf(sample)
		holds = holds && (d.Low > 0 || d.Low >= 0 && !mean.margin[k].strict)
		reversed = reversed || d.High < 0
		if d.Low < closest.Low {
			closest = d
		}
	}
	l.Verdict, l.Ours = Words, Cell(strconv.FormatBool(holds))
	l.Shown = string(l.Ours) + ": " + mean.String()
	switch {
	case holds:
		l.Direction = Same
	// Numbers that are not equal are in no order that the paper has.
	case reversed && !slices.Contains(mean.signs, "=="):
		l.Direction = Opposite
	}
	if len(all) > 1 {
		l.CILow, l.CIHigh = Cell(short(closest.Low)), Cell(short(closest.High))
	}
}

// measure judges a number. atEnd says that it is the place of a least value which lies at
// an end of its sweep.
func (l *Line) measure(f *workload.Figure, ours stats.Interval, atEnd, computed bool) error {
	paper, err := parseQuantity(f.Paper)
	if err != nil {
		return err
	}
	least, most, err := band(f, &paper)
	if err != nil {
		return err
	}
	l.Ours = Cell(paper.digits(ours.Mean))
	l.Shown = string(l.Ours) + paper.unit
	if l.Seeds > 1 {
		l.CILow, l.CIHigh = Cell(paper.digits(ours.Low)), Cell(paper.digits(ours.High))
	}
	l.Verdict = Outside
	switch {
	// A withdrawn band leaves none to be inside of. At the end of a sweep nobody knows where the
	// least value is.
	case bandless(f), atEnd:
	// The paper rounds its figure, so ours may be off by half a unit of the last digit. A range
	// is never exact, and neither is what the file says itself.
	case computed && paper.least == paper.most && math.Abs(ours.Mean-paper.least) <= paper.half()+1e-9:
		l.Verdict = Exact
	case least-1e-9 <= ours.Mean && ours.Mean <= most+1e-9:
		l.Verdict = Inside
	}
	if !bandless(f) {
		l.Low, l.High = Cell(paper.bound(least)), Cell(paper.bound(most))
	}
	l.Direction, err = direction(f, &paper, &ours)
	return err
}

// direction compares the sides of the value that means no change, on which the paper's
// figure and our interval are.
func direction(f *workload.Figure, paper *quantity, ours *stats.Interval) (Direction, error) {
	// Without such a value a number has no direction.
	if f.Beyond == "" {
		return None, nil
	}
	b, err := parseQuantity(f.Beyond)
	low, high := ours.Low-b.least, ours.High-b.least
	if paper.least < b.least {
		low, high = -high, -low
	}
	switch {
	case low > 0:
		return Same, err
	case high < 0:
		return Opposite, err
	}
	return None, err
}

// String writes the sides of a comparison: 626 < 634, 5 to 9 > 3.
func (r *relation) String() string {
	var b strings.Builder
	for i := range r.sides {
		if i > 0 {
			b.WriteString(" " + r.signs[i-1] + " ")
		}
		// A list is shown as its range.
		least, most := short(slices.Min(r.sides[i].v)), short(slices.Max(r.sides[i].v))
		b.WriteString(least)
		if least != most {
			b.WriteString(" to " + most)
		}
	}
	return b.String()
}

// short writes a number with three significant decimals at most.
func short(n float64) string {
	decimals := 3
	// Each digit before the point takes one of the decimals.
	for limit := 1.0; decimals > 0 && math.Abs(n) >= limit; limit *= 10 {
		decimals--
	}
	text := strconv.FormatFloat(n, 'f', decimals, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	// A small negative number rounds to -0, which readers would take for a mistake.
	if text == "-0" {
		return "0"
	}
	return text
}

// quantity is a number of the paper, or a range, as it is printed.
type quantity struct {
	least, most float64
	decimals    int
	percent     bool
	unit        string // with the space before it, or ""
}

// parseQuantity reads a number or a range with its unit, such as 29 %, 32..55 % or 1319 s.
// Percentages become fractions.
func parseQuantity(text string) (q quantity, err error) {
	digits := text
	if i := strings.IndexFunc(text, func(r rune) bool { return r != '.' && r != '-' && !unicode.IsDigit(r) }); i >= 0 {
		digits, q.unit = text[:i], text[i:]
	}
	// A number alone is a range of one value.
	from, to, several := strings.Cut(digits, "..")
	if !several {
		to = from
	}
	q.least, err = strconv.ParseFloat(from, 64)
	if err == nil {
		q.most, err = strconv.ParseFloat(to, 64)
	}
	if err != nil {
		return q, fmt.Errorf("%q is no number; write 29 %%, 32..55 %% or 1319 s, or compare in ours", text)
	}
	_, decimals, _ := strings.Cut(to, ".")
	// The digits behind the point say how exactly the paper prints the figure.
	q.decimals = len(decimals)
	if strings.TrimSpace(q.unit) == "%" {
		q.percent = true
		// Runs give fractions, so percentages are compared as fractions.
		q.least, q.most = q.least/100, q.most/100
	}
	return q, nil
}

// half returns half a unit of the last digit.
func (q *quantity) half() float64 {
	h := 0.5 * math.Pow10(-q.decimals)
	if q.percent {
		h /= 100
	}
	return h
}

// widest returns the widest band that a figure may have: the range that the paper prints,
// or a quarter of its number on each side.
func (q *quantity) widest() (least, most float64) {
	if q.least != q.most {
		return q.least, q.most
	}
	quarter := math.Abs(q.least) / 4
	return q.least - quarter, q.least + quarter
}

// digits writes a number with the paper's digits, without the unit; whole numbers below
// 100 and percentages get one digit more.
func (q *quantity) digits(n float64) string {
	decimals := q.decimals
	if q.percent {
		n *= 100
		decimals = max(decimals, 1)
	}
	if decimals == 0 && n != math.Trunc(n) && math.Abs(n) < 100 {
		decimals = 1
	}
	return strconv.FormatFloat(n, 'f', decimals, 64)
}

// bound writes an end of a band without the unit, with all digits that it needs.
func (q *quantity) bound(n float64) string {
	if q.percent {
		n *= 100
	}
	return strconv.FormatFloat(math.Round(n*1e6)/1e6, 'f', -1, 64)
}
