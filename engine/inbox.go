package engine

import "sync"

// inbox is how the coordinator hears of everything: closures that it applies
// in the order they came. It has no bound, so that nobody who posts can block,
// not even the coordinator itself (an output may report from within a call
// that the coordinator made); there are never more letters than attempts in
// flight say.
type inbox struct {
	wake chan struct{} // holds one token while letters wait
	mu   struct {
		sync.Mutex
		letters []func()
		closed  bool
	}
}

func newInbox() *inbox { return &inbox{wake: make(chan struct{}, 1)} }

// post adds f; after close it is dropped.
func (b *inbox) post(f func()) {
	b.mu.Lock()
	if !b.mu.closed {
		b.mu.letters = append(b.mu.letters, f)
	}
	b.mu.Unlock()
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// apply runs what waits, and what that posts in turn. It reports whether there
// was anything.
func (b *inbox) apply() (any bool) {
	for {
		b.mu.Lock()
		letters := b.mu.letters
		b.mu.letters = nil
		b.mu.Unlock()
		if len(letters) == 0 {
			return any
		}
		any = true
		for _, f := range letters {
			f()
		}
	}
}

func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.closed, b.mu.letters = true, nil
}
