package engine

import "sync"

// Inbox holds closures that other goroutines post for the coordinator of a run
// (docs/adr/0003). The coordinator applies them in the order in which they were posted.
//
// The inbox has no bound, so that Post never blocks. The coordinator itself may post: an
// output may report to the inbox while the coordinator calls the output. Running attempts,
// feeders and outputs have little to report, so the inbox stays small.
type Inbox struct {
	Wake chan struct{} // holds one token while closures wait
	mu   struct {
		sync.Mutex
		posted []func()
		closed bool
	}
}

// NewInbox returns an empty inbox.
func NewInbox() *Inbox { return &Inbox{Wake: make(chan struct{}, 1)} }

// Post adds f, from any goroutine, and wakes the coordinator. After Close it drops f.
func (b *Inbox) Post(f func()) {
	b.mu.Lock()
	if !b.mu.closed {
		b.mu.posted = append(b.mu.posted, f)
	}
	b.mu.Unlock()
	// One token is enough: Apply takes all closures that are there.
	select {
	case b.Wake <- struct{}{}:
	default:
	}
}

// Apply runs the closures that wait, and then those that these have posted. Only the
// coordinator calls it.
func (b *Inbox) Apply() {
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

// Close drops the closures that wait.
func (b *Inbox) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.closed, b.mu.posted = true, nil
}
