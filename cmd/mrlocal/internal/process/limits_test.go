package process

import (
	"os"
	"runtime"
	"runtime/debug"
	"testing"
)

var garbage []byte

// While little stays alive, the collector runs once for about 32 MiB, also after its first run.
func TestTheCollectorRunsLate(t *testing.T) {
	if os.Getenv("GOGC") != "" {
		t.Skip("the user has a pace")
	}
	defer debug.SetGCPercent(100)
	CollectLate()
	before, after := runtime.MemStats{}, runtime.MemStats{}
	runtime.ReadMemStats(&before)
	const pieces, bytes = 200, 1 << 20
	for range pieces {
		garbage = make([]byte, bytes)
	}
	runtime.ReadMemStats(&after)
	if n := after.NumGC - before.NumGC; n == 0 || n > pieces/16 {
		t.Errorf("%d collections for %d MiB of garbage", n, pieces)
	}
}
