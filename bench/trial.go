package bench

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"mrlocal/internal/errs"
	"mrlocal/internal/ppm"
	"mrlocal/internal/setting"
	"mrlocal/sim"
	"mrlocal/slots/policy/omo"
	"mrlocal/slots/policy/ras"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/report"
	"mrlocal/trace"
	"mrlocal/workload"
)

// trial is one run of mrlocal sim, with the flags of the experiment and its own flags.
type trial struct {
	name    string
	jobs    []string       // names of the jobs that run, in their order; nil: all jobs
	without []string       // names of jobs that are left out
	file    *workload.File // with the changes of the trial
	other   string         // name of the embedded workload file; "": the file of the experiment
	changed string         // the changes of the file in words
	swept   string         // the flag that differs between the runs of a sweep; "": no sweep
	x       float64        // the value of that flag; 0: it is not a number
	flags   []flag
	sched   string // name of the policy
	sim     sim.Settings
}

// flag is a flag of mrlocal sim, without its dashes. Flags keep the order of the file.
type flag struct{ name, value string }

// line returns the command line of the run. A user can run it as it is, unless it ends with jobs or
// changes in parentheses.
func (t *trial) line() string {
	words := []string{"mrlocal sim", t.file.Name}
	for _, f := range t.flags {
		words = append(words, "--"+f.name, f.value)
	}
	// mrlocal sim has no flags for jobs and changes, so they are in parentheses.
	line := strings.Join(words, " ")
	if t.jobs != nil {
		line += " (" + strings.Join(t.jobs, ", ") + " only)"
	}
	if t.changed != "" {
		line += " (" + t.changed + ")"
	}
	return line
}

// expand returns the runs of a Trial of f. with has the flags of the whole experiment. change is
// applied to each run.
//
// Run i has value i of each flag with several values, so all these lists must have the same length.
// The name of each run ends with its value from the first such list. With t.EachOrder there are as
// many runs as the jobs have orders for each of these. Their names then end with the number of the order.
func expand(f *workload.File, with []workload.Arg, t, change *workload.Trial, changed map[string]*workload.File) (all []trial, err error) {
	at := cmp.Or(change.Pos, t.Pos)
	// n is the number of runs: the length of the lists, or 1.
	n := 1
	for _, a := range slices.Concat(t.Args, t.Set, t.Scale) {
		// All runs have the same value of this flag.
		if len(a.Values) == 1 {
			continue
		}
		if n > 1 && len(a.Values) != n {
			return nil, f.Errorf(a.Pos, a.Name, "%d values for a list of %d", len(a.Values), n)
		}
		n = len(a.Values)
	}
	if t.EachOrder && (len(t.Jobs) < 2 || len(t.Jobs) > mostOrdered) {
		return nil, f.Errorf(at, "run "+t.Name, "each_order is for 2 to %d jobs, and here are %d", mostOrdered, len(t.Jobs))
	}
	for i := range n {
		run := trial{name: t.Name, jobs: t.Jobs, file: f, sim: sim.NewSettings()}
		args := slices.Concat(with, t.Args, change.Args)
		for k, a := range args {
			// Later flags replace earlier ones of the same name.
			if slices.ContainsFunc(args[k+1:], func(later workload.Arg) bool { return later.Name == a.Name }) {
				continue
			}
			value := run.pick(&a, i)
			if err := setting.Set(run.settings(), a.Name, value); err != nil {
				return nil, f.Errorf(a.Pos, "", "%w", err)
			}
			if a.Name != "file" { // the command line names the file in another place
				run.flags = append(run.flags, flag{a.Name, value})
			}
		}
		one := func(all []workload.Arg) []workload.Arg {
			for k := range all {
				all[k].Values = []string{run.pick(&all[k], i)}
			}
			return all
		}
		made := workload.Trial{
			Without: slices.Concat(t.Without, change.Without),
			Set:     one(slices.Concat(t.Set, change.Set)), Scale: one(slices.Concat(t.Scale, change.Scale)),
		}
		if err := run.change(&made, changed); err != nil {
			return nil, f.Errorf(at, "run "+t.Name, "%w", err)
		}
		// This check finds a mistake before any run, which may take minutes.
		some, o, err := run.ready()
		if err == nil {
			err = sim.Check(some, o)
		}
		if err != nil {
			return nil, f.Errorf(at, "run "+t.Name, "%s", errs.Word(err, setting.Fields(run.settings(), (*setting.Setting).Word)))
		}
		if !t.EachOrder {
			all = append(all, run)
			continue
		}
		for number, order := range orders(t.Jobs) {
			ordered := run
			ordered.name, ordered.jobs = fmt.Sprintf("%s-%d", run.name, number+1), order
			all = append(all, ordered)
		}
	}
	return all, nil
}

// mostOrdered is the largest number of jobs of which each order runs: 720 runs.
const mostOrdered = 6

// orders returns all orders of the names.
func orders(names []string) (all [][]string) {
	if len(names) == 0 {
		return [][]string{nil}
	}
	for i := range names {
		for _, rest := range orders(slices.Concat(names[:i], names[i+1:])) {
			all = append(all, append([]string{names[i]}, rest...))
		}
	}
	return all
}

// pick returns value i of a flag or factor. The first list of values names the runs of a sweep.
func (t *trial) pick(a *workload.Arg, i int) string {
	value := a.Values[min(i, len(a.Values)-1)]
	if len(a.Values) > 1 && t.swept == "" {
		t.swept, t.name = a.Name, t.name+"-"+value
		t.x = magnitude(value)
	}
	return value
}

// magnitude returns the value of a flag as a number: a plain number, or a size in bytes; 0: it is
// neither.
func magnitude(value string) float64 {
	n, err := strconv.ParseFloat(value, 64)
	if err != nil {
		bytes, _ := ppm.ParseBytes(value)
		n = float64(bytes)
	}
	return n
}

// settings returns what an experiment can set: the flags of mrlocal sim that change a run, and file, which
// replaces the workload file.
func (t *trial) settings() []setting.Setting {
	return slices.Concat([]setting.Setting{
		setting.Of("sched", "Policy", "slot policy", "", setting.Func(func(text string) error {
			t.sched = text
			return registry.Check(text)
		})),
		setting.Of("file", "", "a file of bench/workloads", "", setting.Func(func(text string) (err error) {
			t.other = text
			t.file, err = LoadWorkload(text)
			return err
		})),
	}, t.sim.Fields())
}

// done is the result of a trial.
type done struct {
	*report.Report
	*measures
	releases  *omo.Releases
	utilities utilities // only under ras
}

// runs keeps the results of runs that several experiments have in common. It keeps each result until the last use
// that expect has counted.
type runs struct {
	uses map[string]int // by trial.key: how often the result will still be used
	done map[string]*done
}

func newRuns() *runs { return &runs{uses: map[string]int{}, done: map[string]*done{}} }

// expect counts the uses of an experiment in advance: one for each trial and seed.
func (r *runs) expect(e *Experiment) {
	for n := range max(e.Seeds, 1) {
		for _, t := range e.trials { // t is a copy
			e.setSeed(&t, n)
			r.uses[t.key()]++
		}
	}
}

// of returns the result of a trial. It makes the run if it has no result of it.
func (r *runs) of(ctx context.Context, t *trial) (*done, error) {
	key := t.key()
	d := r.done[key]
	if d == nil {
		var err error
		if d, err = t.run(ctx); err != nil {
			return nil, err
		}
		r.done[key] = d
	}
	// All results together would take too much memory.
	if r.uses[key]--; r.uses[key] == 0 {
		delete(r.done, key)
	}
	return d, nil
}

// key identifies a run. The simulator is deterministic, so runs of equal keys have equal results.
func (t *trial) key() string { return strconv.FormatUint(t.sim.Seed, 10) + " " + t.line() }

// ready returns the jobs of the run, and its options with a new policy.
func (t *trial) ready() (*workload.File, sim.Options, error) {
	o, err := t.sim.For(t.file, t.sched)
	if err != nil {
		return nil, o, err
	}
	f, err := t.selected()
	return f, o, err
}

// run makes the run.
func (t *trial) run(ctx context.Context) (*done, error) {
	f, o, err := t.ready()
	if err != nil {
		return nil, err
	}
	// Both sinks get every event of the run. Metrics need what they have collected.
	m := &measures{trace.Timeline{KeepPhases: true}}
	released := omo.NewReleases(step)
	u := utilities{}
	if r, ok := o.Policy.(*ras.RAS); ok {
		r.Watch = u.record
	}
	o.Watch = func(s *trace.Stream) { s.Attach(&m.line); s.Attach(released) }
	r, err := sim.Run(ctx, f, o)
	if err != nil {
		return nil, fmt.Errorf("%s: run %s: %w", f.Name, t.name, err)
	}
	return &done{r, m, released, u}, nil
}

// selected returns the file with only the jobs of the run, in the order of t.jobs. It fails if the trial names an
// unknown job. It also fails if a job has after: such a job could wait for one that does not run.
func (t *trial) selected() (*workload.File, error) {
	f := t.file
	if t.jobs == nil && t.without == nil {
		return f, nil
	}
	// The copy shares the data of jobs with the file. The simulator does not change them.
	some, out := *f, 0
	some.Jobs = nil
	for i := range f.Jobs {
		j := &f.Jobs[i]
		if slices.Contains(t.without, j.Name) {
			out++
			continue
		}
		if t.jobs != nil && !slices.Contains(t.jobs, j.Name) {
			continue
		}
		if len(j.After) > 0 {
			return nil, f.Errorf(j.Pos, "job "+j.Name, "has after, so it cannot run without other jobs")
		}
		some.Jobs = append(some.Jobs, *j)
	}
	// This finds misspelt names, because every name must have matched one job.
	if t.jobs != nil && len(some.Jobs)+out != len(t.jobs) || out != len(t.without) {
		return nil, fmt.Errorf("names jobs that are not there, or one twice: %s", strings.Join(slices.Concat(t.jobs, t.without), ", "))
	}
	if t.jobs != nil {
		place := func(j workload.ListedJob) int { return slices.Index(t.jobs, j.Name) }
		slices.SortFunc(some.Jobs, func(a, b workload.ListedJob) int { return place(a) - place(b) })
	}
	return &some, nil
}

// matches reports whether the name of the run matches a pattern of path.Match.
func (t *trial) matches(pattern string) bool {
	ok, err := path.Match(pattern, t.name)
	return err == nil && ok
}
