package bench_test

import (
	"fmt"
	"testing"

	"mrlocal/engine"
	"mrlocal/shuffle"
	"mrlocal/slots"
	"mrlocal/slots/report"
	"mrlocal/slots/setup"
	"mrlocal/spill"
)

// BenchmarkDiskWait compares what tasks wait for a slow disk under the fair scheduler, with
// one to four map slots, and under RAS [RAS11, section 4.2]. A sort whose maps spill and a
// word count whose maps compute run at once. They share one tracker of two cores, whose
// disk gives 40 MB a second. RAS knows their profiles: a map of sort needs half of the disk
// and a fourth of the CPU. A map of the word count needs half of the CPU. It reports medians of
// makespans and of the seconds that attempts wait for the disk. It also reports the share of
// the cores that waits according to /proc/stat. That share counts only real disks, and it
// counts other programs too.
func BenchmarkDiskWait(b *testing.B) {
	const disk = 40_000_000
	percent := slots.One / 100
	pair := []source{records(), words()}
	needs := []slots.Profile{
		{Map: slots.Vector{CPU: 25 * percent, IO: 50 * percent, Memory: 10 * percent}, Reduce: slots.Vector{CPU: 25 * percent, IO: 50 * percent, Memory: 10 * percent}},
		{Map: slots.Vector{CPU: 50 * percent, IO: percent, Memory: 10 * percent}, Reduce: slots.Vector{CPU: 50 * percent, IO: percent, Memory: 10 * percent}},
	}
	paths := makeInputs(b, pair)
	b.SetBytes(2 * *sizeBytes)
	for b.Loop() {
		for mapSlots := range 5 {
			name, sched := fmt.Sprintf("fair-%d", mapSlots), "fair"
			if mapSlots == 0 {
				name, sched = "ras", "ras"
			}
			var all []*report.Report
			for range *rounds {
				work := batchOf(b, pair, paths, 2)
				for i := range work {
					work[i].Profile = &needs[i]
				}
				r, err := engine.RunBatch(b.Context(), work, engine.Options{
					Policy: newPolicy(b, sched), Config: setup.Config{MapSlots: max(mapSlots, 1), ReduceSlots: 1}, DiskBytesPerSecond: disk,
					MemoryBytes: 256 << 20, SortBufferBytes: 256 << 10, KVBuffer: spill.KVBuffer{NoGrowth: true, Codec: shuffle.None}, TempDirs: []string{b.TempDir()},
				})
				if err != nil {
					b.Fatal(err)
				}
				all = append(all, r)
			}
			b.ReportMetric(median(all, makespan), name+"-s")
			b.ReportMetric(median(all, diskWait), name+"-disk-wait-s")
			b.ReportMetric(median(all, func(r *report.Report) float64 {
				if r.CPU == nil {
					return 0
				}
				return r.CPU.Run.IOWait
			}), name+"-iowait")
		}
	}
}

// diskWait returns the seconds that attempts waited for slowed-down disks.
func diskWait(r *report.Report) (seconds float64) {
	for i := range r.Jobs {
		seconds += float64(r.Jobs[i].Counters.DiskWaitMilliseconds) / 1000
	}
	return seconds
}
