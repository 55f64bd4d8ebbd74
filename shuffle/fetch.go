package shuffle

import (
	"context"
	"slices"
)

// Fetch is what one reduce attempt has been handed. It keeps those outputs
// from being released until it is closed, which the attempt does when it has
// read them, however it ends. Copy and Outputs belong to one goroutine; Close
// may be called from any.
type Fetch[O Output] struct {
	shuffle *Shuffle[O]
	part    int
	seen    int         // of the commits, in their order
	losses  int         // of the shuffle, when held was last looked through
	held    []*entry[O] // under shuffle.mu
	closed  bool        // under shuffle.mu
}

// Fetch begins a reduce attempt's copy phase.
func (s *Shuffle[O]) Fetch(part int) *Fetch[O] { return &Fetch[O]{shuffle: s, part: part} }

// Copy hands each map's output to fn, once, in the order in which the maps
// committed, and returns when it has handed out those of all maps of a sealed
// number. It ends early with ErrLost, ErrClosed, fn's error or ctx's cause.
// fn may be nil, or wait as long as a copy should take.
func (f *Fetch[O]) Copy(ctx context.Context, fn func(mapTask int, out O) error) error {
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
			continue
		}
		if err := f.hand(ctx, e, fn); err != nil {
			return err
		}
	}
}

func (f *Fetch[O]) hand(ctx context.Context, e *entry[O], fn func(mapTask int, out O) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if fn == nil {
		return nil
	}
	return fn(e.mapTask, e.out)
}

// next takes hold of the next committed output; without one it says what to
// wait for, or nothing when all have been handed out.
func (f *Fetch[O]) next() (*entry[O], <-chan struct{}, error) {
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
		if slices.ContainsFunc(f.held, func(e *entry[O]) bool { return e.lost }) {
			return nil, nil, ErrLost
		}
		f.losses = s.mu.losses
	}
	for f.seen < len(s.mu.commits) {
		e := s.mu.commits[f.seen]
		f.seen++
		if e.dead {
			continue
		}
		e.holders++
		f.held = append(f.held, e)
		return e, nil, nil
	}
	if s.complete() && len(f.held) == s.mu.committed {
		return nil, nil, nil
	}
	return nil, s.mu.changed, nil
}

// Outputs lists what was handed out, in map order: the order in which a merge
// resolves ties.
func (f *Fetch[O]) Outputs() []O {
	f.shuffle.mu.Lock()
	held := slices.Clone(f.held)
	f.shuffle.mu.Unlock()
	slices.SortFunc(held, func(a, b *entry[O]) int { return a.mapTask - b.mapTask })
	outs := make([]O, len(held))
	for i, e := range held {
		outs[i] = e.out
	}
	return outs
}

// Close lets go of everything that was handed out. It is idempotent.
func (f *Fetch[O]) Close() {
	f.shuffle.mu.Lock()
	defer f.shuffle.mu.Unlock()
	f.closed = true
	for _, e := range f.held {
		e.holders--
		if e.dead && e.holders == 0 {
			e.out.Release()
		}
	}
	f.held = nil
}
