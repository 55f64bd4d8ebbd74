package engine

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"mrlocal/engine/source"
	"mrlocal/engine/task"
	"mrlocal/internal/invariant"
)

// This file is about how chains come and go. A chain whose time has come is opened,
// submitted, and in the end settled. Opening and settling may take long: a large
// directory is walked, or a result is made durable. So goroutines of their own do
// them, and post the outcome to the inbox.

// openWithin is how long opened chains may wait for others that were due at the same
// time. They are submitted together, before anything is assigned.
const openWithin = 20 * time.Millisecond

// openDue opens the chains whose time has come, in the order of their times.
func (c *coordinator) openDue() {
	now := c.run.now()
	// Without capacity nothing runs any more, so that chains that come later need not wait
	// for their time: they fail at once.
	for i, at, ok := c.release.Next(); ok && (at <= now || c.state == runExhausted); i, at, ok = c.release.Next() {
		c.release.Take()
		ch := c.run.chains[i]
		invariant.Move(&ch.state, chainOpening)
		if ch.err != nil {
			c.end(ch)
			continue
		}
		if ch.inMemory() && !c.opening && len(c.toOpen) == 0 { // it must not overtake a chain that is still being opened
			j, err := ch.open()
			c.opened(ch, j, err)
			continue
		}
		c.toOpen = append(c.toOpen, ch)
	}
	// One opener at a time, so that chains are submitted in the order of their times. What
	// comes due meanwhile is opened by the next one.
	if len(c.toOpen) == 0 || c.opening {
		return
	}
	c.opening = true
	c.run.visitors.Add(1)
	go c.openAll(c.toOpen)
	c.toOpen = nil
}

// openAll is the opener. It opens chains one after the other.
func (c *coordinator) openAll(chains []*chain) {
	defer c.run.leaveMemory()
	type result struct {
		ch  *chain
		j   *runningJob
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
		var j *runningJob
		err := task.CatchPanic(func() (err error) {
			j, err = ch.open()
			return err
		})
		ready = append(ready, result{ch, j, err})
		// Chains that are ready need not wait for a large directory of a later one.
		if time.Since(posted) > openWithin {
			flush(false)
		}
	}
	flush(true)
}

// opened submits a chain, or ends it if it could not be opened.
func (c *coordinator) opened(ch *chain, j *runningJob, err error) {
	// fail may have set ch.err while the chain was opened. The first cause counts.
	if ch.err == nil && err != nil {
		ch.err = err
	}
	if ch.plan != nil {
		ch.noteLeftOut(ch.plan.Notes)
	}
	if ch.err != nil {
		if j != nil {
			j.forgetPrimed()
			j.release()
		}
		c.end(ch)
		return
	}
	c.submit(j)
}

// feedAdmitted starts the feeders of jobs that the limits on running jobs let
// run. The pieces of other jobs would keep memory from jobs that may run.
func (c *coordinator) feedAdmitted() {
	c.unfed = slices.DeleteFunc(c.unfed, func(j *runningJob) bool {
		// It failed before its feeder could start.
		if j.state >= jobEnded {
			return true
		}
		if !c.ledger.View().Job(j.id).Runnable() {
			return false
		}
		// The feeder may hang in a read when the run ends.
		c.run.visitors.Add(1)
		go c.serveFeeder(j)
		return true
	})
}

// serveFeeder is the feeder of a job: it announces the job's map tasks.
func (c *coordinator) serveFeeder(j *runningJob) {
	defer c.run.leaveMemory()
	// A walk through directories is no decoder: it goes where there is time.
	if j.feeder.Found == nil {
		c.run.bindFeeder()
	}
	err := j.feeder.Serve(func(s source.Source) {
		c.inbox.Post(func() { j.announce(s) })
	})
	if err != nil {
		c.inbox.Post(func() {
			if j.state < jobSealed { // it wants all of its input
				c.fail(j.chain, err)
			}
		})
	}
}

// end settles a chain whose jobs are done.
func (c *coordinator) end(ch *chain) {
	invariant.Move(&ch.state, chainSettling)
	// There is nothing to make durable or to remove, so that no goroutine is needed.
	if ch.discards() || ch.err != nil && ch.target() == nil {
		c.ended(ch)
		return
	}
	c.settling++
	c.run.visitors.Add(1)
	go c.settle(ch, ch.err)
}

// settle makes the result of a chain durable, or removes it, on a goroutine of
// its own.
func (c *coordinator) settle(ch *chain, cause error) {
	defer c.run.leaveMemory()
	var err error
	var readerGone bool
	// A panic in settle fails the chain, not the process.
	if fault := task.CatchPanic(func() error { err, readerGone = ch.settle(cause); return nil }); fault != nil {
		err = errors.Join(cause, fault)
	}
	c.inbox.Post(func() {
		ch.err, ch.readerGone = err, readerGone
		c.settling--
		c.ended(ch)
	})
}

// ended books the end of a chain, and of the chains that wait for it if it failed.
func (c *coordinator) ended(ch *chain) {
	invariant.Move(&ch.state, chainEnded)
	if ch.current != nil {
		ch.current.over()
	}
	// A plan of many files is large, and a batch may have many chains.
	ch.plan, ch.current = nil, nil
	ch.forget()
	c.left--
	// Each drop names the chain because of which it happens; both may be dropped in this loop.
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
