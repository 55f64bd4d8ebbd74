package setup

import (
	"slices"
	"time"

	"mrlocal/internal/order"
)

// Release says which job of a run is submitted next. A job is due at the later of two
// times: its Submit time, and the time at which the last job of its After succeeded.
// Jobs that are due at the same time are in the order of their indexes. A driver calls First,
// submits that job, and calls Remove. It calls Ended when the job ends.
type Release struct {
	jobs []waiting                    // by index
	due  order.Ranking[time.Duration] // jobs whose After has succeeded, by the time at which they are due
}

// waiting is a job and the jobs that wait for it.
type waiting struct {
	submit     time.Duration // the time at which it is due, as far as known
	waits      int32         // number of jobs that it still waits for
	over       bool          // it has ended, or is dropped
	dependents []int32       // indexes of the jobs that wait for it
}

// Dropped is a job that is never submitted, because a job of its After did not
// succeed or was dropped itself.
type Dropped struct{ Job, Because int }

// NewRelease returns the Release of n jobs. job returns each of them; the indexes in
// its After lie in [0, n).
func NewRelease(n int, job func(i int) *Submission) *Release {
	r := &Release{jobs: make([]waiting, n), due: order.Ranking[time.Duration]{Less: func(a, b *time.Duration) bool { return *a < *b }}}
	for i := range n {
		s := job(i)
		r.jobs[i].submit, r.jobs[i].waits = s.Submit, int32(len(s.After))
		if len(s.After) == 0 {
			r.due.Set(int32(i), s.Submit)
		}
		for _, before := range s.After {
			r.jobs[before].dependents = append(r.jobs[before].dependents, int32(i))
		}
	}
	return r
}

// First returns the job that is due next, and the time from the start of the run. ok is false
// if every job that has not been taken waits for other jobs.
func (r *Release) First() (job int, at time.Duration, ok bool) {
	id, ok := r.due.First()
	if !ok {
		return -1, 0, false
	}
	return int(id), r.jobs[id].submit, true
}

// Remove removes the job that First returns, because the driver submits it.
func (r *Release) Remove() {
	id, _ := r.due.First()
	r.due.Remove(id)
}

// Ended records that a job that Remove removed has ended at the time now. If the job
// succeeded, each job that waited only for it becomes due. Otherwise each job that waits for
// it is dropped, and then the jobs that wait for dropped ones. Ended returns the dropped
// jobs. A job comes after the one in its Because.
func (r *Release) Ended(now time.Duration, job int, succeeded bool) (dropped []Dropped) {
	r.jobs[job].over = true
	if succeeded {
		for _, d := range r.jobs[job].dependents {
			if j := &r.jobs[d]; !j.over {
				if j.waits--; j.waits == 0 {
					j.submit = max(j.submit, now)
					r.due.Set(d, j.submit)
				}
			}
		}
		return nil
	}
	for failed := []int{job}; len(failed) > 0; failed = failed[1:] {
		for _, d := range r.jobs[failed[0]].dependents {
			if j := &r.jobs[d]; !j.over {
				j.over = true
				dropped = append(dropped, Dropped{int(d), failed[0]})
				failed = append(failed, int(d))
			}
		}
	}
	return dropped
}

// Cycle returns the indexes of jobs that wait for each other in a circle. Each waits for the
// next one, and the last one waits for the first. It returns nil if there is no circle. n and
// job are as for NewRelease.
func Cycle(n int, job func(i int) *Submission) (circle []int) {
	// Let all jobs run in order. Those that never become due are in a circle or wait for one.
	r := NewRelease(n, job)
	for i, _, ok := r.First(); ok; i, _, ok = r.First() {
		r.Remove()
		r.Ended(0, i, true)
	}
	i := slices.IndexFunc(r.jobs, func(j waiting) bool { return j.waits > 0 })
	if i < 0 {
		return nil
	}
	// Each job that waits has another one that waits in its After. So a path along After
	// comes back to a job that it has passed.
	var path []int
	place := map[int]int{}
	for {
		if from, seen := place[i]; seen {
			return path[from:]
		}
		place[i] = len(path)
		path = append(path, i)
		after := job(i).After
		i = after[slices.IndexFunc(after, func(a int) bool { return r.jobs[a].waits > 0 })]
	}
}
