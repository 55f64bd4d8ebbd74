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
	Note   func(string) // gets a line for each run
}

// leastHalfBlock is the least size of a map's input with which half of it is measured, too.
const leastHalfBlock = 64 << 10

// slotCounts returns the numbers of slots with which a job is profiled on so many cores: all up
// to four, then powers of two, and at last twice the cores.
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
	for i := range p.File.Jobs {
		runs, err := p.runs(ctx, i)
		if err != nil {
			return "", err
		}
		stages, warmUp := Fit(runs)
		m.WarmUp = max(m.WarmUp, warmUp)
		m.Jobs = append(m.Jobs, workload.MeasuredJob{Name: p.File.Jobs[i].Name, Runs: p.File.Jobs[i].Signature(), Stages: stages})
	}
	bare := regexp.MustCompile(`(?m)^measured:.*\n(?:(?:[ \t#].*)?\n)*`).ReplaceAllString(string(text), "")
	whole := bare + "\n# Measured on this machine by mrlocal profile; docs/simulator.md says what the keys mean.\n" + m.Text()
	// What no command could read is not written.
	if _, err := workload.Parse(p.File.Name, []byte(whole)); err != nil {
		return "", err
	}
	return whole, nil
}

// runs makes the runs of job i, alone. The first one has one slot of each kind. The second
// has half the bytes for each task, which says what of the time does not depend on bytes.
func (p *Profiler) runs(ctx context.Context, i int) ([]*Run, error) {
	job := p.Work[i]
	job.Submission = setup.Submission{Name: p.File.Jobs[i].Name, Weight: slots.One}
	var all []*Run
	for _, k := range slotCounts(runtime.NumCPU()) {
		done, run, err := p.run(ctx, job, k)
		if err != nil {
			return nil, err
		}
		all = append(all, run)
		if k > 1 {
			continue
		}
		// All later runs have the tasks of the first one.
		job.BlockBytes = done.Config.BlockBytes
		if job.Reducers == 0 && job.ReducersPerSlot == 0 && !job.MapOnly && len(done.Jobs) > 0 {
			job.Reducers = done.Jobs[0].Reduces
		}
		if half := job; half.BlockBytes/2 >= leastHalfBlock {
			half.BlockBytes, half.Reducers = job.BlockBytes/2, 2*job.Reducers
			if _, run, err = p.run(ctx, half, k); err != nil {
				return nil, err
			}
			all = append(all, run)
		}
	}
	return all, nil
}

// run runs a job with k slots of each kind, under a policy that lends none.
func (p *Profiler) run(ctx context.Context, job mrlocal.BatchJob, k int) (*mrlocal.Report, *Run, error) {
	o := p.Engine
	o.Trackers, o.MapSlots, o.ReduceSlots = 1, k, k
	fair, err := registry.New("fair", policy.DefaultOptions())
	if err != nil {
		return nil, nil, err
	}
	o.Policy = fair
	record := &Run{}
	o.Watch = func(s *trace.Stream) { s.Attach(record) }
	p.Note(fmt.Sprintf("profile: %s with %d of each kind of slots", job.Name, k))
	done, err := process.RunBatch(ctx, []mrlocal.BatchJob{job}, o)
	return done, record, err
}
