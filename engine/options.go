package engine

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"

	"mrlocal/input"
	"mrlocal/internal/errs"
	"mrlocal/internal/guard"
	"mrlocal/internal/hdfs"
	"mrlocal/internal/machine"
	"mrlocal/internal/setting"
	"mrlocal/jobs"
	"mrlocal/output"
	"mrlocal/shuffle"
	"mrlocal/shuffle/rule"
	"mrlocal/slots"
	"mrlocal/slots/setup"
	"mrlocal/spill"
	"mrlocal/trace"
)

// JobOptions are the options of one job: what it reads and writes, and how it is divided into
// tasks. Inputs or Found is required, except for a job without input.
type JobOptions struct {
	// Inputs are files, directories and globs; "-" is Stdin. Maps read them in this order.
	Inputs []string
	// Found, if not nil, replaces Inputs: maps read the first files while others are still being
	// found. It works only for map-only jobs whose result goes to Stdout.
	Found *input.Search

	HDFS      hdfs.Options // how files of HDFS are reached
	All       bool         // read hidden files inside directories too
	NoDecode  bool         // read the bytes of compressed inputs as they are
	UTF16     bool         // decode inputs that begin with a mark of UTF-16 to UTF-8, also with NoDecode
	Stdin     io.Reader    // input "-", which is refused if Stdin is nil
	Uncounted bool         // leave MAP_INPUT_RECORDS at 0, which saves a pass over the input

	// OutputDir or OutputFile is where the result goes; only one of them may be set. If neither
	// is, the merged result goes to Stdout. If Stdout is nil too, the result is thrown away. The job
	// fails if a Write of Stdout fails. A run replaces an existing OutputFile even without Overwrite, as a
	// shell does for >. With OutputDir or OutputFile, Stdout must be nil, unless OutputFile is /dev/stdout.
	OutputDir, OutputFile string
	Stdout                io.Writer

	// PipeMayClose says that a job has succeeded when the reader of Stdout closes its pipe (EPIPE):
	// that reader wants no more of the result. Otherwise this is an error as any other.
	PipeMayClose bool

	Overwrite bool // replace an OutputDir that mrlocal made, or an OutputFile that is an input

	// Side is a file whose bytes each attempt gets (jobs.OwnAttempt.Side), at most
	// jobs.MaxSideBytes; "": none.
	Side string

	output.DirStyle // which files OutputDir has, and their names

	// CompressOutput compresses the result: a file, a stream, or each part of a
	// directory. By default, the suffix of OutputFile decides.
	CompressOutput output.Format

	Reducers int  // number of reduce tasks, at most 100,000; 0: by ReducersPerSlot, or else by the size of the input
	MapOnly  bool // the user asks for zero reduce tasks

	// BlockBytes are the bytes of a split; 0: 64 MiB, less for small inputs. They are raised if there
	// would be more than 262,144 splits, or more than 4,096 of less than 1 KiB.
	BlockBytes int64

	// ReducersPerSlot, if it is not 0, sets the number of reduce tasks, as a multiple of the
	// reduce slots of all trackers. The product is rounded down, and at least 1. Hadoop advises
	// 0.95 or 1.75. With 0.95 all reduces run at once. With 1.75 fast trackers run a second
	// wave.
	ReducersPerSlot slots.PPM
}

// inputOptions returns how the files of Inputs are found and read for a job. No file of HDFS can be
// read after the end of ctx.
func (o *JobOptions) inputOptions(ctx context.Context, job *jobs.Job) input.Options {
	return input.Options{
		HDFS: hdfs.New(ctx, o.HDFS), All: o.All, NoDecode: o.NoDecode, UTF16: o.UTF16 && job.RecordBytes == 0, Stdin: guard.Reader(o.Stdin),
		RecordBytes: job.RecordBytes, Delim: job.Delim.Byte(), NUL: job.Delim == jobs.NUL, SkipBinary: job.SkipBinary,
	}
}

// BatchJob is one job of a batch: a chain that runs in one pool.
type BatchJob struct {
	setup.Submission // Name "": the name of the first job of the chain
	Chain            jobs.Chain

	JobOptions
}

// Options are the options of a run. The zero value of every field works, except that
// a single run requires Inputs or Found.
type Options struct {
	// JobOptions are those of a single run. RunBatch uses Reducers, ReducersPerSlot and
	// BlockBytes for jobs that leave them 0. Package mrlocal refuses Inputs, OutputDir and
	// OutputFile for a batch. RunBatch ignores the others.
	JobOptions

	// Config describes the cluster, its pools and users. ReduceSlots defaults to a sixth of
	// a tracker's cores, at least one. MapSlots defaults to the cores that are left. Where CPU
	// quota, memory, threads or MaxSlots are not enough for that, there are fewer by default.
	// There are at most 1024 Trackers, and 4096 slots on all of them. The
	// factor of a Slow tracker is at least 0.01.
	setup.Config

	Policy    slots.Policy // serves one run at a time; nil: FIFO (package mrlocal sets pi-dhfs instead)
	NoReduces bool         // no reduce slots at all, for map-only jobs
	NoPin     bool         // do not bind the threads of slots to cores

	// DiskBytesPerSecond is the bandwidth of the disk of each tracker, for inputs and for
	// spills, written and read; 0: unbounded. It shows effects that one machine does not have,
	// as do Copiers and Config.ShuffleBytesPerSecond.
	DiskBytesPerSecond int64 // at least 256 KiB, as all rates
	Copiers            shuffle.Copiers

	// CopyOutputs makes reduces copy the bytes of map outputs to memory and files of their own, and
	// merge them while maps run, as Hadoop's do. Otherwise a copy moves a reference.
	CopyOutputs bool

	MemoryBytes     int64 // bound of all buffers together, at most 16 TiB; 0: a quarter of the machine's memory, less if ulimit -v requires it, more if the slots that are set need it
	SortBufferBytes int64 // first size of a map's kvbuffer, at least 16 KiB; 0: by memory and slots
	spill.KVBuffer
	MergeFactor  int      // sorted runs merged at once, at most 1,000,000; 0: 64
	TempDirs     []string // directories of temporary files, used by their free space; nil: the system's
	TempAtNeed   bool     // check TempDirs at the first temporary file, not at the start
	MaxTempBytes int64    // bound of all temporary files together; 0: none

	// ResumeDir, if it is not "", is a directory in which a single run keeps its map outputs,
	// with a journal. After a kill, a run with the same options goes on: maps whose outputs are
	// there do not run again. A run that succeeds removes what it has kept. The directory is made
	// if it is missing. The job must have reduces, and no input may be a stream. See package
	// engine/journal.
	ResumeDir string

	// ResumeSettings are lines of the form name=value. They describe all on which the map
	// outputs depend in addition to the inputs, the side data, these options and the file of the program.
	// Arguments of the program are an example. A run refuses a journal with other settings.
	// Without ResumeDir they are ignored.
	ResumeSettings []string

	TaskTimeout time.Duration // an attempt fails after this time without a sign of life; 0: 600 s

	// Profile labels the work of attempts (slot, job, kind, phase) for a CPU
	// profile and an execution trace that the caller takes.
	Profile bool

	extraSlots        int    // of each tracker, closed until the policy opens them
	mostSlots         int    // on all trackers, extra slots included
	memoryByDefault   bool   // withDefaults has set MemoryBytes
	attemptsByDefault bool   // withDefaults has set Attempts
	fewer             string // note about home slots that the limits of the process leave out; "": none

	// The calls of these fields take place on any goroutine. The run waits for each call, and fails if
	// Events or Watch fails. Note, Warn and Stderr are called one at a time. What they get is lost if
	// they fail or panic.
	Events io.Writer           // gets every fact and decision as JSON lines; not the open file OutputFile; nil: none
	Watch  func(*trace.Stream) // called once before work starts, so that the caller attaches readers; nil: not
	Note   func(string)        // gets notes and warnings of one line; nil: dropped
	Warn   func(string)        // gets warnings about inputs that were read to their end; nil: dropped
	Stderr io.Writer           // gets stacks of failed user code; nil: dropped
	Logger *slog.Logger        // gets notes, warnings and stacks too; nil: none

	// Progress is called when the run begins, at most 10 times a second while it works, and when its jobs have
	// ended. The run waits for each call. nil: not.
	Progress func(Progress)
}

// Progress is how far a run has come. It counts the tasks of jobs that have begun. More may follow: other jobs of a
// chain, and maps of a stream.
type Progress struct {
	Elapsed              time.Duration
	Maps, MapsDone       int
	Reduces, ReducesDone int
	Running              int // attempts
	JobsLeft             int // of a batch; 1 or 0 in a single run
}

const (
	defaultMergeFactor = 64
	defaultTaskTimeout = 600 * time.Second

	// LeastBytesPerSlot is the least memory for each slot with which a run starts.
	LeastBytesPerSlot = 8 << 20
)

// Fields returns the settings of one job. Those of a path that may be - leave it to the caller.
func (o *JobOptions) Fields() []setting.Setting {
	return setting.In("INPUT AND OUTPUT", []setting.Setting{
		setting.Of("input", "Inputs", "read `PATH`: a file, directory, glob, - or named FIFO, or hdfs://HOST:PORT/PATH; may be repeated; plain PATHs are read too", "", setting.List(&o.Inputs)).InShortHelp(),
		setting.Of("decode", "NoDecode=none", "decode compressed inputs and refuse zip, 7z, rar and the like, or read all bytes as they are: `auto|none`", "auto", setting.Either(&o.NoDecode, "none", "auto", false)),
		setting.Of("all", "All", "read hidden files, and files whose names start with _, inside directories too", "", setting.Toggle(&o.All)),
		setting.Of("output", "OutputDir", "write part files and _SUCCESS into the new directory `DIR`", "", setting.Text(&o.OutputDir)).InShortHelp(),
		setting.Of("overwrite", "Overwrite", "let --output replace a directory that mrlocal made; --output-file always replaces its file", "", setting.Toggle(&o.Overwrite)).InShortHelp(),
		setting.Of("output-file", "OutputFile", "write the result to one `FILE`, which it replaces, or to standard output if it is -", "standard output", setting.Text(&o.OutputFile)).InShortHelp(),
		setting.Of("compress-output", "CompressOutput", "compress the result, and each part of a directory, in blocks of 1 MiB: `auto|none|gz|zstd|bz2|deflate`", "auto: by the suffix .gz or .zst of the file", setting.Enum(&o.CompressOutput, "auto", "none", "gz", "zstd", "bz2", "deflate")),
		setting.Of("reducers", "Reducers ReducersPerSlot MapOnly", "`N` reduce tasks. 0: map only, if the job allows it; auto:X: X times the reduce slots, such as Hadoop's auto:0.95 (all at once) and auto:1.75 (a second wave)", "chosen by the size of the input", setting.Value{Set: o.readReducers}),
		setting.Of("block-size", "BlockBytes", "`SIZE` of a split, at least 1KiB", "64MiB, less for small inputs; on HDFS the file's blocks", setting.Size(&o.BlockBytes, 1<<10, math.MaxInt64)),
		setting.Of("webhdfs", "HDFS.Web", "the web interface of the NameNode is at `HOST:PORT`", "the host of the path, port 9870", setting.Text(&o.HDFS.Web)),
		setting.Of("hdfs-user", "HDFS.User", "read and write HDFS as the user `NAME`", "who runs mrlocal", setting.Text(&o.HDFS.User)),
	})
}

// readReducers reads a number of reduces, or auto:X. A number of 0 asks for a job without reduces.
func (o *JobOptions) readReducers(text string) (err error) {
	o.Reducers, o.ReducersPerSlot, o.MapOnly = 0, 0, false
	if times, auto := strings.CutPrefix(text, "auto:"); auto {
		return setting.Factor(&o.ReducersPerSlot, 1, mostPerSlot).Set(times)
	}
	err = setting.Count(&o.Reducers, 0, jobs.MostReducers).Set(text)
	o.MapOnly = err == nil && o.Reducers == 0
	return err
}

// mostPerSlot bounds ReducersPerSlot.
const mostPerSlot = 100 * slots.One

// Bounds returns the bounds of the Config of a run.
func Bounds() setup.Bounds {
	return setup.Bounds{Trackers: mostTrackers, Slots: maxSlotCount, Rate: leastRateBytes}
}

// Fields returns the settings of a run, without those of JobOptions and Config.
func (o *Options) Fields() []setting.Setting {
	return append(setting.In("FAULTS AND EFFECTS", []setting.Setting{
		setting.Of("parallel-copies", "Copiers.Parallel", "a reduce copies `N` map outputs at a time, where copying takes time (--shuffle-bw, --copy-bw, --copy-outputs), and ras keeps I/O free for as many", "5", setting.Count(&o.Copiers.Parallel, 1, mostCopiers)),
		setting.Of("copy-bw", "Copiers.BytesPerSecond", "limit each copy to `SIZE` a second", "no limit", setting.Rate(&o.Copiers.BytesPerSecond, leastRateBytes)),
		setting.Of("copy-outputs", "CopyOutputs", "reduces copy the bytes of map outputs, and merge the copies while maps run, as on a cluster; without it, copies move references", "", setting.Toggle(&o.CopyOutputs)),
		setting.Of("disk-bw", "DiskBytesPerSecond", "limit reading inputs, and writing and reading spills, on each tracker to `SIZE` a second", "no limit", setting.Rate(&o.DiskBytesPerSecond, leastRateBytes)),
		setting.Of("task-timeout", "TaskTimeout", "fail an attempt that makes no progress for `TIME`", "600s", setting.Time(&o.TaskTimeout, 1)),
	}), setting.In("MEMORY", []setting.Setting{
		setting.Of("pin", "NoPin", "bind the thread of each slot to a core: `core|none`", "core", setting.Either(&o.NoPin, "none", "core", false)),
		setting.Of("memory", "MemoryBytes", "`SIZE` that bounds all buffers together; the process must be allowed 32 open files and an address space of 2 GiB and 1.5 times SIZE", "a quarter of the machine's memory, or what ulimit -v leaves", setting.Size(&o.MemoryBytes, 1, mostMemoryBytes)).InShortHelp(),
		setting.Of("sort-buffer", "SortBufferBytes", "`SIZE` of the kvbuffer of a map at its start", "chosen by memory and slots", setting.Size(&o.SortBufferBytes, leastSortBuffer, math.MaxInt64)),
		setting.Of("spill-percent", "SpillPercent", "spill when this `SHARE` of the kvbuffer is full", "0.80", setting.Mark(&o.SpillPercent)),
		setting.Of("buffer-growth", "NoGrowth TablesInProportion", "let kvbuffers grow while memory is free (Dynamic Split): `on|off|proportion`. on doubles tables that combine by hash; proportion lets them grow with the input, as all others do", "on",
			setting.OneOf(nil, func(i int) { o.NoGrowth, o.TablesInProportion = i == 1, i == 2 }, "on", "off", "proportion")),
		setting.Of("growth-threshold", "GrowthThreshold", "`SHARE` of the free memory that a kvbuffer may grow to", "0.8", setting.Mark(&o.GrowthThreshold)),
		setting.Of("merge-factor", "MergeFactor", "merge `N` sorted runs at a time, at least 2", "64", setting.Count(&o.MergeFactor, 2, mostMergeFactor)),
		setting.Of("compress", "Codec", "compress spills: `auto|none|s2|zstd`", "auto", setting.Enum(&o.Codec, "auto", "none", "s2", "zstd")),
		setting.Of("tmp", "TempDirs", "spill into `DIR[,DIR]`, shared out by free space", "the temporary directory of the system", setting.Func(o.readTempDirs)),
		setting.Of("max-temp", "MaxTempBytes", "`SIZE` that bounds all temporary files together", "what is free", setting.Size(&o.MaxTempBytes, 1, math.MaxInt64)),
	})...)
}

// readTempDirs reads directories with commas between. Each must exist. It need not be writable,
// because this matters only if something spills.
func (o *Options) readTempDirs(text string) error {
	dirs := strings.Split(text, ",")
	for _, d := range dirs {
		if d == "" {
			return fmt.Errorf("an empty directory name in %s", errs.Quote(text))
		}
		info, err := os.Stat(d)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", errs.Quote(d), errs.Cause(err))
		case !info.IsDir():
			return fmt.Errorf("%s: not a directory", errs.Quote(d))
		}
	}
	o.TempDirs, o.TempAtNeed = dirs, false
	return nil
}

// validate checks the options of one job.
func (o *JobOptions) validate(job *jobs.Job) error {
	switch {
	case job.NoInput && len(o.Inputs) > 0:
		return errs.Fieldf("Options.Inputs", "the job reads no input")
	case o.Found != nil && (len(o.Inputs) > 0 || job.NoInput || job.NewReducer != nil || job.SkipBinary || o.OutputDir != "" || o.OutputFile != "" || o.Found.Missing == nil):
		return errs.Fieldf("Options.Found", "needs Found.Missing, Stdout, and a map-only job without SkipBinary; Inputs must be empty")
	case !job.NoInput && len(o.Inputs) == 0 && o.Found == nil:
		return errs.Fieldf("Options.Inputs", "name files, directories, globs, or - for standard input")
	case o.OutputDir != "" && o.OutputFile != "":
		return errs.Fieldf("Options.OutputDir, Options.OutputFile", "give one of them, not both")
	case o.OutputDir != "" && o.Stdout != nil, o.OutputFile != "" && o.Stdout != nil && !output.NamesStdout(o.OutputFile):
		return errs.Fieldf("Options.Stdout", "would get nothing, because the result goes to %s; set one of them", cmp.Or(o.OutputDir, o.OutputFile))
	case o.CompressOutput > output.Deflate:
		return errs.Fieldf("Options.CompressOutput", "%d: no such format", o.CompressOutput)
	case o.ReducersPerSlot < 0 || o.ReducersPerSlot > mostPerSlot || o.ReducersPerSlot > 0 && (o.Reducers > 0 || o.MapOnly):
		return errs.Fieldf("Options.ReducersPerSlot", "%v: must be between 0 and 100, and excludes Reducers and MapOnly", o.ReducersPerSlot)
	case o.MapOnly && job.NewReducer != nil:
		return errs.Fieldf("Options.MapOnly", "job %s needs its reduces", job.Name)
	case o.MapOnly && o.Reducers > 0:
		return errs.Fieldf("Options.Reducers", "%d: must be 0, because MapOnly is set", o.Reducers)
	}
	return cmp.Or(setup.Within("Reducers", int64(o.Reducers), 0, jobs.MostReducers), setup.Within("BlockBytes", o.BlockBytes, 0, math.MaxInt64))
}

// validate checks the options of a run of jobCount jobs.
func (o *Options) validate(jobCount int) error {
	if err := o.Config.Check(jobCount); err != nil {
		return err
	}
	if err := setting.Check(append(o.Fields(), o.Config.Fields(Bounds())...)); err != nil {
		return err
	}
	for _, s := range o.Slow {
		if s.Factor < leastFactor {
			return errs.Fieldf("Options.Slow", "tracker %d: the factor %v: must be at least %v, because a run takes real time", s.Tracker, s.Factor, leastFactor)
		}
	}
	if o.slotCount() > maxSlotCount {
		return errs.Fieldf("Options.Trackers, Options.MapSlots, Options.ReduceSlots", "%d slots on all trackers; at most %d are allowed", o.slotCount(), maxSlotCount)
	}
	if err := o.KVBuffer.Check(); err != nil {
		return err
	}
	least := int64(o.slotCount()) * LeastBytesPerSlot
	switch {
	case o.MemoryBytes >= least:
	case o.memoryByDefault: // so the caller has chosen the slots
		return errs.Fieldf("Options.Trackers, Options.MapSlots, Options.ReduceSlots", "%d slots take at least %dMiB, and a run may take %dMiB of memory by default; give fewer, or %s", o.slotCount(), least>>20, o.MemoryBytes>>20, errs.Field("Options.MemoryBytes"))
	default:
		return errs.Fieldf("Options.MemoryBytes", "%d: too little for %s: at least %dMiB", o.MemoryBytes, errs.Counted(o.slotCount(), "slot"), least>>20)
	}
	return nil
}

// maxSlotCount is the largest number of home slots on all trackers. Each slot may take two
// operating system threads.
const maxSlotCount = 4096

// Least values of options, below which a small job would not end in useful time (docs/adr/0036).
const (
	leastRateBytes  = 256 << 10       // a second, of disks and copies
	leastSortBuffer = 16 << 10        // each spill is a run to merge
	leastFactor     = slots.One / 100 // of the speed of a slow tracker
)

// Bounds of options. They lie far above useful values, and below those at which memory, time or
// address space runs out.
const (
	mostMergeFactor = 1_000_000
	mostCopiers     = 10_000
	mostMemoryBytes = 16 << 40 // the address space has 47 bits, and all of the memory is mapped at once
	mostTrackers    = 1024
)

// withDefaults returns the options with a default for every field that has its zero value, on a
// machine with the limits l. The defaults fit together: whatever the caller leaves out, a run is not
// refused because of a default, unless the machine has not even 32 MiB for two slots.
func (o Options) withDefaults(l machine.Limits) Options {
	o.memoryByDefault, o.attemptsByDefault = o.MemoryBytes == 0, o.Attempts == 0
	memoryBytes := cmp.Or(o.MemoryBytes, l.BufferBytes(0))
	o.mostSlots = int(min(maxSlotCount, l.Slots(memoryBytes)))
	if o.NoReduces {
		o.ReduceSlots = 0
	}
	o.Config, o.fewer = o.Fit(setup.Room{
		Cores: l.Cores, WorkCores: l.WorkCores(), MostSlots: o.mostSlots, NoReduces: o.NoReduces,
		MemoryBytes: memoryBytes, SlotBytes: LeastBytesPerSlot,
	})
	o.SpillPercent = cmp.Or(o.SpillPercent, rule.SpillPercent)
	o.GrowthThreshold = cmp.Or(o.GrowthThreshold, rule.GrowthThreshold)
	o.MergeFactor = cmp.Or(o.MergeFactor, defaultMergeFactor)
	o.TaskTimeout = cmp.Or(o.TaskTimeout, defaultTaskTimeout)
	if o.memoryByDefault {
		// Slots that the caller has chosen may need more than a quarter, but never get more than half.
		o.MemoryBytes = max(min(memoryBytes, l.BufferBytes(o.slotCount())), min(int64(o.slotCount())*LeastBytesPerSlot, l.MemoryBytes/2))
	}
	if len(o.TempDirs) == 0 {
		o.TempDirs = []string{os.TempDir()}
	}
	if o.Note == nil {
		o.Note = func(string) {}
	}
	if o.Stderr == nil {
		o.Stderr = io.Discard
	}
	o.extraSlots = o.extra()
	return o
}

// logToo makes Logger get what Note, Warn and Stderr get.
func (o *Options) logToo() {
	l := o.Logger
	if l == nil {
		return
	}
	note, warn := o.Note, o.Warn
	o.Note = func(text string) { note(text); l.Info(text) }
	o.Warn = func(text string) {
		if warn != nil {
			warn(text)
		}
		l.Warn(text)
	}
	o.Stderr = io.MultiWriter(o.Stderr, slog.NewLogLogger(l.Handler(), slog.LevelError).Writer())
}

// slotCount returns the number of home slots on all trackers.
func (o *Options) slotCount() int { return o.Trackers * (o.MapSlots + o.ReduceSlots) }

// allSlots returns the number of slots that may ever be open.
func (o *Options) allSlots() int { return o.slotCount() + o.Trackers*o.extraSlots }

// extra returns the number of extra slots of each tracker: as many as the policy may open, bounded
// by MaxSlots, by the memory, and by the threads of the process.
func (o *Options) extra() int {
	fit := min(o.MemoryBytes/LeastBytesPerSlot, int64(o.mostSlots)) / int64(o.Trackers)
	return min(o.Extra(o.Policy), max(0, int(fit)-o.MapSlots-o.ReduceSlots))
}

// warn notes what may be a mistake in the configuration, and that a tracker has fewer slots than by
// default, or fewer extra slots than the policy may open.
func (o *Options) warn() {
	for _, text := range o.Warnings(o.Policy, false) {
		o.Note(text)
	}
	if o.fewer != "" {
		o.Note(o.fewer)
	}
	if wanted := o.Extra(o.Policy); wanted > o.extraSlots {
		o.Note(fmt.Sprintf("extra slots: a tracker has %d of the %d that %s may open; a run has at most %d slots, each with %dMiB of the %dMiB of memory", o.extraSlots, wanted, o.Policy.Traits().Name, o.mostSlots, LeastBytesPerSlot>>20, o.MemoryBytes>>20))
	}
}

// Setup returns the configuration of the cluster for a run with these options. Its fields have
// their defaults on this machine.
func (o Options) Setup() setup.Config { return o.withDefaults(machine.ReadLimits()).Config }

// Check returns the error with which a run of any job would refuse these options; nil: it accepts
// them. It checks only Reducers and BlockBytes of JobOptions.
func (o Options) Check() error {
	o = o.withDefaults(machine.ReadLimits())
	return o.validate(math.MaxInt)
}

// ProcessLimits returns values for runtime.GOMAXPROCS and for debug.SetMemoryLimit (bytes). They
// suit a process that does one run of jobCount jobs and nothing else. With procs, all slots, the
// coordinator and a feeder can run at once, and the runtime starts no more threads than the process
// may have. With memoryBytes, the garbage collector works harder
// near the bound of memory. The engine itself does not set them.
func (o Options) ProcessLimits(jobCount int) (procs int, memoryBytes int64) {
	const (
		heapBytes = 64 << 20 // Go heap of a run, outside of its budget
		leastHeap = 8 << 20
		jobBytes  = 8 << 10 // Go heap of a job in Ledger, engine and report
	)
	l := machine.ReadLimits()
	o = o.withDefaults(l)
	// In a small container the heap leaves room for the program, for child processes and for files.
	heap := min(heapBytes, max(leastHeap, (l.MemoryBytes-o.MemoryBytes)/4))
	procs = max(min(l.WorkCores(), int(l.Slots(o.MemoryBytes))), min(o.allSlots(), maxSlotCount)) + 2
	return procs, o.MemoryBytes + heap + int64(jobCount)*jobBytes
}

// CheckProcess returns an options error if the limits of the process (ulimit -n, -u and -v) are
// too small for a run. The error names the least limit that suffices. The check suits a process
// that does one run and nothing else.
func (o Options) CheckProcess() error { return o.checkLimits(machine.ReadLimits()) }

// checkLimits is CheckProcess for a machine with the limits l.
func (o Options) checkLimits(l machine.Limits) error {
	o = o.withDefaults(l)
	return l.Check(min(o.allSlots(), maxSlotCount), o.MemoryBytes)
}

const (
	// reservedFDs is the number of file descriptors for the standard streams, the runtime,
	// the events file, outputs and their directories.
	reservedFDs = 16
	// fdsOfAttempt is the least number of file descriptors that an attempt needs. Two are for
	// its input or for two files of a merge. One each is for the file that it spills to and for
	// its part. One is spare.
	fdsOfAttempt = 5
)

// shares is how the memory and the descriptors of the process are divided among the slots of a run.
type shares struct {
	fits            bool  // the map outputs of all inputs are likely to fit in memory
	floorBytes      int64 // lease of each attempt before it starts
	sortBufferBytes int64 // first size of a kvbuffer, a part of floorBytes

	fdsPerTask int                 // file descriptors that an attempt may have open
	fdTurns    *semaphore.Weighted // one for each attempt that may have files open; nil: all may
}

// divideFDs divides the file descriptors that the process may open among slotCount slots. It
// sets fdsPerTask. If all slots at once would need too many, it sets fdTurns too, so that
// attempts wait for a turn.
func (s *shares) divideFDs(slotCount int) {
	free := machine.FDLimit() - reservedFDs
	// At least one attempt may run, even if the limit leaves it fewer descriptors than it needs.
	atOnce := max(1, min(slotCount, free/fdsOfAttempt))
	s.fdsPerTask = max(fdsOfAttempt, free/atOnce)
	if atOnce < slotCount {
		s.fdTurns = semaphore.NewWeighted(int64(atOnce))
	}
}

// setFloors divides bytes among slotCount slots. It sets sortBufferBytes and floorBytes,
// and reads fits. sortBufferBytes is the first size of a kvbuffer that the user wants. If it
// is 0, the first size is a share of its slot's memory, between 4 and 256 MiB.
//
// The floors of all slots fit at once, because none is larger than a slot's share.
func (s *shares) setFloors(bytes, slotCount, sortBufferBytes int64) {
	perSlot := bytes / slotCount
	// If map outputs fit in memory, three quarters are left for them. If they do not, a
	// larger kvbuffer leaves fewer sorted runs to merge.
	share := perSlot / 4
	if !s.fits {
		share = perSlot * 3 / 4
	}
	wanted := cmp.Or(sortBufferBytes, min(max(share, 4<<20), 256<<20))
	s.sortBufferBytes = min(wanted, perSlot-overheadBytes)
	// A small kvbuffer does not make the floor small: reduces have the same floor for their merges.
	s.floorBytes = min(perSlot, max(s.sortBufferBytes+overheadBytes, 6<<20))
}

// leaveFDs ends the attempt's turn, if it has one. It may be called again, and from any
// goroutine.
func (a *attempt) leaveFDs() {
	if a.hasFDs.CompareAndSwap(true, false) {
		a.run.fdTurns.Release(1)
	}
}

// mostShrink is the factor by which compression makes temporary files smaller at best. It is
// large, so that a job is refused only if its files can hardly fit.
const mostShrink = 4

// checkRoom estimates, before the maps of the job start, whether its temporary files will fit on the
// disk. It returns an options error if the map outputs cannot fit in memory and in the temporary
// directories. If they may fit or not, it makes a note. ratio is the bytes of map output for each byte
// of input. If it is negative, it is not known, and checkRoom takes a sample of `of` if it has to.
func (j *job) checkRoom(of sampled, ratio float64) error {
	r := j.chain.run
	temp := r.journal.Temp(r.temp)
	// A sample does not show how much a combiner leaves.
	if temp == nil || r.fits || j.mapOnly() || j.plan == nil || j.spec.NewFolder != nil || j.spec.NewCombiner != nil {
		return nil
	}
	room, known := temp.RoomBytes()
	if !known || r.o.MaxTempBytes == 0 && j.plan.Bytes < room { // the usual case takes no sample
		return nil
	}
	if ratio < 0 {
		s, err := of.sample(r.ctx, r.budget)
		if err != nil {
			return err
		}
		ratio = s.ratio()
	}
	// Compressed inputs count as stored, so most is too low for them. At worst all outputs go to
	// disk. At best all of the memory holds outputs too.
	most := int64(ratio * float64(j.plan.Bytes))
	least := most - r.budget.Limit()
	if r.o.Codec != shuffle.None { // else spills are not compressed
		least /= mostShrink
	}
	const mib = 1 << 20
	// A sixteenth more allows for an error of the estimate.
	remedy := fmt.Sprintf("%dMiB would do, or more", (most+most/16)/mib+1)
	switch {
	case most <= room:
		return nil
	case least <= room:
		j.chain.note(fmt.Sprintf("temporary files may take %dMiB, but only %dMiB are allowed or free; %s memory for the run", most/mib+1, room/mib, remedy))
		return nil
	case r.o.MaxTempBytes > 0 && room == r.o.MaxTempBytes:
		return errs.Fieldf("Options.MaxTempBytes", "%d: too little for map outputs of about %dMiB; %s of %s", room, most/mib+1, remedy, errs.Field("Options.MemoryBytes"))
	}
	if err := temp.Check(); err != nil { // it has waited until now (Options.TempAtNeed)
		return err
	}
	return errs.Fieldf("Options.TempDirs", "%dMiB are free, too little for map outputs of about %dMiB; directories with %s of %s", room/mib, most/mib+1, remedy, errs.Field("Options.MemoryBytes"))
}
