package command

import (
	"io"
	"slices"

	"mrlocal"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/pictures"
	"mrlocal/cmd/mrlocal/internal/show"
	"mrlocal/errs"
	"mrlocal/output/compress"
	"mrlocal/slots"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/setup"
	"mrlocal/streaming"
	"mrlocal/trace"
	"mrlocal/workload"
)

// Bounds of counts. They lie far above useful values and far below values at
// which memory or time runs out.
const (
	MostSlots    = 2048
	MostTrackers = 1024

	mostReducersPerSlot = 100 * slots.One
	MostReducers        = 100_000
	MostAttempts        = 1000
	LeastBlock          = 1 << 10 // bytes
)

// maxSlotsHelp is the help of --max-slots.
const maxSlotsHelp = "a policy may open at most `N` slots on each tracker, home slots included; dynsplit and ras open extra ones, and dynamicmr for slot weights"

// RunFlags are the flags that every job of run takes. shortOutput is the letter
// of --output-file: "o", or "" for a job with an -o of its own.
func RunFlags(shortOutput string) []argv.Spec {
	// The order of the flags is the order of the help.
	flags := JobFlags(shortOutput)
	flags = append(flags, argv.ValueSpec("sched", "slot policy `NAME`; mrlocal policies lists them", mrlocal.DefaultPolicy))
	flags = append(flags, SchedulingFlags("")...)
	flags = append(append(append(flags, BandwidthFlags()...), EngineFlags()...),
		faultFlag(),
		argv.ValueSpec("resume", "keep the outputs of maps with a journal in `DIR`: after a kill or a full disk the same command goes on, and no committed map runs again; the job must have reduces, and inputs that are no streams", "nothing is kept"),
		argv.ValueSpec("events", "write every fact and decision to `FILE`, one JSON object per line; compressed if FILE ends in .gz or .zst", ""),
		argv.ValueSpec("report", "write the report of the run to `FILE` as JSON", ""),
		ProfileFlag(""))
	return append(append(flags, pictures.Flags()...), GanttFlags(", on standard error")...)
}

// JobFlags are the flags that say what one job reads and writes, and how its
// input is split. The args of a workload file are these and the job's own flags.
func JobFlags(shortOutput string) []argv.Spec {
	input := argv.ValueSpec("input", "read `PATH`: a file, directory, glob, - or named FIFO, or hdfs://HOST:PORT/PATH; may be repeated; plain PATHs are read too", "")
	input.Repeat = true // the order of the paths is the order of the input
	outputFile := argv.ValueSpec("output-file", "write the result to one `FILE`, or to standard output if it is -", "standard output")
	outputFile.Short = shortOutput
	return append([]argv.Spec{
		input,
		argv.ValueSpec("decode", "decode compressed inputs and refuse other archives, or read all bytes as they are: `auto|none`", "auto"),
		argv.ToggleSpec("all", "", "read hidden files, and files whose names start with _, inside directories too"),
		argv.ValueSpec("output", "write part files and _SUCCESS into the new directory `DIR`", ""),
		argv.ToggleSpec("overwrite", "", "let --output replace a directory that mrlocal made"),
		outputFile,
		CompressOutputFlag(),
		argv.ValueSpec("reducers", "`N` reduce tasks; 0: map only, if the job allows it; auto:X: X times the reduce slots, such as Hadoop's auto:0.95 (all at once) and auto:1.75 (a second wave)", "chosen by the size of the input"),
		argv.ValueSpec("block-size", "`SIZE` of a split, at least 1KiB", "64MiB, less for small inputs; on HDFS the file's blocks"),
	}, HDFSFlags()...)
}

// CompressOutputFlag is --compress-output, which runs and tools have.
func CompressOutputFlag() argv.Spec {
	return argv.ValueSpec("compress-output", "compress the result, and each part of a directory, in blocks of 1 MiB: `auto|none|gz|zstd`", "auto: by the suffix .gz or .zst of the file")
}

// Compression reads --compress-output. The names stand in the order of the formats.
func (r *Reader) Compression() compress.Format {
	names := []string{"auto", "none", "gz", "zstd"}
	return compress.Format(max(0, slices.Index(names, r.Choice("compress-output", names...))))
}

// ProfileFlag is --profile; several adds to the help what happens with several runs.
func ProfileFlag(several string) argv.Spec {
	return argv.ValueSpec("profile", "write cpu.pprof, heap.pprof, allocs.pprof and trace.out, labelled by slot and phase, into `DIR`"+several, "")
}

// VerboseFlag and QuietFlag say how much of a run appears on standard error.
func VerboseFlag() argv.Spec {
	return argv.ToggleSpec("verbose", "", "show the table of the run, its counters, and the names that were skipped, even in a pipe or after a short run")
}

// QuietFlag silences all but errors. For grep the name belongs to GNU grep.
func QuietFlag() argv.Spec {
	return argv.ToggleSpec("quiet", "", "show neither progress nor notes nor the table, errors alone")
}

// Reader is argv.Reader with the values that only this command has.
type Reader struct {
	argv.Reader

	Stream *streaming.Work // of the job streaming; nil: another job
	Stderr io.Writer       // what its commands write there; nil: dropped
	Stdin  io.Reader       // of the command; nil: none, as in a batch
}

// NewReader returns a reader of the flags of line, without a mistake.
func NewReader(line argv.Line) *Reader { return &Reader{Reader: argv.Reader{Line: line}} }

// RunOptions turns the flags of RunFlags into the options of a run of a job.
func RunOptions(line argv.Line, job string) (mrlocal.Options, error) {
	r := NewReader(line)
	s := r.Scheduling(MostTrackers, MostSlots, 0)
	o := mrlocal.Options{Config: s.Config, Policy: r.Policy(&s)}
	// In the options, 0 reduce slots stand for the default.
	o.NoReduces = line.Has("reduce-slots") && o.ReduceSlots == 0
	r.JobOptions(&o)
	ReadEngine(&r.Reader, &o)
	ReadBandwidths(&r.Reader, &o)
	o.Faults = readFaults(&r.Reader, job, o.Trackers)
	return o, r.Err
}

// JobOptions reads JobFlags.
func (r *Reader) JobOptions(o *mrlocal.Options) {
	o.Inputs, o.All = inputs(r), r.Line.Has("all")
	o.Side = r.Path(centroidsFlag)
	o.NoDecode = r.Choice("decode", "auto", "none") == "none"
	o.OutputDir, o.Overwrite, o.OutputFile = r.Path("output"), r.Line.Has("overwrite"), r.Path("output-file")
	if o.OutputDir == "-" {
		r.Keep(errs.Optionf("--output", "-: standard output cannot hold a directory of parts; give --output-file -, or ./- for a directory of that name"))
	}
	// An empty OutputFile stands for standard output in the options.
	if o.OutputFile == "-" && o.OutputDir == "" { // with --output too, the engine refuses
		o.OutputFile = ""
	}
	o.HDFS = ReadHDFS(&r.Reader, append(o.Inputs[:len(o.Inputs):len(o.Inputs)], o.OutputDir))
	o.CompressOutput = r.Compression()
	o.Reducers, o.ReducersPerSlot = r.CountOrMultiple("reducers", "auto:", MostReducers, mostReducersPerSlot)
	// In the options 0 reducers stand for the default, so map only is a field of its own.
	o.MapOnly = r.Line.Has("reducers") && o.Reducers == 0 && o.ReducersPerSlot == 0
	o.BlockBytes = r.Size("block-size", LeastBlock)
	// The check catches a user who expects --overwrite to guard or to allow something for a
	// file.
	if o.Overwrite && o.OutputDir == "" {
		r.Keep(errs.Optionf("--overwrite", "needs --output DIR; --output-file replaces a file anyway"))
	}
}

// inputs returns the paths of --input, then the plain ones.
func inputs(r *Reader) []string {
	// The copy keeps the line's own slices from growing.
	paths := append(append([]string(nil), r.Line.Values("input")...), r.Line.Words...)
	// An empty path often comes from an unset variable of a shell. It would otherwise mean the
	// working directory.
	if slices.Contains(paths, "") {
		r.Keep(errs.Optionf("input", "an empty path"))
	}
	r.Keep(checkInputs(r.Line.Path[len(r.Line.Path)-1], len(paths)))
	return paths
}

// Policy returns the policy of a single run, with the options of s.
func (r *Reader) Policy(s *Scheduling) slots.Policy {
	name, ok := r.Line.Value("sched")
	if !ok {
		name = mrlocal.DefaultPolicy
	}
	r.checkPolicy(name, registry.Names()) // first, because it suggests the nearest name
	if r.Err != nil {
		return nil
	}
	p, err := s.NewPolicy(name)
	r.Keep(err)
	return p
}

// Bounds of --width, in columns.
const leastWidth, mostWidth = 30, 10_000

// GanttFlags are --gantt, --step and --width. where ends the help: on which stream the
// Picture appears.
func GanttFlags(where string) []argv.Spec {
	gantt := argv.ToggleSpec("gantt", "", "draw which job used which slot when: a row is a slot, a letter is a job, lower case means lent, . means idle; below it, count the running maps and reduces of each pool at each step of time"+where+"; --gantt=pools and --gantt=phases give letters to pools, as for more jobs than letters, and to phases of tasks; --gantt=jobs always to jobs")
	gantt.Maybe = true
	return []argv.Spec{gantt,
		argv.ValueSpec("step", "`TIME` of a step in the counts of --gantt", "10s for simulated runs of 20s to 1000s, otherwise chosen by the length of the run"),
		argv.ValueSpec("width", "draw --gantt in lines of `N` columns", "the width of the terminal, else 100"),
	}
}

// Picture reads GanttFlags. drawn says that gantts are drawn even without --gantt.
func (r *Reader) Picture(drawn bool) *show.Picture {
	// A width or step of 0 is chosen when the picture is drawn.
	p := &show.Picture{On: r.Line.Has("gantt"), Step: r.Time("step", false), Width: r.Count("width", leastWidth, mostWidth)}
	if group, _ := r.Line.Value("gantt"); group != "" {
		groups := []string{"", "pools", "jobs", "phases"} // in the order of trace.Grouping
		p.By = trace.Grouping(max(0, slices.Index(groups, r.Choice("gantt", groups[1:]...))))
	}
	// A flag without effect is refused, so that a user notices the missing --gantt.
	if p.Step > 0 && !p.On {
		r.Keep(errs.Optionf("--step", "needs --gantt"))
	}
	if p.Width > 0 && !p.On && !drawn {
		r.Keep(errs.Optionf("--width", "needs --gantt"))
	}
	return p
}

// faultFlag is --fault of a single run. A batch has its faults in the workload file.
func faultFlag() argv.Spec {
	f := argv.ValueSpec("fault", "make something go wrong, as an item of faults in a workload file does: `FAULT` is 'at: 5s, tracker: 1, lost: true', 'task: JOB/m/7, fail: 2' or 'at: 5s, task: JOB/m/7, lost: true'; may be repeated", "none")
	f.Repeat = true
	return f
}

// readFaults reads --fault, for a run of a job of that name on so many trackers; 0: one.
func readFaults(r *argv.Reader, job string, trackers int) (all []setup.Fault) {
	for _, text := range r.Line.Values("fault") {
		f, err := workload.ParseFault("--fault", text, job, max(1, trackers))
		r.Keep(err)
		all = append(all, f)
	}
	return all
}
