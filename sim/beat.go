package sim

import (
	"mrlocal/sim/cost"
	"mrlocal/slots"
)

// tracker is one tracker, and its pending updates.
type tracker struct {
	speed   slots.PPM
	lost    bool
	beating bool // its next Beat is in the queue
	slots   []slots.SlotID
	pending []statusUpdate
}

// statusUpdate is what a tracker reports at its next heartbeat: an attempt is in
// another phase, or has ended (PhaseNone).
type statusUpdate struct {
	attempt slots.AttemptID
	slot    slots.SlotID
	phase   slots.Phase
}

// later adds a status update for the tracker's next heartbeat.
func (d *driver) later(id slots.SlotID, p slots.Phase) {
	r := &d.slots[id]
	t := &d.trackers[r.Tracker]
	t.pending = append(t.pending, statusUpdate{r.id, id, p})
}

// beat is a heartbeat: the tracker reports what has changed, then asks for tasks.
func (d *driver) beat(id slots.TrackerID) {
	t := &d.trackers[id]
	t.beating = false
	if t.lost {
		return
	}
	d.quiet++
	d.idleStep()
	for i := 0; i < len(t.pending); i++ { // the end of a map may add updates of reduces here
		u := t.pending[i]
		if u.phase == slots.PhaseNone {
			d.reportEnd(u.slot)
		} else {
			d.ledger.Phase(d.now, u.attempt, u.phase)
		}
	}
	t.pending = t.pending[:0]
	if d.probeAt >= 0 {
		for _, id := range t.slots {
			d.reportProgress(id)
		}
	}
	d.obey(d.ledger.Assign(d.now, id))
	if d.active > 0 || d.live > 0 {
		d.schedule(id, true)
	}
}

// schedule adds the tracker's next Beat to the queue: the first one from d.now on, or
// after d.now.
func (d *driver) schedule(id slots.TrackerID, after bool) {
	t := &d.trackers[id]
	if t.beating || t.lost {
		return
	}
	t.beating = true
	d.quiet--
	every := d.o.Heartbeat
	at := cost.Scaled(int64(every), int64(id), int64(len(d.trackers)))
	if d.now > at {
		at += (d.now - at + every - 1) / every * every
	}
	if after && at == d.now {
		at += every
	}
	d.queue.Push(at, cost.Beat, int32(id), 0)
}

// startBeats starts the heartbeats of all trackers when there is a job.
func (d *driver) startBeats() {
	if d.o.Heartbeat == 0 || d.active == 0 || d.quiet == 0 {
		return
	}
	for id := range d.trackers {
		d.schedule(slots.TrackerID(id), false)
	}
}
