package engine

import (
	"testing"

	"mrlocal/jobs"
)

// TestALostRecordFailsItsTaskOrItsJob: user code that emits on a goroutine of its own may do so at any step
// of the end of its attempt.
func TestALostRecordFailsItsTaskOrItsJob(t *testing.T) {
	for at := range 4 {
		a := &attempt{job: (&chain{job: &BatchJob{Chain: jobs.Chain{{}}}}).newJob(0)}
		u := &userTime{attempt: a}
		steps := []func() error{u.check, func() error { return nil }, func() error { u.commit(); return a.job.lateError() }}
		var err error
		for i, step := range steps {
			if i == at {
				u.emittedLate()
			}
			if err = step(); err != nil {
				break
			}
		}
		if at == len(steps) {
			u.emittedLate()
			err = a.job.lateError()
		}
		if err == nil {
			t.Errorf("a record before step %d is lost, and nobody says so", at)
		}
	}
}
