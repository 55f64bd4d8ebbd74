package engine

import (
	"fmt"
	"io"
	"math"
	"runtime"
	"time"

	"mrlocal/errs"
	"mrlocal/internal/affinity"
	"mrlocal/internal/machine"
	"mrlocal/jobs"
	"mrlocal/slots"
	"mrlocal/slots/demand"
	"mrlocal/slots/fifo"
	"mrlocal/spill/runs"
	"mrlocal/trace"
)

// JobOptions say what one job reads and writes, and how it is cut up. Inputs
// is required, but for a job without input.
type JobOptions struct {
	Inputs []string  // files, directories, globs, "-", in the order given
	All    bool      // take hidden files inside directories too
	Stdin  io.Reader // what "-" reads; nil: an empty input

	// At most one of OutputDir and OutputFile; with neither, the merged
	// result goes to Stdout, and with that nil it is thrown away.
	OutputDir  string
	Overwrite  bool // replace an OutputDir that mrlocal made
	OutputFile string
	Stdout     io.Writer

	Reducers   int   // reduce tasks; 0: by the size of the job
	MapOnly    bool  // zero reduce tasks were asked for
	BlockBytes int64 // bytes of a split; 0: 64 MiB, less for small inputs
}

// BatchJob is one job of a batch: a chain that runs in one pool.
type BatchJob struct {
	Name     string // names the job in messages; "": the first job's of the chain
	Pool     string // "": one of the job's own name
	User     string
	Priority slots.Priority
	Weight   slots.PPM       // 0: 1.0
	Submit   time.Duration   // from the run's start
	Deadline time.Duration   // from the run's start; 0: none. For policies, and for the report
	Profile  *demand.Profile // what its tasks need; nil: nobody knows. For policies
	After    []int           // jobs, by their place in the batch, that end before this one is submitted
	Chain    jobs.Chain

	JobOptions
}

// TrackerSpeed makes what runs on a tracker take 1/Speed times as long.
type TrackerSpeed struct {
	Tracker int
	Speed   slots.PPM // above 0
}

// Fault is something that is made to go wrong.
type Fault struct {
	At time.Duration // from the run's start

	// Tracker is lost at At: its attempts are killed, its slots are gone and
	// the map outputs that were made there, of jobs that have not ended, are
	// made again. -1: the fault is a task's.
	Tracker int

	Job    int // by its place in the batch; the first job of its chain
	Reduce bool
	Task   int
	Fail   int  // so many first attempts of the task fail at their end
	Lost   bool // the map's committed output is lost at At
}

// Options say how a run is done. The zero value of every field works; Inputs
// is required of a single run.
type Options struct {
	// JobOptions are those of a single run. RunBatch uses Reducers and
	// BlockBytes for jobs that leave them 0, and ignores the others.
	JobOptions

	Policy      slots.Policy // nil: FIFO; in package mrlocal: pi-dhfs
	MapSlots    int          // home slots per tracker; 0: what ReduceSlots leaves of its cores
	ReduceSlots int          // 0: a sixth of the tracker's cores, at least one
	NoReduces   bool         // no reduce slots at all; map-only jobs
	Trackers    int          // groups of cores; 0: one
	MaxSlots    int          // slots per tracker a policy may open; 0: twice the home slots
	NoPin       bool         // leave slots unbound
	Slowstart   *slots.PPM   // share of maps finished before reduces start; nil: all

	Pools         []slots.Pool      // shares; jobs of a pool that is not listed get one of weight 1
	Users         []slots.User      // limits
	Capacities    demand.Capacities // of trackers that do not have the whole of each resource; for policies that place by demand
	Replicas      int               // trackers that hold the input of a map, a synthetic placement; 0: none
	GroupTrackers int               // trackers of a group; 0: there are no groups
	LocalityDelay time.Duration     // for policies that wait for local slots; 0: none
	Seed          uint64            // of the placement; 0: 1

	// What makes effects visible that one machine does not have. Bandwidths
	// are a tracker's; 0: as fast as it goes.
	ShuffleBytesPerSecond int64
	DiskBytesPerSecond    int64     // reading inputs, writing and reading spills
	RemotePenalty         slots.PPM // a map away from its input takes so many times as long; 0: 1.0
	Slow                  []TrackerSpeed
	Faults                []Fault

	MemoryBytes     int64   // bound of all buffers together; 0: a quarter of the machine's
	SortBufferBytes int64   // where a map's kvbuffer starts; 0: by memory and slots
	SpillPercent    float64 // spill mark, share of the kvbuffer; 0: 0.80
	NoGrowth        bool    // never grow a kvbuffer
	GrowthThreshold float64 // threshold of the Dynamic Split rule; 0: 0.8
	MergeFactor     int     // runs merged at once; 0: 64
	Codec           runs.Codec
	TempDirs        []string // where spills go; nil: the system's

	TaskTimeout time.Duration // an attempt without progress for so long fails; 0: 600 s
	Attempts    int           // attempts a task; 0: 4

	// Profile labels what attempts do for a CPU profile (slot, job, kind, phase)
	// and an execution trace that the caller takes meanwhile.
	Profile bool

	extraSlots int // of a tracker, closed until the policy opens them

	Events io.Writer           // every fact and decision as JSON lines; nil: none
	Watch  func(*trace.Stream) // called once before work starts, to attach readers
	Note   func(string)        // one-line notes and warnings; nil: dropped
	Stderr io.Writer           // stacks of failed user code; nil: dropped
}

const (
	defaultSpillPercent    = 0.80
	defaultGrowthThreshold = 0.8
	defaultMergeFactor     = 64
	defaultTaskTimeout     = 600 * time.Second
	defaultAttempts        = 4

	// LeastBytesPerSlot of memory is always enough to run.
	LeastBytesPerSlot = 8 << 20
)

func (o Options) withDefaults(cores int) Options {
	def(&o.Trackers, 1)
	perTracker := max(1, cores/o.Trackers)
	if o.NoReduces {
		o.ReduceSlots = 0
	} else {
		def(&o.ReduceSlots, max(1, perTracker/6))
	}
	def(&o.MapSlots, max(1, perTracker-o.ReduceSlots))
	def(&o.MaxSlots, 2*(o.MapSlots+o.ReduceSlots))
	def(&o.SpillPercent, defaultSpillPercent)
	def(&o.GrowthThreshold, defaultGrowthThreshold)
	def(&o.MergeFactor, defaultMergeFactor)
	def(&o.TaskTimeout, defaultTaskTimeout)
	def(&o.Attempts, defaultAttempts)
	def(&o.MemoryBytes, machine.MemoryBytes()/4)
	def(&o.Seed, 1)
	def(&o.RemotePenalty, slots.One)
	if o.Note == nil {
		o.Note = func(string) {}
	}
	if o.Stderr == nil {
		o.Stderr = io.Discard
	}
	if o.Policy == nil {
		o.Policy = fifo.New()
	}
	if o.Slowstart == nil {
		all := slots.One
		o.Slowstart = &all
	}
	o.extraSlots = o.extra()
	return o
}

func def[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// slotCount is the number of home slots on all trackers.
func (o *Options) slotCount() int { return o.Trackers * (o.MapSlots + o.ReduceSlots) }

// allSlots is the number of slots that may ever be open.
func (o *Options) allSlots() int { return o.slotCount() + o.Trackers*o.extraSlots }

// extra is how many extra slots a tracker has: what the policy wants, as far as
// MaxSlots and the memory allow.
func (o *Options) extra() int {
	p, opens := o.Policy.(slots.Opener)
	most := o.MaxSlots - o.MapSlots - o.ReduceSlots
	if !opens || most <= 0 {
		return 0
	}
	fit := min(o.MemoryBytes/LeastBytesPerSlot, maxSlotCount) / int64(o.Trackers)
	return min(p.Extra([2]int32{slots.Map: int32(o.MapSlots), slots.Reduce: int32(o.ReduceSlots)}, most), most, max(0, int(fit)-o.MapSlots-o.ReduceSlots))
}

// validate checks what one job says.
func (o *JobOptions) validate(job *jobs.Job) error {
	switch {
	case job.NoInput && len(o.Inputs) > 0:
		return errs.Optionf("Options.Inputs", "the job reads no input")
	case !job.NoInput && len(o.Inputs) == 0:
		return errs.Optionf("Options.Inputs", "name files, directories, globs, or - for standard input")
	case o.OutputDir != "" && o.OutputFile != "":
		return errs.Optionf("Options.OutputDir, Options.OutputFile", "give one of them, not both")
	case o.Reducers < 0:
		return errs.Optionf(fmt.Sprintf("Options.Reducers %d", o.Reducers), "must be at least 0")
	case o.BlockBytes < 0:
		return errs.Optionf(fmt.Sprintf("Options.BlockBytes %d", o.BlockBytes), "must be at least 0")
	}
	return nil
}

// Check reports what a run would refuse of its settings, whatever its job.
func (o Options) Check() error {
	o = o.withDefaults(len(allowedCores()))
	return o.validate()
}

// ProcessLimits returns values for runtime.GOMAXPROCS and for
// debug.SetMemoryLimit (bytes). They suit a process that does one run of
// jobCount jobs and nothing else: every slot and the coordinator can run at
// once, and the garbage collector works harder near the bound of memory. The
// engine itself sets neither.
func (o Options) ProcessLimits(jobCount int) (procs int, memoryBytes int64) {
	const (
		heapBytes = 64 << 20 // what a run keeps outside of its budget
		jobBytes  = 8 << 10  // what a job keeps in Ledger, engine and report
	)
	cores := len(allowedCores())
	o = o.withDefaults(cores)
	return max(cores, min(o.allSlots(), maxSlotCount)) + 1, o.MemoryBytes + heapBytes + int64(jobCount)*jobBytes
}

// allowedCores are those that the process may run on.
func allowedCores() []int {
	cores, err := affinity.Allowed()
	if err == nil && len(cores) > 0 {
		return cores
	}
	cores = make([]int, runtime.NumCPU())
	for i := range cores {
		cores[i] = i
	}
	return cores
}

// validate checks what holds for the whole run.
func (o *Options) validate() error {
	for _, n := range []struct {
		field string
		value int64
		least int64
	}{
		{"MapSlots", int64(o.MapSlots), 1}, {"ReduceSlots", int64(o.ReduceSlots), 0}, {"Trackers", int64(o.Trackers), 1},
		{"Reducers", int64(o.Reducers), 0}, {"BlockBytes", o.BlockBytes, 0}, {"MergeFactor", int64(o.MergeFactor), 2},
		{"ShuffleBytesPerSecond", o.ShuffleBytesPerSecond, 0}, {"DiskBytesPerSecond", o.DiskBytesPerSecond, 0}, {"Replicas", int64(o.Replicas), 0},
		{"GroupTrackers", int64(o.GroupTrackers), 0}, {"LocalityDelay", int64(o.LocalityDelay), 0},
		{"Attempts", int64(o.Attempts), 1}, {"SortBufferBytes", o.SortBufferBytes, 0},
		{"MaxSlots", int64(o.MaxSlots), int64(o.MapSlots + o.ReduceSlots)},
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
	if o.RemotePenalty < slots.One {
		return errs.Optionf("Options.RemotePenalty", "must be at least 1")
	}
	for _, s := range o.Slow {
		if s.Tracker < 0 || s.Tracker >= o.Trackers {
			return errs.Optionf("Options.Slow", "there is no tracker %d; they count from 0 to %d", s.Tracker, o.Trackers-1)
		}
		if s.Speed <= 0 {
			return errs.Optionf("Options.Slow", "tracker %d: the factor must be above 0", s.Tracker)
		}
	}
	if least := int64(o.slotCount()) * LeastBytesPerSlot; o.MemoryBytes < least {
		return errs.Optionf(fmt.Sprintf("Options.MemoryBytes %d", o.MemoryBytes), "too little for %d slots: at least %dMiB", o.slotCount(), least>>20)
	}
	return nil
}

// maxSlotCount bounds the OS threads of a run: two a slot.
const maxSlotCount = 4096
