package engine

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"

	"golang.org/x/sync/semaphore"

	"mrlocal/internal/errs"
	"mrlocal/internal/machine"
	"mrlocal/shuffle"
	"mrlocal/shuffle/rule"
	"mrlocal/slots/setup"
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
