// Package pool keeps the slots' operating system threads: each locked, bound
// to its slot's core, and running one closure at a time.
//
// A slot has one thread for its tasks (Run) and, while a task wants them,
// helpers on the same core (Helper): spill sorts and decoders, so that one map
// slot never quietly uses two cores. Threads begin at first use. The pool
// knows nothing of tasks, kinds or policies, and interrupts nobody: a thread
// stuck in user code is given up (Abandon) and another one takes its slot.
//
// A closure that panics ends the process; user code's panics are caught by
// whoever calls user code. A closure that ends its goroutine (runtime.Goexit)
// only costs the thread, which is replaced.
//
// Neighbours: internal/affinity binds; package engine decides what runs.
package pool

import (
	"fmt"
	"runtime"
	"sync"

	"mrlocal/internal/affinity"
)

// Options say what threads to keep.
type Options struct {
	Cores []int // one entry a slot: the core its threads are bound to; -1: unbound
}

// Worker is where a closure runs.
type Worker struct {
	Slot int
	Core int // as the thread read it back from the kernel; -1: on any core
}

// Pool is the threads of all slots. Its methods may be called from any
// goroutine.
type Pool struct {
	slots  []slot
	ending sync.WaitGroup // threads that Close waits for
}

// slot is one slot's threads. Helpers that are done wait in idle.
type slot struct {
	number, wantCore int

	mu struct {
		sync.Mutex
		main   *thread
		idle   []*thread
		core   int
		closed bool
	}
}

// New makes a pool. Every distinct core is tried once; the errors say which
// cannot be bound to. Slots on those run unbound.
func New(o Options) (*Pool, []error) {
	usable, problems := probe(o.Cores)
	p := &Pool{slots: make([]slot, len(o.Cores))}
	for i, core := range o.Cores {
		if !usable[core] {
			core = -1
		}
		s := &p.slots[i]
		s.number, s.wantCore, s.mu.core = i, core, -1
	}
	return p, problems
}

// probe binds a thread of its own, which ends afterwards, to each distinct
// core in turn.
func probe(cores []int) (usable map[int]bool, problems []error) {
	usable = make(map[int]bool)
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		for _, core := range cores {
			if _, tried := usable[core]; tried || core < 0 {
				continue
			}
			err := affinity.Bind(core)
			if err == nil && affinity.Core() != core {
				err = fmt.Errorf("bind thread to core %d: the system put it elsewhere", core)
			}
			usable[core] = err == nil
			if err != nil {
				problems = append(problems, err)
			}
		}
	}()
	<-done
	return usable, problems
}

// Run hands f to the slot's thread and returns at once. Closures of a slot run
// in the order given, one at a time. It must not be called after Close.
func (p *Pool) Run(slot int, f func(w Worker)) {
	s := &p.slots[slot]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.closed {
		panic("pool: Run after Close")
	}
	p.mainThread(s).push(f)
}

// mainThread is the slot's own thread, begun if need be. s.mu is held.
func (p *Pool) mainThread(s *slot) *thread {
	if s.mu.main == nil {
		s.mu.main = newThread()
		p.start(s, s.mu.main)
	}
	return s.mu.main
}

// Helper runs f on another thread that is bound to the slot's core, and
// returns at once: on an idle helper, else on a new one, so that a helper that
// waits never holds up another. After Close, which only a thread that was
// abandoned can see, f runs on the caller.
func (p *Pool) Helper(slot int, f func()) {
	s := &p.slots[slot]
	s.mu.Lock()
	if s.mu.closed {
		s.mu.Unlock()
		f()
		return
	}
	var t *thread
	if n := len(s.mu.idle); n > 0 {
		t = s.mu.idle[n-1]
		s.mu.idle = s.mu.idle[:n-1]
	} else {
		t = newThread()
		p.start(s, t)
	}
	t.push(func(Worker) {
		defer p.rest(s, t)
		f()
	})
	s.mu.Unlock()
}

// rest puts a helper back among the idle ones, or lets it end.
func (p *Pool) rest(s *slot, t *thread) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.closed {
		t.finish()
		return
	}
	s.mu.idle = append(s.mu.idle, t)
}

// Core is the core of the slot's thread as the thread itself read it back; -1
// when it may run on any. It begins the thread if there is none yet.
func (p *Pool) Core(slot int) int {
	s := &p.slots[slot]
	s.mu.Lock()
	if s.wantCore < 0 || s.mu.closed {
		defer s.mu.Unlock()
		return s.mu.core
	}
	t := p.mainThread(s)
	s.mu.Unlock()
	<-t.bound
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.core
}

// Abandon gives up the slot's thread, which is stuck in a closure, and puts a
// new one in its place; closures that were still waiting run there. Close does
// not wait for the old thread. Should its closure ever return, the thread
// ends. It reports whether a closure was running.
func (p *Pool) Abandon(slot int) bool {
	s := &p.slots[slot]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.main == nil || s.mu.closed {
		return false
	}
	waiting, stuck := s.mu.main.abandon()
	if !stuck {
		return false
	}
	s.mu.main = nil
	p.ending.Done()
	for _, f := range waiting {
		p.mainThread(s).push(f)
	}
	return true
}

// Close lets every closure that was handed in run to its end and every thread
// end, except abandoned ones. It is idempotent and must not be called from a
// closure.
func (p *Pool) Close() {
	for i := range p.slots {
		s := &p.slots[i]
		s.mu.Lock()
		s.mu.closed = true
		if s.mu.main != nil {
			s.mu.main.finish()
		}
		for _, t := range s.mu.idle {
			t.finish()
		}
		s.mu.idle = nil
		s.mu.Unlock()
	}
	p.ending.Wait()
}
