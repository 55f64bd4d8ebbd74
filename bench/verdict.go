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

// Verdict is the result of comparing our figure with the paper's, as all formats have it.
type Verdict string

// These are the verdicts. Line.Ours says whether a comparison is true, and not the verdict.
const (
	Exact   Verdict = "exact"   // a run computed the paper's figure, to its last digit
	Inside  Verdict = "inside"  // our figure is in the band, with its whole 95 % interval
	Outside Verdict = "outside" // our figure or a part of its interval is outside of the band, or it is not built
	Words   Verdict = "words"   // the paper compares in words
	Checked Verdict = "check"   // the figure is not a result but a check, and it agrees
)

// Direction says whether our figure is on the same side of the value of no change as the paper's
// figure. For a comparison it says whether its sides are in the paper's order. All formats have the word.
type Direction string

// These are the directions.
const (
	None     Direction = "none"     // the figure has no direction, or the interval contains the value of no change
	Same     Direction = "same"     // as the paper's
	Opposite Direction = "opposite" // opposite to the paper's
)

// Line is a figure with its verdict. Numbers are in the unit of the paper's figure, and are written
// without the unit. CSV has fewer fields than JSON.
type Line struct {
	Experiment string    `json:"experiment"`
	What       string    `json:"figure"`
	Paper      string    `json:"paper"`
	Ours       Cell      `json:"ours"` // a number; true or false for a comparison; "": the figure is not built
	Low        Cell      `json:"low"`  // the least value of the band; "": a comparison, or the band is withdrawn
	High       Cell      `json:"high"` // the most value of the band
	Verdict    Verdict   `json:"verdict"`
	Fitted     bool      `json:"fitted"`
	Seeds      int       `json:"seeds"`  // number of seeds of which Ours is the mean
	Reason     string    `json:"reason"` // the reason of an open line; "": the line is not open
	Direction  Direction `json:"direction"`
	CILow      Cell      `json:"ci_low"` // 95 % interval of Ours, or of the smallest margin of a comparison; "": one seed
	CIHigh     Cell      `json:"ci_high"`
	Withdrawn  string    `json:"withdrawn"` // the band, limit or wording that no longer counts; "": none
	Check      string    `json:"check"`     // as in workload.Figure; CSV has no figures that are checks
	Shown      string    `json:"shown"`     // Ours for users: with its unit, or with the sides of a comparison
	Claim      string    `json:"claim"`     // the claim of docs/papers that the figure shows; "": none
	Because    string    `json:"because"`   // the reason in the file, also if the line is not open
	Isolated   string    `json:"isolated"`  // the results with each change, from Isolate; "": no changes
}

// Cell is a number, true, false or nothing (""), as text.
type Cell string

// MarshalJSON returns the number, the truth value, or null for "".
func (c Cell) MarshalJSON() ([]byte, error) {
	if c == "" {
		return []byte("null"), nil
	}
	return []byte(c), nil
}

// UnmarshalJSON keeps the text of a number or a truth value. It reads null as "".
func (c *Cell) UnmarshalJSON(text []byte) error {
	*c = Cell(text)
	if string(text) == "null" {
		*c = ""
	}
	return nil
}

// Open reports whether the line is open: our figure is outside, or the comparison is false. An open
// line needs a reason.
func (l *Line) Open() bool { return l.Verdict == Outside || l.Ours == "false" }

// explain sets the reason of an open line to that of the file. If the file has none, the reason may be
// that fewer seeds were run than the file has.
func (l *Line) explain(seeds int) {
	switch {
	case !l.Open():
	case l.Because == "" && l.Seeds < seeds:
		l.Reason = fmt.Sprintf("judged by %d of %d seeds only", l.Seeds, seeds)
	default:
		l.Reason = l.Because
	}
}

// check fails if the band of a figure breaks a rule. A band must not be wider than the range that the
// paper prints, or than 25 % of its number on each side. A comparison has no band. A figure whose
// band is withdrawn has none either.
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
	// The file may round its bounds to the paper's last digit.
	from, to := paper.widest()
	if round := 2 * paper.half(); least > most || least < from-round || most > to+round {
		return fmt.Errorf("the band %s to %s is wider than %s to %s: the paper's range, or 25 %% of its figure", paper.bound(least), paper.bound(most), paper.bound(from), paper.bound(to))
	}
	return nil
}

// bandless reports whether the band of a figure is withdrawn.
func bandless(f *workload.Figure) bool { return strings.HasPrefix(f.Withdrawn, "the band") }

// band returns the band of a figure in the file, or the widest band if the file has none.
func band(f *workload.Figure, paper *quantity) (least, most float64, err error) {
	least, most = paper.widest()
	if f.Band == nil {
		return least, most, nil
	}
	from, err := parseQuantity(f.Band[0])
	if err != nil {
		return 0, 0, err
	}
	to, err := parseQuantity(f.Band[1])
	return from.least, to.most, err
}

// judge compares our figure with the paper's. all has the results of its expression, by seed. mean
// is the result of the expression with the means of all metrics over the seeds.
func judge(f *workload.Figure, all []relation, mean *relation) (l Line, err error) {
	l = Line{What: f.What, Claim: f.Target, Paper: f.Paper, Fitted: f.Fitted, Withdrawn: f.Withdrawn, Because: f.Because, Check: f.Check, Seeds: len(all), Direction: None}
	switch {
	case f.Ours == "":
		err = l.unbuilt(f)
	case len(mean.signs) > 0:
		l.compare(all, mean)
	default:
		var sample []float64
		for i := range all {
			ours, err := all[i].sides[0].one()
			if err != nil {
				return l, err
			}
			sample = append(sample, ours)
		}
		err = l.measure(f, stats.IntervalOf(sample), mean.atEnd)
	}
	if f.Check != "" && !l.Open() {
		l.Verdict = Checked
	}
	return l, err
}

// unbuilt judges a figure that is not built.
func (l *Line) unbuilt(f *workload.Figure) error {
	l.Verdict, l.Shown = Outside, "not built"
	paper, err := parseQuantity(f.Paper)
	if err != nil {
		return nil // the paper compares in words, so there is no band
	}
	least, most, err := band(f, &paper)
	l.Low, l.High = Cell(paper.bound(least)), Cell(paper.bound(most))
	return err
}

// compare judges a comparison. Each margin has a value for each seed, and so a 95 % interval. The
// comparison is true if all these intervals are above 0; an interval of a sign that is not strict may
// touch 0.
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
		// The interval that is nearest to being false represents the comparison.
		if d.Low < closest.Low {
			closest = d
		}
	}
	l.Verdict, l.Ours = Words, Cell(strconv.FormatBool(holds))
	l.Shown = string(l.Ours) + ": " + shownSides(all)
	switch {
	case holds:
		l.Direction = Same
	// The sides of == have no order, so they have no opposite direction.
	case reversed && !slices.Contains(mean.signs, "=="):
		l.Direction = Opposite
	}
	if len(all) > 1 {
		l.CILow, l.CIHigh = Cell(short(closest.Low)), Cell(short(closest.High))
	}
}

// measure judges a number. ours is its mean and interval. atEnd is as in relation.
func (l *Line) measure(f *workload.Figure, ours stats.Interval, atEnd bool) error {
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
	inside := least-1e-9 <= ours.Low && ours.High <= most+1e-9
	switch {
	// A number that has no band is never inside. If the smallest number is at an end of the sweep, there
	// may be a smaller one beyond it.
	case bandless(f), atEnd, !inside:
	// The paper rounds its figure, so ours may differ by half a unit of the last digit. A range is
	// never exact.
	case paper.least == paper.most && math.Abs(ours.Mean-paper.least) <= paper.half()+1e-9:
		l.Verdict = Exact
	default:
		l.Verdict = Inside
	}
	if !bandless(f) {
		l.Low, l.High = Cell(paper.bound(least)), Cell(paper.bound(most))
	}
	l.Direction, err = direction(f, &paper, &ours)
	return err
}

// direction returns the direction of a number: whether our whole interval is on the paper's side of
// f.Beyond. Without f.Beyond it is None.
func direction(f *workload.Figure, paper *quantity, ours *stats.Interval) (Direction, error) {
	if f.Beyond == "" {
		return None, nil
	}
	b, err := parseQuantity(f.Beyond)
	low, high := ours.Low-b.least, ours.High-b.least
	// Mirrored, so that the paper's side is above 0 in both cases.
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

// shownSides returns the sides of a comparison with the signs between them: 626 < 634, 5 to 9 > 3. A
// list is shown as its range. all has the comparison by seed, and each number is a mean over the seeds.
func shownSides(all []relation) string {
	var b strings.Builder
	for i := range all[0].sides {
		if i > 0 {
			b.WriteString(" " + all[0].signs[i-1] + " ")
		}
		var least, most float64
		for k := range all {
			least += slices.Min(all[k].sides[i].v) / float64(len(all))
			most += slices.Max(all[k].sides[i].v) / float64(len(all))
		}
		b.WriteString(short(least))
		if short(least) != short(most) {
			b.WriteString(" to " + short(most))
		}
	}
	return b.String()
}

// short returns a number for users. It has three decimals, less one for each digit before the point,
// and no zeros at its end.
func short(n float64) string {
	decimals := 3
	for limit := 1.0; decimals > 0 && math.Abs(n) >= limit; limit *= 10 {
		decimals--
	}
	text := strconv.FormatFloat(n, 'f', decimals, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	// A small negative number rounds to -0.
	if text == "-0" {
		return "0"
	}
	return text
}

// quantity is a number or a range that the paper prints.
type quantity struct {
	least, most float64 // equal for a number; percentages are fractions
	decimals    int     // decimals that the paper prints
	percent     bool
	unit        string // with the space before it, or ""
}

// parseQuantity reads a number or a range with its unit, such as 29 %, 32..55 % or 1319 s. It fails
// for any other text.
func parseQuantity(text string) (q quantity, err error) {
	digits := text
	if i := strings.IndexFunc(text, func(r rune) bool { return r != '.' && r != '-' && !unicode.IsDigit(r) }); i >= 0 {
		digits, q.unit = text[:i], text[i:]
	}
	from, to, several := strings.Cut(digits, "..")
	if !several {
		to = from
	}
	q.least, err = strconv.ParseFloat(from, 64)
	if err == nil {
		q.most, err = strconv.ParseFloat(to, 64)
	}
	if err != nil {
		return q, fmt.Errorf("%q is not a number; write 29 %%, 32..55 %% or 1319 s, or compare in ours", text)
	}
	_, decimals, _ := strings.Cut(to, ".")
	q.decimals = len(decimals)
	if strings.TrimSpace(q.unit) == "%" {
		q.percent = true
		// Metrics are fractions.
		q.least, q.most = q.least/100, q.most/100
	}
	return q, nil
}

// half returns half a unit of the last digit that the paper prints.
func (q *quantity) half() float64 {
	h := 0.5 * math.Pow10(-q.decimals)
	if q.percent {
		h /= 100
	}
	return h
}

// widest returns the widest band that a figure may have: the range that the paper prints, or its
// number with 25 % on each side.
func (q *quantity) widest() (least, most float64) {
	if q.least != q.most {
		return q.least, q.most
	}
	quarter := math.Abs(q.least) / 4
	return q.least - quarter, q.least + quarter
}

// digits returns a number with the paper's decimals and without the unit. If the paper prints no
// decimals, percentages and numbers below 100 have one.
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

// bound returns an end of a band without the unit, with at most six decimals.
func (q *quantity) bound(n float64) string {
	if q.percent {
		n *= 100
	}
	return strconv.FormatFloat(math.Round(n*1e6)/1e6, 'f', -1, 64)
}
