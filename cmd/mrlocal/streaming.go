package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"mrlocal"
	"mrlocal/hadoop/streaming"
	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
	"mrlocal/internal/flags"
	"mrlocal/internal/machine"
	"mrlocal/internal/setting"
	"mrlocal/jobs"
	"mrlocal/output"
)

// Exit codes of Hadoop's StreamJob: the job ran and failed, and the job could not be started.
const exitJobNotSuccessful, exitNotLaunched = 1, 5

// makeStreaming returns mrlocal streaming. Its exit codes and its last lines on standard error are
// those of Hadoop's StreamJob, so that scripts for Hadoop work. It parses its arguments itself,
// because options of hadoop-streaming are long names with one hyphen.
func makeStreaming(e Env) *flags.Command {
	return &flags.Command{Usage: "run a job of Hadoop Streaming with the arguments of hadoop-streaming", Args: "[FLAGS OF run] ARGS…", Help: helpText("streaming"),
		Raw: func(ctx context.Context, args []string) (int, error) { return runStreaming(ctx, args, e) }}
}

// runStreaming runs the job and returns the exit code. An error in the arguments has the text of
// StreamJob. The settings of mrlocal run read the flags, and package streaming the options of
// hadoop-streaming. After the first error, all later steps are skipped.
func runStreaming(ctx context.Context, args []string, e Env) (int, error) {
	if len(args) == 1 && args[0] == "-h" {
		return Done, e.Print([]byte(helpText("streaming")))
	}
	var j *streamingUse
	named := streamingJob(func(use *job) { j = newStreaming(use) })
	run := Run(e, named.New())
	ours, theirs := divide(args, run.Settings)
	line, err := run.Parse(ours)
	var job *streaming.ParsedJob
	if err == nil {
		job, err = streaming.Args(theirs)
	}
	if err == nil && job.Help {
		return Done, e.Print([]byte(helpText("streaming")))
	}
	code := Done
	if err == nil {
		j.Inputs = append(j.Inputs, job.Inputs...)
		j.Build = func() (jobs.Chain, error) {
			s := j.StreamingOptions()
			s.Friendly = j.compat == "friendly"
			work, err := streaming.New(job, s)
			if err != nil {
				return nil, err
			}
			// As in Hadoop, an existing output is refused before anything starts.
			if work.Exists() {
				return nil, &streaming.Error{Exit: exitNotLaunched, Lines: []string{"Error Launching job : Output directory " + streaming.Qualify(job.Output) + " already exists"}}
			}
			return j.Streams(work), nil
		}
		code, err = run.Run(ctx, line)
	}
	if err == nil {
		return code, nil
	}
	if code, ok := refused(err, e); ok {
		return code, nil
	}
	if code, ok := interrupted(ctx, e, "streaming"); ok {
		return code, nil
	}
	fmt.Fprint(e.Stderr, errorLine("streaming", err, run.Settings...))
	if _, none := j.Extra.(noExtra); !none { // StreamJob has submitted the job
		fmt.Fprintln(e.Stderr, "Job not successful!")
	}
	fmt.Fprintln(e.Stderr, "Streaming Command Failed!")
	return exitJobNotSuccessful, nil
}

// divide divides the arguments of mrlocal streaming. ours are the flags of mrlocal run, which come
// first and have two hyphens. theirs are the arguments of hadoop-streaming, whose options have one
// hyphen; those with a value may have two. Both are slices of args.
func divide(args []string, all []setting.Setting) (ours, theirs []string) {
	i := 0
	for i < len(args) {
		name, isLong := strings.CutPrefix(args[i], "--")
		name, _, hasValue := strings.Cut(name, "=")
		// The first word that is not a flag of mrlocal run ends ours.
		s := setting.Named(all, name)
		if !isLong || s == nil || streaming.TakesValue(name) {
			break
		}
		i++
		// In the form --sched fifo, the next word is the value.
		if !s.Toggle() && !hasValue && i < len(args) {
			i++
		}
	}
	return args[:i], args[i:]
}

// refused writes err as StreamJob does if it is an error in the arguments, and returns the exit code of
// StreamJob. For any other error it does nothing and returns ok as false.
func refused(err error, e Env) (code int, ok bool) {
	p, ok := errors.AsType[*streaming.Error](err)
	if !ok {
		return 0, false
	}
	if p.Usage {
		_ = e.Print([]byte(helpText("streaming")))
	}
	for _, l := range p.Lines {
		fmt.Fprintln(e.Stderr, l)
	}
	fmt.Fprintln(e.Stderr, "Streaming Command Failed!")
	return p.Exit, true
}

// streamingJob returns the job streaming. mrlocal streaming replaces the Build of its use.
func streamingJob(make func(*job)) NamedJob {
	return NamedJob{Name: "streaming", Use: "run commands as mapper and reducer, by the protocol of Hadoop Streaming", Make: make}
}

// streamingUse is a use of the job streaming.
type streamingUse struct {
	*job
	compat    string // "strict", "friendly" or "": not given
	stderrDir string // keeps the standard error of each attempt; "": shown
}

// newStreaming makes j a use of the job streaming. It has the arguments of hadoop-streaming as flags, with the names
// that mrlocal uses.
func newStreaming(of *job) *streamingUse {
	j := &streamingUse{job: of}
	var generic, args []string // arguments of hadoop-streaming; the generic ones stand first
	add := func(to *[]string, option, name, help, otherwise string, many bool) setting.Setting {
		return setting.Of(name, "", help, otherwise, setting.Value{Many: many, Set: func(text string) error {
			*to = append(*to, option, text)
			return nil
		}})
	}
	j.Own = []setting.Setting{
		add(&args, "-mapper", "mapper", "the `COMMAND` that maps; no shell reads it", "records pass as they are", false),
		add(&args, "-combiner", "combiner", "the `COMMAND` that combines on the side of the maps", "", false),
		add(&args, "-reducer", "reducer", "the `COMMAND` that reduces, NONE, or aggregate", "records pass as they are", false),
		setting.Of("compat", "", "`strict|friendly`: do what Hadoop does, traps included, or take the useful way and warn", "friendly; strict for mrlocal streaming", setting.Choice(&j.compat, "strict", "friendly")),
		add(&generic, "-files", "files", "let `PATH[#NAME]` appear in the working directory of the commands; commas separate several", "", true),
		add(&generic, "-archives", "archives", "unpack `PATH[#NAME]` in the working directory of the commands", "", true),
		add(&args, "-cmdenv", "cmdenv", "set the variable `NAME=VALUE` for the commands", "", true),
		add(&generic, "-D", "define", "set the property `NAME=VALUE` of the job, as Hadoop's -D", "", true).Letter("D"),
		add(&args, "-partitioner", "partitioner", "the `CLASS` that divides keys among reduces", "by hash", false),
		add(&args, "-inputformat", "inputformat", "the `CLASS` that cuts the input into records", "TextInputFormat", false),
		add(&args, "-inputreader", "inputreader", "the reader and its marks, `StreamXmlRecordReader,begin=<a>,end=</a>`", "", false),
		add(&args, "-io", "io", "`text|keyonlytext|rawbytes|typedbytes`: the format of the records that commands read and write", "text", false),
		setting.Of("lazy-output", "", "make no part for a task that writes nothing", "", setting.Call(func() { args = append(args, "-lazyOutput") })),
		setting.Of("stderr-dir", "", "keep the standard error of each attempt in a file in `DIR`", "shown, up to 1 MiB of an attempt", setting.Text(&j.stderrDir)),
	}
	j.Without = []string{"resume"} // its input is not an input of its jobs, so no journal can know it again
	j.Build = func() (jobs.Chain, error) {
		work, err := j.work(slices.Concat(generic, args))
		if err != nil {
			return nil, err
		}
		return j.Streams(work), nil
	}
	return j
}

// Streams makes work the extra of the job, whose options it completes, and returns the chain.
func (j *streamingUse) Streams(work *streaming.Work) jobs.Chain {
	j.Extra = work
	applyStreaming(work, &j.Options)
	return jobs.Chain{work.Job}
}

// work makes the work of run streaming from arguments of hadoop-streaming and from the options of all
// jobs. If standard input is an input, the work reads a copy. The caller closes the work, which removes
// the copy.
func (j *streamingUse) work(args []string) (work *streaming.Work, err error) {
	stdin, err := j.spoolInput()
	if err != nil {
		return nil, err
	}
	defer func() {
		// After AdoptInput the work removes the copy. If an error comes earlier, the copy is removed here.
		if err != nil {
			err = errors.Join(err, stdin.Close())
		}
	}()
	for _, in := range j.Inputs {
		args = append(args, "-input", in)
	}
	// With MapOnly, Reducers is 0, with which hadoop-streaming makes a map-only job.
	if j.Reducers > 0 || j.MapOnly {
		args = append(args, "-numReduceTasks", strconv.Itoa(j.Reducers))
	}
	// An output is required. The run writes to the output of its own flags.
	job, err := streaming.Args(append(args, "-output", "-"))
	if err != nil {
		return nil, streamingMistake(err)
	}
	cores := int64(machine.ReadLimits().WorkCores())
	s := j.StreamingOptions()
	if s.Friendly = j.compat != "strict"; s.Friendly {
		// Hadoop makes a map for each block of HDFS. On one machine, two maps for each core use all
		// cores until the end. A split has at most --block-size, or 64 MiB.
		s.Maps = 2 * cores
		if !job.Conf.Has("fs.local.block.size") {
			job.Conf.Set("fs.local.block.size", strconv.FormatInt(cmp.Or(j.BlockBytes, 64<<20), 10))
		}
	}
	if work, err = streaming.New(job, s); err != nil {
		return nil, streamingMistake(err)
	}
	// Without --reducers the size of the input sets their number, as for other jobs: one for each
	// 8 MiB, at most one per core. The size is known only after New, so the work is made again.
	if s.Friendly && !job.Conf.Has("mapreduce.job.reduces") && !work.MapOnly {
		if n := min(cores, work.InputBytes/(8<<20)); n > 1 {
			s.Reducers = int(n)
			if work, err = streaming.New(job, s); err != nil {
				return nil, streamingMistake(err)
			}
		}
	}
	work.Output = ""
	work.AdoptInput(stdin)
	return work, work.Overwrites(j.OutputFile)
}

// spoolInput copies standard input, if it is among the inputs, to a temporary file, and replaces it by the
// path of the file. Each map reads its split by itself, so a pipe cannot be an input. The caller closes
// the returned root, which removes the file. In a workload file, standard input would belong to no job.
func (j *streamingUse) spoolInput() (*disk.TempRoot, error) {
	at := slices.Index(j.Inputs, "-")
	root := disk.NewTempRoot(j.TempDirs, 0)
	switch {
	case at < 0: // no input is standard input
		return root, nil
	case j.Log == nil || j.Stdin == nil:
		return root, errs.Optionf("input", "-: there is no standard input for this job; name a file")
	}
	path, err := root.Keep(j.Stdin)
	if err != nil {
		return root, errors.Join(fmt.Errorf("keep standard input: %w", err), root.Close())
	}
	j.Inputs = slices.Clone(j.Inputs)
	j.Inputs[at] = path
	return root, nil
}

// StreamingOptions returns the options of package streaming that run streaming and mrlocal streaming
// share.
func (j *streamingUse) StreamingOptions() streaming.Options {
	s := streaming.Options{Environ: os.Environ(), TempDir: cmp.Or(first(j.TempDirs), os.TempDir()), ErrorDir: j.stderrDir}
	if j.Log != nil {
		s.Stderr = &wholeLines{w: j.Log}
		s.Warn = func(text string) { _, _ = io.WriteString(s.Stderr, "mrlocal: streaming: "+errs.OneLine(text)+"\n") }
		if s.Status = s.Warn; j.Quiet {
			s.Status = nil
		}
	}
	return s
}

// wholeLines serializes writes to w, so that a line stays whole. Several goroutines write at once:
// each attempt has one that copies the standard error of its command. A call to Write has whole lines.
type wholeLines struct {
	sync.Mutex
	w io.Writer
}

// Write passes p to w under the lock.
func (l *wholeLines) Write(p []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	return l.w.Write(p)
}

// streamingMistake turns a *streaming.Error, which may have several lines, into an error of kind
// errs.BadOptions in one line. It drops empty lines and the hint at -help. It returns any other error
// as it is.
func streamingMistake(err error) error {
	if p, ok := errors.AsType[*streaming.Error](err); ok {
		return errs.Optionf("streaming", "%s", strings.Join(slices.DeleteFunc(slices.Clone(p.Lines), func(l string) bool { return l == "" || l == "Try -help for more information" }), "; "))
	}
	return err
}

// applyStreaming sets the options of a run as the streaming job w needs them. The job has its own
// inputs, splits and number of reduces, so these fields of o are cleared. The output directory, the
// compression, the timeout and the attempts of w replace those of o where its arguments set them.
func applyStreaming(w *streaming.Work, o *mrlocal.Options) {
	o.Inputs = nil
	o.Reducers = 0
	o.ReducersPerSlot = 0
	o.MapOnly = false
	o.BlockBytes = 0
	o.DirStyle = w.Style
	// Output is cleared, because run streaming has --output.
	if w.Output != "" {
		o.OutputDir = w.Output
	}
	if w.Compress != output.None && o.CompressOutput == output.BySuffix {
		o.CompressOutput = w.Compress
	}
	if t := w.Timeout(); t > 0 {
		// Timeout may be near the largest Duration. A quarter of this maximum leaves room for sums.
		o.TaskTimeout = min(t, math.MaxInt64/4)
	}
	// In w and in o, 0 attempts stand for the default of the engine.
	if n := w.Tries(); n > 0 {
		o.Attempts = n
	}
}
