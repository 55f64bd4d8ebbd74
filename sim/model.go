package sim

import (
	"iter"
	"time"

	"mrlocal/report"
	"mrlocal/sim/cost"
	"mrlocal/slots"
	"mrlocal/slots/demand"
)

// costModel computes how long attempts copy and work.
type costModel interface {
	// Set sets the activity of an attempt from now on. The model queues an event for the
	// time at which the activity is over. CopyRest may be over at once; then Set queues no
	// event and returns true.
	Set(now time.Duration, t *cost.Task, to cost.Activity) (over bool)

	// Lose calls drop, which removes lost outputs from the flow of a job. all yields the
	// reduces that copy from the flow.
	Lose(now time.Duration, all iter.Seq[*cost.Task], drop func())

	// Done returns the share of its copy, if copying is true, or else of its work that an
	// attempt has done, from 0 to 1.
	Done(now time.Duration, t *cost.Task, copying bool) float64
}

// accounts are the figures that a cost model keeps of trackers and jobs. A model without such
// figures leaves reports and counters as they are.
type accounts interface {
	// MapsDone is called when the last map of a job has ended.
	MapsDone(now time.Duration)

	// Count adds the spills of a job of the file to c. maps is the number of maps that have
	// written their output.
	Count(job int32, maps int64, c *report.Counters)

	// Describe adds figures of the cluster to r. It is called once, at the end of the run.
	Describe(now time.Duration, r *report.Report)
}

// setModel makes the cost model of the run, and sets the handlers of its own events. own has the
// trackers that do not have the whole of each resource.
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

// setHandlers sets the handlers of all kinds of events but those of setModel.
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
	// A wake-up is stale if the policy has asked for an earlier one since.
	d.on[cost.WakePolicy] = func(int32, uint32) {
		d.woken = d.woken || d.wakeAt == d.now
		if d.woken {
			d.wakeAt = -1
		}
	}
}
