package engine

import (
	"fmt"
	"time"

	"mrlocal/engine/task"
	"mrlocal/internal/invariant"
	"mrlocal/slots"
)

// submit hands a job to the Ledger.
func (c *coordinator) submit(j *runningJob) {
	ch := j.chain
	j.id = c.ledger.Submit(c.run.now(), j.spec())
	// Later jobs of a chain find it running.
	invariant.Reach(&ch.state, chainRunning)
	// Job ids are dense, so c.jobs is indexed by them.
	ch.current, ch.lastID = j, j.id
	c.jobs = append(c.jobs, j)
	// A job without any task is done at once, and no attempt will report that.
	c.mayBeDone(j)
	j.recordSample()
	invariant.Move(&j.state, jobFeeding)
	if j.feeder != nil {
		c.unfed = append(c.unfed, j)
		c.feedAdmitted()
		return
	}
	j.seal()
	j.updateReady()
	c.run.near.Place(c.ledger, c.run.now(), j.id, j.hosts, j.chain.note)
	j.restoreMaps()
}

// mayBeDone has endJobs look at a job.
func (c *coordinator) mayBeDone(j *runningJob) {
	// Attempts that end together are mostly of one job, so that comparing with the last one
	// is enough. A job that is there twice does no harm.
	if n := len(c.maybeDone); n == 0 || c.maybeDone[n-1] != j {
		c.maybeDone = append(c.maybeDone, j)
	}
}

// endJobs goes on with the chains of jobs of which nothing runs any more. It
// reports whether there were any.
func (c *coordinator) endJobs() (any bool) {
	// Ending a job may submit the next one of its chain, which may be done as well.
	for len(c.maybeDone) > 0 {
		// jobDone may add jobs to the list while it is walked.
		jobs := c.maybeDone
		c.maybeDone = nil
		for _, j := range jobs {
			if j.state < jobReleased && c.ledger.Done(j.id) {
				c.jobDone(j)
				any = true
			}
		}
	}
	return any
}

// jobDone submits the next job of the chain, or ends the chain. Nothing of j
// runs any more.
func (c *coordinator) jobDone(j *runningJob) {
	ch := j.chain
	// The Ledger says that the job failed. Why it did is the engine's knowledge.
	if ch.err == nil && c.ledger.JobState(j.id) != slots.Succeeded {
		if ch.err = j.firstFailure; ch.err == nil {
			ch.err = fmt.Errorf("%s: its tasks failed more often than Options.Attempts allows", j.Spec.Name)
		}
	}
	j.countLost()
	j.noteBinary()
	if ch.err != nil || j.step+1 == len(ch.job.Chain) {
		j.release()
		c.end(ch)
		return
	}
	// next takes the parts of j before j gives its inputs and map outputs back.
	next, err := ch.next(j)
	j.release()
	if err != nil {
		j.Sink.(*task.Spools).Release()
		ch.err = err
		c.end(ch)
		return
	}
	j.over()
	c.submit(next)
}

// fail ends a chain with its first cause; other chains go on. A chain that is
// just being opened ends when that is done.
func (c *coordinator) fail(ch *chain, cause error) {
	if ch.state >= chainSettling {
		return
	}
	if ch.err == nil {
		ch.err = cause
	}
	// opened ends the chain when it sees ch.err.
	j := ch.current
	if j == nil {
		return
	}
	if j.state < jobEnded {
		invariant.Move(&j.state, jobEnded)
		c.ledger.Abort(c.run.now(), j.id)
		c.mayBeDone(j)
	}
	// Attempts see the kill in Emit, between values or after a block. An attempt in user code
	// that does not return is abandoned after stopBy.
	for _, a := range c.order {
		if a.job == j && !a.Killed() {
			a.Kill()
			a.stopBy = time.Now().Add(stopWithin)
		}
	}
	j.stopFeeder(cause)
}

// failJob notes why an attempt of a job has failed; where that was one failure
// too many, the job's chain fails.
func (c *coordinator) failJob(j *runningJob, cause error, atOnce bool) {
	if j.firstFailure == nil {
		j.firstFailure = cause
	}
	if atOnce || c.ledger.JobState(j.id) == slots.Failed {
		c.fail(j.chain, j.firstFailure)
	}
}
