package policy

import (
	"testing"

	"mrlocal/slots"
)

// TestTheLimitsOfSEPB: at 0 no job is checked, so any idle slot may have a copy. At 1
// all jobs are, and no copy starts while as many tasks are pending as slots idle
// [DynamicMR14, "limits of sepb"].
func TestTheLimitsOfSEPB(t *testing.T) {
	for _, c := range []struct {
		percentage    slots.PPM
		running, want int32
	}{{0, 20, 0}, {slots.One, 20, 20}, {slots.One / 2, 20, 10}, {slots.One / 4, 10, 3}, {slots.One / 100, 3, 1}} {
		if got := jobsChecked(c.percentage, c.running); got != c.want {
			t.Errorf("%v of %d jobs: %d, want %d", c.percentage, c.running, got, c.want)
		}
	}
	if !leavesSlots(0, 1) || leavesSlots(0, 0) || leavesSlots(5, 5) || !leavesSlots(4, 5) {
		t.Error("a copy needs a slot that pending tasks leave")
	}
}
