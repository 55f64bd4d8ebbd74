package sim

import (
	"time"

	"mrlocal/slots"
)

// What an attempt has done is computed only when somebody asks: a policy that
// speculates does so before it looks at what runs (slots.Orders.Probe). With
// heartbeats each tracker then tells it at every beat.

// probe tells the progress of all attempts where that was asked for by now.
func (d *driver) probe() {
	if d.probeAt < 0 || d.now < d.probeAt || d.o.Heartbeat > 0 {
		return
	}
	d.probeAt = -1
	for id := range d.slots {
		d.tellProgress(slots.SlotID(id))
	}
}

// tellProgress tells the Ledger how far an attempt is: a map by the part of its
// time that is over; a reduce by a third for what it has copied, and two for the
// rest (SPEC 1.11).
func (d *driver) tellProgress(id slots.SlotID) {
	r := &d.slots[id]
	if r.stage == nothing || r.stage == over {
		return
	}
	done := float64(0)
	switch {
	case r.stage == copies:
		done = d.shareCopied(id) / 3
	case r.stage == held:
		done = 1. / 3
	case r.attempt.Kind == slots.Map:
		done = d.shareWorked(r)
	default:
		done = 1./3 + float64(d.shareWorked(r)*2/3)
	}
	d.ledger.Progress(d.now, r.attempt, slots.PPM(float64(done*float64(slots.One))))
}

// shareWorked is how much is done of the work of a map, or of a reduce that is
// past its copy.
func (d *driver) shareWorked(r *running) float64 {
	if r.took <= 0 {
		return 1
	}
	left := r.ends - d.now
	if d.nodes != nil {
		left = r.cpu + r.io
		n, needs := &d.nodes[r.tracker], &d.jobs[d.fileJob[r.attempt.Job]].needs
		switch {
		case r.place < 0:
		case r.stage == onCPU:
			left += n.cpu.left(d.now, needs.cpu[r.attempt.Kind], r.place)
		case r.stage == onDisk:
			left += n.disk.left(d.now, needs.disk[r.attempt.Kind], r.place)
		}
	}
	return 1 - float64(left)/float64(r.took)
}

// shareCopied is how much a reduce has copied of what it will.
func (d *driver) shareCopied(id slots.SlotID) float64 {
	r := &d.slots[id]
	i := d.fileJob[r.attempt.Job]
	f := &d.jobs[i].flow
	all := f.copying(f.maps)
	switch {
	case f.maps == 0:
		return 1
	case all == 0:
		return float64(f.there) / float64(f.maps)
	case d.nodes == nil:
		return float64(f.reached(r.started, d.now)) / float64(all)
	}
	l := &d.nodes[r.tracker].net
	l.settle(d.now)
	had := l.copied(i, id)
	d.copiesEnd(r.tracker)
	return float64(had) / float64(all)
}

// left is the work of a task that is to come, in the time that it takes alone.
func (p *pool) left(now time.Duration, cap uint64, place int32) time.Duration {
	p.settle(now)
	if p.capacity == 0 {
		cap = 1
	}
	i, _ := p.find(cap)
	c := &p.classes[i]
	return c.ends[place].when.minus(c.served).floor()
}

// copied is what a reduce has copied, in the time that it takes alone; the link is
// settled until now.
func (l *link) copied(job int32, id slots.SlotID) time.Duration {
	j := &l.jobs[l.find(job)]
	for k := range j.copiers {
		switch c := &j.copiers[k]; {
		case c.slot != id:
		case k >= j.together:
			return l.served.minus(c.from).floor()
		case j.waits:
			return j.there.floor()
		default:
			return l.served.minus(j.from).floor()
		}
	}
	return 0
}
