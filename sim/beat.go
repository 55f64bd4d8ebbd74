package sim

import "mrlocal/slots"

// tracker is one tracker, and what it has not told yet.
type tracker struct {
	speed   slots.PPM
	lost    bool
	beating bool // its next beat is on the agenda
	slots   []slots.SlotID
	untold  []news
}

// news is what a tracker tells at its next beat: that an attempt is in phase p,
// or, where that is none, that it has ended.
type news struct {
	attempt slots.AttemptID
	slot    slots.SlotID
	phase   slots.Phase
}

// later leaves news for the tracker's next beat.
func (d *driver) later(id slots.SlotID, p slots.Phase) {
	r := &d.slots[id]
	t := &d.trackers[r.tracker]
	t.untold = append(t.untold, news{r.attempt, id, p})
}

// beat is a heartbeat: the tracker tells what has changed, then asks.
func (d *driver) beat(id slots.TrackerID) {
	t := &d.trackers[id]
	t.beating = false
	if t.lost {
		return
	}
	d.quiet++
	d.idleStep()
	for i := 0; i < len(t.untold); i++ { // telling an end lets other reduces there go on
		n := t.untold[i]
		if n.phase == slots.PhaseNone {
			d.tellEnd(n.slot)
		} else {
			d.ledger.Phase(d.now, n.attempt, n.phase)
		}
	}
	t.untold = t.untold[:0]
	if d.probeAt >= 0 {
		for _, id := range t.slots {
			d.tellProgress(id)
		}
	}
	d.obey(d.ledger.Assign(d.now, id))
	if d.active > 0 || d.live > 0 {
		d.schedule(id, true)
	}
}

// schedule puts the tracker's next beat on the agenda: the first one from d.now
// on, or after it.
func (d *driver) schedule(id slots.TrackerID, after bool) {
	t := &d.trackers[id]
	if t.beating || t.lost {
		return
	}
	t.beating = true
	d.quiet--
	every := d.o.Heartbeat
	at := scaled(int64(every), int64(id), int64(len(d.trackers)))
	if d.now > at {
		at += (d.now - at + every - 1) / every * every
	}
	if after && at == d.now {
		at += every
	}
	d.agenda.push(at, beat, int32(id), 0)
}

// startBeats makes every tracker beat, from when there is a job.
func (d *driver) startBeats() {
	if d.o.Heartbeat == 0 || d.active == 0 || d.quiet == 0 {
		return
	}
	for id := range d.trackers {
		d.schedule(slots.TrackerID(id), false)
	}
}
