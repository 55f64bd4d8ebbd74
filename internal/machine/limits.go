// Package machine reads what the operating system reports about the machine and this process: cores,
// memory, file descriptors, CPU time and peak memory. It also binds threads to cores.
//
// A slot of a real run is a thread on a core. The papers vary the number of slots, and so the
// number of threads on a core. So reports must show the binding that the kernel has, and not the
// one that was asked for. ThreadCore therefore reads the binding back. On systems other than
// Linux threads cannot be bound, and a run goes on without bindings. A number that the system
// does not give is 0 or a low estimate.
//
// A binding belongs to a thread. The caller locks its goroutine to the thread
// (runtime.LockOSThread) and never unlocks it. The thread then ends with the goroutine,
// and no other goroutine gets the binding.
//
// The package has no state but limits that it has read once.
package machine

import (
	"errors"
	"runtime"
	"sort"
	"time"

	"mrlocal/internal/errs"
)

// Limits are what a machine leaves to a process.
type Limits struct {
	Cores             int   // on which the process may run
	QuotaCores        int   // CPU quota of its control group, in cores, rounded up; 0: none
	MemoryBytes       int64 // of the machine, or of the control group
	AddressSpaceBytes int64 // ulimit -v; math.MaxInt64: no limit
	StackBytes        int64 // address space of the stack of a thread; 0: the program does not link the C library
	Threads           int64 // ulimit -u, or of the control group; math.MaxInt64: no limit
	Files             int   // that may be open
}

// ReadLimits returns the limits of this process.
func ReadLimits() Limits {
	return Limits{len(Cores()), QuotaCores(), MemoryBytes(), AddressSpaceLimit(), StackBytes(), ThreadLimit(), FDLimit()}
}

// Least limits of a process for a run. Below these limits the Go runtime may end the process
// in the middle of a run, and no code can catch that. The runtime reserves about 1.3 GiB of
// address space for itself. With less address space the process may end before Check is called
// (docs/tour.md).
const (
	leastFiles        = 32
	leastThreads      = 8 // in addition to two for each slot
	leastSlots        = 2
	mostSlots         = 1 << 16
	leastAddressBytes = 2 << 30
	runtimeBytes      = 1408 << 20 // reserved by the runtime, with the text of the program and its first heap
)

// The C library reserves a heap for each thread that allocates, up to coreHeaps for each core.
const (
	threadHeapBytes = 64 << 20
	coreHeaps       = 8
)

// WorkCores returns the number of cores that the process can keep busy.
func (l Limits) WorkCores() int {
	if l.QuotaCores > 0 {
		return min(l.Cores, l.QuotaCores)
	}
	return l.Cores
}

// Slots returns the number of slots, at least two, for which the process may have threads in addition to
// buffers of bufferBytes bytes.
func (l Limits) Slots(bufferBytes int64) int64 {
	tooMany := sort.Search(mostSlots, func(slots int) bool {
		return l.Threads < threads(slots) || l.AddressSpaceBytes < l.AddressBytes(slots, bufferBytes)
	})
	return int64(max(leastSlots, tooMany-1))
}

// threads returns the most threads of a run with the given number of slots.
func threads(slots int) int64 { return leastThreads + 2*int64(slots) }

// AddressBytes returns the address space that suffices for a run with the given numbers of slots and bytes of buffers.
// A buffer takes up to half more than its bytes. Threads take space only if the C library starts them.
func (l Limits) AddressBytes(slots int, bufferBytes int64) int64 {
	bytes := int64(leastAddressBytes)
	if n := threads(slots); l.StackBytes > 0 {
		heaps := min(n, coreHeaps*int64(l.Cores)) + 1
		bytes = max(bytes, runtimeBytes+n*l.StackBytes+heaps*threadHeapBytes)
	}
	bufferBytes = min(bufferBytes, 1<<60)
	return bytes + bufferBytes + bufferBytes/2
}

// BufferBytes returns the default bound of the buffers of a run with the given number of slots: a quarter of the
// memory, or less if Check would refuse that. Where threads take address space, half of what the slots
// leave is for more of them.
func (l Limits) BufferBytes(slots int) int64 {
	rest := max(0, l.AddressSpaceBytes-l.AddressBytes(max(slots, leastSlots), 0))
	if l.StackBytes > 0 {
		rest /= 2
	}
	return min(l.MemoryBytes/4, rest/3*2)
}

// Check returns an options error if the limits are too small for a run with the given numbers of slots and bytes
// of buffers.
func (l Limits) Check(slots int, bufferBytes int64) error {
	least := l.AddressBytes(slots, bufferBytes)
	switch {
	case l.Files < leastFiles:
		return errs.Optionf("open files", "%d are allowed; at least %d are needed (ulimit -n)", l.Files, leastFiles)
	case l.Threads < threads(slots):
		return errs.Optionf("threads", "%d are allowed; at least %d are needed for %s (ulimit -u, or pids.max of the control group)", l.Threads, threads(slots), errs.Counted(slots, "slot"))
	case l.AddressSpaceBytes < least:
		return errs.Optionf("address space", "%dMiB are allowed; at least %dMiB are needed for %s with %s %d (ulimit -v %d); fewer slots or a smaller one need less",
			l.AddressSpaceBytes>>20, (least+1<<20-1)>>20, errs.Counted(slots, "slot"), errs.Field("Options.MemoryBytes"), bufferBytes, (least+1<<10-1)>>10)
	}
	return nil
}

// ErrUnsupported means that this system cannot bind threads to cores.
var ErrUnsupported = errors.New("binding threads to cores is not supported on this system")

// CoreTimesFrom names the source of ReadCoreTimes.
const CoreTimesFrom = "/proc/stat"

// CoreTimes are the times of all cores of the machine together since it started, for all programs.
// Time that a hypervisor took from the machine is in none of them.
type CoreTimes struct {
	User, System, IOWait, Idle time.Duration
	Cores                      int // number of cores
}

// Sub returns the times since before. The counter of IOWait may decrease a little. A difference
// below 0 counts as 0.
func (t CoreTimes) Sub(before *CoreTimes) CoreTimes {
	return CoreTimes{
		max(0, t.User-before.User), max(0, t.System-before.System), max(0, t.IOWait-before.IOWait), max(0, t.Idle-before.Idle), t.Cores,
	}
}

// Cores returns, in ascending order, the numbers of the cores on which the process may run: all
// cores, if the system does not report them.
func Cores() []int {
	cores, err := AllowedCores()
	if err == nil && len(cores) > 0 {
		return cores
	}
	cores = make([]int, runtime.NumCPU())
	for i := range cores {
		cores[i] = i
	}
	return cores
}

// ThreadCore returns the core to which the calling thread is bound; -1: it may use several cores, or
// the system does not report them.
func ThreadCore() int {
	cores, err := AllowedCores()
	if err != nil || len(cores) != 1 {
		return -1
	}
	return cores[0]
}
