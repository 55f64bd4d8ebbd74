package shuffle

import (
	"context"
	"slices"

	"mrlocal/spill/runs"
)

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
// all maps of a sealed number, and else ErrClosed, the error of fn or the cause of
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
		return nil, nil, ErrClosed
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
