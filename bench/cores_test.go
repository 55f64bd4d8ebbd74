package bench_test

import (
	"flag"
	"fmt"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"mrlocal/engine"
	"mrlocal/internal/machine"
	"mrlocal/slots/setup"
)

var bandwidth = flag.Float64("bandwidth", 200, "GB/s that the memory of the machine of BenchmarkCores gives to all of its cores together")

// cost is what a run costs in seconds, and in bytes through memory. A machine with more cores divides sharedCPU among
// them. The other two count as serial. That is the worst case, because the coordinator works while tasks run, too.
type cost struct {
	sharedCPU      float64 // CPU time of attempts, the collector, and what else several goroutines do
	coordinatorCPU float64 // CPU time of the coordinator's thread
	edges          float64 // wall time in which no attempt runs: before the first map and after the last reduce
	locked         float64 // time that goroutines have waited for mutexes
	bytes          float64 // least number of bytes read from memory and written to it
}

// BenchmarkCores counts what limits a run on a machine with more cores than this one, and prints the speed-up over one
// core that follows (-v). Each row names the bound that holds: cores while the tasks take longest; bandwidth; and
// serial from where a machine with twice the cores would gain less than a fifth.
func BenchmarkCores(b *testing.B) {
	for _, s := range []source{words(), records(), matches()} {
		b.Run("job="+s.name, func(b *testing.B) {
			paths := makeInputs(b, []source{s})
			b.SetBytes(*sizeBytes)
			for b.Loop() {
				var all []cost
				for range *rounds {
					all = append(all, costOf(b, s, paths))
				}
				of := func(part func(c cost) float64) float64 {
					var values []float64
					for _, c := range all {
						values = append(values, part(c))
					}
					return middle(values)
				}
				c := cost{
					sharedCPU: of(func(c cost) float64 { return c.sharedCPU }), coordinatorCPU: of(func(c cost) float64 { return c.coordinatorCPU }),
					edges: of(func(c cost) float64 { return c.edges }), locked: of(func(c cost) float64 { return c.locked }),
					bytes: of(func(c cost) float64 { return c.bytes }),
				}
				b.ReportMetric(c.sharedCPU, "shared-cpu-s")
				b.ReportMetric(c.coordinatorCPU, "coordinator-cpu-s")
				b.ReportMetric(c.edges, "edges-s")
				b.ReportMetric(c.locked, "locked-s")
				b.ReportMetric(c.bytes/float64(*sizeBytes), "memory-bytes/byte")
				b.Log("\n" + c.table())
			}
		})
	}
}

// costOf runs a job on one map slot and one reduce slot, which are lent.
func costOf(b *testing.B, s source, paths []string) (c cost) {
	runtime.LockOSThread() // the coordinator runs in the goroutine that asks for the run
	defer runtime.UnlockOSThread()
	runtime.GC()
	cpu, own, wall, locked := machine.ProcessCPU(), machine.ThreadCPU(), time.Now(), waited()
	r := runWith(b, []source{s}, paths, engine.Options{Policy: newPolicy(b, "pi-dhfs"), Config: setup.Config{MapSlots: 1, ReduceSlots: 1}})
	took := time.Since(wall).Seconds()
	c.coordinatorCPU = (machine.ThreadCPU() - own).Seconds()
	c.sharedCPU, c.locked = (machine.ProcessCPU()-cpu).Seconds()-c.coordinatorCPU, waited()-locked
	j := r.Jobs[0]
	n := j.Counters
	c.edges = j.StartS + took - j.FinishS
	// A block is copied from the page cache and read by the mapper. What is shuffled is written and read once, and
	// what is written goes through a buffer into the page cache.
	c.bytes = float64(3*n.MapInputBytes + 2*n.ReduceShuffleBytes + 3*n.OutputBytes)
	return c
}

// waited returns how long goroutines have waited for mutexes until now, in seconds.
func waited() float64 {
	sample := []metrics.Sample{{Name: "/sync/mutex/wait/total:seconds"}}
	metrics.Read(sample)
	return sample[0].Value.Float64()
}

// on returns the seconds of the run on n cores, and the bound that holds.
func (c cost) on(n int) (seconds float64, bound string) {
	serial := c.coordinatorCPU + c.edges
	tasks, memory := c.sharedCPU/float64(n), c.bytes/(*bandwidth*1e9)
	switch {
	case memory > tasks:
		bound = "bandwidth"
	case (serial+tasks/2)*1.2 > serial+tasks:
		bound = "serial"
	default:
		bound = "cores"
	}
	return serial + max(tasks, memory), bound
}

func (c cost) table() string {
	var t strings.Builder
	one, _ := c.on(1)
	fmt.Fprintf(&t, "%6s %9s %9s  %s\n", "cores", "time", "speed-up", "bound")
	for n := 1; n <= 128; n *= 2 {
		seconds, bound := c.on(n)
		fmt.Fprintf(&t, "%6d %8.3fs %9.1f  %s\n", n, seconds, one/seconds, bound)
	}
	return t.String()
}
