package process

import (
	"context"
	"runtime"
	"runtime/debug"

	"mrlocal"
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

// limits sets the limits of the process for one run; restore undoes that.
func limits(o mrlocal.Options, jobCount int) (restore func()) {
	procs, memoryBytes := o.ProcessLimits(jobCount)
	procs = runtime.GOMAXPROCS(procs)
	memoryBytes = debug.SetMemoryLimit(memoryBytes)
	return func() {
		runtime.GOMAXPROCS(procs)
		debug.SetMemoryLimit(memoryBytes)
	}
}

// CollectLate delays the first garbage collection until the heap has 32 MiB
// instead of 4 MiB. A plan of 50,000 files grows on the heap; without the delay
// the collector marks it five times, a tenth of the time of that run. After the
// first collection the usual pace applies. A user's GOGC is kept.
func CollectLate() {
	const ofLeastHeap = 800 // percent; the least heap is 4 MiB
	usual := debug.SetGCPercent(ofLeastHeap)
	if usual != 100 {
		debug.SetGCPercent(usual)
		return
	}
	runtime.SetFinalizer(&struct{ next *byte }{new(byte)}, func(*struct{ next *byte }) { debug.SetGCPercent(usual) })
}
