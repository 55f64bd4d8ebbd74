package slots

import (
	"testing"

	"pgregory.net/rapid"

	"mrlocal/trace"
)

// TestATrackerRunsSixteenMapsOrEightReduces has the example of [DynamicMR14, "slot weights"].
func TestATrackerRunsSixteenMapsOrEightReduces(t *testing.T) {
	w, home := Weights{Map: 1, Reduce: 2}, [2]int32{8, 4}
	if w.Sum(home) != 16 || w.Slots(home) != 16 {
		t.Errorf("a weight of %d on %d slots, want 16 on 16", w.Sum(home), w.Slots(home))
	}
	for running, room := range map[[2]int32]int32{{16, 0}: 0, {0, 8}: 0, {10, 3}: 0, {15, 0}: 1, {8, 0}: 8, {0, 4}: 8} {
		if got := w.Room(home, running); got != room {
			t.Errorf("next to %v there is room for %d, want %d", running, got, room)
		}
	}
}

func TestWithoutWeightsTalliesAreCounts(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		home, running := draw(rt, "home"), draw(rt, "running")
		overM, overR := max(running[0]-home[0], 0), max(running[1]-home[1], 0)
		want := Tally{Used: [2]int32{min(running[0], home[0]) + overR, min(running[1], home[1]) + overM}, Lent: [2]int32{overR, overM}}
		for _, w := range []Weights{{}, {Map: 1, Reduce: 1}} {
			if got := w.TallyOf(home, running); got != want || w.Slots(home) != home[0]+home[1] {
				rt.Fatalf("%v on %v: %+v on %d slots, want %+v", running, home, got, w.Slots(home), want)
			}
		}
	})
}

func draw(t *rapid.T, what string) [2]int32 {
	return [2]int32{rapid.Int32Range(0, 20).Draw(t, what+" maps"), rapid.Int32Range(0, 20).Draw(t, what+" reduces")}
}

// TestWhatIsUsedIsWhatRuns: used slots weigh as much as the running tasks, whichever kind lends.
// As long as the tracker has room for its tasks, neither kind uses more than its slots weigh.
func TestWhatIsUsedIsWhatRuns(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := Weights{Map: rapid.Int32Range(1, MostWeight).Draw(rt, "map"), Reduce: rapid.Int32Range(1, MostWeight).Draw(rt, "reduce")}
		home, running := draw(rt, "home"), draw(rt, "running")
		tally := w.TallyOf(home, running)
		if tally.Used[0]+tally.Used[1] != w.Sum(running) {
			rt.Fatalf("%+v: %v on %v use %v", w, running, home, tally.Used)
		}
		for k := range trace.Kind(trace.Kinds) {
			if w.Room(home, running) >= 0 && tally.Used[k] > w.Times(k, home[k]) {
				rt.Fatalf("%+v: %v on %v use %v", w, running, home, tally.Used)
			}
		}
	})
}

func TestWeightsAreOfBothKinds(t *testing.T) {
	for w, valid := range map[Weights]bool{{}: true, {1, 1}: true, {1, MostWeight}: true, {1, 0}: false, {0, 2}: false, {-1, 2}: false, {1, MostWeight + 1}: false} {
		if w.Valid() != valid {
			t.Errorf("%+v: valid %v", w, !valid)
		}
	}
}

// TestSumsStayInTheirBits has a billion pending tasks of the largest weight on the largest
// number of slots.
func TestSumsStayInTheirBits(t *testing.T) {
	w := Weights{Map: MostWeight, Reduce: MostWeight}
	if got := w.Times(trace.Map, 1_000_000_000) + w.Sum([2]int32{2_000_000, 2_000_000}); got <= 0 {
		t.Error(got)
	}
}
