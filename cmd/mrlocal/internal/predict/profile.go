package predict

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"runtime"

	"mrlocal"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/errs"
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/setup"
	"mrlocal/trace"
	"mrlocal/workload"
)

// Profiler measures the jobs of a workload file.
type Profiler struct {
	File   *workload.File
	Work   []mrlocal.BatchJob // what runs, by job of the file; results are thrown away
	Engine mrlocal.Options
	// Rounds is how often each run is made, at least once. Between two of a kind lie those of all
	// others, because a machine that others use, too, is slower for seconds at a time.
	Rounds int
	Note   func(string) // gets a line for each run
}

// leastBlock is the least size of a map's input with which jobs are profiled.
const leastBlock = 64 << 10

// slotCounts returns the numbers of slots with which a job is profiled on so many cores. These
// are all up to four, then powers of two, and at last twice the cores.
func slotCounts(cores int) (all []int) {
	for k := 1; k < 2*cores; k++ {
		if k <= 4 || k&(k-1) == 0 {
			all = append(all, k)
		}
	}
	return append(all, 2*cores)
}

// Profile returns the text of the file with what was measured behind it. An earlier section
// measured is left out. Errors of runs are those of mrlocal.RunBatch.
func (p *Profiler) Profile(ctx context.Context) (string, error) {
	text, err := os.ReadFile(p.File.Name)
	if err != nil {
		return "", errs.Inputf(p.File.Name, "%w", errs.Cause(err))
	}
	m := &workload.Measured{Cores: runtime.NumCPU(), MemoryBytes: memoryBytes()}
	dir := os.TempDir()
	if len(p.Engine.TempDirs) > 0 {
		dir = p.Engine.TempDirs[0]
	}
	if m.DiskBytes, err = diskBytes(dir); err != nil {
		p.Note(fmt.Sprintf("profile: the disk of %s cannot be measured: %v", dir, err))
	}
	probe := SpeedProbe()
	before, probes := probe(), probesOf{}
	runs := make([][]*Run, len(p.File.Jobs))
	plans := make([][]planned, len(p.File.Jobs))
	// A round makes each run once, so a slow minute of the machine hits one run of each kind and
	// not all of one.
	for n := range max(1, p.Rounds) {
		for i := range p.File.Jobs {
			if n == 0 {
				if plans[i], err = p.plan(ctx, i); err != nil {
					return "", err
				}
			}
			for _, one := range plans[i] {
				run, err := p.run(ctx, one)
				if err != nil {
					return "", err
				}
				runs[i] = append(runs[i], run)
				after := probe()
				run.probes = [2]workload.Probe{before, after}
				before = after
				probes.add(after)
			}
		}
	}
	// As the times of tasks, that of the probe is the middle one.
	m.Probe = probes.middle()
	for i, all := range runs {
		for _, run := range all {
			run.steady(m.Cores, m.Probe)
		}
		stages, warmUp := Fit(all)
		m.WarmUp = max(m.WarmUp, warmUp)
		m.Jobs = append(m.Jobs, workload.ProfiledJob{Name: p.File.Jobs[i].Name, Runs: p.File.Jobs[i].Signature(), Stages: stages})
	}
	// The section goes from its key to the next line that begins in the first column. Comments of
	// the file stay, which a YAML encoder would lose.
	bare := regexp.MustCompile(`(?m)^measured:.*\n(?:(?:[ \t#].*)?\n)*`).ReplaceAllString(string(text), "")
	whole := bare + "\n# Measured on this machine by mrlocal profile; docs/simulator.md says what the keys mean.\n" + m.Text()
	// What no command could read is not written.
	if _, err := workload.Parse(p.File.Name, []byte(whole)); err != nil {
		return "", err
	}
	return whole, nil
}

// planned is a run of a job alone, with so many slots of each kind.
type planned struct {
	job   mrlocal.BatchJob
	slots int
}

// plan returns the runs of job i in a round, all of it alone. First its blocks are as the file
// has them. With one slot of each kind, they are then half, twice and four times as large, and
// there are half and twice the reduces. Last come more slots.
func (p *Profiler) plan(ctx context.Context, i int) (all []planned, err error) {
	job := p.Work[i]
	job.Submission = setup.Submission{Name: p.File.Jobs[i].Name, Weight: slots.One}
	// This run says how the job is divided if the file does not; it is the warm-up as well.
	var input int64
	done, err := p.batch(ctx, planned{job, 1}, nil)
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
	all = append(all, planned{job, 1})
	for _, size := range []int64{job.BlockBytes / 2, 2 * job.BlockBytes, 4 * job.BlockBytes} {
		// A block that is larger than the input is the whole of it.
		if other := job; size >= leastBlock && size/2 < input {
			other.BlockBytes = size
			all = append(all, planned{other, 1})
		}
	}
	for _, reduces := range []int{job.Reducers / 2, 2 * job.Reducers} {
		if other := job; reduces > 0 {
			other.Reducers = reduces
			all = append(all, planned{other, 1})
		}
	}
	for _, k := range slotCounts(runtime.NumCPU())[1:] {
		all = append(all, planned{job, k})
	}
	return all, nil
}

// run makes a run and returns its record.
func (p *Profiler) run(ctx context.Context, one planned) (*Run, error) {
	record := &Run{}
	done, err := p.batch(ctx, one, record)
	if err == nil {
		record.Count(done)
	}
	return record, err
}

// batch makes a run, under a policy that lends no slots. record may be nil.
func (p *Profiler) batch(ctx context.Context, one planned, record *Run) (*mrlocal.Report, error) {
	o := p.Engine
	// Slots that are lent would mix the times of maps and reduces.
	o.Trackers, o.MapSlots, o.ReduceSlots = 1, one.slots, one.slots
	fair, err := registry.New("fair", policy.DefaultOptions())
	if err != nil {
		return nil, err
	}
	o.Policy = fair
	if record != nil {
		o.Watch = func(s *trace.Stream) { s.Attach(record) }
	}
	p.Note(fmt.Sprintf("profile: %s with blocks of %d bytes; reduces: %d; slots of each kind: %d", one.job.Name, one.job.BlockBytes, one.job.Reducers, one.slots))
	return process.RunBatch(ctx, []mrlocal.BatchJob{one.job}, o)
}
