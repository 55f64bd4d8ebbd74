package command

import (
	"os"
	"os/user"
	"strconv"

	"mrlocal"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/errs"
	"mrlocal/hdfs"
	"mrlocal/spill/runs"
)

// EngineFlags returns the flags of real runs that no simulation has: memory, spills, temporary
// files. All commands that run jobs take them, and the tools.
func EngineFlags() []argv.Spec {
	return []argv.Spec{
		argv.ValueSpec("pin", "bind the thread of each slot to a core: `core|none`", "core"),
		argv.ValueSpec("memory", "`SIZE` that bounds all buffers together; the process must be allowed 32 open files and an address space of 2 GiB and 1.5 times SIZE", "a quarter of the machine's memory, or what ulimit -v leaves"),
		argv.ValueSpec("sort-buffer", "`SIZE` of the kvbuffer of a map at its start", "chosen by memory and slots"),
		argv.ValueSpec("spill-percent", "spill when this `SHARE` of the kvbuffer is full", "0.80"),
		argv.ValueSpec("buffer-growth", "let kvbuffers grow while memory is free (Dynamic Split): `on|off|proportion`; on doubles tables that combine by hash, proportion lets them grow with the input, as all others do", "on"),
		argv.ValueSpec("growth-threshold", "`SHARE` of the free memory that a kvbuffer may grow to", "0.8"),
		argv.ValueSpec("merge-factor", "merge `N` sorted runs at a time, at least 2", "64"),
		argv.ValueSpec("compress", "compress spills: `none|s2|zstd|auto`", "auto"),
		argv.ValueSpec("tmp", "spill into `DIR[,DIR]`, shared out by free space", "the temporary directory of the system"),
		argv.ValueSpec("max-temp", "`SIZE` that bounds all temporary files together", "what is free"),
		argv.ValueSpec("task-timeout", "fail an attempt that makes no progress for `TIME`", "600s"),
		argv.ValueSpec("progress", "show progress on standard error: `auto|plain|json|none`; auto is a block on a terminal and a line every 10 s elsewhere, json an object a second for programs", "auto"),
	}
}

// leastBufferBytes is the least size of a kvbuffer that a user may ask for.
const leastBufferBytes = 1 << 10

// Bounds. They lie far above useful values and far below values at which memory or time runs
// out.
const (
	mostCopies      = 10_000
	mostFactor      = 1_000_000
	mostMemoryBytes = 16 << 40 // the address space has 47 bits, and the arena is mapped at once
)

// BandwidthFlags returns the flags that limit the speed of each tracker, to show effects of a cluster
// that a single machine does not have.
func BandwidthFlags() []argv.Spec {
	return []argv.Spec{
		argv.ValueSpec("shuffle-bw", "limit the copying of the reduces of each tracker to `SIZE` a second", "no limit"),
		argv.ValueSpec("parallel-copies", "a reduce copies `N` map outputs at a time, where copying takes time (--shuffle-bw, --copy-bw)", "1"),
		argv.ValueSpec("copy-bw", "limit each copy to `SIZE` a second", "no limit"),
		argv.ValueSpec("disk-bw", "limit reading inputs, and writing and reading spills, on each tracker to `SIZE` a second", "no limit"),
	}
}

// ReadBandwidths reads BandwidthFlags but --shuffle-bw, which is in Scheduling.
func ReadBandwidths(r *argv.Reader, o *mrlocal.Options) {
	o.DiskBytesPerSecond = r.Rate("disk-bw")
	o.Copiers.Parallel, o.Copiers.BytesPerSecond = r.Count("parallel-copies", 1, mostCopies), r.Rate("copy-bw")
}

// ReadEngine reads EngineFlags, except --progress, which belongs to what is shown.
func ReadEngine(r *argv.Reader, o *mrlocal.Options) {
	// Options whose zero value must be the default are worded as negations: NoPin, NoGrowth,
	// NoDecode.
	o.NoPin = r.Choice("pin", "core", "none") == "none"
	// 0 bytes leave the choice to the engine, here and in the next line.
	o.MemoryBytes = memory(r)
	o.SortBufferBytes = r.Size("sort-buffer", leastBufferBytes)
	o.SpillPercent = r.Mark("spill-percent")
	growth := r.Choice("buffer-growth", "on", "off", "proportion")
	o.NoGrowth, o.TablesInProportion = growth == "off", growth == "proportion"
	o.GrowthThreshold = r.Mark("growth-threshold")
	o.MergeFactor = r.Count("merge-factor", 2, mostFactor)
	o.Codec = codec(r)
	o.TempDirs, o.MaxTempBytes = r.Directories("tmp"), r.Size("max-temp", 1)
	o.TaskTimeout = r.Time("task-timeout", false)
}

// memory reads --memory, in bytes. The least value depends on the number of slots,
// so the engine checks it.
func memory(r *argv.Reader) int64 {
	n := r.Size("memory", 1)
	// Such a size is a slip of the unit. The bound keeps the message clear of errors of the
	// system.
	if n > mostMemoryBytes {
		text, _ := r.Line.Value("memory")
		r.Keep(errs.Optionf("--memory", "%s: too large; at most 16TiB", argv.Quote(text)))
	}
	return n
}

// codec reads --compress.
func codec(r *argv.Reader) runs.Codec {
	// The value auto, which is the default, is none of these. A wrong value leaves its error in
	// r.Err.
	for c, name := range map[runs.Codec]string{runs.None: "none", runs.S2: "s2", runs.Zstd: "zstd"} {
		if r.Choice("compress", "auto", "none", "s2", "zstd") == name {
			return c
		}
	}
	return runs.Auto
}

// HDFSFlags say how HDFS is reached.
func HDFSFlags() []argv.Spec {
	return []argv.Spec{
		argv.ValueSpec("webhdfs", "the web interface of the NameNode is at `HOST:PORT`", "the host of the path, port 9870"),
		argv.ValueSpec("hdfs-user", "read and write HDFS as the user `NAME`", "who runs mrlocal"),
	}
}

// ReadHDFS reads HDFSFlags, for a command that has these paths.
func ReadHDFS(r *argv.Reader, paths []string) hdfs.Options {
	o := hdfs.Options{Web: r.Path("webhdfs"), User: r.Path("hdfs-user")}
	for _, p := range paths {
		if hdfs.Is(p) && o.User == "" {
			o.User = userName()
		}
	}
	return o
}

// userName returns the name of the user that runs the process, or the number where there is none.
func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return strconv.Itoa(os.Getuid())
}
