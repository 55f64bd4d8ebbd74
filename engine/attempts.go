package engine

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"mrlocal/input/feed"
	"mrlocal/internal/guard"
	"mrlocal/internal/invariant"
	"mrlocal/internal/machine"
	"mrlocal/jobs"
	"mrlocal/output"
	"mrlocal/shuffle"
	"mrlocal/slots"
	"mrlocal/slots/report"
	"mrlocal/trace"
)

// runningAttempt is an attempt, and the coordinator's state of it.
type runningAttempt struct {
	*SlotAttempt
	job        *runningJob
	state      attemptState
	lastBeat   int64            // SlotAttempt.Beat at the last tick
	lastBeatAt time.Time        // when Beat last rose, or the attempt last waited
	shown      slots.Progress   // progress in the last event of it
	usage      []report.Usage   // by phase; set before its thread reports its end
	stopBy     time.Time        // when it is abandoned, because its job has failed; zero: never
	source     chan feed.Source // brings the source to an attempt that waits for one; nil: it does not wait
}

// sameTask reports whether b is another attempt of the task of a.
func (a *runningAttempt) sameTask(b *runningAttempt) bool {
	return a != b && a.job == b.job && a.ID.Kind == b.ID.Kind && a.ID.Task == b.ID.Task
}

// writes reports whether the attempt writes a part of its job's output: it is a reduce, or a map
// of a map-only job.
func (a *runningAttempt) writes() bool { return a.ID.Kind == slots.Reduce || a.Job.MapOnly() }

// Phase implements Listener: it reports the phase to the Ledger.
func (c *coordinator) Phase(a *SlotAttempt, p slots.Phase) {
	c.inbox.Post(func() {
		// The attempt may have ended, or been abandoned, meanwhile.
		if b := c.running[a.ID]; b != nil && b.SlotAttempt == a {
			c.ledger.Phase(c.run.now(), a.ID, p)
		}
	})
}

// Detail implements Listener: it appends events that are no facts of the Ledger to the
// stream.
func (c *coordinator) Detail(e trace.Event, texts ...string) {
	c.inbox.Post(func() {
		e.At = c.run.now()
		if len(texts) > 0 {
			e.Ref = c.run.stream.Refer(texts...)
		}
		c.run.stream.Append(e)
	})
}

// start runs a granted attempt on its slot's thread.
func (c *coordinator) start(s slots.Start) {
	j := c.jobs[s.Attempt.Job]
	a := &runningAttempt{SlotAttempt: newSlotAttempt(c.run.ctx, s.Attempt, int(s.Slot), &c.run.env, j.SharedJob, c), job: j, lastBeatAt: time.Now()}
	// These fields must be set before the slot's thread gets the attempt.
	a.Tracker = c.ledger.Config().Slots[s.Slot].Tracker
	a.Faulty = int(a.ID.N) < a.job.failing(a.ID.Kind, a.ID.Task)
	a.Stretch = c.run.stretch(a, s.Locality)
	if a.ID.Kind == slots.Reduce && c.ledger.HoldsCopy() {
		a.Gate = make(Gate)
	}
	c.running[a.ID] = a
	if a.ID.Kind == slots.Map {
		c.startMap(a)
	} else {
		invariant.Move(&a.state, attemptRunning)
		c.run.pool.Run(a.Slot, func() { c.runReduceOn(a) })
	}
	c.order = append(c.order, a)
}

// startMap runs a map attempt on its slot's thread. If another attempt still reads its source,
// the attempt waits there for it.
func (c *coordinator) startMap(a *runningAttempt) {
	c.run.runningMaps.Add(1)
	// Only the coordinator may read a.job.maps, so it passes the source to the thread.
	src := a.job.maps[a.ID.Task].source
	if c.sourceInUse(a) {
		a.source = make(chan feed.Source, 1)
	} else {
		invariant.Move(&a.state, attemptRunning)
	}
	c.run.pool.Run(a.Slot, func() { c.runMapOn(a, src) })
}

// runMapOn runs a map attempt on the calling thread, and posts its end. It reads src or, if
// a.source is not nil, the source that a.source brings.
func (c *coordinator) runMapOn(a *runningAttempt, src feed.Source) {
	cpu := machine.ThreadCPU()
	var out *shuffle.MapOutput
	guard.RunToEnd(func() (err error) {
		if a.source != nil {
			if src, err = a.Await(a.source); err != nil {
				return err
			}
		}
		return a.Profiled(func() (err error) {
			out, err = a.Map(src)
			return err
		})
	}, func(err error) {
		a.usage = a.Usage()
		spent := machine.ThreadCPU() - cpu
		c.inbox.Post(func() { c.mapEnded(a, src, out, err, spent) })
	})
}

// runReduceOn runs a reduce attempt on the calling thread, and posts its end.
func (c *coordinator) runReduceOn(a *runningAttempt) {
	cpu := machine.ThreadCPU()
	guard.RunToEnd(func() error { return a.Profiled(a.Reduce) }, func(err error) {
		a.usage = a.Usage()
		spent := machine.ThreadCPU() - cpu
		c.inbox.Post(func() { c.reduceEnded(a, err, spent) })
	})
}

// mapEnded books the end of a map attempt. src is the source that it has read, and cpu the
// processor time of its thread. The coordinator owns out, which is nil if the attempt has failed
// or the job is map-only.
func (c *coordinator) mapEnded(a *runningAttempt, src feed.Source, out *shuffle.MapOutput, err error, cpu time.Duration) {
	j := a.job
	// An attempt and its copy may both end before the Ledger's order to kill one is carried out.
	// The output of the second one is dropped.
	late := out != nil && j.state < jobEnded && j.maps[a.ID.Task].output != nil
	if a.state == attemptAbandoned || err != nil || late || !c.counts(a) {
		if out != nil {
			a.Job.Drop(out)
		}
		c.attemptFailed(a, err)
		return
	}
	c.remove(a, attemptEnded)
	if out != nil {
		out.Register(c.run.budget) // from here on the budget may evict it when memory is short
		t := &j.maps[a.ID.Task]
		t.output, t.ranOn, t.counters = out, a.Tracker, &a.Counters
		j.Shuffle.Commit(int(a.ID.Task), out)
	}
	// The map has committed, so no other attempt reads its piece.
	releaseSource(src)
	c.book(a, cpu)
}

// reduceEnded books the end of a reduce attempt.
func (c *coordinator) reduceEnded(a *runningAttempt, err error, cpu time.Duration) {
	if a.state == attemptAbandoned || err != nil || !c.counts(a) {
		c.attemptFailed(a, err)
		return
	}
	c.remove(a, attemptEnded)
	a.Job.Shuffle.PartDone(int(a.ID.Task))
	c.book(a, cpu)
}

// counts reports whether the result of an attempt counts: its job has not ended, and its tracker
// is not lost.
func (c *coordinator) counts(a *runningAttempt) bool {
	return a.job.state < jobEnded && !c.onLostTracker(a)
}

// book reports a successful attempt to the Ledger and adds its counters.
func (c *coordinator) book(a *runningAttempt, cpu time.Duration) {
	// The counters of attempts that failed or were killed are dropped with them.
	a.Counters.CPUMilliseconds, a.Counters.DiskWaitMilliseconds = cpu.Milliseconds(), a.DiskWait.Milliseconds()
	a.job.counters.Add(&a.Counters)
	a.job.addUsage(a.usage)
	out := a.Counters.MapOutputBytes
	if a.writes() {
		out = a.Counters.OutputBytes
	}
	c.mayBeDone(a.job)
	c.ledger.Finish(c.run.now(), a.ID, slots.Outcome{
		OK: true, InBytes: a.Counters.MapInputBytes, OutBytes: out, CPU: cpu, CopyBytes: a.CopyBytes, CopyTime: a.CopyTime,
	})
	if done, total := c.ledger.JobTasks(a.ID.Job, slots.Map); a.ID.Kind == slots.Map && done == total {
		c.run.used.MapPhaseEnds()
	}
}

// remove takes an attempt out of the running ones. s is its last state: ended or abandoned.
func (c *coordinator) remove(a *runningAttempt, s attemptState) {
	invariant.Move(&a.state, s)
	a.End()
	delete(c.running, a.ID)
	if a.ID.Kind == slots.Map {
		c.run.runningMaps.Add(-1)
	}
	i := slices.Index(c.order, a)
	c.order = slices.Delete(c.order, i, i+1)
}

// attemptFailed books the end of an attempt that has failed with err, or whose result does not
// count. In the second case err is nil.
func (c *coordinator) attemptFailed(a *runningAttempt, err error) {
	if a.state == attemptAbandoned {
		return
	}
	j, hasSource := a.job, a.state == attemptRunning
	stopped := a.ctx.Err() != nil
	c.remove(a, attemptEnded)
	// A part that an attempt has committed stays in the output, even if its tracker is lost at
	// that moment. The Ledger does not know of the part and starts another attempt. That attempt
	// fails, because the part is written, and is booked as a success.
	switch writes := a.writes() && j.state < jobEnded; {
	case writes && err == nil && c.onLostTracker(a):
		j.noteWritten(a)
	case writes && err != nil && !c.onLostTracker(a) && j.written[a.ID.Task] != nil:
		c.bookWritten(a)
		return
	}
	discarded := err == nil
	if discarded {
		err = jobs.ErrKilled
	}
	// A damaged map output is no failure of the reduce that has read it, so the reduce counts as
	// killed.
	lost := c.outputLost(j, err)
	// User code may return or panic with jobs.ErrKilled too. Only an attempt that the engine has ended
	// is killed.
	killed := a.Killed() || discarded || lost || stopped && errors.Is(err, jobs.ErrKilled) || c.lostRace(a, err)
	c.mayBeDone(j)
	if !c.onLostTracker(a) { // the Ledger has forgotten attempts on lost trackers
		c.ledger.Finish(c.run.now(), a.ID, slots.Outcome{Killed: killed})
	}
	// The attempt may have used its source up. So the source is renewed before another attempt
	// gets it.
	if a.ID.Kind == slots.Map && j.state < jobEnded && hasSource {
		c.renewSource(a)
	}
	c.handOverSource(a)
	if killed {
		return
	}
	a.ReportFailure(err)
	// If the output cannot be written, another attempt would fail too.
	target := j.chain.target()
	c.failJob(j, fmt.Errorf("%s: %w", a.Name(), err), Permanent(err) || target != nil && target.Err() != nil)
}

// bookWritten books the success of an attempt whose part had been written by an attempt on a
// lost tracker. It books the counters of that other attempt, which has done the work.
func (c *coordinator) bookWritten(a *runningAttempt) {
	j := a.job
	a.Counters = j.written[a.ID.Task].Counters
	delete(j.written, a.ID.Task)
	if j.Shuffle != nil {
		j.Shuffle.PartDone(int(a.ID.Task))
	}
	if a.ID.Kind == slots.Map {
		releaseSource(j.maps[a.ID.Task].source)
	}
	c.book(a, 0)
}

// lostRace reports whether err only means that another attempt of the task has committed before.
// Such an attempt counts as killed, not as failed, even if the Ledger has not ordered its kill.
// If there is no other attempt, err is a failure: as a kill it would let the task be tried for
// ever.
func (c *coordinator) lostRace(a *runningAttempt, err error) bool {
	if !errors.Is(err, output.ErrLost) && !errors.Is(err, output.ErrAborted) {
		return false
	}
	// The other attempt may have ended already. The Ledger has then ordered the kill of this one.
	slot := c.ledger.View().Slot(slots.SlotID(a.Slot))
	return slot.Killing && slot.Attempt == a.ID || slices.ContainsFunc(c.order, a.sameTask)
}
