package predict

import (
	"runtime"
	"slices"
	"sync"
	"time"

	"mrlocal/internal/machine"
	"mrlocal/workload"
)

// The work of the speed probe: few milliseconds, with memory that fits into the caches of a core.
const (
	probeText    = 256 << 10
	probeTable   = 1 << 14
	probeNumbers = 1 << 16
	probePasses  = 10
	probeTries   = 3
)

// speedProbe does a fixed work, first on one core after the other, then on all at once. Its times
// say how fast the machine is now. The work has nothing of a job's code. So a change of a job
// cannot pass for a change of the machine.
type speedProbe []*probeCore

// probeCore is what one core works on. Its memory is touched once, and used again by each probe.
type probeCore struct {
	core            int
	text            []byte
	table           []uint32
	numbers, sorted []uint32
}

// SpeedProbe returns what measures the speed of the machine, in some tens of milliseconds.
func SpeedProbe() func() workload.Probe {
	var p speedProbe
	for _, core := range machine.Cores() {
		p = append(p, newProbeCore(core))
	}
	p.measure() // the first one pays for pages that nobody has used
	return func() workload.Probe {
		var all probesOf
		for range probeTries {
			all.add(p.measure())
		}
		return all.middle()
	}
}

// newProbeCore makes the work of one core: text of words, and numbers to sort. It is the same on
// each machine and in each version, so that old profiles stay comparable.
func newProbeCore(core int) *probeCore {
	c := &probeCore{core: core, text: make([]byte, probeText), table: make([]uint32, probeTable), numbers: make([]uint32, probeNumbers), sorted: make([]uint32, probeNumbers)}
	x := uint32(1)
	random := func() uint32 { // the generator of Numerical Recipes, whose low bits are left out
		x = x*1664525 + 1013904223
		return x >> 12
	}
	for i := range c.text {
		if c.text[i] = 'a' + byte(random()%26); random()%6 == 0 {
			c.text[i] = ' '
		}
	}
	for i := range c.numbers {
		c.numbers[i] = random()
	}
	return c
}

// measure does the work once on each core alone and once on all, and returns the mean times.
func (p speedProbe) measure() (now workload.Probe) {
	n := time.Duration(len(p))
	for _, c := range p {
		// Each work has a goroutine of its own, since work binds its thread to the core.
		done := make(chan time.Duration)
		go func() { done <- c.work() }()
		now.Alone += <-done / n
	}
	times := make([]time.Duration, len(p))
	var all sync.WaitGroup
	for i, c := range p {
		all.Go(func() { times[i] = c.work() })
	}
	all.Wait()
	for _, t := range times {
		now.All += t / n
	}
	return now
}

// work counts words and sorts numbers, and returns how long that took.
func (c *probeCore) work() time.Duration {
	// The thread ends with the goroutine, and its binding with it.
	runtime.LockOSThread()
	_ = machine.BindThread(c.core) // where that is not possible, the system chooses the core
	const start, prime = 2166136261, 16777619
	began := time.Now()
	for range probePasses {
		hash := uint32(start) // FNV-1a
		for _, b := range c.text {
			if b == ' ' {
				c.table[hash%probeTable]++
				hash = start
				continue
			}
			hash = (hash ^ uint32(b)) * prime
		}
	}
	copy(c.sorted, c.numbers)
	slices.Sort(c.sorted)
	return time.Since(began)
}

// probesOf are the times of several probes, in seconds.
type probesOf struct{ alone, all []float64 }

func (o *probesOf) add(p workload.Probe) {
	o.alone, o.all = append(o.alone, p.Alone.Seconds()), append(o.all, p.All.Seconds())
}

// middle returns the medians. A single probe may meet an interruption.
func (o *probesOf) middle() workload.Probe {
	return workload.Probe{Alone: toTime(median(o.alone)), All: toTime(median(o.all))}
}
