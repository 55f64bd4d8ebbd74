package command

import (
	"mrlocal"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/internal/errs"
	"mrlocal/shuffle"
)

// EngineFlags returns the flags that only real runs have: memory, spills, temporary files, progress.
// All commands that run jobs take these flags, and the tools do too. ReadEngine reads them.
func EngineFlags() []argv.Spec {
	return []argv.Spec{
		argv.ValueSpec("pin", "bind the thread of each slot to a core: `core|none`", "core"),
		argv.ValueSpec("memory", "`SIZE` that bounds all buffers together; the process must be allowed 32 open files and an address space of 2 GiB and 1.5 times SIZE", "a quarter of the machine's memory, or what ulimit -v leaves"),
		argv.ValueSpec("sort-buffer", "`SIZE` of the kvbuffer of a map at its start", "chosen by memory and slots"),
		argv.ValueSpec("spill-percent", "spill when this `SHARE` of the kvbuffer is full", "0.80"),
		argv.ValueSpec("buffer-growth", "let kvbuffers grow while memory is free (Dynamic Split): `on|off|proportion`. on doubles tables that combine by hash; proportion lets them grow with the input, as all others do", "on"),
		argv.ValueSpec("growth-threshold", "`SHARE` of the free memory that a kvbuffer may grow to", "0.8"),
		argv.ValueSpec("merge-factor", "merge `N` sorted runs at a time, at least 2", "64"),
		argv.ValueSpec("compress", "compress spills: `none|s2|zstd|auto`", "auto"),
		argv.ValueSpec("tmp", "spill into `DIR[,DIR]`, shared out by free space", "the temporary directory of the system"),
		argv.ValueSpec("max-temp", "`SIZE` that bounds all temporary files together", "what is free"),
		argv.ValueSpec("task-timeout", "fail an attempt that makes no progress for `TIME`", "600s"),
		argv.ValueSpec("progress", "show progress on standard error: `auto|plain|json|none`. auto is a block on a terminal and a line every 10 s elsewhere; json is an object a second for programs", "auto"),
	}
}

// leastSortBuffer is the smallest --sort-buffer of a run.
const leastSortBuffer = 16 << 10

// Upper bounds of flags. They lie far above useful values, and far below values at which memory or
// time runs out.
const (
	mostCopiers     = 10_000    // --parallel-copies
	mostFactor      = 1_000_000 // --merge-factor
	mostMemoryBytes = 16 << 40  // --memory; the address space has 47 bits, and the arena is mapped at once
)

// BandwidthFlags returns the flags that limit the speed of each tracker. They show effects of a
// cluster that a single machine does not have. ReadBandwidths reads them.
func BandwidthFlags() []argv.Spec {
	return []argv.Spec{
		argv.ValueSpec("shuffle-bw", "limit the copying of the reduces of each tracker to `SIZE` a second", "no limit"),
		argv.ValueSpec("parallel-copies", "a reduce copies `N` map outputs at a time, where copying takes time (--shuffle-bw, --copy-bw)", "1"),
		argv.ValueSpec("copy-bw", "limit each copy to `SIZE` a second", "no limit"),
		argv.ValueSpec("disk-bw", "limit reading inputs, and writing and reading spills, on each tracker to `SIZE` a second", "no limit"),
	}
}

// ReadBandwidths reads BandwidthFlags but --shuffle-bw, which is in Scheduling, into o. A rate of
// 0 bytes a second means no limit.
func ReadBandwidths(r *argv.Reader, o *mrlocal.Options) {
	o.DiskBytesPerSecond = r.Rate("disk-bw")
	o.Copiers.Parallel, o.Copiers.BytesPerSecond = r.Count("parallel-copies", 1, mostCopiers), r.Rate("copy-bw")
}

// ReadEngine reads EngineFlags into o. It leaves --progress to Env.Screen, because it is not an option
// of the engine.
func ReadEngine(r *argv.Reader, o *mrlocal.Options) {
	// The options NoPin and NoGrowth are negations, so that their zero value is the default.
	o.NoPin = r.Choice("pin", "core", "none") == "none"
	// If a flag is missing, its size is 0, and the engine chooses one.
	o.MemoryBytes = memory(r)
	o.SortBufferBytes = r.Size("sort-buffer", leastSortBuffer)
	o.SpillPercent = r.Mark("spill-percent")
	growth := r.Choice("buffer-growth", "on", "off", "proportion")
	o.NoGrowth, o.TablesInProportion = growth == "off", growth == "proportion"
	o.GrowthThreshold = r.Mark("growth-threshold")
	o.MergeFactor = r.Count("merge-factor", 2, mostFactor)
	o.Codec = codec(r)
	o.TempDirs, o.MaxTempBytes = r.Directories("tmp"), r.Size("max-temp", 1)
	o.TempAtNeed = len(o.TempDirs) == 0 // the system's may be missing, and few runs need it
	o.TaskTimeout = r.Time("task-timeout", false)
}

// memory reads --memory, in bytes. The engine checks the least value, because it depends on the
// number of slots.
func memory(r *argv.Reader) int64 {
	n := r.Size("memory", 1)
	// A larger size is most likely a wrong unit. Without this check the user would see the error of a
	// failed mmap.
	if n > mostMemoryBytes {
		text, _ := r.Line.Value("memory")
		r.Keep(errs.Optionf("--memory", "%s: too large; at most 16TiB", errs.Quote(text)))
	}
	return n
}

// codec reads --compress. It returns shuffle.Auto for a wrong value too, and r.Err has the error.
func codec(r *argv.Reader) shuffle.Codec {
	for c, name := range map[shuffle.Codec]string{shuffle.None: "none", shuffle.S2: "s2", shuffle.Zstd: "zstd"} {
		if r.Choice("compress", "auto", "none", "s2", "zstd") == name {
			return c
		}
	}
	return shuffle.Auto
}
