package main

import (
	"os"
	"strings"
	"time"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/side"
	"mrlocal/engine"
	"mrlocal/internal/usage"
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/spill"
	"mrlocal/workload"
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

func value(name, help, def string) flagSpec {
	return flagSpec{Flag: argv.Flag{Name: name, Value: true}, help: help, def: def}
}

func toggle(name, short, help string) flagSpec {
	return flagSpec{Flag: argv.Flag{Name: name, Short: short}, help: help}
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
		value("max-slots", "slots a tracker that a policy may open, `N`; none of this version opens more than the home slots", "twice the home slots"),
		value("slowstart", "`SHARE` of maps finished before reduces are ready; fair-deficit, lazy-start, omo and fresh have their own", "1.0"),
		value("borrow-map", "`SHARE` of the map slots that reduces may borrow", "1"),
		value("borrow-reduce", "`SHARE` of the reduce slots that maps may borrow", "1"),
		value("attempts", "attempts a task, `N`", "4"))
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
	outputFile := value("output-file", "write one merged `FILE`", "standard output")
	outputFile.Short = shortOutput
	return []flagSpec{
		input,
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
	o.ShuffleBytesPerSecond, o.DiskBytesPerSecond = r.rate("shuffle-bw"), r.rate("disk-bw")
}

// speeds are slow trackers as the engine takes them.
func speeds(slow []workload.Slow) []engine.TrackerSpeed {
	var all []engine.TrackerSpeed
	for _, s := range slow {
		all = append(all, engine.TrackerSpeed{Tracker: s.Tracker, Speed: s.Factor})
	}
	return all
}

const defaultPolicy = "pi-dhfs"

// reader reads flags one after the other and keeps the first mistake.
type reader struct {
	line argv.Line
	err  error
}

func (r *reader) keep(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *reader) count(flag string, least, most int) int {
	text, ok := r.line.Value(flag)
	if !ok {
		return 0
	}
	n, err := argv.Count(flag, text, least, most)
	r.keep(err)
	return n
}

func (r *reader) size(flag string, least int64) int64 {
	text, ok := r.line.Value(flag)
	if !ok {
		return 0
	}
	n, err := argv.Size(flag, text, least)
	r.keep(err)
	return n
}

func (r *reader) memory() int64 {
	n := r.size("memory", 1)
	if n > mostMemory {
		text, _ := r.line.Value("memory")
		r.keep(usage.Errorf("--memory", "%s: too large; at most 16TiB", argv.Quote(text)))
	}
	return n
}

// share is nil where the flag was not given.
func (r *reader) share(flag string) *slots.PPM {
	text, ok := r.line.Value(flag)
	if !ok {
		return nil
	}
	n, err := argv.Share(flag, text)
	r.keep(err)
	p := slots.PPM(n)
	return &p
}

// mark is a share above 0, or 0 where the flag was not given.
func (r *reader) mark(flag string) float64 {
	p := r.share(flag)
	if p == nil {
		return 0
	}
	if *p == 0 {
		r.keep(usage.Errorf("--"+flag, "0: must be more than 0"))
	}
	return float64(*p) / float64(slots.One)
}

// time is 0 where the flag was not given; where that says that something is
// off, 0 may be given too.
func (r *reader) time(flag string, zero bool) time.Duration {
	text, ok := r.line.Value(flag)
	if !ok || zero && (text == "0" || text == "0s") {
		return 0
	}
	d, err := argv.Time(flag, text)
	r.keep(err)
	return d
}

func (r *reader) choice(flag string, names ...string) string {
	text, ok := r.line.Value(flag)
	if !ok {
		return names[0]
	}
	name, err := argv.Choice(flag, text, names...)
	r.keep(err)
	return name
}

func (r *reader) path(flag string) string {
	text, ok := r.line.Value(flag)
	if !ok {
		return ""
	}
	path, err := argv.NonEmpty(flag, text)
	r.keep(err)
	return path
}

// runOptions lowers the flags of runFlags.
func runOptions(line argv.Line) (engine.Options, error) {
	r := &reader{line: line}
	o := engine.Options{
		Policy:      r.policy(),
		MapSlots:    r.count("map-slots", 1, mostSlots),
		ReduceSlots: r.count("reduce-slots", 0, mostSlots),
		Trackers:    r.count("trackers", 1, mostTrackers),
		MaxSlots:    r.count("max-slots", 1, 2*mostSlots),
		Slowstart:   r.share("slowstart"),
		Attempts:    r.count("attempts", 1, mostAttempts),

		Replicas:      r.count("replicas", 1, mostTrackers),
		LocalityDelay: r.time("locality-delay", true),
		RemotePenalty: r.factor("remote-penalty"),
		Slow:          speeds(r.slow()),
	}
	_, given := line.Value("reduce-slots")
	o.NoReduces = given && o.ReduceSlots == 0
	r.jobOptions(&o)
	r.engineOptions(&o)
	r.bandwidths(&o)
	return o, r.err
}

// jobOptions lowers jobFlags.
func (r *reader) jobOptions(o *engine.Options) {
	o.Inputs, o.All = inputs(r), r.line.Has("all")
	o.OutputDir, o.Overwrite, o.OutputFile = r.path("output"), r.line.Has("overwrite"), r.path("output-file")
	o.Reducers = r.count("reducers", 0, mostReducers)
	o.MapOnly = r.line.Has("reducers") && o.Reducers == 0
	o.BlockBytes = r.size("block-size", leastBlock)
	if o.Overwrite && o.OutputDir == "" {
		r.keep(usage.Errorf("--overwrite", "goes with --output DIR; --output-file replaces a file anyway"))
	}
}

// engineOptions lowers engineFlags but --progress.
func (r *reader) engineOptions(o *engine.Options) {
	o.NoPin = r.choice("pin", "core", "none") == "none"
	o.MemoryBytes = r.memory()
	o.SortBufferBytes = r.size("sort-buffer", leastBuffer)
	o.SpillPercent = r.mark("spill-percent")
	o.NoGrowth = r.choice("buffer-growth", "on", "off") == "off"
	o.GrowthThreshold = r.mark("growth-threshold")
	o.MergeFactor = r.count("merge-factor", 2, mostFactor)
	o.Codec = r.codec()
	o.TempDirs = r.directories("tmp")
	o.TaskTimeout = r.time("task-timeout", false)
}

// inputs are the --input paths, then the plain ones.
func inputs(r *reader) []string {
	paths := append(append([]string(nil), r.line.Values("input")...), r.line.Words...)
	for _, p := range paths {
		if p == "" {
			r.keep(usage.Errorf("input", "an empty path"))
		}
	}
	if len(paths) == 0 {
		r.keep(usage.Errorf("no input", "name files, directories or globs, or - for standard input"))
	}
	return paths
}

// policy is that of a single run.
func (r *reader) policy() slots.Policy {
	name, ok := r.line.Value("sched")
	if !ok {
		name = defaultPolicy
	}
	var known []string
	for _, p := range policy.All() {
		known = append(known, p.Name)
	}
	r.checkPolicy(name, known)
	if r.err != nil {
		return nil
	}
	p, err := policy.New(name, r.policyOptions())
	r.keep(err)
	return p
}

func (r *reader) codec() spill.Codec {
	for c, name := range map[spill.Codec]string{spill.None: "none", spill.S2: "s2", spill.Zstd: "zstd"} {
		if r.choice("compress", "auto", "none", "s2", "zstd") == name {
			return c
		}
	}
	return spill.Auto
}

// directories reads a comma-separated list; each must be a directory.
func (r *reader) directories(flag string) []string {
	text, ok := r.line.Value(flag)
	if !ok {
		return nil
	}
	dirs := strings.Split(text, ",")
	for _, d := range dirs {
		if d == "" {
			r.keep(usage.Errorf("--"+flag, "an empty directory name in %s", argv.Quote(text)))
			continue
		}
		info, err := os.Stat(d)
		switch {
		case err != nil:
			r.keep(usage.Errorf("--"+flag, "%s: %v", d, side.Cause(err)))
		case !info.IsDir():
			r.keep(usage.Errorf("--"+flag, "%s: not a directory", d))
		}
	}
	return dirs
}
