package command

import (
	"io"
	"slices"

	"mrlocal"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/show"
	"mrlocal/hadoop/streaming"
	"mrlocal/internal/errs"
	"mrlocal/output"
	"mrlocal/slots"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/setup"
	"mrlocal/trace"
	"mrlocal/workload"
)

// Bounds of flags. The upper ones lie far above useful values, and far below values at which memory
// or time runs out.
const (
	MostSlots    = 2048 // of one kind on a tracker of a real run; each is a thread
	MostTrackers = 1024 // of a real run

	mostReducersPerSlot = 100 * slots.One // X of --reducers auto:X
	MostAttempts        = 1000            // --attempts
	LeastBlock          = 1 << 10         // --block-size, in bytes
)

// RunFlags returns the flags that every job of run takes. shortOutput is the letter of
// --output-file: "o", or "" for a job whose own -o means something else. RunOptions reads the flags.
func RunFlags(shortOutput string) []argv.Spec {
	// The order of the flags is the order of the help.
	flags := JobFlags(shortOutput)
	flags = append(flags, argv.ValueSpec("sched", "slot policy `NAME`; mrlocal policies lists them", mrlocal.DefaultPolicy))
	flags = append(flags, SchedulingFlags("")...)
	flags = append(append(append(flags, BandwidthFlags()...), EngineFlags()...),
		faultFlag(),
		argv.ValueSpec("resume", "keep the outputs of maps with a journal in `DIR`. After a kill or a full disk the same command goes on, and no committed map runs again. The job must have reduces, and inputs that are not streams", "nothing is kept"),
		argv.ValueSpec("events", "write every fact and decision to `FILE`, one JSON object per line; compressed if FILE ends in .gz or .zst", ""),
		argv.ValueSpec("report", "write the report of the run to `FILE` as JSON", ""),
		ProfileFlag(""))
	return append(append(flags, show.Flags()...), GanttFlags(", on standard error")...)
}

// JobFlags returns the flags that say what one job reads and writes, and how to split its input.
// shortOutput is as in RunFlags. The args of a job in a workload file are these flags and the job's
// own ones. Reader.JobOptions reads them.
func JobFlags(shortOutput string) []argv.Spec {
	input := argv.ValueSpec("input", "read `PATH`: a file, directory, glob, - or named FIFO, or hdfs://HOST:PORT/PATH; may be repeated; plain PATHs are read too", "")
	input.Repeat = true // the order of the paths is the order of the input
	outputFile := argv.ValueSpec("output-file", "write the result to one `FILE`, which it replaces, or to standard output if it is -", "standard output")
	outputFile.Short = shortOutput
	return append([]argv.Spec{
		input,
		argv.ValueSpec("decode", "decode compressed inputs and refuse zip, 7z, rar and the like, or read all bytes as they are: `auto|none`", "auto"),
		argv.ToggleSpec("all", "", "read hidden files, and files whose names start with _, inside directories too"),
		argv.ValueSpec("output", "write part files and _SUCCESS into the new directory `DIR`", ""),
		argv.ToggleSpec("overwrite", "", "let --output replace a directory that mrlocal made; --output-file always replaces its file"),
		outputFile,
		CompressOutputFlag(),
		argv.ValueSpec("reducers", "`N` reduce tasks. 0: map only, if the job allows it; auto:X: X times the reduce slots, such as Hadoop's auto:0.95 (all at once) and auto:1.75 (a second wave)", "chosen by the size of the input"),
		argv.ValueSpec("block-size", "`SIZE` of a split, at least 1KiB", "64MiB, less for small inputs; on HDFS the file's blocks"),
	}, HDFSFlags()...)
}

// CompressOutputFlag returns --compress-output, which jobs and tools take. Reader.Compression reads
// it.
func CompressOutputFlag() argv.Spec {
	return argv.ValueSpec("compress-output", "compress the result, and each part of a directory, in blocks of 1 MiB: `auto|none|gz|zstd`", "auto: by the suffix .gz or .zst of the file")
}

// Compression reads --compress-output. After a mistake it returns the format of auto, and r.Err has
// the error.
func (r *Reader) Compression() output.Format {
	// The names stand in the order of the constants of output.Format.
	names := []string{"auto", "none", "gz", "zstd"}
	return output.Format(max(0, slices.Index(names, r.Choice("compress-output", names...))))
}

// ProfileFlag returns --profile. several is the end of the help text: what happens when the command
// makes several runs.
func ProfileFlag(several string) argv.Spec {
	return argv.ValueSpec("profile", "write cpu.pprof, heap.pprof, allocs.pprof and trace.out, labelled by slot and phase, into `DIR`"+several, "")
}

// VerboseFlag returns --verbose. It shows more of a run on standard error than the default.
func VerboseFlag() argv.Spec {
	return argv.ToggleSpec("verbose", "", "show the table of the run, its counters, and the names that were skipped, even in a pipe or after a short run")
}

// QuietFlag returns --quiet. It leaves only errors on standard error.
func QuietFlag() argv.Spec {
	return argv.ToggleSpec("quiet", "", "show neither progress nor notes nor the table, errors alone")
}

// Reader is argv.Reader with methods for the flags of jobs, and with what the job streaming needs
// beyond flags. Building that job sets Stream.
type Reader struct {
	argv.Reader

	Job    *NamedJob       // whose flags the line has; nil: the command runs no single job
	Stream *streaming.Work // of the job streaming, whose owner closes it; nil: another job
	Stderr io.Writer       // for the standard error of streaming commands; nil: it is dropped
	Stdin  io.Reader       // standard input of mrlocal; nil: there is none, as in a batch
}

// NewReader returns a reader of the flags of line. Its Err is nil.
func NewReader(line argv.Line) *Reader { return &Reader{Reader: argv.Reader{Line: line}} }

// RunOptions reads RunFlags into the options of a run of r.Job, which --fault may name. The returned
// error is the first mistake of all flags.
func (r *Reader) RunOptions() (mrlocal.Options, error) {
	s := r.Scheduling(MostTrackers, MostSlots, 0)
	o := mrlocal.Options{Config: s.Config, Policy: r.Policy(&s)}
	// In the options, 0 reduce slots stand for the default. NoReduces says that the user wants none.
	o.NoReduces = r.Line.Has("reduce-slots") && o.ReduceSlots == 0
	r.JobOptions(&o)
	ReadEngine(&r.Reader, &o)
	ReadBandwidths(&r.Reader, &o)
	o.Faults = readFaults(&r.Reader, r.Job.Name, o.Trackers)
	return o, r.Err
}

// JobOptions reads JobFlags of r.Job into o, and --centroids, whose file is the side data of the job.
func (r *Reader) JobOptions(o *mrlocal.Options) {
	o.Inputs, o.All = inputs(r), r.Line.Has("all")
	o.Side = r.Path(centroidsFlag)
	o.NoDecode = r.Choice("decode", "auto", "none") == "none"
	o.UTF16 = !o.NoDecode && r.Job.UTF16
	o.OutputDir = r.Path("output")
	o.Overwrite = r.Line.Has("overwrite")
	o.OutputFile = r.Path("output-file")
	if o.OutputDir == "-" {
		r.Keep(errs.Optionf("--output", "-: standard output cannot hold a directory of parts; give --output-file -, or ./- for a directory of that name"))
	}
	// In the options, an empty OutputFile stands for standard output. If --output is given too, the
	// value stays, and the engine refuses the pair.
	if o.OutputFile == "-" && o.OutputDir == "" {
		o.OutputFile = ""
	}
	// The full slice expression makes append copy, so the directory does not become an input.
	o.HDFS = ReadHDFS(&r.Reader, append(o.Inputs[:len(o.Inputs):len(o.Inputs)], o.OutputDir))
	o.CompressOutput = r.Compression()
	o.Reducers, o.ReducersPerSlot = r.CountOrMultiple("reducers", "auto:", mrlocal.MostReducers, mostReducersPerSlot)
	// In the options, 0 reducers stand for the default. MapOnly says that the user wants none.
	o.MapOnly = r.Line.Has("reducers") && o.Reducers == 0 && o.ReducersPerSlot == 0
	o.BlockBytes = r.Size("block-size", LeastBlock)
	// A file is replaced in any case, so --overwrite without a directory has no effect. The user
	// expects one, and learns that here.
	if o.Overwrite && o.OutputDir == "" {
		r.Keep(errs.Optionf("--overwrite", "needs --output DIR; --output-file replaces a file anyway"))
	}
}

// inputs returns the paths of --input, then the positional words. It refuses an empty path, and a
// number of inputs that the job does not take. The caller owns the slice.
func inputs(r *Reader) []string {
	// The line keeps its slices, so append starts with an empty one.
	paths := append(append([]string(nil), r.Line.Values("input")...), r.Line.Words...)
	// An empty path often comes from a shell variable that is not set. Without this check it would
	// mean the working directory.
	if slices.Contains(paths, "") {
		r.Keep(errs.Optionf("input", "an empty path"))
	}
	r.Keep(r.Job.checkInputs(len(paths)))
	return paths
}

// Policy reads --sched of a single run, and returns a new policy of that name with the options of s.
// It returns nil if any flag so far has a mistake.
func (r *Reader) Policy(s *Scheduling) slots.Policy {
	name, ok := r.Line.Value("sched")
	if !ok {
		name = mrlocal.DefaultPolicy
	}
	// This check comes before NewPolicy, because its error suggests the nearest name.
	r.checkPolicy(name, registry.Names())
	if r.Err != nil {
		return nil
	}
	p, err := s.NewPolicy(name)
	r.Keep(err)
	return p
}

// Bounds of --width, in columns.
const leastWidth, mostWidth = 30, 10_000

// GanttFlags returns --gantt, --step and --width. where is a phrase of the help of --gantt: the
// stream on which the gantt appears. Reader.Picture reads the flags.
func GanttFlags(where string) []argv.Spec {
	gantt := argv.ToggleSpec("gantt", "", "draw which job used which slot when"+where+". A row is a slot, a letter is a job, lower case means lent, and a dot means idle. Below it are the numbers of running maps and reduces of each pool at each step of time. With --gantt=pools a letter is a pool, as when there are more jobs than letters. With --gantt=phases it is a phase of a task, with --gantt=jobs always a job")
	gantt.Maybe = true // --gantt may have a value, and needs none
	return []argv.Spec{gantt,
		argv.ValueSpec("step", "`TIME` of a step in the counts of --gantt", "10s for simulated runs of 20s to 1000s, otherwise chosen by the length of the run"),
		argv.ValueSpec("width", "draw --gantt in lines of `N` columns", "the width of the terminal, else 100"),
	}
}

// Picture reads GanttFlags. drawn reports that the command draws gantts even without --gantt, so
// --width has an effect in any case.
func (r *Reader) Picture(drawn bool) *show.Picture {
	// If the width or the step is 0, the picture chooses it when it is drawn.
	p := &show.Picture{On: r.Line.Has("gantt"), Step: r.Time("step", false), Width: r.Count("width", leastWidth, mostWidth)}
	if group, _ := r.Line.Value("gantt"); group != "" {
		groups := []string{"", "pools", "jobs", "phases"} // in the order of trace.Grouping
		p.By = trace.Grouping(max(0, slices.Index(groups, r.Choice("gantt", groups[1:]...))))
	}
	// A flag without effect is a mistake: the user most likely forgot --gantt.
	if p.Step > 0 && !p.On {
		r.Keep(errs.Optionf("--step", "needs --gantt"))
	}
	if p.Width > 0 && !p.On && !drawn {
		r.Keep(errs.Optionf("--width", "needs --gantt"))
	}
	return p
}

// faultFlag returns --fault, which only run takes. A batch has its faults in the workload file.
func faultFlag() argv.Spec {
	f := argv.ValueSpec("fault", "make something go wrong, as an item of faults in a workload file does. `FAULT` is 'at: 5s, tracker: 1, lost: true', 'task: JOB/m/7, fail: 2' or 'at: 5s, task: JOB/m/7, lost: true'; may be repeated", "none")
	f.Repeat = true
	return f
}

// readFaults reads each --fault. job is the name of the job that runs. trackers is their number, and
// 0 stands for the default of one. A fault must name this job, and a tracker that exists.
func readFaults(r *argv.Reader, job string, trackers int) (all []setup.Fault) {
	for _, text := range r.Line.Values("fault") {
		f, err := workload.ParseFault("--fault", text, job, max(1, trackers))
		r.Keep(err)
		all = append(all, f)
	}
	return all
}
