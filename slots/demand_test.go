package slots_test

import (
	"testing"

	"mrlocal/internal/ppm"
	"mrlocal/slots"
	"mrlocal/trace"
)

// percent is a vector in percent of a tracker.
func percent(cpu, io, mem ppm.Share) slots.Vector {
	return slots.Vector{CPU: cpu * ppm.One / 100, IO: io * ppm.One / 100, Memory: mem * ppm.One / 100}
}

// TestTwoSortsAndACombineFillATracker has the numbers of [RAS11, Table 2]: CPU 85, I/O 100
// and memory 60 fit, and no other task with I/O does.
func TestTwoSortsAndACombineFillATracker(t *testing.T) {
	sort, combine := percent(30, 45, 25), percent(25, 10, 10)
	all := sort.Times(2).Plus(combine)
	if all != percent(85, 100, 60) || !all.Fits(slots.WholeVector()) {
		t.Errorf("%+v", all)
	}
	if all.Plus(percent(0, 1, 0)).Fits(slots.WholeVector()) {
		t.Error("it fits more than there is")
	}
	if rest := slots.WholeVector().Minus(all); rest != percent(15, 0, 40) {
		t.Errorf("%+v is left", rest)
	}
	if got := percent(150, 20, 10).AtMost(slots.WholeVector()); got != percent(100, 20, 10) {
		t.Errorf("at most the whole: %+v", got)
	}
}

func TestAProfileByPhase(t *testing.T) {
	p := slots.Profile{Map: percent(1, 0, 0), Shuffle: percent(2, 0, 0), Reduce: percent(3, 0, 0)}
	for phase, want := range map[trace.Phase]slots.Vector{
		trace.PhaseCompute: p.Map, trace.PhaseIO: p.Map, trace.PhaseCopy: p.Shuffle, trace.PhaseSort: p.Reduce, trace.PhaseReduce: p.Reduce,
	} {
		if got := *p.Of(phase); got != want {
			t.Errorf("%v: %+v, want %+v", phase, got, want)
		}
	}
}

func TestWithoutAProfileAsManyTasksFitAsThereAreSlots(t *testing.T) {
	for _, n := range []int32{1, 3, 7} {
		p := slots.DefaultProfile(n)
		if !p.Map.Times(n).Fits(slots.WholeVector()) || p.Map.Times(n+1).Fits(slots.WholeVector()) {
			t.Errorf("%d slots: %+v", n, p.Map)
		}
	}
}

func TestCapacitiesAreTheWholeUnlessSaidOtherwise(t *testing.T) {
	c := slots.Capacities{{Tracker: 1, Vector: percent(50, 100, 100)}}
	if c.Of(0) != slots.WholeVector() || c.Of(1) != percent(50, 100, 100) || c.Validate(1) != nil || c.Validate(0) == nil {
		t.Errorf("%+v", c)
	}
	if (slots.Capacities{{Tracker: 0, Vector: percent(0, 100, 100)}}).Validate(1) == nil {
		t.Error("a tracker without CPU is valid")
	}
}
