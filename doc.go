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
//		// the job failed; the report tells how far it came
//	}
//
// The packages mrlocal/jobs/wordcount, mrlocal/jobs/sort and
// mrlocal/jobs/grep hold jobs that are ready to run. The package
// mrlocal/slots/policy/registry makes slot policies by name; a run without one
// lends slots (DefaultPolicy). A policy may serve runs one after the other, but
// runs that take place at once need a policy each.
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
// spill, shuffle, output. Beside them: slots decides which task runs where,
// slots/policy holds the policies, engine drives them for real and sim in
// virtual time, trace records every fact and decision, report sums up.
// ARCHITECTURE.md has the figures; cmd/mrlocal is the command.
package mrlocal
