package report

import (
	"fmt"
	"time"

	"mrlocal/internal/machine"
	"mrlocal/trace"
)

// sampleEvery is how often the events of a run say what the cores of the machine did.
const sampleEvery = time.Second

// Sampler follows what a real run uses: CPU time, memory and temporary files of the process. It
// also follows how the cores of the machine spend the time, whichever programs they run: user,
// sys, iowait and idle, as the tables of [Split11, evaluation] have it. The coordinator of a run
// owns it, and no other goroutine uses it. NewSampler makes it.
type Sampler struct {
	processBefore time.Duration // CPU time of the process at the start

	err         error // the system does not say
	begun, last machine.CoreTimes
	mapsDone    machine.CoreTimes // when the last map of a job was done
	at          time.Duration     // of last
}

// NewSampler takes the first sample.
func NewSampler() (c Sampler) {
	c.processBefore = machine.ProcessCPU()
	c.begun, c.err = machine.ReadCoreTimes()
	c.last, c.mapsDone = c.begun, c.begun
	return c
}

// Record makes an event of what the process uses, and about every second one of what the
// cores did since the last such event.
func (c *Sampler) Record(s *trace.Stream, now time.Duration, memoryBytes, tempBytes int64) {
	s.Append(trace.Event{At: now, Op: trace.OpUsage, A: int64(machine.ProcessCPU() - c.processBefore), B: memoryBytes, C: tempBytes})
	c.sample(s, now)
}

// sample makes an event of what the cores did since the last one, if that is long ago.
func (c *Sampler) sample(s *trace.Stream, now time.Duration) {
	if c.err != nil || now-c.at < sampleEvery {
		return
	}
	t, err := machine.ReadCoreTimes()
	if err != nil {
		c.err = err
		return
	}
	d := t.Sub(&c.last)
	s.Append(trace.Event{At: now, Op: trace.OpCores, A: int64(d.User), B: int64(d.System), C: int64(d.IOWait), D: int64(d.Idle)})
	c.last, c.at = t, now
}

// MapPhaseEnds notes that the last map of a job is done; the last call is for the run.
func (c *Sampler) MapPhaseEnds() {
	if c.err == nil {
		c.mapsDone, c.err = machine.ReadCoreTimes()
	}
}

// Report adds to r the shares of the run until now, or a note that says why the system does
// not give them.
func (c *Sampler) Report(r *Report) {
	var now machine.CoreTimes
	if c.err == nil {
		now, c.err = machine.ReadCoreTimes()
	}
	if c.err != nil {
		r.Notes = append(r.Notes, fmt.Sprintf("how the cores spent the run is not known: %v", c.err))
		return
	}
	r.CPU = &CPU{Source: machine.CoreTimesFrom, Cores: now.Cores, Run: sharesOf(now.Sub(&c.begun)), MapPhase: sharesOf(c.mapsDone.Sub(&c.begun))}
}

// sharesOf returns all zeros for less time than the system counts in.
func sharesOf(t machine.CoreTimes) (s CPUShares) {
	all := float64(t.User + t.System + t.IOWait + t.Idle)
	if all == 0 {
		return s
	}
	return CPUShares{User: float64(t.User) / all, System: float64(t.System) / all, IOWait: float64(t.IOWait) / all, Idle: float64(t.Idle) / all}
}
