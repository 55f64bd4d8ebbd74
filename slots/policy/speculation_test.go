package policy

import (
	"testing"

	"mrlocal/slots"
	"mrlocal/trace"
)

// TestATrackerCopiesTheMapWhoseInputItHas: of the maps of a job that are worth a copy the
// nearest one, and else the one that ends last [DynamicMR14, "slot prescheduling"].
// Without PreScheduling it is always the one that ends last.
func TestATrackerCopiesTheMapWhoseInputItHas(t *testing.T) {
	const maps = 12
	moved, trackers := 0, 3
	p := &scanner{order: NewOrder(slots.PerKind, Wait{})}
	p.check = func(v *slots.View, _ *Order) {
		for _, local := range []bool{true, false} {
			s := newSpeculation(&Options{})
			s.local = local
			for task := range slots.TaskID(maps) { // the first one ends last
				s.list = append(s.list, candidate{Attempt: slots.AttemptID{Task: task}, Tracker: (v.Tracker() + 1) % slots.TrackerID(trackers)})
			}
			got, ok := s.pick(v, 0, slots.Map)
			want := slots.TaskID(0)
			for task := slots.TaskID(maps - 1); local && task >= 0; task-- {
				if v.LocalTask(0, task, v.Tracker()) == slots.LevelTracker {
					want = task
				}
			}
			if !ok || got.Attempt.Task != want {
				t.Errorf("tracker %d, at their input %v: map %d, %v, want map %d", v.Tracker(), local, got.Attempt.Task, ok, want)
			}
			if want != 0 {
				moved++
			}
		}
	}
	l, err := slots.New(slots.Config{Slots: slots.Layout{Trackers: trackers, MapSlots: 1, ReduceSlots: 1}.Slots(), Replicas: 1}, p)
	if err != nil {
		t.Fatal(err)
	}
	l.Submit(0, slots.JobSpec{Maps: maps, MapsSealed: true})
	l.AssignAll(0)
	if moved == 0 {
		t.Error("no tracker prefers another map than the one that ends last")
	}
}

// TestATaskThatIsNotNeededIsNotCopied: the attempt of a dropped task runs on until it is killed,
// but the Ledger refuses a copy at once.
func TestATaskThatIsNotNeededIsNotCopied(t *testing.T) {
	s := newSpeculation(&Options{})
	for task := range slots.TaskID(2) {
		s.list = append(s.list, candidate{Attempt: slots.AttemptID{Kind: slots.Map, Task: task}})
	}
	s.accept()
	s.Observe(&slots.Fact{Op: trace.OpDrop, Kind: slots.Map, Task: 1})
	if len(s.list) != 1 || s.list[0].Attempt.Task != 0 {
		t.Errorf("candidates %v, want map 0 alone", s.list)
	}
}

// TestADecisionBetweenTwoLooksVisitsNoCandidate, unless one of them expires or a task that has a
// candidate starts or ends. The candidates visited here would be dropped.
func TestADecisionBetweenTwoLooksVisitsNoCandidate(t *testing.T) {
	const n = 100
	s := newSpeculation(&Options{})
	for task := range slots.TaskID(n) {
		s.list = append(s.list, candidate{Attempt: slots.AttemptID{Task: task}, Left: 50, Usual: 10})
	}
	s.accept()
	for i := range s.list {
		s.list[i].Left = 0
	}
	for now := range s.expires {
		if s.expire(now) {
			t.Fatalf("a candidate is visited at %d, before %d", now, s.expires)
		}
	}
	if s.expires != 40 || !s.expire(40) || len(s.list) > 0 {
		t.Errorf("%d candidates at %d, want none from 40 on", len(s.list), s.expires)
	}

	for task := range slots.TaskID(n) {
		s.list = append(s.list, candidate{Attempt: slots.AttemptID{Task: task}})
	}
	s.accept()
	visited := 0
	for task := range slots.TaskID(1000) {
		a := slots.AttemptID{Task: n + task}
		s.list[n-1].Attempt = a
		if s.forgetTask(a); len(s.list) < n {
			visited++
			s.list = append(s.list, candidate{Attempt: a})
			s.count(&s.list[n-1], 1)
		}
	}
	if visited > 100 {
		t.Errorf("the starts of %d of 1000 tasks without a candidate visit all candidates", visited)
	}
}

// TestTheAverageCountsAllTasksOfTheJob: done tasks count as 1 and those that have not
// started as 0 (Hadoop 1.0.3, JobInProgress.findSpeculativeTask).
func TestTheAverageCountsAllTasksOfTheJob(t *testing.T) {
	for _, c := range []struct {
		done, all int32
		running   int64
		average   string
		progress  string
		behind    bool
	}{
		{4, 6, 500_000, "0.75", "0.25", true},
		{0, 4, 2_400_000, "0.6", "0.4", true},
		{0, 4, 2_400_000, "0.6", "0.400001", false},
		{2, 10, 0, "0.2", "0", true},
		{0, 10, 0, "0", "0", false},
		{0, 0, 0, "0", "0", false},
	} {
		average, progress := averageProgress(c.done, c.running*int64(slots.ProgressUnit), c.all), ofShare(c.progress)
		if average != ofShare(c.average) || farBehind(average, progress) != c.behind {
			t.Errorf("%+v: average %v, behind %v", c, average, farBehind(average, progress))
		}
	}
}

// ofShare returns the progress of a decimal number.
func ofShare(text string) slots.Progress { return slots.Progress(share(text)) * slots.ProgressUnit }
