package bench_test

import (
	"context"
	"fmt"
	"testing"

	"mrlocal/engine"
	"mrlocal/sim"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/report"
	"mrlocal/slots/setup"
	"mrlocal/workload"
)

// slotCounts is one slot configuration.
type slotCounts struct{ maps, reduces int }

// BenchmarkSlots runs each job, and the mix of five, over slot configurations and
// policies. benchstat compares its output by policy (-col /sched) or by configuration
// (-col /map,/reduce).
func BenchmarkSlots(b *testing.B) {
	for _, c := range []struct {
		name string
		jobs []source
	}{
		{"wordcount", []source{words()}}, {"sort", []source{records()}}, {"grep", []source{matches()}}, {"mix", mix()},
	} {
		paths := makeInputs(b, c.jobs)
		sweep(b, c.name, []slotCounts{{1, 1}, {2, 1}, {1, 2}, {3, 1}}, func(b *testing.B, sched string, n slotCounts) *report.Report {
			b.SetBytes(*sizeBytes * int64(len(c.jobs)))
			return runReal(b, c.jobs, paths, sched, n.maps, n.reduces)
		})
	}
}

// BenchmarkSlotsSimulated does the same in virtual time, with jobs of [DHFS13, Table I] on the 108
// slots of that paper's cluster. makespan-s and virtual-MB/s are in virtual time, and ns/op is the
// real time of the simulator.
func BenchmarkSlotsSimulated(b *testing.B) {
	file, err := workload.Load("workloads/table1-5.yaml")
	if err != nil {
		b.Fatal(err)
	}
	all := file.Jobs
	for _, c := range []struct {
		name string
		jobs []workload.ListedJob
	}{
		{"wordcount", all[:1]}, {"sort", all[1:2]}, {"grep", all[2:3]}, {"mix", all},
	} {
		bytes := 0.0
		for i := range c.jobs {
			bytes += float64(c.jobs[i].Maps) * blockBytes
		}
		sweep(b, c.name, []slotCounts{{54, 54}, {72, 36}, {90, 18}, {102, 6}}, func(b *testing.B, sched string, n slotCounts) *report.Report {
			f := *file
			f.Jobs = c.jobs
			r, err := sim.Run(context.Background(), &f, sim.Options{Policy: newPolicy(b, sched), Config: setup.Config{Trackers: 1, MapSlots: n.maps, ReduceSlots: n.reduces}})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(bytes/1e6/r.MakespanSeconds, "virtual-MB/s")
			return r
		})
	}
}

// blockBytes is what a map of J1 to J5 of [DHFS13, Table I] reads.
const blockBytes = 64 << 20

// sweep runs one benchmark for each policy and configuration.
func sweep(b *testing.B, job string, counts []slotCounts, run func(b *testing.B, sched string, n slotCounts) *engine.Report) {
	for _, info := range registry.All() {
		for _, n := range counts {
			b.Run(fmt.Sprintf("job=%s/sched=%s/map=%d/reduce=%d", job, info.Name, n.maps, n.reduces), func(b *testing.B) {
				var makespan, utilisation, lent float64
				loops := 0
				for b.Loop() {
					r := run(b, info.Name, n)
					makespan += r.MakespanSeconds
					utilisation += r.Utilisation
					lent += r.LentSlotSeconds
					loops++
				}
				per := float64(loops)
				b.ReportMetric(makespan/per, "makespan-s")
				b.ReportMetric(utilisation/per, "utilisation")
				b.ReportMetric(lent/per, "lent-slot-s")
			})
		}
	}
}
