package engine

import "testing"

// TestALostRecordFailsItsTaskOrItsJob: user code that emits on a goroutine of its own may do so at any step
// of the end of its attempt.
func TestALostRecordFailsItsTaskOrItsJob(t *testing.T) {
	for at := range 4 {
		a := &SlotAttempt{Job: &SharedJob{}}
		u := &userTime{attempt: a}
		steps := []func() error{u.end, func() error { return nil }, func() error { u.commit(); return a.Job.Late() }}
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
			err = a.Job.Late()
		}
		if err == nil {
			t.Errorf("a record before step %d is lost, and nobody says so", at)
		}
	}
}
