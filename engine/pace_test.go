package engine_test

import (
	"testing"
	"testing/synctest"
	"time"

	"mrlocal/engine"
	"mrlocal/jobs"
	"mrlocal/jobs/jobtest"
	"mrlocal/slots"
	"mrlocal/slots/policy/policytest"
	"mrlocal/slots/setup"
	"mrlocal/spill"
	"mrlocal/trace"
)

// Throttled runs take the time that is computed. The clock is fake: only sleeps take time.
func TestThrottledRunsTakeAsLongAsTheirBytes(t *testing.T) {
	const size = 3_000_000
	data := text(151, size)
	dir := writeFiles(t, []jobtest.File{{Path: "a", Data: data}})
	lines := 0
	for _, b := range data {
		if b == '\n' {
			lines++
		}
	}
	bytesIn := float64(len(data))
	keyBytes := bytesIn - float64(lines) // of sort, whose records are its keys
	base := engine.Options{JobOptions: engine.JobOptions{Inputs: []string{dir}, BlockBytes: 256 << 10, Reducers: 3}, Config: setup.Config{MapSlots: 1, ReduceSlots: 1}, NoPin: true, MemoryBytes: 64 << 20}
	for name, c := range map[string]struct {
		set         func(o *engine.Options)
		from, until func(spilled float64) float64 // seconds
	}{
		"off": {func(*engine.Options) {}, func(float64) float64 { return 0 }, func(float64) float64 { return 0 }},
		"a disk of 1 MB/s": {
			func(o *engine.Options) { o.DiskBytesPerSecond = 1_000_000 },
			func(float64) float64 { return bytesIn / 1e6 }, func(float64) float64 { return bytesIn/1e6 + 0.1 },
		},
		"two trackers with a disk of 1 MB/s each": {
			func(o *engine.Options) { o.DiskBytesPerSecond, o.Trackers = 1_000_000, 2 },
			func(float64) float64 { return bytesIn / 1e6 / 2 }, func(float64) float64 { return bytesIn/1e6/2 + 0.6 },
		},
		"a network of 500 kB/s": {
			func(o *engine.Options) { o.ShuffleBytesPerSecond = 500_000 },
			func(float64) float64 { return keyBytes / 5e5 }, func(float64) float64 { return keyBytes/5e5 + 0.1 },
		},
		"copies of 300 kB/s, one after the other": {
			func(o *engine.Options) { o.Copiers.BytesPerSecond, o.Copiers.Parallel = 300_000, 1 },
			func(float64) float64 { return keyBytes / 3e5 }, func(float64) float64 { return keyBytes/3e5 + 0.1 },
		},
		"four of them at a time": { // 12 maps are three rounds, and the longest copy of four ends a round
			func(o *engine.Options) { o.Copiers.BytesPerSecond, o.Copiers.Parallel = 300_000, 4 },
			func(float64) float64 { return keyBytes / 12e5 }, func(float64) float64 { return keyBytes/12e5 + 0.5 },
		},
		"four at a time want more than the network": {
			func(o *engine.Options) {
				o.ShuffleBytesPerSecond, o.Copiers.BytesPerSecond, o.Copiers.Parallel = 600_000, 300_000, 4
			},
			func(float64) float64 { return keyBytes / 6e5 }, func(float64) float64 { return keyBytes/6e5 + 0.2 },
		},
		"a disk of 1 MB/s and spills, written and read": {
			func(o *engine.Options) {
				o.DiskBytesPerSecond, o.SortBufferBytes, o.NoGrowth, o.BlockBytes = 1_000_000, 256<<10, true, 64<<20
				o.TempDirs = []string{t.TempDir()}
			},
			func(spilled float64) float64 { return (bytesIn + 1.9*spilled) / 1e6 }, func(spilled float64) float64 { return (bytesIn + 2.2*spilled) / 1e6 },
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := base
				c.set(&o)
				_, r := must(t, chains(t)["sort"](), o)
				spilled := float64(r.Jobs[0].Counters.SpilledBytes)
				if o.NoGrowth && spilled < bytesIn/2 {
					t.Fatalf("%.0f bytes spilled of %.0f", spilled, bytesIn)
				}
				// Attempts do nothing but wait, and at least one does at any time.
				if wait := float64(r.Jobs[0].Counters.DiskWaitMilliseconds) / 1000; o.DiskBytesPerSecond == 0 && wait > 0 || o.DiskBytesPerSecond > 0 && wait < 0.9*r.MakespanSeconds {
					t.Errorf("attempts wait %.3f s for disks in a run of %.3f s", wait, r.MakespanSeconds)
				}
				if got := r.MakespanSeconds; got < c.from(spilled)-0.002 || got > c.until(spilled) {
					t.Errorf("%.3f s, want %.3f to %.3f s (%.0f bytes spilled)", got, c.from(spilled), c.until(spilled), spilled)
				}
			})
		})
	}
}

// A reduce that has slept for a copy waits for the next map, for longer than TaskTimeout.
func TestAReduceDoesNotTimeOutBetweenItsCopies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, atOnce := writeFiles(t, []jobtest.File{{Path: "a", Data: text(153, 60_000)}}), slots.PPM(0)
		chain := failing(func(b jobs.Block, out jobs.Emitter) error {
			time.Sleep(50 * time.Second)
			return emitLines(b, out)
		}, func() error { return nil })
		_, r := must(t, chain, engine.Options{
			JobOptions: engine.JobOptions{Inputs: []string{dir}, BlockBytes: 10_000, Reducers: 1}, Config: setup.Config{MapSlots: 1, ReduceSlots: 1, Attempts: 1, Slowstart: &atOnce, ShuffleBytesPerSecond: 500_000},
			NoPin: true, MemoryBytes: 64 << 20, TaskTimeout: time.Minute,
		})
		if r.MakespanSeconds < 200 {
			t.Errorf("%.0f s for maps of 50 s", r.MakespanSeconds)
		}
	})
}

// CopyTime includes the time for which a reduce waits for its disk, to read its part of the spills
// of the maps.
func TestTheTimeOfACopyHasTheDiskAndTheMerge(t *testing.T) {
	dir := writeFiles(t, []jobtest.File{{Path: "a", Data: text(152, 2_000_000)}})
	for name, disk := range map[string]int64{"a disk of 1 MB/s": 1_000_000, "no bound": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log policytest.Log
				_, r := must(t, chains(t)["sort"](), engine.Options{
					JobOptions: engine.JobOptions{Inputs: []string{dir}, BlockBytes: 512 << 10, Reducers: 2}, Config: setup.Config{MapSlots: 1, ReduceSlots: 1}, NoPin: true, MemoryBytes: 64 << 20,
					DiskBytesPerSecond: disk, SortBufferBytes: 128 << 10, KVBuffer: spill.KVBuffer{NoGrowth: true}, TempDirs: []string{t.TempDir()}, Watch: func(s *trace.Stream) { s.Attach(&log) },
				})
				var bytes, took float64
				for _, e := range log.Events {
					if e.Op == trace.OpFinish && e.Kind == trace.Reduce {
						bytes, took = bytes+float64(e.D), took+time.Duration(e.E).Seconds()
					}
				}
				spilled := float64(r.Jobs[0].Counters.SpilledBytes)
				if bytes < 1e6 || spilled < 1e6 {
					t.Fatalf("%.0f bytes copied, %.0f spilled", bytes, spilled)
				}
				if want := min(1, float64(disk)) * spilled / 1e6; took < 0.9*want || took > want+0.1 {
					t.Errorf("%.0f bytes were copied in %.3f s, want %.3f s", bytes, took, want)
				}
			})
		})
	}
}

// CopyTime includes the time in which the merge reads and unpacks blocks of spills. So the same
// number of spills with six times the bytes takes longer.
func TestTheTimeOfACopyGrowsWithWhatIsReadBack(t *testing.T) {
	if testing.Short() {
		t.Skip("compares times, which checks in the build distort")
	}
	took := func(size int) time.Duration {
		dir := writeFiles(t, []jobtest.File{{Path: "a", Data: text(163, size)}})
		least := time.Hour // of several runs, because other load of the machine only adds time
		for range 3 {
			var log policytest.Log
			_, r := must(t, chains(t)["sort"](), engine.Options{
				JobOptions: engine.JobOptions{Inputs: []string{dir}, BlockBytes: int64(size), Reducers: 1}, Config: setup.Config{MapSlots: 1, ReduceSlots: 1}, NoPin: true, MemoryBytes: 128 << 20,
				SortBufferBytes: int64(size) / 4, KVBuffer: spill.KVBuffer{NoGrowth: true}, TempDirs: []string{t.TempDir()}, Watch: func(s *trace.Stream) { s.Attach(&log) },
			})
			if spills := r.Jobs[0].Counters.Spills; spills < 3 {
				t.Fatalf("%d spills", spills)
			}
			for _, e := range log.Events {
				if e.Op == trace.OpFinish && e.Kind == trace.Reduce {
					least = min(least, time.Duration(e.E))
				}
			}
		}
		return least
	}
	small, large := took(4<<20), took(24<<20)
	t.Logf("%v and %v", small, large)
	if large < 5*small/2 {
		t.Errorf("reading back 24 MiB took %v, 4 MiB %v", large, small)
	}
}

func TestAThrottledAttemptIsKilledAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := writeFiles(t, []jobtest.File{{Path: "a", Data: text(161, 1_000_000)}})
		batch, _ := batchOf(t, []string{dir}, "sort")
		begun := time.Now()
		_, err := engine.RunBatch(t.Context(), batch, engine.Options{
			Config: setup.Config{MapSlots: 1, ReduceSlots: 1, Faults: []setup.Fault{{Tracker: 0, At: 50 * time.Millisecond}}}, MemoryBytes: 64 << 20, DiskBytesPerSecond: 256 << 10,
		})
		if took := time.Since(begun); err == nil || took > time.Second {
			t.Errorf("took %v, error %v", took, err)
		}
	})
}
