package main

import (
	"io"
	"slices"

	"mrlocal"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/cluster"
	"mrlocal/cmd/mrlocal/internal/engineflags"
	"mrlocal/cmd/mrlocal/internal/paperjobs"
	"mrlocal/cmd/mrlocal/internal/pictures"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/cmd/mrlocal/internal/show"
	"mrlocal/errs"
	"mrlocal/output/compress"
	"mrlocal/slots"
	"mrlocal/slots/policy/registry"
	"mrlocal/streaming"
	"mrlocal/trace"
)

// Bounds of counts. They lie far above useful values and far below values at
// which memory or time runs out.
const (
	mostSlots    = 2048
	mostTrackers = 1024

	mostReducersPerSlot = 100 * slots.One
	mostAttempts        = 1000
	leastBlock          = 1 << 10 // bytes
)

// maxSlotsHelp is the help of --max-slots.
const maxSlotsHelp = "a policy may open at most `N` slots on each tracker, home slots included; dynsplit and ras open extra ones, and dynamicmr for slot weights"

// value is a flag that takes a value. Its name stands in backquotes in the help;
// def describes the default in words.
func value(name, help, def string) flagSpec { return argv.ValueSpec(name, help, def) }

// toggle is a flag without a value; short is its letter, or "".
func toggle(name, short, help string) flagSpec { return argv.ToggleSpec(name, short, help) }

// runFlags are the flags that every job of run takes. shortOutput is the letter
// of --output-file: "o", or "" for a job with an -o of its own.
func runFlags(shortOutput string) []flagSpec {
	// The order of the flags is the order of the help.
	flags := jobFlags(shortOutput)
	flags = append(flags, value("sched", "slot policy `NAME`; mrlocal policies lists them", defaultPolicy))
	flags = append(flags, schedulingFlags("")...)
	flags = append(append(append(flags, engineflags.BandwidthFlags()...), engineflags.Flags()...),
		process.FaultFlag(),
		value("resume", "keep the outputs of maps with a journal in `DIR`: after a kill or a full disk the same command goes on, and no committed map runs again; the job must have reduces, and inputs that are no streams", "nothing is kept"),
		value("events", "write every fact and decision to `FILE`, one JSON object per line; compressed if FILE ends in .gz or .zst", ""),
		value("report", "write the report of the run to `FILE` as JSON", ""),
		profileFlag(""))
	return append(append(flags, pictures.Flags()...), ganttFlags(", on standard error")...)
}

// jobFlags are the flags that say what one job reads and writes, and how its
// input is split. The args of a workload file are these and the job's own flags.
func jobFlags(shortOutput string) []flagSpec {
	input := value("input", "read `PATH`: a file, directory, glob, - or named FIFO, or hdfs://HOST:PORT/PATH; may be repeated; plain PATHs are read too", "")
	input.Repeat = true // the order of the paths is the order of the input
	outputFile := value("output-file", "write the result to one `FILE`, or to standard output if it is -", "standard output")
	outputFile.Short = shortOutput
	return append([]flagSpec{
		input,
		value("decode", "decode compressed inputs and refuse other archives, or read all bytes as they are: `auto|none`", "auto"),
		toggle("all", "", "read hidden files, and files whose names start with _, inside directories too"),
		value("output", "write part files and _SUCCESS into the new directory `DIR`", ""),
		toggle("overwrite", "", "let --output replace a directory that mrlocal made"),
		outputFile,
		compressOutputFlag(),
		value("reducers", "`N` reduce tasks; 0: map only, if the job allows it; auto:X: X times the reduce slots, such as Hadoop's auto:0.95 (all at once) and auto:1.75 (a second wave)", "chosen by the size of the input"),
		value("block-size", "`SIZE` of a split, at least 1KiB", "64MiB, less for small inputs; on HDFS the file's blocks"),
	}, cluster.HDFSFlags()...)
}

// compressOutputFlag is --compress-output, which runs and tools have.
func compressOutputFlag() flagSpec {
	return value("compress-output", "compress the result, and each part of a directory, in blocks of 1 MiB: `auto|none|gz|zstd`", "auto: by the suffix .gz or .zst of the file")
}

// compression reads --compress-output. The names stand in the order of the formats.
func (r *reader) compression() compress.Format {
	names := []string{"auto", "none", "gz", "zstd"}
	return compress.Format(max(0, slices.Index(names, r.Choice("compress-output", names...))))
}

// profileFlag is --profile; several adds to the help what happens with several runs.
func profileFlag(several string) flagSpec {
	return value("profile", "write cpu.pprof, heap.pprof, allocs.pprof and trace.out, labelled by slot and phase, into `DIR`"+several, "")
}

// defaultPolicy is the policy without --sched, the same as in package mrlocal.
const defaultPolicy = mrlocal.DefaultPolicy

// reader is argv.Reader with the values that only this command has.
type reader struct {
	argv.Reader

	stream *streaming.Work // of the job streaming; nil: another job
	stderr io.Writer       // what its commands write there; nil: dropped
}

// newReader returns a reader of the flags of line, without a mistake.
func newReader(line argv.Line) *reader { return &reader{Reader: argv.Reader{Line: line}} }

// runOptions turns the flags of runFlags into the options of a run of a job.
func runOptions(line argv.Line, job string) (mrlocal.Options, error) {
	r := newReader(line)
	s := r.scheduling(mostTrackers, mostSlots, 0)
	o := mrlocal.Options{Config: s.Config, Policy: r.policy(&s)}
	// In the options, 0 reduce slots stand for the default.
	o.NoReduces = line.Has("reduce-slots") && o.ReduceSlots == 0
	r.jobOptions(&o)
	engineflags.Read(&r.Reader, &o)
	engineflags.ReadBandwidths(&r.Reader, &o)
	o.Faults = process.Faults(&r.Reader, job, o.Trackers)
	return o, r.Err
}

// jobOptions reads jobFlags.
func (r *reader) jobOptions(o *mrlocal.Options) {
	o.Inputs, o.All = inputs(r), r.Line.Has("all")
	o.Side = r.Path(paperjobs.CentroidsFlag)
	o.NoDecode = r.Choice("decode", "auto", "none") == "none"
	o.OutputDir, o.Overwrite, o.OutputFile = r.Path("output"), r.Line.Has("overwrite"), r.Path("output-file")
	if o.OutputDir == "-" {
		r.Keep(errs.Optionf("--output", "-: standard output cannot hold a directory of parts; give --output-file -, or ./- for a directory of that name"))
	}
	// An empty OutputFile stands for standard output in the options.
	if o.OutputFile == "-" && o.OutputDir == "" { // with --output too, the engine refuses
		o.OutputFile = ""
	}
	o.HDFS = cluster.ReadHDFS(&r.Reader, append(o.Inputs[:len(o.Inputs):len(o.Inputs)], o.OutputDir))
	o.CompressOutput = r.compression()
	o.Reducers, o.ReducersPerSlot = r.CountOrMultiple("reducers", "auto:", cluster.MostReducers, mostReducersPerSlot)
	// In the options 0 reducers stand for the default, so map only is a field of its own.
	o.MapOnly = r.Line.Has("reducers") && o.Reducers == 0 && o.ReducersPerSlot == 0
	o.BlockBytes = r.Size("block-size", leastBlock)
	// The check catches a user who expects --overwrite to guard or to allow something for a
	// file.
	if o.Overwrite && o.OutputDir == "" {
		r.Keep(errs.Optionf("--overwrite", "needs --output DIR; --output-file replaces a file anyway"))
	}
}

// inputs returns the paths of --input, then the plain ones.
func inputs(r *reader) []string {
	// The copy keeps the line's own slices from growing.
	paths := append(append([]string(nil), r.Line.Values("input")...), r.Line.Words...)
	// An empty path often comes from an unset variable of a shell. It would otherwise mean the
	// working directory.
	if slices.Contains(paths, "") {
		r.Keep(errs.Optionf("input", "an empty path"))
	}
	r.Keep(paperjobs.CheckInputs(r.Line.Path[len(r.Line.Path)-1], len(paths)))
	return paths
}

// policy returns the policy of a single run, with the options of s.
func (r *reader) policy(s *scheduling) slots.Policy {
	name, ok := r.Line.Value("sched")
	if !ok {
		name = defaultPolicy
	}
	r.checkPolicy(name, registry.Names()) // first, because it suggests the nearest name
	if r.Err != nil {
		return nil
	}
	p, err := s.newPolicy(name)
	r.Keep(err)
	return p
}

// Bounds of --width, in columns.
const leastWidth, mostWidth = 30, 10_000

// ganttFlags are --gantt, --step and --width. where ends the help: on which stream the
// picture appears.
func ganttFlags(where string) []flagSpec {
	gantt := toggle("gantt", "", "draw which job used which slot when: a row is a slot, a letter is a job, lower case means lent, . means idle; below it, count the running maps and reduces of each pool at each step of time"+where+"; --gantt=pools and --gantt=phases give letters to pools, as for more jobs than letters, and to phases of tasks; --gantt=jobs always to jobs")
	gantt.Maybe = true
	return []flagSpec{gantt,
		value("step", "`TIME` of a step in the counts of --gantt", "10s for simulated runs of 20s to 1000s, otherwise chosen by the length of the run"),
		value("width", "draw --gantt in lines of `N` columns", "the width of the terminal, else 100"),
	}
}

// picture reads ganttFlags. drawn says that gantts are drawn even without --gantt.
func (r *reader) picture(drawn bool) *show.Picture {
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
