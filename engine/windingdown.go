package engine

import (
	"errors"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/internal/invariant"
	"mrlocal/slots"
)

// stopWithin bounds how long attempts may take to notice that they are killed,
// when their job has failed or the run is interrupted. An attempt that takes longer is
// abandoned.
const stopWithin = 1200 * time.Millisecond

// interrupt ends every chain. It waits for killed attempts to end and for chains that are
// settling, at most stopWithin. Then it removes all output that is still pending.
//
// If no chain was still running and all were settled in time, their results count, and interrupt
// returns nil. Otherwise it returns cause, joined with errors of the removal. A chain whose commit failed
// because of cause has not been settled.
func (c *coordinator) interrupt(cause error) error {
	invariant.Move(&c.state, runInterrupted)
	settling := map[*chain]bool{}
	for _, ch := range c.run.chains {
		settling[ch] = ch.state == chainSettling
		if ch.state < chainSettling {
			// A chain that had failed before keeps its own error.
			ch.cancelled = ch.err == nil
			c.fail(ch, cause)
		}
	}
	// The Ledger orders the kills of the attempts of these jobs.
	c.obey(c.ledger.AssignAll(c.run.now()))
	c.windDown()
	problems := []error{cause}
	undone := false
	for _, ch := range c.run.chains {
		switch {
		case ch.state != chainEnded:
			undone = true
			problems = append(problems, ch.abort())
		case settling[ch] && errors.Is(ch.err, cause):
			ch.cancelled = true
			undone = true
			problems = append(problems, ch.err)
		}
	}
	if !undone {
		return nil
	}
	return errors.Join(problems...)
}

// windDown waits until the killed attempts have ended and no chain is settling. After stopWithin
// it abandons the attempts that are left.
func (c *coordinator) windDown() {
	deadline := time.NewTimer(stopWithin)
	defer deadline.Stop()
	// No attempt starts in this loop, because it never asks the Ledger for orders.
	for len(c.running) > 0 || c.settling > 0 {
		select {
		case <-c.inbox.Wake:
			c.inbox.Apply()
		case <-deadline.C:
			// The list is copied, because abandon takes attempts out of it.
			for _, a := range append([]*attempt(nil), c.order...) {
				c.abandon(a)
			}
			return
		}
	}
}

// abandon gives up an attempt whose thread hangs in user code. The slot gets a new thread. To the
// Ledger the attempt has failed, or was killed if its job has ended. An attempt that waits for its
// source runs no user code. Its thread ends by itself once the attempt is killed.
func (c *coordinator) abandon(a *attempt) {
	j := a.job
	a.kill()
	if a.state == attemptWaiting {
		return
	}
	// From here on, what the thread reports is dropped.
	c.remove(a, attemptAbandoned)
	c.run.abandonedThreads++
	// abandonedThreads keeps the memory of the budget mapped after the run, because the thread
	// may still use it.
	c.run.pool.Abandon(a.slot)
	a.leaveFDs() // its thread may never do that
	if a.id.Kind == slots.Map {
		j.stuck[a.id.Task] = struct{}{}
	}
	// Another attempt of the task may wait for the source.
	c.handOverSource(a)
	c.mayBeDone(j)
	if !c.onLostTracker(a) {
		c.ledger.Finish(c.run.now(), a.id, slots.Outcome{Killed: j.state >= jobEnded})
	}
	// The thread does not give back its lease. If the rest cannot hold one floor, no attempt
	// could start, and the run would wait for ever.
	c.hungBytes += c.run.floorBytes
	if c.run.budget.Limit()-c.run.pieces.TotalBytes()-c.hungBytes < c.run.floorBytes && c.state < runInterrupted {
		c.failAll(errs.Errorf("no memory is left for tasks: threads that hang hold it all; raise %s", errs.Field("Options.MemoryBytes")))
	}
}

// failAll fails every chain with cause, because no attempt can run any more. openDue ends the
// chains that have not been opened.
func (c *coordinator) failAll(cause error) {
	for _, ch := range c.run.chains {
		c.fail(ch, cause)
	}
	invariant.Reach(&c.state, runExhausted)
}
