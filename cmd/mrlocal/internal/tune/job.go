package tune

import (
	"context"
	"fmt"
	"runtime"

	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/engine"
	"mrlocal/jobs"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/policy/settings"
	"mrlocal/trace"
)

// rawPolicy is the paper's raw version.
const rawPolicy = "fair"

// Job is a job that is measured by real runs, whose results are thrown away.
type Job struct {
	Chain   jobs.Chain
	Options engine.Options // MapSlots, ReduceSlots: up to so many; 0: a tracker's cores, at least 2
	Rounds  int
	Note    func(string) // what the first run has to say, and a line a run
}

// Measure makes the runs.
func (j *Job) Measure(ctx context.Context) (*Result, error) {
	o := &j.Options
	cores := max(2, runtime.NumCPU()/max(o.Trackers, 1))
	orCores := func(n int) int {
		if n > 0 {
			return n
		}
		return cores
	}
	o.Note = j.Note
	return Measure(Options{
		MapSlots: orCores(o.MapSlots), ReduceSlots: orCores(o.ReduceSlots), Reducers: o.Reducers, BlockBytes: o.BlockBytes, Rounds: j.Rounds,
		Make: func(s Setting) (*Run, error) {
			defer func() { o.Note = nil }()
			return j.run(ctx, s)
		},
		Tell: func(done, all int, s Setting) { j.Note(fmt.Sprintf("tune: run %d of %d: %v", done, all, s)) },
	})
}

func (j *Job) run(ctx context.Context, s Setting) (*Run, error) {
	raw, err := registry.New(rawPolicy, settings.Defaults())
	if err != nil {
		return nil, err
	}
	run := &Run{Times: &Times{}}
	o := j.Options
	o.Policy, o.Watch = raw, func(stream *trace.Stream) { stream.Attach(run.Times) }
	o.MapSlots, o.ReduceSlots, o.Reducers, o.BlockBytes = s.MapSlots, s.ReduceSlots, s.Reducers, s.BlockBytes
	run.Report, err = process.RunChain(ctx, j.Chain, o)
	return run, err
}
