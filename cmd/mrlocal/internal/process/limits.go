package process

import (
	"context"
	"runtime"
	"runtime/debug"

	"mrlocal"
	"mrlocal/errs"
	"mrlocal/internal/machine"
	"mrlocal/jobs"
)

// RunChain is mrlocal.RunChain for a process that does nothing else meanwhile. It
// refuses a process whose limits are too small. For the time of the run it sets
// GOMAXPROCS and the soft memory limit.
func RunChain(ctx context.Context, chain jobs.Chain, o mrlocal.Options) (*mrlocal.Report, error) {
	if err := o.CheckProcess(); err != nil {
		return nil, err
	}
	defer limits(o, 1)()
	return mrlocal.RunChain(ctx, chain, o)
}

// RunBatch is mrlocal.RunBatch for a process that does nothing else meanwhile.
func RunBatch(ctx context.Context, batch []mrlocal.BatchJob, o mrlocal.Options) (*mrlocal.Report, error) {
	if err := o.CheckProcess(); err != nil {
		return nil, err
	}
	defer limits(o, len(batch))()
	return mrlocal.RunBatch(ctx, batch, o)
}

// Limits below which the Go runtime may end any command, not only a run, with a stack. The
// runtime reserves about 1.3 GiB of address space, opens 6 files and starts up to 6 threads
// before it stays as it is. Plain go build links the C library, of which each thread takes up to
// 128 MiB more.
const (
	leastFDs          = 10
	leastThreads      = 8
	leastAddressBytes = 2 << 30
)

// CheckStart returns an options error if the process may not even start safely. It must run
// before anything starts a goroutine. docs/performance.md has the limits below which the runtime
// ends before main.
func CheckStart() error {
	if files := machine.FDLimit(); files < leastFDs {
		return errs.Optionf("open files", "%d are allowed; at least %d are needed, and 32 for a run (ulimit -n)", files, leastFDs)
	}
	if threads := machine.ThreadLimit(); threads < leastThreads {
		return errs.Optionf("threads", "%d are allowed; at least %d are needed, and 8 with 2 for each slot for a run (ulimit -u, or pids.max of the control group)", threads, leastThreads)
	}
	if bytes := machine.AddressSpaceLimit(); bytes < leastAddressBytes {
		return errs.Optionf("address space", "%dMiB are allowed; at least %dMiB are needed, and a run needs 1.5 times its --memory more (ulimit -v %d)", bytes>>20, leastAddressBytes>>20, leastAddressBytes>>10)
	}
	return nil
}

// limits sets the limits of the process for one run. restore undoes that, but for
// GOMAXPROCS: to lower it stops the world, and a process with more than it needs loses nothing.
func limits(o mrlocal.Options, jobCount int) (restore func()) {
	procs, memoryBytes := o.ProcessLimits(jobCount)
	if procs > runtime.GOMAXPROCS(0) {
		runtime.GOMAXPROCS(procs)
	}
	memoryBytes = debug.SetMemoryLimit(memoryBytes)
	return func() { debug.SetMemoryLimit(memoryBytes) }
}

// CollectLate lets the heap grow to 32 MiB before the garbage collector runs, instead of 4 MiB
// and twice of what is alive. With thousands of small files little stays alive. The collector
// then ran each 5 MiB, and took a tenth of the time. A heap with more than 16 MiB alive grows as
// usual. A user's GOGC is kept.
func CollectLate() {
	usual := debug.SetGCPercent(lateHeap)
	if usual != 100 {
		debug.SetGCPercent(usual)
		return
	}
	adapt(lateHeap)
}

// These are shares in percent. The least heap of the runtime is 4 MiB, so lateHeap makes 32 MiB.
const usualHeap, lateHeap = 100, 800

// adapt has the share adapted after the next collection, and after each that follows.
func adapt(percent int) {
	// The collector calls the finalizer of an object that nobody refers to.
	runtime.SetFinalizer(&struct{ next *byte }{new(byte)}, func(*struct{ next *byte }) {
		const heapBytes = 32 << 20
		// Package runtime/metrics would say how many bytes are alive, but costs each start 0.1 ms.
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		liveBytes := max(1, int(m.NextGC)*100/(100+percent))
		// To set it stops the world, so small changes are left out.
		wanted := min(max((heapBytes-liveBytes)*100/liveBytes, usualHeap), lateHeap)
		if wanted < percent*4/5 || wanted > percent*5/4 {
			debug.SetGCPercent(wanted)
			percent = wanted
		}
		adapt(percent)
	})
}
