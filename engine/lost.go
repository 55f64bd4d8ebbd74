package engine

import (
	"errors"
	"fmt"

	"mrlocal/slots"
	"mrlocal/spill/runs"
)

// outputLost handles a map output that failed its check: the map runs again,
// or the job fails where its input cannot be read again.
func (c *coordinator) outputLost(j *runningJob, err error) bool {
	var corrupt *runs.CorruptError
	if !errors.As(err, &corrupt) {
		return false
	}
	for task, out := range j.outputs {
		if out == nil || out != corrupt.Output {
			continue
		}
		j.chain.note(fmt.Sprintf("map output %d of %s is lost (%v): the map runs again", task, j.Spec.Name, corrupt))
		c.loseOutput(j, task, err)
		return true
	}
	return false
}

// loseOutput takes back one map output; to the Ledger that is a failure of the
// map, of which the job may have had enough.
func (c *coordinator) loseOutput(j *runningJob, task int, cause error) {
	c.touch(j)
	if !c.loseMap(j, task, cause) {
		return
	}
	if j.firstFailure == nil {
		j.firstFailure = fmt.Errorf("%s m-%06d: %w", j.Spec.Name, task, cause)
	}
	c.ledger.LostOutput(c.run.now(), j.id, slots.TaskID(task))
	if c.ledger.JobState(j.id) == slots.Failed {
		c.fail(j.chain, j.firstFailure)
	}
}

// sourceAgain gets a map task's input ready for another attempt.
func (c *coordinator) sourceAgain(a *runningAttempt) {
	again, err := a.job.sources[a.ID.Task].Again()
	if err != nil {
		c.fail(a.job.chain, fmt.Errorf("%s: %w", a.Name(), err))
		return
	}
	a.job.sources[a.ID.Task] = again
}

// loseMap takes a committed map output back and gets its input ready; false
// where that fails the job.
func (c *coordinator) loseMap(j *runningJob, task int, cause error) bool {
	again, err := j.sources[task].Again()
	if err != nil {
		c.fail(j.chain, errors.Join(cause, err))
		return false
	}
	j.sources[task] = again
	j.outputs[task] = nil
	j.counters.Sub(j.counted[task])
	j.Shuffle.Lost(task)
	return true
}
