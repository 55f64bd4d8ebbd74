package pool

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"mrlocal/internal/machine"
	"mrlocal/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(testkit.Transitions{M: m}) }

func newPool(t *testing.T, cores ...int) *Pool {
	t.Helper()
	p, problems := New(cores)
	for _, err := range problems {
		t.Errorf("NewPool: %v", err)
	}
	t.Cleanup(p.Close)
	return p
}

// allowed returns the cores of the test, or only -1 if threads cannot be bound.
func allowed() []int {
	cores, err := machine.AllowedCores()
	if err != nil {
		return []int{-1}
	}
	return cores
}

func TestEachSlotRunsOnItsCoreAsReadBackThere(t *testing.T) {
	cores := allowed()
	want := append(append([]int{}, cores...), cores[0], -1)
	p := newPool(t, want...)
	for slot, core := range want {
		seen := make(chan int)
		p.Run(slot, func() { seen <- boundTo() })
		if got := <-seen; core >= 0 && got != core {
			t.Errorf("slot %d: the thread is on core %d, want %d", slot, got, core)
		}
		if got := p.Core(slot); got != core {
			t.Errorf("Core(%d) = %d, want %d", slot, got, core)
		}
		helper := make(chan int)
		p.Helper(slot, func() { helper <- boundTo() })
		if got := <-helper; core >= 0 && got != core {
			t.Errorf("helper of slot %d is on core %d, want %d", slot, got, core)
		}
	}
}

func boundTo() int { return machine.ThreadCore() }

func TestCoreIsKnownBeforeAnythingRan(t *testing.T) {
	cores := allowed()
	p := newPool(t, cores[0])
	if got := p.Core(0); got != cores[0] {
		t.Errorf("got %d, want %d", got, cores[0])
	}
}

func TestACoreThatCannotBeHadIsOneProblemAndItsSlotsRunUnbound(t *testing.T) {
	if allowed()[0] < 0 {
		t.Skip("threads cannot be bound here")
	}
	const noSuchCore = 900
	p, problems := New([]int{noSuchCore, noSuchCore, allowed()[0]})
	defer p.Close()
	if len(problems) != 1 {
		t.Errorf("problems %v, want one", problems)
	}
	ran := make(chan struct{})
	p.Run(1, func() { close(ran) })
	<-ran
	if got := p.Core(1); got != -1 {
		t.Errorf("on core %d, want -1", got)
	}
}

func TestClosuresOfASlotRunInOrderOneAtATime(t *testing.T) {
	p := newPool(t, -1, -1)
	var running atomic.Int32
	var got []int
	for i := range 1000 {
		p.Run(0, func() {
			if running.Add(1) != 1 {
				t.Error("two at a time")
			}
			got = append(got, i)
			running.Add(-1)
		})
	}
	p.Close()
	for i, n := range got {
		if n != i {
			t.Fatalf("place %d holds closure %d", i, n)
		}
	}
	if len(got) != 1000 {
		t.Errorf("%d ran", len(got))
	}
}

func TestSlotsRunBesideEachOther(t *testing.T) {
	p := newPool(t, -1, -1)
	meet := make(chan struct{})
	var both sync.WaitGroup
	both.Add(2)
	p.Run(0, func() { defer both.Done(); meet <- struct{}{} })
	p.Run(1, func() { defer both.Done(); <-meet })
	both.Wait()
}

func TestAHelperThatWaitsDoesNotHoldUpAnother(t *testing.T) {
	p := newPool(t, -1)
	hold, done := make(chan struct{}), make(chan struct{})
	p.Helper(0, func() { <-hold })
	p.Helper(0, func() { close(hold) })
	p.Run(0, func() { p.Helper(0, func() { close(done) }) })
	<-done
}

func TestHelpersAreUsedAgain(t *testing.T) {
	p := newPool(t, -1)
	for range 100 {
		done := make(chan struct{})
		p.Helper(0, func() { close(done) })
		<-done
		for !idle(p, 0) {
			runtime.Gosched()
		}
	}
	if n := len(p.slots[0].mu.idle); n != 1 {
		t.Errorf("%d helpers for one closure at a time", n)
	}
}

func TestBesideRunsOnlyOnAnIdleCore(t *testing.T) {
	p := newPool(t, -1, -1)
	hold, running := make(chan struct{}), make(chan struct{})
	begin := func(slot int) { p.Run(slot, func() { running <- struct{}{}; <-hold }) }
	begin(0)
	<-running
	seen := make(chan bool)
	look := make(chan struct{})
	if !p.OnIdleCore(0, func(idle func() bool) {
		for range look {
			seen <- idle()
		}
		close(seen)
	}) {
		t.Fatal("slot 1 is idle")
	}
	if look <- struct{}{}; !<-seen {
		t.Error("slot 1 was taken for busy")
	}
	if p.OnIdleCore(0, func(func() bool) {}) {
		t.Error("two ran along with slot 0, and there is one slot more")
	}
	begin(1)
	<-running
	if look <- struct{}{}; <-seen {
		t.Error("slot 1 was taken for idle")
	}
	close(look)
	for range seen {
	}
	if p.OnIdleCore(0, func(func() bool) {}) {
		t.Error("both slots run tasks")
	}
	close(hold)
	p.Close()
	if p.OnIdleCore(0, func(func() bool) {}) {
		t.Error("ran after Close")
	}
}

func TestBesideSkipsSlotsOfTheCallersCore(t *testing.T) {
	cores := allowed()
	if cores[0] < 0 {
		t.Skip("threads cannot be bound here")
	}
	p := newPool(t, cores[0], cores[0], cores[len(cores)-1])
	on := make(chan int, 1)
	switch ran := p.OnIdleCore(0, func(func() bool) { on <- boundTo() }); {
	case ran != (len(cores) > 1):
		t.Errorf("%d cores: ran %v", len(cores), ran)
	case ran:
		if got := <-on; got != cores[len(cores)-1] {
			t.Errorf("on core %d, want %d", got, cores[len(cores)-1])
		}
	}
}

func idle(p *Pool, slot int) bool {
	s := &p.slots[slot]
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.mu.idle) > 0
}

func TestAnAbandonedThreadIsReplacedAndItsQueueGoesOn(t *testing.T) {
	cores := allowed()
	p := newPool(t, cores[0])
	if p.Abandon(0) {
		t.Error("abandoned a slot without a thread")
	}
	stuck, begun, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	p.Run(0, func() {
		close(begun)
		<-stuck
		close(ended)
	})
	<-begun
	queued := make(chan int, 1)
	p.Run(0, func() { queued <- boundTo() })
	if !p.Abandon(0) {
		t.Fatal("nothing was abandoned")
	}
	if got := <-queued; cores[0] >= 0 && got != cores[0] {
		t.Errorf("the new thread is on core %d, want %d", got, cores[0])
	}
	closed := make(chan struct{})
	go func() { p.Close(); close(closed) }()
	select {
	case <-closed:
	case <-time.After(5 * time.Second):
		t.Fatal("Close waits for the abandoned thread")
	}
	ran := false
	p.Helper(0, func() { ran = true })
	if !ran {
		t.Error("a helper after Close did not run on its caller")
	}
	close(stuck)
	<-ended
}

func TestAnIdleThreadIsNotAbandoned(t *testing.T) {
	p := newPool(t, -1)
	done := make(chan struct{})
	p.Run(0, func() { close(done) })
	<-done
	for range 1000 {
		if !p.Abandon(0) {
			return
		}
	}
	t.Error("an idle thread was abandoned again and again")
}

func TestAClosureThatEndsItsGoroutineCostsOnlyTheThread(t *testing.T) {
	cores := allowed()
	p := newPool(t, cores[0])
	p.Run(0, func() { runtime.Goexit() })
	ran := make(chan int)
	p.Run(0, func() { ran <- boundTo() })
	if got := <-ran; cores[0] >= 0 && got != cores[0] {
		t.Errorf("on core %d, want %d", got, cores[0])
	}
	p.Helper(0, func() { runtime.Goexit() })
	p.Helper(0, func() { ran <- 0 })
	<-ran
}

func TestCloseLetsEverythingEndAndIsIdempotent(t *testing.T) {
	p := newPool(t, -1, -1)
	var ran atomic.Int32
	for slot := range 2 {
		for range 50 {
			p.Run(slot, func() { ran.Add(1) })
			p.Helper(slot, func() { ran.Add(1) })
		}
	}
	p.Close()
	p.Close()
	if n := ran.Load(); n != 200 {
		t.Errorf("%d of 200 ran", n)
	}
	defer func() {
		if recover() == nil {
			t.Error("Run after Close did not panic")
		}
	}()
	p.Run(0, func() {})
}

func TestBindingsDoNotLeakToOtherGoroutines(t *testing.T) {
	before, err := machine.AllowedCores()
	if err != nil {
		t.Skip(err)
	}
	p := newPool(t, before...)
	for slot := range before {
		p.Run(slot, func() {})
	}
	p.Close()
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() {
			if after, _ := machine.AllowedCores(); len(after) != len(before) {
				t.Errorf("cores %v, were %v", after, before)
			}
		})
	}
	group.Wait()
}

func BenchmarkRun(b *testing.B) {
	p, _ := New([]int{-1})
	defer p.Close()
	done := make(chan struct{})
	for b.Loop() {
		p.Run(0, func() { done <- struct{}{} })
		<-done
	}
}

func TestStatesOfThreadsAreOrdered(t *testing.T) {
	testkit.CheckStates(t, threadAbandoned, threadFinishing)
}
