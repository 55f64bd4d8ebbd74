package sim

import (
	"iter"
	"time"

	"mrlocal/report"
	"mrlocal/sim/cost"
	"mrlocal/slots"
	"mrlocal/slots/demand"
)

// costModel says how long attempts copy and work.
type costModel interface {
	// Set says what an attempt does from now on. An event says when that is over;
	// CopyRest may be over at once, and Set returns true then.
	Set(now time.Duration, t *cost.Task, to cost.Activity) (over bool)

	// Lose calls drop, which removes lost outputs from a flow that the reduces in all
	// copy.
	Lose(now time.Duration, all iter.Seq[*cost.Task], drop func())

	// Done returns the share of its copy, or else of its work, that an attempt has
	// done.
	Done(now time.Duration, t *cost.Task, copying bool) float64
}

// accounts are what a cost model knows of all trackers and jobs. A model that knows nothing
// leaves reports and counters as they are.
type accounts interface {
	// MapsDone is called when the last map of a job has ended.
	MapsDone(now time.Duration)

	// Count adds what the maps of a job of the file have spilled.
	Count(job int32, maps int64, c *report.Counters)

	// Describe adds what is known of the cluster. It is called once, at the end of the run.
	Describe(now time.Duration, r *report.Report)
}

// setModel makes the cost model of the run.
func (d *driver) setModel(own demand.Capacities) {
	c := cost.Config{Queue: &d.queue, Host: d, Flow: func(job int32) *cost.Flow { return &d.jobs[job].flow }}
	alone := &cost.Alone{Config: c}
	d.model, d.accounts = alone, alone
	task := func(id slots.SlotID) *cost.Task { return &d.slots[id].Task }
	switch d.o.Cost {
	case costMeasured:
		measured := cost.NewMeasured(c, d.file, d.ledger.Config().Slots)
		d.on[cost.Look] = func(_ int32, gen uint32) { measured.Look(d.now, gen) }
		d.model = measured
	case costL2:
		shared := cost.NewShared(c, d.file, own, len(d.trackers), task)
		d.on[cost.Look] = func(id int32, gen uint32) { shared.Look(d.now, id, gen) }
		d.on[cost.EndPeriod] = func(id int32, gen uint32) { shared.EndPeriod(d.now, id, gen) }
		d.on[cost.EndSpill] = func(id int32, gen uint32) { shared.EndSpill(d.now, id, gen) }
		d.model, d.accounts = shared, shared
	}
}

// setHandlers sets what handles each kind of event that does not belong to a model.
func (d *driver) setHandlers() {
	d.on[cost.SubmitJob] = func(int32, uint32) { d.submitDue() }
	d.on[cost.EndAttempt] = func(id int32, gen uint32) {
		if d.slots[id].Gen == gen {
			d.end(slots.SlotID(id))
		}
	}
	d.on[cost.EndCopy] = func(id int32, gen uint32) {
		if r := &d.slots[id]; r.Gen == gen && r.stage == copying {
			d.copied(slots.SlotID(id))
		}
	}
	d.on[cost.InjectFault] = func(id int32, _ uint32) { d.inject(&d.o.Faults[id]) }
	d.on[cost.Beat] = func(id int32, _ uint32) { d.beats = append(d.beats, slots.TrackerID(id)) }
	d.on[cost.WakePolicy] = func(int32, uint32) {
		d.woken = d.woken || d.wakeAt == d.now
		if d.woken {
			d.wakeAt = -1
		}
	}
}
