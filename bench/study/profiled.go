package study

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"runtime"

	"mrlocal"
	"mrlocal/internal/errs"
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/registry"
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
	in, err := os.Open(p.File.Name)
	if err != nil {
		return "", errs.Inputf(p.File.Name, "%w", errs.Cause(err))
	}
	defer in.Close()
	text, err := workload.Text(p.File.Name, in)
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
	bare := regexp.MustCompile(`(?m)^measured:.*\n(?:(?:[ \t#].*)?\n)*`).ReplaceAllString(string(text), "")
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
