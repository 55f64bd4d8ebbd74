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
//		// the work failed; a report that is not nil says how far it came
//	}
//
// The packages mrlocal/jobs/wordcount, mrlocal/jobs/sort and
// mrlocal/jobs/grep have jobs that are ready to run. The package
// mrlocal/slots/policy/registry makes slot policies by name. A run whose Options
// have no policy gets DefaultPolicy. A policy may serve several runs, one after the
// other. Two runs at the same time need two policies: with the same one, the second
// run fails with ErrBadOptions.
//
// # Memory and the process
//
// Options.MemoryBytes bounds all buffers of a run. Data that does not fit is written
// to temporary files. A run changes no setting of its process. A program that does
// one run and nothing else is faster if it sets the values that
// Options.ProcessLimits returns, as the command mrlocal does:
//
//	procs, bytes := options.ProcessLimits(1)
//	runtime.GOMAXPROCS(procs)
//	debug.SetMemoryLimit(bytes)
//
// # What is promised
//
// These packages are for programs of users. A change of what they export is in CHANGELOG.md:
//
//	mrlocal, jobs, jobs/typed, jobs/jobtest                              jobs of one's own, and their tests
//	jobs/wordcount, jobs/sort, jobs/grep, jobs/count, jobs/sleep         jobs that are ready to run
//	slots, slots/report, slots/setup, slots/explain                      slot policies, reports
//	slots/policy, slots/policy/registry, slots/policy/policytest         policies of one's own, and their tests
//	sim, workload, trace                                                 simulations, workload files, events
//	hadoop/stream                                                        jobs as children of Hadoop Streaming
//
// All other packages are parts of these and of the command. They change without notice, except for types that the
// packages above name, such as engine.Options. No package below an internal directory can be imported.
//
// # Where to read on
//
// The data passes through these packages, in this order: input, jobs, spill,
// engine, output. Package slots decides which task runs on which slot, by a policy
// of slots/policy. Package engine runs tasks for real, and package sim in virtual time.
// Package trace records every fact and decision, and package report has the summary.
// ARCHITECTURE.md has figures. cmd/mrlocal is the command.
package mrlocal

import (
	"bytes"
	"cmp"
	"context"
	"iter"

	"mrlocal/engine"
	"mrlocal/internal/errs"
	"mrlocal/internal/guard"
	"mrlocal/jobs"
	"mrlocal/jobs/typed"
	"mrlocal/output"
	"mrlocal/shuffle"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/report"
	"mrlocal/slots/setup"
	"mrlocal/spill"
)

// Version is the version of this release or, between two releases, of the last one.
// CHANGELOG.md lists the changes of each release.
const Version = "0.5.0"

// DefaultPolicy is the name of the slot policy of a run whose Options have none. The policy
// lends idle slots of one kind to tasks of the other kind ([DHFS13, Alg. 1]).
const DefaultPolicy = "pi-dhfs"

// MostReducers is the largest number of reducers of a job, and of parts of Cuts.
const MostReducers = jobs.MostReducers

// Bounds returns the bounds of the Config of a run, for Config.Fields.
func Bounds() setup.Bounds { return engine.Bounds() }

type (
	// Options are the options of a run. The zero value of every field works, except that Run and
	// RunChain require JobOptions.Inputs of a job that reads files. "go doc mrlocal/engine.Options"
	// describes the fields:
	//
	//	JobOptions, Config, KVBuffer                               embedded
	//	Policy, NoReduces, NoPin                                   slots
	//	MemoryBytes, SortBufferBytes, MergeFactor                  memory
	//	TempDirs, TempAtNeed, MaxTempBytes                         temporary files
	//	DiskBytesPerSecond, Copiers, CopyOutputs                   speed of disks and copies
	//	TaskTimeout, ResumeDir, ResumeSettings                     failures
	//	Events, Watch, Progress, Note, Warn, Stderr, Logger, Profile   what is observed
	Options = engine.Options

	// JobOptions are the options of one job: what it reads and writes, and how its input is
	// divided. "go doc mrlocal/engine.JobOptions" describes the fields:
	//
	//	Inputs, Found, HDFS, All, NoDecode, UTF16, Stdin, Side, Uncounted               input
	//	OutputDir, OutputFile, Stdout, PipeMayClose, Overwrite, CompressOutput, DirStyle   result
	//	Reducers, ReducersPerSlot, MapOnly, BlockBytes                                  tasks
	JobOptions = engine.JobOptions

	// Config is the part of Options that describes the cluster: slots, pools, users and faults.
	// "go doc mrlocal/slots/setup.Config" describes the fields:
	//
	//	Trackers, MapSlots, ReduceSlots, MaxSlots, GroupTrackers, Slowstart, Attempts
	//	Replicas, LocalityDelay, RemotePenalty, ShuffleBytesPerSecond, Seed
	//	Pools, Users, Capacities, Slow, Faults
	Config = setup.Config

	// KVBuffer is the part of Options that says how kvbuffers spill and grow: SpillPercent, NoGrowth,
	// GrowthThreshold, Codec and TablesInProportion. "go doc mrlocal/spill.KVBuffer" describes them.
	KVBuffer = spill.KVBuffer

	// Slow is a tracker that is slower than the others, for Config.Slow.
	Slow = setup.Slow

	// Fault is an injected fault, for Config.Faults.
	Fault = setup.Fault

	// Copiers bound what a reduce copies at a time, for Options.Copiers.
	Copiers = shuffle.Copiers

	// Codec is how spills are compressed, for Options.Codec. The zero value is CodecAuto.
	Codec = shuffle.Codec

	// Format is how results are compressed, for JobOptions.CompressOutput. The zero value
	// leaves it to the suffix of OutputFile.
	Format = output.Format

	// Progress is how far a run has come, for Options.Progress.
	Progress = engine.Progress

	// BatchJob is one job of a batch: a chain, its Submission and its JobOptions.
	BatchJob = engine.BatchJob

	// Submission has the name, pool and user of a job, and the time at which it is submitted.
	Submission = setup.Submission

	// Report is the report of a run: times, slots, jobs and counters.
	Report = report.Report

	// Error is the type of every error of a run. Its Kind is one of the
	// constants below, and errors.Is finds it. Its Object is the field of
	// Options, the job or the path that is wrong. It is empty if the
	// run as a whole has failed or was interrupted.
	Error = errs.Error
)

// The codecs of spills.
const (
	CodecAuto = shuffle.Auto
	CodecNone = shuffle.None
	CodecS2   = shuffle.S2
	CodecZstd = shuffle.Zstd
)

// The formats of compressed results.
const (
	FormatNone = output.None
	FormatGzip = output.Gzip
	FormatZstd = output.Zstd
	// FormatBzip2 and FormatDeflate are the formats of Hadoop's BZip2Codec and DefaultCodec.
	FormatBzip2   = output.Bzip2
	FormatDeflate = output.Deflate
)

// The kinds of errors, for errors.Is.
const (
	ErrBadOptions  = errs.BadOptions  // Options or a job are wrong
	ErrBadInput    = errs.BadInput    // an input is missing, or is known to be unreadable before the start
	ErrJobFailed   = errs.JobFailed   // the work failed, also by an input that is damaged, or by a policy that panics
	ErrInterrupted = errs.Interrupted // the context ended before the job did
)

// Run runs one job. It returns when the result is complete and durable, or when the job has failed
// and its partial output is removed. Errors and reports are as for RunChain.
func Run(ctx context.Context, job jobs.Job, o Options) (*Report, error) {
	return RunChain(ctx, jobs.Chain{job}, o)
}

// RunChain runs the jobs of a chain one after the other. Each job reads the output
// of the job before, and the output of the last job is the result.
//
// Every error is an *Error. If ctx ends, the run stops within two seconds, also if user code other
// than a policy hangs. The error is then of kind ErrInterrupted and wraps the cause of ctx. If options or inputs are
// refused before the work begins, the report is nil. Otherwise RunChain returns a report, even with an error.
//
// A run does not change GOMAXPROCS, the memory limit or signals of the process.
// Several runs may take place one after the other or at once. Each uses up to its own
// Options.MemoryBytes.
func RunChain(ctx context.Context, chain jobs.Chain, o Options) (*Report, error) {
	if err := choosePolicy(&o); err != nil {
		return nil, err
	}
	return engine.RunChain(ctx, chain, o)
}

// RunBatch runs many jobs at once, which share slots and memory. A job is submitted at
// its time (Submission), and after the jobs that its After lists. If a job fails, the
// others go on. The error is then of kind ErrJobFailed and wraps an Error for each job that
// failed, and the report has the outcome of each. RunBatch reads batch until it returns.
// Otherwise it behaves like RunChain.
func RunBatch(ctx context.Context, batch []BatchJob, o Options) (*Report, error) {
	if len(o.Inputs) > 0 || o.OutputDir != "" || o.OutputFile != "" {
		return nil, errs.Fieldf("Options.Inputs, Options.OutputDir, Options.OutputFile", "each job of a batch has its own; set them in BatchJob.JobOptions")
	}
	if err := choosePolicy(&o); err != nil {
		return nil, err
	}
	return engine.RunBatch(ctx, batch, o)
}

// choosePolicy sets the policy to DefaultPolicy if o has none. The engine cannot do that: it may not
// import policies, and uses FIFO.
func choosePolicy(o *Options) (err error) {
	if o.Policy == nil {
		o.Policy, err = registry.New(DefaultPolicy, policy.DefaultOptions())
	}
	return err
}

// Cuts samples the inputs and returns parts-1 ascending keys of job, which divide the records into
// about equal ranges. A key that equals a cut belongs to the range behind the cut. The caller owns
// the keys. parts is between 1 and MostReducers. Cuts fails if job or parts cannot be used, if the
// inputs cannot be read, or if the mapper fails on the sample.
//
// Cuts is for a job that runs elsewhere, such as under package stream: Run samples by itself. It
// reads only Inputs, Stdin, All, NoDecode and HDFS of o. Inputs must be files, not streams. If ctx
// ends, Cuts returns at once, also if user code hangs. The goroutine of that code goes on.
func Cuts(ctx context.Context, job jobs.Job, parts int, o JobOptions) ([][]byte, error) {
	if err := (jobs.Chain{job}).Check(); err != nil {
		return nil, err
	}
	if parts < 1 || parts > MostReducers {
		return nil, errs.Optionf("", "%d parts: must be between 1 and %d", parts, MostReducers)
	}
	var keys [][]byte // of the goroutine, until it has ended without an error
	err := guard.ApartUntil(ctx, func() (err error) {
		keys, err = engine.Cuts(ctx, job, parts, o)
		return err
	})
	if err = cmp.Or(err, context.Cause(ctx)); err != nil {
		return nil, errs.Typed(ctx, err)
	}
	return keys, nil
}

// RunTyped runs a job, a join or a chain of package jobs/typed. Its results are lines of text, as Options say.
func RunTyped[Out any](ctx context.Context, s typed.Stage[Out], o Options) (*Report, error) {
	chain, err := typed.Jobs(s)
	if err != nil {
		return nil, err
	}
	return RunChain(ctx, chain, o)
}

// Results runs a job, a join or a chain of package jobs/typed, and returns its results as values, in the order in which
// RunTyped writes them. They lie in memory, in addition to Options.MemoryBytes. Options must name no output, and no
// compression.
func Results[Out any](ctx context.Context, s typed.Stage[Out], o Options) (iter.Seq[Out], *Report, error) {
	chain, decode, err := typed.Binary(s)
	if err == nil && (o.OutputDir != "" || o.OutputFile != "" || o.Stdout != nil || o.CompressOutput > FormatNone) {
		err = errs.Fieldf("Options.OutputDir, Options.OutputFile, Options.Stdout, Options.CompressOutput", "results in memory go nowhere else, and are not compressed")
	}
	if err != nil {
		return nil, nil, err
	}
	var written bytes.Buffer
	o.Stdout = &written
	report, err := RunChain(ctx, chain, o)
	return decode(written.Bytes()), report, err
}
