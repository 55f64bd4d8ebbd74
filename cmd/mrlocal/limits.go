package main

import (
	"context"
	"runtime"
	"runtime/debug"

	"mrlocal"
	"mrlocal/internal/errs"
	"mrlocal/internal/machine"
	"mrlocal/jobs"
)

// runChain calls mrlocal.RunChain in a process that does nothing else during the run. It fails with
// an options error if the limits of the process are too small. It sets GOMAXPROCS. It also sets
// the soft memory limit until the run ends. At the end it kills what commands of the job have left.
func runChain(ctx context.Context, chain jobs.Chain, o mrlocal.Options) (*mrlocal.Report, error) {
	if err := o.CheckProcess(); err != nil {
		return nil, err
	}
	defer limits(o, 1)()
	defer adoptOrphans()()
	return mrlocal.RunChain(ctx, chain, o)
}

// runBatch calls mrlocal.RunBatch as runChain calls mrlocal.RunChain.
func runBatch(ctx context.Context, batch []mrlocal.BatchJob, o mrlocal.Options) (*mrlocal.Report, error) {
	if err := o.CheckProcess(); err != nil {
		return nil, err
	}
	defer limits(o, len(batch))()
	defer adoptOrphans()()
	return mrlocal.RunBatch(ctx, batch, o)
}

// Limits of the process below which the Go runtime may crash in any command, not only in a run. The
// runtime itself reserves about 1.3 GiB of address space, opens 6 files and starts up to 6 threads. A
// binary of plain go build links the C library. Each thread then takes its stack (8 MiB by default) and, up to
// eight per core, a heap of 64 MiB.
const (
	leastFDs     = 10
	leastThreads = 8
	leastSlots   = 2 // every command must have address space for a run with this many
)

// checkStart returns an options error if a limit of the process is too small for any command. It
// lowers GOMAXPROCS where the process may not have a thread for each core. It must be called before
// anything starts a goroutine. docs/tour.md has the limits below which the runtime ends even
// before main.
func checkStart() error {
	if files := machine.FDLimit(); files < leastFDs {
		return errs.Optionf("open files", "%d are allowed; at least %d are needed, and 32 for a run (ulimit -n)", files, leastFDs)
	}
	l := machine.Limits{
		Cores: runtime.NumCPU(), AddressSpaceBytes: machine.AddressSpaceLimit(), StackBytes: machine.StackBytes(), Threads: machine.ThreadLimit(),
	}
	if threads := l.Threads; threads < leastThreads {
		return errs.Optionf("threads", "%d are allowed; at least %d are needed, and 8 with 2 for each slot for a run (ulimit -u, or pids.max of the control group)", threads, leastThreads)
	}
	if bytes, least := l.AddressSpaceBytes, l.AddressBytes(leastSlots, 0); bytes < least {
		return errs.Optionf("address space", "%dMiB are allowed; at least %dMiB are needed, and a run needs 1.5 times its --memory more (ulimit -v %d)", bytes>>20, least>>20, least>>10)
	}
	if procs := int(l.Slots(0)) + 2; procs < runtime.GOMAXPROCS(0) {
		runtime.GOMAXPROCS(procs)
	}
	return nil
}

// limits sets GOMAXPROCS and the soft memory limit for one run of the given number of jobs. restore restores the
// memory limit only, because each change of GOMAXPROCS stops the world.
func limits(o mrlocal.Options, jobCount int) (restore func()) {
	procs, memoryBytes := o.ProcessLimits(jobCount)
	if procs != runtime.GOMAXPROCS(0) {
		runtime.GOMAXPROCS(procs)
	}
	memoryBytes = debug.SetMemoryLimit(memoryBytes)
	return func() { debug.SetMemoryLimit(memoryBytes) }
}

// collectLate lets the heap grow to about 32 MiB before each collection of garbage. By default, the
// runtime collects at 4 MiB, or at twice the live bytes. In a run over thousands of small files,
// few bytes are live, and such frequent collections take time. With more than 16 MiB
// live, the heap grows as usual. If the user has set GOGC, collectLate changes nothing. In a small
// container the heap grows to an eighth of the memory.
func collectLate() {
	heapBytes := min(lateHeapBytes, max(leastHeapBytes, machine.MemoryBytes()/8))
	percent := int(heapBytes / leastHeapBytes * usualHeap)
	usual := debug.SetGCPercent(percent)
	if usual != usualHeap {
		debug.SetGCPercent(usual)
		return
	}
	adapt(percent, int(heapBytes))
}

// usualHeap is the value of GOGC by default, in percent. The heap of the runtime then has at least
// leastHeapBytes.
const (
	usualHeap      = 100
	leastHeapBytes = 4 << 20
	lateHeapBytes  = 32 << 20
)

// adapt adapts GOGC to the live bytes after each collection from now on, for a heap of heapBytes.
// percent is its current value.
func adapt(percent, heapBytes int) {
	// The collector calls the finalizer of an object that is not reachable any more. So each collection
	// calls this function once.
	runtime.SetFinalizer(&struct{ next *byte }{new(byte)}, func(*struct{ next *byte }) {
		// Package runtime/metrics knows the live bytes, but takes 0.1 ms at each start. So they are
		// computed from NextGC, which is live bytes × (1 + GOGC/100).
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		liveBytes := max(1, int(m.NextGC)*100/(100+percent))
		// SetGCPercent stops the world, so small changes are skipped.
		wanted := min(max((heapBytes-liveBytes)*100/liveBytes, usualHeap), heapBytes/leastHeapBytes*usualHeap)
		if wanted < percent*4/5 || wanted > percent*5/4 {
			debug.SetGCPercent(wanted)
			percent = wanted
		}
		adapt(percent, heapBytes)
	})
}
