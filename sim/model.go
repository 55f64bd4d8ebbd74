package sim

import (
	"iter"
	"time"

	"mrlocal/sim/cost"
	"mrlocal/sim/events"
	"mrlocal/slots"
	"mrlocal/slots/report"
)

// model is a cost model. It computes how long attempts copy and work, and has the map outputs of
// the jobs on their way.
type model interface {
	// Flow returns the flow of a job, by its index in the file. The driver drops lost outputs
	// from it and releases it.
	Flow(job int32) *cost.Flow

	// Set sets the activity of an attempt from now on. The model queues an event for the
	// time at which the activity is over. CopyRest may be over at once; then Set queues no
	// event and returns true.
	Set(now time.Duration, t *cost.Task, to cost.Activity) (over bool)

	// MapEnded adds the output of a map attempt that has ended, if the Ledger has committed it.
	// The Ledger has done outputs of the job now, of total. MapEnded returns true if this makes
	// the last one available.
	MapEnded(now time.Duration, t *cost.Task, task slots.TaskID, done, total int32) (complete bool)

	// Lose calls drop, which removes lost outputs from the flow of a job. all yields the
	// reduces that copy from the flow.
	Lose(now time.Duration, all iter.Seq[*cost.Task], drop func())

	// Done returns the share of its copy, if copying is true, or else of its work that an
	// attempt has done, from 0 to 1.
	Done(now time.Duration, t *cost.Task, copying bool) float64

	// Describe adds figures of the cluster and of the jobs to r. It is called once, at the end
	// of the run. maps returns, for a job of the report, its index in the file and the number
	// of its maps that have written their output.
	Describe(now time.Duration, r *report.Report, maps func(id slots.JobID) (job int32, maps int64))
}

// level is a cost level.
type level struct {
	name    string
	network bool // copying over the network takes time
	machine bool // times are those of a real machine, whose slots share cores
	model   func(c cost.Config) model
}

// levels returns the cost levels; the first one is the default.
func levels() []level {
	alone := func(c cost.Config) model { return cost.NewAlone(c) }
	return []level{
		{name: "l0", model: alone},
		{name: "l1", model: alone, network: true},
		{name: "l2", model: func(c cost.Config) model { return cost.NewShared(c) }, network: true},
		{name: "measured", model: func(c cost.Config) model { return cost.NewMeasured(c) }, machine: true},
	}
}

// setHandlers sets the handlers of all kinds of events but those of the model.
func (d *driver) setHandlers() {
	d.on[events.SubmitJob] = func(time.Duration, int32, uint32) { d.submitDue() }
	d.on[events.EndAttempt] = func(_ time.Duration, id int32, gen uint32) {
		if d.slots[id].Gen == gen {
			d.End(slots.SlotID(id))
		}
	}
	d.on[events.EndCopy] = func(_ time.Duration, id int32, gen uint32) {
		if r := &d.slots[id]; r.Gen == gen && r.state == attemptCopying {
			d.copied(slots.SlotID(id))
		}
	}
	d.on[events.InjectFault] = func(_ time.Duration, id int32, _ uint32) { d.inject(&d.o.Faults[id]) }
	d.on[events.Beat] = func(_ time.Duration, id int32, _ uint32) { d.beats = append(d.beats, slots.TrackerID(id)) }
	// A wake-up is stale if the policy has asked for an earlier one since.
	d.on[events.WakePolicy] = func(time.Duration, int32, uint32) {
		d.woken = d.woken || d.wakeAt == d.now
		if d.woken {
			d.wakeAt = -1
		}
	}
}
