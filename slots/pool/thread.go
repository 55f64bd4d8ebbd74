package pool

import (
	"runtime"
	"slices"
	"sync"

	"mrlocal/internal/affinity"
)

// thread is a goroutine locked to a thread of its own. It never unlocks, so
// the thread ends with it.
type thread struct {
	bound chan struct{} // closed when the thread has been bound and read back
	wake  sync.Cond     // on mu: the queue or a flag changed

	mu struct {
		sync.Mutex
		queue     []func(Worker)
		running   bool
		finishing bool // end when the queue is empty
		abandoned bool // end as soon as the running closure lets it
	}
}

func newThread() *thread {
	t := &thread{bound: make(chan struct{})}
	t.wake.L = &t.mu
	return t
}

func (p *Pool) start(s *slot, t *thread) {
	p.ending.Add(1)
	go p.loop(s, t)
}

// loop is the thread's life. Its deferred end also runs when a closure called
// runtime.Goexit; the rest of the queue then goes on in a new goroutine.
func (p *Pool) loop(s *slot, t *thread) {
	ended := false
	defer func() {
		if ended {
			p.end(t)
			return
		}
		if t.died() {
			go p.loop(s, t)
		}
	}()
	runtime.LockOSThread()
	w := Worker{Slot: s.number, Core: s.bind(t)}
	for f := t.next(); f != nil; f = t.next() {
		f(w)
	}
	ended = true
}

// end counts the thread out, unless Abandon has done that.
func (p *Pool) end(t *thread) {
	t.mu.Lock()
	counted := !t.mu.abandoned
	t.mu.Unlock()
	if counted {
		p.ending.Done()
	}
}

// bind binds the calling thread to the slot's core and notes what the kernel
// made of it. New has found the core usable; should a control group have
// shrunk since, the thread runs unbound and the report shows it.
func (s *slot) bind(t *thread) int {
	core := -1
	if s.wantCore >= 0 {
		if affinity.Bind(s.wantCore) == nil {
			core = affinity.Core()
		}
		s.mu.Lock()
		s.mu.core = core
		s.mu.Unlock()
	}
	select {
	case <-t.bound: // the thread replaces one that ended in a closure
	default:
		close(t.bound)
	}
	return core
}

func (t *thread) push(f func(Worker)) {
	t.mu.Lock()
	t.mu.queue = append(t.mu.queue, f)
	t.mu.Unlock()
	t.wake.Signal()
}

// next waits for a closure; nil means the thread ends.
func (t *thread) next() func(Worker) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.running = false
	for {
		switch {
		case t.mu.abandoned:
			return nil
		case len(t.mu.queue) > 0:
			f := t.mu.queue[0]
			t.mu.queue = slices.Delete(t.mu.queue, 0, 1)
			t.mu.running = true
			return f
		case t.mu.finishing:
			return nil
		}
		t.wake.Wait()
	}
}

// finish lets the thread end once its queue is empty.
func (t *thread) finish() {
	t.mu.Lock()
	t.mu.finishing = true
	t.mu.Unlock()
	t.wake.Signal()
}

// abandon marks a thread with a running closure as given up and takes over
// what was waiting behind it.
func (t *thread) abandon() (waiting []func(Worker), stuck bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.mu.running {
		return nil, false
	}
	t.mu.abandoned = true
	waiting, t.mu.queue = t.mu.queue, nil
	return waiting, true
}

// died notes that a closure ended its goroutine and reports whether the thread
// is still wanted.
func (t *thread) died() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.running = false
	return !t.mu.abandoned
}
