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
	"fmt"
	"runtime"

	"mrlocal"
	"mrlocal/internal/errs"
	"mrlocal/jobs"
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/report"
	"mrlocal/trace"
)

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
