package engine

import (
	"errors"
	"slices"

	"mrlocal/slots"
)

// failsFirst reports whether a Fault makes the attempt fail.
func (r *run) failsFirst(a *attempt) bool {
	return slices.ContainsFunc(r.o.Faults, func(f Fault) bool {
		return f.Tracker < 0 && f.Job == a.job.work.index && a.job.step == 0 && f.Reduce == (a.ID.Kind == slots.Reduce) &&
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
	c.ledger.Lost(c.run.now(), slots.TrackerID(tracker))
	for _, w := range c.run.works {
		if w.stage != running {
			continue
		}
		j := w.current
		c.touch(j)
		for task, out := range j.outputs {
			if out != nil && int(j.ranOn[task]) == tracker && !c.loseMap(j, task, errTrackerLost) {
				break
			}
		}
	}
	if !slices.Contains(c.lost, false) {
		for _, w := range c.run.works {
			c.fail(w, errors.New("every tracker is lost"))
		}
	}
}

var errTrackerLost = errors.New("its tracker is lost")

// loseTask takes the committed output of a map away, if there is one.
func (c *coordinator) loseTask(f Fault) {
	w := c.run.works[f.Job]
	j := w.current
	if w.stage != running || j.step > 0 || f.Task >= len(j.outputs) || j.outputs[f.Task] == nil {
		return
	}
	c.touch(j)
	if c.loseMap(j, f.Task, errors.New("its output is lost, as was asked for (faults)")) {
		c.ledger.LostOutput(c.run.now(), j.id, slots.TaskID(f.Task))
	}
}
