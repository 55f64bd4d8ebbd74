package engine

import (
	"errors"

	"mrlocal/engine/task"
	"mrlocal/output"
	"mrlocal/slots"
	"mrlocal/spill/runs"
)

// Speculation: attempts of one task beside each other. The first to commit wins,
// whatever the Ledger knows by then: a map whose output is not here yet, or the
// first part that the output takes. The Ledger then orders the end of the rest.
// One that ends by itself before that order reaches it has lost all the same:
// it counts as killed, and nothing of it stays.

// join notes that a runs beside other attempts of its task, if it does.
func (c *coordinator) join(a *runningAttempt) {
	if a.ID.N == 0 {
		return
	}
	for _, b := range c.order {
		if a.sameTask(b) {
			a.raced, b.raced = true, true
		}
	}
}

// beaten: another attempt of a map has left its output.
func (a *runningAttempt) beaten() bool {
	outputs := a.job.outputs
	return int(a.ID.Task) < len(outputs) && outputs[a.ID.Task] != nil
}

// lostRace: err only says that another attempt has written the part. Without one
// beside it, that is a failure: to try again could go on for ever.
func (a *runningAttempt) lostRace(err error) bool {
	return a.raced && (errors.Is(err, output.ErrLost) || errors.Is(err, output.ErrAborted))
}

// endOfMap is how a map attempt has ended: one that was beaten did all for
// nothing.
func (a *runningAttempt) endOfMap(out *runs.MapOutput, err error) error {
	if err == nil && out != nil && a.beaten() {
		return task.ErrKilled
	}
	return err
}

// tellProgress tells the Ledger how far attempts are; of reduces that copy only
// where it was asked for, as a simulation does.
func (c *coordinator) tellProgress(asked bool) {
	for _, a := range c.order {
		if ppm := a.PPM.Load(); ppm != a.lastPPM && !a.gone && (asked || !a.Copying(ppm)) {
			a.lastPPM = ppm
			c.ledger.Progress(c.run.now(), a.ID, slots.PPM(ppm))
		}
	}
}

// answerProbe tells progress where the policy has asked for it by now.
func (c *coordinator) answerProbe() {
	if c.probe >= 0 && c.run.now() >= c.probe {
		c.probe = -1
		c.tellProgress(true)
	}
}

// probeAt notes when the policy wants to be told of progress.
func (c *coordinator) probeAt(o *slots.Orders) {
	if o.Probe >= 0 && (c.probe < 0 || o.Probe < c.probe) {
		c.probe = o.Probe
	}
}
