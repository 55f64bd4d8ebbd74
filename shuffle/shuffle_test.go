package shuffle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is an output that knows what happened to it.
type fake struct {
	name     string
	released atomic.Int32
	mu       sync.Mutex
	parts    []int // released one by one
}

func (f *fake) PartBytes(part int) (records, keyBytes, valueBytes int64) {
	return 1, int64(10 * (part + 1)), int64(part)
}
func (f *fake) Release() { f.released.Add(1) }
func (f *fake) ReleasePart(part int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.parts = append(f.parts, part)
}

func collect(t *testing.T, ctx context.Context, f *Fetch[*fake]) (names []string, err error) {
	t.Helper()
	err = f.Copy(ctx, func(mapTask int, out *fake) error {
		names = append(names, fmt.Sprintf("%d:%s", mapTask, out.name))
		return nil
	})
	return names, err
}

func TestACopyPhaseGetsEachOutputOnceInCommitOrderAndMergesInMapOrder(t *testing.T) {
	s := New[*fake](3, 1)
	s.Seal()
	s.Commit(2, &fake{name: "c"})
	f := s.Fetch(0)
	defer f.Close()
	go func() {
		s.Commit(0, &fake{name: "a"})
		s.Commit(1, &fake{name: "b"})
	}()
	names, err := collect(t, t.Context(), f)
	if err != nil || !slices.Equal(names, []string{"2:c", "0:a", "1:b"}) {
		t.Errorf("copied %v, %v", names, err)
	}
	var order []string
	for _, out := range f.Outputs() {
		order = append(order, out.name)
	}
	if !slices.Equal(order, []string{"a", "b", "c"}) {
		t.Errorf("merged in order %v", order)
	}
	if r, k, v := s.PartBytes(0); r != 3 || k != 30 || v != 0 {
		t.Errorf("PartBytes: %d %d %d", r, k, v)
	}
}

func TestACopyPhaseEndsOnlyWhenTheNumberOfMapsIsFinal(t *testing.T) {
	s := New[*fake](1, 1)
	s.Commit(0, &fake{name: "a"})
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, errors.New("waited"))
	defer cancel()
	f := s.Fetch(0)
	defer f.Close()
	if _, err := collect(t, ctx, f); err == nil || err.Error() != "waited" {
		t.Errorf("an unsealed shuffle: %v", err)
	}
	s.Grow(2)
	s.Seal()
	s.Commit(1, &fake{name: "b"})
	if names, err := collect(t, t.Context(), f); err != nil || !slices.Equal(names, []string{"1:b"}) {
		t.Errorf("the rest: %v, %v", names, err)
	}
}

func TestAJobWithoutMapsHasNothingToCopy(t *testing.T) {
	s := New[*fake](0, 2)
	s.Seal()
	f := s.Fetch(1)
	defer f.Close()
	if names, err := collect(t, t.Context(), f); err != nil || len(names) != 0 {
		t.Errorf("%v, %v", names, err)
	}
}

func TestALostOutputEndsTheCopyPhasesThatHaveItAndNoOthers(t *testing.T) {
	s := New[*fake](2, 2)
	s.Seal()
	lost := &fake{name: "lost"}
	s.Commit(0, lost)
	has, hasNot := s.Fetch(0), s.Fetch(1)
	defer hasNot.Close()
	got := make(chan error)
	handed := make(chan struct{})
	go func() {
		got <- has.Copy(t.Context(), func(int, *fake) error { close(handed); return nil })
	}()
	<-handed
	s.Lost(0)
	if err := <-got; !errors.Is(err, ErrLost) {
		t.Errorf("who has it: %v", err)
	}
	if lost.released.Load() != 0 {
		t.Error("released while an open fetch holds it")
	}
	has.Close()
	has.Close()
	if n := lost.released.Load(); n != 1 {
		t.Errorf("released %d times", n)
	}
	s.Commit(0, &fake{name: "again"})
	s.Commit(1, &fake{name: "b"})
	if names, err := collect(t, t.Context(), hasNot); err != nil || !slices.Equal(names, []string{"0:again", "1:b"}) {
		t.Errorf("who has it not: %v, %v", names, err)
	}
}

func TestASecondOutputOfAMapIsReleased(t *testing.T) {
	s := New[*fake](1, 1)
	first, second := &fake{}, &fake{}
	s.Commit(0, first)
	s.Commit(0, second)
	if first.released.Load() != 0 || second.released.Load() != 1 {
		t.Errorf("released: first %d, second %d", first.released.Load(), second.released.Load())
	}
}

func TestOutputsAreReleasedWhenTheLastPartIsDoneAndTheLastFetchClosed(t *testing.T) {
	s := New[*fake](1, 2)
	s.Seal()
	out := &fake{}
	s.Commit(0, out)
	f := s.Fetch(0)
	if _, err := collect(t, t.Context(), f); err != nil {
		t.Fatal(err)
	}
	s.PartDone(0)
	s.PartDone(0)
	if !slices.Equal(out.parts, []int{0}) || out.released.Load() != 0 {
		t.Errorf("after one part: %v, released %d", out.parts, out.released.Load())
	}
	s.PartDone(1)
	if out.released.Load() != 0 {
		t.Error("released while an open fetch holds it")
	}
	f.Close()
	s.Close()
	if n := out.released.Load(); n != 1 {
		t.Errorf("released %d times", n)
	}
}

func TestAMapThatRanAgainKeepsNothingForPartsThatAreDone(t *testing.T) {
	s := New[*fake](1, 2)
	s.Commit(0, &fake{})
	s.PartDone(0)
	s.Lost(0)
	again := &fake{}
	s.Commit(0, again)
	if !slices.Equal(again.parts, []int{0}) {
		t.Errorf("parts freed: %v", again.parts)
	}
	s.Close()
}

func TestCloseEndsCopyPhasesAndReleasesEverything(t *testing.T) {
	s := New[*fake](2, 1)
	out := &fake{}
	s.Commit(0, out)
	f := s.Fetch(0)
	got := make(chan error)
	go func() { got <- f.Copy(t.Context(), nil) }()
	s.Close()
	if err := <-got; !errors.Is(err, ErrClosed) {
		t.Errorf("got %v", err)
	}
	f.Close()
	s.Close()
	late := &fake{}
	s.Commit(1, late)
	if out.released.Load() != 1 || late.released.Load() != 1 {
		t.Errorf("released: %d, late %d", out.released.Load(), late.released.Load())
	}
	if _, _, err := s.Wait(t.Context(), 0); !errors.Is(err, ErrClosed) {
		t.Errorf("Wait: %v", err)
	}
}

func TestWaitSaysHowManyAreThere(t *testing.T) {
	s := New[*fake](2, 1)
	go s.Commit(1, &fake{})
	if n, all, err := s.Wait(t.Context(), 0); n != 1 || all || err != nil {
		t.Errorf("%d, %v, %v", n, all, err)
	}
	go func() {
		s.Commit(0, &fake{})
		s.Seal()
	}()
	for n, all := 1, false; !all; {
		var err error
		if n, all, err = s.Wait(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
}

// Whatever is committed, lost and fetched in whatever order: a copy phase that
// ends well has exactly one living output of every map, and in the end
// everything was released once.
func TestAnyHistoryEndsWithEverythingReleasedOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		maps, parts := rapid.IntRange(1, 5).Draw(rt, "maps"), rapid.IntRange(1, 3).Draw(rt, "parts")
		s := New[*fake](maps, parts)
		s.Seal()
		live := make([]*fake, maps)
		var all []*fake
		var open []*Fetch[*fake]
		for range rapid.IntRange(0, 60).Draw(rt, "steps") {
			m := rapid.IntRange(0, maps-1).Draw(rt, "map")
			switch rapid.IntRange(0, 3).Draw(rt, "step") {
			case 0:
				out := &fake{}
				all = append(all, out)
				s.Commit(m, out)
				if live[m] == nil {
					live[m] = out
				}
			case 1:
				s.Lost(m)
				live[m] = nil
			case 2:
				f := s.Fetch(m % parts)
				open = append(open, f)
				copyNow(rt, f, live)
			case 3:
				if len(open) > 0 {
					open[0].Close()
					open = open[1:]
				}
			}
		}
		for part := range parts {
			s.PartDone(part)
		}
		for _, f := range open {
			f.Close()
		}
		s.Close()
		for i, out := range all {
			if n := out.released.Load(); n != 1 {
				rt.Fatalf("output %d of %d was released %d times", i, len(all), n)
			}
		}
	})
}

// copyNow copies what is there and does not wait for the rest.
func copyNow(rt *rapid.T, f *Fetch[*fake], live []*fake) {
	ctx, cancel := context.WithCancel(context.Background())
	there := 0
	for _, out := range live {
		if out != nil {
			there++
		}
	}
	got := 0
	if there < len(live) {
		if there == 0 {
			cancel()
		}
		_ = f.Copy(ctx, func(int, *fake) error {
			if got++; got == there {
				cancel()
			}
			return nil
		})
	} else if err := f.Copy(ctx, nil); err != nil {
		rt.Fatalf("Copy: %v", err)
	}
	cancel()
	for _, out := range f.Outputs() {
		if !slices.Contains(live, out) || out.released.Load() != 0 {
			rt.Fatalf("a dead output was handed out")
		}
	}
	if there == len(live) && len(f.Outputs()) != there {
		rt.Fatalf("%d outputs of %d maps", len(f.Outputs()), there)
	}
}

func BenchmarkCopy(b *testing.B) {
	const maps = 10_000
	s := New[*fake](maps, 1)
	s.Seal()
	for m := range maps {
		s.Commit(m, &fake{})
	}
	for b.Loop() {
		f := s.Fetch(0)
		if err := f.Copy(context.Background(), nil); err != nil {
			b.Fatal(err)
		}
		f.Close()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/maps, "ns/output")
}
