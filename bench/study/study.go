package study

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"mrlocal/internal/stats"
	"mrlocal/slots/report"
	"mrlocal/view/svg"
)

// sampleOf returns the figures of a run, in the order of report.Metrics. Such a list is called a sample
// here.
func sampleOf(r *report.Report) (all []float64) {
	for _, m := range report.Metrics() {
		all = append(all, m.Of(r))
	}
	return all
}

// failedJobs is the name of the metric that counts the jobs that did not succeed.
const failedJobs = "failed_jobs"

// metricAt returns the index of the metric of that name in a sample, or -1 if there is none.
func metricAt(name string) int {
	return slices.IndexFunc(report.Metrics(), func(m report.Metric) bool { return m.Name == name })
}

// Study holds the figures of all runs of a sweep with seeds or with values of the file (--set).
//
// A cell is a row of its table: a policy in a configuration, with a run for each seed. Cells are
// numbered in the order of the plan, from 0.
type Study struct {
	*Plan
	samples [][]float64 // by the number of the run in the plan
}

// Study makes all runs that results does not have, on all cores, and returns the figures of all runs.
// note gets the notes of each new run, and keep gets its report, both in the order of the plan. results
// and keep may be nil. The first error ends the study, and results keeps the runs before it.
func (p *Plan) Study(ctx context.Context, results *Results, simulate Simulate, note func(string), keep func(*report.Report)) (*Study, error) {
	s := &Study{p, make([][]float64, p.Runs())}
	failed := 0
	for run := range s.samples {
		s.samples[run] = results.sample(p, p.trial(run))
		if x := s.samples[run]; x != nil && x[metricAt(failedJobs)] > 0 {
			failed++
		}
	}
	if failed > 0 {
		note(fmt.Sprintf("--results: in %s of the file jobs did not succeed", count(failed, "run")))
	}
	err := p.each(ctx, func(run int) bool { return s.samples[run] == nil }, simulate, func(f finished) error {
		for _, text := range f.notes {
			note(text)
		}
		if keep != nil {
			keep(f.report)
		}
		s.samples[f.run] = sampleOf(f.report)
		return results.add(p, p.trial(f.run), f.report)
	})
	return s, err
}

// Rows makes all runs on all cores and returns their reports in the order of the plan. note gets the
// notes of each run. The first error ends it.
func (p *Plan) Rows(ctx context.Context, simulate Simulate, note func(string)) ([]SweepRow, error) {
	var rows []SweepRow
	return rows, p.each(ctx, func(int) bool { return true }, simulate, func(f finished) error {
		for _, text := range f.notes {
			note(text)
		}
		rows = append(rows, SweepRow{p.trial(f.run).Configuration, f.report})
		return nil
	})
}

// cells returns the number of cells: configurations times policies.
func (s *Study) cells() int { return len(s.runs) * len(s.policies) }

// Failed reports whether jobs of any run did not succeed, in runs of the results file too.
func (s *Study) Failed() bool {
	return slices.ContainsFunc(s.samples, func(x []float64) bool { return x[metricAt(failedJobs)] > 0 })
}

// failed reports whether jobs of a run of the cell did not succeed.
func (s *Study) failed(cell int) bool { return slices.Max(s.column(cell, metricAt(failedJobs))) > 0 }

// comparable reports whether the figures of a cell can be compared with those of its base. They
// cannot if jobs of one of the two failed, because less work was done.
func (s *Study) comparable(cell int) bool { return !s.failed(cell) && !s.failed(s.base(cell)) }

// column returns one metric of all runs of a cell, in the order of the seeds. metric is an index as in
// metricAt.
func (s *Study) column(cell, metric int) (all []float64) {
	n := max(1, s.seeds)
	for _, sample := range s.samples[cell*n : (cell+1)*n] {
		all = append(all, sample[metric])
	}
	return all
}

// base returns the cell with which a cell is compared: the first policy in the same configuration. With
// one policy only, it is the first configuration.
func (s *Study) base(cell int) int {
	if n := len(s.policies); n > 1 {
		return cell / n * n
	}
	return 0
}

// difference returns the mean difference of a metric of a cell from that of its base, with its
// interval. Runs with the same seed are paired.
func (s *Study) difference(cell, metric int) stats.Interval {
	return stats.IntervalOfDifferences(s.column(cell, metric), s.column(s.base(cell), metric))
}

// words returns the swept values of a cell, then its policy. names has their titles.
func (s *Study) words(cell int) (all []string) {
	t := s.trial(cell * max(1, s.seeds))
	for i := range s.dimensions {
		d := &s.dimensions[i]
		all = append(all, d.word(*d.at(&t.Configuration)))
	}
	return append(all, t.Policy)
}

// names returns the titles of the words of a cell: the names of the flags, and "policy".
func (s *Study) names() (all []string) {
	for i := range s.dimensions {
		all = append(all, s.dimensions[i].flag)
	}
	return append(all, "policy")
}

// plusMinus formats a mean with half the width of its interval, as 12.3 ± 0.4s. Both are multiplied by
// scale. If the interval has no width, it formats the mean alone, with at most three decimals. NaN is
// shown as -.
func plusMinus(x stats.Interval, scale float64, unit string) string {
	if math.IsNaN(x.Mean) {
		return "-"
	}
	half := scale * (x.High - x.Low) / 2
	if half == 0 {
		return number(math.Round(1000*scale*x.Mean)/1000) + unit
	}
	// The half has two significant digits. The mean has as many decimals, because further ones are not
	// certain.
	digits := max(0, min(6, 1-int(math.Floor(math.Log10(half)))))
	return fmt.Sprintf("%.*f ± %.*f%s", digits, scale*x.Mean, digits, half, unit)
}

// Table returns a table for people: a row for each cell, with means and intervals. With several seeds
// and cells, a table of the paired differences from the base follows.
func (s *Study) Table() []byte {
	var b bytes.Buffer
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	type column struct {
		title, metric, unit string
		scale               float64
	}
	columns := []column{
		{"makespan", "makespan_s", "s", 1}, {"mean job time", "mean_job_s", "s", 1}, {"utilisation", "utilisation", "%", 100},
		{"moves", "moves", "", 1}, {"fairness (Jain)", "jain", "", 1}, {"missed", "deadlines_missed", "", 1}, {"tardiness", "mean_tardiness_s", "s", 1}, {"slowdown", "mean_slowdown", "", 1},
		{"failed jobs", failedJobs, "", 1},
	}
	// Each of the last four columns is left out if all its values are 0, as without deadlines.
	columns = append(columns[:5:5], slices.DeleteFunc(columns[5:], func(c column) bool {
		return !slices.ContainsFunc(s.samples, func(x []float64) bool { return x[metricAt(c.metric)] > 0 })
	})...)
	head := s.names()
	for _, c := range columns {
		head = append(head, c.title)
	}
	fmt.Fprintln(t, strings.Join(head, "\t")+"\t")
	for cell := range s.cells() {
		row := s.words(cell)
		for _, c := range columns {
			row = append(row, plusMinus(stats.IntervalOf(s.column(cell, metricAt(c.metric))), c.scale, c.unit))
		}
		fmt.Fprintln(t, strings.Join(row, "\t")+"\t")
	}
	_ = t.Flush() // into memory
	if s.seeds > 1 {
		fmt.Fprintf(&b, "means of %d seeds, %d to %d, with 95 %% intervals (Student's t)\n", s.seeds, s.first, s.first+uint64(s.seeds)-1)
	}
	if s.seeds > 1 && s.cells() > 1 {
		b.WriteByte('\n')
		s.differences(&b)
	}
	return b.Bytes()
}

// differences writes a table of the differences of each cell from its base.
func (s *Study) differences(b *bytes.Buffer) {
	against := s.policies[0]
	if len(s.policies) == 1 {
		against = strings.Join(s.words(0), " ") + " (" + strings.Join(s.names(), ", ") + ")"
	}
	fmt.Fprintf(b, "differences from %s, paired by seed, with 95 %% intervals\n", against)
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, strings.Join(s.names(), "\t")+"\tmakespan\tmean job time\tfairness (Jain)\t")
	for cell := range s.cells() {
		if cell == s.base(cell) {
			continue
		}
		row := s.words(cell)
		for _, name := range []string{"makespan_s", "mean_job_s", "jain"} {
			row = append(row, s.verdict(cell, metricAt(name), strings.HasSuffix(name, "_s")))
		}
		fmt.Fprintln(t, strings.Join(row, "\t")+"\t")
	}
	_ = t.Flush() // into memory
}

// verdict formats the difference of a metric of a cell from its base. If seconds is true, it adds
// the unit and the percentage. If the interval of the difference has 0 in it, the verdict is "no
// difference".
func (s *Study) verdict(cell, metric int, seconds bool) string {
	if !s.comparable(cell) {
		return "-"
	}
	d, base := s.difference(cell, metric), stats.IntervalOf(s.column(s.base(cell), metric))
	if d.Has(0) {
		return "no difference"
	}
	unit, share := "", ""
	if seconds {
		unit = "s"
		if base.Mean != 0 {
			share = fmt.Sprintf(" (%+.1f%%)", 100*d.Mean/base.Mean)
		}
	}
	sign := ""
	if d.Mean > 0 {
		sign = "+"
	}
	return sign + plusMinus(d, 1, unit) + share
}

// CSV returns a header and a row for each run: the swept values, the policy, the seed and all figures.
func (s *Study) CSV() []byte {
	var b bytes.Buffer
	head := append(s.names(), "seed")
	for _, m := range report.Metrics() {
		head = append(head, m.Name)
	}
	b.WriteString(strings.Join(head, ",") + "\n")
	for run, sample := range s.samples {
		t := s.trial(run)
		row := quoted(s.identity(&t, "")[1:]) // without the key
		for _, x := range sample {
			row = append(row, exact(x))
		}
		b.WriteString(strings.Join(row, ",") + "\n")
	}
	return b.Bytes()
}

// quoted puts quotes around those words that need them in CSV. It changes and returns words.
func quoted(words []string) []string {
	for i, w := range words {
		if strings.ContainsAny(w, "\",\n") {
			words[i] = `"` + strings.ReplaceAll(w, `"`, `""`) + `"`
		}
	}
	return words
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
	Mean       float64         `json:"mean"`
	Low        float64         `json:"low"`
	High       float64         `json:"high"`
	BySeed     []float64       `json:"by_seed"`
	Difference *differenceJSON `json:"difference,omitempty"`
}

// differenceJSON is the mean difference from the base, paired by seed, with its 95 % interval.
type differenceJSON struct {
	Mean    float64 `json:"mean"`
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
	Differs bool    `json:"differs"` // 0 lies outside of the interval
}

// WriteJSON writes all metrics of all cells to w, as studyJSON, without those that are NaN for some
// seed. file is the name of the workload file. It returns the error of w.
func (s *Study) WriteJSON(w io.Writer, file string) error {
	out := studyJSON{Schema: 1, Kind: "study", Workload: file, Cells: []cellJSON{}}
	for i := range max(1, s.seeds) {
		out.Seeds = append(out.Seeds, s.first+uint64(i))
	}
	for cell := range s.cells() {
		words := s.words(cell)
		c := cellJSON{Settings: map[string]string{}, Policy: words[len(words)-1], Metrics: map[string]figureJSON{}}
		for i := range s.dimensions {
			c.Settings[s.dimensions[i].flag] = words[i]
		}
		for i, m := range report.Metrics() {
			x := stats.IntervalOf(s.column(cell, i))
			if math.IsNaN(x.Mean) {
				continue
			}
			f := figureJSON{Mean: x.Mean, Low: x.Low, High: x.High, BySeed: s.column(cell, i)}
			// An interval of differences needs at least two seeds.
			if cell != s.base(cell) && s.seeds > 1 && s.comparable(cell) {
				d := s.difference(cell, i)
				f.Difference = &differenceJSON{d.Mean, d.Low, d.High, !d.Has(0)}
			}
			c.Metrics[m.Name] = f
		}
		out.Cells = append(out.Cells, c)
	}
	text, err := json.MarshalIndent(out, "", "  ")
	if err == nil {
		_, err = w.Write(append(text, '\n'))
	}
	return err
}

// Chart returns a chart of one metric: a line for each series, with a band of the 95 % intervals. y is
// the value of -y, a name of a metric or speedup. If it is "", the metric is the makespan. Without a
// swept value, the x axis has the policies. A cell with failed jobs has no point, except for their
// number. file is the name of the workload file, for the title.
func (s *Study) Chart(file, y string) *svg.Chart {
	// -y has short names for some metrics. Any other value is the name of a metric.
	names := map[string]string{"": "makespan_s", "makespan": "makespan_s", "mean-job": "mean_job_s", "missed": "deadlines_missed", "tardiness": "mean_tardiness_s"}
	metric := metricAt(names[y])
	if metric < 0 {
		metric = metricAt(y)
	}
	speedup := y == "speedup"
	c := &svg.Chart{Title: filepath.Base(file), XName: "policy", YName: "speedup against " + s.policies[0] + " (%)"}
	if speedup {
		metric = metricAt("makespan_s")
	} else {
		c.YName = report.Metrics()[metric].Title
	}
	for cell := range s.cells() {
		if s.failed(cell) && y != failedJobs || speedup && !s.comparable(cell) {
			continue
		}
		values := s.column(cell, metric)
		// Each run is compared with the run of the base that has the same seed.
		if speedup {
			for i, t0 := range s.column(s.base(cell), metric) {
				// The bound avoids a division by 0 for a run that takes no time.
				values[i] = 100 * (t0/max(values[i], 1e-9) - 1)
			}
		}
		x := stats.IntervalOf(values)
		t := s.trial(cell * max(1, s.seeds))
		// Without a swept value, each policy is a point at its index.
		p := svg.Point{X: float64(cell % len(s.policies)), Y: x.Mean}
		name := t.Policy
		if len(s.dimensions) > 0 {
			d := &s.dimensions[s.x]
			c.XName, p.X = d.unit, d.number(*d.at(&t.Configuration))
			name = s.series(&SweepRow{t.Configuration, &report.Report{Policy: t.Policy}})
		}
		c.Add(name, p)
		if s.seeds > 1 {
			c.AddBand(name, svg.Band{X: p.X, Low: x.Low, High: x.High})
		}
	}
	return c
}
