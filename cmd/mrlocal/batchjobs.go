package main

import (
	"errors"
	"strings"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/internal/setting"
	"mrlocal/jobs"
	"mrlocal/jobs/sleep"
	"mrlocal/workload"
)

// batchJob is a job of a workload file with its options. Its args are the flags of mrlocal run.
type batchJob struct {
	*workload.ListedJob
	made   *job // only its JobOptions count
	chain  jobs.Chain
	stdout bool // the result goes to standard output
}

// sleepJob is the name of the job whose tasks do nothing for the times in the file.
const sleepJob = "sleep"

// batchReader reads the jobs of a workload file for a real run. Its errors have the file, line and
// column of the wrong arg.
type batchReader struct {
	file  *workload.File
	kinds []NamedJob // as Jobs
	seed  uint64     // of the times of sleep jobs

	stdout string // the name of the job whose result goes to standard output; "": none
}

// read reads all jobs of the file, in their order. It returns the error of the first mistake.
func (b *batchReader) read() ([]batchJob, error) {
	// A job without the key "job" can only be simulated.
	if err := b.file.CheckReal(); err != nil {
		return nil, err
	}
	all := make([]batchJob, 0, len(b.file.Jobs))
	for i := range b.file.Jobs {
		j, err := b.job(i)
		if err != nil {
			return nil, err
		}
		if j.stdout && b.stdout != "" {
			return nil, b.errorf(j.Pos, j.ListedJob, "output-file", "-: job %s writes to standard output too; only one can", errs.Quote(b.stdout))
		}
		if j.stdout {
			b.stdout = j.Name
		}
		all = append(all, j)
	}
	return all, nil
}

// job reads job i of the file.
func (b *batchReader) job(i int) (batchJob, error) {
	j := &b.file.Jobs[i]
	job := batchJob{ListedJob: j, made: &job{Extra: noExtra{}}}
	// mrlocal run has no job sleep. It takes its times from keys of the file and not from args.
	if j.Job == sleepJob {
		err := b.sleep(&job, i)
		return job, err
	}
	for n := range b.kinds {
		if k := &b.kinds[n]; k.Name == j.Job {
			err := b.lower(&job, k)
			return job, err
		}
	}
	return job, b.errorf(j.Pos, j, "", "%s: no such job; mrlocal run --help lists the jobs, and there is sleep", errs.Quote(j.Job))
}

// sleep makes the chain of a sleep job. index is its number in the file. Its tasks take the times
// that the simulator draws for this job from the same seed.
func (b *batchReader) sleep(job *batchJob, index int) (err error) {
	j := job.ListedJob
	switch {
	case len(j.Args) > 0:
		return b.errorf(j.Args[0].Pos, j, j.Args[0].Name, "sleep takes no args; maps, reduces, map_time and reduce_time say how long")
	case j.Maps == 0:
		return b.errorf(j.Pos, j, "", "sleep needs maps, the number of its map tasks")
	case !j.MapTime.Given():
		return b.errorf(j.Pos, j, "", "sleep needs map_time, here or in defaults")
	case j.Reduces > 0 && !j.ReduceTime.Given():
		return b.errorf(j.Pos, j, "", "sleep needs reduce_time, here or in defaults")
	}
	job.chain, err = sleepChain(j, index, b.seed)
	return err
}

// sleepChain returns the chain of a job whose tasks sleep for the times that the simulator draws for job index from
// the same seed. A time depends only on the seed, the job and the task, and not on the order of the calls.
func sleepChain(j *workload.ListedJob, index int, seed uint64) (jobs.Chain, error) {
	times := func(t *workload.Times, reduce bool) func(task int) time.Duration {
		return func(task int) time.Duration { return t.At(seed, index, reduce, task) }
	}
	return sleep.New(sleep.Options{Maps: j.Maps, Reduces: j.Reduces, MapTime: times(&j.MapTime, false), ReduceTime: times(&j.ReduceTime, true)})
}

// lower sets the settings of a job of kind k by its args, and makes its chain. The settings are those of
// mrlocal run, so that a value has the same meaning, bounds and messages in both.
func (b *batchReader) lower(job *batchJob, k *NamedJob) error {
	job.made = k.New()
	all := job.made.Settings()
	for i := range job.Args {
		if err := b.set(job, &job.Args[i], all); err != nil {
			return err
		}
	}
	// In the options, standard output and a missing output are the same, so the arg itself decides.
	job.stdout = job.made.OutputFile == "-"
	err := job.made.Complete(nil)
	if err == nil {
		// With several policies, the engine gets a name that ends in the name of a policy. So the
		// compression of the user's name is checked here.
		_, err = job.made.CompressOutput.Of(job.made.OutputFile)
	}
	if err == nil {
		job.chain, err = job.made.Build()
	}
	if err != nil {
		return b.at(job, err)
	}
	return b.result(job)
}

// argOf returns the setting of all that an arg names: by the name, the key or the letter of its flag; nil:
// there is none.
func argOf(all []setting.Setting, name string) *setting.Setting {
	for i := range all {
		if s := &all[i]; name == s.Name || name == s.Key() || name == s.Short && name != "" {
			return s
		}
	}
	return nil
}

// set sets the setting that an arg of the job names, once for each value. It fails if the job has no such
// arg, if the value is wrong, or if the setting takes one value.
func (b *batchReader) set(job *batchJob, a *workload.Arg, all []setting.Setting) error {
	s := argOf(all, a.Name)
	if s == nil {
		return b.unknown(job, a, all)
	}
	if len(a.Values) > 1 && !s.Value.Many {
		return b.errorf(a.Pos, job.ListedJob, a.Name, "takes one value")
	}
	for _, text := range a.Values {
		switch {
		// A flag that is false is left out, as in a command line.
		case s.Toggle() && text == "false":
			continue
		case s.Toggle() && text != "true":
			return b.errorf(a.Pos, job.ListedJob, a.Name, "%s: it is on or off; write true or false", errs.Quote(text))
		}
		if err := s.Value.Set(text); err != nil {
			return b.errorf(a.Pos, job.ListedJob, a.Name, "%w", err)
		}
	}
	return nil
}

// unknown returns the error for an arg that the job does not have. all has the settings of the job. The
// message depends on the likely mistake: a flag of the whole run, a name with dashes, or a misspelt name.
func (b *batchReader) unknown(job *batchJob, a *workload.Arg, all []setting.Setting) error {
	// Slots, memory and policy belong to the whole batch, because all jobs share them.
	if argOf(makeBatch(Env{}).Settings, a.Name) != nil {
		return b.errorf(a.Pos, job.ListedJob, a.Name, "is a setting of the whole run; give --%s to mrlocal batch", a.Name)
	}
	// A user may have copied the flag from a command line.
	if bare := strings.TrimLeft(a.Name, "-"); bare != a.Name && argOf(all, bare) != nil {
		return b.errorf(a.Pos, job.ListedJob, a.Name, "write it without dashes: %s", bare)
	}
	if near := errs.Nearest(a.Name, setting.Names(all)); near != "" {
		return b.errorf(a.Pos, job.ListedJob, errs.Quote(a.Name), "%s has no such arg; did you mean %s?", job.made.Name, near)
	}
	return b.errorf(a.Pos, job.ListedJob, errs.Quote(a.Name), "%s has no such arg; mrlocal run %s --help lists its flags", job.made.Name, job.made.Name)
}

// result returns an error if the job has no output. run writes to standard output by default, and a
// batch has no default.
func (b *batchReader) result(job *batchJob) error {
	if job.made.OutputDir+job.made.OutputFile == "" && !job.stdout {
		return b.errorf(job.Pos, job.ListedJob, "", "no output: a batch writes each job's result to a place of its own; add output: DIR or output-file: FILE to its args")
	}
	return nil
}

// at adds the place in the file to an error about a flag of the job. It is the place of the arg, or else
// that of the job. It returns an error of another type as it is.
func (b *batchReader) at(job *batchJob, err error) error {
	u, ok := errors.AsType[*errs.Error](err)
	if !ok {
		return err
	}
	// The object of the error is a field of Options or a flag. A value may follow it, which the message
	// keeps as rest.
	all := job.made.Settings()
	word, rest, _ := strings.Cut(u.Name(setting.Fields(all, (*setting.Setting).Flag)), " ")
	for i := range job.Args {
		a := &job.Args[i]
		if s := argOf(all, a.Name); s != nil && (word == "--"+s.Name || word == "-"+s.Short) {
			return b.errorf(a.Pos, job.ListedJob, strings.TrimSpace(a.Name+" "+rest), "%w", u.Cause)
		}
	}
	// This error names no flag, and its advice is for a command line. In a file the user must add
	// an arg.
	if u.Object == "no input" {
		return b.errorf(job.Pos, job.ListedJob, "no input", "add input: PATH or input: [PATH, PATH] to its args")
	}
	return b.errorf(job.Pos, job.ListedJob, strings.TrimSpace(word+" "+rest), "%w", u.Cause)
}

// errorf returns an error of kind errs.BadOptions with the file, the line and column at, and the
// name of job j. object is the arg, or "".
func (b *batchReader) errorf(at workload.Pos, j *workload.ListedJob, object, format string, args ...any) error {
	where := "job " + errs.Quote(j.Name)
	if object != "" {
		where += ": " + object
	}
	return b.file.Errorf(at, where, format, args...)
}
