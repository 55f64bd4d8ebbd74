// Package shuffle knows which map output holds what of each partition, and
// hands reduces their inputs as maps commit.
//
// Within one machine a shuffle moves references, not bytes; it keeps Hadoop's
// shape all the same: a reduce attempt is in its copy phase (Fetch.Copy) until
// it has been handed the output of every map, each once, in the order in which
// maps committed. The policies reason about that phase.
//
// A map output is released when every part has been committed (a reduce may be
// tried again until then) or when it was lost, but never while a reduce
// attempt that was handed it is still open.
//
// Neighbours: spill makes the outputs and merges them; engine calls.
package shuffle

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// ErrLost ends a copy phase: an output that had been handed out is lost. The
// attempt starts anew, with a new Fetch, when the map has run again.
var ErrLost = errors.New("shuffle: a map output that was already copied is lost")

// ErrClosed ends a copy phase: the job is over.
var ErrClosed = errors.New("shuffle: closed")

// Output is a committed map output: *runs.MapOutput, or a fake in tests.
type Output interface {
	PartBytes(part int) (records, keyBytes, valueBytes int64)
	Release()
}

// PartReleaser is an optional ability of an Output: to free the memory of one
// part while others are still needed.
type PartReleaser interface {
	ReleasePart(part int)
}

// Shuffle is the shuffle of one job. Its methods may be called from any
// goroutine.
type Shuffle[O Output] struct {
	mu struct {
		sync.Mutex
		outputs   []*entry[O] // by map task; nil: not committed, or lost
		commits   []*entry[O] // in commit order, lost ones too
		committed int         // outputs that are there
		losses    int
		sealed    bool // no more maps will be added
		partsDone []bool
		doneCount int
		closed    bool
		changed   chan struct{} // closed, and made anew, at every change
	}
}

// entry is one committed output. holders are the open fetches that were handed
// it; a dead one (lost, or not needed any more) is released by the last.
type entry[O Output] struct {
	mapTask int
	out     O
	holders int
	lost    bool
	dead    bool
}

// New makes the shuffle of a job of maps tasks, as far as known (see Grow and
// Seal), and parts partitions.
func New[O Output](maps, parts int) *Shuffle[O] {
	s := &Shuffle[O]{}
	s.mu.outputs = make([]*entry[O], maps)
	s.mu.partsDone = make([]bool, parts)
	s.mu.changed = make(chan struct{})
	return s
}

// notify wakes whoever waits for a change. s.mu is held.
func (s *Shuffle[O]) notify() {
	close(s.mu.changed)
	s.mu.changed = make(chan struct{})
}

// Commit notes the output of a map task and owns it from then on. A map that
// has an output already (or a closed shuffle) makes the new one be released.
func (s *Shuffle[O]) Commit(mapTask int, out O) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grow(mapTask + 1)
	if s.mu.closed || s.mu.outputs[mapTask] != nil {
		out.Release()
		return
	}
	e := &entry[O]{mapTask: mapTask, out: out}
	s.mu.outputs[mapTask] = e
	s.mu.commits = append(s.mu.commits, e)
	s.mu.committed++
	s.freeDone(e)
	s.notify()
}

// freeDone frees what a map that ran again made for parts that need it no
// more. s.mu is held.
func (s *Shuffle[O]) freeDone(e *entry[O]) {
	if s.mu.doneCount == len(s.mu.partsDone) {
		e.bury()
		return
	}
	r, ok := any(e.out).(PartReleaser)
	for part, done := range s.mu.partsDone {
		if ok && done {
			r.ReleasePart(part)
		}
	}
}

// Lost takes back the output of a map task: nobody is handed it any more, and
// copy phases that were end with ErrLost.
func (s *Shuffle[O]) Lost(mapTask int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if mapTask >= len(s.mu.outputs) || s.mu.outputs[mapTask] == nil {
		return
	}
	e := s.mu.outputs[mapTask]
	s.mu.outputs[mapTask] = nil
	s.mu.committed--
	s.mu.losses++
	e.lost = true
	e.bury()
	s.notify()
}

// bury marks an output as not needed any more. s.mu is held.
func (e *entry[O]) bury() {
	if e.dead {
		return
	}
	e.dead = true
	if e.holders == 0 {
		e.out.Release()
	}
}

// Grow says that the job has at least maps tasks.
func (s *Shuffle[O]) Grow(maps int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grow(maps)
}

func (s *Shuffle[O]) grow(maps int) {
	for len(s.mu.outputs) < maps {
		s.mu.outputs = append(s.mu.outputs, nil)
	}
}

// Maps is how many maps the job has, as far as known.
func (s *Shuffle[O]) Maps() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.mu.outputs)
}

// Seal says that the number of maps is final.
func (s *Shuffle[O]) Seal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.sealed = true
	s.notify()
}

// Wait waits until more than have maps are committed, or all of a sealed
// number, and says how many there are and whether they are all.
func (s *Shuffle[O]) Wait(ctx context.Context, have int) (committed int, all bool, err error) {
	for {
		s.mu.Lock()
		committed, all = s.mu.committed, s.complete()
		closed, changed := s.mu.closed, s.mu.changed
		s.mu.Unlock()
		switch {
		case closed:
			return committed, false, ErrClosed
		case committed > have || all:
			return committed, all, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return committed, false, context.Cause(ctx)
		}
	}
}

func (s *Shuffle[O]) complete() bool { return s.mu.sealed && s.mu.committed == len(s.mu.outputs) }

// PartBytes adds up what the committed outputs hold of a part.
func (s *Shuffle[O]) PartBytes(part int) (records, keyBytes, valueBytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.mu.outputs {
		if e == nil {
			continue
		}
		r, k, v := e.out.PartBytes(part)
		records, keyBytes, valueBytes = records+r, keyBytes+k, valueBytes+v
	}
	return records, keyBytes, valueBytes
}

// Outputs lists the committed outputs in map order. They are valid as long as
// a Fetch that was handed them is open, or until the job's last part is done.
func (s *Shuffle[O]) Outputs() []O {
	s.mu.Lock()
	defer s.mu.Unlock()
	outs := make([]O, 0, s.mu.committed)
	for _, e := range s.mu.outputs {
		if e != nil {
			outs = append(outs, e.out)
		}
	}
	return outs
}

// PartDone notes that the reduce of a part has committed: its input is not
// needed again. After the last part everything is released.
func (s *Shuffle[O]) PartDone(part int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.partsDone[part] {
		return
	}
	s.mu.partsDone[part] = true
	s.mu.doneCount++
	for _, e := range s.mu.outputs {
		if e == nil || e.dead {
			continue
		}
		if s.mu.doneCount == len(s.mu.partsDone) {
			e.bury()
		} else if r, ok := any(e.out).(PartReleaser); ok {
			r.ReleasePart(part)
		}
	}
}

// Close ends the job's shuffle: copy phases end with ErrClosed and every
// output is released, those that an open Fetch holds when it is closed. It is
// idempotent.
func (s *Shuffle[O]) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.closed {
		return
	}
	s.mu.closed = true
	for _, e := range s.mu.outputs {
		if e != nil {
			e.bury()
		}
	}
	s.notify()
}

// check finds our own mistakes in a part's number.
func (s *Shuffle[O]) check(part int) error {
	if part < 0 || part >= len(s.mu.partsDone) {
		return fmt.Errorf("shuffle: part %d of %d", part, len(s.mu.partsDone))
	}
	return nil
}
