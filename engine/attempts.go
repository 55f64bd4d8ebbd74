package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"mrlocal/input/feed"
	"mrlocal/internal/errs"
	"mrlocal/internal/guard"
	"mrlocal/internal/invariant"
	"mrlocal/internal/machine"
	"mrlocal/jobs"
	"mrlocal/output"
	"mrlocal/shuffle"
	"mrlocal/slots"
	"mrlocal/trace"
)

// sameTask reports whether b is another attempt of the task of a.
func (a *attempt) sameTask(b *attempt) bool {
	return a != b && a.job == b.job && a.id.Kind == b.id.Kind && a.id.Task == b.id.Task
}

// writes reports whether the attempt writes a part of its job's output: it is a reduce, or a map
// of a map-only job.
func (a *attempt) writes() bool { return a.id.Kind == slots.Reduce || a.job.mapOnly() }

// detail appends an event that is not a fact of the Ledger to the stream: a spill, copy or status. It may be
// called from any goroutine. e.At is not set, and texts belong to e.Ref.
func (c *coordinator) detail(e trace.Event, texts ...string) {
	c.inbox.Post(func() {
		e.At = c.run.now()
		if len(texts) > 0 {
			e.Ref = c.run.stream.Refer(texts...)
		}
		c.run.stream.Append(e)
	})
}

// admit sets the fields of an attempt that its slot's thread reads, and adds it to the running ones.
func (c *coordinator) admit(a *attempt, s slots.Start) {
	a.id = s.Attempt
	a.slot = int(s.Slot)
	a.tracker = c.ledger.Config().Slots[s.Slot].Tracker
	a.run = c.run
	a.job = c.jobs[a.id.Job]
	a.floorBytes = c.run.floorBytes
	a.lastBeatAt = time.Now()
	a.ctx, a.cancel = context.WithCancelCause(c.run.ctx)
	a.faulty = int(a.id.N) < a.job.failing(a.id.Kind, a.id.Task)
	a.slowdown = c.run.slowdown(a, s.Locality)
	c.running[a.id] = a
	c.order = append(c.order, a)
}

// startMap runs a map attempt on its slot's thread, and posts its end. If another attempt still reads its
// source, the attempt waits there for it.
func (c *coordinator) startMap(s slots.Start) {
	a := &mapAttempt{}
	c.admit(&a.attempt, s)
	c.run.runningMaps.Add(1)
	// Only the coordinator may read job.maps, so it passes the source to the thread.
	t := &a.job.maps[a.id.Task]
	if c.sourceInUse(&a.attempt) {
		a.handOver, t.waiting = make(chan feed.Source, 1), a
	} else {
		a.source = t.source
		invariant.Move(&a.state, attemptRunning)
	}
	var out *shuffle.MapOutput
	c.onThread(&a.attempt, func() (err error) {
		if err = a.awaitSource(); err != nil {
			return err
		}
		defer a.startProfile()()
		for more := true; more; more = a.needsMore(&err) {
			out, err = a.runMap()
		}
		a.buf, a.out = nil, nil // the map output refers to the attempt (notify), and outlives it
		return err
	}, func(err error) { c.mapEnded(a, out, err) })
}

// startReduce runs a reduce attempt on its slot's thread, and posts its end.
func (c *coordinator) startReduce(s slots.Start) {
	a := &reduceAttempt{}
	c.admit(&a.attempt, s)
	if c.ledger.HoldsCopy() {
		a.gate = make(chan struct{})
		c.gates[a.id] = a.gate
	}
	invariant.Move(&a.state, attemptRunning)
	c.onThread(&a.attempt, func() (err error) {
		a.fetch = a.job.shuffle.Fetch(int(a.id.Task))
		defer a.fetch.Close()
		if a.copies = a.newCopies(); a.copies != nil {
			defer a.copies.Close()
		}
		defer a.startProfile()()
		for more := true; more; more = a.needsMore(&err) {
			err = a.runReduce()
		}
		return err
	}, func(err error) { c.reduceEnded(a, err) })
}

// onThread runs the life of an attempt on its slot's thread, and posts ended. If user code ends the goroutine,
// the thread goes on as a new one.
func (c *coordinator) onThread(a *attempt, life func() error, ended func(err error)) {
	c.run.pool.Run(a.slot, func() {
		cpu := machine.ThreadCPU()
		guard.RunToEnd(life, func(err error) {
			a.outcome.CPU = machine.ThreadCPU() - cpu
			c.inbox.Post(func() { ended(err) })
		})
	})
}

// mapEnded books the end of a map attempt. The coordinator owns out, which is nil if the attempt has failed
// or the job is map-only.
func (c *coordinator) mapEnded(a *mapAttempt, out *shuffle.MapOutput, err error) {
	j := a.job
	// An attempt and its copy may both end before the Ledger's order to kill one is carried out.
	// The output of the second one is dropped.
	late := out != nil && j.state < jobEnded && j.maps[a.id.Task].output != nil
	if a.state == attemptAbandoned || err != nil || late || !c.counts(&a.attempt) {
		if out != nil {
			j.makers.Delete(out)
			out.Release()
		}
		c.attemptFailed(&a.attempt, err)
		return
	}
	c.remove(&a.attempt, attemptEnded)
	if out != nil {
		out.Register(c.run.budget) // from here on the budget may evict it when memory is short
		t := &j.maps[a.id.Task]
		t.output = out
		t.ranOn = a.tracker
		t.counters = &a.counters
		j.shuffle.Commit(int(a.id.Task), out)
	}
	// The map has committed, so no other attempt reads its piece.
	releaseSource(a.source)
	a.source = nil // as buf and out
	c.book(&a.attempt)
}

// reduceEnded books the end of a reduce attempt.
func (c *coordinator) reduceEnded(a *reduceAttempt, err error) {
	if a.state == attemptAbandoned || err != nil || !c.counts(&a.attempt) {
		c.attemptFailed(&a.attempt, err)
		return
	}
	c.remove(&a.attempt, attemptEnded)
	a.job.shuffle.PartDone(int(a.id.Task))
	c.book(&a.attempt)
}

// counts reports whether the result of an attempt counts: its job has not ended, and its tracker
// is not lost.
func (c *coordinator) counts(a *attempt) bool {
	return a.job.state < jobEnded && !c.onLostTracker(a)
}

// book reports a successful attempt to the Ledger and adds its counters.
func (c *coordinator) book(a *attempt) {
	o := &a.outcome
	// The counters of attempts that failed or were killed are dropped with them.
	a.counters.CPUMilliseconds, a.counters.DiskWaitMilliseconds = o.CPU.Milliseconds(), a.diskWait.Milliseconds()
	a.job.counters.Add(&a.counters)
	for phase := range a.measured.phases {
		a.job.usage[phase].Add(&a.measured.phases[phase])
	}
	o.OK = true
	o.InBytes = a.counters.MapInputBytes
	o.OutBytes = a.counters.MapOutputBytes
	if a.writes() {
		o.OutBytes = a.counters.OutputBytes
	}
	c.mayBeDone(a.job)
	c.ledger.Finish(c.run.now(), a.id, *o)
	if done, total := c.ledger.JobTasks(a.id.Job, slots.Map); a.id.Kind == slots.Map && done == total {
		c.run.used.MapPhaseEnds()
	}
}

// remove takes an attempt out of the running ones. s is its last state: ended or abandoned.
func (c *coordinator) remove(a *attempt, s attemptState) {
	invariant.Move(&a.state, s)
	a.cancel(nil)
	delete(c.running, a.id)
	delete(c.gates, a.id)
	if a.id.Kind == slots.Map {
		c.run.runningMaps.Add(-1)
	}
	i := slices.Index(c.order, a)
	c.order = slices.Delete(c.order, i, i+1)
}

// attemptFailed books the end of an attempt that has failed with err, or whose result does not
// count. In the second case err is nil.
func (c *coordinator) attemptFailed(a *attempt, err error) {
	j := a.job
	hasSource, abandoned := a.state == attemptRunning, a.state == attemptAbandoned
	// A part that an attempt has committed stays in the output, even if its thread was abandoned or its tracker
	// is lost at that moment. The Ledger does not know of the part and starts another attempt. That attempt
	// fails, because the part is written, and is booked as a success.
	writes := a.writes() && j.state < jobEnded
	if writes && err == nil && (abandoned || c.onLostTracker(a)) {
		j.written[a.id.Task] = a
	}
	if abandoned {
		return
	}
	stopped := a.ctx.Err() != nil
	c.remove(a, attemptEnded)
	if writes && err != nil && !c.onLostTracker(a) && j.written[a.id.Task] != nil {
		c.bookWritten(a)
		return
	}
	discarded := err == nil
	if discarded {
		err = jobs.ErrKilled
	}
	// A damaged map output is not a failure of the reduce that has read it, so the reduce counts as
	// killed.
	lost := c.outputLost(j, err)
	// User code may return or panic with jobs.ErrKilled too. Only an attempt that the engine has ended
	// is killed.
	killed := a.killed() || discarded || lost || stopped && errors.Is(err, jobs.ErrKilled) || c.lostRace(a, err)
	c.mayBeDone(j)
	if !c.onLostTracker(a) { // the Ledger has forgotten attempts on lost trackers
		c.ledger.Finish(c.run.now(), a.id, slots.Outcome{Killed: killed})
	}
	// The attempt may have used its source up. So the source is renewed before another attempt
	// gets it.
	if a.id.Kind == slots.Map && j.state < jobEnded && hasSource {
		t := &j.maps[a.id.Task]
		if again, cannot := t.source.NextAttempt(); cannot == nil {
			t.source = again
		} else {
			c.fail(j.chain, fmt.Errorf("%s: %w", a.name(), cannot))
		}
	}
	c.handOverSource(a)
	if killed {
		return
	}
	c.run.printStack(j.spec.BuiltIn, fmt.Errorf("attempt %s failed: %w", a.name(), err))
	// If the output cannot be written, another attempt would fail too.
	target := j.chain.target()
	again := c.run.o.attemptsByDefault && j.failures.again(a.id, err)
	c.failJob(j, fmt.Errorf("%s: %w", a.name(), err), permanent(err) || again || target != nil && target.Err() != nil)
	if user, ok := errors.AsType[*guard.Error](err); ok && j.chain.err == nil && user.Stack == nil {
		j.chain.note(fmt.Sprintf("attempt %s failed, and is tried again: %v", a.name(), err))
	}
}

// failures has the last error of user code of each task that has failed, by its attempt 0.
type failures map[slots.AttemptID]string

// again adds err, of an attempt that was not killed. It reports whether user code fails for the second time
// in the same place with the same error: on one machine, another attempt would not help.
func (f failures) again(id slots.AttemptID, err error) bool {
	if !errs.Is[*guard.Error](err) && !errs.Is[jobs.Mistake](err) {
		return false
	}
	id.N = 0
	before := f[id]
	f[id] = err.Error()
	return before == f[id]
}

// bookWritten books the success of an attempt whose part another attempt had written, which was abandoned or on
// a lost tracker. It books the counters of that other attempt, which has done the work.
func (c *coordinator) bookWritten(a *attempt) {
	j := a.job
	a.counters, a.outcome.CPU = j.written[a.id.Task].counters, 0
	delete(j.written, a.id.Task)
	if j.shuffle != nil {
		j.shuffle.PartDone(int(a.id.Task))
	}
	if a.id.Kind == slots.Map {
		releaseSource(j.maps[a.id.Task].source)
	}
	c.book(a)
}

// first returns attempt 0 of the task.
func (a *attempt) first() slots.AttemptID {
	id := a.id
	id.N = 0
	return id
}

// lostRace reports whether err only means that another attempt of the task has committed before.
// Such an attempt counts as killed, not as failed, even if the Ledger has not ordered its kill.
// If there is no other attempt, err is a failure: as a kill it would let the task be tried for
// ever.
func (c *coordinator) lostRace(a *attempt, err error) bool {
	if !errors.Is(err, output.ErrLost) && !errors.Is(err, output.ErrAborted) {
		return false
	}
	// An abandoned attempt has committed, and is about to say so. Then another attempt is booked (bookWritten).
	if _, stuck := a.job.stuck[a.first()]; stuck {
		return true
	}
	// The other attempt may have ended already. The Ledger has then ordered the kill of this one.
	slot := c.ledger.View().Slot(slots.SlotID(a.slot))
	return slot.Killing && slot.Attempt == a.id || slices.ContainsFunc(c.order, a.sameTask)
}

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
	j.stuck[a.first()] = struct{}{}
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
