package sim_test

import (
	"fmt"
	"testing"

	"mrlocal/internal/machine"
	"mrlocal/sim"
	"mrlocal/workload"
)

// scale is the large run: 1,000 jobs of 900 maps and 100 reduces in 100
// pools, arriving over half an hour, on 1,000 trackers of 8 map and 2 reduce
// slots; replicas 0 gives inputs no place.
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
			for _, cost := range []string{"l0", "l1"} {
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
