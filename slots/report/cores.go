package report

import (
	"fmt"
	"time"

	"mrlocal/internal/machine"
	"mrlocal/trace"
)

// sampleEvery is the least time between two events about the cores of the machine.
const sampleEvery = time.Second

// Sampler measures what a real run uses: CPU time, memory and temporary files of the process. It
// also measures how the cores of the machine spend the time, whichever programs they run. The
// parts are user, sys, iowait and idle, as in the tables of [Split11, evaluation]. The
// coordinator of a run owns it, and no other goroutine uses it. NewSampler makes it.
type Sampler struct {
	processBefore time.Duration // CPU time of the process at the start

	err         error             // not nil: the system does not give the times of cores
	begun, last machine.CoreTimes // at the start, and of the latest event
	mapsDone    machine.CoreTimes // at the latest end of a job's map phase
	at          time.Duration     // time of last, from the start of the run
}

// NewSampler returns a Sampler of a run that begins now.
func NewSampler() (c Sampler) {
	c.processBefore = machine.ProcessCPU()
	c.begun, c.err = machine.ReadCoreTimes()
	c.last, c.mapsDone = c.begun, c.begun
	return c
}

// Record appends an event with the CPU time, memory and temporary bytes of the process to s. About
// once a second it also appends an event with the times of the cores since the last such event.
func (c *Sampler) Record(s *trace.Stream, now time.Duration, memoryBytes, tempBytes int64) {
	s.Append(trace.Event{At: now, Op: trace.OpUsage, A: int64(machine.ProcessCPU() - c.processBefore), B: memoryBytes, C: tempBytes})
	c.sample(s, now)
}

// sample appends an event with the times of the cores, if the last one is sampleEvery ago.
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

// MapPhaseEnds notes the time at which the last map of a job is done. A later call replaces it, so
// the report has the map phase of the whole run.
func (c *Sampler) MapPhaseEnds() {
	if c.err == nil {
		c.mapsDone, c.err = machine.ReadCoreTimes()
	}
}

// Report adds to r how the cores spent the run until now, or a note if the system does not give
// their times.
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

// sharesOf returns times as shares of their sum. If the sum is 0, because the run was shorter than
// the unit of the system, all shares are 0.
func sharesOf(t machine.CoreTimes) (s CPUShares) {
	all := float64(t.User + t.System + t.IOWait + t.Idle)
	if all == 0 {
		return s
	}
	return CPUShares{User: float64(t.User) / all, System: float64(t.System) / all, IOWait: float64(t.IOWait) / all, Idle: float64(t.Idle) / all}
}
