package task

import (
	"context"
	"sync"
	"time"

	"mrlocal/spill/runs"
)

// Pace slows attempts down where that was asked for, so that effects become
// visible that one machine does not have: narrow networks and disks, slow
// trackers, input that is elsewhere (Attempt.Stretch). Waiting is cooperative:
// a kill ends it, and it counts as waiting, not as lack of progress.
type Pace struct {
	shuffle, disk []*bandwidth // by tracker; nil: as fast as it goes
}

// NewPace makes the pace of so many trackers; 0: as fast as it goes.
func NewPace(trackers int, shuffleBytesPerSecond, diskBytesPerSecond int64) *Pace {
	p := &Pace{}
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

// bandwidth is a line that bytes go through one after the other, whoever they
// belong to. What is written gives way to what is read, as systems do that write
// back: it goes through while nobody reads, or when somebody waits for it.
type bandwidth struct {
	bytesPerSecond int64
	mu             struct {
		sync.Mutex
		free    time.Time     // when what was read is through
		written time.Duration // that what was written takes, behind it
	}
}

func (b *bandwidth) takes(bytes int64) time.Duration {
	return time.Duration(float64(bytes) / float64(b.bytesPerSecond) * float64(time.Second))
}

// settle brings the line up to now. b.mu is held.
func (b *bandwidth) settle() {
	if now := time.Now(); b.mu.free.Before(now) {
		b.mu.written = max(0, b.mu.written-now.Sub(b.mu.free))
		b.mu.free = now
	}
}

// book takes the line for bytes and returns when they are through.
func (b *bandwidth) book(bytes int64) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.settle()
	b.mu.free = b.mu.free.Add(b.takes(bytes))
	return b.mu.free
}

// write puts bytes behind what is read.
func (b *bandwidth) write(bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.settle()
	b.mu.written += b.takes(bytes)
}

// flushed is when all that was written is through, if nobody reads meanwhile.
func (b *bandwidth) flushed() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.settle()
	return b.mu.free.Add(b.mu.written)
}

// leastPause is not worth to sleep for; it adds up until it is.
const leastPause = time.Millisecond

// pause sleeps for d, or less where the attempt is killed.
func (a *Attempt) pause(d time.Duration) {
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
func (a *Attempt) through(lines []*bandwidth, bytes int64) {
	if lines == nil || bytes <= 0 {
		return
	}
	if d := time.Until(lines[a.Tracker].book(bytes)); d >= leastPause {
		a.pause(d)
	}
}

// readFromDisk waits as long as the tracker's disk takes to read input.
func (a *Attempt) readFromDisk(bytes int64) { a.through(a.Env.Pace.disk, bytes) }

// copied waits as long as the copy of a map's output takes.
func (a *Attempt) copied(bytes int64) error {
	if a.Env.Pace != nil {
		a.through(a.Env.Pace.shuffle, bytes)
		if a.ctx.Err() != nil {
			return context.Cause(a.ctx)
		}
	}
	return nil
}

// spilled books the writing of a spill, by whatever thread it was done.
func (a *Attempt) spilled(e *runs.Event) {
	if a.Env.Pace == nil || a.Env.Pace.disk == nil {
		return
	}
	switch e.Kind {
	case runs.SpillEnd, runs.MergePass, runs.Evict:
		a.Env.Pace.disk[a.Tracker].write(e.Bytes)
		a.onDisk.Add(e.Bytes)
	}
}

// written waits until the tracker's disk has taken what the attempt has spilled: an
// I/O period lasts so long.
func (a *Attempt) written() {
	if a.Env.Pace == nil || a.Env.Pace.disk == nil || a.onDisk.Load() == 0 {
		return
	}
	for a.ctx.Err() == nil {
		d := time.Until(a.Env.Pace.disk[a.Tracker].flushed())
		if d < leastPause {
			return
		}
		a.pause(d)
	}
}

// readSpills waits as long as the disk takes to read the part of the outputs
// that has been spilled, of each in proportion to what the part is of it.
func (a *Attempt) readSpills(outputs []*runs.MapOutput) {
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

// drag makes up for the work done so far: where it is to take so many times as
// long, the rest is slept. A tracker that is faster than the others is not
// made so.
func (a *Attempt) drag(least time.Duration) {
	if a.Stretch <= 1 {
		return
	}
	worked := time.Since(a.workingAt) - a.pausedFor
	if owed := time.Duration(float64(worked)*(a.Stretch-1)) - a.dragged; owed >= least {
		before := a.pausedFor
		a.pause(owed)
		a.dragged += a.pausedFor - before
	}
}

// atEnd is passed by every attempt that has done its work and has not
// committed it: the last of what it owes, and the failure that was asked for.
func (a *Attempt) atEnd() error {
	a.drag(1)
	switch {
	case a.Killed():
		return ErrKilled
	case a.Faulty:
		return ErrInjected
	}
	return nil
}
