package engine

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"

	"mrlocal/internal/machine"
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
