package engine

import (
	"context"
	"sync"
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
	shuffle, disk []*bandwidth // by tracker; nil: unbounded
	copiers       Copiers
}

// Copiers are the copiers of each reduce: Hadoop's mapred.reduce.parallel.copies. They matter
// only if a bandwidth is bounded. In the simulator, cost level l2 has the same copiers
// (cluster: {shuffle: ...}). The zero value is one copier, as fast as the tracker's network.
type Copiers struct {
	Parallel       int   // copiers of a reduce; 0: 1
	BytesPerSecond int64 // most that one copier copies; 0: as much as the network of the tracker
}

// NewPace makes the pace of so many trackers. Each has a network of shuffleBytesPerSecond and a
// disk of diskBytesPerSecond; 0: unbounded. NewPace returns nil if nothing is bounded.
func NewPace(trackers int, shuffleBytesPerSecond, diskBytesPerSecond int64, copiers Copiers) *Pace {
	if shuffleBytesPerSecond == 0 && diskBytesPerSecond == 0 && copiers.BytesPerSecond == 0 {
		return nil
	}
	p := &Pace{copiers: copiers}
	p.copiers.Parallel = max(1, copiers.Parallel)
	for range trackers {
		if shuffleBytesPerSecond > 0 {
			p.shuffle = append(p.shuffle, &bandwidth{bytesPerSecond: shuffleBytesPerSecond})
		}
		if diskBytesPerSecond > 0 {
			p.disk = append(p.disk, &bandwidth{bytesPerSecond: diskBytesPerSecond})
		}
	}
	return p
}

// bandwidth is a line, such as a disk or a network. The bytes of all attempts of a tracker go
// through it one after the other. Reads go before writes, as in a system that writes pages back
// in the background. Writes go through while nothing is read, or while an attempt waits for them.
type bandwidth struct {
	bytesPerSecond int64
	mu             struct {
		sync.Mutex
		free    time.Time     // when the last read that is booked ends
		written time.Duration // how long the writes take that are left at that time
	}
}

// takes returns how long so many bytes occupy the line.
func (b *bandwidth) takes(bytes int64) time.Duration {
	return time.Duration(float64(bytes) / float64(b.bytesPerSecond) * float64(time.Second))
}

// settle brings the state of the line up to now. b.mu is held.
func (b *bandwidth) settle() {
	// Nothing was read from free until now, so writes went through in that time.
	if now := time.Now(); b.mu.free.Before(now) {
		b.mu.written = max(0, b.mu.written-now.Sub(b.mu.free))
		b.mu.free = now
	}
}

// book puts a read of bytes behind all other reads. It returns the time at which the read ends.
func (b *bandwidth) book(bytes int64) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.settle()
	b.mu.free = b.mu.free.Add(b.takes(bytes))
	return b.mu.free
}

// write puts a write of bytes behind all reads and other writes.
func (b *bandwidth) write(bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.settle()
	b.mu.written += b.takes(bytes)
}

// flushed returns the time at which all writes end, if nothing more is read until then.
func (b *bandwidth) flushed() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.settle()
	return b.mu.free.Add(b.mu.written)
}

// leastPause is the shortest sleep. Shorter ones cost more than they are worth: they add up
// until they are as long as this.
const leastPause = time.Millisecond

// pause sleeps for d, or until the attempt is killed, and adds the time to pausedFor.
func (a *SlotAttempt) pause(d time.Duration) {
	a.Waiting.Store(true)
	defer a.Waiting.Store(false)
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
	if d := time.Until(disks[a.Tracker].book(bytes)); d >= leastPause {
		a.pause(d)
	}
	a.DiskWait += a.pausedFor - before
}

// awaitCopy waits until a copier of the attempt is free, and makes it copy bytes of a map output.
// The copy takes as long as the tracker's network and the rate of the copier need. The copier that
// is free first takes it, so that copies of one rate end in their order. With one copier,
// awaitCopy also waits for the end of the copy; with several, lastCopiers does. awaitCopy fails
// when the attempt is killed.
func (a *SlotAttempt) awaitCopy(bytes int64) error {
	p := a.Env.Pace
	if p == nil || p.shuffle == nil && p.copiers.BytesPerSecond == 0 {
		return nil
	}
	if a.copiers == nil {
		a.copiers = make([]time.Time, p.copiers.Parallel)
	}
	first := 0
	for i, free := range a.copiers {
		if free.Before(a.copiers[first]) {
			first = i
		}
	}
	if err := a.sleepUntil(a.copiers[first]); err != nil {
		return err
	}
	// The copier may be free a little later than now, because the sleep was too short to be
	// worth it. The copy begins at that time all the same.
	begun := a.copiers[first]
	if now := time.Now(); begun.Before(now) {
		begun = now
	}
	ends := begun
	if p.copiers.BytesPerSecond > 0 {
		one := bandwidth{bytesPerSecond: p.copiers.BytesPerSecond}
		ends = begun.Add(one.takes(bytes))
	}
	if p.shuffle != nil && bytes > 0 {
		if through := p.shuffle[a.Tracker].book(bytes); through.After(ends) {
			ends = through
		}
	}
	a.copiers[first] = ends
	if p.copiers.Parallel > 1 {
		return nil
	}
	return a.sleepUntil(ends)
}

// lastCopiers waits until all copiers of the attempt are free.
func (a *SlotAttempt) lastCopiers() (err error) {
	for _, ends := range a.copiers {
		if err == nil {
			err = a.sleepUntil(ends)
		}
	}
	a.copiers = nil
	return err
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
		a.Env.Pace.disk[a.Tracker].write(e.Bytes)
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
		d := time.Until(a.Env.Pace.disk[a.Tracker].flushed())
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
		var part, total int64
		for p := range out.Parts() {
			_, keyBytes, valueBytes := out.PartBytes(p)
			total += keyBytes + valueBytes
			if p == int(a.ID.Task) {
				part = keyBytes + valueBytes
			}
		}
		if maker := a.Job.maker(out); maker != nil && total > 0 {
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
