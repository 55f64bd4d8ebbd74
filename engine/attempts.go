package engine

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"mrlocal/engine/source"
	"mrlocal/engine/task"
	"mrlocal/internal/invariant"
	"mrlocal/internal/machine"
	"mrlocal/output"
	"mrlocal/report"
	"mrlocal/slots"
	"mrlocal/spill/runs"
	"mrlocal/trace"
)

// runningAttempt is an attempt with what the coordinator knows of it.
type runningAttempt struct {
	*task.SlotAttempt
	job        *runningJob
	state      attemptState
	lastBeat   int64              // of Attempt.Beat
	lastBeatAt time.Time          // when it last rose
	shown      slots.PPM          // its progress, as the events have it
	usage      []report.Usage     // by phase; set before its thread reports its end
	stopBy     time.Time          // when it is given up, because its job has failed; zero: it has not
	source     chan source.Source // brings the source to an attempt that waits; nil: it does not
}

// sameTask reports whether b is another attempt of the task of a.
func (a *runningAttempt) sameTask(b *runningAttempt) bool {
	return a != b && a.job == b.job && a.ID.Kind == b.ID.Kind && a.ID.Task == b.ID.Task
}

// writes reports whether the attempt writes a part of its job's output.
func (a *runningAttempt) writes() bool { return a.ID.Kind == slots.Reduce || a.Job.MapOnly() }

// Phase implements task.Listener.
func (c *coordinator) Phase(a *task.SlotAttempt, p slots.Phase) {
	c.inbox.Post(func() {
		if b := c.running[a.ID]; b != nil && b.SlotAttempt == a {
			c.ledger.Phase(c.run.now(), a.ID, p)
		}
	})
}

// Detail implements task.Listener: events that the Ledger does not get.
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
	a := &runningAttempt{SlotAttempt: task.New(c.run.ctx, s.Attempt, int(s.Slot), &c.run.env, j.SharedJob, c), job: j, lastBeatAt: time.Now()}
	// All of this is set before the slot's thread sees the attempt.
	a.Tracker = c.ledger.Config().Slots[s.Slot].Tracker
	a.Faulty = c.run.failsFirst(a)
	a.Stretch = c.run.stretch(a, s.Locality)
	if a.ID.Kind == slots.Reduce && c.ledger.HoldsCopy() {
		a.Gate = make(task.Gate)
	}
	c.running[a.ID] = a
	if a.ID.Kind == slots.Map {
		c.startMap(a)
	} else {
		invariant.Move(&a.state, attemptRunning)
		c.run.pool.Run(a.Slot, func() { c.runReduceOn(a) })
	}
	// Kills, progress and time-outs go through this list, in the order of the starts.
	c.order = append(c.order, a)
}

// startMap runs a map attempt on its slot's thread, or has it wait there for its
// source.
func (c *coordinator) startMap(a *runningAttempt) {
	c.run.runningMaps.Add(1)
	// Only the coordinator may read maps; the thread gets the source handed over.
	src := a.job.maps[a.ID.Task].source
	if c.sourceInUse(a) {
		a.source = make(chan source.Source, 1)
	} else {
		invariant.Move(&a.state, attemptRunning)
	}
	c.run.pool.Run(a.Slot, func() { c.runMapOn(a, src) })
}

// runMapOn maps src, or what comes through a.source where the attempt waits
// for that. It runs on the slot's thread.
func (c *coordinator) runMapOn(a *runningAttempt, src source.Source) {
	cpu := machine.ThreadCPU()
	var out *runs.MapOutput
	err := task.CatchPanic(func() (err error) {
		if a.source != nil {
			if src, err = a.Await(a.source); err != nil {
				return err
			}
		}
		return a.Profiled(func() (err error) {
			out, err = a.Map(src)
			return err
		})
	})
	a.usage = a.Usage()
	spent := machine.ThreadCPU() - cpu
	c.inbox.Post(func() { c.mapEnded(a, src, out, err, spent) })
}

// runReduceOn runs a reduce on the slot's thread.
func (c *coordinator) runReduceOn(a *runningAttempt) {
	cpu := machine.ThreadCPU()
	err := task.CatchPanic(func() error { return a.Profiled(a.Reduce) })
	a.usage = a.Usage()
	spent := machine.ThreadCPU() - cpu
	c.inbox.Post(func() { c.reduceEnded(a, err, spent) })
}

// mapEnded books the end of a map attempt. The coordinator owns out.
func (c *coordinator) mapEnded(a *runningAttempt, src source.Source, out *runs.MapOutput, err error, cpu time.Duration) {
	j := a.job
	// An attempt and its copy may both end before the Ledger's order to kill one is carried out.
	late := out != nil && j.state < jobEnded && j.maps[a.ID.Task].output != nil // another attempt has left its output
	if a.state == attemptAbandoned || err != nil || late || !c.counts(a) {
		if out != nil {
			a.Job.Drop(out)
		}
		c.attemptFailed(a, err)
		return
	}
	c.remove(a, attemptEnded)
	if out != nil {
		out.Register(c.run.budget) // from here on memory pressure may evict it
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

// counts reports whether what an attempt has done is of use.
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

// remove forgets a running attempt, which has ended or is abandoned.
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

// attemptFailed books the end of an attempt that has failed or does not count;
// err is nil where it would have succeeded.
func (c *coordinator) attemptFailed(a *runningAttempt, err error) {
	if a.state == attemptAbandoned {
		return
	}
	j, hasSource := a.job, a.state == attemptRunning
	c.remove(a, attemptEnded)
	// A part that an attempt has committed stays in the output, even if its tracker
	// is lost at that moment. The Ledger does not know of the part and starts another
	// attempt, which then finds the part written.
	switch writes := a.writes() && j.state < jobEnded; {
	case writes && err == nil && c.onLostTracker(a):
		j.noteWritten(a)
	case writes && err != nil && !c.onLostTracker(a) && j.written[a.ID.Task] != nil:
		c.bookWritten(a)
		return
	}
	if err == nil {
		err = task.ErrKilled
	}
	// A reduce that meets a damaged map output has done nothing wrong.
	lost := c.outputLost(j, err)
	killed := a.Killed() || lost || errors.Is(err, task.ErrKilled) || c.lostRace(a, err)
	c.mayBeDone(j)
	if !c.onLostTracker(a) { // the Ledger has forgotten attempts on lost trackers
		c.ledger.Finish(c.run.now(), a.ID, slots.Outcome{Killed: killed})
	}
	// The attempt may have used its source up. Get that ready for the next attempt,
	// before an attempt that waits gets it.
	if a.ID.Kind == slots.Map && j.state < jobEnded && hasSource {
		c.renewSource(a)
	}
	c.handOverSource(a)
	if killed {
		return
	}
	a.ReportFailure(err)
	// If the output itself cannot be written, no other attempt will do better.
	target := j.chain.target()
	c.failJob(j, fmt.Errorf("%s: %w", a.Name(), err), task.Permanent(err) || target != nil && target.Err() != nil)
}

// bookWritten books the success of an attempt that found its part written by an
// attempt on a lost tracker. The counters are those of the attempt that has done
// the work.
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

// lostRace reports whether err only says that another attempt of the task has
// committed. The first of several attempts to commit wins, whatever the Ledger
// knows by then. An attempt that ends by itself before the Ledger's order to
// kill it counts as killed too. Without another attempt err is a failure: the
// task could be tried for ever.
func (c *coordinator) lostRace(a *runningAttempt, err error) bool {
	if !errors.Is(err, output.ErrLost) && !errors.Is(err, output.ErrAborted) {
		return false
	}
	slot := c.ledger.View().Slot(slots.SlotID(a.Slot))
	return slot.Killing && slot.Attempt == a.ID || slices.ContainsFunc(c.order, a.sameTask)
}
