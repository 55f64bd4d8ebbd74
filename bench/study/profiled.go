package study

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"time"

	"mrlocal"
	"mrlocal/internal/errs"
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/report"
	"mrlocal/slots/setup"
	"mrlocal/trace"
	"mrlocal/workload"
)

// Profiler measures the jobs of a workload file by real runs.
type Profiler struct {
	File   *workload.File
	Work   []mrlocal.BatchJob // the jobs of the file in its order; each must throw its result away
	Engine mrlocal.Options    // options of all runs; the slots, the trackers and the policy are replaced
	// Rounds is how often each run is made; less than 1 means once. A round makes each run once. So
	// a slow moment of the machine affects one run of each kind, and not all runs of one kind.
	Rounds int
	// RunBatch makes a run, as mrlocal.RunBatch does.
	RunBatch func(ctx context.Context, batch []mrlocal.BatchJob, o mrlocal.Options) (*mrlocal.Report, error)
	Note     func(string) // gets a line for each run; not nil
}

// leastBlock is the least --block-size, in bytes, with which jobs are profiled.
const leastBlock = 64 << 10

// slotCounts returns the numbers of slots of each kind with which a job is profiled. These are 1 to
// 4, then powers of two, up to twice the cores. The last one is exactly twice the cores.
func slotCounts(cores int) (all []int) {
	for k := 1; k < 2*cores; k++ {
		if k <= 4 || k&(k-1) == 0 {
			all = append(all, k)
		}
	}
	return append(all, 2*cores)
}

// Profile makes all runs and returns the text of the file with a section "measured" at its end. It
// replaces an earlier such section. It fails if the file cannot be read, or with the error of a
// run.
func (p *Profiler) Profile(ctx context.Context) (string, error) {
	file, _, err := ReadFiles(p.File.Name, nil)
	if err != nil {
		return "", err
	}
	m := &workload.Measured{Cores: runtime.NumCPU()}
	probe := SpeedProbe()
	var probes []workload.Probe
	before := probe()
	runs, rounds := make([][]*Run, len(p.File.Jobs)), max(1, p.Rounds)
	var all []planned
	for i := range p.File.Jobs {
		plan, err := p.plan(ctx, i)
		if err != nil {
			return "", err
		}
		all = append(all, plan...)
	}
	err = inRounds(rounds, len(all), func(n, k int) error {
		p.note(fmt.Sprintf("round %d of %d, run %d of %d", n+1, rounds, k+1, len(all)), all[k])
		run := &Run{}
		_, err := p.batch(ctx, all[k], run)
		runs[all[k].of] = append(runs[all[k].of], run)
		// The probe after a run is also the one before the next run.
		run.probes = [2]workload.Probe{before, probe()}
		before = run.probes[1]
		probes = append(probes, before)
		return err
	})
	if err != nil {
		return "", err
	}
	// The times of tasks in the file are medians. The times of the probe are medians too.
	m.Probe = middle(probes)
	for i, all := range runs {
		for _, run := range all {
			run.setSpeed(m.Cores, m.Probe)
		}
		stages, warmUp := Fit(all)
		m.WarmUp = max(m.WarmUp, warmUp)
		m.Jobs = append(m.Jobs, workload.ProfiledJob{Name: p.File.Jobs[i].Name, Runs: p.File.Jobs[i].Signature(), Stages: stages})
	}
	// The old section is removed as text, because a YAML encoder would drop the comments of the
	// file. It goes from its key to the next line that begins in the first column.
	bare := regexp.MustCompile(`(?m)^measured:.*\n(?:(?:[ \t#].*)?\n)*`).ReplaceAllString(string(file.text), "")
	whole := bare + "\n# Measured on this machine by mrlocal profile; docs/simulator.md says what the keys mean.\n" + m.Text()
	// The text is parsed again, so that no command writes a file that no other command can read.
	if _, err := workload.Parse(p.File.Name, []byte(whole)); err != nil {
		return "", err
	}
	return whole, nil
}

// planned is a run of one job alone that is still to be made.
type planned struct {
	of    int // the index of the job in the file
	job   mrlocal.BatchJob
	slots int // of each kind
}

// plan returns the runs of job i in a round. The first has the blocks and reduces of the file.
// The next ones have one slot of each kind, with blocks of half, twice and four times the size,
// and half and twice the reduces. The last ones have more slots, with the blocks and reduces of
// the file.
func (p *Profiler) plan(ctx context.Context, i int) (all []planned, err error) {
	job := p.Work[i]
	job.Submission = setup.Submission{Name: p.File.Jobs[i].Name, Weight: slots.One}
	// This run is not measured. It brings the input into the page cache. It also shows which blocks and
	// reduces the engine chooses if the file does not set them.
	var input int64
	p.note("a run that is not measured", planned{i, job, 1})
	done, err := p.batch(ctx, planned{i, job, 1}, nil)
	if err != nil {
		return nil, err
	}
	job.BlockBytes = done.Config.BlockBytes
	if len(done.Jobs) > 0 {
		input = done.Jobs[0].Counters.MapInputBytes
		if job.Reducers == 0 && job.ReducersPerSlot == 0 && !job.MapOnly {
			job.Reducers = done.Jobs[0].Reduces
		}
	}
	all = append(all, planned{i, job, 1})
	for _, size := range []int64{job.BlockBytes / 2, 2 * job.BlockBytes, 4 * job.BlockBytes} {
		// Blocks that are larger than twice the input would give the same single map again.
		if other := job; size >= leastBlock && size/2 < input {
			other.BlockBytes = size
			all = append(all, planned{i, other, 1})
		}
	}
	for _, reduces := range []int{job.Reducers / 2, 2 * job.Reducers} {
		if other := job; reduces > 0 {
			other.Reducers = reduces
			all = append(all, planned{i, other, 1})
		}
	}
	for _, k := range slotCounts(runtime.NumCPU())[1:] {
		all = append(all, planned{i, job, k})
	}
	return all, nil
}

// batch makes a run on one tracker. record gets its events; nil: no record is kept.
func (p *Profiler) batch(ctx context.Context, one planned, record *Run) (*mrlocal.Report, error) {
	o := p.Engine
	// rawPolicy lends no slots. So the number of maps that run at a time is at most
	// that of the map slots, and likewise for reduces.
	o.Trackers = 1
	o.MapSlots = one.slots
	o.ReduceSlots = one.slots
	var err error
	if o.Policy, err = registry.New(rawPolicy, policy.DefaultOptions()); err != nil {
		return nil, err
	}
	if record != nil {
		o.Watch = func(s *trace.Stream) { s.Attach(record) }
	}
	return p.RunBatch(ctx, []mrlocal.BatchJob{one.job}, o)
}

// note notes that a run begins. which says which one it is.
func (p *Profiler) note(which string, one planned) {
	p.Note(fmt.Sprintf("profile: %s: %s with blocks of %d bytes; reduces: %d; slots of each kind: %d", which, one.job.Name, one.job.BlockBytes, one.job.Reducers, one.slots))
}

// fastest returns the run with the shortest makespan, and of equal ones the first. There is at
// least one run.
func fastest(runs []*report.Report) *report.Report {
	return slices.MinFunc(runs, func(a, b *report.Report) int { return cmp.Compare(a.MakespanSeconds, b.MakespanSeconds) })
}

// tracker is the capacity of one tracker.
type tracker struct {
	cores       int
	memoryBytes int64 // 0: unknown
	diskBytes   int64 // a second; 0: unknown
}

// trackerOf returns the capacity of each tracker in run r. cpus is the number of CPUs of the machine.
func trackerOf(r *report.Report, cpus int) tracker {
	// The trackers share cores and memory equally. --disk-bw already is for each tracker.
	n := max(r.Config.Trackers, 1)
	t := tracker{cores: max(1, cpus/n), diskBytes: r.Config.DiskBytesPerSecond}
	// Only the report of a real run has a data plane. A simulation has no bound of memory.
	if r.Config.DataPlane != nil {
		t.memoryBytes = r.Config.MemoryBytes / int64(n)
	}
	return t
}

// profile returns the demand of the tasks of a job in shares of t. phases has what all tasks of the job
// used in each phase. copies is the number of map outputs that a reduce has copied at a time.
func (t tracker) profile(phases []report.Usage, copies int) report.JobProfile {
	shuffle := t.demand(phases, "copy")
	// The measured I/O is that of all copies of a reduce. The profile has that of one copy
	// [RAS11, section 3.6].
	shuffle.IO /= float64(copies)
	return report.JobProfile{Map: t.demand(phases, "none", "compute", "io"), Shuffle: shuffle, Reduce: t.demand(phases, "sort", "reduce")}
}

// demand returns the demand of a task in the named phases, as shares of t. CPU and I/O are averages
// over the time of these phases, and memory is the peak. A share is 0 if the capacity is unknown.
func (t tracker) demand(phases []report.Usage, names ...string) (d report.Demand) {
	var sum report.Usage
	for i := range phases {
		for _, name := range names {
			if phases[i].Phase == name {
				sum.Add(&phases[i])
			}
		}
	}
	// If no task had these phases, their time is 0.
	if sum.WallS > 0 {
		d.CPU = sum.CPUS / sum.WallS / float64(t.cores)
		if t.diskBytes > 0 {
			d.IO = float64(sum.ReadBytes+sum.WrittenBytes) / sum.WallS / float64(t.diskBytes)
		}
	}
	if t.memoryBytes > 0 {
		d.Memory = float64(sum.PeakBytes) / float64(t.memoryBytes)
	}
	return d
}

// profileText returns the text that mrlocal profile prints, in the form of a workload file. It begins
// with comments that have the makespans of all runs. The profile of each job of the chain follows,
// from the fastest run.
func profileText(runs []*report.Report, cpus int) []byte {
	var b bytes.Buffer
	best := fastest(runs)
	for _, r := range runs {
		mark := ""
		if r == best {
			mark = "  the fastest"
		}
		fmt.Fprintf(&b, "# %s: %.3f s%s\n", errs.Counted(r.Config.MapSlots, "map slot"), r.MakespanSeconds, mark)
	}
	t := trackerOf(best, cpus)
	disk := "I/O is not measured: --disk-bw says what a tracker's disk gives"
	if t.diskBytes > 0 {
		disk = fmt.Sprintf("%d bytes of I/O a second", t.diskBytes)
	}
	for i := range best.Jobs {
		// If the job has fewer maps, there are fewer outputs to copy.
		copies := cmp.Or(best.Config.ParallelCopies, slots.DefaultParallelCopies)
		p := t.profile(best.Jobs[i].Phases, max(1, min(copies, best.Jobs[i].Maps)))
		fmt.Fprintf(&b, "# %s: shares of %d cores and %d bytes; %s\nprofile: {map: %s, shuffle: %s, reduce: %s}\n",
			best.Jobs[i].Name, t.cores, t.memoryBytes, disk, shares(p.Map), shares(p.Shuffle), shares(p.Reduce))
	}
	return b.Bytes()
}

// shares writes a demand as shares of a tracker from 0 to 1, with at most six decimals.
func shares(d report.Demand) string {
	share := func(x float64) slots.PPM { return slots.PPM(max(0, min(x, 1))*float64(slots.One) + 0.5) }
	return fmt.Sprintf("{cpu: %v, io: %v, mem: %v}", share(d.CPU), share(d.IO), share(d.Memory))
}

// measuredAttempt is an attempt that has committed its task. from is since the start of the run.
type measuredAttempt struct {
	trace.Attempt
	from       time.Duration // the start of its work; that of a reduce starts when it has copied all map outputs
	bytes      int64         // that it read: input of a map, copied map outputs of a reduce
	core       int32         // -1: the slot is not bound to a core
	concurrent float64       // the mean number of attempts at work while it worked, itself included
	// slower is the time of its work divided by the time at the middle speed of the machine. 0 stands
	// for 1.
	slower float64
}

// Run is a trace.Sink that records a run of one job alone. The zero value is an empty record. Record
// fills it during the run. After the run, setSpeed and Fit use it.
type Run struct {
	stages   []stageRun // by job of the chain
	slots    []trace.Slot
	attempts trace.Attempts
	probes   [2]workload.Probe // before and after the run

	// slower returns how much longer tasks take in this run than at the middle speed of the
	// machine, as a factor. k attempts are at work. nil: the speed is unknown.
	slower func(k float64) float64
}

// setSpeed sets how much slower or faster the machine was in this run than in the middle of the
// profile. middle is the median probe of the profile. cores is the number of cores.
func (r *Run) setSpeed(cores int, middle workload.Probe) {
	var alone, all float64
	for _, p := range r.probes {
		a, b := p.Slower(middle)
		alone, all = alone+a/2, all+b/2
	}
	r.slower = func(k float64) float64 { return workload.SlowerBeside(k, cores, alone, all) }
}

// Open keeps the slots of the run, whose cores Record needs. trace.Stream calls it before the first
// event.
func (r *Run) Open(h *trace.Header) error {
	r.slots = h.Slots
	return r.attempts.Open(h)
}

// stageRun is one job of a chain in a run. A stage is a job of a chain here, as in a workload file.
type stageRun struct {
	submitted time.Duration // since the start of the run
	attempts  []measuredAttempt
}

// Record takes an event of the run. It keeps only attempts that commit.
func (r *Run) Record(_ *trace.Stream, e *trace.Event) error {
	if e.Op == trace.OpSubmit {
		r.stages = append(r.stages, stageRun{submitted: e.At})
	}
	for _, a := range r.attempts.Apply(e) {
		if !a.Done || int(a.Job) >= len(r.stages) {
			continue
		}
		m := measuredAttempt{Attempt: *a, from: a.From, bytes: a.InBytes, core: r.slots[a.Slot].Core}
		if a.Kind == trace.Reduce {
			m.from, m.bytes = max(a.From, a.Copied), a.CopyBytes
		}
		s := &r.stages[a.Job]
		s.attempts = append(s.attempts, m)
	}
	return nil
}

// setConcurrency sets the fields concurrent and slower of each attempt. It needs all attempts, so it
// comes after the run, and after setSpeed.
func (r *Run) setConcurrency() {
	for i := range r.stages {
		for n := range r.stages[i].attempts {
			a := &r.stages[i].attempts[n]
			a.concurrent = 1
			if took := (a.To - a.from).Seconds(); took > 0 {
				a.concurrent = r.integrate(a, func(_, all []*measuredAttempt) float64 { return float64(len(all)) }) / took
			}
			if r.slower != nil {
				a.slower = r.slower(a.concurrent)
			}
		}
	}
}

// integrate returns the integral of value over the work of attempt a, in seconds, scaled to the middle
// speed of the machine. value gets the attempts that are at work at a moment. core has those on the
// core of a, and all has all of them. Both contain a, and are valid only during the call.
func (r *Run) integrate(a *measuredAttempt, value func(core, all []*measuredAttempt) float64) (sum float64) {
	// value changes only where an attempt starts or ends. edges has these moments within the work of a.
	var beside []*measuredAttempt
	edges := []time.Duration{a.from, a.To}
	for i := range r.stages {
		for n := range r.stages[i].attempts {
			if b := &r.stages[i].attempts[n]; b.from < a.To && b.To > a.from {
				beside = append(beside, b)
				edges = append(edges, max(a.from, b.from), min(a.To, b.To))
			}
		}
	}
	slices.Sort(edges)
	// Between two edges the same attempts are at work, so value is called once for each such period.
	var core, all []*measuredAttempt
	for i := 1; i < len(edges); i++ {
		if edges[i] == edges[i-1] {
			continue
		}
		core, all = core[:0], all[:0]
		for _, b := range beside {
			if b.from <= edges[i-1] && b.To >= edges[i] {
				all = append(all, b)
				if b.core == a.core {
					core = append(core, b)
				}
			}
		}
		sum += value(core, all) * (edges[i] - edges[i-1]).Seconds()
	}
	return sum / cmp.Or(a.slower, 1)
}
