package setup

import (
	"slices"
	"time"

	"mrlocal/internal/order"
)

// Release says which job of a run is submitted next. A job is due at the later of two
// times: its Submit time, and the time at which the last job of its After succeeded.
// Jobs that are due at the same time are in the order of their indexes.
type Release struct {
	jobs []waiting
	due  order.Ranking[time.Duration] // jobs that wait for nothing but time
}

// waiting is a job as Release sees it.
type waiting struct {
	submit     time.Duration
	waits      int32 // jobs that it still waits for
	over       bool  // it has ended, or is dropped
	dependents []int32
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

// Next returns the job that is due next and when. It is false if every job that has
// not been taken waits for other jobs.
func (r *Release) Next() (job int, at time.Duration, ok bool) {
	id, ok := r.due.First()
	if !ok {
		return -1, 0, false
	}
	return int(id), r.jobs[id].submit, true
}

// Take removes the job that Next returns: it is about to be submitted.
func (r *Release) Take() {
	id, _ := r.due.First()
	r.due.Remove(id)
}

// Ended records that a job that Take removed has ended at the time now. If the job
// succeeded, each job that waited only for it becomes due. If it failed, each job that
// waits for it is dropped, and so are the jobs that wait for those. Ended returns the
// dropped jobs; a job comes after the job in its Because.
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

// Cycle returns the jobs of a circle: each waits for the next one, and the last
// one waits for the first. It returns nil if there is no circle.
func Cycle(n int, job func(i int) *Submission) (circle []int) {
	r := NewRelease(n, job)
	for i, _, ok := r.Next(); ok; i, _, ok = r.Next() {
		r.Take()
		r.Ended(0, i, true)
	}
	i := slices.IndexFunc(r.jobs, func(j waiting) bool { return j.waits > 0 })
	if i < 0 {
		return nil
	}
	// From each job that waits, some After leads to another one that waits.
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
