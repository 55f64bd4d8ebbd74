package bench

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"mrlocal/workload"
)

// Verdict says how well a figure of ours agrees with the paper's.
type Verdict uint8

// Verdicts, the best first.
const (
	Exact      Verdict = iota // the paper's figure, to its last digit
	Within                    // in the band that the workload file states
	Calibrated                // one of these two or a comparison that holds, but constants, settings or its wording were fitted to it
	Same                      // out of the band, on the same side of no change; or a comparison that holds
	Differs                   // none of these
)

// verdictWords are the words of the verdicts in tables, by Verdict.
var verdictWords = [...]string{"exact", "within the band", "calibrated", "same direction", "differs"}

func (v Verdict) String() string { return verdictWords[v] }

// Line is a figure with its verdict.
type Line struct {
	What, Target, Paper, Ours string
	Verdict                   Verdict
	Band, Because             string // the band in words, and the reason; "": none is given
	Held, Seeds               int    // of Seeds seeds, Held come out as well or better; of a figure that Differs, so many do not; 0 of 0: there is one seed
}

// against counts the verdict of another seed.
func (l *Line) against(v Verdict) {
	l.Seeds++
	// A verdict as good as the first one, or better, counts. If the first one is Differs, every
	// other verdict counts.
	if v <= min(l.Verdict, Same) {
		l.Held++
	}
}

// judge compares the result of a figure's expression with the paper's figure.
func judge(f *workload.Figure, r *relation) (Line, error) {
	// The line keeps the words of the file; the verdict is added.
	l := Line{What: f.What, Target: f.Target, Paper: f.Paper}
	// A comparison holds or not; a number is measured against the paper's.
	if len(r.signs) > 0 {
		l.compare(f, r)
		return l, nil
	}
	ours, err := r.sides[0].one()
	if err != nil {
		return l, err
	}
	paper, err := parseQuantity(f.Paper)
	if err != nil {
		return l, err
	}
	return l, l.measure(f, &paper, ours)
}

// compare judges a comparison, which holds or does not.
func (l *Line) compare(f *workload.Figure, r *relation) {
	l.Ours = r.String()
	switch {
	case !r.holds:
		l.Verdict = Differs
	// A figure that something was fitted to shows only that the model can give it.
	case f.Fitted:
		l.Verdict = Calibrated
	// An equation that holds is exact.
	case !slices.ContainsFunc(r.signs, func(s string) bool { return s != "==" }):
		l.Verdict = Exact
	default:
		l.Verdict = Same
	}
	l.because(f)
}

// measure judges a number.
func (l *Line) measure(f *workload.Figure, paper *quantity, ours float64) error {
	l.Ours = paper.format(ours)
	// Without a band of its own, the range of the paper is the band.
	band := *paper
	if f.Band != nil {
		least, err := parseQuantity(f.Band[0])
		if err != nil {
			return err
		}
		most, err := parseQuantity(f.Band[1])
		if err != nil {
			return err
		}
		// A bound may be a number with a unit, as the figure of the paper.
		band.least, band.most = least.least, most.most
	}
	// said is the band in words. An exact figure needs none.
	said := fmt.Sprintf("%s to %s", band.format(band.least), band.format(band.most))
	switch {
	// The paper rounds its figure, so ours may be off by half a unit of the last digit. A range
	// is never exact.
	case paper.least == paper.most && math.Abs(ours-paper.least) <= paper.half()+1e-9:
		l.Verdict = Exact
		said = ""
	case band.least <= ours && ours <= band.most:
		l.Verdict = Within
	default:
		// Out of the band, a figure may still have the paper's direction.
		same, err := l.sameSide(f, paper, ours)
		if err != nil {
			return err
		}
		l.Verdict = Differs
		if same {
			l.Verdict = Same
		}
	}
	// Fitting is no excuse for a figure outside of the band.
	if f.Fitted && l.Verdict <= Within {
		l.Verdict = Calibrated
	}
	if said != "" && l.Verdict != Within { // whose own words end with "the band"
		said = "band " + said
	}
	l.Band = said
	l.because(f)
	return nil
}

// sameSide reports whether the paper's figure and ours are on the same side of the
// value that means no change (beyond).
func (l *Line) sameSide(f *workload.Figure, paper *quantity, ours float64) (bool, error) {
	// Without such a value a number has no direction.
	if f.Beyond == "" {
		return false, nil
	}
	b, err := parseQuantity(f.Beyond)
	// The product is positive if both lie above the value, or both below.
	return (ours-b.least)*(paper.least-b.least) > 0, err
}

// because sets the reason that the file gives. A figure that Differs must have one.
func (l *Line) because(f *workload.Figure) {
	l.Because = f.Because
	if l.Because == "" && l.Verdict == Differs {
		l.Because = "not explained"
	}
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

// format writes a number with the paper's digits and unit; whole numbers below 100
// and percentages get one digit more.
func (q *quantity) format(n float64) string {
	decimals := q.decimals
	if q.percent {
		n *= 100
		decimals = max(decimals, 1)
	}
	if decimals == 0 && n != math.Trunc(n) && math.Abs(n) < 100 {
		decimals = 1
	}
	return strconv.FormatFloat(n, 'f', decimals, 64) + q.unit
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
