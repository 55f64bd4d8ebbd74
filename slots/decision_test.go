package slots_test

import (
	"testing"
	"time"

	"mrlocal/slots"
	"mrlocal/slots/policy/policytest"
	"mrlocal/trace"
)

func TestTheFirstFinisherOfASpeculatedTaskCommits(t *testing.T) {
	speculate := false
	refused := slots.Granted
	p := &anySlot{each: func(v *slots.View, d *slots.Decision) {
		if speculate && v.FreeAt(v.Tracker()) > 0 {
			d.Grant(slots.Grant{Slot: slots.NoSlot, Kind: slots.Map, Task: 0, Speculative: true, Rule: "speculative"})
			refused = d.Refused()
			speculate = false
		}
	}}
	c := slots.Config{Slots: policytest.Typed(1, 3, 0)}
	c.Slots[1].Core = c.Slots[0].Core
	d := newDesk(t, c, p)
	d.Submit(0, slots.JobSpec{Name: "j", Maps: 1, MapsSealed: true})
	d.Submit(0, slots.JobSpec{Name: "k", MapsSealed: false})
	d.wantStarts(0, mapOf(0, 0))
	speculate = true
	d.Ready(1, 1, slots.Readiness{Total: 1})
	d.wantStarts(1)
	if refused != slots.RefusedSameHost {
		t.Fatalf("a copy on the same core: %v", refused)
	}
	speculate = true
	p.each = func(v *slots.View, d *slots.Decision) {
		if speculate {
			speculate = false
			d.Grant(slots.Grant{Slot: 2, Kind: slots.Map, Task: 0, Speculative: true, Rule: "speculative"})
		}
	}
	d.Ready(2, 1, slots.Readiness{Total: 2})
	d.wantStarts(2, mapOf(0, 1))
	d.Finish(3, mapOf(0, 0), slots.Outcome{}) // another attempt of the task runs, so there is nothing to retry
	d.wantStarts(3)
	d.Finish(4, mapOf(0, 1), done)
	if d.JobState(0) != slots.Succeeded || d.JobCounts(0, slots.Map).Speculative != 1 {
		t.Errorf("job %v, counts %+v", d.JobState(0), d.JobCounts(0, slots.Map))
	}
}

func TestTheLoserOfARaceIsKilled(t *testing.T) {
	asked := false
	p := &anySlot{each: func(v *slots.View, d *slots.Decision) {
		if v.Now() == 1 && !asked {
			asked = true
			d.Grant(slots.Grant{Slot: slots.NoSlot, Kind: slots.Map, Task: 0, Speculative: true})
		}
	}}
	d := newDesk(t, slots.Config{Slots: policytest.Typed(1, 2, 0)}, p)
	d.Submit(0, slots.JobSpec{Name: "j", Maps: 1, MapsSealed: true})
	d.wantStarts(0, mapOf(0, 0))
	d.Progress(1, 0, mapOf(0, 0), slots.AllDone/2)
	d.wantStarts(1, mapOf(0, 1))
	d.Finish(2, mapOf(0, 1), done)
	o := d.ask(2)
	if len(o.Kills) != 1 || o.Kills[0] != mapOf(0, 0) {
		t.Fatalf("kills %v", o.Kills)
	}
	if kills := d.ops(trace.OpKill); d.log.Rule(&kills[0]) != "lost-race" {
		t.Errorf("killed for %v", d.log.Rule(&kills[0]))
	}
	d.Finish(3, mapOf(0, 0), done)
	if c := d.JobCounts(0, slots.Map); c.Killed != 1 || !d.Done(0) {
		t.Errorf("counts %+v", c)
	}
}

func TestProgressIsAFactFromOnePercentOn(t *testing.T) {
	p := &anySlot{}
	d := newDesk(t, slots.Config{Slots: policytest.Typed(1, 1, 0)}, p)
	d.Submit(0, slots.JobSpec{Name: "j", Maps: 1, MapsSealed: true})
	d.ask(0)
	for i := range 10_000 {
		d.Progress(time.Duration(i), 0, mapOf(0, 0), slots.Progress(i*100)*slots.ProgressUnit)
		d.Phase(time.Duration(i), mapOf(0, 0), slots.PhaseCompute)
	}
	d.Progress(10_000, 0, mapOf(0, 0), slots.AllDone)
	d.Progress(10_000, 1, mapOf(0, 0), slots.AllDone) // it runs on another slot
	d.Progress(10_000, 0, mapOf(0, 7), slots.AllDone) // there is no such attempt
	if n := len(d.ops(trace.OpProgress)); n != 108 {
		t.Errorf("%d progress facts, want the first, 7 that double, 99 of 1 %% and the last", n)
	}
	if n := len(d.ops(trace.OpPhase)); n != 1 {
		t.Errorf("%d phase facts, want 1", n)
	}
	if n := len(p.seen); n != 2 {
		t.Errorf("the policy saw %d facts, want a submit and a phase; progress is in the View", n)
	}
}

func TestNothingIsAskedWhenNothingHappened(t *testing.T) {
	visits := 0
	p := &anySlot{each: func(*slots.View, *slots.Decision) { visits++ }}
	d := newDesk(t, slots.Config{Slots: policytest.Typed(3, 1, 1)}, p)
	d.Submit(0, slots.JobSpec{Name: "j", Maps: 1, MapsSealed: true})
	d.ask(0)
	before, events := visits, len(d.log.Events)
	for i := range 100 {
		d.ask(time.Duration(i))
	}
	if visits != before || len(d.log.Events) != events {
		t.Errorf("%d visits, %d events for nothing", visits-before, len(d.log.Events)-events)
	}
}

func TestAWakeUpIsKeptUntilItIsDue(t *testing.T) {
	p := &anySlot{each: func(v *slots.View, d *slots.Decision) {
		if v.Now() < 10 {
			d.WakeAt(10)
			d.WakeAt(20)
		}
	}}
	d := newDesk(t, slots.Config{Slots: policytest.Typed(1, 1, 1)}, p)
	d.Submit(0, slots.JobSpec{Name: "j"})
	if o := d.ask(0); o.Wake != 10 {
		t.Fatalf("wake at %v", o.Wake)
	}
	if o := d.ask(5); o.Wake != 10 {
		t.Errorf("wake at %v", o.Wake)
	}
	if o := d.ask(10); o.Wake != -1 || len(d.ops(trace.OpAssign)) != 2 {
		t.Errorf("wake at %v after it was due; %d assigns", o.Wake, len(d.ops(trace.OpAssign)))
	}
}

func TestSlotsOpenDrainAndClose(t *testing.T) {
	var sizes [][3]int
	p := &anySlot{each: func(v *slots.View, d *slots.Decision) {
		if len(sizes) > 0 {
			d.Resize(0, sizes[0][0], sizes[0][1], sizes[0][2])
			sizes = sizes[1:]
		}
	}}
	c := slots.Config{Slots: policytest.Typed(1, 2, 1)}
	c.Slots = append(c.Slots, slots.Slot{ID: 3, Core: -1, Extra: true})
	d := newDesk(t, c, p)
	d.Submit(0, slots.JobSpec{Name: "j", Maps: 9, MapsSealed: true})
	d.wantStarts(0, mapOf(0, 0), mapOf(1, 0), mapOf(2, 0)) // not on the extra slot
	sizes = [][3]int{{1, 0, 1}}
	d.Finish(1, mapOf(0, 0), done)
	d.wantStarts(1, mapOf(3, 0), mapOf(4, 0)) // slot 0 and the extra one
	if len(d.ops(trace.OpDrain)) != 2 || len(d.ops(trace.OpOpen)) != 1 {
		t.Errorf("%d drain, %d open", len(d.ops(trace.OpDrain)), len(d.ops(trace.OpOpen)))
	}
	d.Finish(2, mapOf(1, 0), done) // slot 1 drains: it closes
	d.wantStarts(2)
	if closes := d.ops(trace.OpClose); len(closes) != 1 || closes[0].Slot != 1 {
		t.Errorf("closed %+v", closes)
	}
	sizes = [][3]int{{2, 1, 0}}
	d.Finish(3, mapOf(3, 0), done)
	d.wantStarts(3, mapOf(5, 0), mapOf(6, 0)) // 0 and 1; 2 drained and is open again, busy
	if got, want := d.Stats(), time.Duration(3+3+2+1)+1; got.Room != want {
		t.Errorf("open slot-time %v, want %v", got.Room, want)
	}
}

func TestAPolicyMayTakeASlotBack(t *testing.T) {
	p := &anySlot{each: func(v *slots.View, d *slots.Decision) {
		if v.Now() == 1 && v.Slot(0).Busy {
			d.Reclaim(0)
		}
	}}
	d := newDesk(t, slots.Config{Slots: policytest.Typed(1, 1, 0)}, p)
	d.Submit(0, slots.JobSpec{Name: "j", Maps: 1, MapsSealed: true})
	d.ask(0)
	d.Progress(1, 0, mapOf(0, 0), slots.AllDone/2)
	if o := d.ask(1); len(o.Kills) != 1 {
		t.Fatalf("kills %v", o.Kills)
	}
	d.Finish(2, mapOf(0, 0), slots.Outcome{}) // it reports a failure because it was killed
	d.wantStarts(2, mapOf(0, 1))
	if c := d.JobCounts(0, slots.Map); c.Killed != 1 || c.Failed != 0 {
		t.Errorf("counts %+v", c)
	}
}

// gated holds reduces in their copy phase until time 5.
type gated struct{ anySlot }

func (*gated) HoldsCopy() bool { return true }

func TestAPhaseGateSaysWhenAReduceMayGoOn(t *testing.T) {
	p := &gated{anySlot{typed: true, each: func(v *slots.View, d *slots.Decision) {
		if v.Now() >= 5 && v.Slot(1).Phase == slots.PhaseCopy {
			d.Advance(1)
		}
	}}}
	d := newDesk(t, two(), p)
	if !d.HoldsCopy() {
		t.Error("the gate is not known")
	}
	d.Submit(0, slots.JobSpec{Name: "j", MapsSealed: true, Reduces: 1})
	d.wantStarts(0, reduceOf(0, 0))
	d.Phase(5, reduceOf(0, 0), slots.PhaseCopy)
	if o := d.ask(5); len(o.Advances) != 1 || o.Advances[0] != reduceOf(0, 0) {
		t.Errorf("advances %v", o.Advances)
	}
}

// rehomer gives every slot of a tracker to reduces, which makes them reduce slots.
type rehomer struct{}

func (*rehomer) Traits() slots.Traits { return slots.Traits{Name: "rehomer", Lends: true} }

func (*rehomer) Reset() {}

func (p *rehomer) Decide(v *slots.View, d *slots.Decision) {
	for v.Pending(slots.Reduce) > 0 {
		d.Grant(slots.Grant{Slot: slots.NoSlot, Job: 0, Kind: slots.Reduce, Task: slots.NoTask, Rehome: true})
	}
}

func TestASlotMayChangeItsHomeKindWhileItIsIdle(t *testing.T) {
	d := newDesk(t, slots.Config{Slots: policytest.Typed(1, 2, 1)}, &rehomer{})
	d.Submit(0, slots.JobSpec{Name: "j", MapsSealed: true, Reduces: 2})
	for _, s := range d.ask(0).Starts {
		if s.Lent {
			t.Errorf("slot %d is lent", s.Slot)
		}
	}
	if homes := d.ops(trace.OpHome); len(homes) != 1 || homes[0].Kind != trace.Reduce || homes[0].Slot != 0 {
		t.Errorf("changes of home kind: %+v", homes)
	}
	v := d.View()
	if v.Capacity(slots.Map) != 1 || v.Capacity(slots.Reduce) != 2 || v.Slot(0).Home != slots.Reduce {
		t.Errorf("%d map slots and %d reduce slots; slot 0 is a %v slot", v.Capacity(slots.Map), v.Capacity(slots.Reduce), v.Slot(0).Home)
	}
}

func TestAttemptsAreCountedByPhase(t *testing.T) {
	p := &gated{anySlot{each: func(v *slots.View, d *slots.Decision) {
		for _, id := range v.SlotsOf(v.Tracker()) {
			if s := v.Slot(id); s.Busy && s.Phase == slots.PhaseHeld && !s.Advanced {
				d.Advance(id)
			}
		}
	}}}
	d := newDesk(t, slots.Config{Slots: policytest.Typed(1, 2, 1)}, p)
	d.Submit(0, slots.JobSpec{Name: "j", MapsSealed: true, Maps: 1, Reduces: 1})
	d.ask(0)
	d.Phase(1, mapOf(0, 0), slots.PhaseIO)
	if v := d.View(); v.InPhase(0, slots.PhaseIO) != 1 || v.InPhase(0, slots.PhaseNone) != 1 {
		t.Errorf("%d maps in their I/O period", v.InPhase(0, slots.PhaseIO))
	}
	d.Finish(2, mapOf(0, 0), done)
	d.Phase(3, reduceOf(0, 0), slots.PhaseCopy)
	d.Phase(4, reduceOf(0, 0), slots.PhaseHeld)
	d.Submit(4, slots.JobSpec{Name: "k", MapsSealed: true, Maps: 1})
	if o := d.ask(4); len(o.Advances) != 1 {
		t.Errorf("advances %v", o.Advances)
	}
	v := d.View()
	if v.InPhase(0, slots.PhaseIO) != 0 || v.InPhase(0, slots.PhaseHeld) != 1 {
		t.Errorf("%d in I/O, %d held", v.InPhase(0, slots.PhaseIO), v.InPhase(0, slots.PhaseHeld))
	}
}
