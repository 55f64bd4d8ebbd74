package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"mrlocal/input/feed"
	"mrlocal/internal/errs"
	"mrlocal/internal/guard"
	"mrlocal/internal/invariant"
	"mrlocal/output"
	"mrlocal/slots"
	"mrlocal/trace"
)

// This file opens, submits and settles chains. Opening and settling may take long: opening
// may walk a large directory, and settling makes a result durable. So they run on goroutines
// of their own, which post the outcome to the inbox.

// openWithin is how long opened chains may wait for others that were due at the same time.
// The chains that were opened by then are submitted together, before slots are assigned.
const openWithin = 20 * time.Millisecond

// openDue opens the chains whose time has come, in the order of their times.
func (c *coordinator) openDue() {
	now := c.run.now()
	// In an exhausted run no attempt can run any more, so chains that are due later fail at once.
	for i, at, ok := c.release.First(); ok && (at <= now || c.state == runExhausted); i, at, ok = c.release.First() {
		c.release.Remove()
		ch := c.run.chains[i]
		invariant.Move(&ch.state, chainOpening)
		if ch.err != nil {
			c.end(ch)
			continue
		}
		// The coordinator opens a chain without files itself. Such a chain must not overtake
		// one that is still being opened.
		if ch.inMemory() && !c.opening && len(c.toOpen) == 0 {
			j, err := ch.openApart()
			c.opened(ch, j, err)
			continue
		}
		c.toOpen = append(c.toOpen, ch)
	}
	// There is one opener at a time, so that chains are submitted in the order of their times.
	// The next opener opens the chains that become due meanwhile.
	if len(c.toOpen) == 0 || c.opening {
		return
	}
	c.opening = true
	c.run.memoryUsers.Add(1)
	go c.openAll(c.toOpen)
	c.toOpen = nil
}

// openAll is the opener, a goroutine. It opens chains one after the other and posts the outcomes.
// It stops early if the run ends.
func (c *coordinator) openAll(chains []*chain) {
	defer c.run.leaveMemory()
	type result struct {
		ch  *chain
		j   *job
		err error
	}
	var ready []result
	posted := time.Now()
	flush := func(last bool) {
		results := ready
		// The closure owns results from here on; the opener collects into a new slice.
		ready, posted = nil, time.Now()
		c.inbox.Post(func() {
			for _, r := range results {
				c.opened(r.ch, r.j, r.err)
			}
			c.opening = c.opening && !last
		})
	}
	for _, ch := range chains {
		if c.run.ctx.Err() != nil {
			break
		}
		j, err := ch.openApart()
		ready = append(ready, result{ch, j, err})
		// A large directory of the next chain must not delay the chains that are ready.
		if time.Since(posted) > openWithin {
			flush(false)
		}
	}
	flush(true)
}

// opened submits j, the first job of a chain that was opened. If err is not nil, the chain could
// not be opened, and opened ends it.
func (c *coordinator) opened(ch *chain, j *job, err error) {
	// fail may have set ch.err while the chain was opened. The first cause counts.
	if ch.err == nil && err != nil {
		ch.err = c.run.ofJob(&ch.job.Chain[0], err)
	}
	if ch.plan != nil {
		ch.noteLeftOut(ch.plan.Notes)
	}
	if ch.err != nil {
		if j != nil {
			j.feeder.ReleaseFirst()
			j.release()
		}
		c.end(ch)
		return
	}
	c.submit(j)
}

// feedAdmitted starts the feeders of jobs that may run under the limits on running jobs. The
// feeders of other jobs wait, because their pieces would take memory from the jobs that run.
func (c *coordinator) feedAdmitted() {
	c.unfed = slices.DeleteFunc(c.unfed, func(j *job) bool {
		if j.state >= jobEnded { // it failed before its feeder could start
			return true
		}
		if !c.ledger.View().Job(j.id).Runnable() {
			return false
		}
		// The run does not wait for the feeder, which may hang in a read when the run ends.
		c.run.memoryUsers.Add(1)
		go c.serveFeeder(j)
		return true
	})
}

// serveFeeder is the feeder of a job: it announces the job's map tasks.
func (c *coordinator) serveFeeder(j *job) {
	defer c.run.leaveMemory()
	// A feeder that walks directories stays unbound: the system places it on any idle core.
	if j.feeder.Found == nil {
		c.run.bindFeeder()
	}
	guard.RunToEnd(func() error {
		return j.feeder.Serve(func(s feed.Source) { c.inbox.Post(func() { j.announce(s) }) })
	}, func(err error) {
		c.inbox.Post(func() {
			// A sealed job needs no more of its input, so the error does not matter to it.
			if err != nil && j.state < jobSealed {
				c.fail(j.chain, c.run.ofJob(&j.spec, err))
			}
		})
	})
}

// end settles a chain whose jobs are done, or which has failed.
func (c *coordinator) end(ch *chain) {
	invariant.Move(&ch.state, chainSettling)
	// Without an output there is nothing to make durable or to remove.
	if ch.discards() || ch.err != nil && ch.target() == nil {
		c.ended(ch)
		return
	}
	c.settling++
	c.run.memoryUsers.Add(1)
	go c.settle(ch, ch.err)
}

// settle is a goroutine that makes the result of a chain durable, or removes it if cause is not
// nil. It posts the outcome.
func (c *coordinator) settle(ch *chain, cause error) {
	defer c.run.leaveMemory()
	err, readerGone := cause, false
	// A panic in settle fails the chain, not the process.
	fault := guard.CatchPanic(func() error { readerGone, err = ch.settle(cause); return nil })
	c.inbox.Post(func() {
		if err = errors.Join(err, fault); ch.err == nil { // else the job has failed before
			err = c.run.ofJob(&ch.current.spec, err)
		}
		ch.err, ch.readerGone = err, readerGone
		c.settling--
		c.ended(ch)
	})
}

// ended books the end of a chain. If the chain has failed, the chains that wait for it end too.
func (c *coordinator) ended(ch *chain) {
	invariant.Move(&ch.state, chainEnded)
	if ch.current != nil {
		ch.current.over()
	}
	// A plan of many files is large, and a batch may have many chains.
	ch.plan, ch.current = nil, nil
	ch.forget()
	c.left--
	// Each drop names the chain that it waits for (Because). That chain may itself be dropped in
	// this loop.
	for _, drop := range c.release.Ended(c.run.now(), ch.index, ch.err == nil) {
		after := c.run.chains[drop.Job]
		invariant.Move(&after.state, chainEnded)
		after.cancelled = true
		after.err = fmt.Errorf("%s, which it waits for, failed", c.run.chains[drop.Because].name())
		after.plan = nil
		after.forget()
		c.left--
	}
}

// submit submits a job to the Ledger, and announces its map tasks or prepares its feeder.
func (c *coordinator) submit(j *job) {
	ch := j.chain
	j.id = c.ledger.Submit(c.run.now(), j.ledgerSpec())
	// The chain runs already if this is not its first job.
	invariant.Reach(&ch.state, chainRunning)
	// Job ids are dense, so c.jobs is indexed by them.
	if ch.lastID >= 0 {
		c.run.stream.Append(trace.Event{At: c.run.now(), Op: trace.OpWait, Job: int32(j.id), A: int64(ch.lastID)})
	} else {
		for _, before := range ch.job.After {
			c.run.stream.Append(trace.Event{At: c.run.now(), Op: trace.OpWait, Job: int32(j.id), A: int64(c.run.chains[before].lastID), B: int64(ch.job.Submit)})
		}
	}
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
		if ch.cancelled {
			c.ledger.Abort(c.run.now(), j.id)
		} else {
			c.ledger.Fail(c.run.now(), j.id)
		}
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
