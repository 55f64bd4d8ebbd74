package workloads

import (
	"errors"
	"strings"
	"time"

	"mrlocal"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/command"
	"mrlocal/hadoop/streaming"
	"mrlocal/internal/errs"
	"mrlocal/jobs"
	"mrlocal/jobs/sleep"
	"mrlocal/workload"
)

// batchJob is a job of a workload file with its options. Its args are the flags of mrlocal run.
type batchJob struct {
	*workload.ListedJob
	chain   jobs.Chain
	options mrlocal.Options // only those that command.JobFlags set
	stdout  bool            // the result goes to standard output
	stream  *streaming.Work // of a job of Hadoop Streaming; nil: another job
}

// sleepJob is the name of the job whose tasks do nothing for the times in the file.
const sleepJob = "sleep"

// batchReader reads the jobs of a workload file for a real run. Its errors have the file, line and
// column of the wrong arg.
type batchReader struct {
	file  *workload.File
	kinds []command.NamedJob // as command.Jobs
	seed  uint64             // of the times of sleep jobs

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
	job := batchJob{ListedJob: j}
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
	// A time depends only on the seed, the job and the task, and not on the order of the calls.
	times := func(t *workload.Times, reduce bool) func(task int) time.Duration {
		return func(task int) time.Duration { return t.At(b.seed, index, reduce, task) }
	}
	job.chain, err = sleep.New(sleep.Options{
		Maps: j.Maps, Reduces: j.Reduces, MapTime: times(&j.MapTime, false), ReduceTime: times(&j.ReduceTime, true),
	})
	return err
}

// lower reads the args of a job of kind k into job.options and makes its chain. It turns the args
// into flags of mrlocal run, so that a value has the same meaning, bounds and messages in both.
func (b *batchReader) lower(job *batchJob, k *command.NamedJob) error {
	specs := append(command.JobFlags(k.OutputLetter()), k.Flags...)
	var line argv.Line
	for i := range job.Args {
		settings, err := b.settings(job.ListedJob, &job.Args[i], k, specs)
		if err != nil {
			return err
		}
		line.Flags = append(line.Flags, settings...)
	}
	r := k.Reader(line)
	r.JobOptions(&job.options)
	if r.Err != nil {
		return b.at(job.ListedJob, r.Err)
	}
	// In the options, standard output and a missing output are the same, so the arg itself decides.
	file, _ := line.Value("output-file")
	job.stdout = file == "-"
	// With several policies, the engine gets a name that ends in the name of a policy. So the
	// compression of the user's name is checked here.
	_, err := job.options.CompressOutput.Of(job.options.OutputFile)
	if err != nil {
		return b.at(job.ListedJob, err)
	}
	if job.chain, err = k.Build(r); err != nil {
		return b.at(job.ListedJob, err)
	}
	job.stream = r.Stream
	k.Settle(r, job.chain, &job.options)
	return b.result(job)
}

// settings returns the flags for an arg of job j of kind k, one for each value. specs has the flags
// that an arg may name. It fails if the job has no such arg, or if the arg has a wrong number of
// values.
func (b *batchReader) settings(j *workload.ListedJob, a *workload.Arg, k *command.NamedJob, specs []argv.Spec) ([]argv.Setting, error) {
	f := argv.Named(a.Name, specs)
	if f == nil {
		return nil, b.unknown(j, a, k, specs)
	}
	var all []argv.Setting
	for _, text := range a.Values {
		switch {
		case f.Value:
			all = append(all, argv.Setting{Flag: &f.Flag, Value: text})
		// A flag without a value is true or false in the file.
		case text == "true":
			all = append(all, argv.Setting{Flag: &f.Flag})
		// A flag that is false is left out, as in a command line.
		case text != "false":
			return nil, b.errorf(a.Pos, j, a.Name, "%s: it is on or off; write true or false", errs.Quote(text))
		}
	}
	if len(a.Values) > 1 && !(f.Value && f.Repeat) {
		return nil, b.errorf(a.Pos, j, a.Name, "takes one value")
	}
	return all, nil
}

// unknown returns the error for an arg that the job does not have. The message depends on the
// likely mistake: a flag of the whole run, a name with dashes, or a misspelt name.
func (b *batchReader) unknown(j *workload.ListedJob, a *workload.Arg, k *command.NamedJob, specs []argv.Spec) error {
	// Slots, memory and policy belong to the whole batch, because all jobs share them.
	if argv.Named(a.Name, command.RunFlags(k.OutputLetter())) != nil {
		return b.errorf(a.Pos, j, a.Name, "is a setting of the whole run; give --%s to mrlocal batch", a.Name)
	}
	// A user may have copied the flag from a command line.
	if bare := strings.TrimLeft(a.Name, "-"); bare != a.Name && argv.Named(bare, specs) != nil {
		return b.errorf(a.Pos, j, a.Name, "write it without dashes: %s", bare)
	}
	var known []string
	for i := range specs {
		known = append(known, specs[i].Name)
	}
	if near := errs.Nearest(a.Name, known); near != "" {
		return b.errorf(a.Pos, j, errs.Quote(a.Name), "%s has no such arg; did you mean %s?", k.Name, near)
	}
	return b.errorf(a.Pos, j, errs.Quote(a.Name), "%s has no such arg; mrlocal run %s --help lists its flags", k.Name, k.Name)
}

// result returns an error if the job has no output. run writes to standard output by default, and a
// batch has no default.
func (b *batchReader) result(job *batchJob) error {
	if job.options.OutputDir+job.options.OutputFile == "" && !job.stdout {
		return b.errorf(job.Pos, job.ListedJob, "", "no output: a batch writes each job's result to a place of its own; add output: DIR or output-file: FILE to its args")
	}
	return nil
}

// at adds the place in the file to an error about a flag of job j. It is the place of the arg, or
// else that of the job. It returns an error of another type as it is.
func (b *batchReader) at(j *workload.ListedJob, err error) error {
	var u *errs.Error
	if !errors.As(err, &u) {
		return err
	}
	// The object of the error is a field of Options or a flag. A value may follow it, which the message
	// keeps as rest.
	word, rest, _ := strings.Cut(argv.InFlags(u.Object), " ")
	name := strings.TrimLeft(word, "-")
	for i := range j.Args {
		a := &j.Args[i]
		for _, k := range b.kinds {
			if k.Name != j.Job {
				continue
			}
			f := argv.Named(a.Name, append(command.JobFlags(k.OutputLetter()), k.Flags...))
			// word != name holds only for a word with dashes. Other words are not flags.
			if f != nil && word != name && (f.Name == name || f.Short == name) {
				return b.errorf(a.Pos, j, strings.TrimSpace(a.Name+" "+rest), "%s", u.Cause)
			}
		}
	}
	// This error names no flag, and its advice is for a command line. In a file the user must add
	// an arg.
	if u.Object == "no input" {
		return b.errorf(j.Pos, j, "no input", "add input: PATH or input: [PATH, PATH] to its args")
	}
	return b.errorf(j.Pos, j, u.Object, "%s", u.Cause)
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
