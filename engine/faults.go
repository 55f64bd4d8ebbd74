package engine

import (
	"slices"

	"mrlocal/slots"
	"mrlocal/slots/setup"
)

// This file injects the faults of Options.Faults.

// failsFirst reports whether a fault makes the attempt fail at its end.
func (r *run) failsFirst(a *runningAttempt) bool {
	return slices.ContainsFunc(r.o.Faults, func(f setup.Fault) bool {
		return f.Tracker < 0 && f.Job == a.job.chain.index && a.job.step == 0 && f.Reduce == (a.ID.Kind == slots.Reduce) &&
			f.Task == int(a.ID.Task) && int(a.ID.N) < f.Fail
	})
}

// injectFaults injects those of them whose time has come.
func (c *coordinator) injectFaults() {
	for now := c.run.now(); len(c.faults) > 0 && c.faults[0].At <= now; c.faults = c.faults[1:] {
		f := c.faults[0]
		if f.Tracker >= 0 {
			c.loseTracker(f.Tracker)
			continue
		}
		c.loseTask(f)
	}
}

// loseTask takes away the committed output of a map, if there is one.
func (c *coordinator) loseTask(f setup.Fault) {
	ch := c.run.chains[f.Job]
	j := ch.current
	if ch.state != chainRunning || j.step > 0 || f.Task >= len(j.maps) || j.maps[f.Task].output == nil {
		return
	}
	c.loseOutput(j, f.Task, errOutputLost)
}
