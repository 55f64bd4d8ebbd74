package sim_test

import (
	"fmt"
	"testing"
	"time"

	"mrlocal/internal/machine"
	"mrlocal/sim"
	"mrlocal/slots"
	"mrlocal/slots/setup"
	"mrlocal/workload"
)

// scale is a large run: 1,000 jobs of 900 maps and 100 reduces in 100 pools arrive over half
// an hour. There are 1,000 trackers of 8 map and 2 reduce slots. replicas 0 gives inputs no
// place.
func scale(b tester, replicas int) *workload.File {
	lines := []string{"cluster: {trackers: 1000, map_slots: 8, reduce_slots: 2, net: 125MB}"}
	if replicas > 0 {
		lines = append(lines, fmt.Sprintf("locality: {replicas: %d}", replicas))
	}
	lines = append(lines, "jobs:")
	for i := range 1000 {
		lines = append(lines, fmt.Sprintf("  - {name: J%04d, pool: P%02d, submit: %dms, maps: 900, reduces: 100, map_time: {uniform: [20s, 40s]}, reduce_time: {uniform: [30s, 90s]}, map_output: 16MB}", i, i%100, 1800*i))
	}
	return parse(b, lines...)
}

// BenchmarkScale is a whole run a step: 1,000,000 tasks on 10,000 slots.
//
//	GOMAXPROCS=1 GOMEMLIMIT=1GiB go test -run '^$' -bench Scale -benchtime 1x ./sim
func BenchmarkScale(b *testing.B) {
	for _, replicas := range []int{0, 3} {
		f := scale(b, replicas)
		for _, name := range policies() {
			for _, cost := range []string{"l0", "l1", "l2"} {
				b.Run(fmt.Sprintf("policy=%s/replicas=%d/cost=%s", name, replicas, cost), func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						r := run(b, f, sim.Options{Policy: named(b, name), Cost: cost})
						b.ReportMetric(r.MakespanSeconds, "virtual-s")
						b.ReportMetric(r.Utilisation, "utilisation")
					}
					b.ReportMetric(b.Elapsed().Seconds()*1e3/float64(b.N), "ns/task")
					b.ReportMetric(float64(machine.PeakRSSBytes())/(1<<20), "peak-MiB") // of the process, so far
				})
			}
		}
	}
}

// crowded is a cluster of 1,000 slots on 100 trackers that are short of
// everything, and the given number of tasks, a tenth of them reduces.
func crowded(t tester, tasks, jobs int) *workload.File {
	lines := []string{"cluster: {trackers: 100, map_slots: 8, reduce_slots: 2, cores: 4, disk: 100MB, net: 125MB}", "defaults: {slowstart: 0.05}", "jobs:"}
	for i := range jobs {
		lines = append(lines, fmt.Sprintf("  - {name: J%03d, pool: P%02d, submit: %ds, maps: %d, reduces: %d, map_time: {uniform: [20s, 40s]}, reduce_time: {uniform: [30s, 90s]}, "+
			"map_output: 64MB, cpu: 0.%d, disk: 40MB, profile: {map: {mem: 0.1}, reduce: {mem: 0.3}}}", i, i%10, 10*i, tasks/jobs*9/10, tasks/jobs/10, i%5+5))
	}
	return parse(t, lines...)
}

// BenchmarkShared is a whole run a step under L2: 100,000 tasks of 100 jobs, or
// of one.
//
//	GOMAXPROCS=1 go test -run '^$' -bench Shared -benchtime 1x ./sim
func BenchmarkShared(b *testing.B) {
	const tasks = 100_000
	for _, jobs := range []int{100, 1} {
		f := crowded(b, tasks, jobs)
		for _, name := range policies() {
			b.Run(fmt.Sprintf("policy=%s/jobs=%d", name, jobs), func(b *testing.B) {
				b.ReportAllocs()
				o := sim.Options{Cost: "l2"}
				if name == "batch-finish" {
					whole := slots.One // before that it gives maps what reduces leave, here one slot
					o.Slowstart = &whole
				}
				for b.Loop() {
					o.Policy = named(b, name)
					r := run(b, f, o)
					b.ReportMetric(r.MakespanSeconds, "virtual-s")
				}
				b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/tasks, "ns/task")
			})
		}
	}
}

// BenchmarkThousand is 1,000 simulations of 1,000 tasks per step. They have to take less than a
// minute on two cores, so less than two on one. A busy machine only makes them longer.
//
//	GOMAXPROCS=1 go test -run '^$' -bench Thousand -benchtime 1x ./sim
func BenchmarkThousand(b *testing.B) {
	lines := []string{"cluster: {trackers: 10, map_slots: 4, reduce_slots: 2, net: 125MB}", "jobs:"}
	for i := range 20 {
		lines = append(lines, fmt.Sprintf("  - {name: J%02d, pool: P%d, submit: %ds, maps: 45, reduces: 5, map_time: {uniform: [20s, 40s]}, reduce_time: {uniform: [30s, 90s]}, map_output: 16MB}", i, i%4, 15*i))
	}
	f := parse(b, lines...)
	for _, name := range policies() {
		b.Run("policy="+name, func(b *testing.B) {
			for b.Loop() {
				for seed := range uint64(1000) {
					run(b, f, sim.Options{Policy: named(b, name), Config: setup.Config{Seed: seed + 1}})
				}
			}
			if each := b.Elapsed() / time.Duration(b.N); each > 2*time.Minute {
				b.Errorf("1,000 runs take %v on one core, more than 2m", each)
			}
		})
	}
}
