package task

import (
	"context"
	"sync"
	"time"

	"mrlocal/internal/machine"
	"mrlocal/report"
	"mrlocal/slots"
	"mrlocal/spill/runs"
)

// Pace slows attempts down, to show effects that one machine does not have:
// narrow networks and disks. Slow trackers and remote inputs are in
// SlotAttempt.Stretch. An attempt sleeps; a kill ends the sleep, and it does not count
// as lack of progress.
type Pace struct {
	shuffle, disk []*bandwidth // by tracker; nil: unbounded
	copiers       Copiers
}

// Copiers bound what a reduce copies at a time, where copying takes time: Hadoop's copiers
// (mapred.reduce.parallel.copies), under cost l2 of the simulator cluster: {shuffle: ...}.
// The zero value is one copier, as fast as the tracker's network.
type Copiers struct {
	Parallel       int   // copiers of a reduce; 0: 1
	BytesPerSecond int64 // of one copier; 0: what the network gives
}

// NewPace makes the pace of trackers with these bandwidths each; 0: unbounded. It returns
// nil if nothing is bounded.
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

// bandwidth is a line through which the bytes of all attempts go one after the
// other. Reads go before writes, as in systems that write back: written bytes go
// through while nothing is read, or when an attempt waits for them.
type bandwidth struct {
	bytesPerSecond int64
	mu             struct {
		sync.Mutex
		free    time.Time     // when all reads are through
		written time.Duration // how long the writes take after that
	}
}

// takes returns how long bytes occupy the line.
func (b *bandwidth) takes(bytes int64) time.Duration {
	return time.Duration(float64(bytes) / float64(b.bytesPerSecond) * float64(time.Second))
}

// settle brings the line up to the present. b.mu is held.
func (b *bandwidth) settle() {
	// Since free nothing was read, so writes went through in that time.
	if now := time.Now(); b.mu.free.Before(now) {
		b.mu.written = max(0, b.mu.written-now.Sub(b.mu.free))
		b.mu.free = now
	}
}

// book reads bytes through the line and returns when they are through.
func (b *bandwidth) book(bytes int64) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.settle()
	b.mu.free = b.mu.free.Add(b.takes(bytes))
	return b.mu.free
}

// write puts bytes behind all reads.
func (b *bandwidth) write(bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.settle()
	b.mu.written += b.takes(bytes)
}

// flushed returns when all writes are through, if nothing is read until then.
func (b *bandwidth) flushed() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.settle()
	return b.mu.free.Add(b.mu.written)
}

// leastPause is the shortest sleep that is worth its cost. Shorter ones add up
// until they are as long.
const leastPause = time.Millisecond

// pause sleeps for d, or until the attempt is killed.
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

// through waits until bytes have gone through the tracker's line.
func (a *SlotAttempt) through(lines []*bandwidth, bytes int64) {
	if lines == nil || bytes <= 0 {
		return
	}
	if d := time.Until(lines[a.Tracker].book(bytes)); d >= leastPause {
		a.pause(d)
	}
}

// readFromDisk waits as long as the tracker's disk takes to read bytes.
func (a *SlotAttempt) readFromDisk(bytes int64) {
	before := a.pausedFor
	a.through(a.Env.Pace.disk, bytes)
	a.DiskWait += a.pausedFor - before
}

// copied waits until a copier of the attempt is free, and has it copy bytes of a map output.
// That takes as long as the tracker's network and the rate of a copy need. The copier that is
// free first takes it, so that copies of one rate end in their order. copied fails when the
// attempt is killed.
func (a *SlotAttempt) copied(bytes int64) error {
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
	if err := a.until(a.copiers[first]); err != nil {
		return err
	}
	// A wait that was too short to sleep is owed still.
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
	return a.until(ends) // a single copier hands over what it has copied
}

// lastCopiers waits until all copiers of the attempt are free.
func (a *SlotAttempt) lastCopiers() (err error) {
	for _, ends := range a.copiers {
		if err == nil {
			err = a.until(ends)
		}
	}
	a.copiers = nil
	return err
}

// until waits for a time. It fails when the attempt is killed.
func (a *SlotAttempt) until(t time.Time) error {
	if d := time.Until(t); d >= leastPause {
		a.pause(d)
	}
	if a.ctx.Err() != nil {
		return context.Cause(a.ctx)
	}
	return nil
}

// spilled books the writing of a spill, on any thread.
func (a *SlotAttempt) spilled(e *runs.Event) {
	if a.Env.Pace == nil || a.Env.Pace.disk == nil {
		return
	}
	switch e.Kind {
	case runs.SpillEnd, runs.MergePass, runs.Evict:
		a.Env.Pace.disk[a.Tracker].write(e.Bytes)
		a.onDisk.Add(e.Bytes)
	}
}

// written waits until the tracker's disk has taken what the attempt has spilled.
// The I/O period of a map lasts until then.
func (a *SlotAttempt) written() {
	if a.Env.Pace == nil || a.Env.Pace.disk == nil || a.onDisk.Load() == 0 {
		return
	}
	// Another attempt may read meanwhile, and reads go first, so the time is asked again.
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

// readSpills waits as long as the disk takes to read the attempt's part of what
// the makers of outputs have spilled. The part of an output is taken to be spilled
// in proportion to its share of that output.
func (a *SlotAttempt) readSpills(outputs []*runs.MapOutput) {
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

// drag sleeps for the work done so far, if the attempt is to take Stretch times as
// long and the sleep is at least least. An attempt cannot be made faster.
func (a *SlotAttempt) drag(least time.Duration) {
	if a.Stretch <= 1 {
		return
	}
	// Sleep of this function and of throttled lines is no work, and is not stretched.
	worked := time.Since(a.workingAt) - a.pausedFor
	if owed := time.Duration(float64(worked)*(a.Stretch-1)) - a.dragged; owed >= least {
		before := a.pausedFor
		a.pause(owed)
		a.dragged += a.pausedFor - before
	}
}

// atEnd is called by every attempt between its work and its commit. It sleeps what
// is left to sleep, and returns an error if the attempt is killed or an injected
// fault makes it fail.
func (a *SlotAttempt) atEnd() error {
	a.drag(1)
	switch {
	case a.Killed():
		return ErrKilled
	case a.Faulty:
		return errInjected
	}
	return nil
}

// measures is what an attempt has used so far, by phase. It belongs to the
// attempt's thread.
type measures struct {
	phases [slots.PhaseHeld + 1]report.Usage
	// The fields from here on are the readings at the start of the phase.
	now   slots.Phase
	begun time.Time
	cpu   time.Duration // of the thread and the helpers, when the phase began
	read  int64
	wrote int64
}

// Usage returns what the attempt has used in each phase, and ends the last phase.
// The attempt's thread calls it when all is done.
func (a *SlotAttempt) Usage() []report.Usage {
	a.measure(slots.PhaseNone)
	return a.measured.phases[:]
}

// measure ends a phase and begins the next one.
func (a *SlotAttempt) measure(next slots.Phase) {
	m := &a.measured
	cpu, read := machine.ThreadCPU()+time.Duration(a.helperCPU.Load()), a.Counters.MapInputBytes+a.CopyBytes
	wrote := a.spilledBytes.Load() + a.Counters.OutputBytes
	// An attempt that runs twice for want of memory enters a phase twice, so usage adds up.
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

// wrote counts what the kvbuffer or a merge writes, on any thread.
func (a *SlotAttempt) wrote(e *runs.Event) {
	switch e.Kind {
	case runs.SpillEnd, runs.MergePass, runs.Evict:
		a.spilledBytes.Add(e.Bytes)
	}
}

// helped returns f with its processor time added to the attempt's.
func (a *SlotAttempt) helped(f func()) func() {
	return func() {
		before := machine.ThreadCPU()
		defer func() { a.helperCPU.Add(int64(machine.ThreadCPU() - before)) }()
		f()
	}
}
