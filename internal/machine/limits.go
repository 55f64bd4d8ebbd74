package machine

import "mrlocal/internal/errs"

// Limits are what a machine leaves to a process.
type Limits struct {
	Cores             int   // on which the process may run
	QuotaCores        int   // CPU quota of its control group, in cores, rounded up; 0: none
	MemoryBytes       int64 // of the machine, or of the control group
	AddressSpaceBytes int64 // ulimit -v; math.MaxInt64: no limit
	Threads           int64 // ulimit -u, or of the control group; math.MaxInt64: no limit
	Files             int   // that may be open
}

// ReadLimits returns the limits of this process.
func ReadLimits() Limits {
	return Limits{len(Cores()), QuotaCores(), MemoryBytes(), AddressSpaceLimit(), ThreadLimit(), FDLimit()}
}

// Least limits of a process for a run. Below these limits the Go runtime may end the process
// in the middle of a run, and no code can catch that. The runtime reserves about 1.3 GiB of
// address space for itself, and more with more threads. With less address space the process
// may end before Check is called (docs/performance.md).
const (
	leastFiles        = 32
	leastThreads      = 8 // beside two for each slot
	leastAddressBytes = 2 << 30
)

// WorkCores returns the number of cores that the process can keep busy.
func (l Limits) WorkCores() int {
	if l.QuotaCores > 0 {
		return min(l.Cores, l.QuotaCores)
	}
	return l.Cores
}

// Slots returns the number of slots, at least two, for which the process may have threads.
func (l Limits) Slots() int64 { return max(2, (l.Threads-leastThreads)/2) }

// BufferBytes returns the default bound of a run's buffers: a quarter of the memory, or less if
// Check would refuse that.
func (l Limits) BufferBytes() int64 {
	return min(l.MemoryBytes/4, max(0, l.AddressSpaceBytes-leastAddressBytes)/3*2)
}

// Check returns an options error if the limits are too small for a run with so many slots and bytes
// of buffers. A run takes leastAddressBytes and half more than its buffers.
func (l Limits) Check(slots int, bufferBytes int64) error {
	threads := int64(leastThreads + 2*slots)
	addressBytes := leastAddressBytes + bufferBytes + bufferBytes/2
	switch {
	case l.Files < leastFiles:
		return errs.Optionf("open files", "%d are allowed; at least %d are needed (ulimit -n)", l.Files, leastFiles)
	case l.Threads < threads:
		return errs.Optionf("threads", "%d are allowed; at least %d are needed for %d slots (ulimit -u, or pids.max of the control group)", l.Threads, threads, slots)
	case l.AddressSpaceBytes < addressBytes:
		return errs.Optionf("address space", "%dMiB are allowed; at least %dMiB are needed with Options.MemoryBytes %d (ulimit -v %d); a smaller one needs less",
			l.AddressSpaceBytes>>20, addressBytes>>20, bufferBytes, addressBytes>>10)
	}
	return nil
}
