package study

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"mrlocal/internal/errs"
	"mrlocal/slots"
	"mrlocal/slots/report"
	"mrlocal/view/svg"
	"mrlocal/workload"
)

// mostRuns is the largest number of runs of a sweep.
const mostRuns = 100_000

// SweepOptions holds the values to sweep over. A setting without values keeps the value of the workload
// file, or the default.
type SweepOptions struct {
	MapSlots, ReduceSlots   []int64 // of each tracker
	BorrowMap, BorrowReduce []int64 // parts per million
	TotalSlots              int     // map and reduce slots of each tracker together; 0: the sum may change
	Policies                []string

	Sets  []Set  // the values of --set
	Seeds int    // the number of runs of each configuration, with seeds First, First+1, …; 0: one run
	First uint64 // 0: 1
}

// Configuration has the settings that a sweep changes from run to run. A value of -1 leaves the
// setting as the workload file or the default has it.
type Configuration struct {
	MapSlots, ReduceSlots   int64 // of each tracker
	BorrowMap, BorrowReduce int64 // parts per million

	Set [mostSets]int64 // for each of SweepOptions.Sets, the index of its value; the rest is 0
}

// mostSets is the largest number of --set in a sweep. It is constant, so that a Configuration can
// be the key of a map.
const mostSets = 8

// dimension is a setting that is swept.
type dimension struct {
	flag   string   // without dashes; for --set, the path in the file
	unit   string   // the title of an axis of the chart
	share  bool     // the values are parts per million; false: they are counts or indexes
	values []int64  // for --set, indexes of words
	words  []string // the values of --set; nil for other dimensions
	// at returns a pointer to the field of c that the dimension sets.
	at func(c *Configuration) *int64
}

// word formats a value as it stands in the command line.
func (d *dimension) word(v int64) string {
	if d.words != nil {
		return d.words[v]
	}
	if d.share {
		return slots.PPM(v).String()
	}
	return strconv.FormatInt(v, 10)
}

// number returns a value as a coordinate of the chart: a share from 0 to 1, or a count. A value of
// --set that is not a number is at its index.
func (d *dimension) number(v int64) float64 {
	if d.words != nil {
		if x, ok := coordinate(d.words[v]); ok {
			return x
		}
		return float64(v)
	}
	if d.share {
		return report.Share(slots.PPM(v))
	}
	return float64(v)
}

// Plan lists the runs of a sweep in their order: by configuration, then by policy, then by seed. It
// does not change after NewPlan, so several goroutines may use it.
type Plan struct {
	dimensions []dimension // in the order of the columns of the table
	x          int         // the index of the dimension that is the x axis of the chart
	total      int64       // map and reduce slots of each tracker together; 0: the sum may change
	policies   []string
	runs       []Configuration // in the order of the rows of the table
	sets       []Set
	seeds      int // 0: not a sweep over seeds, so one run for each configuration and policy
	first      uint64
}

// NewPlan returns the plan of a sweep. If one borrowing share has several values and the other has
// none, the other one is swept too, at 0 and at 1. It fails with an options error if nothing is
// swept, if there are more than mostRuns runs, or if the options contradict each other.
func NewPlan(o SweepOptions) (*Plan, error) {
	// The order is that of the columns. complete relies on the indexes 0 to 3.
	p := &Plan{policies: o.Policies, total: int64(o.TotalSlots), sets: o.Sets, seeds: o.Seeds, first: max(1, o.First), dimensions: []dimension{
		{flag: "map-slots", unit: "map slots per tracker", values: o.MapSlots, at: func(c *Configuration) *int64 { return &c.MapSlots }},
		{flag: "reduce-slots", unit: "reduce slots per tracker", values: o.ReduceSlots, at: func(c *Configuration) *int64 { return &c.ReduceSlots }},
		{flag: "borrow-map", unit: "share of the map slots that may be borrowed", share: true, values: o.BorrowMap, at: func(c *Configuration) *int64 { return &c.BorrowMap }},
		{flag: "borrow-reduce", unit: "share of the reduce slots that may be borrowed", share: true, values: o.BorrowReduce, at: func(c *Configuration) *int64 { return &c.BorrowReduce }},
	}}
	if len(o.Sets) > mostSets {
		return nil, errs.Optionf("--set", "more than %d of them", mostSets)
	}
	for k, set := range o.Sets {
		d := dimension{flag: set.Path, unit: set.Path, words: set.Values, at: func(c *Configuration) *int64 { return &c.Set[k] }}
		for i := range set.Values {
			d.values = append(d.values, int64(i))
		}
		p.dimensions = append(p.dimensions, d)
	}
	return p, p.complete()
}

// Runs returns the number of runs: configurations times policies times seeds.
func (p *Plan) Runs() int { return len(p.runs) * len(p.policies) * max(1, p.seeds) }

// Changes returns the changes that c makes to the workload file, one for each --set.
func (p *Plan) Changes(c *Configuration) (all []workload.Change) {
	for k, set := range p.sets {
		all = append(all, workload.Change{Path: set.Path, Value: set.Values[c.Set[k]]})
	}
	return all
}

// Run makes one run for each configuration and policy, one after the other, and returns their rows. The
// first error ends it.
func (p *Plan) Run(run func(c Configuration, policyName string) (*report.Report, error)) ([]SweepRow, error) {
	var rows []SweepRow
	for _, c := range p.runs {
		for _, name := range p.policies {
			done, err := run(c, name)
			if err != nil {
				return nil, p.in(c, name, err)
			}
			rows = append(rows, SweepRow{c, done})
		}
	}
	return rows, nil
}

// complete adds the values that other settings imply, checks the sweep, drops dimensions without
// values, and fills p.runs.
func (p *Plan) complete() error {
	maps, reduces := &p.dimensions[0], &p.dimensions[1]
	if p.total > 0 {
		if len(reduces.values) > 0 {
			return errs.Optionf("--total-slots", "cannot be combined with --reduce-slots; the reduce slots are the rest of the total")
		}
		// Without --map-slots, the sweep tries each division of the total that leaves both kinds
		// a slot.
		if len(maps.values) == 0 {
			for v := int64(1); v < p.total; v++ {
				maps.values = append(maps.values, v)
			}
		}
		for _, v := range maps.values {
			if v >= p.total {
				return errs.Optionf("--map-slots", "%d of --total-slots %d leave no reduce slot", v, p.total)
			}
		}
	}
	// The two ends of the other share show the effect of the first one with and without borrowing
	// in the other direction [DHFS13, Fig. 6].
	ofMaps, ofReduces := &p.dimensions[2], &p.dimensions[3]
	switch both := []int64{0, int64(slots.One)}; {
	case len(ofMaps.values) > 1 && len(ofReduces.values) == 0:
		ofReduces.values = both
	case len(ofReduces.values) > 1 && len(ofMaps.values) == 0:
		ofMaps.values = both
	}
	var kept []dimension
	runs := len(p.policies) * max(1, p.seeds)
	for _, d := range p.dimensions {
		if len(d.values) > 0 {
			kept = append(kept, d)
			runs *= len(d.values)
		}
		// The check is inside the loop, so that the product cannot overflow.
		if runs > mostRuns {
			return errs.Optionf("", "more than %d runs; sweep fewer values", mostRuns)
		}
	}
	if len(kept) == 0 && p.seeds == 0 {
		return errs.Optionf("", "nothing to sweep; give --map-slots 1..8, --reduce-slots, --borrow-map 0..1/0.1, --borrow-reduce, --set or --seeds")
	}
	p.dimensions = kept
	p.lay()
	return nil
}

// lay fills p.runs with each combination of the values of p.dimensions. The dimension with most
// values is the x axis. It changes fastest, so that the rows of a series follow one another.
func (p *Plan) lay() {
	for i := range p.dimensions {
		if len(p.dimensions[i].values) > len(p.dimensions[p.x].values) {
			p.x = i
		}
	}
	// -1 stays where no dimension sets a value.
	p.runs = []Configuration{{MapSlots: -1, ReduceSlots: -1, BorrowMap: -1, BorrowReduce: -1}}
	for i := range p.dimensions {
		if i != p.x {
			p.runs = spread(p.runs, &p.dimensions[i])
		}
	}
	if len(p.dimensions) > 0 {
		p.runs = spread(p.runs, &p.dimensions[p.x])
	}
	for i := range p.runs {
		// With --total-slots, the sum of both kinds is the same in each run.
		if c := &p.runs[i]; p.total > 0 {
			c.ReduceSlots = p.total - c.MapSlots
		}
	}
}

// spread returns each of runs once for each value of d, with this value set. It leaves runs as they
// are.
func spread(runs []Configuration, d *dimension) []Configuration {
	var all []Configuration
	for _, c := range runs {
		for _, v := range d.values {
			*d.at(&c) = v
			all = append(all, c)
		}
	}
	return all
}

// SweepRow is one run of a sweep that has ended.
type SweepRow struct {
	Configuration
	*report.Report
}

// Failed reports whether jobs of the run did not succeed.
func (r SweepRow) Failed() bool { return len(r.FailedJobs()) > 0 }

// speedups returns T0/T1 - 1 for each row. T1 is the makespan of the row. T0 is that of the first
// policy in the same configuration. With one policy only, it is that of the first row. If T1 is 0,
// the speedup is 0. If jobs of one of the two runs failed, it is NaN: less work was done.
func (p *Plan) speedups(rows []SweepRow) []float64 {
	all := make([]float64, len(rows))
	for i := range rows {
		first := 0
		if n := len(p.policies); n > 1 {
			// The rows of a configuration follow one another, one for each policy. This is the first.
			first = i / n * n
		}
		switch t1 := rows[i].MakespanSeconds; {
		case rows[i].Failed() || rows[first].Failed():
			all[i] = math.NaN()
		case t1 > 0:
			all[i] = rows[first].MakespanSeconds/t1 - 1
		}
	}
	return all
}

// against names the run whose makespan is T0 of the speedups.
func (p *Plan) against() string {
	if len(p.policies) > 1 {
		return p.policies[0] + " in the same configuration"
	}
	return p.settings(&p.runs[0])
}

// settings formats the swept values of a configuration, as in "borrow-map 0, borrow-reduce 1".
func (p *Plan) settings(c *Configuration) string {
	var all []string
	for i := range p.dimensions {
		d := &p.dimensions[i]
		all = append(all, d.flag+" "+d.word(*d.at(c)))
	}
	return strings.Join(all, ", ")
}

// Table returns the rows as a table for people, then a line on the speedup and a line on the best row.
// If jobs of a row failed, a column has their number.
func (p *Plan) Table(rows []SweepRow) []byte {
	var b bytes.Buffer
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	for i := range p.dimensions {
		fmt.Fprintf(t, "%s\t", p.dimensions[i].flag)
	}
	// With --total-slots the reduce slots change too, although they are not a dimension.
	if p.total > 0 {
		fmt.Fprint(t, "reduce-slots\t")
	}
	var reports []*report.Report
	for i := range rows {
		reports = append(reports, rows[i].Report)
	}
	failed := report.FailedColumn(reports)
	fmt.Fprintln(t, "policy\tmakespan\tspeedup\tutilisation\tmoves\t"+failed[0])
	for i, speedup := range p.speedups(rows) {
		r := &rows[i]
		for d := range p.dimensions {
			fmt.Fprintf(t, "%s\t", p.dimensions[d].word(*p.dimensions[d].at(&r.Configuration)))
		}
		if p.total > 0 {
			fmt.Fprintf(t, "%d\t", r.ReduceSlots)
		}
		against := "-"
		if !math.IsNaN(speedup) {
			against = fmt.Sprintf("%.1f%%", 100*speedup)
		}
		fmt.Fprintf(t, "%s\t%ss\t%s\t%.1f%%\t%d\t%s\n", r.Policy, number(math.Round(1000*r.MakespanSeconds)/1000), against, 100*r.Utilisation, r.Moves, failed[i+1])
	}
	_ = t.Flush() // into memory
	fmt.Fprintf(&b, "speedup: T0/T1 - 1 against %s\n", p.against())
	b.WriteString(p.best(rows))
	return b.Bytes()
}

// best returns a line that names the row with the shortest makespan. It also says by how much this
// makespan is shorter than the next one and than that of the first row. Of equal rows the first is
// best. Rows with failed jobs do not count. With one row, there is no such line.
func (p *Plan) best(rows []SweepRow) string {
	if len(rows) < 2 {
		return ""
	}
	first, all := rows[0], len(rows)
	if rows = slices.DeleteFunc(slices.Clone(rows), SweepRow.Failed); len(rows) == 0 {
		return "best: none, jobs of every row failed\n"
	}
	// equal counts the rows after the best one that have the same makespan.
	best, equal := 0, 0
	next := math.Inf(1) // the shortest makespan that is longer than the best
	for i := range rows {
		// A new best row makes the makespan of the old one the next.
		switch t, least := rows[i].MakespanSeconds, rows[best].MakespanSeconds; {
		case t < least:
			best, equal, next = i, 0, least
		case t == least && i > best:
			equal++
		case t > least:
			next = min(next, t)
		}
	}
	r := &rows[best]
	text := fmt.Sprintf("best: %s", r.Policy)
	if settings := p.settings(&r.Configuration); settings != "" {
		text += ", " + settings
	}
	text += fmt.Sprintf(", %ss", number(math.Round(1000*r.MakespanSeconds)/1000))
	if equal > 0 {
		text += fmt.Sprintf(" (%s as short)", count(equal, "other row"))
	}
	switch {
	case !math.IsInf(next, 1):
		text += fmt.Sprintf("; %.1f%% shorter than the next", 100*(1-r.MakespanSeconds/next))
		if !first.Failed() && first.MakespanSeconds > r.MakespanSeconds {
			text += fmt.Sprintf(", %.1f%% shorter than the first row", 100*(1-r.MakespanSeconds/first.MakespanSeconds))
		}
	case len(rows) == all:
		text += "; all rows are equal"
	}
	if failed := all - len(rows); failed > 0 {
		text += fmt.Sprintf("; without %s with failed jobs", count(failed, "row"))
	}
	return text + "\n"
}

// CSV returns a header and a row for each run, with all its figures. All sweeps without seeds and
// --set have the same columns. A speedup or mean job time that is not known is empty.
func (p *Plan) CSV(rows []SweepRow) []byte {
	var b bytes.Buffer
	// Times are in seconds. Shares, the utilisation and the speedup are fractions of 1.
	b.WriteString("policy,trackers,map_slots,reduce_slots,borrow_map,borrow_reduce,makespan_s,mean_job_s,speedup,utilisation,moves,lent_slot_s,jain,hoarding_slot_s,failed_jobs\n")
	for i, speedup := range p.speedups(rows) {
		r := &rows[i]
		c := &r.Config
		fields := []string{
			r.Policy, strconv.Itoa(c.Trackers), strconv.Itoa(c.MapSlots), strconv.Itoa(c.ReduceSlots), number(c.BorrowMap), number(c.BorrowReduce),
			number(r.MakespanSeconds), number(r.MeanJobSeconds()), number(speedup), number(r.Utilisation), strconv.FormatInt(r.Moves, 10),
			number(r.LentSlotSeconds), number(r.Jain), number(r.HoardingSlotSeconds), strconv.Itoa(len(r.FailedJobs())),
		}
		b.WriteString(strings.Join(fields, ",") + "\n")
	}
	return b.Bytes()
}

// number formats v with as many decimals as it needs, at most six. It returns "" for NaN.
func number(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	text := strconv.FormatFloat(v, 'f', 6, 64)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// Chart returns a chart with a line for each series. A series is a policy with a value of each
// dimension except that of the x axis. y is the value of -y; "" is the speedup over shares, else
// the makespan. Runs with failed jobs have no point. file is the name of the workload file, for the
// title.
func (p *Plan) Chart(file, y string, rows []SweepRow) *svg.Chart {
	x := &p.dimensions[p.x]
	if y == "" {
		y = "makespan"
		// The paper draws speedups over shares [DHFS13, Fig. 6].
		if x.share {
			y = "speedup"
		}
	}
	speedups := p.speedups(rows)
	names := map[string]string{"makespan": "makespan (s)", "speedup": "speedup against " + p.against() + " (%)", "utilisation": "slot utilisation (%)", "moves": "moves (grants)"}
	c := &svg.Chart{Title: filepath.Base(file), XName: x.unit, YName: names[y]}
	for i := range rows {
		r := &rows[i]
		if r.Failed() || y == "speedup" && math.IsNaN(speedups[i]) {
			continue
		}
		v := map[string]float64{"makespan": r.MakespanSeconds, "speedup": 100 * speedups[i], "utilisation": 100 * r.Utilisation, "moves": float64(r.Moves)}[y]
		c.Add(p.series(r), svg.Point{X: x.number(*x.at(&r.Configuration)), Y: v})
	}
	return c
}

// series returns the name of the series of a row. The name has the values of all dimensions but
// the x axis, and, if there are several policies, the policy. In a sweep over one dimension it is
// the policy.
func (p *Plan) series(r *SweepRow) string {
	var parts []string
	if len(p.policies) > 1 || len(p.dimensions) == 1 {
		parts = append(parts, r.Policy)
	}
	for i := range p.dimensions {
		if d := &p.dimensions[i]; i != p.x {
			parts = append(parts, d.flag+" "+d.word(*d.at(&r.Configuration)))
		}
	}
	return strings.Join(parts, ", ")
}
