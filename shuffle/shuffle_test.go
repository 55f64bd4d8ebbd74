package shuffle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"mrlocal/internal/membudget"
	"mrlocal/internal/testkit"
	"mrlocal/shuffle/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(testkit.Transitions{M: m}) }

// kit makes outputs and knows whether they were released.
type kit struct {
	memory *membudget.Budget
	names  sync.Map // by output
}

func newKit(t testing.TB) *kit {
	memory, err := membudget.New(membudget.ChunkBytes)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { memory.Close() })
	return &kit{memory: memory}
}

// output makes an output that holds one record of each of parts and a byte of
// memory.
func (k *kit) output(name string, parts int) *MapOutput {
	out := NewMapOutput(parts, None, nil, func(Event) {})
	lease, _ := k.memory.TryReserve(1)
	stats := make([]record.PartStat, parts)
	for p := range stats {
		stats[p] = record.PartStat{Records: 1, KeyBytes: int64(10 * (p + 1)), ValueBytes: int64(p)}
	}
	out.Keep(&MemoryRun{Lease: lease}, stats)
	k.names.Store(out, name)
	return out
}

func (k *kit) name(out *MapOutput) string {
	name, _ := k.names.Load(out)
	return name.(string)
}

func released(out *MapOutput) bool { return out.MemoryBytes() == 0 }

func (k *kit) collect(t *testing.T, ctx context.Context, f *Fetch) (names []string, err error) {
	t.Helper()
	err = f.each(ctx, func(mapTask int, out *MapOutput) error {
		names = append(names, fmt.Sprintf("%d:%s", mapTask, k.name(out)))
		return nil
	})
	return names, err
}

func TestStatesAreOrdered(t *testing.T) {
	testkit.CheckStates(t, shuffleClosed)
	testkit.CheckStates(t, outputLost)
}

func TestACopyPhaseGetsEachOutputOnceInCommitOrderAndMergesInMapOrder(t *testing.T) {
	k := newKit(t)
	s := NewShuffle(3, 1)
	s.Seal()
	s.Commit(2, k.output("c", 1))
	f := s.Fetch(0)
	defer f.Close()
	go func() {
		s.Commit(0, k.output("a", 1))
		s.Commit(1, k.output("b", 1))
	}()
	names, err := k.collect(t, t.Context(), f)
	if err != nil || !slices.Equal(names, []string{"2:c", "0:a", "1:b"}) {
		t.Errorf("copied %v, %v", names, err)
	}
	var order []string
	for _, out := range f.Outputs() {
		order = append(order, k.name(out))
	}
	if !slices.Equal(order, []string{"a", "b", "c"}) {
		t.Errorf("merged in order %v", order)
	}
	if got := s.Part(0); got != (record.PartStat{Records: 3, KeyBytes: 30}) {
		t.Errorf("Part: %+v", got)
	}
}

func TestACopyPhaseEndsOnlyWhenTheNumberOfMapsIsFinal(t *testing.T) {
	k := newKit(t)
	s := NewShuffle(1, 1)
	s.Commit(0, k.output("a", 1))
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, errors.New("waited"))
	defer cancel()
	f := s.Fetch(0)
	defer f.Close()
	if _, err := k.collect(t, ctx, f); err == nil || err.Error() != "waited" {
		t.Errorf("an unsealed shuffle: %v", err)
	}
	s.Grow(2)
	s.Seal()
	s.Commit(1, k.output("b", 1))
	if names, err := k.collect(t, t.Context(), f); err != nil || !slices.Equal(names, []string{"1:b"}) {
		t.Errorf("the rest: %v, %v", names, err)
	}
}

func TestAJobWithoutMapsHasNothingToCopy(t *testing.T) {
	k := newKit(t)
	s := NewShuffle(0, 2)
	s.Seal()
	f := s.Fetch(1)
	defer f.Close()
	if names, err := k.collect(t, t.Context(), f); err != nil || len(names) != 0 {
		t.Errorf("%v, %v", names, err)
	}
}

func TestALostOutputIsCopiedAgainByThoseWhoHaveIt(t *testing.T) {
	k := newKit(t)
	s := NewShuffle(2, 2)
	s.Seal()
	lost := k.output("lost", 2)
	s.Commit(0, lost)
	has, hasNot := s.Fetch(0), s.Fetch(1)
	defer has.Close()
	defer hasNot.Close()
	got, handed := make(chan []string), make(chan struct{}, 3)
	go func() {
		var names []string
		if err := has.each(t.Context(), func(_ int, out *MapOutput) error {
			names = append(names, k.name(out))
			handed <- struct{}{}
			return nil
		}); err != nil {
			t.Error(err)
		}
		got <- names
	}()
	<-handed
	s.Lost(0)
	s.Commit(1, k.output("b", 2))
	<-handed
	s.Commit(0, k.output("again", 2))
	if names := <-got; !slices.Equal(names, []string{"lost", "b", "again"}) {
		t.Errorf("who has it copied %v", names)
	}
	var kept []string
	for _, out := range has.Outputs() {
		kept = append(kept, k.name(out))
	}
	if !slices.Equal(kept, []string{"again", "b"}) || !released(lost) {
		t.Errorf("kept %v, released the lost one: %v", kept, released(lost))
	}
	if names, err := k.collect(t, t.Context(), hasNot); err != nil || !slices.Equal(names, []string{"1:b", "0:again"}) {
		t.Errorf("who has it not: %v, %v", names, err)
	}
}

// copied returns a shuffle of one map, whose output of the given number of parts a Fetch has copied.
func copied(t *testing.T, parts int) (*Shuffle, *MapOutput, *Fetch) {
	t.Helper()
	k := newKit(t)
	s := NewShuffle(1, parts)
	s.Seal()
	out := k.output("", parts)
	s.Commit(0, out)
	f := s.Fetch(0)
	if _, err := k.collect(t, t.Context(), f); err != nil {
		t.Fatal(err)
	}
	return s, out, f
}

// A reduce that has copied all outputs keeps them if one is lost later, as in Hadoop.
func TestAnOutputThatIsLostAfterTheCopyPhaseIsKept(t *testing.T) {
	s, lost, f := copied(t, 1)
	s.Lost(0)
	if outs := f.Outputs(); len(outs) != 1 || outs[0] != lost || released(lost) {
		t.Errorf("%d outputs, released %v", len(outs), released(lost))
	}
	f.Close()
	f.Close()
	if !released(lost) {
		t.Error("not released")
	}
}

func TestASecondOutputOfAMapIsReleased(t *testing.T) {
	k := newKit(t)
	s := NewShuffle(1, 1)
	first, second := k.output("", 1), k.output("", 1)
	s.Commit(0, first)
	s.Commit(0, second)
	if released(first) || !released(second) {
		t.Errorf("released: first %v, second %v", released(first), released(second))
	}
}

func TestOutputsAreReleasedWhenTheLastPartIsDoneAndTheLastFetchClosed(t *testing.T) {
	s, out, f := copied(t, 2)
	s.PartDone(0)
	s.PartDone(0)
	if released(out) {
		t.Error("released after one part of two")
	}
	s.PartDone(1)
	s.Lost(0) // its tracker may be lost before the job has ended
	if released(out) {
		t.Error("released while an open fetch holds it")
	}
	f.Close()
	s.Close()
	if !released(out) {
		t.Error("not released")
	}
}

func TestCloseEndsCopyPhasesAndReleasesEverything(t *testing.T) {
	k := newKit(t)
	s := NewShuffle(2, 1)
	out := k.output("", 1)
	s.Commit(0, out)
	f := s.Fetch(0)
	got := make(chan error)
	go func() { got <- f.each(t.Context(), nil) }()
	s.Close()
	if err := <-got; !errors.Is(err, errClosed) {
		t.Errorf("got %v", err)
	}
	f.Close()
	s.Close()
	late := k.output("", 1)
	s.Commit(1, late)
	if !released(out) || !released(late) {
		t.Errorf("released: %v, late %v", released(out), released(late))
	}
}

// Outputs are committed, lost and fetched in a random order. A copy phase that
// succeeds has exactly one output of every map that is not lost. In the end all
// outputs are released.
func TestAnyHistoryEndsWithEverythingReleased(t *testing.T) {
	k := newKit(t)
	rapid.Check(t, func(rt *rapid.T) {
		maps, parts := rapid.IntRange(1, 5).Draw(rt, "maps"), rapid.IntRange(1, 3).Draw(rt, "parts")
		s := NewShuffle(maps, parts)
		s.Seal()
		live := make([]*MapOutput, maps)
		var all []*MapOutput
		var open []*Fetch
		for range rapid.IntRange(0, 60).Draw(rt, "steps") {
			m := rapid.IntRange(0, maps-1).Draw(rt, "map")
			switch rapid.IntRange(0, 3).Draw(rt, "step") {
			case 0:
				out := k.output("", parts)
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
			if !released(out) {
				rt.Fatalf("output %d of %d was not released", i, len(all))
			}
		}
	})
}

// copyNow copies what is there and does not wait for the rest.
func copyNow(rt *rapid.T, f *Fetch, live []*MapOutput) {
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
		_ = f.each(ctx, func(int, *MapOutput) error {
			if got++; got == there {
				cancel()
			}
			return nil
		})
	} else if err := f.each(ctx, nil); err != nil {
		rt.Fatalf("each: %v", err)
	}
	cancel()
	for _, out := range f.Outputs() {
		if !slices.Contains(live, out) || released(out) {
			rt.Fatalf("a dead output was handed out")
		}
	}
	if there == len(live) && len(f.Outputs()) != there {
		rt.Fatalf("%d outputs of %d maps", len(f.Outputs()), there)
	}
}

func BenchmarkCopy(b *testing.B) {
	k := newKit(b)
	const maps = 10_000
	s := NewShuffle(maps, 1)
	s.Seal()
	for m := range maps {
		s.Commit(m, k.output("", 1))
	}
	for b.Loop() {
		f := s.Fetch(0)
		if err := f.each(context.Background(), nil); err != nil {
			b.Fatal(err)
		}
		f.Close()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/maps, "ns/output")
}
