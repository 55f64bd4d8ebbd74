package command

import (
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
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/hadoop/streaming"
	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
	"mrlocal/internal/machine"
	"mrlocal/output"
)

// streamingFlags returns the flags of run streaming alone. They are the arguments of hadoop-streaming
// with the names that mrlocal uses. streamingArguments turns them back into those arguments.
func streamingFlags() []argv.Spec {
	repeat := func(name, help string) argv.Spec {
		f := argv.ValueSpec(name, help, "")
		f.Repeat = true
		return f
	}
	property := repeat("define", "set the property `NAME=VALUE` of the job, as Hadoop's -D")
	property.Short = "D"
	return []argv.Spec{
		argv.ValueSpec("mapper", "the `COMMAND` that maps; no shell reads it", "records pass as they are"),
		argv.ValueSpec("combiner", "the `COMMAND` that combines on the side of the maps", ""),
		argv.ValueSpec("reducer", "the `COMMAND` that reduces, NONE, or aggregate", "records pass as they are"),
		argv.ValueSpec("compat", "`strict|friendly`: do what Hadoop does, traps included, or take the useful way and warn", "friendly; strict for mrlocal streaming"),
		repeat("files", "let `PATH[#NAME]` appear in the working directory of the commands; commas separate several"),
		repeat("archives", "unpack `PATH[#NAME]` in the working directory of the commands"),
		repeat("cmdenv", "set the variable `NAME=VALUE` for the commands"),
		property,
		argv.ValueSpec("partitioner", "the `CLASS` that divides keys among reduces", "by hash"),
		argv.ValueSpec("inputformat", "the `CLASS` that cuts the input into records", "TextInputFormat"),
		argv.ValueSpec("inputreader", "the reader and its marks, `StreamXmlRecordReader,begin=<a>,end=</a>`", ""),
		argv.ValueSpec("io", "`text|keyonlytext|rawbytes|typedbytes`: the format of the records that commands read and write", "text"),
		{Flag: argv.Flag{Name: "lazy-output"}, Help: "make no part for a task that writes nothing"},
		argv.ValueSpec("stderr-dir", "keep the standard error of each attempt in a file in `DIR`", "shown, up to 1 MiB of an attempt"),
	}
}

// streamingArguments returns the flags as arguments of hadoop-streaming. inputs, reducers and mapOnly
// are the options of flags that all jobs share. The parser of the arguments demands an output, so it
// gets "-". The run writes to the output of its own flags.
func streamingArguments(line argv.Line, inputs []string, reducers int, mapOnly bool) []string {
	var args []string
	add := func(option, flag string) {
		for _, v := range line.Values(flag) {
			args = append(args, option, v)
		}
	}
	add("-D", "define")
	add("-files", "files")
	add("-archives", "archives")
	for _, o := range []string{"mapper", "combiner", "reducer", "cmdenv", "partitioner", "inputformat", "inputreader", "io"} {
		add("-"+o, o)
	}
	for _, in := range inputs {
		args = append(args, "-input", in)
	}
	if line.Has("lazy-output") {
		args = append(args, "-lazyOutput")
	}
	// With mapOnly, reducers is 0, with which hadoop-streaming makes a map-only job.
	if reducers > 0 || mapOnly {
		args = append(args, "-numReduceTasks", strconv.Itoa(reducers))
	}
	return append(args, "-output", "-")
}

// runStreaming makes the work of run streaming from the flags of line and from o, the options of
// the flags that all jobs share. If standard input is an input, it replaces it in o.Inputs by the
// path of a copy. The caller closes the work, which removes the copy. stderr is as in StreamingOptions.
func runStreaming(line argv.Line, o *mrlocal.Options, stderr io.Writer) (work *streaming.Work, err error) {
	stdin, err := spoolInput(o, stderr == nil)
	if err != nil {
		return nil, err
	}
	defer func() {
		// After cost.AdoptInput the work removes the copy. If an error comes earlier, the copy is removed
		// here.
		if err != nil {
			err = errors.Join(err, stdin.Close())
		}
	}()
	job, err := streaming.Args(streamingArguments(line, o.Inputs, o.Reducers, o.MapOnly))
	if err != nil {
		return nil, StreamingMistake(err)
	}
	cores := int64(machine.ReadLimits().WorkCores())
	compat, given := line.Value("compat")
	if given && compat != "strict" && compat != "friendly" {
		return nil, errs.Optionf("--compat", "%s: strict or friendly", errs.Quote(compat))
	}
	s := StreamingOptions(line, o, stderr)
	if s.Friendly = compat != "strict"; s.Friendly {
		// Hadoop makes a map for each block of HDFS. On one machine, two maps for each core use all
		// cores until the end. A split has at most --block-size, or 64 MiB.
		s.Maps = 2 * cores
		if !job.Conf.Has("fs.local.block.size") {
			job.Conf.Set("fs.local.block.size", strconv.FormatInt(max(o.BlockBytes, 0)+boolBytes(o.BlockBytes == 0, 64<<20), 10))
		}
	}
	if work, err = streaming.New(job, s); err != nil {
		return nil, StreamingMistake(err)
	}
	// Without --reducers the size of the input sets their number, as for other jobs: one for each
	// 8 MiB, at most one per core. The size is known only after New, so the work is made again.
	if s.Friendly && !job.Conf.Has("mapreduce.job.reduces") && !work.MapOnly {
		if n := min(cores, work.InputBytes/(8<<20)); n > 1 {
			s.Reducers = int(n)
			if work, err = streaming.New(job, s); err != nil {
				return nil, StreamingMistake(err)
			}
		}
	}
	work.Output = ""
	work.AdoptInput(stdin)
	return work, work.Overwrites(o.OutputFile)
}

// spoolInput copies standard input, if it is among the inputs, to a temporary file, and puts the path
// of the file into o.Inputs. Each map reads its split by itself, so a pipe cannot be an input. The
// caller closes the returned root, which removes the file. In a batch, standard input would belong
// to no job, so spoolInput refuses it.
func spoolInput(o *mrlocal.Options, batch bool) (*disk.TempRoot, error) {
	at := slices.Index(o.Inputs, "-")
	root := disk.NewTempRoot(o.TempDirs, 0)
	switch {
	case at < 0: // no input is standard input
		return root, nil
	case batch || o.Stdin == nil:
		return root, errs.Optionf("input", "-: there is no standard input for this job; name a file")
	}
	path, err := root.Keep(o.Stdin)
	if err != nil {
		return root, errors.Join(fmt.Errorf("keep standard input: %w", err), root.Close())
	}
	o.Inputs[at] = path
	return root, nil
}

// boolBytes returns n if on is true, and 0 otherwise.
func boolBytes(on bool, n int64) int64 {
	if on {
		return n
	}
	return 0
}

// StreamingOptions returns the options of package streaming. They come from the flags that run
// streaming and mrlocal streaming share. stderr gets the standard error of the commands, and warnings.
// It is nil in a batch, whose jobs print nothing. With --quiet there are no lines of status.
func StreamingOptions(line argv.Line, o *mrlocal.Options, stderr io.Writer) streaming.Options {
	dir, _ := line.Value("stderr-dir")
	s := streaming.Options{Environ: os.Environ(), TempDir: os.TempDir(), ErrorDir: dir}
	if len(o.TempDirs) > 0 {
		s.TempDir = o.TempDirs[0]
	}
	if stderr != nil {
		s.Stderr = &wholeLines{w: stderr}
		s.Warn = func(text string) { _, _ = io.WriteString(s.Stderr, "mrlocal: streaming: "+errs.OneLine(text)+"\n") }
		if s.Status = s.Warn; line.Has("quiet") {
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

// StreamingMistake turns a *streaming.Error, which may have several lines, into an error of kind
// errs.BadOptions in one line. It drops empty lines and the hint at -help. It returns any other error
// as it is.
func StreamingMistake(err error) error {
	var p *streaming.Error
	if errors.As(err, &p) {
		return errs.Optionf("streaming", "%s", strings.Join(slices.DeleteFunc(slices.Clone(p.Lines), func(l string) bool { return l == "" || l == "Try -help for more information" }), "; "))
	}
	return err
}

// ApplyStreaming sets the options of a run as the streaming job w needs them. The job has its own
// inputs, splits and number of reduces, so these fields of o are cleared. The output directory, the
// compression, the timeout and the attempts of w replace those of o where its arguments set them. If w
// is nil, o stays as it is.
func ApplyStreaming(w *streaming.Work, o *mrlocal.Options) {
	if w == nil {
		return
	}
	o.Inputs = nil
	o.Reducers = 0
	o.ReducersPerSlot = 0
	o.MapOnly = false
	o.BlockBytes = 0
	o.DirStyle = w.Style
	// runStreaming clears Output, because run streaming has --output.
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
