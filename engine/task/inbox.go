package task

import "sync"

// Inbox holds closures that other goroutines post for the coordinator of a run
// (docs/adr/0003). It owns them until the coordinator applies them, in the order in
// which they were posted. It has no bound, so that posting never blocks. Even the
// coordinator may post, because an output may report from within a call of the
// coordinator. The number of closures is bounded by what running attempts have to report.
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

// Post adds f. After Close it drops f.
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

// Apply runs the closures that wait, and those that they post.
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
