package measure

import (
	"errors"
	"strconv"

	"mrlocal/errs"
	"mrlocal/report"
	"mrlocal/slots"
)

// mostRuns bounds a sweep.
const mostRuns = 100_000

// SweepOptions holds the values to sweep over. A setting without values is that of the file,
// or the default.
type SweepOptions struct {
	MapSlots, ReduceSlots   []int   // of each tracker
	BorrowMap, BorrowReduce []int64 // parts per million
	TotalSlots              int     // of each tracker: ReduceSlots are the rest beside MapSlots; 0: not held constant
	Policies                []string
}

// Configuration is what a sweep changes from run to run; -1: the value of the file, or
// the default.
type Configuration struct{ MapSlots, ReduceSlots, BorrowMap, BorrowReduce int64 }

// dimension is a setting that is swept, with its values: counts, or shares in parts per
// million.
type dimension struct {
	flag   string
	unit   string // of an axis
	share  bool
	values []int64
	// at returns the field of a configuration that the dimension sets.
	at func(c *Configuration) *int64
}

// word returns a value as the command line has it.
func (d *dimension) word(v int64) string {
	if d.share {
		return slots.PPM(v).String()
	}
	return strconv.FormatInt(v, 10)
}

// number returns a value as a coordinate of the chart: a share from 0 to 1, or a count.
func (d *dimension) number(v int64) float64 {
	if d.share {
		return report.Share(slots.PPM(v))
	}
	return float64(v)
}

// Plan is a sweep before it runs: dimensions in the order of the table's columns, the
// index of the one on the x axis, and the runs in the order of the rows.
type Plan struct {
	dimensions []dimension
	x          int
	total      int64 // slots of each tracker; 0: not held constant
	policies   []string
	runs       []Configuration
}

// NewPlan lays out a sweep. If one share has several values and the other share has none,
// the other share is swept at 0 and at 1.
func NewPlan(o SweepOptions) (*Plan, error) {
	counts := func(values []int) (all []int64) {
		for _, v := range values {
			all = append(all, int64(v))
		}
		return all
	}
	// The order is that of the columns. complete relies on it: maps are 0 and 2, reduces 1 and
	// 3.
	p := &Plan{policies: o.Policies, total: int64(o.TotalSlots), dimensions: []dimension{
		{flag: "map-slots", unit: "map slots a tracker", values: counts(o.MapSlots), at: func(c *Configuration) *int64 { return &c.MapSlots }},
		{flag: "reduce-slots", unit: "reduce slots a tracker", values: counts(o.ReduceSlots), at: func(c *Configuration) *int64 { return &c.ReduceSlots }},
		{flag: "borrow-map", unit: "share of the map slots that may be borrowed", share: true, values: o.BorrowMap, at: func(c *Configuration) *int64 { return &c.BorrowMap }},
		{flag: "borrow-reduce", unit: "share of the reduce slots that may be borrowed", share: true, values: o.BorrowReduce, at: func(c *Configuration) *int64 { return &c.BorrowReduce }},
	}}
	return p, p.complete()
}

// Runs returns the number of runs.
func (p *Plan) Runs() int { return len(p.runs) * len(p.policies) }

// Run makes the runs one after the other, and returns their rows. The first error ends
// it.
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

// complete adds the values that other settings imply, and lays out the runs.
func (p *Plan) complete() error {
	maps, reduces := &p.dimensions[0], &p.dimensions[1]
	if p.total > 0 {
		if len(reduces.values) > 0 {
			return errs.Optionf("--total-slots", "goes without --reduce-slots: they are what the map slots leave")
		}
		// With nothing else given, each division of the slots is tried. Both kinds keep at least
		// one slot.
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
	// The two ends of the other share show what the first one is worth with and without it
	// [DHFS13, Fig. 6].
	ofMaps, ofReduces := &p.dimensions[2], &p.dimensions[3]
	switch both := []int64{0, int64(slots.One)}; {
	case len(ofMaps.values) > 1 && len(ofReduces.values) == 0:
		ofReduces.values = both
	case len(ofReduces.values) > 1 && len(ofMaps.values) == 0:
		ofMaps.values = both
	}
	var kept []dimension
	runs := len(p.policies)
	for _, d := range p.dimensions {
		if len(d.values) > 0 {
			kept = append(kept, d)
			runs *= len(d.values)
		}
		// The check stands inside the loop, so that the product never overflows.
		if runs > mostRuns {
			return errs.Optionf("", "more than %d runs; sweep fewer values", mostRuns)
		}
	}
	if len(kept) == 0 {
		return errs.Optionf("", "nothing to sweep; give --map-slots 1..8, --reduce-slots, --borrow-map 0..1/0.1 or --borrow-reduce")
	}
	p.dimensions = kept
	p.lay()
	return nil
}

// lay puts the runs into order. The dimension with most values, the x axis, changes
// fastest, so that the rows of a series are together.
func (p *Plan) lay() {
	for i := range p.dimensions {
		if len(p.dimensions[i].values) > len(p.dimensions[p.x].values) {
			p.x = i
		}
	}
	// -1 is what no dimension sets.
	p.runs = []Configuration{{-1, -1, -1, -1}}
	for i := range p.dimensions {
		if i != p.x {
			p.runs = spread(p.runs, &p.dimensions[i])
		}
	}
	p.runs = spread(p.runs, &p.dimensions[p.x])
	for i := range p.runs {
		// The sum stays the same, whatever dimension changes the map slots.
		if c := &p.runs[i]; p.total > 0 {
			c.ReduceSlots = p.total - c.MapSlots
		}
	}
}

// spread returns each of the runs once for each value of d.
func spread(runs []Configuration, d *dimension) []Configuration {
	var all []Configuration
	for _, c := range runs {
		for _, v := range d.values {
			// c is a copy, so the configuration in runs stays.
			*d.at(&c) = v
			all = append(all, c)
		}
	}
	return all
}

// in adds to an error which run of the sweep it comes from.
func (p *Plan) in(c Configuration, policyName string, err error) error {
	var u *errs.Error
	if errors.As(err, &u) {
		return errs.Optionf(policyName+", "+p.settings(&c)+": "+u.Object, "%s", u.Cause)
	}
	return err
}
