package slots_test

import (
	"testing"
	"time"

	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/fifo"
	"mrlocal/slots/policy/policytest"
	"mrlocal/slots/policy/registry"
	"mrlocal/trace"
)

// reducesFirst lends every slot and starts all reduces before any map. No policy is worse
// for maps that reduces wait for.
type reducesFirst struct{ refused []slots.Refusal }

func (*reducesFirst) Traits() slots.Traits { return slots.Traits{Name: "reduces-first", Lends: true} }

func (*reducesFirst) Reset() {}

func (p *reducesFirst) Decide(v *slots.View, d *slots.Decision) {
	for _, k := range []slots.Kind{slots.Reduce, slots.Map} {
		for v.FreeAt(v.Tracker()) > 0 {
			id, ok := firstWith(v, k)
			if !ok {
				break
			}
			if !d.Grant(slots.Grant{Slot: slots.NoSlot, Job: id, Kind: k, Task: slots.NoTask}) {
				p.refused = append(p.refused, d.Refused())
				break
			}
		}
	}
}

func TestTheGuardKeepsOneSlotForMaps(t *testing.T) {
	p := &reducesFirst{}
	d := newDesk(t, slots.Config{Slots: policytest.Typed(1, 2, 1)}, p)
	d.Submit(0, slots.JobSpec{Name: "stream", Reduces: 5})
	d.wantStarts(0, reduceOf(0, 0), reduceOf(1, 0))
	for _, r := range p.refused {
		if r != slots.RefusedDeadlock {
			t.Errorf("refused for %v", r)
		}
	}
	d.Ready(1, 0, slots.Readiness{Maps: 1, Total: 1, Sealed: true})
	d.wantStarts(1, mapOf(0, 0)) // at once, and no attempt was killed for it
	d.Finish(2, mapOf(0, 0), done)
	d.wantStarts(2, reduceOf(2, 0)) // this reduce does not wait for maps, so it may have the last slot
	if kills := d.ops(trace.OpKill); len(kills) != 0 {
		t.Errorf("kills %+v", kills)
	}
}

func TestReducesOnSlotsThatNoMapMayUseAreNotGuarded(t *testing.T) {
	d := newDesk(t, slots.Config{Slots: policytest.Typed(1, 1, 2)}, fifo.New()) // FIFO lends nothing
	d.Submit(0, slots.JobSpec{Name: "stream", Reduces: 5})
	d.wantStarts(0, reduceOf(0, 0), reduceOf(1, 0)) // the slots that no map may use
	d.Ready(1, 0, slots.Readiness{Maps: 1, Total: 1})
	d.wantStarts(1, mapOf(0, 0))
}

// TestAfterAGuardKillAMapGoesFirst: the reduce of another job, which does not wait for
// maps, holds one slot. The policy would give the other slot back to the killed reduce
// again and again.
func TestAfterAGuardKillAMapGoesFirst(t *testing.T) {
	p := &reducesFirst{}
	d := newDesk(t, slots.Config{Slots: policytest.Typed(1, 1, 1), Slowstart: slots.One / 2}, p)
	d.Submit(0, slots.JobSpec{Name: "maps", Maps: 2, MapsSealed: true, Reduces: 1})
	d.wantStarts(0, mapOf(0, 0), mapOf(1, 0))
	d.Submit(1, slots.JobSpec{Name: "long", MapsSealed: true, Reduces: 1})
	d.Finish(1, mapOf(0, 0), done)
	d.Finish(1, mapOf(1, 0), done)
	long := slots.AttemptID{Job: 1, Kind: slots.Reduce}
	d.wantStarts(1, reduceOf(0, 0), long)
	d.LostOutput(2, 0, 1)
	if o := d.ask(2); len(o.Kills) != 1 || o.Kills[0] != reduceOf(0, 0) || len(o.Starts) != 0 {
		t.Fatalf("orders %+v", o)
	}
	if o := d.ask(2); len(o.Kills) != 0 {
		t.Fatalf("killed twice: %+v", o)
	}
	d.Finish(3, reduceOf(0, 0), slots.Outcome{Killed: true})
	d.wantStarts(3, mapOf(1, 1))
	d.Finish(4, mapOf(1, 1), done)
	d.wantStarts(4, reduceOf(0, 1))
	if c := d.JobCounts(0, slots.Reduce); c.Killed != 1 || c.Failed != 0 {
		t.Errorf("counts %+v", c)
	}
}

// The only free slots are on the trackers where the map failed, and all others hold reduces that wait
// for the map. Reduces are killed until the map may start. dynamicmr asks for a wake-up again and again, to
// look for tasks to copy.
func TestAMapThatFailedBesideTheOnlyFreeSlotIsNotStuck(t *testing.T) {
	lending := policy.Options{BorrowMap: slots.One, BorrowReduce: slots.One}
	copying := lending
	copying.SEPB, copying.CopyRule, copying.CopyAfter = true, "hadoop", time.Second
	for name, c := range map[string]struct {
		policy            string
		options           policy.Options
		slots             []slots.Slot
		reduces, failures int32
	}{
		"failed once":                  {"pi-dhfs", lending, policytest.Typed(2, 1, 1), 3, 1},
		"failed often":                 {"pi-dhfs", lending, policytest.Typed(2, 1, 1), 3, 3},
		"copied once":                  {"dynamicmr", copying, policytest.Typed(2, 1, 1), 3, 1},
		"copied often":                 {"dynamicmr", copying, policytest.Typed(2, 1, 1), 3, 3},
		"copied, failed on 2 trackers": {"dynamicmr", copying, policytest.Typed(3, 2, 1), 7, 2},
	} {
		job := policytest.ScriptJob{
			Spec:    slots.JobSpec{Name: "j", Maps: 1, MapsSealed: true, Reduces: c.reduces},
			MapTime: policytest.Const(time.Second), ReduceTime: policytest.Const(time.Second),
			Fail: func(k slots.Kind, _ slots.TaskID) int32 {
				if k == slots.Map {
					return c.failures
				}
				return 0
			},
		}
		p, err := registry.New(c.policy, c.options)
		if err != nil {
			t.Fatal(err)
		}
		l, err := policytest.Drive(slots.Config{Slots: c.slots}, p, []policytest.ScriptJob{job}, policytest.Options{})
		if err != nil || l.JobState(0) != slots.Succeeded {
			t.Errorf("%s: %v, job %v", name, err, l.JobState(0))
		}
	}
}

// A reduce that has copied everything does not wait for a map whose output is lost
// afterwards. It goes on, and the map runs along with it or after it.
func TestAReduceThatHasCopiedIsNotKilledForALostMap(t *testing.T) {
	d := newDesk(t, two(), &reducesFirst{})
	d.Submit(0, slots.JobSpec{Name: "j", Maps: 1, MapsSealed: true, Reduces: 2})
	d.wantStarts(0, mapOf(0, 0))
	d.Finish(1*second, mapOf(0, 0), done)
	d.wantStarts(1*second, reduceOf(0, 0), reduceOf(1, 0))
	for _, a := range []slots.AttemptID{reduceOf(0, 0), reduceOf(1, 0)} {
		d.Phase(2*second, a, slots.PhaseReduce)
	}
	d.LostOutput(3*second, 0, 0)
	if o := d.ask(3 * second); len(o.Kills) > 0 {
		t.Errorf("killed %v", o.Kills)
	}
	d.Finish(4*second, reduceOf(0, 0), done)
	d.wantStarts(4*second, mapOf(0, 1))
	d.Finish(5*second, reduceOf(1, 0), done)
	if d.JobState(0) != slots.Succeeded || d.JobTimes(0).MapsDone < 0 {
		t.Errorf("%v, maps done at %v", d.JobState(0), d.JobTimes(0).MapsDone)
	}
}

// Both reduces have copied everything and hold all slots when a map is lost. Both copy again, so one of
// them makes room for the map. The policy does not implement slots.Observer.
func TestAReduceThatCopiesAgainMakesRoom(t *testing.T) {
	d := newDesk(t, two(), &reducesFirst{})
	d.Submit(0, slots.JobSpec{Name: "j", Maps: 1, MapsSealed: true, Reduces: 2})
	d.wantStarts(0, mapOf(0, 0))
	d.Finish(1*second, mapOf(0, 0), done)
	d.wantStarts(1*second, reduceOf(0, 0), reduceOf(1, 0))
	phase := func(at time.Duration, p slots.Phase) slots.Orders {
		for i := range slots.TaskID(2) {
			d.Phase(at, reduceOf(i, 0), p)
		}
		return d.ask(at)
	}
	phase(2*second, slots.PhaseReduce)
	d.LostOutput(3*second, 0, 0)
	if o := d.ask(3 * second); len(o.Kills) > 0 {
		t.Errorf("killed %v", o.Kills)
	}
	if o := phase(4*second, slots.PhaseCopy); len(o.Kills) != 1 || o.Kills[0] != reduceOf(1, 0) {
		t.Fatalf("orders %+v", o)
	}
	d.Finish(4*second, reduceOf(1, 0), slots.Outcome{Killed: true})
	d.wantStarts(4*second, mapOf(0, 1))
}

// drainer runs one task at a time: reduces first, on the extra slot, which it closes
// while the reduce runs.
type drainer struct{ reducesFirst }

func (*drainer) Extra(most int) int { return most }

func (p *drainer) Decide(v *slots.View, d *slots.Decision) {
	d.Resize(v.Tracker(), 1, 0, 1)
	if v.Running(slots.Map)+v.Running(slots.Reduce) == 0 {
		for _, k := range []slots.Kind{slots.Reduce, slots.Map} {
			if id, ok := firstWith(v, k); ok && d.Grant(slots.Grant{Slot: slots.NoSlot, Job: id, Kind: k, Task: slots.NoTask}) {
				break
			}
		}
	}
	d.Resize(v.Tracker(), 1, 0, 0)
}

// A waiting reduce on a draining slot holds no slot that a map could have. But the policy
// may count the reduce, so it is killed if nothing else runs or starts.
func TestAReduceThatWaitsOnADrainingSlotMakesRoom(t *testing.T) {
	d := newDesk(t, slots.Config{Slots: policytest.WithExtra(1, 1, 0, 1)}, &drainer{})
	d.Submit(0, slots.JobSpec{Name: "stream", Reduces: 1})
	d.wantStarts(0, reduceOf(0, 0))
	d.Ready(1, 0, slots.Readiness{Maps: 1, Total: 1, Sealed: true})
	if o := d.ask(1); len(o.Kills) != 1 || o.Kills[0] != reduceOf(0, 0) || len(o.Starts) != 0 {
		t.Fatalf("orders %+v", o)
	}
	d.Finish(2, reduceOf(0, 0), slots.Outcome{Killed: true})
	d.wantStarts(2, mapOf(0, 0))
	d.Finish(3, mapOf(0, 0), done)
	d.wantStarts(3, reduceOf(0, 1))
}
