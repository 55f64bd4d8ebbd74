package study

import (
	"runtime"
	"slices"
	"sync"
	"time"

	"mrlocal/internal/machine"
	"mrlocal/internal/stats"
	"mrlocal/workload"
)

// Sizes of the work of the speed probe. It takes a few milliseconds, and its memory fits into the
// caches of a core. Profiles made with other sizes cannot be compared.
const (
	probeText    = 256 << 10 // bytes of text
	probeTable   = 1 << 14   // entries of the table of words
	probeNumbers = 1 << 16   // numbers to sort
	probePasses  = 10        // over the text
	probeTries   = 3         // measurements, of which the median counts
)

// speedProbe does a fixed amount of work, first on one core after the other, then on all at once.
// Its times say how fast the machine is now. It runs no code of jobs. So a faster or slower job
// does not look like a faster or slower machine.
type speedProbe []*probeCore

// probeCore is the work of one core. Each probe uses the same memory again, so that the kernel does not
// have to provide pages during a probe.
type probeCore struct {
	core            int // as in machine.Cores
	text            []byte
	table           []uint32 // counts of words, by hash
	numbers, sorted []uint32
}

// SpeedProbe returns a function that measures the speed of the machine, in some tens of
// milliseconds. One goroutine may call it at a time.
func SpeedProbe() func() workload.Probe {
	var p speedProbe
	for _, core := range machine.Cores() {
		p = append(p, newProbeCore(core))
	}
	p.measure() // the first one takes longer, because the kernel has to provide pages
	return func() workload.Probe {
		var all []workload.Probe
		for range probeTries {
			all = append(all, p.measure())
		}
		return middle(all)
	}
}

// newProbeCore makes the work of one core: a text of words, and numbers to sort. The work must be
// the same in each version of mrlocal, so that validate can compare with an old profile.
func newProbeCore(core int) *probeCore {
	c := &probeCore{core: core, text: make([]byte, probeText), table: make([]uint32, probeTable), numbers: make([]uint32, probeNumbers), sorted: make([]uint32, probeNumbers)}
	x := uint32(1)
	random := func() uint32 { // the linear congruential generator of Numerical Recipes, without its weak low bits
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

// measure does the work on each core alone, then on all cores at once. It returns the mean times of
// both.
func (p speedProbe) measure() (now workload.Probe) {
	n := time.Duration(len(p))
	for _, c := range p {
		// work binds the thread of its goroutine to the core, so it gets a goroutine of its own.
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

// work counts words and sorts numbers, and returns how long this took. It must run on a goroutine
// of its own.
func (c *probeCore) work() time.Duration {
	// The goroutine ends with its thread locked, so the runtime ends the thread. No other goroutine
	// gets a bound thread.
	runtime.LockOSThread()
	_ = machine.BindThread(c.core) // if binding fails, the system chooses the core
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

// middle returns the medians of the times of several probes. A median ignores a single probe that another
// program has interrupted.
func middle(probes []workload.Probe) workload.Probe {
	alone := figures(probes, func(p workload.Probe) float64 { return p.Alone.Seconds() })
	all := figures(probes, func(p workload.Probe) float64 { return p.All.Seconds() })
	return workload.Probe{Alone: toTime(stats.Median(alone)), All: toTime(stats.Median(all))}
}
