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

// This file slows attempts down, to show effects that one machine does not have: narrow networks
// and disks, slow trackers, remote inputs. An attempt is slowed down by sleeping. A kill ends the
// sleep, and a sleeping attempt does not time out. The file also measures attempts by phase.

// bandwidths returns a line of bytesPerSecond for each tracker; nil for 0: unbounded.
func bandwidths(trackers int, bytesPerSecond int64) (lines []*shuffle.Bandwidth) {
	for i := 0; i < trackers && bytesPerSecond > 0; i++ {
		lines = append(lines, &shuffle.Bandwidth{BytesPerSecond: bytesPerSecond})
	}
	return lines
}

// slowsData reports whether a network, a disk or a copier is slowed down.
func (r *run) slowsData() bool {
	return r.networks != nil || r.disks != nil || r.o.Copiers.BytesPerSecond > 0
}

// lineOf returns the attempt's line of a network or disk of each tracker; nil: unbounded.
func (a *attempt) lineOf(trackers []*shuffle.Bandwidth) *shuffle.Bandwidth {
	if trackers == nil {
		return nil
	}
	return trackers[a.tracker]
}

// leastPause is the shortest sleep. Shorter ones cost more than they are worth: they add up
// until they are as long as this.
const leastPause = time.Millisecond

// pause sleeps for d, or until the attempt is killed. It returns the time that it has slept, and adds it to
// pausedFor.
func (a *attempt) pause(d time.Duration) (slept time.Duration) {
	defer a.waiting.Store(a.waiting.Swap(true)) // a copy phase waits on behind its sleeps
	timer := time.NewTimer(d)
	defer timer.Stop()
	begun := time.Now()
	select {
	case <-timer.C:
	case <-a.ctx.Done():
	}
	slept = time.Since(begun)
	a.pausedFor += slept
	return slept
}

// readFromDisk waits as long as the tracker's disk takes to read the given number of bytes. It does not wait
// if disks are unbounded.
func (a *attempt) readFromDisk(bytes int64) {
	disk := a.lineOf(a.run.disks)
	if disk == nil || bytes <= 0 {
		return
	}
	if d := time.Until(disk.Read(bytes)); d >= leastPause {
		a.diskWait += a.pause(d)
	}
}

// sleepUntil waits until t. It fails when the attempt is killed.
func (a *attempt) sleepUntil(t time.Time) error {
	if d := time.Until(t); d >= leastPause {
		a.pause(d)
	}
	if a.ctx.Err() != nil {
		return context.Cause(a.ctx)
	}
	return nil
}

// awaitDisk waits until the tracker's disk has written what the attempt has spilled. The I/O
// period of a map lasts until then.
func (a *attempt) awaitDisk() {
	disk := a.lineOf(a.run.disks)
	if disk == nil || a.spilledBytes.Load() == 0 {
		return
	}
	// Another attempt may read meanwhile, and reads go first. So the time is computed anew after
	// each sleep.
	for a.ctx.Err() == nil {
		d := time.Until(disk.Flushed())
		if d < leastPause {
			return
		}
		a.diskWait += a.pause(d)
	}
}

// readSpills waits as long as the disk takes to read the reduce's part of all spills of the
// maps. For each output it counts the bytes that the map has spilled, times the part's share
// of the output.
func (a *reduceAttempt) readSpills(outputs []*shuffle.MapOutput) {
	if a.run.disks == nil {
		return
	}
	var bytes int64
	for _, out := range outputs {
		var total int64
		for p := range out.Parts() {
			total += out.Part(p).Bytes()
		}
		if maker, known := a.job.makers.Load(out); known && total > 0 {
			part := out.Part(int(a.id.Task)).Bytes()
			bytes += int64(float64(maker.(*attempt).spilledBytes.Load()) * float64(part) / float64(total))
		}
	}
	a.readFromDisk(bytes)
}

// stretch sleeps, so that the work done so far takes slowdown times as long. It does not sleep
// for less than least. A slowdown below 1 has no effect, because no sleep makes an attempt faster.
func (a *attempt) stretch(least time.Duration) {
	if a.slowdown <= 1 {
		return
	}
	// Sleeps of this function and at slowed-down lines are not work, and are not stretched.
	worked := time.Since(a.workingAt) - a.pausedFor
	if owed := time.Duration(float64(worked)*(a.slowdown-1)) - a.stretched; owed >= least {
		a.stretched += a.pause(owed)
	}
}

// atEnd is called by every attempt between its work and its commit. It sleeps for what stretch
// has left to sleep. It returns an error if the attempt is killed, or if an injected fault makes
// it fail.
func (a *attempt) atEnd() error {
	a.stretch(1)
	switch {
	case a.killed():
		return jobs.ErrKilled
	case a.faulty:
		return errInjected
	}
	return nil
}

// usage is what attempts have used, by phase.
type usage [slots.PhaseHeld + 1]report.Usage

// measures is what an attempt has used so far, by phase. It belongs to the
// attempt's thread.
type measures struct {
	phases usage
	now    slots.Phase // the current phase; PhaseNone: not begun, or ended
	// The fields from here on are the readings at the start of the current phase.
	begun time.Time
	cpu   time.Duration // of the thread and the helpers
	read  int64         // bytes of input and copies; of copied bytes, only those from files
	wrote int64         // bytes of spills and output
}

// measure ends a phase and begins the next one.
func (a *attempt) measure(next slots.Phase) {
	m := &a.measured
	cpu, read := machine.ThreadCPU()+time.Duration(a.helperCPU.Load()), a.counters.MapInputBytes+a.copyRead
	wrote := a.spilledBytes.Load() + a.counters.OutputBytes
	// An attempt that starts again enters a phase twice, and its usage adds up.
	if m.now != slots.PhaseNone {
		u := &m.phases[m.now]
		u.Attempts = 1
		u.WallS += time.Since(m.begun).Seconds()
		u.CPUS += (cpu - m.cpu).Seconds()
		u.ReadBytes += read - m.read
		u.WrittenBytes += wrote - m.wrote
		if a.lease != nil {
			u.PeakBytes = max(u.PeakBytes, a.lease.Peak())
		}
	}
	m.now = next
	m.begun = time.Now()
	m.cpu = cpu
	m.read = read
	m.wrote = wrote
}
