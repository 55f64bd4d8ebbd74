package study

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"mrlocal/internal/errs"
	"mrlocal/internal/inorder"
	"mrlocal/internal/stats"
	"mrlocal/slots/report"
	"mrlocal/view/svg"
)

// Names of figures that the code looks up. speedup is not a metric, because it compares two runs.
const (
	makespan   = "makespan_s"
	meanJob    = "mean_job_s"
	failedJobs = "failed_jobs"
	speedup    = "speedup"
)

// metricAt returns the index of the metric of that name in a sample, or -1 if there is none.
func metricAt(name string) int {
	return slices.IndexFunc(report.Metrics(), func(m report.Metric) bool { return m.Name == name })
}

// Study holds the figures of all runs of a sweep.
//
// A cell is a row of its table: a policy in a configuration, with a run for each seed. Cells are
// numbered in the order of the plan, from 0.
type Study struct {
	*Plan
	samples [][]float64 // by the number of the run in the plan: its figures, in the order of report.Metrics
}

// finished is a run that has ended. run is its number in the plan.
type finished struct {
	run    int
	report *report.Report
	notes  []string
	err    error
}

// Study makes all runs that results does not have, on a number of workers, and returns the figures
// of all runs. note gets the notes of each new run, and keep gets its report, both in the order of the plan.
// results and keep may be nil. The first error in this order ends the study, and no further run starts.
// results keeps the runs before it.
func (p *Plan) Study(ctx context.Context, workers int, results *Results, simulate Simulate, note func(string), keep func(*report.Report)) (*Study, error) {
	s := &Study{p, make([][]float64, p.Runs())}
	failed := 0
	for run := range s.samples {
		if s.samples[run] = results.sample(p.Trial(run)); s.samples[run] != nil && s.failedRun(run) {
			failed++
		}
	}
	if failed > 0 {
		note(fmt.Sprintf("--results: in %s of the file jobs did not succeed", errs.Counted(failed, "run")))
	}
	missing := func(yield func(*finished) bool) {
		for run := range s.samples {
			if s.samples[run] == nil && !yield(&finished{run: run}) {
				return
			}
		}
	}
	simulated := func(ctx context.Context, f *finished) {
		t := p.Trial(f.run)
		f.report, f.notes, f.err = simulate(ctx, t)
		f.err = p.in(t, f.err)
	}
	return s, inorder.Each(ctx, workers, 4*workers-3, missing, simulated, func(f *finished) error {
		if f.err != nil {
			return f.err
		}
		for _, text := range f.notes {
			note(text)
		}
		if keep != nil {
			keep(f.report)
		}
		s.samples[f.run] = figures(report.Metrics(), func(m report.Metric) float64 { return m.Of(f.report) })
		return results.add(s, f.run, f.report)
	})
}

// Failed reports whether jobs of any run did not succeed, in runs of the results file too.
func (s *Study) Failed() bool {
	return slices.ContainsFunc(s.samples, func(x []float64) bool { return x[metricAt(failedJobs)] > 0 })
}

// Vary reports whether the makespan or the mean job time of any cell depends on the seed.
func (s *Study) Vary() bool {
	for run, x := range s.samples {
		first := s.samples[run/s.seeds*s.seeds]
		if x[metricAt(makespan)] != first[metricAt(makespan)] || exact(x[metricAt(meanJob)]) != exact(first[metricAt(meanJob)]) {
			return true
		}
	}
	return false
}

// failedRun reports whether jobs of the run did not succeed.
func (s *Study) failedRun(run int) bool { return s.samples[run][metricAt(failedJobs)] > 0 }

// failed reports whether jobs of a run of the cell did not succeed.
func (s *Study) failed(cell int) bool { return slices.Max(s.figures(cell, failedJobs)) > 0 }

// comparable reports whether the figures of a cell can be compared with those of its base. They
// cannot if jobs of one of the two failed, because less work was done.
func (s *Study) comparable(cell int) bool { return !s.failed(cell) && !s.failed(s.base(cell)) }

// figures returns one figure of all runs of a cell, in the order of the seeds. name is that of a metric,
// or speedup.
func (s *Study) figures(cell int, name string) (all []float64) {
	metric := metricAt(name)
	for run := cell * s.seeds; run < (cell+1)*s.seeds; run++ {
		if metric < 0 {
			all = append(all, s.speedup(run))
		} else {
			all = append(all, s.samples[run][metric])
		}
	}
	return all
}

// speedup returns T0/T1 - 1 for a run. T1 is its makespan, and T0 that of the run of its base with the
// same seed. If T1 is 0, the speedup is 0. If jobs of one of the two runs failed, it is NaN: less work
// was done.
func (s *Study) speedup(run int) float64 {
	base := s.base(run/s.seeds)*s.seeds + run%s.seeds
	t0, t1 := s.samples[base][metricAt(makespan)], s.samples[run][metricAt(makespan)]
	switch {
	case s.failedRun(run) || s.failedRun(base):
		return math.NaN()
	case t1 == 0:
		return 0
	}
	return t0/t1 - 1
}

// base returns the cell with which a cell is compared: the first policy in the same configuration. With
// one policy only, it is the first configuration.
func (s *Study) base(cell int) int {
	if n := len(s.policies); n > 1 {
		return cell / n * n
	}
	return 0
}

// against names the base of the speedups.
func (s *Study) against() string {
	if len(s.policies) > 1 {
		return s.policies[0] + " in the same configuration"
	}
	return strings.Join(s.settings(s.Trial(0), true), ", ")
}

// difference returns the mean difference of a metric of a cell from that of its base, with its
// interval. Runs with the same seed are paired.
func (s *Study) difference(cell int, name string) stats.Interval {
	return stats.IntervalOfDifferences(s.figures(cell, name), s.figures(s.base(cell), name))
}

// column is a column of the tables of a study.
type column struct {
	title, figure string
	unit          string // s, % or nothing
}

// text formats a mean with half the width of its interval, as 12.3 ± 0.4s. If the interval has no width,
// it formats the mean alone: a percentage with one decimal, anything else with at most three. NaN is
// shown as -.
func (c *column) text(x stats.Interval) string {
	scale := 1.0
	if c.unit == "%" {
		scale = 100
	}
	half := scale * (x.High - x.Low) / 2
	switch {
	case math.IsNaN(x.Mean):
		return "-"
	case half == 0 && c.unit == "%":
		return fmt.Sprintf("%.1f%%", scale*x.Mean)
	case half == 0:
		return number(math.Round(1000*x.Mean)/1000) + c.unit
	}
	// The half has two significant digits. The mean has as many decimals, because further ones are not
	// certain.
	digits := max(0, min(6, 1-int(math.Floor(math.Log10(half)))))
	return fmt.Sprintf("%.*f"+errs.Sticky+"±"+errs.Sticky+"%.*f%s", digits, scale*x.Mean, digits, half, c.unit)
}

// Table returns a table for errs.Fit: a row for each cell, with means and intervals. With several seeds
// and cells, a table of the paired differences from the base follows. With one seed the table has the
// speedups, and a line on the best row.
func (s *Study) Table() []byte {
	columns := []column{
		{"makespan", makespan, "s"}, {"speedup", speedup, "%"}, {"mean job time", meanJob, "s"}, {"utilisation", "utilisation", "%"}, {"moves", "moves", ""}, {"fairness (Jain)", "jain", ""},
		{"missed", "deadlines_missed", ""}, {"tardiness", "mean_tardiness_s", "s"}, {"slowdown", "mean_slowdown", ""}, {"failed jobs", failedJobs, ""},
	}
	// The table of differences says more than speedups. Each of the last four columns is left out if all its
	// values are 0, as without deadlines.
	columns = slices.DeleteFunc(columns, func(c column) bool {
		switch i := metricAt(c.figure); c.figure {
		case speedup:
			return s.seeds > 1
		case "deadlines_missed", "mean_tardiness_s", "mean_slowdown", failedJobs:
			return !slices.ContainsFunc(s.samples, func(x []float64) bool { return x[i] > 0 })
		}
		return false
	})
	var b bytes.Buffer
	s.rows(&b, columns, true, func(cell int, c *column) string { return c.text(stats.IntervalOf(s.figures(cell, c.figure))) })
	if s.seeds == 1 {
		fmt.Fprintf(&b, "speedup: T0/T1 - 1 against %s\n%s", s.against(), s.best())
		return b.Bytes()
	}
	fmt.Fprintf(&b, "means of %d seeds, %d to %d, with 95 %% intervals (Student's t)\n", s.seeds, s.first, s.first+uint64(s.seeds)-1)
	if s.cells() > 1 {
		s.differences(&b)
	}
	return b.Bytes()
}

// best returns a line that names the cell with the shortest makespan. It also says by how much this
// makespan is shorter than the next one and than that of the first cell. Of equal cells the first is
// best. Cells with failed jobs do not count. With one cell, there is no such line.
func (s *Study) best() string {
	if s.cells() < 2 {
		return ""
	}
	time := func(cell int) float64 { return s.figures(cell, makespan)[0] }
	var good []int
	for cell := range s.cells() {
		if !s.failed(cell) {
			good = append(good, cell)
		}
	}
	if len(good) == 0 {
		return "best: none, jobs of every row failed\n"
	}
	slices.SortStableFunc(good, func(a, b int) int { return cmp.Compare(time(a), time(b)) })
	least := time(good[0])
	// next is the index in good of the first cell that takes longer than the best.
	next := slices.IndexFunc(good, func(cell int) bool { return time(cell) > least })
	equal := next
	if next < 0 {
		equal = len(good)
	}
	text := fmt.Sprintf("best: %s, %ss", s.Of(s.Trial(good[0])), number(math.Round(1000*least)/1000))
	if equal > 1 {
		text += fmt.Sprintf(" (%s as short)", errs.Counted(equal-1, "other row"))
	}
	switch failed := s.cells() - len(good); {
	case next >= 0:
		text += fmt.Sprintf("; %.1f%% shorter than the next", 100*(1-least/time(good[next])))
		if !s.failed(0) && time(0) > least {
			text += fmt.Sprintf(", %.1f%% shorter than the first row", 100*(1-least/time(0)))
		}
	case failed == 0:
		text += "; all rows are equal"
	}
	if failed := s.cells() - len(good); failed > 0 {
		text += fmt.Sprintf("; without %s with failed jobs", errs.Counted(failed, "row"))
	}
	return text + "\n"
}

// differences writes a table of the differences of each cell from its base.
func (s *Study) differences(b *bytes.Buffer) {
	against := s.policies[0]
	if len(s.policies) == 1 {
		against = s.Of(s.Trial(0))
	}
	fmt.Fprintf(b, "\ndifferences from %s, paired by seed, with 95 %% intervals\n", against)
	columns := []column{{"makespan", makespan, "s"}, {"mean job time", meanJob, "s"}, {"fairness (Jain)", "jain", ""}}
	s.rows(b, columns, false, s.verdict)
}

// rows writes a table with a row for each cell: the swept values, the policy, and the columns, whose text it
// gets from of. bases says whether cells with which others are compared have rows.
func (s *Study) rows(b *bytes.Buffer, columns []column, bases bool, of func(cell int, c *column) string) {
	titles := figures(columns, func(c column) string { return c.title })
	fmt.Fprintln(b, strings.Join(slices.Concat(s.names, []string{"policy"}, titles), "\t"))
	for cell := range s.cells() {
		if !bases && cell == s.base(cell) {
			continue
		}
		t := s.Trial(cell * s.seeds)
		texts := figures(columns, func(c column) string { return of(cell, &c) })
		fmt.Fprintln(b, strings.Join(slices.Concat(t.Words, []string{t.Policy}, texts), "\t"))
	}
}

// verdict formats the difference of a metric of a cell from its base. To seconds it adds the
// percentage. If the interval of the difference has 0 in it, the verdict is "no difference".
func (s *Study) verdict(cell int, c *column) string {
	if !s.comparable(cell) {
		return "-"
	}
	d, base := s.difference(cell, c.figure), stats.IntervalOf(s.figures(s.base(cell), c.figure))
	if d.Has(0) {
		return "no difference"
	}
	text := c.text(d)
	if d.Mean > 0 {
		text = "+" + text
	}
	if c.unit == "s" && base.Mean != 0 {
		text += fmt.Sprintf(" (%+.1f%%)", 100*d.Mean/base.Mean)
	}
	return text
}

// header returns the names of the columns of a run in CSV: the settings, the policy, the seed, and all
// metrics.
func (p *Plan) header() []string {
	return slices.Concat(p.names, []string{"policy", "seed"}, figures(report.Metrics(), func(m report.Metric) string { return m.Name }))
}

// identity returns the first words of a run in CSV, those before its figures. They tell runs apart.
func (t *Trial) identity() []string {
	return append(slices.Clone(t.Words), t.Policy, strconv.FormatUint(t.Seed, 10))
}

// row returns a run as a row of CSV, with the columns of header.
func (s *Study) row(run int) []string {
	t := s.Trial(run)
	return append(t.identity(), figures(s.samples[run], exact)...)
}

// CSV returns a header and a row for each run: the columns of header, and the speedup.
func (s *Study) CSV() []byte {
	rows := [][]string{append(s.header(), speedup)}
	for run := range s.samples {
		rows = append(rows, append(s.row(run), exact(s.speedup(run))))
	}
	return csvText(rows)
}

// csvText returns rows as CSV.
func csvText(rows [][]string) []byte {
	var b bytes.Buffer
	_ = csv.NewWriter(&b).WriteAll(rows) // into memory
	return b.Bytes()
}

// exact formats x with the fewest digits from which ParseFloat gets exactly x again. It returns "" for
// NaN.
func exact(x float64) string {
	if math.IsNaN(x) {
		return ""
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// number formats v with as many decimals as it needs, at most six. It returns "" for NaN.
func number(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return strconv.FormatFloat(math.Round(v*1e6)/1e6, 'f', -1, 64)
}

// studyJSON is the form of the --json file.
type studyJSON struct {
	Schema   int        `json:"schema"`
	Kind     string     `json:"kind"` // "study"
	Workload string     `json:"workload"`
	Seeds    []uint64   `json:"seeds"`
	Cells    []cellJSON `json:"cells"`
}

// cellJSON is one cell of the study.
type cellJSON struct {
	Settings map[string]string     `json:"settings"` // the swept values, by flag
	Policy   string                `json:"policy"`
	Metrics  map[string]figureJSON `json:"metrics"`
}

// figureJSON is the mean of a metric over the seeds, with its 95 % interval. Difference is nil if
// the cell is its own base, if there is only one seed, and if jobs of one of the two failed.
type figureJSON struct {
	stats.Interval
	BySeed     []float64       `json:"by_seed"`
	Difference *differenceJSON `json:"difference,omitempty"`
}

// differenceJSON is the mean difference from the base, paired by seed, with its 95 % interval.
type differenceJSON struct {
	stats.Interval
	Differs bool `json:"differs"` // 0 lies outside of the interval
}

// WriteJSON writes all metrics of all cells to w, as studyJSON, without those that are NaN for some
// seed. file is the name of the workload file. It returns the error of w.
func (s *Study) WriteJSON(w io.Writer, file string) error {
	out := studyJSON{Schema: 1, Kind: "study", Workload: file, Cells: []cellJSON{}}
	for i := range s.seeds {
		out.Seeds = append(out.Seeds, s.first+uint64(i))
	}
	for cell := range s.cells() {
		t := s.Trial(cell * s.seeds)
		c := cellJSON{Settings: map[string]string{}, Policy: t.Policy, Metrics: map[string]figureJSON{}}
		for i, name := range s.names {
			c.Settings[name] = t.Words[i]
		}
		for _, m := range report.Metrics() {
			x := stats.IntervalOf(s.figures(cell, m.Name))
			if math.IsNaN(x.Mean) {
				continue
			}
			f := figureJSON{Interval: x, BySeed: s.figures(cell, m.Name)}
			// An interval of differences needs at least two seeds.
			if cell != s.base(cell) && s.seeds > 1 && s.comparable(cell) {
				d := s.difference(cell, m.Name)
				f.Difference = &differenceJSON{d, !d.Has(0)}
			}
			c.Metrics[m.Name] = f
		}
		out.Cells = append(out.Cells, c)
	}
	return WriteJSON(w, out)
}

// Ys returns the values of -y: what Chart can draw.
func Ys() []string {
	all := []string{"makespan", speedup, "utilisation", "moves", "mean-job", "missed", "tardiness"}
	for _, m := range report.Metrics() {
		if !slices.Contains(all, m.Name) {
			all = append(all, m.Name)
		}
	}
	return all
}

// drawn returns the name of an axis for one of Ys, and a function that returns its mean in a cell. ok is false if a
// cell has none: it has failed jobs, and y is not their number. y is "" for the speedup over shares, else the makespan.
func (s *Study) drawn(y string) (name string, mean func(cell int) (m stats.Interval, ok bool)) {
	switch short := map[string]string{"": makespan, "makespan": makespan, "mean-job": meanJob, "missed": "deadlines_missed", "tardiness": "mean_tardiness_s"}; {
	case y == "" && len(s.dimensions) > 0 && s.dimensions[s.x].Share:
		y = speedup // as the paper [DHFS13, Fig. 6]
	case short[y] != "":
		y = short[y]
	}
	name = "speedup against " + s.against() + " (%)"
	if y != speedup {
		name = report.Metrics()[metricAt(y)].Title
	}
	return name, func(cell int) (stats.Interval, bool) {
		values := s.figures(cell, y)
		for i := range values {
			if y == speedup {
				values[i] *= 100
			}
		}
		return stats.IntervalOf(values), (!s.failed(cell) || y == failedJobs) && !slices.ContainsFunc(values, math.IsNaN)
	}
}

// Chart returns a chart of one figure: a line for each series, with a band of the 95 % intervals if there
// are several seeds. A series is a policy with a value of each dimension except that of the x axis. y is
// one of Ys or "". Without a swept value, the x axis has the policies.
func (s *Study) Chart(heading, y string) *svg.Chart {
	name, mean := s.drawn(y)
	c := &svg.Chart{Title: heading, XName: "policy", YName: name}
	for cell := range s.cells() {
		m, ok := mean(cell)
		if !ok {
			continue
		}
		t := s.Trial(cell * s.seeds)
		// Without a swept value, each policy is a point at its index.
		p := svg.Point{X: float64(cell % len(s.policies)), Y: m.Mean}
		series := t.Policy
		if len(s.dimensions) > 0 {
			x := &s.dimensions[s.x]
			word := t.Words[s.column(s.x)]
			c.XName, series = title(x.Name), s.series(t)
			var ok bool
			if p.X, ok = coordinate(word); !ok {
				p.X = float64(slices.IndexFunc(x.values, func(v []string) bool { return v[0] == word }))
			}
		}
		c.Add(series, p)
		if s.seeds > 1 {
			c.AddBand(series, svg.Band{X: p.X, Low: m.Low, High: m.High})
		}
	}
	return c
}

// Heat returns a heat map of one figure over the two settings of a sweep, with a panel for each policy. y is one of Ys
// or "". The plan must sweep two settings.
func (s *Study) Heat(heading, y string) *svg.Heat {
	name, mean := s.drawn(y)
	across, up := &s.dimensions[0], &s.dimensions[1]
	words := func(values []string) string { return values[0] }
	h := &svg.Heat{Title: heading, Name: name, XName: title(across.Name), YName: title(up.Name), Panels: s.policies, Xs: figures(across.values, words), Ys: figures(up.values, words)}
	for cell := range s.cells() {
		t := s.Trial(cell * s.seeds)
		if m, ok := mean(cell); ok {
			h.Cells = append(h.Cells, svg.HeatCell{Panel: cell % len(s.policies), X: slices.Index(h.Xs, t.Words[s.column(0)]), Y: slices.Index(h.Ys, t.Words[s.column(1)]), Value: m.Mean})
		}
	}
	return h
}

// series returns the name of the series of a run. The name has the values of all dimensions but the x
// axis, and, if there are several policies or one dimension, the policy.
func (p *Plan) series(t Trial) string {
	parts := p.settings(t, false)
	if len(p.policies) > 1 || len(p.dimensions) == 1 {
		parts = append([]string{t.Policy}, parts...)
	}
	return strings.Join(parts, ", ")
}
