package sim_test

import (
	"fmt"
	"testing"
	"time"

	"mrlocal/sim"
	"mrlocal/trace"
)

// counts are the running maps and reduces of each of two jobs in one step.
type counts struct{ maps, reduces [2]int }

// perStep counts the running tasks at the start of each step of 10 s, after all events of
// that instant. Steps count from 1; element 0 is empty.
func perStep(events []trace.Event) []counts {
	const step = 10 * time.Second
	steps := []counts{{}}
	var now counts
	for i := range events {
		e := &events[i]
		for e.At > step*time.Duration(len(steps)-1) {
			steps = append(steps, now)
		}
		d := 0
		switch e.Op {
		case trace.OpStart:
			d = 1
		case trace.OpFinish:
			d = -1
		}
		if e.Kind == trace.Map {
			now.maps[e.Job] += d
		} else {
			now.reduces[e.Job] += d
		}
	}
	return steps
}

// plateau is the first and last step of the longest run of steps that are as
// wanted.
func plateau(steps []counts, is func(c counts) bool) (first, last int) {
	first, last = 0, -1
	for i := 1; i < len(steps); i++ {
		n := i
		for n < len(steps) && is(steps[n]) {
			n++
		}
		if n-1-i > last-first {
			first, last = i, n-1
		}
		i = max(i, n-1)
	}
	return first, last
}

// near allows two steps of difference.
func near(got, want int) bool { return got >= want-2 && got <= want+2 }

// TestPhasesOfTwoPools is [DHFS13, Fig. 5]: both policies begin with 54 maps of each
// pool. Then pool 1 runs out of maps and pool 2 takes the rest. Until maps run out, PI
// then holds 90 maps of pool 2 and 18 reduces of pool 1, because each phase has its own
// slots. PD holds 54 maps and 54 reduces, because each pool has its half.
func TestPhasesOfTwoPools(t *testing.T) {
	f := shipped(t, "fig5.yaml")
	for _, c := range []struct {
		policy          string
		maps2, reduces1 int // the second plateau
		begins, ends    int // steps, as in the paper
		after           func(c counts) bool
	}{
		{"pi-dhfs", 90, 18, 9, 15, func(c counts) bool { return c.reduces[0]+c.reduces[1] > 18 }},
		{"pd-dhfs", 54, 54, 8, 11, func(c counts) bool { return c.reduces[0] < 54 }},
	} {
		_, events, _ := recorded(t, f, sim.Options{Policy: named(t, c.policy)})
		steps := perStep(events)
		text := ""
		for i, s := range steps {
			text += fmt.Sprintf("\n%3d: maps %3d %3d, reduces %3d %3d", i, s.maps[0], s.maps[1], s.reduces[0], s.reduces[1])
		}
		first, last := plateau(steps, func(c counts) bool { return c.maps == [2]int{54, 54} && c.reduces == [2]int{} })
		if first != 1 || !near(last, 3) {
			t.Errorf("%s: 54 and 54 maps in steps %d to %d, want 1 to 3:%s", c.policy, first, last, text)
		}
		begins, ends := plateau(steps, func(s counts) bool { return s.maps == [2]int{0, c.maps2} && s.reduces == [2]int{c.reduces1, 0} })
		if !near(begins, c.begins) || !near(ends, c.ends) {
			t.Errorf("%s: %d maps of pool 2 and %d reduces of pool 1 in steps %d to %d, want %d to %d:%s",
				c.policy, c.maps2, c.reduces1, begins, ends, c.begins, c.ends, text)
		}
		for i := last + 1; i < begins; i++ {
			if s := steps[i]; s.maps[0] > 54 || s.maps[1] < 54 || s.reduces[1] > 0 {
				t.Errorf("%s: step %d: pool 2 does not take what pool 1 leaves:%s", c.policy, i, text)
			}
		}
		if ends+1 >= len(steps) || !c.after(steps[ends+1]) {
			t.Errorf("%s: step %d does not go on as in the paper:%s", c.policy, ends+1, text)
		}
	}
}
