package pool

import (
	"runtime"
	"slices"
	"sync"

	"mrlocal/internal/invariant"
	"mrlocal/internal/machine"
)

// slotThread is a goroutine that is locked to an operating system thread, with a queue of
// closures. The goroutine never unlocks, so that the operating system thread ends with it. No
// other goroutine then inherits a bound thread.
type slotThread struct {
	bound chan struct{} // closed once the thread is bound and its core is known
	wake  sync.Cond     // on mu; signalled when the queue or a flag changes

	mu struct {
		sync.Mutex
		queue   []func()
		running bool // a closure runs
		state   threadState
	}
}

// threadState is how long a thread runs.
type threadState uint8

const (
	threadOpen      threadState = iota // until Close or Abandon
	threadFinishing                    // until its queue is empty
	threadAbandoned                    // until the running closure returns
)

func (s threadState) String() string { return [...]string{"open", "finishing", "abandoned"}[s] }

// Next lists the states that may follow s, for checked builds.
func (s threadState) Next() []threadState {
	return [...][]threadState{{threadFinishing, threadAbandoned}, nil, nil}[s] // Abandon does nothing after Close
}

// start starts a thread of a slot. Close waits for it from then on.
func (p *Pool) start(s *poolSlot) *slotThread {
	t := &slotThread{bound: make(chan struct{})}
	t.wake.L = &t.mu
	p.ending.Add(1)
	go p.loop(s, t)
	return t
}

// loop runs the closures of a thread. If a closure calls runtime.Goexit, the deferred
// function still runs, and a new goroutine goes on with the queue.
func (p *Pool) loop(s *poolSlot, t *slotThread) {
	// The last line of loop sets ended. A closure that calls Goexit skips that line.
	ended := false
	defer func() {
		t.mu.Lock()
		abandoned := t.mu.state == threadAbandoned
		t.mu.running = false
		t.mu.Unlock()
		switch {
		case abandoned: // Abandon has counted it off
		case ended:
			p.ending.Done()
		default: // a closure has ended the goroutine (runtime.Goexit)
			go p.loop(s, t)
		}
	}()
	runtime.LockOSThread()
	s.bind(t)
	for f := t.next(); f != nil; f = t.next() {
		f()
	}
	ended = true
}

// bind binds the calling thread to the core of the slot and notes the core that the kernel
// reports. NewPool has tried the core. If the control group of the process has lost the core
// since then, the thread runs unbound, and the report shows that.
func (s *poolSlot) bind(t *slotThread) {
	if s.wantCore >= 0 {
		core := -1
		if machine.BindThread(s.wantCore) == nil {
			core = machine.ThreadCore()
		}
		// Core and the report read the core from any goroutine.
		s.mu.Lock()
		s.mu.core = core
		s.mu.Unlock()
	}
	select {
	case <-t.bound: // already closed: this goroutine replaces one that a closure has ended
	default:
		close(t.bound)
	}
}

// push adds f to the queue.
func (t *slotThread) push(f func()) {
	t.mu.Lock()
	t.mu.queue = append(t.mu.queue, f)
	t.mu.Unlock()
	t.wake.Signal()
}

// next waits for a closure and returns it; nil: the thread has to end.
func (t *slotThread) next() func() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.running = false
	for {
		switch {
		// Closures that were pushed before Close still run.
		case t.mu.state == threadAbandoned || t.mu.state == threadFinishing && len(t.mu.queue) == 0:
			return nil
		case len(t.mu.queue) > 0:
			f := t.mu.queue[0]
			// The queue is short: the engine gives a slot its next attempt when one has ended.
			// Delete clears the place, so that the closure can be freed.
			t.mu.queue = slices.Delete(t.mu.queue, 0, 1)
			t.mu.running = true
			return f
		}
		t.wake.Wait()
	}
}

// busy reports whether a closure runs or waits.
func (t *slotThread) busy() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mu.running || len(t.mu.queue) > 0
}

// finish lets the thread end when its queue is empty.
func (t *slotThread) finish() {
	t.mu.Lock()
	invariant.Reach(&t.mu.state, threadFinishing)
	t.mu.Unlock()
	t.wake.Signal()
}

// abandon marks a thread with a running closure as abandoned, and returns the closures that
// wait behind it. stuck is false if no closure is running.
func (t *slotThread) abandon() (waiting []func(), stuck bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.mu.running {
		return nil, false
	}
	invariant.Move(&t.mu.state, threadAbandoned)
	// The closures now belong to the caller. The stuck thread must not run them a second time.
	waiting, t.mu.queue = t.mu.queue, nil
	return waiting, true
}
