package ras

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/policytest"
)

// TestAPlacementLeavesIdleJobsAlone: the jobs that a placement reads again are those with placed
// tasks, not all jobs that wait.
func TestAPlacementLeavesIdleJobsAlone(t *testing.T) {
	const jobs, trackers = 1_000, 3
	r := New(policy.DefaultOptions())
	l, err := slots.New(slots.Config{Slots: policytest.Typed(trackers, 4, 2)}, r)
	if err != nil {
		t.Fatal(err)
	}
	for i := range jobs {
		l.Submit(0, slots.JobSpec{Name: fmt.Sprint(i), Maps: 2, MapsSealed: true, Reduces: 1})
	}
	live := slices.Clone(l.AssignAll(0).Starts)
	for i := range 20 {
		if n := len(r.touched); n == 0 || n > trackers*6 {
			t.Fatalf("after %d ends the next placement reads %d jobs", i, n)
		}
		now := time.Duration(i+1) * time.Second
		l.Finish(now, live[0].Attempt, slots.Outcome{OK: true})
		live = append(live[1:], l.AssignAll(now).Starts...)
	}
}

// TestTrackersWithoutRoomAreLeftAlone: after a placement and the starts, no tracker is looked at again until something
// gives room.
func TestTrackersWithoutRoomAreLeftAlone(t *testing.T) {
	r := New(policy.DefaultOptions())
	l, err := slots.New(slots.Config{Slots: policytest.Typed(3, 2, 1)}, r)
	if err != nil {
		t.Fatal(err)
	}
	l.Submit(0, slots.JobSpec{Name: "J", Maps: 10, MapsSealed: true})
	starts := slices.Clone(l.AssignAll(0).Starts)
	if next := r.awake.Next(0); len(starts) != 9 || next >= 0 {
		t.Fatalf("%d tasks start on 9 slots, and tracker %d is looked at again", len(starts), next)
	}
	r.wakeUp()
	l.Finish(time.Minute, starts[0].Attempt, slots.Outcome{OK: true})
	if n, next := len(l.AssignAll(time.Minute).Starts), r.awake.Next(0); n != 1 || next >= 0 {
		t.Errorf("%d tasks start on one slot, and tracker %d is looked at again", n, next)
	}
}
