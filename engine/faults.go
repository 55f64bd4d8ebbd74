package engine

import (
	"errors"
	"slices"

	"mrlocal/engine/source"
	"mrlocal/slots"
	"mrlocal/slots/setup"
)

// failsFirst reports whether a Fault makes the attempt fail.
func (r *run) failsFirst(a *runningAttempt) bool {
	return slices.ContainsFunc(r.o.Faults, func(f setup.Fault) bool {
		return f.Tracker < 0 && f.Job == a.job.chain.index && a.job.step == 0 && f.Reduce == (a.ID.Kind == slots.Reduce) &&
			f.Task == int(a.ID.Task) && int(a.ID.N) < f.Fail
	})
}

// loseTracker takes a tracker away: what runs there is killed, and what maps
// have left there of jobs that are not over is made again.
func (c *coordinator) loseTracker(tracker int) {
	if c.lost[tracker] {
		return
	}
	c.lost[tracker] = true
	for _, a := range c.order {
		if int(a.Tracker) == tracker && !a.gone {
			a.gone = true
			a.Kill()
		}
	}
	c.ledger.LostTracker(c.run.now(), slots.TrackerID(tracker))
	for _, ch := range c.run.chains {
		if ch.stage != running {
			continue
		}
		j := ch.current
		c.touch(j)
		for task, out := range j.outputs {
			if out != nil && int(j.ranOn[task]) == tracker && !c.loseMap(j, task, errTrackerLost) {
				break
			}
		}
	}
	if !slices.Contains(c.lost, false) {
		for _, ch := range c.run.chains {
			c.fail(ch, errors.New("every tracker is lost"))
		}
		c.hopeless = true
	}
}

// stillRead reports whether an attempt whose tracker is lost, and that has not
// noticed yet, reads the piece of a stream that a is to read: its blocks may
// move to whoever reads them, so it is for one at a time.
func (c *coordinator) stillRead(a *runningAttempt) bool {
	if a.ID.Kind != slots.Map || a.job.ended {
		return false
	}
	if _, held := a.job.sources[a.ID.Task].(*source.Held); !held {
		return false
	}
	return slices.ContainsFunc(c.order, func(b *runningAttempt) bool { return b.gone && b.inherits == nil && a.sameTask(b) })
}

// handOn gives what a has read to the attempt that waits for it.
func (c *coordinator) handOn(a *runningAttempt) {
	if !a.gone || a.ID.Kind != slots.Map {
		return
	}
	for _, b := range c.order {
		if b.inherits != nil && !b.gone && a.sameTask(b) && !c.stillRead(b) && !b.job.ended {
			b.inherits <- b.job.sources[b.ID.Task]
			b.inherits = nil
		}
	}
}

func (a *runningAttempt) sameTask(b *runningAttempt) bool {
	return a != b && a.job == b.job && a.ID.Kind == b.ID.Kind && a.ID.Task == b.ID.Task
}

var (
	errTrackerLost = errors.New("its tracker is lost")
	errOutputLost  = errors.New("its output is lost, as was asked for (faults)")
)

// loseTask takes the committed output of a map away, if there is one.
func (c *coordinator) loseTask(f setup.Fault) {
	ch := c.run.chains[f.Job]
	j := ch.current
	if ch.stage != running || j.step > 0 || f.Task >= len(j.outputs) || j.outputs[f.Task] == nil {
		return
	}
	c.loseOutput(j, f.Task, errOutputLost)
}
