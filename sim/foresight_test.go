package sim_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"mrlocal/sim"
	"mrlocal/slots"
	"mrlocal/slots/policy/policytest"
	"mrlocal/trace"
)

// TestNoPolicyKnowsTheFuture [DHFS13, section I]: two workloads that are equal until a moment
// get equal schedules until then. They differ in the times of all tasks that are not done by
// then, and in the jobs that come later. Policies that use the progress of running tasks are left
// out, because the progress depends on how long these tasks will take, as in Hadoop.
func TestNoPolicyKnowsTheFuture(t *testing.T) {
	const cut = 40 * time.Second
	var compared []string
	for _, name := range policies() {
		times := firstTimes()
		before, done, looks := until(t, name, times, 6, cut)
		if looks {
			continue
		}
		for key, took := range times {
			if !done[key] {
				times[key] = 2*took + 7*time.Second
			}
		}
		if after, _, _ := until(t, name, times, 23, cut); !slices.Equal(before, after) {
			t.Errorf("%s: what comes after %v changes what happened before:\n%s\n\n%s", name, cut, strings.Join(before, "\n"), strings.Join(after, "\n"))
		}
		if starts := strings.Count(strings.Join(before, "\n"), `"start"`); starts < 20 {
			t.Errorf("%s: only %d starts until then", name, starts)
		}
		compared = append(compared, name)
	}
	for _, name := range []string{"fifo", "fair", "pi-dhfs", "pd-dhfs", "pi-fifo", "omo", "yarn"} {
		if !slices.Contains(compared, name) {
			t.Errorf("%s is not compared", name)
		}
	}
}

// futureTask names a task of the two workloads.
type futureTask struct {
	job, task int32
	kind      trace.Kind
}

// firstTimes returns the times of all tasks of the two jobs that come at once.
func firstTimes() map[futureTask]time.Duration {
	times := map[futureTask]time.Duration{}
	for job := range int32(2) {
		for task := range int32(14) {
			times[futureTask{job, task, slots.Map}] = time.Duration(6000+(task*977+job*431)%5000) * time.Millisecond
		}
		for task := range int32(4) {
			times[futureTask{job, task, slots.Reduce}] = time.Duration(9000+(task*613+job*277)%4000) * time.Millisecond
		}
	}
	return times
}

// until runs two jobs with these times, and a later one with the given number of maps. It returns the
// events before the cut and the tasks that are done by then. It also returns whether the
// policy looks at progress.
func until(t *testing.T, policyName string, times map[futureTask]time.Duration, laterMaps int, cut time.Duration) (events []string, done map[futureTask]bool, looks bool) {
	t.Helper()
	list := func(job int32, kind trace.Kind, n int32) string {
		var all []string
		for task := range n {
			all = append(all, times[futureTask{job, task, kind}].String())
		}
		return "{list: [" + strings.Join(all, ", ") + "]}"
	}
	lines := []string{"cluster: {trackers: 2, map_slots: 2, reduce_slots: 1}", "defaults: {slowstart: 0.5}", "jobs:"}
	for job := range int32(2) {
		lines = append(lines, fmt.Sprintf("  - {name: J%d, submit: %ds, maps: 14, reduces: 4, map_time: %s, reduce_time: %s}",
			job, 3*job, list(job, slots.Map, 14), list(job, slots.Reduce, 4)))
	}
	lines = append(lines, fmt.Sprintf("  - {name: late, submit: 41s, maps: %d, reduces: 2, map_time: 5s, reduce_time: 4s}", laterMaps))
	var log policytest.Log
	run(t, parse(t, lines...), sim.Options{Policy: named(t, policyName), Watch: func(s *trace.Stream) { s.Attach(&log) }})
	done = map[futureTask]bool{}
	for i := range log.Events {
		e := &log.Events[i]
		if looks = looks || e.Op == trace.OpProgress; e.At >= cut {
			break
		}
		events = append(events, log.Line(e))
		if e.Op == trace.OpFinish && e.Has(trace.OK) {
			done[futureTask{e.Job, e.Task, e.Kind}] = true
		}
	}
	return events, done, looks
}
