// Package pool has the threads of slots: goroutines that are bound to operating-system threads, and
// those to cores. A closure that does not end is left behind with its thread, and the slot gets
// another one. A thread whose core is idle helps slots that are busy.
//
// Ownership: the run makes a Pool and closes it. Run and Helper may be called by one goroutine, the
// coordinator's; OnIdleCore by any.
package pool

import (
	"fmt"
	"runtime"
	"sync"

	"mrlocal/internal/machine"
)

// Pool has the operating system threads of all slots. A thread is locked to its goroutine,
// bound to the core of its slot, and runs one closure at a time. Methods may be called from any
// goroutine.
//
// A slot has three kinds of threads. Each starts when it is first used.
//
//   - One thread runs its tasks (Run). A thread that is stuck in user code can be abandoned
//     (Abandon). Another one takes its place.
//   - Helper threads on the same core sort spills and decode input (Helper). They share the
//     core with the task, so one map slot never uses two cores.
//   - A task may also use the helpers of another slot whose core is idle (OnIdleCore).
//
// A closure that panics ends the process, so callers of user code have to catch its panics. A
// closure that ends its goroutine (runtime.Goexit) ends only its thread, and the pool replaces
// the thread.
type Pool struct {
	// By slot number. The slice itself never changes, so it needs no lock.
	slots  []poolSlot
	ending sync.WaitGroup // threads that Close waits for
}

// poolSlot has the threads of one slot.
type poolSlot struct {
	wantCore int // core to bind to; -1: none

	mu struct {
		sync.Mutex
		main       *slotThread   // runs tasks; nil: not started yet
		idle       []*slotThread // helpers without a closure
		onIdleCore int           // closures of OnIdleCore that run
		core       int           // of the thread that was bound last, as the kernel reports it; -1: unbound
		closed     bool
	}
}

// New makes a pool. Slot i runs on cores[i]; -1: its threads are not bound. New tries to
// bind a thread to each core once, and returns an error for each core for which that fails. The
// threads of such a core run unbound. The caller has to call Close.
func New(cores []int) (*Pool, []error) {
	// The probe runs on a thread of its own. The caller's thread keeps its cores.
	usable, problems := probeCores(cores)
	p := &Pool{slots: make([]poolSlot, len(cores))}
	for i, core := range cores {
		// A slot without a core of its own still works, only less predictably.
		if !usable[core] {
			core = -1
		}
		s := &p.slots[i]
		s.wantCore, s.mu.core = core, -1
	}
	return p, problems
}

// probeCores binds a thread to each core once, and returns the cores for which that works.
func probeCores(cores []int) (usable map[int]bool, problems []error) {
	usable = make(map[int]bool)
	done := make(chan struct{})
	go func() {
		defer close(done)
		// The goroutine never unlocks its thread, so the thread ends with it. Otherwise another
		// goroutine would run on a thread that is bound to the last core.
		runtime.LockOSThread()
		for _, core := range cores {
			if _, tried := usable[core]; tried || core < 0 {
				continue
			}
			err := machine.BindThread(core)
			if err == nil && machine.ThreadCore() != core {
				// The call may succeed without an effect, for instance in a sandbox.
				err = fmt.Errorf("bind thread to core %d: the system put it elsewhere", core)
			}
			usable[core] = err == nil
			if err != nil {
				problems = append(problems, err)
			}
		}
	}()
	// The channel also makes usable and problems visible to this goroutine.
	<-done
	return usable, problems
}

// Run gives f to the thread of the slot and returns at once. The closures of a slot run one
// at a time, in the order of the calls. Run panics after Close.
func (p *Pool) Run(slot int, f func()) {
	s := &p.slots[slot]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.closed {
		// The engine closes the pool after its last attempt, so such a call is a bug.
		panic("pool: Run after Close")
	}
	p.mainThread(s).push(f)
}

// mainThread returns the thread for tasks, and starts it if need be. The caller holds s.mu, so
// that two callers do not start two threads.
func (p *Pool) mainThread(s *poolSlot) *slotThread {
	if s.mu.main == nil {
		s.mu.main = p.start(s)
	}
	return s.mu.main
}

// Helper runs f on a helper thread that is bound to the core of the slot, and returns at
// once. Each closure has a helper for itself, an idle one or a new one, so that a closure
// that waits never delays another. After Close, f runs on the calling thread before Helper
// returns. Only a thread that was abandoned can call Helper then.
func (p *Pool) Helper(slot int, f func()) {
	s := &p.slots[slot]
	s.mu.Lock()
	if s.mu.closed {
		s.mu.Unlock()
		f()
		return
	}
	var t *slotThread
	if n := len(s.mu.idle); n > 0 {
		t = s.mu.idle[n-1]
		s.mu.idle = s.mu.idle[:n-1]
	} else {
		t = p.start(s)
	}
	// rest runs even if f ends its goroutine, so that the helper is not lost.
	t.push(func() {
		defer p.rest(s, t)
		f()
	})
	s.mu.Unlock()
}

// rest returns a helper to the idle ones, or ends it after Close.
func (p *Pool) rest(s *poolSlot, t *slotThread) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.closed {
		t.finish()
		return
	}
	// Helpers are kept until Close: maps need them again and again.
	s.mu.idle = append(s.mu.idle, t)
}

// OnIdleCore runs f on a helper thread of another slot than slot, and returns true at once. No slot
// on the core of that helper runs anything. f has to call idle now and then, and to end soon once
// idle reports false: a task has got the core then. If all cores are busy, OnIdleCore returns false
// and does not run f.
func (p *Pool) OnIdleCore(slot int, f func(idle func() bool)) bool {
	for i := range p.slots {
		s := &p.slots[i]
		if i == slot || s.wantCore >= 0 && s.wantCore == p.slots[slot].wantCore || p.busy(i, true) {
			continue
		}
		s.mu.Lock()
		if s.mu.closed {
			s.mu.Unlock()
			return false
		}
		s.mu.onIdleCore++
		s.mu.Unlock()
		p.Helper(i, func() {
			defer func() {
				s.mu.Lock()
				s.mu.onIdleCore--
				s.mu.Unlock()
			}()
			f(func() bool { return !p.busy(i, false) })
		})
		return true
	}
	return false
}

// busy reports whether slot i, or another slot of its core, runs a task or, with helping, a closure of
// OnIdleCore. A slot without a core counts as a core of its own.
func (p *Pool) busy(i int, helping bool) bool {
	core := p.slots[i].wantCore
	for k := range p.slots {
		s := &p.slots[k]
		if k != i && (core < 0 || s.wantCore != core) {
			continue
		}
		s.mu.Lock()
		main, helps := s.mu.main, s.mu.onIdleCore > 0
		s.mu.Unlock()
		if helping && helps || main != nil && main.busy() {
			return true
		}
	}
	return false
}

// Core returns the core of the slot's thread, as the kernel reports it to the thread; -1: the
// thread is not bound. Core starts the thread if need be, and waits until it is bound.
func (p *Pool) Core(slot int) int {
	s := &p.slots[slot]
	s.mu.Lock()
	if s.wantCore < 0 || s.mu.closed {
		defer s.mu.Unlock()
		return s.mu.core
	}
	t := p.mainThread(s)
	s.mu.Unlock()
	// The lock is not held here, because bind takes it to store the core.
	<-t.bound
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.core
}

// Abandon replaces the thread of the slot, which is stuck in a closure. The closures that
// wait behind it run on a new thread. Close does not wait for the old thread. That thread ends
// if its closure ever returns. Abandon returns false and does nothing if no closure is running.
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
	// Close must not wait for the old thread any more. So Done is called here, and end does not
	// call it a second time.
	s.mu.main = nil
	p.ending.Done()
	for _, f := range waiting {
		p.mainThread(s).push(f)
	}
	return true
}

// Close waits until all closures have run and all threads have ended, except abandoned
// ones. It may be called more than once, but not from a closure.
func (p *Pool) Close() {
	for i := range p.slots {
		s := &p.slots[i]
		s.mu.Lock()
		// Helpers that are at work end in rest, which sees this flag.
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
	// No lock is held, because threads that end take it.
	p.ending.Wait()
}
