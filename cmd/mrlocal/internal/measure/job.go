// Package measure runs a job or a workload several times, with different slots or
// policies, and compares the runs. A MeasuredJob has two measurements, which throw the results
// away:
//
//   - Tune (mrlocal tune) finds the numbers of slots for the job, by Dynamic
//     Split's guideline ([Split11]). It takes Avg_k, the mean time of a task
//     while k tasks run at a time, and chooses the k with the least Avg_k/k. The
//     paper chooses limits of reduces so: in total, in their shuffle, and in their
//     sort and compute. Tune chooses map slots in the same way.
//   - Profile (mrlocal profile) says what one task needs of a tracker, for
//     workload files and the policy ras ([RAS11]).
//
// Both measure under a policy that lends no slots, as the papers do. All runs of
// Tune have the same number of tasks P. A tracker never has more slots than it
// has tasks: otherwise fewer than k tasks would run at a time.
//
// The formulas are in slots/policy/dynsplit.
//
// A Plan (mrlocal sweep) lays out the runs of a workload over slots, shares and policies. It is
// pure: the caller makes the runs and gives back their reports. The Plan shows them as a table,
// as CSV and as a chart.
//
// Demo (mrlocal demo) is what a new user runs first: it makes wiki/, runs one grep
// under two policies, draws both runs and compares them.
//
// Neighbours: cmd/mrlocal reads the flags; package mrlocal makes the runs; datagen makes
// the demo's input, and slots/explain explains its first loan; view/svg draws.
package measure

import (
	"context"
	"fmt"
	"runtime"

	"mrlocal"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/jobs"
	"mrlocal/report"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/registry"
	"mrlocal/trace"
)

// rawPolicy lends no slots: the raw version of [Split11].
const rawPolicy = "fair"

// MeasuredJob is a job that is measured by real runs.
type MeasuredJob struct {
	Chain   jobs.Chain
	Options mrlocal.Options // MapSlots and ReduceSlots are the most that are tried; 0: the cores of a tracker
	Rounds  int             // of Tune: runs with each number of slots
	Note    func(string)    // gets the notes of the first run, and from Tune a line for each run
}

// Tune runs the job with 1 to Options.MapSlots map slots, then with 1 to
// Options.ReduceSlots reduce slots.
func (j *MeasuredJob) Tune(ctx context.Context) (*Result, error) {
	o := &j.Options
	// At least 2 are tried, because 1 alone compares with nothing.
	cores := max(2, runtime.NumCPU()/max(o.Trackers, 1))
	most := setting{MapSlots: o.MapSlots, ReduceSlots: o.ReduceSlots, Reducers: o.Reducers, BlockBytes: o.BlockBytes}
	if most.MapSlots == 0 {
		most.MapSlots = cores
	}
	if most.ReduceSlots == 0 {
		most.ReduceSlots = cores
	}
	// first is true until the first run has passed its notes on.
	first := true
	return tune(&series{
		most: most, rounds: j.Rounds,
		begin: func(done, all int, s setting) { j.Note(fmt.Sprintf("tune: run %d of %d: %v", done, all, s)) },
		make: func(s setting) (*run, error) {
			// Each run has its own sink and its own copy of the options. The runs follow one
			// another.
			r := &run{times: &taskTimes{}}
			o := *o
			o.MapSlots, o.ReduceSlots, o.Reducers, o.BlockBytes = s.MapSlots, s.ReduceSlots, s.Reducers, s.BlockBytes
			o.Watch = func(stream *trace.Stream) { stream.Attach(r.times) }
			var err error
			r.report, err = j.run(ctx, o, first)
			first = false
			return r, err
		},
	})
}

// Profile runs the job with 1 to Options.MapSlots map slots and returns the
// profile that the fastest run shows, as a workload file has it. There tasks
// compete for the scarce resource without hindering one another.
func (j *MeasuredJob) Profile(ctx context.Context) ([]byte, error) {
	// 0 stands for the cores of a tracker.
	most := j.Options.MapSlots
	if most == 0 {
		most = max(1, runtime.NumCPU()/max(j.Options.Trackers, 1))
	}
	o := j.Options
	o.MapSlots = most
	if err := o.Check(); err != nil { // before the runs with fewer slots
		return nil, err
	}
	var runs []*report.Report
	for n := range most {
		o.MapSlots = n + 1
		r, err := j.run(ctx, o, n == 0)
		if err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	return profileText(runs, runtime.NumCPU()), nil
}

// run runs the job once. Only the first run passes its notes on: those of the
// others are the same.
func (j *MeasuredJob) run(ctx context.Context, o mrlocal.Options, first bool) (r *report.Report, err error) {
	if o.Policy, err = registry.New(rawPolicy, policy.DefaultOptions()); err != nil {
		return nil, err
	}
	if o.Note = nil; first {
		o.Note = j.Note
	}
	return process.RunChain(ctx, j.Chain, o)
}
