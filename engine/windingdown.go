package engine

import (
	"errors"
	"fmt"
	"time"

	"mrlocal/internal/invariant"
	"mrlocal/slots"
)

// stopWithin bounds how long attempts may take to notice that they are killed,
// when their job has failed or the run is interrupted.
const stopWithin = 1200 * time.Millisecond

// interrupt ends every chain. It waits, for a bounded time, until attempts have
// noticed and results under way are settled; after that no output is pending.
// It returns nil where all results were settled in time, and otherwise cause.
func (c *coordinator) interrupt(cause error) error {
	invariant.Move(&c.state, runInterrupted)
	for _, ch := range c.run.chains {
		if ch.state < chainSettling {
			// A chain that had failed before keeps its own error.
			ch.cancelled = ch.err == nil
			c.fail(ch, cause)
		}
	}
	// The Ledger answers the end of the jobs with orders to kill their attempts.
	c.obey(c.ledger.AssignAll(c.run.now()))
	c.windDown()
	// Output that is still pending now is removed here. The error names what cannot be removed.
	problems := []error{cause}
	undone := false
	for _, ch := range c.run.chains {
		if ch.state != chainEnded {
			undone = true
			problems = append(problems, ch.abort())
		}
	}
	if !undone {
		return nil
	}
	return errors.Join(problems...)
}

// windDown waits, for a bounded time, until the killed attempts have ended.
func (c *coordinator) windDown() {
	deadline := time.NewTimer(stopWithin)
	defer deadline.Stop()
	// The Ledger is not asked any more, so nothing new starts.
	for len(c.running) > 0 || c.settling > 0 {
		select {
		case <-c.inbox.Wake:
			c.inbox.Apply()
		case <-deadline.C:
			// The list is copied, because abandon takes attempts out of it.
			for _, a := range append([]*runningAttempt(nil), c.order...) {
				c.abandon(a)
			}
			return
		}
	}
}

// abandon gives up an attempt whose thread is in user code and does not stop.
// The slot gets a new thread.
func (c *coordinator) abandon(a *runningAttempt) {
	j := a.job
	a.Kill()
	// From here on, what the thread reports does not count.
	c.remove(a, attemptAbandoned)
	c.run.abandonedThreads++
	// The memory of the budget stays mapped at the end of the run, because the thread may still
	// use it.
	c.run.pool.Abandon(a.Slot)
	a.LeaveFDs() // its thread may never do that
	if a.ID.Kind == slots.Map {
		j.noteStuck(a.ID.Task)
	}
	// Another attempt of the task may wait for the source.
	c.handOverSource(a)
	c.mayBeDone(j)
	if !c.onLostTracker(a) {
		c.ledger.Finish(c.run.now(), a.ID, slots.Outcome{Killed: j.state >= jobEnded})
	}
	// The thread never gives back what it holds.
	c.hungBytes += c.run.env.FloorBytes
	if c.run.budget.Limit()-c.run.env.HeldTotalBytes-c.hungBytes < c.run.env.FloorBytes && c.state < runInterrupted {
		c.failAll(errors.New("no memory is left for tasks: threads that hang hold it all; raise Options.MemoryBytes"))
	}
}

// timeOut fails an attempt that has made no progress for too long.
func (c *coordinator) timeOut(a *runningAttempt) {
	c.abandon(a)
	err := fmt.Errorf("%s: no progress for %v", a.Name(), c.run.o.TaskTimeout)
	a.job.chain.note(err.Error() + ": its thread is abandoned")
	c.failJob(a.job, err, false)
}

// failAll fails every chain, because nothing can run any more.
func (c *coordinator) failAll(cause error) {
	for _, ch := range c.run.chains {
		c.fail(ch, cause)
	}
	invariant.Reach(&c.state, runExhausted)
}
