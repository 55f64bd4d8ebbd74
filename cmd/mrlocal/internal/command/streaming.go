package command

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"mrlocal"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/errs"
	"mrlocal/internal/disk"
	"mrlocal/internal/machine"
	"mrlocal/output/compress"
	"mrlocal/streaming"
	"mrlocal/streaming/parse"
)

// streamingFlags are the flags of run streaming alone.
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
		repeat("archives", "unpack `PATH[#NAME]` there"),
		repeat("cmdenv", "set the variable `NAME=VALUE` for the commands"),
		property,
		argv.ValueSpec("partitioner", "the `CLASS` that divides keys among reduces", "by hash"),
		argv.ValueSpec("inputformat", "the `CLASS` that cuts the input into records", "TextInputFormat"),
		argv.ValueSpec("inputreader", "the reader and its marks, `StreamXmlRecordReader,begin=<a>,end=</a>`", ""),
		argv.ValueSpec("io", "`text|keyonlytext|rawbytes|typedbytes`: how records are written to commands and by them", "text"),
		{Flag: argv.Flag{Name: "lazy-output"}, Help: "make no part for a task that writes nothing"},
		argv.ValueSpec("stderr-dir", "keep the standard error of each attempt in a file in `DIR`", "shown, up to 1 MiB of an attempt"),
	}
}

// streamingArguments returns the flags as hadoop-streaming's arguments. The output is that of
// the run, so any stands for it here.
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
	if reducers > 0 || mapOnly {
		args = append(args, "-numReduceTasks", strconv.Itoa(reducers))
	}
	return append(args, "-output", "-")
}

// friendlyStreaming makes the work of run streaming. inputs and the rest of o are those of the
// flags that all jobs share.
func friendlyStreaming(line argv.Line, o *mrlocal.Options, stderr io.Writer) (work *streaming.Work, err error) {
	stdin, err := spoolInput(o, stderr == nil)
	if err != nil {
		return nil, err
	}
	defer func() {
		// Work closes stdin from Keep on. Before, an error must not leave the copied input
		// behind.
		if err != nil {
			err = errors.Join(err, stdin.Close())
		}
	}()
	job, err := parse.Args(streamingArguments(line, o.Inputs, o.Reducers, o.MapOnly))
	if err != nil {
		return nil, StreamingMistake(err)
	}
	cores := int64(len(machine.Cores()))
	compat, given := line.Value("compat")
	if given && compat != "strict" && compat != "friendly" {
		return nil, errs.Optionf("--compat", "%s: strict or friendly", argv.Quote(compat))
	}
	s := StreamingOptions(line, o, stderr)
	if s.Friendly = compat != "strict"; s.Friendly {
		// Hadoop makes maps by blocks of 128 MB; on one machine two maps a core end together.
		s.Maps = 2 * cores
		if !job.Conf.Has("fs.local.block.size") {
			job.Conf.Set("fs.local.block.size", strconv.FormatInt(max(o.BlockBytes, 0)+boolBytes(o.BlockBytes == 0, 64<<20), 10))
		}
	}
	if work, err = streaming.New(job, s); err != nil {
		return nil, StreamingMistake(err)
	}
	// By the size of the input, as other jobs choose: a reduce for each 8 MiB, at most
	// one a core. Only the job knows that size, so it is made a second time.
	if s.Friendly && !job.Conf.Has("mapreduce.job.reduces") && !work.MapOnly {
		if n := min(cores, work.InputBytes/(8<<20)); n > 1 {
			s.Reducers = int(n)
			if work, err = streaming.New(job, s); err != nil {
				return nil, StreamingMistake(err)
			}
		}
	}
	work.Output = ""
	work.Keep(stdin)
	return work, work.Overwrites(o.OutputFile)
}

// spoolInput copies standard input, if it is among the inputs, to a file in a Root that the caller
// closes: maps read their splits themselves. In a batch nobody knows whose it is.
func spoolInput(o *mrlocal.Options, batch bool) (*disk.TempRoot, error) {
	at := slices.Index(o.Inputs, "-")
	root := disk.NewTempRoot(o.TempDirs, 0)
	switch {
	case at < 0:
		return root, nil
	case batch || o.Stdin == nil:
		return root, errs.Optionf("input", "-: there is no standard input for this job; name a file")
	}
	dir, err := root.Dir()
	if err != nil {
		return root, err
	}
	path := filepath.Join(dir, "standard-input")
	f, err := os.Create(path)
	if err == nil {
		_, err = io.Copy(f, o.Stdin)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return root, errors.Join(fmt.Errorf("keep standard input: %w", err), root.Close())
	}
	o.Inputs[at] = path
	return root, nil
}

// boolBytes returns n if on is set.
func boolBytes(on bool, n int64) int64 {
	if on {
		return n
	}
	return 0
}

// StreamingOptions returns the options of streaming from the flags that both commands have. stderr
// nil stands for a batch, whose jobs print nothing.
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

// wholeLines lets several goroutines write whole lines: each attempt copies the standard error of
// its command in a goroutine of its own.
type wholeLines struct {
	sync.Mutex
	w io.Writer
}

func (l *wholeLines) Write(p []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	return l.w.Write(p)
}

// StreamingMistake turns an error of hadoop-streaming's arguments into one of kind errs.BadOptions, on
// one line. Other errors stay as they are.
func StreamingMistake(err error) error {
	var p *parse.Error
	if errors.As(err, &p) {
		return errs.Optionf("streaming", "%s", strings.Join(slices.DeleteFunc(slices.Clone(p.Lines), func(l string) bool { return l == "" || l == "Try -help for more information" }), "; "))
	}
	return err
}

// ApplyStreaming sets the options of a run as a hadoop-streaming job needs them. The job names its
// own inputs and its number of reduces, so o's fields for those are cleared. Its output directory, its
// compression and its timeout replace those of o where the job gives them. If w is nil, o stays as it is.
func ApplyStreaming(w *streaming.Work, o *mrlocal.Options) {
	if w == nil {
		return
	}
	o.Inputs, o.Reducers, o.ReducersPerSlot, o.MapOnly, o.BlockBytes = nil, 0, 0, false, 0
	o.DirStyle = w.Style
	// friendlyStreaming clears Output, because run streaming has --output.
	if w.Output != "" {
		o.OutputDir = w.Output
	}
	if w.Compress != compress.None && o.CompressOutput == compress.BySuffix {
		o.CompressOutput = w.Compress
	}
	if t := w.Timeout(); t > 0 {
		// Hadoop's milliseconds may be more than a Duration holds; a quarter leaves room for
		// sums.
		o.TaskTimeout = min(t, math.MaxInt64/4)
	}
	// 0 stands for the engine's default in both.
	if n := w.Tries(); n > 0 {
		o.Attempts = n
	}
}
