// Package mrlocal runs MapReduce jobs on the files and cores of one machine, in
// a bounded amount of memory.
//
// A job is a value of type jobs.Job (package mrlocal/jobs): a constructor of a
// mapper, and usually one of a reducer. Run runs one job, RunChain a chain of
// jobs, RunBatch many jobs that share the slots:
//
//	report, err := mrlocal.Run(ctx, job, mrlocal.Options{
//		JobOptions: mrlocal.JobOptions{Inputs: []string{"notes/"}, OutputFile: "index.txt"},
//	})
//	switch {
//	case errors.Is(err, mrlocal.ErrBadOptions), errors.Is(err, mrlocal.ErrBadInput):
//		// correct the call; if report is nil, nothing was started
//	case errors.Is(err, mrlocal.ErrInterrupted):
//		// ctx ended; no partial output is left
//	case err != nil:
//		// the job failed; the report says how far it came
//	}
//
// The packages mrlocal/jobs/wordcount, mrlocal/jobs/sort and
// mrlocal/jobs/grep hold jobs that are ready to run. The package
// mrlocal/slots/policy/registry makes slot policies by name; a run without one
// lends slots (DefaultPolicy). A policy may serve runs one after the other, but
// runs that take place at once need a policy each: the second one is refused.
//
// # Memory and the process
//
// Options.MemoryBytes bounds all buffers of a run. What does not fit is written
// to temporary files. A run changes nothing of its process. A program that does
// one run and nothing else is faster if it sets the values that
// Options.ProcessLimits returns, as the command mrlocal does:
//
//	procs, bytes := options.ProcessLimits(1)
//	runtime.GOMAXPROCS(procs)
//	debug.SetMemoryLimit(bytes)
//
// # Where to read on
//
// The packages in the order in which the data passes through them: input, jobs,
// spill, engine/task, output. Beside them slots decides which task runs where, and
// slots/policy holds the policies. engine drives them for real, and sim in
// virtual time. trace records every fact and decision, and report sums up.
// ARCHITECTURE.md has the figures; cmd/mrlocal is the command.
package mrlocal

import (
	"context"

	"mrlocal/engine"
	"mrlocal/engine/source"
	"mrlocal/errs"
	"mrlocal/input"
	"mrlocal/internal/membudget"
	"mrlocal/jobs"
	"mrlocal/report"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/setup"
	"mrlocal/spill"
)

// Version is the release that this code is, or that it follows. CHANGELOG.md
// says what each release brought.
const Version = "0.5.0"

// DefaultPolicy is the slot policy of a run whose Options name none: it lends
// idle slots of one kind to tasks of the other kind ([DHFS13, Alg. 1]).
const DefaultPolicy = "pi-dhfs"

type (
	// Options say how a run is done; the zero value of every field works. Only
	// JobOptions.Inputs is required, and RunBatch does not need that either.
	Options = engine.Options

	// JobOptions say what one job reads and writes, and how its input is split.
	JobOptions = engine.JobOptions

	// Config is the part of Options that says on what cluster a run takes place
	// and who shares it: slots, pools, users, faults.
	Config = setup.Config

	// KVBuffer is the part of Options that says how kvbuffers spill and grow.
	KVBuffer = spill.KVBuffer

	// BatchJob is one job of a batch: a chain, its Submission and its JobOptions.
	BatchJob = engine.BatchJob

	// Submission is a job's name, pool and user, and when it is submitted.
	Submission = setup.Submission

	// Report says what a run did: times, slots, jobs and counters.
	Report = report.Report

	// Error is the type of every error of a run. Its Kind is one of the
	// constants below, and errors.Is finds it. Its Object names the field of
	// Options, the job or the path that is wrong.
	Error = errs.Error
)

// The kinds of errors, for errors.Is.
const (
	ErrBadOptions  = errs.BadOptions  // Options or a job are wrong
	ErrBadInput    = errs.BadInput    // an input is missing or malformed
	ErrJobFailed   = errs.JobFailed   // the job was started and failed
	ErrInterrupted = errs.Interrupted // the context ended before the job did
)

// Run runs one job. It returns when the result is complete and durable, or when
// the job has failed and all of its partial output is removed. See RunChain.
func Run(ctx context.Context, job jobs.Job, o Options) (*Report, error) {
	return RunChain(ctx, jobs.Chain{job}, o)
}

// RunChain runs the jobs of a chain one after the other. Each job reads what
// the job before it wrote, and the output of the last job is the result.
//
// If ctx ends, the run stops and the error is of kind ErrInterrupted; it wraps
// the cause of ctx. The report is nil if nothing was started, and is there
// beside an error otherwise.
//
// A run changes nothing of the process: not GOMAXPROCS, not the memory limit,
// not signals. Several runs may follow one another or take place at once; each
// uses up to its own Options.MemoryBytes.
func RunChain(ctx context.Context, chain jobs.Chain, o Options) (*Report, error) {
	if err := choosePolicy(&o); err != nil {
		return nil, err
	}
	return engine.RunChain(ctx, chain, o)
}

// RunBatch runs many jobs at once, which share slots and memory. A job starts
// at its BatchJob.Submit and after the jobs that its After lists. The failure
// of one job does not stop the others; the error then names those that failed,
// and the report has the outcome of each. The batch is borrowed until RunBatch
// returns. Otherwise RunBatch does as RunChain.
func RunBatch(ctx context.Context, batch []BatchJob, o Options) (*Report, error) {
	if err := choosePolicy(&o); err != nil {
		return nil, err
	}
	return engine.RunBatch(ctx, batch, o)
}

// choosePolicy sets DefaultPolicy if o names no policy. The engine itself may not
// import policies, and uses FIFO.
func choosePolicy(o *Options) (err error) {
	if o.Policy == nil {
		o.Policy, err = registry.New(DefaultPolicy, policy.DefaultOptions())
	}
	return err
}

// Cuts samples the inputs and returns parts-1 ascending keys of job. They divide the records
// into about equal ranges. A key that equals a cut belongs to the range behind it. Run does this
// for itself. Cuts is for a job that runs elsewhere, such as under package stream. Of o it reads
// Inputs, Stdin, All, NoDecode and HDFS. Inputs must be files, not streams.
func Cuts(ctx context.Context, job jobs.Job, parts int, o JobOptions) ([][]byte, error) {
	plan, err := input.NewPlan(o.Inputs, o.InputOptions(&job))
	if err != nil {
		return nil, err
	}
	budget, err := membudget.New(2 * source.SampleLeaseBytes)
	if err != nil {
		return nil, err
	}
	defer budget.Close()
	lease, err := budget.Reserve(ctx, source.SampleLeaseBytes)
	if err != nil {
		return nil, err
	}
	defer lease.Close()
	cuts, _, err := source.Sample(&job, plan, nil, parts, false, lease)
	return source.PadCuts(cuts, parts), err
}
