package sim_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"mrlocal/internal/testkit"
	"mrlocal/sim"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/policytest"
	"mrlocal/trace"
)

// TestTheLongerStragglerIsCopied: two tasks of 1,000 to 3,000 s run along with tasks of 0.1 to
// 100 s, and one copy may run at a time. The first copy is one of the task that ends last. This
// holds under both policies that copy, at once and by heartbeat, for maps and for reduces.
func TestTheLongerStragglerIsCopied(t *testing.T) {
	draw := rand.New(rand.NewPCG(32, 12))
	wrong, pairs := 0, 0
	for range testkit.Rounds(40) {
		usual := time.Duration(100+draw.IntN(5000)) * time.Millisecond
		if draw.IntN(3) == 0 {
			usual *= 20
		}
		times := [2]int{1_000_000 + draw.IntN(2_000_000), 1_000_000 + draw.IntN(2_000_000)} // in ms
		if draw.IntN(4) == 0 {
			times[1] = times[0] + 100 + draw.IntN(2000)
		}
		list := fmt.Sprintf("{list: [%dms, %dms", times[0], times[1])
		for range 10 {
			list += fmt.Sprintf(", %v", usual)
		}
		longer := int32(0)
		if times[1] > times[0] {
			longer = 1
		}
		for _, kind := range []trace.Kind{trace.Map, trace.Reduce} {
			tasks := "maps: 12, map_time: " + list + "]}"
			if kind == trace.Reduce {
				tasks = "maps: 1, map_time: 1s, reduces: 12, reduce_time: " + list + "]}"
			}
			for _, heartbeat := range []time.Duration{0, 3 * time.Second} {
				if usual < heartbeat { // the end of a short task is known too late
					continue
				}
				for _, name := range []string{"late", "dynamicmr"} {
					f := parse(t, "cluster: {trackers: 4, map_slots: 2, reduce_slots: 2}", "jobs:", "  - {name: J, "+tasks+"}")
					_, events, _ := recorded(t, f, sim.Options{Policy: with(t, name, policy.DefaultOptions()), Heartbeat: heartbeat})
					pairs++
					if got := firstCopy(events); got != longer {
						wrong++
						t.Errorf("%s, heartbeat %v: %v of %v ms against %v: the first copy is of task %d", name, heartbeat, kind, times, usual, got)
					}
				}
			}
		}
	}
	if t.Failed() {
		t.Logf("%d of %d pairs are wrong", wrong, pairs)
	}
}

// firstCopy returns the task of the first copy; -1: there is none.
func firstCopy(events []trace.Event) int32 {
	for i := range events {
		if e := &events[i]; e.Op == trace.OpStart && e.Has(trace.Speculative) {
			return e.Task
		}
	}
	return -1
}

// TestLATELooksSixteenTimesInATask: a look costs as much as some decisions for each running
// attempt, so their number decides what late costs compared with fair. Tasks take at least 18 s and at
// most 36 s here, whatever the number of jobs.
func TestLATELooksSixteenTimesInATask(t *testing.T) {
	const shortest, longest = 18 * time.Second, 36 * time.Second
	for _, jobs := range []int{1, 60} {
		lines := []string{"cluster: {trackers: 20, map_slots: 4, reduce_slots: 2}", "jobs:"}
		for i := range jobs {
			lines = append(lines, fmt.Sprintf("  - {name: J%d, maps: %d, reduces: 1, map_time: {uniform: [%v, %v]}, reduce_time: {uniform: [%v, %v]}}", i, 1200/jobs, shortest, longest, shortest, longest))
		}
		var log policytest.Log
		run(t, parse(t, lines...), sim.Options{Policy: named(t, "late"), Watch: func(s *trace.Stream) { s.Attach(&log) }})
		looks, last, reports, attempts := time.Duration(0), time.Duration(-1), 0, 0
		for i := range log.Events {
			switch e := &log.Events[i]; e.Op {
			case trace.OpStart:
				attempts++
			case trace.OpProgress:
				if reports++; e.At > last {
					looks, last = looks+1, e.At
				}
			}
		}
		end := log.Events[len(log.Events)-1].At
		if most := end/(shortest/16) + 1; looks > most {
			t.Errorf("%d jobs: %d looks in %v, want at most %d", jobs, looks, end, most)
		}
		if most := attempts * int(longest/(shortest/16)+1); reports > most {
			t.Errorf("%d jobs: %d reports of %d attempts, want at most %d", jobs, reports, attempts, most)
		}
		t.Logf("%d jobs: %d looks in %v, %.1f reports an attempt", jobs, looks, end, float64(reports)/float64(attempts))
	}
}
