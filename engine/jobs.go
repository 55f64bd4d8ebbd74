package engine

import (
	"cmp"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/internal/guard"
	"mrlocal/internal/invariant"
	"mrlocal/output"
	"mrlocal/slots"
	"mrlocal/trace"
)

// submit submits a job to the Ledger, and announces its map tasks or prepares its feeder.
func (c *coordinator) submit(j *job) {
	ch := j.chain
	j.id = c.ledger.Submit(c.run.now(), j.ledgerSpec())
	// The chain runs already if this is not its first job.
	invariant.Reach(&ch.state, chainRunning)
	// Job ids are dense, so c.jobs is indexed by them.
	ch.current, ch.lastID = j, j.id
	c.jobs = append(c.jobs, j)
	// A job without any task is done at once, but has no attempt that could report it.
	c.mayBeDone(j)
	if j.Cuts != nil {
		c.run.stream.Append(trace.Event{At: c.run.now(), Op: trace.OpSample, Job: int32(j.id), A: samplePlaces, B: int64(len(j.Cuts))})
	}
	invariant.Move(&j.state, jobFeeding)
	if j.feeder != nil {
		c.unfed = append(c.unfed, j)
		c.feedAdmitted()
		return
	}
	j.seal()
	j.updateReady()
	c.run.trackers.Place(c.ledger, c.run.now(), j.id, j.hosts, j.chain.note)
	j.restoreMaps()
}

// mayBeDone notes that a job may have no running attempt and no pending task left. endJobs
// checks it.
func (c *coordinator) mayBeDone(j *job) {
	// Attempts that end together are mostly of one job, so comparing with the last entry keeps
	// the list short. A job that is in it twice does no harm.
	if n := len(c.maybeDone); n == 0 || c.maybeDone[n-1] != j {
		c.maybeDone = append(c.maybeDone, j)
	}
}

// endJobs calls jobDone for the jobs of maybeDone that are done. It reports whether there were
// any.
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

// jobDone submits the next job of the chain, or ends the chain. No attempt of j runs any more.
func (c *coordinator) jobDone(j *job) {
	ch := j.chain
	ch.err = cmp.Or(ch.err, j.lateError())
	// The Ledger knows that the job failed, but not why.
	if ch.err == nil && c.ledger.JobState(j.id) != slots.Succeeded {
		ch.err = errs.Errorf("%s: its tasks failed more often than %s allows", j.spec.Name, errs.Field("Options.Attempts"))
	}
	// These maps did not run again, because all reduces had copied their outputs. loseMap has subtracted their
	// counters.
	for _, t := range j.maps {
		if t.output == nil && t.counters != nil {
			j.counters.Add(t.counters)
		}
	}
	j.noteBinary()
	if ch.err != nil || j.step+1 == len(ch.job.Chain) {
		j.release()
		c.end(ch)
		return
	}
	// The next job takes over the parts of j (Spools). j.release gives back all else.
	var next *job
	err := guard.Apart(func() (err error) { next, err = ch.next(j); return err })
	j.release()
	if err != nil {
		j.sink.(*output.Spools).Release()
		ch.err = c.run.ofJob(&j.spec, err)
		c.end(ch)
		return
	}
	j.over()
	c.submit(next)
}

// fail fails a chain; other chains go on. The first cause counts. fail aborts the current job
// in the Ledger and kills its attempts. The chain ends when they have ended. A chain that is
// being opened, or waits, ends when it is opened.
func (c *coordinator) fail(ch *chain, cause error) {
	if ch.state >= chainSettling {
		return
	}
	ch.err = cmp.Or(ch.err, cause)
	// Without a job, openDue or opened ends the chain, because ch.err is set.
	j := ch.current
	if j == nil {
		return
	}
	if j.state < jobEnded {
		invariant.Move(&j.state, jobEnded)
		c.ledger.Abort(c.run.now(), j.id)
		c.mayBeDone(j)
	}
	// Attempts notice the kill in Emit, between values or after a block. The tick abandons an
	// attempt whose user code has not returned by stopBy.
	for _, a := range c.order {
		if a.job == j && !a.killed() {
			a.kill()
			a.stopBy = time.Now().Add(stopWithin)
		}
	}
	j.feeder.Stop(cause)
}

// failJob handles the failure of an attempt of a job. The chain of the job fails with cause if atOnce
// is true. It also does if the task has now failed too often (Options.Attempts).
func (c *coordinator) failJob(j *job, cause error, atOnce bool) {
	if atOnce || c.ledger.JobState(j.id) == slots.Failed {
		c.fail(j.chain, cause)
	}
}
