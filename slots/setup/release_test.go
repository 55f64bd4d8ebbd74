package setup_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"mrlocal/slots/setup"
)

func at(all []setup.Submission) func(int) *setup.Submission {
	return func(i int) *setup.Submission { return &all[i] }
}

// releaseAll plays a run in which each job takes a time, and returns when each is
// submitted; -1: never.
func releaseAll(all []setup.Submission, takes []time.Duration, fails []bool) []time.Duration {
	r := setup.NewRelease(len(all), at(all))
	submitted := make([]time.Duration, len(all))
	for i := range submitted {
		submitted[i] = -1
	}
	type end struct {
		at  time.Duration
		job int
	}
	var ends []end
	for {
		job, due, ok := r.First()
		slices.SortFunc(ends, func(a, b end) int { return int(a.at - b.at) })
		switch {
		case ok && (len(ends) == 0 || due <= ends[0].at):
			r.Remove()
			submitted[job] = due
			ends = append(ends, end{due + takes[job], job})
		case len(ends) > 0:
			r.Ended(ends[0].at, ends[0].job, !fails[ends[0].job])
			ends = ends[1:]
		default:
			return submitted
		}
	}
}

func TestAJobIsDueWhenItsTimeHasComeAndTheJobsBeforeItHaveEnded(t *testing.T) {
	all := []setup.Submission{{Submit: 5}, {}, {After: []int{0, 1}}, {Submit: 100, After: []int{1}}, {Submit: 1, After: []int{2}}}
	got := releaseAll(all, []time.Duration{10, 3, 4, 1, 1}, make([]bool, 5))
	if d := cmp.Diff([]time.Duration{5, 0, 15, 100, 19}, got); d != "" {
		t.Error(d)
	}
}

func TestJobsThatAreDueAtOnceAreInTheirOrder(t *testing.T) {
	all := []setup.Submission{{After: []int{3}}, {Submit: 7}, {Submit: 2, After: []int{3}}, {}}
	r := setup.NewRelease(len(all), at(all))
	r.Remove()
	r.Ended(7, 3, true)
	for _, want := range []int{0, 1, 2} {
		if job, due, ok := r.First(); job != want || due != 7 || !ok {
			t.Fatalf("job %d at %v, %v; want job %d", job, due, ok, want)
		}
		r.Remove()
	}
}

func TestWhatWaitsForAFailedJobIsDroppedWithItsDependents(t *testing.T) {
	all := []setup.Submission{{}, {After: []int{0}}, {After: []int{1, 3}}, {}, {After: []int{3}}}
	r := setup.NewRelease(len(all), at(all))
	r.Remove()
	if d := cmp.Diff([]setup.Dropped{{Job: 1, Because: 0}, {Job: 2, Because: 1}}, r.Ended(1, 0, false)); d != "" {
		t.Error(d)
	}
	r.Remove()
	if dropped := r.Ended(2, 3, true); dropped != nil {
		t.Error(dropped)
	}
	if job, _, ok := r.First(); job != 4 || !ok {
		t.Errorf("job %d, %v; want job 4", job, ok)
	}
}

func TestACircleIsFoundWhereverItIs(t *testing.T) {
	all := []setup.Submission{{}, {After: []int{0, 2}}, {After: []int{3}}, {After: []int{0, 4}}, {After: []int{2}}}
	if d := cmp.Diff([]int{2, 3, 4}, setup.Cycle(len(all), at(all))); d != "" {
		t.Error(d)
	}
	all[4].After = []int{0}
	if circle := setup.Cycle(len(all), at(all)); circle != nil {
		t.Error(circle)
	}
	if d := cmp.Diff([]int{0}, setup.Cycle(1, at([]setup.Submission{{After: []int{0}}}))); d != "" {
		t.Error(d)
	}
}

// Each job is submitted at the later of its Submit time and the last end of its After. A job
// that waits for a failed job is never submitted. There is a circle if and only if some job is
// never submitted although none fails.
func TestReleaseFollowsItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "jobs")
		all, takes, fails := make([]setup.Submission, n), make([]time.Duration, n), make([]bool, n)
		for i := range all {
			all[i].Submit = time.Duration(rapid.IntRange(0, 20).Draw(t, "submit"))
			takes[i] = time.Duration(rapid.IntRange(0, 10).Draw(t, "takes"))
			for before := range n {
				if rapid.IntRange(0, n).Draw(t, fmt.Sprint(i, " after ", before)) == 0 {
					all[i].After = append(all[i].After, before)
				}
			}
		}
		circle := setup.Cycle(n, at(all))
		for k, i := range circle {
			if !slices.Contains(all[i].After, circle[(k+1)%len(circle)]) {
				t.Fatalf("%v is not a circle", circle)
			}
		}
		submitted := releaseAll(all, takes, fails)
		if slices.Contains(submitted, -1) != (circle != nil) {
			t.Fatalf("%v submitted, circle %v", submitted, circle)
		}
		if circle != nil {
			return
		}
		for i := range fails {
			fails[i] = rapid.IntRange(0, 4).Draw(t, "fails") == 0
		}
		submitted = releaseAll(all, takes, fails)
		for i := range all {
			want := all[i].Submit
			for _, before := range all[i].After {
				if submitted[before] < 0 || fails[before] {
					want = -1
					break
				}
				want = max(want, submitted[before]+takes[before])
			}
			if submitted[i] != want {
				t.Fatalf("job %d is submitted at %v, not %v", i, submitted[i], want)
			}
		}
	})
}
