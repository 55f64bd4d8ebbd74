// Package shuffle passes the map outputs of a job to its reduces, as the maps
// commit.
//
// Within one machine a shuffle moves references, not bytes. It keeps the shape
// that it has in Hadoop. A reduce attempt is in its copy phase (Fetch.Copy)
// until it has the output of every map. It gets each once, in the order in which
// the maps committed. Slot policies reason about that phase.
//
// A Shuffle owns the outputs that were committed to it. It releases an output
// when every part has committed, because until then a reduce may be tried again,
// or when the output was lost. It never does that while a Fetch that has it is
// open.
//
// Neighbours: package runs makes the outputs and merges them; engine calls.
package shuffle

import (
	"errors"
	"fmt"
	"sync"

	"mrlocal/spill/runs"
)

// ErrClosed ends a copy phase because the job is over.
var ErrClosed = errors.New("shuffle: closed")

// Shuffle is the shuffle of one job. Its methods may be called from any
// goroutine.
type Shuffle struct {
	mu struct {
		sync.Mutex
		outputs   []*committed // by map task; nil: not committed, or lost
		commits   []*committed // in the order of the commits, lost ones too
		live      int          // outputs that are not nil
		losses    int
		sealed    bool // the number of maps is final
		partsDone []bool
		doneCount int
		closed    bool
		changed   chan struct{} // closed, and made anew, at every change
	}
}

// committed is the output of one map attempt.
type committed struct {
	mapTask int
	out     *runs.MapOutput
	holders int  // open fetches that have it
	lost    bool // its map runs again
	unused  bool // lost, or no part needs it: released with its last holder
}

// New makes the shuffle of a job of parts partitions and, as far as is known,
// maps tasks (Grow, Seal).
func New(maps, parts int) *Shuffle {
	s := &Shuffle{}
	s.mu.outputs = make([]*committed, maps)
	s.mu.partsDone = make([]bool, parts)
	s.mu.changed = make(chan struct{})
	return s
}

// notify wakes every Fetch that waits for a change. s.mu is held.
func (s *Shuffle) notify() {
	close(s.mu.changed)
	s.mu.changed = make(chan struct{})
}

// Commit takes the output of a map task over. It releases an output that the
// job does not need. That is the second one of a map task, or one that comes
// when all parts are done or the shuffle is closed.
func (s *Shuffle) Commit(mapTask int, out *runs.MapOutput) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grow(mapTask + 1)
	if s.mu.closed || s.mu.outputs[mapTask] != nil {
		out.Release()
		return
	}
	e := &committed{mapTask: mapTask, out: out}
	s.mu.outputs[mapTask] = e
	s.mu.commits = append(s.mu.commits, e)
	s.mu.live++
	if s.allDone() {
		e.drop()
	}
	s.notify()
}

// Lost takes back the output of a map task: no Fetch gets it any more. Copy phases
// that have it give it up, and wait until the map has run again.
func (s *Shuffle) Lost(mapTask int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if mapTask >= len(s.mu.outputs) || s.mu.outputs[mapTask] == nil {
		return
	}
	e := s.mu.outputs[mapTask]
	s.mu.outputs[mapTask] = nil
	s.mu.live--
	s.mu.losses++
	e.lost = true
	e.drop()
	s.notify()
}

// drop marks an output as unused. s.mu is held.
func (e *committed) drop() {
	if e.unused {
		return
	}
	e.unused = true
	if e.holders == 0 {
		e.out.Release()
	}
}

// Grow says that the job has at least maps tasks.
func (s *Shuffle) Grow(maps int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grow(maps)
}

func (s *Shuffle) grow(maps int) {
	for len(s.mu.outputs) < maps {
		s.mu.outputs = append(s.mu.outputs, nil)
	}
}

// Maps returns how many maps the job has, as far as is known.
func (s *Shuffle) Maps() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.mu.outputs)
}

// Seal says that the number of maps is final.
func (s *Shuffle) Seal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.sealed = true
	s.notify()
}

// complete reports whether the outputs of all maps are there. s.mu is held.
func (s *Shuffle) complete() bool { return s.mu.sealed && s.mu.live == len(s.mu.outputs) }

// allDone reports whether all parts have committed. s.mu is held.
func (s *Shuffle) allDone() bool { return s.mu.doneCount == len(s.mu.partsDone) }

// PartBytes adds up what the committed outputs hold of a part.
func (s *Shuffle) PartBytes(part int) (records, keyBytes, valueBytes int64) {
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

// PartDone says that the reduce of a part has committed, so that its input is
// not needed again. After the last part all outputs are released.
func (s *Shuffle) PartDone(part int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.partsDone[part] {
		return
	}
	s.mu.partsDone[part] = true
	s.mu.doneCount++
	if s.allDone() {
		s.dropAll()
	}
}

// dropAll marks all outputs as unused. s.mu is held.
func (s *Shuffle) dropAll() {
	for _, e := range s.mu.outputs {
		if e != nil {
			e.drop()
		}
	}
}

// Close ends the shuffle of the job. Copy phases end with ErrClosed. Every
// output is released, at the latest when the last Fetch that has it is closed.
// It may be called again.
func (s *Shuffle) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.closed {
		return
	}
	s.mu.closed = true
	s.dropAll()
	s.notify()
}

// check finds a part number that the caller has wrong.
func (s *Shuffle) check(part int) error {
	if part < 0 || part >= len(s.mu.partsDone) {
		return fmt.Errorf("shuffle: part %d of %d", part, len(s.mu.partsDone))
	}
	return nil
}
