package machine

import (
	"runtime"
	"runtime/debug"
)

// CollectLate puts the first garbage collection off until the heap has 32 MiB,
// an eighth of which it has by default: the plan of 50,000 files would be
// marked five times while it grows, a tenth of that run's time. From then on
// the collector works as always. What GOGC says is kept.
func CollectLate() {
	const ofLeastHeap = 800 // percent; the least heap is 4 MiB
	usual := debug.SetGCPercent(ofLeastHeap)
	if usual != 100 {
		debug.SetGCPercent(usual)
		return
	}
	runtime.SetFinalizer(&struct{ next *byte }{new(byte)}, func(*struct{ next *byte }) { debug.SetGCPercent(usual) })
}
