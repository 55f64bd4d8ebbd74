package main

import (
	"os"
	"strings"

	"mrlocal"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/auxiliary"
	"mrlocal/engine"
	"mrlocal/errs"
	"mrlocal/slots"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/setup"
	"mrlocal/spill/runs"
)

// Bounds of counts: far above what is useful, far below what breaks.
const (
	mostSlots    = 2048
	mostTrackers = 1024
	mostReducers = 100_000
	mostFactor   = 1_000_000
	mostAttempts = 1000
	mostMemory   = 16 << 40 // bytes; the arena is mapped at once, and 47 bits is all there is
	leastBlock   = 1 << 10
	leastBuffer  = 1 << 10
)

func value(name, help, def string) flagSpec { return argv.ValueSpec(name, help, def) }

func toggle(name, short, help string) flagSpec {
	return flagSpec{Flag: argv.Flag{Name: name, Short: short}, Help: help}
}

// runFlags are what every job of run takes. -o is --output-file except where
// the job has a -o of its own.
func runFlags(shortOutput string) []flagSpec {
	flags := jobFlags(shortOutput)
	flags = append(flags,
		value("sched", "slot policy `NAME`, see mrlocal policies", defaultPolicy),
		value("map-slots", "home map slots a tracker, `N`", "its cores without the reduce slots"),
		value("reduce-slots", "home reduce slots a tracker, `N`", "a sixth of its cores, at least 1"),
		value("trackers", "groups of cores, `N`", "1"),
		value("max-slots", "slots a tracker that a policy may open, `N`: home slots, and the extra ones that dynsplit and ras open, and dynamicmr for slot weights", "twice the home slots"),
		slowstartFlag(""),
		value("attempts", "attempts a task, `N`", "4"))
	flags = append(flags, policyFlags()...)
	flags = append(flags, placementFlags("")...)
	flags = append(append(append(flags, bandwidthFlags()...), engineFlags()...),
		value("events", "write every fact and decision to `FILE`, a JSON object a line", ""),
		value("report", "write the run's report to `FILE` as JSON", ""),
		profileFlag(""))
	return append(flags, ganttFlags(", on standard error")...)
}

// jobFlags are those of one job of a run: what it reads and writes, and how it
// is cut up. A workload file's args are these and the job's own.
func jobFlags(shortOutput string) []flagSpec {
	input := value("input", "read `PATH`: a file, directory, glob, - or named FIFO; may be repeated, plain PATHs count too", "")
	input.Repeat = true
	outputFile := value("output-file", "write one merged `FILE`; -: standard output", "standard output")
	outputFile.Short = shortOutput
	return []flagSpec{
		input,
		value("decode", "decode gzip, bzip2, zstd, s2, xz and lz4, and refuse other archives; none: take bytes as they are: `auto|none`", "auto"),
		toggle("all", "", "take hidden files and those starting with _ inside directories too"),
		value("output", "write part files and _SUCCESS into the new directory `DIR`", ""),
		toggle("overwrite", "", "let --output replace a directory that mrlocal made"),
		outputFile,
		value("reducers", "reduce tasks, `N`; 0: map only where the job allows it", "by the size of the job"),
		value("block-size", "bytes of a split, `SIZE`, at least 1KiB", "64MiB, less for small inputs"),
	}
}

// engineFlags are those of a real run that no simulation has.
func engineFlags() []flagSpec {
	return []flagSpec{
		value("pin", "bind each slot's thread to a core: `core|none`", "core"),
		value("memory", "bound of all buffers together, `SIZE`", "a quarter of the machine's"),
		value("sort-buffer", "where a map's kvbuffer starts, `SIZE`", "by memory and slots"),
		value("spill-percent", "spill mark, `SHARE` of the kvbuffer", "0.80"),
		value("buffer-growth", "dynamic growth of kvbuffers: `on|off`", "on"),
		value("growth-threshold", "`SHARE` of the free memory a kvbuffer may grow to", "0.8"),
		value("merge-factor", "runs merged at once, `N`, at least 2", "64"),
		value("compress", "of spills: `none|s2|zstd|auto`", "auto"),
		value("tmp", "spill into `DIR[,DIR]`", "the system's"),
		value("task-timeout", "fail an attempt without progress for `TIME`", "600s"),
		value("progress", "`auto|plain|none`", "auto"),
	}
}

func profileFlag(several string) flagSpec {
	return value("profile", "write cpu.pprof, heap.pprof, allocs.pprof and trace.out, labelled by slot and phase, into `DIR`"+several, "")
}

// bandwidthFlags make visible what one machine does not have.
func bandwidthFlags() []flagSpec {
	return []flagSpec{
		value("shuffle-bw", "`SIZE` a second that a tracker's reduces copy at", "as fast as it goes"),
		value("disk-bw", "`SIZE` a second that a tracker reads inputs and writes and reads spills at", "as fast as it goes"),
	}
}

func (r *reader) bandwidths(o *engine.Options) {
	o.ShuffleBytesPerSecond, o.DiskBytesPerSecond = r.Rate("shuffle-bw"), r.Rate("disk-bw")
}

const defaultPolicy = mrlocal.DefaultPolicy

// reader is argv's, with what only this command reads.
type reader struct{ argv.Reader }

func newReader(line argv.Line) *reader { return &reader{argv.Reader{Line: line}} }

func (r *reader) memory() int64 {
	n := r.Size("memory", 1)
	if n > mostMemory {
		text, _ := r.Line.Value("memory")
		r.Keep(errs.Optionf("--memory", "%s: too large; at most 16TiB", argv.Quote(text)))
	}
	return n
}

// runOptions lowers the flags of runFlags.
func runOptions(line argv.Line) (engine.Options, error) {
	r := newReader(line)
	o := engine.Options{
		Policy: r.policy(),
		Config: setup.Config{MapSlots: r.Count("map-slots", 1, mostSlots), ReduceSlots: r.Count("reduce-slots", 0, mostSlots), Trackers: r.Count("trackers", 1, mostTrackers), MaxSlots: r.Count("max-slots", 1, 2*mostSlots), Slowstart: r.Share("slowstart"), Attempts: r.Count("attempts", 1, mostAttempts), Replicas: r.Count("replicas", 1, mostTrackers), LocalityDelay: r.Time("locality-delay", true), RemotePenalty: r.factor("remote-penalty"), Slow: r.slow()},
	}
	_, given := line.Value("reduce-slots")
	o.NoReduces = given && o.ReduceSlots == 0
	r.jobOptions(&o)
	r.engineOptions(&o)
	r.bandwidths(&o)
	return o, r.Err
}

// jobOptions lowers jobFlags.
func (r *reader) jobOptions(o *engine.Options) {
	o.Inputs, o.All = inputs(r), r.Line.Has("all")
	o.NoDecode = r.Choice("decode", "auto", "none") == "none"
	o.OutputDir, o.Overwrite, o.OutputFile = r.Path("output"), r.Line.Has("overwrite"), r.Path("output-file")
	if o.OutputFile == "-" && o.OutputDir == "" { // with both, the engine refuses
		o.OutputFile = ""
	}
	o.Reducers = r.Count("reducers", 0, mostReducers)
	o.MapOnly = r.Line.Has("reducers") && o.Reducers == 0
	o.BlockBytes = r.Size("block-size", leastBlock)
	if o.Overwrite && o.OutputDir == "" {
		r.Keep(errs.Optionf("--overwrite", "goes with --output DIR; --output-file replaces a file anyway"))
	}
}

// engineOptions lowers engineFlags but --progress.
func (r *reader) engineOptions(o *engine.Options) {
	o.NoPin = r.Choice("pin", "core", "none") == "none"
	o.MemoryBytes = r.memory()
	o.SortBufferBytes = r.Size("sort-buffer", leastBuffer)
	o.SpillPercent = r.Mark("spill-percent")
	o.NoGrowth = r.Choice("buffer-growth", "on", "off") == "off"
	o.GrowthThreshold = r.Mark("growth-threshold")
	o.MergeFactor = r.Count("merge-factor", 2, mostFactor)
	o.Codec = r.codec()
	o.TempDirs = r.directories("tmp")
	o.TaskTimeout = r.Time("task-timeout", false)
}

// inputs are the --input paths, then the plain ones.
func inputs(r *reader) []string {
	paths := append(append([]string(nil), r.Line.Values("input")...), r.Line.Words...)
	for _, p := range paths {
		if p == "" {
			r.Keep(errs.Optionf("input", "an empty path"))
		}
	}
	if len(paths) == 0 {
		r.Keep(errs.Optionf("no input", "name files, directories or globs, or - for standard input"))
	}
	return paths
}

// policy is that of a single run.
func (r *reader) policy() slots.Policy {
	name, ok := r.Line.Value("sched")
	if !ok {
		name = defaultPolicy
	}
	known := registry.Names()
	r.checkPolicy(name, known)
	if r.Err != nil {
		return nil
	}
	p, err := registry.New(name, r.policyOptions())
	r.Keep(err)
	return p
}

func (r *reader) codec() runs.Codec {
	for c, name := range map[runs.Codec]string{runs.None: "none", runs.S2: "s2", runs.Zstd: "zstd"} {
		if r.Choice("compress", "auto", "none", "s2", "zstd") == name {
			return c
		}
	}
	return runs.Auto
}

// directories reads a comma-separated list; each must be a directory.
func (r *reader) directories(flag string) []string {
	text, ok := r.Line.Value(flag)
	if !ok {
		return nil
	}
	dirs := strings.Split(text, ",")
	for _, d := range dirs {
		if d == "" {
			r.Keep(errs.Optionf("--"+flag, "an empty directory name in %s", argv.Quote(text)))
			continue
		}
		info, err := os.Stat(d)
		switch {
		case err != nil:
			r.Keep(errs.Optionf("--"+flag, "%s: %v", d, auxiliary.Cause(err)))
		case !info.IsDir():
			r.Keep(errs.Optionf("--"+flag, "%s: not a directory", d))
		}
	}
	return dirs
}
