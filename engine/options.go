package engine

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"time"

	"mrlocal/engine/task"
	"mrlocal/errs"
	"mrlocal/hdfs"
	"mrlocal/input"
	"mrlocal/internal/machine"
	"mrlocal/jobs"
	"mrlocal/output"
	"mrlocal/output/compress"
	"mrlocal/slots"
	"mrlocal/slots/fifo"
	"mrlocal/slots/setup"
	"mrlocal/spill"
	"mrlocal/spill/rule"
	"mrlocal/spill/runs"
	"mrlocal/trace"
)

// JobOptions say what one job reads and writes, and how it is divided into
// tasks. Inputs is required, except of a job without input.
type JobOptions struct {
	Inputs []string // files, directories, globs, "-", in the order given
	// Found, if not nil, replaces Inputs: maps read the first files while others are still
	// to be found. It is for map-only jobs whose result goes to Stdout.
	Found *input.Search

	HDFS hdfs.Options // how files of HDFS are reached
	// All takes hidden files inside directories too. NoDecode takes the bytes of compressed
	// inputs as they are.
	All, NoDecode bool
	Stdin         io.Reader // what "-" reads; nil: an empty input
	// Uncounted leaves MAP_INPUT_RECORDS at 0, which saves a pass over the input.
	Uncounted bool

	// At most one of OutputDir and OutputFile may be set. If neither is, the
	// merged result goes to Stdout. If Stdout is nil too, it is thrown away.
	OutputDir, OutputFile string
	Stdout                io.Writer
	Overwrite             bool // replace an OutputDir that mrlocal made, or an OutputFile that is an input

	// Side is a file whose bytes each attempt gets (jobs.OwnAttempt.Side), at most
	// jobs.MaxSideBytes; "": none.
	Side string

	output.DirStyle // what OutputDir looks like

	// CompressOutput compresses the result: a file, a stream, or each part of a
	// directory. By default, the suffix of OutputFile decides.
	CompressOutput compress.Format

	Reducers   int   // reduce tasks; 0: by the size of the job
	MapOnly    bool  // the user asks for zero reduce tasks
	BlockBytes int64 // bytes of a split; 0: 64 MiB, less for small inputs

	// ReducersPerSlot, if it is not 0, sets the number of reduce tasks. It is a multiple
	// of the reduce slots of all trackers; the product is rounded down and at least 1.
	// Hadoop advises 0.95, where all reduces run at once, or 1.75, where fast trackers
	// run a second wave.
	ReducersPerSlot slots.PPM
}

// InputOptions returns how the files of Inputs are found and read for a job.
func (o *JobOptions) InputOptions(job *jobs.Job) input.Options {
	return input.Options{
		HDFS: o.HDFS, All: o.All, NoDecode: o.NoDecode, Stdin: o.Stdin,
		RecordBytes: job.RecordBytes, Delim: job.Delim.Byte(), NUL: job.Delim == jobs.NUL, SkipBinary: job.SkipBinary,
	}
}

// BatchJob is one job of a batch: a chain that runs in one pool.
type BatchJob struct {
	setup.Submission // Name "": that of the first job of the chain
	Chain            jobs.Chain

	JobOptions
}

// Options say how a run is done. The zero value of every field works, except that
// a single run requires Inputs.
type Options struct {
	// JobOptions are those of a single run. RunBatch uses Reducers and
	// BlockBytes for jobs that leave them 0, and ignores the others.
	JobOptions

	// Config is the cluster and who shares it. ReduceSlots defaults to a sixth of
	// a tracker's cores, at least one, and MapSlots to the cores that are left.
	setup.Config

	Policy slots.Policy // serves one run at a time; nil: FIFO, in package mrlocal pi-dhfs
	// NoReduces is no reduce slots at all, for map-only jobs; NoPin leaves slots unbound.
	NoReduces, NoPin bool

	// DiskBytesPerSecond is the bandwidth of the disk of each tracker, which reads inputs, and
	// writes and reads spills; 0: unbounded. It shows effects that one machine does not have,
	// as Copiers do and Config.ShuffleBytesPerSecond.
	DiskBytesPerSecond int64
	Copiers            task.Copiers

	MemoryBytes     int64 // bound of all buffers together; 0: a quarter of the machine's memory, or what ulimit -v leaves
	SortBufferBytes int64 // first size of a map's kvbuffer; 0: by memory and slots
	spill.KVBuffer
	MergeFactor  int      // runs merged at once; 0: 64
	TempDirs     []string // directories of spills, filled by their free space; nil: the system's
	TempAtNeed   bool     // TempDirs are looked at when something spills, not at the start
	MaxTempBytes int64    // bound of all temporary files together; 0: none

	// ResumeDir, where it is set, keeps the outputs of the maps of a single run, with a
	// journal. After a kill a run with the same options goes on, and no map runs again
	// whose output is there. The directory is made if it is missing. What the run keeps
	// there is removed when it has succeeded. The job must have reduces, and inputs that are
	// no streams. See package engine/journal.
	ResumeDir string

	// ResumeSettings are lines of the form name=value. They describe the job: all that its map
	// outputs depend on beside the inputs and these options. Examples are the version of the
	// program and its arguments. A journal with other settings is refused.
	ResumeSettings []string

	TaskTimeout time.Duration // an attempt fails after so long without progress; 0: 600 s

	// Profile labels the work of attempts (slot, job, kind, phase) for a CPU
	// profile and an execution trace that the caller takes.
	Profile bool

	extraSlots      int  // of a tracker, closed until the policy opens them
	memoryByDefault bool // MemoryBytes is that of withDefaults

	Events io.Writer           // every fact and decision as JSON lines; nil: none
	Watch  func(*trace.Stream) // called once before work starts, so that the caller attaches readers
	// Note gets one-line notes and warnings; Warn, on any goroutine, what is odd about an input
	// that was read to its end. nil: dropped.
	Note, Warn func(string)
	Stderr     io.Writer // stacks of failed user code; nil: dropped
}

const (
	defaultMergeFactor = 64
	defaultTaskTimeout = 600 * time.Second

	// LeastBytesPerSlot is how much memory for each slot always suffices.
	LeastBytesPerSlot = 8 << 20
)

// withDefaults returns the options with defaults for a process that may use so many
// cores.
func (o Options) withDefaults(cores int) Options {
	perTracker := max(1, cores/max(1, o.Trackers))
	reduces := cmp.Or(o.ReduceSlots, max(1, perTracker/6))
	if o.NoReduces {
		o.ReduceSlots, reduces = 0, 0
	}
	o.Config = o.Config.WithDefaults(max(1, perTracker-reduces), reduces)
	def(&o.SpillPercent, rule.SpillPercent)
	def(&o.GrowthThreshold, rule.GrowthThreshold)
	def(&o.MergeFactor, defaultMergeFactor)
	def(&o.TaskTimeout, defaultTaskTimeout)
	if o.MemoryBytes == 0 {
		// A limit of address space is kept if at all possible: CheckProcess refuses what does not fit.
		fits := max((machine.AddressSpaceLimit()-leastAddressBytes)/3*2, int64(o.slotCount())*LeastBytesPerSlot)
		o.MemoryBytes, o.memoryByDefault = min(machine.MemoryBytes()/4, fits), true
	}
	if o.Note == nil {
		o.Note = func(string) {}
	}
	if o.Stderr == nil {
		o.Stderr = io.Discard
	}
	if o.Policy == nil {
		o.Policy = fifo.New()
	}
	o.extraSlots = o.extra()
	return o
}

// def sets a field that has its zero value.
func def[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// slotCount returns the number of home slots on all trackers.
func (o *Options) slotCount() int { return o.Trackers * (o.MapSlots + o.ReduceSlots) }

// allSlots returns the number of slots that may ever be open.
func (o *Options) allSlots() int { return o.slotCount() + o.Trackers*o.extraSlots }

// extra returns how many extra slots a tracker has: as many as the policy wants,
// bounded by MaxSlots and by the memory.
func (o *Options) extra() int {
	fit := min(o.MemoryBytes/LeastBytesPerSlot, maxSlotCount) / int64(o.Trackers)
	return min(o.Extra(o.Policy), max(0, int(fit)-o.MapSlots-o.ReduceSlots))
}

// noteExtra says how many of the extra slots that the policy wants a tracker does not have.
func (o *Options) noteExtra() {
	wanted := o.Extra(o.Policy)
	if wanted == o.extraSlots {
		return
	}
	cause := fmt.Sprintf("a run has at most %d slots", maxSlotCount)
	if o.MemoryBytes/LeastBytesPerSlot < maxSlotCount {
		cause = fmt.Sprintf("each slot needs %dMiB of the %dMiB of memory", LeastBytesPerSlot>>20, o.MemoryBytes>>20)
	}
	o.Note(fmt.Sprintf("extra slots: a tracker has %d of the %d that %s may open: %s", o.extraSlots, wanted, o.Policy.Traits().Name, cause))
}

// validate checks the options of one job.
func (o *JobOptions) validate(job *jobs.Job) error {
	switch {
	case job.NoInput && len(o.Inputs) > 0:
		return errs.Optionf("Options.Inputs", "the job reads no input")
	case o.Found != nil && (len(o.Inputs) > 0 || job.NoInput || job.NewReducer != nil || job.SkipBinary || o.OutputDir != "" || o.OutputFile != "" || o.Found.Missing == nil):
		return errs.Optionf("Options.Found", "needs its Missing, a map-only job that skips nothing, and Stdout; Inputs must be empty")
	case !job.NoInput && len(o.Inputs) == 0 && o.Found == nil:
		return errs.Optionf("Options.Inputs", "name files, directories, globs, or - for standard input")
	case o.OutputDir != "" && o.OutputFile != "":
		return errs.Optionf("Options.OutputDir, Options.OutputFile", "give one of them, not both")
	case o.CompressOutput > compress.Zstd:
		return errs.Optionf(fmt.Sprintf("Options.CompressOutput %d", o.CompressOutput), "is none")
	case o.Reducers < 0:
		return errs.Optionf(fmt.Sprintf("Options.Reducers %d", o.Reducers), "must be at least 0")
	case o.ReducersPerSlot < 0 || o.ReducersPerSlot > 100*slots.One || o.ReducersPerSlot > 0 && (o.Reducers > 0 || o.MapOnly):
		return errs.Optionf("Options.ReducersPerSlot "+o.ReducersPerSlot.String(), "must lie between 0 and 100, without Reducers and MapOnly")
	case o.BlockBytes < 0:
		return errs.Optionf(fmt.Sprintf("Options.BlockBytes %d", o.BlockBytes), "must be at least 0")
	}
	return nil
}

// Setup returns the configuration of a run with these options, with defaults.
func (o Options) Setup() setup.Config { return o.withDefaults(len(machine.Cores())).Config }

// Check returns the error with which a run would refuse these options, whatever
// its job; nil: it accepts them.
func (o Options) Check() error {
	o = o.withDefaults(len(machine.Cores()))
	return o.validate(math.MaxInt)
}

// ProcessLimits returns values for runtime.GOMAXPROCS and for
// debug.SetMemoryLimit (bytes). They suit a process that does one run of
// jobCount jobs and nothing else. Every slot, the coordinator and a feeder can run at
// once. The garbage collector works harder near the bound of memory. The
// engine itself sets neither.
func (o Options) ProcessLimits(jobCount int) (procs int, memoryBytes int64) {
	const (
		heapBytes = 64 << 20 // what a run keeps outside of its budget
		jobBytes  = 8 << 10  // what a job keeps in Ledger, engine and report
	)
	cores := len(machine.Cores())
	o = o.withDefaults(cores)
	return max(cores, min(o.allSlots(), maxSlotCount)) + 2, o.MemoryBytes + heapBytes + int64(jobCount)*jobBytes
}

// Limits of a process below which a run may die in the Go runtime, which cannot be
// caught. The runtime reserves about 1.3 GiB of address space for itself, and more with
// more threads. Below that it may end before this check (docs/performance.md).
const (
	leastFDs          = 32
	leastThreads      = 8 // beside two for each slot
	leastAddressBytes = 2 << 30
)

// CheckProcess returns an options error if the limits of the process (ulimit -n, -u
// and -v) are too small for a run. The error says what they must be at least. The
// check suits a process that does one run and nothing else.
func (o Options) CheckProcess() error {
	o = o.withDefaults(len(machine.Cores()))
	threads := int64(leastThreads + 2*min(o.allSlots(), maxSlotCount))
	addressBytes := leastAddressBytes + o.MemoryBytes + o.MemoryBytes/2
	switch {
	case machine.FDLimit() < leastFDs:
		return errs.Optionf("open files", "%d are allowed; at least %d are needed (ulimit -n)", machine.FDLimit(), leastFDs)
	case machine.ThreadLimit() < threads:
		return errs.Optionf("threads", "%d are allowed; at least %d are needed for %d slots (ulimit -u, or pids.max of the control group)", machine.ThreadLimit(), threads, o.allSlots())
	case machine.AddressSpaceLimit() < addressBytes:
		return errs.Optionf("address space", "%dMiB are allowed; at least %dMiB are needed with %s (ulimit -v %d); a smaller Options.MemoryBytes needs less",
			machine.AddressSpaceLimit()>>20, addressBytes>>20, o.memoryName(), addressBytes>>10)
	}
	return nil
}

// validate checks the options of a run of jobCount jobs.
func (o *Options) validate(jobCount int) error {
	if err := o.Config.Check(jobCount); err != nil {
		return err
	}
	for _, n := range []struct {
		field string
		value int64
		least int64
	}{
		{"MapSlots", int64(o.MapSlots), 1},
		{"Reducers", int64(o.Reducers), 0}, {"BlockBytes", o.BlockBytes, 0}, {"MergeFactor", int64(o.MergeFactor), 2},
		{"DiskBytesPerSecond", o.DiskBytesPerSecond, 0}, {"Copiers.Parallel", int64(o.Copiers.Parallel), 0}, {"Copiers.BytesPerSecond", o.Copiers.BytesPerSecond, 0}, {"SortBufferBytes", o.SortBufferBytes, 0}, {"MaxTempBytes", o.MaxTempBytes, 0}, {"TaskTimeout", int64(o.TaskTimeout), 0},
	} {
		if n.value < n.least {
			return errs.Optionf(fmt.Sprintf("Options.%s %d", n.field, n.value), "must be at least %d", n.least)
		}
	}
	if o.slotCount() > maxSlotCount {
		return errs.Optionf("Options.MapSlots, Options.ReduceSlots", "%d slots on all trackers; at most %d", o.slotCount(), maxSlotCount)
	}
	for _, s := range []struct {
		field string
		value float64
	}{{"SpillPercent", o.SpillPercent}, {"GrowthThreshold", o.GrowthThreshold}} {
		if math.IsNaN(s.value) || s.value <= 0 || s.value > 1 {
			return errs.Optionf(fmt.Sprintf("Options.%s %v", s.field, s.value), "must lie above 0 and at most at 1")
		}
	}
	if o.Codec > runs.Zstd {
		return errs.Optionf(fmt.Sprintf("Options.Codec %d", o.Codec), "is none")
	}
	if least := int64(o.slotCount()) * LeastBytesPerSlot; o.MemoryBytes < least {
		return errs.Optionf(o.memoryName(), "too little for %d slots: at least %dMiB", o.slotCount(), least>>20)
	}
	return nil
}

// memoryName names the bound of memory in messages. A bound that the caller has not set is
// not shown as if it were the caller's.
func (o *Options) memoryName() string {
	if o.memoryByDefault {
		return fmt.Sprintf("default of Options.MemoryBytes, %dMiB", o.MemoryBytes>>20)
	}
	return fmt.Sprintf("Options.MemoryBytes %d", o.MemoryBytes)
}

// maxSlotCount bounds the OS threads of a run: two a slot.
const maxSlotCount = 4096
