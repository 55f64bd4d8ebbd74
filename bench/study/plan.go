// Package study runs a job or a workload several times, with different slots or policies, and
// compares the runs. A MeasuredJob has two measurements. Both throw away the output of the job.
//
//   - Tune (mrlocal tune) finds good numbers of slots for the job, by the guideline of Dynamic Split
//     ([Split11]). It measures Avg_k, the mean time of a task while k tasks run at a time, and
//     chooses the k with the least Avg_k/k. The paper chooses limits of reduces in this way: in
//     total, in their shuffle, and in their sort and compute. Tune chooses map slots in the same way.
//   - Profile (mrlocal profile) measures what one task needs of a tracker, for workload files and the
//     policy ras ([RAS11]).
//
// Both measure under a policy that lends no slots, as the papers do. All runs of Tune have the same
// number of tasks, P. A tracker never has more slots than tasks, because otherwise fewer than k tasks
// would run at a time. The formulas are in slots/policy/dynsplit.
//
// A Profiler (mrlocal profile WORKLOAD) measures the jobs of a workload file on this machine. It runs each
// job alone, with 1, 2, ... slots. Fit turns the attempts of these runs into a workload.Stage for each job
// of a chain. A stage has the time of a task alone as a function of bytes, its spread, and the slowdown by
// other tasks. From these figures the simulator predicts how long other workloads of the same jobs take. A
// Validator (mrlocal validate) makes real runs of a file, simulates each of them, and returns a Validation.
//
// The speed of a machine that others use too changes from minute to minute. A speed probe, a fixed amount
// of work, is measured between the runs. Its times say how fast the machine was, and all measured times are
// scaled by them.
//
// A Plan (mrlocal sweep) lists the runs of a workload over slots, shares, policies, values of the file
// and seeds. The caller passes a function that makes one run. The Plan shows the reports as a table, as
// CSV and as a chart. A Study does the same for a sweep with seeds or values of the file.
package study

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"mrlocal"
	"mrlocal/internal/errs"
	"mrlocal/jobs"
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/report"
	"mrlocal/trace"
	"mrlocal/workload"
)

// mostRuns is the largest number of runs of a sweep.
const mostRuns = 100_000

// Swept is a setting with the values that it takes in turn.
type Swept struct {
	Name   string // a flag without dashes, or the path of a value in the file, as pools.adhoc.weight
	InFile bool   // it is a value in the file
	Share  bool   // the values are shares
	Values []string
}

// Alone reports whether the flag of that name is a column of the tables even with a single value.
func Alone(flag string) bool { return title(flag) != flag }

// title returns the title of the axis of a setting.
func title(name string) string {
	return cmp.Or(map[string]string{
		"map-slots": "map slots per tracker", "reduce-slots": "reduce slots per tracker",
		"borrow-map": "share of the map slots that may be borrowed", "borrow-reduce": "share of the reduce slots that may be borrowed",
	}[name], name)
}

// Options says what a sweep changes.
type Options struct {
	Swept      []Swept // in the order of the columns, flags first
	TotalSlots int     // map and reduce slots of each tracker together; 0: the sum may change
	Policies   []string
	Seeds      int    // runs of each configuration, with the seeds First, First+1, …; 0: one run
	First      uint64 // 0: 1
}

// swept returns the index in o.Swept of the flag of that name, or -1.
func (o *Options) swept(flag string) int {
	return slices.IndexFunc(o.Swept, func(s Swept) bool { return s.Name == flag && !s.InFile })
}

// dimension is what a sweep changes: a setting, and others that take their words together with it.
type dimension struct {
	Swept
	names  []string // the settings, without dashes
	values [][]string
}

// Plan lists the runs of a sweep in their order: by configuration, then by policy, then by seed. It
// does not change after NewPlan, so several goroutines may use it.
type Plan struct {
	dimensions []dimension // in the order of the columns of the table
	x          int         // the index of the dimension that is the x axis of the chart
	names      []string    // of all settings that change
	cases      [][]string  // the words of the names, in the order of the rows of the table
	policies   []string
	seeds      int
	first      uint64
}

// NewPlan returns the plan of a sweep. If one borrowing share has several values and the other has
// none, the other one is swept too, at 0 and at 1. It fails with an options error if nothing is
// swept, if there are more than mostRuns runs, or if the options contradict each other.
func NewPlan(o Options) (*Plan, error) {
	p := &Plan{policies: o.Policies, seeds: max(1, o.Seeds), first: max(1, o.First)}
	// The two ends of the other share show the effect of the first one with and without borrowing
	// in the other direction [DHFS13, Fig. 6].
	for k, pair := range [][2]string{{"borrow-reduce", "borrow-map"}, {"borrow-map", "borrow-reduce"}} {
		if i := o.swept(pair[0]); i >= 0 && len(o.Swept[i].Values) > 1 && o.swept(pair[1]) < 0 {
			o.Swept = slices.Insert(slices.Clone(o.Swept), i+k, Swept{Name: pair[1], Share: true, Values: []string{"0", "1"}})
		}
	}
	if o.TotalSlots > 0 && o.swept("map-slots") < 0 {
		o.Swept = append([]Swept{{Name: "map-slots"}}, o.Swept...)
	}
	for _, s := range o.Swept {
		d := dimension{Swept: s, names: []string{s.Name}}
		for _, v := range s.Values {
			d.values = append(d.values, []string{v})
		}
		if s.Name == "map-slots" && o.TotalSlots > 0 {
			if err := d.divide(&o); err != nil {
				return nil, err
			}
		}
		p.dimensions, p.names = append(p.dimensions, d), append(p.names, d.names...)
	}
	if len(p.dimensions) == 0 && o.Seeds == 0 {
		return nil, errs.Optionf("", "nothing to sweep; give a flag several values, as --map-slots 1..8 or --borrow-map 0..1/0.1, or --set or --seeds")
	}
	runs := len(p.policies) * p.seeds
	for _, d := range p.dimensions {
		// The check is inside the loop, so that the product cannot overflow.
		if runs *= len(d.values); runs > mostRuns {
			break
		}
	}
	if runs > mostRuns {
		return nil, errs.Optionf("", "more than %d runs; sweep fewer values", mostRuns)
	}
	p.lay()
	return p, nil
}

// divide makes d the map slots of --total-slots, with the rest as reduce slots. Without --map-slots,
// it has each division of the total that leaves both kinds a slot.
func (d *dimension) divide(o *Options) error {
	if o.swept("reduce-slots") >= 0 {
		return errs.Optionf("--total-slots", "cannot be combined with --reduce-slots; the reduce slots are the rest of the total")
	}
	d.names = append(d.names, "reduce-slots")
	for v := 1; v < o.TotalSlots && len(d.Values) == 0; v++ {
		d.values = append(d.values, []string{strconv.Itoa(v)})
	}
	for i, v := range d.values {
		n, err := strconv.Atoi(v[0])
		if err != nil || n >= o.TotalSlots {
			return errs.Optionf("--map-slots", "%s of --total-slots %d leave no reduce slot", v[0], o.TotalSlots)
		}
		d.values[i] = append(v, strconv.Itoa(o.TotalSlots-n))
	}
	return nil
}

// lay fills p.cases with each combination of the values of p.dimensions. The dimension with most
// values is the x axis. It changes fastest, so that the rows of a series follow one another.
func (p *Plan) lay() {
	for i := range p.dimensions {
		if len(p.dimensions[i].values) > len(p.dimensions[p.x].values) {
			p.x = i
		}
	}
	p.cases = [][]string{make([]string, len(p.names))}
	for _, last := range []bool{false, true} {
		for i := range p.dimensions {
			if (i == p.x) != last {
				continue
			}
			var all [][]string
			for _, words := range p.cases {
				for _, v := range p.dimensions[i].values {
					words = slices.Clone(words)
					copy(words[p.column(i):], v)
					all = append(all, words)
				}
			}
			p.cases = all
		}
	}
}

// column returns the index in p.names of the first setting of dimension i.
func (p *Plan) column(i int) int { return slices.Index(p.names, p.dimensions[i].Name) }

// Trial is one run of a sweep before it is made.
type Trial struct {
	Words  []string // the values that change, in the order of the columns
	Policy string
	Seed   uint64
}

// Swept returns the names of the settings that the plan sweeps. Those that change together have one name.
func (p *Plan) Swept() (names []string) {
	for i := range p.dimensions {
		names = append(names, strings.Join(p.dimensions[i].names, "+"))
	}
	return names
}

// Runs returns the number of runs: configurations times policies times seeds.
func (p *Plan) Runs() int { return p.cells() * p.seeds }

// cells returns the number of configurations times policies.
func (p *Plan) cells() int { return len(p.cases) * len(p.policies) }

// Trial returns run i of the plan, from 0. From run to run, the seed changes fastest, then the policy,
// then the configuration.
func (p *Plan) Trial(i int) Trial {
	cell := i / p.seeds
	return Trial{p.cases[cell/len(p.policies)], p.policies[cell%len(p.policies)], p.first + uint64(i%p.seeds)}
}

// Flags returns the flags that t sets, without dashes, with their values.
func (p *Plan) Flags(t Trial) []workload.Change { return p.changes(t, false) }

// Changes returns the changes that t makes to the workload file, one for each --set.
func (p *Plan) Changes(t Trial) []workload.Change { return p.changes(t, true) }

func (p *Plan) changes(t Trial, inFile bool) (all []workload.Change) {
	for i := range p.dimensions {
		for k, name := range p.dimensions[i].names {
			if p.dimensions[i].InFile == inFile {
				all = append(all, workload.Change{Path: name, Value: t.Words[p.column(i)+k]})
			}
		}
	}
	return all
}

// settings formats the values of t, as "borrow-map 0, borrow-reduce 1", without those of the x axis
// if x is false.
func (p *Plan) settings(t Trial, x bool) (all []string) {
	for i := range p.dimensions {
		if d := &p.dimensions[i]; x || i != p.x {
			all = append(all, d.Name+" "+t.Words[p.column(i)])
		}
	}
	return all
}

// Of names a run by its policy and its settings, as "fair, map-slots 2".
func (p *Plan) Of(t Trial) string {
	return strings.Join(append([]string{t.Policy}, p.settings(t, true)...), ", ")
}

// in adds the policy and the settings of a run to a usage error. It returns any other error, and
// nil, as it is.
func (p *Plan) in(t Trial, err error) error {
	if u, ok := errors.AsType[*errs.Error](err); ok && errs.IsUsage(err) {
		return errs.Optionf(p.Of(t), "%w", u)
	}
	return err
}

// Simulate makes one run of a sweep and returns its report and its notes. Several goroutines may call it
// at once.
type Simulate = func(ctx context.Context, t Trial) (r *report.Report, notes []string, err error)

// Files parses the workload file of a sweep, once for each configuration that changes it with --set.
// Several goroutines may call Of at once. They get the same *workload.File, so they must not change it.
type Files struct {
	Name string // of the file, for messages
	text []byte

	mu struct {
		sync.Mutex
		parsed map[string]func() (*workload.File, error) // by the changes; the first call parses
	}
}

// mostParsed bounds how many parsed files are kept. Runs of the same configuration follow one another,
// so a few are enough.
const mostParsed = 64

// ReadFiles reads the workload file of that name, or stdin if the name is -. It also returns the
// file as it is without changes. It fails if the file cannot be read or is not valid.
func ReadFiles(name string, stdin io.Reader) (*Files, *workload.File, error) {
	f := &Files{Name: "standard input"}
	if name != "-" {
		in, err := os.Open(name)
		if err != nil {
			return nil, nil, errs.Inputf(name, "%w", errs.Cause(err))
		}
		defer in.Close()
		f.Name, stdin = name, in
	}
	var err error
	if f.text, err = workload.Text(f.Name, stdin); err != nil {
		return nil, nil, err
	}
	plain, err := workload.Parse(f.Name, f.text)
	return f, plain, err
}

// Of returns the workload file with the changes of t. The caller must not change the file. Of fails
// if a changed value is not valid.
func (f *Files) Of(p *Plan, t Trial) (*workload.File, error) {
	changes := p.Changes(t)
	key := fmt.Sprintf("%q", changes)
	f.mu.Lock()
	// A full map is replaced as a whole. The runs that use its files keep them.
	if len(f.mu.parsed) >= mostParsed || f.mu.parsed == nil {
		f.mu.parsed = map[string]func() (*workload.File, error){}
	}
	of := f.mu.parsed[key]
	if of == nil {
		of = sync.OnceValues(func() (*workload.File, error) { return workload.ParseChanged(f.Name, f.text, changes) })
		f.mu.parsed[key] = of
	}
	f.mu.Unlock()
	// Parsing happens outside of the lock, so that it delays only runs of the same configuration.
	return of()
}

// Check parses the file once for each value of each setting, with the other settings at their first
// value. It finds wrong values before the first run, and not after hours.
func (f *Files) Check(p *Plan) error {
	for i := range p.dimensions {
		for _, v := range p.dimensions[i].values {
			t := p.Trial(0)
			t.Words = slices.Clone(t.Words)
			copy(t.Words[p.column(i):], v)
			if _, err := f.Of(p, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// Key returns a digest of the file and of the settings that are not swept: 16 hexadecimal digits.
// Results with another key come from another sweep.
func (f *Files) Key(settings []string) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s\x00%s", f.text, strings.Join(settings, "\x00"))
	return fmt.Sprintf("%016x", h.Sum64())
}

// rawPolicy is the policy of all measurements. It lends no slots, as the raw version in [Split11].
const rawPolicy = registry.Baseline

// MeasuredJob is a job that real runs measure.
type MeasuredJob struct {
	Chain   jobs.Chain
	Options mrlocal.Options // MapSlots and ReduceSlots are the largest numbers that are tried; 0: the cores of a tracker
	Rounds  int             // of Tune: how many runs each number of slots gets
	// Run makes a run, as mrlocal.RunChain does.
	Run  func(ctx context.Context, chain jobs.Chain, o mrlocal.Options) (*mrlocal.Report, error)
	Note func(string) // gets the notes of the first run, and from Tune a line for each run; not nil
}

// Tune runs the job with 1 to Options.MapSlots map slots, then with 1 to Options.ReduceSlots reduce
// slots, Rounds times each. It returns the choices with their tables. The first failed run ends it.
func (j *MeasuredJob) Tune(ctx context.Context) (*Result, error) {
	o := &j.Options
	// At least 2 slots are tried, because 1 alone leaves nothing to compare.
	cores := max(2, runtime.NumCPU()/max(o.Trackers, 1))
	most := setting{cmp.Or(o.MapSlots, cores), cmp.Or(o.ReduceSlots, cores), o.Reducers, o.BlockBytes}
	first := true // no run has ended yet
	return tune(&series{
		most: most, rounds: j.Rounds,
		begin: func(done, all int, s setting) { j.Note(fmt.Sprintf("tune: run %d of %d: %v", done, all, s)) },
		make: func(s setting) (*run, error) {
			// Each run has its own sink and its own copy of the options, since Policy and Watch
			// belong to one run.
			r := &run{times: &Run{}}
			o := *o
			o.MapSlots, o.ReduceSlots = s.MapSlots, s.ReduceSlots
			o.Reducers, o.BlockBytes = s.Reducers, s.BlockBytes
			o.Watch = func(stream *trace.Stream) { stream.Attach(r.times) }
			var err error
			r.report, err = j.run(ctx, o, first)
			first = false
			return r, err
		},
	})
}

// Profile runs the job with 1 to Options.MapSlots map slots, once each. It returns the profile of
// the job in the fastest run, in the form of a workload file. In the fastest run, tasks use the
// scarce resource well and do not yet slow each other down.
func (j *MeasuredJob) Profile(ctx context.Context) ([]byte, error) {
	o := j.Options
	most := cmp.Or(o.MapSlots, max(1, runtime.NumCPU()/max(o.Trackers, 1)))
	o.MapSlots = most
	// Reduces copy bytes, as on a cluster. They begin when all maps are done, so that at least
	// --parallel-copies map outputs are there to copy, as in the paper [RAS11, section 3.6].
	o.CopyOutputs = true
	o.Slowstart = new(slots.One)
	// The run with most slots comes last, so its options are checked before the first run.
	if err := o.Check(); err != nil {
		return nil, err
	}
	var runs []*report.Report
	for n := 1; n <= most; n++ {
		o.MapSlots = n
		j.Note(fmt.Sprintf("profile: run %d of %d: %s", n, most, errs.Counted(n, "map slot")))
		r, err := j.run(ctx, o, n == 1)
		if err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	return profileText(runs, runtime.NumCPU()), nil
}

// run runs the job once under rawPolicy. Only the first run passes its notes to j.Note, because the
// other runs have the same ones.
func (j *MeasuredJob) run(ctx context.Context, o mrlocal.Options, first bool) (r *report.Report, err error) {
	if o.Policy, err = registry.New(rawPolicy, policy.DefaultOptions()); err != nil {
		return nil, err
	}
	if o.Note = nil; first {
		o.Note = j.Note
	}
	return j.Run(ctx, j.Chain, o)
}
