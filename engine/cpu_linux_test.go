package engine_test

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mrlocal/engine"
	"mrlocal/jobs"
	"mrlocal/jobs/jobtest"
)

// Spill sorts and decoders run on their slot's core, so one typed map slot
// never quietly uses two cores.
func TestOneMapSlotUnderFairUsesOneCore(t *testing.T) {
	in := writeFiles(t, []jobtest.File{{Path: "a", Data: text(91, 16_000_000)}})
	for name, chain := range map[string]jobs.Chain{"sort": chains(t)["sort"](), "wordcount": chains(t)["wordcount"]()} {
		t.Run(name, func(t *testing.T) {
			runtime.GC() // what other tests left is not this one's
			cpu, begun := processCPU(t), time.Now()
			must(t, chain, engine.Options{
				Inputs: []string{in}, Policy: newPolicy(t, "fair"), MapSlots: 1, ReduceSlots: 1, MemoryBytes: 16 << 20, TempDirs: []string{t.TempDir()},
			})
			used, wall := processCPU(t)-cpu, time.Since(begun)
			if used > wall*11/10+50*time.Millisecond {
				t.Errorf("%v of processor time in %v", used, wall)
			}
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
