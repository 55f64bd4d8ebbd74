package engine

import "sync"

// inbox holds closures for the coordinator, which applies them in the order in
// which they were posted. It has no bound, so that posting never blocks. Even
// the coordinator may post, because an output may report from within a call of
// the coordinator. The number of closures is bounded by what running attempts
// have to report.
type inbox struct {
	wake chan struct{} // holds one token while closures wait
	mu   struct {
		sync.Mutex
		posted []func()
		closed bool
	}
}

func newInbox() *inbox { return &inbox{wake: make(chan struct{}, 1)} }

// post adds f. After close it drops f.
func (b *inbox) post(f func()) {
	b.mu.Lock()
	if !b.mu.closed {
		b.mu.posted = append(b.mu.posted, f)
	}
	b.mu.Unlock()
	// One token is enough: apply takes all closures that are there.
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// apply runs the closures that wait, and those that they post.
func (b *inbox) apply() {
	for {
		b.mu.Lock()
		posted := b.mu.posted
		b.mu.posted = nil
		b.mu.Unlock()
		if len(posted) == 0 {
			return
		}
		for _, f := range posted {
			f()
		}
	}
}

// close drops the closures that wait.
func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.closed, b.mu.posted = true, nil
}
