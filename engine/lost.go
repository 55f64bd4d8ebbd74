package engine

import (
	"errors"
	"fmt"
	"slices"

	"mrlocal/engine/source"
	"mrlocal/internal/invariant"
	"mrlocal/slots"
	"mrlocal/slots/setup"
	"mrlocal/spill/runs"
)

var (
	errTrackerLost = errors.New("its tracker is lost")
	errOutputLost  = errors.New("its output is lost by an injected fault")
)

// outputLost handles a map output that failed its check: the map runs again,
// or the job fails where its input cannot be read again. It reports whether
// err is such a loss.
func (c *coordinator) outputLost(j *runningJob, err error) bool {
	var corrupt *runs.CorruptError
	if !errors.As(err, &corrupt) {
		return false
	}
	// Several reduces may meet the same damage. Only the first one finds the output here.
	i := slices.IndexFunc(j.maps, func(t mapTask) bool { return t.output != nil && t.output == corrupt.Output })
	if i < 0 {
		return false
	}
	j.chain.note(fmt.Sprintf("map output %d of %s is lost (%v): the map runs again", i, j.Spec.Name, corrupt))
	c.loseOutput(j, i, err)
	return true
}

// loseOutput takes back the output of map i. For the Ledger the map has failed,
// and the job may have had enough of that.
func (c *coordinator) loseOutput(j *runningJob, i int, cause error) {
	c.mayBeDone(j)
	if !c.loseMap(j, i, cause) {
		return
	}
	c.ledger.LostOutput(c.run.now(), j.id, slots.TaskID(i))
	c.failJob(j, fmt.Errorf("%s m-%06d: %w", j.Spec.Name, i, cause), false)
}

// loseMap takes back the output of map i and gets its input ready; false where
// that fails the job.
func (c *coordinator) loseMap(j *runningJob, i int, cause error) bool {
	t := &j.maps[i]
	again, err := t.source.Again()
	if err != nil {
		c.fail(j.chain, errors.Join(cause, err))
		return false
	}
	t.source, t.output = again, nil
	// The map counts again when it has run again. t.counters stays for countLost.
	j.counters.Sub(t.counters)
	j.Shuffle.Lost(i)
	return true
}

// renewSource gets a map task's input ready for the next attempt.
func (c *coordinator) renewSource(a *runningAttempt) {
	t := &a.job.maps[a.ID.Task]
	again, err := t.source.Again()
	if err != nil {
		c.fail(a.job.chain, fmt.Errorf("%s: %w", a.Name(), err))
		return
	}
	t.source = again
}

// loseTracker takes a tracker away: the attempts there are killed, and the maps
// whose outputs are there, of jobs that have not ended, run again.
func (c *coordinator) loseTracker(tracker int) {
	if c.lost[tracker] {
		return
	}
	c.lost[tracker] = true
	for _, a := range c.order {
		if int(a.Tracker) == tracker {
			a.Kill()
		}
	}
	c.ledger.LostTracker(c.run.now(), slots.TrackerID(tracker))
	for _, ch := range c.run.chains {
		if ch.state != chainRunning {
			continue
		}
		j := ch.current
		c.mayBeDone(j)
		for i, t := range j.maps {
			if t.output != nil && int(t.ranOn) == tracker && !c.loseMap(j, i, errTrackerLost) {
				break
			}
		}
	}
	if !slices.Contains(c.lost, false) {
		c.failAll(errors.New("every tracker is lost"))
	}
}

// onLostTracker reports whether the attempt's tracker is lost: the Ledger has
// forgotten the attempt, which may not have noticed yet.
func (c *coordinator) onLostTracker(a *runningAttempt) bool { return c.lost[a.Tracker] }

// sourceInUse reports whether an attempt on a lost tracker still reads the
// piece of a stream that a is to read. The blocks of such a piece may move to
// whoever reads them, so only one attempt at a time may do that.
func (c *coordinator) sourceInUse(a *runningAttempt) bool {
	if a.ID.Kind != slots.Map || a.job.state >= jobEnded {
		return false
	}
	if _, held := a.job.maps[a.ID.Task].source.(*source.Held); !held {
		return false
	}
	return slices.ContainsFunc(c.order, func(b *runningAttempt) bool {
		return b.state == attemptRunning && c.onLostTracker(b) && a.sameTask(b)
	})
}

// handOverSource gives what a has read to the attempt that waits for it.
func (c *coordinator) handOverSource(a *runningAttempt) {
	if a.ID.Kind != slots.Map || !c.onLostTracker(a) {
		return
	}
	for _, b := range c.order {
		if b.state == attemptWaiting && !c.onLostTracker(b) && a.sameTask(b) && b.job.state < jobEnded && !c.sourceInUse(b) {
			invariant.Move(&b.state, attemptRunning)
			b.source <- b.job.maps[b.ID.Task].source
		}
	}
}

// failsFirst reports whether a fault of Options.Faults makes the attempt fail at its end.
func (r *run) failsFirst(a *runningAttempt) bool {
	// Only the first job of a chain is meant, so a fault names the same task here and in sim.
	return slices.ContainsFunc(r.o.Faults, func(f setup.Fault) bool {
		return f.Tracker < 0 && f.Job == a.job.chain.index && a.job.step == 0 && f.Reduce == (a.ID.Kind == slots.Reduce) &&
			f.Task == int(a.ID.Task) && int(a.ID.N) < f.Fail
	})
}

// injectFaults injects the faults of Options.Faults whose time has come.
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
	// A fault without an output to lose is no error: the task may not have ended by now.
	if ch.state != chainRunning || j.step > 0 || f.Task >= len(j.maps) || j.maps[f.Task].output == nil {
		return
	}
	c.loseOutput(j, f.Task, errOutputLost)
}
