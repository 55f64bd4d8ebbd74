package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"mrlocal/internal/machine"
	"mrlocal/shuffle"
	"mrlocal/slots"
	"mrlocal/slots/pool"
	"mrlocal/spill"
)

// tickEvery is how often the coordinator looks at running attempts for
// progress and time-outs.
const tickEvery = 100 * time.Millisecond

// stopWithin bounds how long an ended run waits for attempts to notice.
const stopWithin = 1200 * time.Millisecond

// coordinator is the goroutine that owns the Ledger. Workers post closures to
// its inbox; it applies them, asks the Ledger and obeys.
type coordinator struct {
	run     *run
	ledger  *slots.Ledger
	inbox   *inbox
	running map[slots.Attempt]*attempt // looked up, never iterated for a decision
	order   []*attempt                 // running attempts, oldest first
	jobs    []*jobRun                  // by JobID
	failure error                      // the first cause that ended the run
}

func newCoordinator(r *run, l *slots.Ledger) *coordinator {
	return &coordinator{run: r, ledger: l, inbox: newInbox(), running: map[slots.Attempt]*attempt{}}
}

// runJob submits j and serves until it has ended.
func (c *coordinator) runJob(ctx context.Context, j *jobRun) error {
	j.id = c.ledger.Submit(c.run.now(), j.spec())
	j.submitted = true
	c.jobs = append(c.jobs, j)
	if err := j.start(c); err != nil {
		c.fail(j, err)
	}
	ticker := time.NewTicker(tickEvery)
	defer ticker.Stop()
	for !c.ended(j) {
		wake := c.obey(c.ledger.AssignAll(c.run.now()))
		if c.ended(j) {
			break
		}
		select {
		case <-c.inbox.wake:
			c.inbox.apply()
		case <-ticker.C:
			c.tick()
		case <-wake:
		case <-ctx.Done():
			c.fail(j, context.Cause(ctx))
			c.obey(c.ledger.AssignAll(c.run.now()))
			c.windDown()
			return c.failure
		}
	}
	if c.failure != nil {
		c.obey(c.ledger.AssignAll(c.run.now()))
		c.windDown()
		return c.failure
	}
	c.inbox.apply()
	j.noteBinary()
	j.finish()
	return nil
}

// ended: no task of the job is left to do, or the run has failed.
func (c *coordinator) ended(j *jobRun) bool {
	return c.failure != nil || c.ledger.Done(j.id)
}

// windDown waits, for a bounded time, until the killed attempts have ended.
func (c *coordinator) windDown() {
	deadline := time.NewTimer(stopWithin)
	defer deadline.Stop()
	for len(c.running) > 0 {
		select {
		case <-c.inbox.wake:
			c.inbox.apply()
		case <-deadline.C:
			for _, a := range c.order {
				a.abandoned = true
				c.run.abandoned++
				c.run.pool.Abandon(a.slot)
			}
			return
		}
	}
}

// obey carries out the Ledger's orders and returns a timer channel for its
// wake-up, nil where it wants none.
func (c *coordinator) obey(o *slots.Orders) <-chan time.Time {
	for _, id := range o.Kills {
		if a := c.running[id]; a != nil {
			a.kill()
		}
	}
	for _, s := range o.Starts {
		c.start(s)
	}
	if o.Wake < 0 {
		return nil
	}
	return time.After(max(0, o.Wake-c.run.now()))
}

// start runs a granted attempt on its slot's thread.
func (c *coordinator) start(s slots.Start) {
	j := c.jobs[s.Attempt.Job]
	a := &attempt{id: s.Attempt, slot: int(s.Slot), job: j, run: c.run, begun: time.Now(), lastBeatAt: time.Now()}
	a.ctx, a.cancel = context.WithCancelCause(c.run.ctx)
	c.running[a.id] = a
	c.order = append(c.order, a)
	if a.id.Kind == slots.Map {
		c.run.runningMaps.Add(1)
		src := j.sources[a.id.Task]
		c.run.pool.Run(a.slot, func(w pool.Worker) { c.runMapOn(a, src) })
		return
	}
	c.run.pool.Run(a.slot, func(w pool.Worker) { c.runReduceOn(a) })
}

func (c *coordinator) runMapOn(a *attempt, src source) {
	cpu := machine.ThreadCPU()
	var res mapResult
	err := whole(func() (err error) {
		res, err = a.runMap(src)
		return err
	})
	spent := machine.ThreadCPU() - cpu
	c.inbox.post(func() { c.mapEnded(a, src, res, err, spent) })
}

func (c *coordinator) runReduceOn(a *attempt) {
	cpu := machine.ThreadCPU()
	err := whole(a.runReduce)
	spent := machine.ThreadCPU() - cpu
	c.inbox.post(func() { c.reduceEnded(a, err, spent) })
}

// mapEnded books the end of a map attempt.
func (c *coordinator) mapEnded(a *attempt, src source, res mapResult, err error, cpu time.Duration) {
	j := a.job
	if !c.remove(a) || err != nil || j.ended {
		if res.output != nil {
			res.output.Release()
		}
		if err == nil {
			err = errKilled
		}
		c.attemptFailed(a, err)
		return
	}
	if res.output != nil {
		res.output.Register(c.run.budget)
		for len(j.outputs) < len(j.sources) {
			j.outputs = append(j.outputs, nil)
		}
		j.outputs[a.id.Task] = res.output
		j.shuffle.Commit(int(a.id.Task), res.output)
	}
	releaseSource(src)
	c.book(a, cpu)
}

// reduceEnded books the end of a reduce attempt.
func (c *coordinator) reduceEnded(a *attempt, err error, cpu time.Duration) {
	j := a.job
	if !c.remove(a) || err != nil || j.ended {
		if err == nil {
			err = errKilled
		}
		c.attemptFailed(a, err)
		return
	}
	j.shuffle.PartDone(int(a.id.Task))
	c.book(a, cpu)
}

// book reports a successful attempt to the Ledger and adds its counters.
func (c *coordinator) book(a *attempt, cpu time.Duration) {
	a.counters.CPUMilliseconds = cpu.Milliseconds()
	a.job.counters.Add(&a.counters)
	out := a.counters.MapOutputBytes
	if a.id.Kind == slots.Reduce || a.job.mapOnly() {
		out = a.counters.OutputBytes
	}
	c.ledger.Finish(c.run.now(), a.id, slots.Outcome{
		OK: true, InBytes: a.counters.MapInputBytes, OutBytes: out, CPU: cpu, CopyBytes: a.copyBytes, CopyTime: a.copyTime,
	})
}

// remove forgets a running attempt; false if it was given up before.
func (c *coordinator) remove(a *attempt) bool {
	a.cancel(nil)
	if a.abandoned {
		return false
	}
	delete(c.running, a.id)
	if a.id.Kind == slots.Map {
		c.run.runningMaps.Add(-1)
	}
	for i, b := range c.order {
		if b == a {
			c.order = append(c.order[:i], c.order[i+1:]...)
			break
		}
	}
	return true
}

// attemptFailed books the end of an attempt that did not commit.
func (c *coordinator) attemptFailed(a *attempt, err error) {
	if a.abandoned {
		return
	}
	j := a.job
	lost := c.outputLost(j, err)
	killed := a.killed() || lost || errors.Is(err, errKilled) || errors.Is(err, shuffle.ErrLost)
	c.ledger.Finish(c.run.now(), a.id, slots.Outcome{Killed: killed})
	if a.id.Kind == slots.Map && !j.ended {
		c.sourceAgain(a)
	}
	if killed {
		return
	}
	a.reportFailure(err)
	if j.firstFailure == nil {
		j.firstFailure = fmt.Errorf("%s: %w", a.name(), err)
	}
	if c.ledger.JobState(j.id) == slots.Failed || permanent(err) || c.run.target.Err() != nil {
		c.fail(j, j.firstFailure)
	}
}

// outputLost handles a map output that failed its check: the map runs again,
// or the job fails where its input cannot be read again.
func (c *coordinator) outputLost(j *jobRun, err error) bool {
	var corrupt *spill.CorruptError
	if !errors.As(err, &corrupt) {
		return false
	}
	for task, out := range j.outputs {
		if out == nil || out != corrupt.Output {
			continue
		}
		c.run.o.Note(fmt.Sprintf("map output %d of %s is lost (%v): the map runs again", task, j.job.Name, corrupt))
		c.loseMap(j, task, err)
		return true
	}
	return false
}

// sourceAgain gets a map task's input ready for another attempt.
func (c *coordinator) sourceAgain(a *attempt) {
	again, err := a.job.sources[a.id.Task].again()
	if err != nil {
		c.fail(a.job, fmt.Errorf("%s: %w", a.name(), err))
		return
	}
	a.job.sources[a.id.Task] = again
}

// loseMap makes a committed map pending again.
func (c *coordinator) loseMap(j *jobRun, task int, cause error) {
	again, err := j.sources[task].again()
	if err != nil {
		c.fail(j, errors.Join(cause, err))
		return
	}
	j.sources[task] = again
	j.outputs[task] = nil
	j.shuffle.Lost(task)
	c.ledger.LostOutput(c.run.now(), j.id, slots.TaskID(task))
}

// fail ends the run with its first cause.
func (c *coordinator) fail(j *jobRun, cause error) {
	if c.failure == nil {
		c.failure = cause
	}
	if !j.ended {
		j.ended = true
		c.ledger.Abort(c.run.now(), j.id)
	}
	for _, a := range c.order {
		a.kill()
	}
	j.stopFeeder(cause)
}

// tick reports progress and gives up attempts that show no life.
func (c *coordinator) tick() {
	now := time.Now()
	for _, a := range append([]*attempt(nil), c.order...) {
		if beat := a.beat.Load(); beat != a.lastBeat || a.waiting.Load() {
			a.lastBeat, a.lastBeatAt = beat, now
		}
		if ppm := a.ppm.Load(); ppm != a.lastPPM {
			a.lastPPM = ppm
			c.ledger.Progress(c.run.now(), a.id, slots.PPM(ppm))
		}
		if now.Sub(a.lastBeatAt) > c.run.o.TaskTimeout {
			c.giveUp(a)
		}
	}
}

// giveUp fails an attempt that made no progress. Its thread is in user code
// and cannot be stopped: it is abandoned and the slot gets a new one.
func (c *coordinator) giveUp(a *attempt) {
	a.kill()
	c.remove(a)
	a.abandoned = true
	c.run.abandoned++
	c.run.pool.Abandon(a.slot)
	a.leaveFDs() // it may never return
	j := a.job
	c.ledger.Finish(c.run.now(), a.id, slots.Outcome{})
	err := fmt.Errorf("%s: no progress for %v", a.name(), c.run.o.TaskTimeout)
	c.run.o.Note(err.Error() + ": its thread is abandoned")
	if j.firstFailure == nil {
		j.firstFailure = err
	}
	if c.ledger.JobState(j.id) == slots.Failed {
		c.fail(j, j.firstFailure)
	}
}
