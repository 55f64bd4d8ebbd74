package task

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"mrlocal/spill/runs"
)

// errShuffleClosed ends a copy phase because the job is over.
var errShuffleClosed = errors.New("shuffle: closed")

// Shuffle passes the map outputs of one job to its reduces, as the maps commit.
//
// Within one machine a shuffle moves references, not bytes. It keeps the shape
// that it has in Hadoop. A reduce attempt is in its copy phase (Fetch.Copy)
// until it has the output of every map. It gets each once, in the order in which
// the maps committed. Slot policies reason about that phase.
//
// A Shuffle owns the outputs that were committed to it. It releases an output
// when every part has committed, because until then a reduce may be tried again,
// or when the output was lost. It never does that while a Fetch that has it is
// open. Its methods may be called from any goroutine.
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

// NewShuffle makes the shuffle of a job of parts partitions and, as far as is known,
// maps tasks (Grow, Seal).
func NewShuffle(maps, parts int) *Shuffle {
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

// Close ends the shuffle of the job. Copy phases end with errShuffleClosed. Every
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

// Fetch holds what one reduce attempt has copied. It keeps those outputs from
// being released until it is closed. The attempt closes it when it has read
// them, however the attempt ends. Copy and Outputs belong to one goroutine;
// Close may be called from any.
type Fetch struct {
	shuffle *Shuffle
	part    int
	seen    int // commits that next has looked at, in their order
	losses  int // of the shuffle, when held was last checked for lost outputs

	// Under shuffle.mu.
	held   []*committed
	closed bool
}

// Fetch begins the copy phase of a reduce attempt.
func (s *Shuffle) Fetch(part int) *Fetch { return &Fetch{shuffle: s, part: part} }

// Copy calls fn with the output of each map, once, in the order in which the
// maps committed. An output that is lost meanwhile is given up; Copy waits for the
// map to run again, and calls fn with its new output. It returns nil when it has
// all maps of a sealed number, and else errShuffleClosed, the error of fn or the cause of
// ctx. fn may be nil, and may take as long as a copy should take.
func (f *Fetch) Copy(ctx context.Context, fn func(mapTask int, out *runs.MapOutput) error) error {
	for {
		e, changed, err := f.next()
		switch {
		case err != nil:
			return err
		case e == nil && changed == nil:
			return nil
		case e == nil:
			select {
			case <-changed:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case fn != nil:
			if err := fn(e.mapTask, e.out); err != nil {
				return err
			}
		}
	}
}

// next holds and returns the next committed output. If there is none, changed
// is what to wait for, and nil when all maps have been copied.
func (f *Fetch) next() (e *committed, changed <-chan struct{}, err error) {
	s := f.shuffle
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.closed || f.closed {
		return nil, nil, errShuffleClosed
	}
	if err := s.check(f.part); err != nil {
		return nil, nil, err
	}
	if f.losses != s.mu.losses {
		f.held = slices.DeleteFunc(f.held, func(e *committed) bool { return e.lost && e.release() })
		f.losses = s.mu.losses
	}
	for f.seen < len(s.mu.commits) {
		e := s.mu.commits[f.seen]
		f.seen++
		if e.unused {
			continue
		}
		e.holders++
		f.held = append(f.held, e)
		return e, nil, nil
	}
	if s.complete() && len(f.held) == s.mu.live {
		return nil, nil, nil
	}
	return nil, s.mu.changed, nil
}

// Copied returns how many outputs it holds; lost ones no longer count once Copy goes on.
func (f *Fetch) Copied() int {
	f.shuffle.mu.Lock()
	defer f.shuffle.mu.Unlock()
	return len(f.held)
}

// Outputs lists what was copied, in map order: the order in which a merge
// returns equal keys.
func (f *Fetch) Outputs() []*runs.MapOutput {
	f.shuffle.mu.Lock()
	held := slices.Clone(f.held)
	f.shuffle.mu.Unlock()
	slices.SortFunc(held, func(a, b *committed) int { return a.mapTask - b.mapTask })
	outs := make([]*runs.MapOutput, len(held))
	for i, e := range held {
		outs[i] = e.out
	}
	return outs
}

// Close gives up everything that was copied. It may be called again.
func (f *Fetch) Close() {
	f.shuffle.mu.Lock()
	defer f.shuffle.mu.Unlock()
	f.closed = true
	for _, e := range f.held {
		e.release()
	}
	f.held = nil
}

// release takes back one holder, and returns true. s.mu is held.
func (e *committed) release() bool {
	e.holders--
	if e.unused && e.holders == 0 {
		e.out.Release()
	}
	return true
}
