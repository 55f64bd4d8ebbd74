package engine

import (
	"context"
	"time"

	"mrlocal/internal/machine"
	"mrlocal/jobs"
	"mrlocal/shuffle"
	"mrlocal/slots"
	"mrlocal/slots/report"
)

// Pace slows attempts down, to show effects that one machine does not have: narrow networks
// and disks. SlotAttempt.Stretch is for slow trackers and remote inputs. An attempt is slowed
// down by sleeping. A kill ends the sleep, and a sleeping attempt does not time out.
type Pace struct {
	network, disk []*shuffle.Bandwidth // by tracker; nil: unbounded
	copiers       shuffle.Copiers
}

// NewPace makes the pace of so many trackers. Each has a network of shuffleBytesPerSecond and a
// disk of diskBytesPerSecond; 0: unbounded. NewPace returns nil if nothing is bounded.
func NewPace(trackers int, shuffleBytesPerSecond, diskBytesPerSecond int64, copiers shuffle.Copiers) *Pace {
	if shuffleBytesPerSecond == 0 && diskBytesPerSecond == 0 && copiers.BytesPerSecond == 0 {
		return nil
	}
	p := &Pace{copiers: copiers}
	for range trackers {
		if shuffleBytesPerSecond > 0 {
			p.network = append(p.network, &shuffle.Bandwidth{BytesPerSecond: shuffleBytesPerSecond})
		}
		if diskBytesPerSecond > 0 {
			p.disk = append(p.disk, &shuffle.Bandwidth{BytesPerSecond: diskBytesPerSecond})
		}
	}
	return p
}

// leastPause is the shortest sleep. Shorter ones cost more than they are worth: they add up
// until they are as long as this.
const leastPause = time.Millisecond

// pause sleeps for d, or until the attempt is killed, and adds the time to pausedFor.
func (a *SlotAttempt) pause(d time.Duration) {
	defer a.Waiting.Store(a.Waiting.Swap(true)) // a copy phase waits on behind its sleeps
	timer := time.NewTimer(d)
	defer timer.Stop()
	begun := time.Now()
	select {
	case <-timer.C:
	case <-a.ctx.Done():
	}
	a.pausedFor += time.Since(begun)
}

// readFromDisk waits as long as the tracker's disk takes to read so many bytes. It does not wait
// if disks are unbounded.
func (a *SlotAttempt) readFromDisk(bytes int64) {
	disks := a.Env.Pace.disk
	if disks == nil || bytes <= 0 {
		return
	}
	before := a.pausedFor
	if d := time.Until(disks[a.Tracker].Read(bytes)); d >= leastPause {
		a.pause(d)
	}
	a.DiskWait += a.pausedFor - before
}

// sleepUntil waits until t. It fails when the attempt is killed.
func (a *SlotAttempt) sleepUntil(t time.Time) error {
	if d := time.Until(t); d >= leastPause {
		a.pause(d)
	}
	if a.ctx.Err() != nil {
		return context.Cause(a.ctx)
	}
	return nil
}

// bookSpill puts the writing of a spill on the tracker's disk, on any thread. It does not wait.
func (a *SlotAttempt) bookSpill(e *shuffle.Event) {
	if a.Env.Pace == nil || a.Env.Pace.disk == nil {
		return
	}
	switch e.Kind {
	case shuffle.SpillEnd, shuffle.MergePass, shuffle.Evict:
		a.Env.Pace.disk[a.Tracker].Write(e.Bytes)
		a.onDisk.Add(e.Bytes)
	}
}

// awaitDisk waits until the tracker's disk has written what the attempt has spilled. The I/O
// period of a map lasts until then.
func (a *SlotAttempt) awaitDisk() {
	if a.Env.Pace == nil || a.Env.Pace.disk == nil || a.onDisk.Load() == 0 {
		return
	}
	// Another attempt may read meanwhile, and reads go first. So the time is computed anew after
	// each sleep.
	for a.ctx.Err() == nil {
		d := time.Until(a.Env.Pace.disk[a.Tracker].Flushed())
		if d < leastPause {
			return
		}
		before := a.pausedFor
		a.pause(d)
		a.DiskWait += a.pausedFor - before
	}
}

// readSpills waits as long as the disk takes to read the reduce's part of all spills of the
// maps. For each output it counts the bytes that the map has spilled, times the part's share
// of the output.
func (a *SlotAttempt) readSpills(outputs []*shuffle.MapOutput) {
	if a.Env.Pace == nil || a.Env.Pace.disk == nil {
		return
	}
	var bytes int64
	for _, out := range outputs {
		var total int64
		for p := range out.Parts() {
			total += out.Part(p).Bytes()
		}
		if maker := a.Job.maker(out); maker != nil && total > 0 {
			part := out.Part(int(a.ID.Task)).Bytes()
			bytes += int64(float64(maker.onDisk.Load()) * float64(part) / float64(total))
		}
	}
	a.readFromDisk(bytes)
}

// stretch sleeps, so that the work done so far takes Stretch times as long. It does not sleep
// for less than least. A Stretch below 1 has no effect, because no sleep makes an attempt faster.
func (a *SlotAttempt) stretch(least time.Duration) {
	if a.Stretch <= 1 {
		return
	}
	// Sleeps of this function and at slowed-down lines are no work, and are not stretched.
	worked := time.Since(a.workingAt) - a.pausedFor
	if owed := time.Duration(float64(worked)*(a.Stretch-1)) - a.stretched; owed >= least {
		before := a.pausedFor
		a.pause(owed)
		a.stretched += a.pausedFor - before
	}
}

// atEnd is called by every attempt between its work and its commit. It sleeps for what Stretch
// has left to sleep. It returns an error if the attempt is killed, or if an injected fault makes
// it fail.
func (a *SlotAttempt) atEnd() error {
	a.stretch(1)
	switch {
	case a.Killed():
		return jobs.ErrKilled
	case a.Faulty:
		return errInjected
	}
	return nil
}

// measures is what an attempt has used so far, by phase. It belongs to the
// attempt's thread.
type measures struct {
	phases [slots.PhaseHeld + 1]report.Usage
	now    slots.Phase // the current phase; PhaseNone: not begun, or ended
	// The fields from here on are the readings at the start of the current phase.
	begun time.Time
	cpu   time.Duration // of the thread and the helpers
	read  int64         // bytes of input and copies
	wrote int64         // bytes of spills and output
}

// Usage ends the last phase and returns what the attempt has used, by slots.Phase. The
// attempt's thread calls it once, after Map or Reduce.
func (a *SlotAttempt) Usage() []report.Usage {
	a.measure(slots.PhaseNone)
	return a.measured.phases[:]
}

// measure ends a phase and begins the next one.
func (a *SlotAttempt) measure(next slots.Phase) {
	m := &a.measured
	cpu, read := machine.ThreadCPU()+time.Duration(a.helperCPU.Load()), a.Counters.MapInputBytes+a.CopyBytes
	wrote := a.spilledBytes.Load() + a.Counters.OutputBytes
	// withRoom may run an attempt twice. It then enters a phase twice, and its usage adds up.
	if m.now != slots.PhaseNone {
		u := &m.phases[m.now]
		u.Attempts = 1
		u.WallS += time.Since(m.begun).Seconds()
		u.CPUS += (cpu - m.cpu).Seconds()
		u.ReadBytes += read - m.read
		u.WrittenBytes += wrote - m.wrote
		u.PeakBytes = max(u.PeakBytes, a.peak())
	}
	m.now, m.begun, m.cpu, m.read, m.wrote = next, time.Now(), cpu, read, wrote
}

// peak returns the most bytes of memory that were in use since the last call.
func (a *SlotAttempt) peak() int64 {
	if a.lease == nil {
		return a.peakBytes
	}
	return a.lease.Peak()
}

// countSpilled adds the bytes that the kvbuffer or a merge has written, on any thread.
func (a *SlotAttempt) countSpilled(e *shuffle.Event) {
	switch e.Kind {
	case shuffle.SpillEnd, shuffle.MergePass, shuffle.Evict:
		a.spilledBytes.Add(e.Bytes)
	}
}

// withCPU returns a closure that runs f and adds the processor time of f to the attempt.
func (a *SlotAttempt) withCPU(f func()) func() {
	return func() {
		before := machine.ThreadCPU()
		defer func() { a.helperCPU.Add(int64(machine.ThreadCPU() - before)) }()
		f()
	}
}
