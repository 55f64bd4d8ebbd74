package engine_test

import (
	"runtime/debug"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mrlocal/engine"
	"mrlocal/jobs"
	"mrlocal/jobs/jobtest"
	"mrlocal/slots/setup"
)

// Spills and decoders run on the core of their slot, so one map slot never uses two
// cores.
func TestOneMapSlotUnderFairUsesOneCore(t *testing.T) {
	if testing.Short() {
		t.Skip("compares times, which checks in the build distort")
	}
	in := writeFiles(t, []jobtest.File{{Path: "a", Data: text(91, 16_000_000)}})
	for name, chain := range map[string]jobs.Chain{"sort": chains(t)["sort"](), "wordcount": chains(t)["wordcount"]()} {
		t.Run(name, func(t *testing.T) {
			defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection has a core of its own
			var used, wall time.Duration
			for range 3 { // another process, or what a test before left, may disturb one
				cpu, begun := processCPU(t), time.Now()
				must(t, chain, engine.Options{
					JobOptions: engine.JobOptions{Inputs: []string{in}}, Policy: newPolicy(t, "fair"), Config: setup.Config{MapSlots: 1, ReduceSlots: 1}, MemoryBytes: 16 << 20, TempDirs: []string{t.TempDir()},
				})
				if used, wall = processCPU(t)-cpu, time.Since(begun); used <= wall*11/10+50*time.Millisecond {
					return
				}
			}
			t.Errorf("three times more than one core, at last %v of processor time in %v", used, wall)
		})
	}
}

func processCPU(t *testing.T) time.Duration {
	t.Helper()
	var ru unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &ru); err != nil {
		t.Fatal(err)
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}
