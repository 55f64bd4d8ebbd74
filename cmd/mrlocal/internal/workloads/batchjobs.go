package workloads

import (
	"errors"
	"strings"
	"time"

	"mrlocal"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/command"
	"mrlocal/errs"
	"mrlocal/jobs"
	"mrlocal/jobs/sleep"
	"mrlocal/streaming"
	"mrlocal/workload"
)

// batchJob is a job of a workload file. Its args are read as run reads its flags.
type batchJob struct {
	*workload.ListedJob
	chain   jobs.Chain
	options mrlocal.Options // of command.JobFlags only
	stdout  bool            // the result goes to standard output
	stream  *streaming.Work // of a job of Hadoop Streaming; nil: another job
}

// sleepJob is the name of the job whose tasks only take the time that the file gives.
const sleepJob = "sleep"

// batchReader reads the jobs of a workload file. Its errors name the place of the arg
// that is wrong.
type batchReader struct {
	file  *workload.File
	kinds []command.NamedJob
	seed  uint64

	stdout string // the job whose result goes to standard output; "": none
}

// read reads all jobs of the file. It returns the first mistake.
func (b *batchReader) read() ([]batchJob, error) {
	// A job without the key job says only what to simulate.
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
			return nil, b.errorf(j.Pos, j.ListedJob, "output-file", "-: job %s writes to standard output too; only one can", argv.Quote(b.stdout))
		}
		if j.stdout {
			b.stdout = j.Name
		}
		all = append(all, j)
	}
	return all, nil
}

// job reads job i of the file. The result shares no memory with other jobs but the file.
func (b *batchReader) job(i int) (batchJob, error) {
	j := &b.file.Jobs[i]
	job := batchJob{ListedJob: j}
	// The job sleep is no kind of run: it reads no input and has no flags.
	if j.Job == sleepJob {
		err := b.sleep(&job, i)
		return job, err
	}
	// The kinds are those of mrlocal run, so a new job there is one here.
	for n := range b.kinds {
		if k := &b.kinds[n]; k.Name == j.Job {
			err := b.lower(&job, k)
			return job, err
		}
	}
	return job, b.errorf(j.Pos, j, "", "%s: no such job; mrlocal run --help lists the jobs, and there is sleep", argv.Quote(j.Job))
}

// sleep makes a job that only takes the file's times. They are the times that the
// simulator draws from the same seed.
func (b *batchReader) sleep(job *batchJob, index int) (err error) {
	j := job.ListedJob
	switch {
	// The args of a job are flags of a run, and sleep has none.
	case len(j.Args) > 0:
		return b.errorf(j.Args[0].Pos, j, j.Args[0].Name, "sleep takes no args; maps, reduces, map_time and reduce_time say how long")
	case j.Maps == 0:
		return b.errorf(j.Pos, j, "", "sleep needs maps, the number of its map tasks")
	case !j.MapTime.Given():
		return b.errorf(j.Pos, j, "", "sleep needs map_time, here or in defaults")
	case j.Reduces > 0 && !j.ReduceTime.Given():
		return b.errorf(j.Pos, j, "", "sleep needs reduce_time, here or in defaults")
	}
	// A time depends on seed, job and task only, not on the order of the calls.
	times := func(t *workload.Times, reduce bool) func(task int) time.Duration {
		return func(task int) time.Duration { return t.At(b.seed, index, reduce, task) }
	}
	job.chain, err = sleep.New(sleep.Options{
		Maps: j.Maps, Reduces: j.Reduces, MapTime: times(&j.MapTime, false), ReduceTime: times(&j.ReduceTime, true),
	})
	return err
}

// lower reads the args of a job as run reads its flags.
func (b *batchReader) lower(job *batchJob, k *command.NamedJob) error {
	specs := append(command.JobFlags(k.ShortOutput), k.Flags...)
	// The args become a command line, so that a value means the same here and there and has
	// the same bounds.
	line := argv.Line{Path: []string{"run", k.Name}}
	for i := range job.Args {
		settings, err := b.settings(job.ListedJob, &job.Args[i], k, specs)
		if err != nil {
			return err
		}
		line.Flags = append(line.Flags, settings...)
	}
	// The reader sees the args as flags of mrlocal run, with the same bounds and messages.
	r := command.NewReader(line)
	// The reader checks the values before the job is built, so build sees flags without
	// mistakes.
	r.JobOptions(&job.options)
	if r.Err != nil {
		return b.at(job.ListedJob, r.Err)
	}
	file, _ := line.Value("output-file")
	job.stdout = file == "-"
	// With several policies the engine sees the name behind which the policy stands.
	_, err := job.options.CompressOutput.Of(job.options.OutputFile)
	if err != nil {
		return b.at(job.ListedJob, err)
	}
	if job.chain, err = k.Build(r); err != nil {
		return b.at(job.ListedJob, err)
	}
	if err := command.CheckReduces(k.Name, job.chain, job.options); err != nil {
		return b.at(job.ListedJob, err)
	}
	job.stream = r.Stream
	command.ApplyStreaming(r.Stream, &job.options)
	return b.result(job)
}

// settings returns the flags that an arg stands for.
func (b *batchReader) settings(j *workload.ListedJob, a *workload.Arg, k *command.NamedJob, specs []argv.Spec) ([]argv.Setting, error) {
	f := argv.Named(a.Name, specs)
	if f == nil {
		return nil, b.unknown(j, a, k, specs)
	}
	// An arg with several values becomes several flags, one for each value.
	var all []argv.Setting
	// The parser of the file gives each value as text, a list as several.
	for _, text := range a.Values {
		switch {
		case f.Value:
			all = append(all, argv.Setting{Flag: &f.Flag, Value: text})
		// YAML writes a flag without a value as true.
		case text == "true":
			all = append(all, argv.Setting{Flag: &f.Flag})
		// A flag that is false is one that is not given.
		case text != "false":
			return nil, b.errorf(a.Pos, j, a.Name, "%s: it is on or off; write true or false", argv.Quote(text))
		}
	}
	if len(a.Values) > 1 && !(f.Value && f.Repeat) {
		return nil, b.errorf(a.Pos, j, a.Name, "takes one value")
	}
	return all, nil
}

// unknown words an arg that the job does not have: a flag of the whole run, a name with
// dashes, or a misspelt name.
func (b *batchReader) unknown(j *workload.ListedJob, a *workload.Arg, k *command.NamedJob, specs []argv.Spec) error {
	// Slots, memory and policy belong to the batch as a whole: all jobs share them.
	if argv.Named(a.Name, command.RunFlags(k.ShortOutput)) != nil {
		return b.errorf(a.Pos, j, a.Name, "is a setting of the whole run; give --%s to mrlocal batch", a.Name)
	}
	// Users copy flags from a command line.
	if bare := strings.TrimLeft(a.Name, "-"); bare != a.Name && argv.Named(bare, specs) != nil {
		return b.errorf(a.Pos, j, a.Name, "write it without dashes: %s", bare)
	}
	// The nearest name is sought among the flags of the job, because most wrong args are
	// misspelt.
	var known []string
	for i := range specs {
		known = append(known, specs[i].Name)
	}
	if near := errs.Nearest(a.Name, known); near != "" {
		return b.errorf(a.Pos, j, argv.Quote(a.Name), "%s has no such arg; did you mean %s?", k.Name, near)
	}
	return b.errorf(a.Pos, j, argv.Quote(a.Name), "%s has no such arg; mrlocal run %s --help lists its flags", k.Name, k.Name)
}

// result checks that the job says where its result goes.
func (b *batchReader) result(job *batchJob) error {
	if job.options.OutputDir+job.options.OutputFile == "" && !job.stdout {
		return b.errorf(job.Pos, job.ListedJob, "", "no output: a batch writes each job's result to a place of its own; add output: DIR or output-file: FILE to its args")
	}
	return nil
}

// at adds the place of the arg in the file to an error about a flag.
func (b *batchReader) at(j *workload.ListedJob, err error) error {
	var u *errs.Error
	if !errors.As(err, &u) {
		return err
	}
	// The object is a field of Options or a flag, maybe with its value behind it.
	// rest keeps the value that the message shows behind the flag.
	word, rest, _ := strings.Cut(argv.InFlags(u.Object), " ")
	name := strings.TrimLeft(word, "-")
	for i := range j.Args {
		a := &j.Args[i]
		for _, k := range b.kinds {
			if k.Name != j.Job {
				continue
			}
			f := argv.Named(a.Name, append(command.JobFlags(k.ShortOutput), k.Flags...))
			// word has dashes and name has not, so that an object that is no flag finds no arg.
			if f != nil && word != name && (f.Name == name || f.Short == name) {
				return b.errorf(a.Pos, j, strings.TrimSpace(a.Name+" "+rest), "%s", u.Cause)
			}
		}
	}
	// This error has no flag; in a workload file the cure is an arg.
	if u.Object == "no input" {
		return b.errorf(j.Pos, j, "no input", "add input: PATH or input: [PATH, PATH] to its args")
	}
	return b.errorf(j.Pos, j, u.Object, "%s", u.Cause)
}

// errorf returns an error with file, line and column, of kind errs.BadOptions, that names
// the job.
func (b *batchReader) errorf(at workload.Pos, j *workload.ListedJob, object, format string, args ...any) error {
	where := "job " + argv.Quote(j.Name)
	if object != "" {
		where += ": " + object
	}
	return b.file.Errorf(at, where, format, args...)
}
