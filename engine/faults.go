package engine

import (
	"slices"

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

// loseTask takes the committed output of a map away, if there is one.
func (c *coordinator) loseTask(f setup.Fault) {
	ch := c.run.chains[f.Job]
	j := ch.current
	if ch.state != chainRunning || j.step > 0 || f.Task >= len(j.maps) || j.maps[f.Task].output == nil {
		return
	}
	c.loseOutput(j, f.Task, errOutputLost)
}
