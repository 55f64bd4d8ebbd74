package main

import (
	"context"
	"errors"
	"strconv"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/internal/usage"
	"mrlocal/report"
	"mrlocal/sim"
	"mrlocal/slots"
	"mrlocal/workload"
)

const sweepHelp = `Runs WORKLOAD once for every combination of the values given, and under every policy of --sched: simulated, or with --real for real. Values are a list, 1,2,4, or a range, 1..8 or 0..1/0.1.

--total-slots N keeps map and reduce slots together at N. A share that is swept alone is swept twice, with the other share at 0 and at 1, as Fig. 6 of the DHFS paper has it.

The table has a row a run. Speedup is T0/T1 - 1, T0 being the makespan of the first policy in the same configuration, or, of one policy alone, that of the first row.`

// mostRuns bounds a sweep.
const mostRuns = 100_000

func sweepCommand() command {
	return command{name: "sweep", usage: "run a workload file over slot configurations, shares and policies", args: "WORKLOAD", long: sweepHelp, run: runSweep, flags: sweepFlags()}
}

func sweepFlags() []flagSpec {
	swept := map[string]flagSpec{
		"map-slots":     value("map-slots", "home map slots a tracker, `N`, a list or a range", "the file's"),
		"reduce-slots":  value("reduce-slots", "home reduce slots a tracker, `N`, a list or a range", "the file's"),
		"borrow-map":    value("borrow-map", "`SHARE` of the map slots that reduces may borrow, a list or a range", "1"),
		"borrow-reduce": value("borrow-reduce", "`SHARE` of the reduce slots that maps may borrow, a list or a range", "1"),
	}
	var flags []flagSpec
	for _, f := range workloadFlags(simFlags(), "") {
		if s, ok := swept[f.Name]; ok {
			f = s
		}
		if f.Name != "gantt" && f.Name != "step" {
			flags = append(flags, f)
		}
	}
	return append(flags,
		value("total-slots", "slots a tracker, `N`: reduce slots are what the map slots leave", ""),
		value("csv", "write the figures to `FILE` as CSV", ""),
		value("svg", "draw the figures into `FILE`, a line a policy", ""),
		value("y", "what --svg draws: `makespan|speedup|utilisation|moves`", "speedup over shares, else makespan"),
	)
}

// configuration is what a sweep changes from run to run; -1: as the file or
// the default has it.
type configuration struct{ mapSlots, reduceSlots, borrowMap, borrowReduce int64 }

// dimension is a setting that is swept, and its values: counts, or shares in
// parts per million.
type dimension struct {
	flag   string
	unit   string // of an axis
	share  bool
	values []int64
	at     func(c *configuration) *int64
}

// word is a value as a person writes it.
func (d *dimension) word(v int64) string {
	if d.share {
		return slots.PPM(v).String()
	}
	return strconv.FormatInt(v, 10)
}

func (d *dimension) number(v int64) float64 {
	if d.share {
		return report.Share(slots.PPM(v))
	}
	return float64(v)
}

// plan is a sweep before it runs: dimensions in the order of the table's
// columns, the one that an x axis shows, and the runs in the order of the rows.
type plan struct {
	dimensions []dimension
	x          int
	total      int64 // slots a tracker; 0: not held constant
	policies   []string
	runs       []configuration
}

// sweep reads what is to be swept.
func (r *reader) sweep() plan {
	p := plan{policies: r.policies(), total: int64(r.count("total-slots", 2, 2*mostSlots))}
	for _, d := range []dimension{
		{flag: "map-slots", unit: "map slots a tracker", at: func(c *configuration) *int64 { return &c.mapSlots }},
		{flag: "reduce-slots", unit: "reduce slots a tracker", at: func(c *configuration) *int64 { return &c.reduceSlots }},
		{flag: "borrow-map", unit: "share of the map slots that may be borrowed", share: true, at: func(c *configuration) *int64 { return &c.borrowMap }},
		{flag: "borrow-reduce", unit: "share of the reduce slots that may be borrowed", share: true, at: func(c *configuration) *int64 { return &c.borrowReduce }},
	} {
		text, given := r.line.Value(d.flag)
		var err error
		switch {
		case !given:
		case d.share:
			d.values, err = argv.Shares(d.flag, text)
		default:
			var counts []int
			counts, err = argv.Counts(d.flag, text, 1, mostSlots)
			for _, n := range counts {
				d.values = append(d.values, int64(n))
			}
		}
		r.keep(err)
		p.dimensions = append(p.dimensions, d)
	}
	if r.err == nil {
		r.keep(p.complete())
	}
	return p
}

// complete fills in what other settings imply, and lays out the runs.
func (p *plan) complete() error {
	maps, reduces := &p.dimensions[0], &p.dimensions[1]
	if p.total > 0 {
		if len(reduces.values) > 0 {
			return usage.Errorf("--total-slots", "goes without --reduce-slots: they are what the map slots leave")
		}
		if len(maps.values) == 0 {
			for v := int64(1); v < p.total; v++ {
				maps.values = append(maps.values, v)
			}
		}
		for _, v := range maps.values {
			if v >= p.total {
				return usage.Errorf("--map-slots", "%d of --total-slots %d leave no reduce slot", v, p.total)
			}
		}
	}
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
		if runs > mostRuns {
			return usage.Errorf("", "more than %d runs; sweep fewer values", mostRuns)
		}
	}
	if len(kept) == 0 {
		return usage.Errorf("", "nothing to sweep; give --map-slots 1..8, --reduce-slots, --borrow-map 0..1/0.1 or --borrow-reduce")
	}
	p.dimensions = kept
	p.lay()
	return nil
}

// lay puts the runs into order: the dimension of most values, the x axis, runs
// fastest, so that the rows of a series stand together.
func (p *plan) lay() {
	for i := range p.dimensions {
		if len(p.dimensions[i].values) > len(p.dimensions[p.x].values) {
			p.x = i
		}
	}
	p.runs = []configuration{{-1, -1, -1, -1}}
	for i := range p.dimensions {
		if i != p.x {
			p.runs = spread(p.runs, &p.dimensions[i])
		}
	}
	p.runs = spread(p.runs, &p.dimensions[p.x])
	for i := range p.runs {
		if c := &p.runs[i]; p.total > 0 {
			c.reduceSlots = p.total - c.mapSlots
		}
	}
}

// spread has each of the runs once for each value of d.
func spread(runs []configuration, d *dimension) []configuration {
	var all []configuration
	for _, c := range runs {
		for _, v := range d.values {
			*d.at(&c) = v
			all = append(all, c)
		}
	}
	return all
}

// apply puts a configuration into the scheduling flags.
func (c *configuration) apply(s *scheduling) {
	if c.mapSlots > 0 {
		s.mapSlots = int(c.mapSlots)
	}
	if c.reduceSlots > 0 {
		s.reduceSlots = int(c.reduceSlots)
	}
	if c.borrowMap >= 0 {
		s.policy.BorrowMap = slots.PPM(c.borrowMap)
	}
	if c.borrowReduce >= 0 {
		s.policy.BorrowReduce = slots.PPM(c.borrowReduce)
	}
}

// withoutSwept is the line without the flags that a sweep reads as lists.
func withoutSwept(line argv.Line) argv.Line {
	var kept []argv.Setting
	for _, s := range line.Flags {
		switch s.Flag.Name {
		case "map-slots", "reduce-slots", "borrow-map", "borrow-reduce":
		default:
			kept = append(kept, s)
		}
	}
	line.Flags = kept
	return line
}

func runSweep(ctx context.Context, e env, line argv.Line) (int, error) {
	r := &reader{line: line}
	p := r.sweep()
	others := &reader{line: withoutSwept(line)}
	s := others.simulation()
	r.keep(others.err)
	y := r.choice("y", "", "makespan", "speedup", "utilisation", "moves")
	csvPath, svgPath := r.path("csv"), r.path("svg")
	if r.err != nil {
		return 0, r.err
	}
	f, err := loadWorkload(line)
	if err != nil {
		return 0, err
	}
	s.override(f)
	csv, svg, err := openSweepSides(csvPath, svgPath, f.Name)
	if err != nil {
		return 0, err
	}
	rows, err := p.simulate(ctx, f, s, newNotes(e.stderr))
	if err != nil {
		return 0, err
	}
	if err := write(e, p.table(rows)); err != nil {
		return 0, err
	}
	if csv != nil {
		err = errors.Join(writeAll(csv, p.csv(rows)), csv.Close())
	}
	if svg != nil {
		err = errors.Join(err, p.chart(f.Name, y, rows).WriteSVG(svg), svg.Close())
	}
	return exitDone, err
}

func openSweepSides(csvPath, svgPath, input string) (csv, svg *sideFile, err error) {
	if csvPath != "" && svgPath != "" && place(csvPath) == place(svgPath) {
		return nil, nil, usage.Errorf("--csv, --svg", "%s: name two different files", csvPath)
	}
	if csv, err = openSide("csv", csvPath, []string{input}, nil); err != nil {
		return nil, nil, err
	}
	svg, err = openSide("svg", svgPath, []string{input}, nil)
	return csv, svg, err
}

func writeAll(f *sideFile, text []byte) error {
	_, err := f.Write(text)
	return err
}

// simulate makes the runs one after the other.
func (p *plan) simulate(ctx context.Context, f *workload.File, base simulation, n *notes) ([]row, error) {
	var rows []row
	for _, c := range p.runs {
		for _, name := range p.policies {
			s := base
			c.apply(&s.scheduling)
			o, err := s.options(name)
			if err != nil {
				return nil, err
			}
			o.Note = n.note
			done, err := sim.Run(ctx, f, o)
			if err != nil {
				return nil, p.in(c, name, err)
			}
			n.failures(done)
			rows = append(rows, row{c, done})
		}
	}
	return rows, nil
}

// in says which run of the sweep went wrong.
func (p *plan) in(c configuration, policyName string, err error) error {
	var u *usage.Error
	if errors.As(err, &u) {
		return usage.Errorf(policyName+", "+p.settings(&c)+": "+u.Object, "%s", u.Cause)
	}
	return err
}
