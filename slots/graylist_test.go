package slots_test

import (
	"slices"
	"testing"
	"time"

	"mrlocal/slots"
	"mrlocal/slots/policy/fifo"
	"mrlocal/slots/policy/policytest"
)

// runFailing runs jobs one after the other, of ten maps each, on trackers of one map slot.
// An attempt fails if fails says so of its job and tracker. It returns how many attempts
// of each job started on each tracker.
func runFailing(t *testing.T, l *slots.Ledger, jobs, trackers int, fails func(job, tracker int) bool) (starts [][]int) {
	t.Helper()
	now := time.Duration(0)
	for job := range jobs {
		id := l.Submit(now, slots.JobSpec{Name: "j", Maps: 10, MapsSealed: true})
		starts = append(starts, make([]int, trackers))
		for round := 0; l.JobState(id) == slots.Running; round++ {
			if round > 100 {
				t.Fatalf("job %d does not end", job)
			}
			granted := slices.Clone(l.AssignAll(now).Starts)
			now += time.Second
			for _, s := range granted {
				tracker := int(l.Config().Slots[s.Slot].Tracker)
				starts[job][tracker]++
				l.Finish(now, s.Attempt, slots.Outcome{OK: !fails(job, tracker)})
			}
		}
		if l.JobState(id) != slots.Succeeded {
			t.Fatalf("job %d: %v", job, l.JobState(id))
		}
	}
	return starts
}

func graylisted(l *slots.Ledger, trackers int) (all []slots.TrackerID) {
	for t := range slots.TrackerID(trackers) {
		if l.Graylisted(t) {
			all = append(all, t)
		}
	}
	return all
}

// Four jobs that blacklist a tracker and succeed put it on the graylist: no job gets a
// slot there from then on (Hadoop 1.0.3, JobTracker.FaultyTrackersInfo).
func TestATrackerThatFourJobsBlacklistedGetsNoMoreTasks(t *testing.T) {
	const trackers = 9
	l, err := slots.New(slots.Config{Slots: policytest.Typed(trackers, 1, 1), Slowstart: slots.One, MaxAttempts: 100, MaxTrackerFailures: 1}, fifo.New())
	if err != nil {
		t.Fatal(err)
	}
	starts := runFailing(t, l, 6, trackers, func(_, tracker int) bool { return tracker == 2 })
	for job, want := range []int{1, 1, 1, 1, 0, 0} {
		if got := starts[job][2]; got != want {
			t.Errorf("job %d: %d attempts started on the bad tracker, want %d", job, got, want)
		}
	}
	if got := graylisted(l, trackers); !slices.Equal(got, []slots.TrackerID{2}) {
		t.Errorf("on the graylist: %v", got)
	}
	if err := l.Check(); err != nil {
		t.Error(err)
	}
}

// Three blacklistings are too few. A number that is not above one and a half times the
// average is too small as well. At most half of the cluster is graylisted.
func TestTheGraylistSparesTrackersThatAreNotWorseThanOthers(t *testing.T) {
	for name, c := range map[string]struct {
		jobs     int
		trackers int
		fails    func(job, tracker int) bool
		gray     []slots.TrackerID
	}{
		"three jobs": {3, 9, func(_, tracker int) bool { return tracker == 2 }, nil},
		// A third of the trackers has all faults, so that the average is a third of theirs.
		"two of nine": {4, 9, func(_, tracker int) bool { return tracker < 2 }, []slots.TrackerID{0, 1}},
		// Two trackers at a time, because a job blacklists a quarter of the cluster at most. The fifth
		// tracker has 4 faults, the average 2.5.
		"five of eight": {12, 8, func(job, tracker int) bool { return tracker < 5 && tracker/2 == job/4 }, []slots.TrackerID{0, 1, 2, 3}},
		// In turn: each tracker has as many faults as the others.
		"all alike": {36, 9, func(job, tracker int) bool { return tracker == job%9 }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := slots.New(slots.Config{Slots: policytest.Typed(c.trackers, 1, 1), Slowstart: slots.One, MaxAttempts: 100, MaxTrackerFailures: 1}, fifo.New())
			if err != nil {
				t.Fatal(err)
			}
			runFailing(t, l, c.jobs, c.trackers, c.fails)
			if got := graylisted(l, c.trackers); !slices.Equal(got, c.gray) {
				t.Errorf("on the graylist: %v, want %v", got, c.gray)
			}
		})
	}
}

// Graylisted trackers come back into service if all others are lost. Otherwise no job would end.
func TestAGraylistedTrackerComesBackWhenTheOthersAreLost(t *testing.T) {
	const trackers = 3
	l, err := slots.New(slots.Config{Slots: policytest.Typed(trackers, 1, 1), Slowstart: slots.One, MaxAttempts: 100, MaxTrackerFailures: 1}, fifo.New())
	if err != nil {
		t.Fatal(err)
	}
	runFailing(t, l, 6, trackers, func(_, tracker int) bool { return tracker == 2 })
	if got := graylisted(l, trackers); !slices.Equal(got, []slots.TrackerID{2}) {
		t.Fatal(got)
	}
	l.LostTracker(time.Hour, 0)
	if got := graylisted(l, trackers); len(got) != 1 {
		t.Fatalf("%v, although a tracker is left", got)
	}
	l.LostTracker(time.Hour, 1)
	if got := graylisted(l, trackers); len(got) != 0 {
		t.Fatal(got)
	}
	if l.Submit(time.Hour, slots.JobSpec{Name: "j", Maps: 1, MapsSealed: true}); len(l.AssignAll(time.Hour).Starts) != 1 {
		t.Error("no slot opens")
	}
}
