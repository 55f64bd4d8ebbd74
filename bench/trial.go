package bench

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"mrlocal/internal/ppm"
	"mrlocal/report"
	"mrlocal/sim"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/omo"
	"mrlocal/slots/policy/ras"
	"mrlocal/slots/policy/registry"
	"mrlocal/trace"
	"mrlocal/workload"
)

// trial is one run of mrlocal sim, with the flags of the experiment and its own.
type trial struct {
	name    string
	jobs    []string // nil: all
	left    []string // jobs that are left out
	file    *workload.File
	other   string  // the file in bench/workloads; "": that of the experiment
	changed string  // what was changed of the file, in words
	swept   string  // the flag that differs between the runs of a sweep; "": no sweep
	x       float64 // the value of that flag; 0 where it is no number
	flags   []flag
	sched   string
	sim     sim.Options
	has     policy.Options
}

// flag is a flag of mrlocal sim without its dashes. The order of the flags is that of the file.
type flag struct{ name, value string }

// line returns the command line of the run.
func (t *trial) line() string {
	// A reader of the document can run this line as it stands.
	words := []string{"mrlocal sim", t.file.Name}
	for _, f := range t.flags {
		words = append(words, "--"+f.name, f.value)
	}
	// The jobs are no flag of mrlocal sim, so they stand in parentheses.
	line := strings.Join(words, " ")
	if t.jobs != nil {
		line += " (" + strings.Join(t.jobs, ", ") + " only)"
	}
	if t.changed != "" {
		line += " (" + t.changed + ")"
	}
	return line
}

// expand makes the runs of a Trial. Flags with lists of values are stepped through
// side by side, so the lists must have the same length. The name of each run ends
// with its value from the first list. change is made of each run.
func expand(f *workload.File, with []workload.Arg, t, change *workload.Trial) (all []trial, err error) {
	// n is the number of runs: the length of the lists, or 1.
	n := 1
	for i := range t.Args {
		a := &t.Args[i]
		// A flag with one value is the same in all runs.
		if len(a.Values) == 1 {
			continue
		}
		if n > 1 && len(a.Values) != n {
			return nil, f.Errorf(a.Pos, a.Name, "%d values beside a list of %d", len(a.Values), n)
		}
		n = len(a.Values)
	}
	for i := range n {
		run := trial{name: t.Name, jobs: t.Jobs, file: f, has: policy.DefaultOptions()}
		// Flags of the run stand behind those of the experiment, and so replace them.
		for _, a := range slices.Concat(with, t.Args, change.Args) {
			value := a.Values[min(i, len(a.Values)-1)]
			if len(a.Values) > 1 && run.swept == "" {
				run.swept, run.name = a.Name, t.Name+"-"+value
				run.x = magnitude(value)
			}
			// A wrong value is reported with its line in the file.
			if err := run.set(a.Name, value); err != nil {
				return nil, f.Errorf(a.Pos, a.Name, "%v", err)
			}
			if a.Name != "file" {
				run.flags = slices.DeleteFunc(run.flags, func(f flag) bool { return f.name == a.Name })
				run.flags = append(run.flags, flag{a.Name, value})
			}
		}
		// A wrong policy is found now, with its place in the file, and not after minutes of
		// runs.
		if _, err := registry.New(run.sched, run.has); err != nil {
			return nil, f.Errorf(t.Pos, "run "+t.Name, "%v", err)
		}
		if err := run.change(t, change); err != nil {
			return nil, f.Errorf(change.Pos, "run "+t.Name, "%v", err)
		}
		all = append(all, run)
	}
	return all, nil
}

// magnitude returns a value of a flag as a number, a size in bytes; 0 where it is neither.
func magnitude(value string) float64 {
	n, err := strconv.ParseFloat(value, 64)
	if err != nil {
		bytes, _ := ppm.ParseBytes(value)
		n = float64(bytes)
	}
	return n
}

// set applies one flag of mrlocal sim, or replaces the workload file.
func (t *trial) set(name, value string) (err error) {
	// These four read a value into a field, and keep the error for the end.
	count := func(into *int) { *into, err = strconv.Atoi(value) }
	span := func(into *time.Duration) { *into, err = time.ParseDuration(value) }
	share := func(into *ppm.Share) { *into, err = ppm.Parse(value) }
	size := func(into *int64) {
		var problem string
		if *into, problem = ppm.ParseBytes(value); problem != "" {
			err = fmt.Errorf("%s is %s", value, problem)
		}
	}
	switch name {
	case "file":
		t.other = value
		t.file, err = LoadWorkload(value)
	case "sched":
		t.sched = value
	case "cost":
		t.sim.Cost = value
	case "seed":
		t.sim.Seed, err = strconv.ParseUint(value, 10, 64)
	case "trackers":
		count(&t.sim.Trackers)
	case "map-slots":
		count(&t.sim.MapSlots)
	case "reduce-slots":
		count(&t.sim.ReduceSlots)
	case "max-slots":
		count(&t.sim.MaxSlots)
	case "heartbeat":
		span(&t.sim.Heartbeat)
	case "remote-penalty":
		share(&t.sim.RemotePenalty)
	case "sort-buffer":
		size(&t.sim.SortBufferBytes)
	case "task-memory":
		size(&t.sim.TaskMemoryBytes)
	case "buffer-growth":
		t.sim.BufferGrowth = value
	case "slowstart":
		// The pointer distinguishes a slowstart of 0 from none, which leaves the choice to the policy.
		t.sim.Slowstart = new(ppm.Share)
		share(t.sim.Slowstart)
	// The simulator and the policy both need the delay.
	case "locality-delay":
		span(&t.sim.LocalityDelay)
		t.has.LocalityDelay = t.sim.LocalityDelay
	default:
		return t.setOption(name, value)
	}
	return err
}

// setOption applies a flag that is an option of a policy.
func (t *trial) setOption(name, value string) error {
	for _, f := range t.has.Fields() {
		if f.Name == name {
			return f.Set(value)
		}
	}
	return fmt.Errorf("no such flag of mrlocal sim, or none for an experiment")
}

// done is the outcome of a trial.
type done struct {
	*report.Report
	*measures
	releases  *omo.Releases
	utilities utilities // under ras alone
}

// runs shares the runs that several experiments have in common. It keeps each run
// until its last user has taken it.
type runs struct {
	uses map[string]int // by key: how often the run will still be asked for
	done map[string]*done
}

// expect counts the runs that an experiment will ask for, one for each trial and seed.
func (r *runs) expect(e *Experiment) {
	for n := range max(e.Seeds, 1) {
		for _, t := range e.trials {
			e.setSeed(&t, n)
			r.uses[t.key()]++
		}
	}
}

// of returns a run, and makes it first where it is not kept.
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
	// The reports and events of all runs together would take much memory.
	if r.uses[key]--; r.uses[key] <= 0 {
		delete(r.done, key)
	}
	return d, nil
}

// key identifies a run. The simulator is deterministic, so equal keys mean equal results.
func (t *trial) key() string { return strconv.FormatUint(t.sim.Seed, 10) + " " + t.line() }

// run makes the run.
func (t *trial) run(ctx context.Context) (*done, error) {
	// Slot weights come from the pools of the file, as in mrlocal sim.
	t.has.SlotWeights = t.file.SlotWeights()
	p, err := registry.New(t.sched, t.has)
	if err != nil {
		return nil, err
	}
	f, err := t.some()
	if err != nil {
		return nil, err
	}
	// Both sinks see every event of the run. They are kept with the report, because figures
	// need them.
	o, m, released := t.sim, newMeasures(), omo.NewReleases(step)
	u := utilities{}
	if r, ok := p.(*ras.RAS); ok {
		r.Watch(u.record)
	}
	o.Policy = p
	o.Watch = func(s *trace.Stream) { s.Attach(m); s.Attach(released) }
	r, err := sim.Run(ctx, f, o)
	if err != nil {
		return nil, fmt.Errorf("%s: run %s: %w", f.Name, t.name, err)
	}
	return &done{r, m, released, u}, nil
}

// some returns the file with the jobs of the run only.
func (t *trial) some() (*workload.File, error) {
	f := t.file
	if t.jobs == nil && t.left == nil {
		return f, nil
	}
	// The copy shares the jobs' data with the file, which the simulator does not change.
	some, out := *f, 0
	some.Jobs = nil
	for i := range f.Jobs {
		j := &f.Jobs[i]
		if slices.Contains(t.left, j.Name) {
			out++
			continue
		}
		if t.jobs != nil && !slices.Contains(t.jobs, j.Name) {
			continue
		}
		// The job would wait for one that is left out.
		if len(j.After) > 0 {
			return nil, f.Errorf(j.Pos, "job "+j.Name, "has after, and can not be run without the others")
		}
		some.Jobs = append(some.Jobs, *j)
	}
	// A misspelt job would otherwise be left out in silence.
	if t.jobs != nil && len(some.Jobs)+out != len(t.jobs) || out != len(t.left) {
		return nil, f.Errorf(workload.Pos{Line: 1, Column: 1}, "run "+t.name, "names jobs that are not there, or one twice: %s", strings.Join(slices.Concat(t.jobs, t.left), ", "))
	}
	return &some, nil
}

// matches reports whether the name of the run matches a pattern (path.Match).
func (t *trial) matches(pattern string) bool {
	ok, err := path.Match(pattern, t.name)
	return err == nil && ok
}
