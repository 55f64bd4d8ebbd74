package policy

import (
	"time"

	"mrlocal/slots"
	"mrlocal/slots/demand"
	"mrlocal/slots/policy/dynamicmr"
	"mrlocal/slots/policy/settings"
)

// DynamicMR is the pipeline of seed 001 for each idle slot: DHSA says whether the
// slot may be used, and for which kind and pool; SEPB whether a pending task or a
// copy of a running one takes it; Slot PreScheduling lets maps whose input is
// there have slots that load balancing would keep back. DHSA is pi-dhfs or
// pd-dhfs; both are used as they are.
type DynamicMR struct {
	allocation
	borrower
	options settings.Options
}

// copying is DynamicMR with SEPB. Without, nobody need expect copies.
type copying struct {
	DynamicMR
	speculating
}

// allocation is what DynamicMR lays its rules over.
type allocation interface {
	slots.Policy
	slots.NothingToGrant
	slots.Resetter
}

// extras are the rules that an allocation may have laid over it. The zero value
// has none.
type extras struct {
	copies       bool // of running tasks, balanced by SEPB
	checked      slots.PPM
	copyAfter    time.Duration
	preSchedules bool
	weights      demand.Weights
}

// newCopies is for one Ledger.
func (x *extras) newCopies(idle func(v *slots.View, k slots.Kind) int32) *copies {
	if !x.copies {
		return nil
	}
	return &copies{Speculation: dynamicmr.New(x.copyAfter), checked: x.checked, idle: idle, asked: -1}
}

// NewDynamicMR returns DynamicMR, or what o leaves of it. It waits for no local
// slots: Slot PreScheduling takes that place.
func NewDynamicMR(o settings.Options) slots.Policy {
	x := extras{copies: o.SEPB, checked: o.SEPBJobs, copyAfter: o.CopyAfter, preSchedules: o.PreScheduling, weights: o.SlotWeights}
	o.LocalityDelay = 0
	switch o.DHSA {
	case "pd":
		p := newPD(o, x)
		return withCopies(DynamicMR{p, p.borrower, o}, &p.order)
	case "off":
		return newLate("dynamicmr", o, x)
	}
	p := newPI("dynamicmr", perKind, o, x)
	return withCopies(DynamicMR{p, p.borrower, o}, &p.order)
}

// withCopies is d as one that copies, where o does.
func withCopies(d DynamicMR, o *order) slots.Policy {
	if o.copies == nil {
		return &d
	}
	return &copying{d, speculating{o}}
}

// Traits implements slots.Policy.
func (d *DynamicMR) Traits() slots.Traits {
	t := d.traits("dynamicmr")
	t.Options = d.options
	return t
}

// Late is the fair scheduler with LATE's copies of slow tasks, a job's at its
// turn.
type Late struct {
	*Fair
	speculating
	name string
}

// NewLate returns a Late.
func NewLate(o settings.Options) *Late {
	return newLate("late", o, extras{copies: true, copyAfter: o.CopyAfter})
}

func newLate(name string, o settings.Options, x extras) *Late {
	f := &Fair{options: o, extras: x}
	f.Reset()
	return &Late{Fair: f, speculating: speculating{&f.order}, name: name}
}

// Traits implements slots.Policy.
func (l *Late) Traits() slots.Traits { return slots.Traits{Name: l.name, Options: l.Fair.options} }

// hadoopsDelay is 1.5 heartbeats of Hadoop, of 3 s: its own choice of how long
// delay scheduling waits (SPEC 1.6).
const hadoopsDelay = 4500 * time.Millisecond

// Delay is the fair scheduler with delay scheduling.
type Delay struct{ *Fair }

// NewDelay returns a Delay that waits as long as o says, or as Hadoop does.
func NewDelay(o settings.Options) Delay {
	if o.LocalityDelay == 0 {
		o.LocalityDelay = hadoopsDelay
	}
	return Delay{NewFair(o)}
}

// Traits implements slots.Policy.
func (Delay) Traits() slots.Traits { return slots.Traits{Name: "delay"} }
