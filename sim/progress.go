package sim

import "mrlocal/slots"

// The driver computes what an attempt has done only when the policy asks for it
// (slots.Orders.Probe): a policy that speculates does so before it looks at what runs.
// With heartbeats each tracker then reports it at every heartbeat.

// probe reports the progress of all attempts, if the policy asked for it by now.
func (d *driver) probe() {
	if d.probeAt < 0 || d.now < d.probeAt || d.o.Heartbeat > 0 {
		return
	}
	d.probeAt = -1
	for id := range d.slots {
		d.reportProgress(slots.SlotID(id))
	}
}

// reportProgress tells the Ledger how far an attempt is. A map has done the part of
// its time that is over. A reduce has a third for what it has copied, and two thirds
// for the rest (Hadoop 1.0.3, ReduceTask).
func (d *driver) reportProgress(id slots.SlotID) {
	r := &d.slots[id]
	if r.stage == idle || r.stage == over {
		return
	}
	done := float64(0)
	switch {
	case r.stage == copying:
		done = d.model.Done(d.now, &r.Task, true) / 3
	case r.stage == held:
		done = 1. / 3
	case r.Kind == slots.Map:
		done = d.model.Done(d.now, &r.Task, false)
	default:
		done = 1./3 + float64(d.model.Done(d.now, &r.Task, false)*2/3)
	}
	d.ledger.Progress(d.now, r.id, slots.PPM(float64(done*float64(slots.One))))
}
