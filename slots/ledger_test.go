package slots_test

import (
	"bytes"
	"testing"
	"time"

	"mrlocal/slots"
	"mrlocal/slots/policy/fifo"
	"mrlocal/slots/policy/policytest"
	"mrlocal/trace"
)

// anySlot is a policy that fills the free slots of the visited tracker with any tasks that may
// start, maps first. It then runs a function of the test.
type anySlot struct {
	typed bool
	each  func(v *slots.View, d *slots.Decision)
	seen  []slots.Fact
}

func (p *anySlot) Traits() slots.Traits { return slots.Traits{Name: "any", Lends: !p.typed} }
func (p *anySlot) Observe(f slots.Fact) { p.seen = append(p.seen, f) }

func (*anySlot) Reset() {}

func (p *anySlot) Decide(v *slots.View, d *slots.Decision) {
	if p.each != nil {
		p.each(v, d)
	}
	for k := range slots.Kind(2) {
		for v.FreeAt(v.Tracker()) > 0 && (!p.typed || v.FreeHome(v.Tracker(), k) > 0) {
			id, ok := firstWith(v, k)
			if !ok || !d.Grant(slots.Grant{Slot: slots.NoSlot, Job: id, Kind: k, Task: slots.NoTask, Rule: "fifo"}) {
				break
			}
		}
	}
}

func firstWith(v *slots.View, k slots.Kind) (slots.JobID, bool) {
	if v.Pending(k) == 0 {
		return 0, false
	}
	for id := slots.JobID(0); ; id++ {
		if v.Job(id).Pending(k) > 0 {
			return id, true
		}
	}
}

// desk is a Ledger under test. It keeps the log of its events.
type desk struct {
	*slots.Ledger
	t   *testing.T
	log policytest.Log
}

func newDesk(t *testing.T, c slots.Config, p slots.Policy) *desk {
	t.Helper()
	l, err := slots.New(c, p)
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{Ledger: l, t: t}
	s := trace.NewStream()
	s.Attach(&d.log)
	l.SetStream(s)
	return d
}

const second = time.Second

// ask calls AssignAll at time at and returns a copy of the orders.
func (d *desk) ask(at time.Duration) slots.Orders {
	o := d.AssignAll(at)
	return slots.Orders{
		Starts: append([]slots.Start(nil), o.Starts...), Kills: append([]slots.AttemptID(nil), o.Kills...),
		Advances: append([]slots.AttemptID(nil), o.Advances...), Wake: o.Wake,
	}
}

func (d *desk) wantStarts(at time.Duration, want ...slots.AttemptID) {
	d.t.Helper()
	o := d.ask(at)
	if len(o.Starts) != len(want) {
		d.t.Fatalf("at %v: %d starts %v, want %v", at, len(o.Starts), o.Starts, want)
	}
	for i := range want {
		if o.Starts[i].Attempt != want[i] {
			d.t.Fatalf("at %v: start %d is %v, want %v", at, i, o.Starts[i].Attempt, want[i])
		}
	}
}

func (d *desk) ops(op trace.Op) (found []trace.Event) {
	for _, e := range d.log.Events {
		if e.Op == op {
			found = append(found, e)
		}
	}
	return found
}

func mapOf(task slots.TaskID, n int32) slots.AttemptID {
	return slots.AttemptID{Kind: slots.Map, Task: task, N: n}
}
func reduceOf(task slots.TaskID, n int32) slots.AttemptID {
	return slots.AttemptID{Kind: slots.Reduce, Task: task, N: n}
}

var done = slots.Outcome{OK: true}

func two() slots.Config { return slots.Config{Slots: policytest.Typed(1, 1, 1), Slowstart: slots.One} }

func TestFailedAttemptsCountAndKilledOnesDoNot(t *testing.T) {
	c := slots.Config{Slots: policytest.Typed(1, 1, 0), MaxAttempts: 2}
	d := newDesk(t, c, &anySlot{})
	d.Submit(0, slots.JobSpec{Name: "j", Maps: 2, MapsSealed: true})
	d.wantStarts(0, mapOf(0, 0))
	d.Finish(1, mapOf(0, 0), slots.Outcome{Killed: true})
	d.wantStarts(1, mapOf(0, 1)) // before the map that has never run
	d.Finish(2, mapOf(0, 1), slots.Outcome{})
	d.wantStarts(2, mapOf(0, 2))
	if d.JobState(0) != slots.Running {
		t.Fatalf("one failure of two ends the job: %v", d.JobState(0))
	}
	d.Finish(3, mapOf(0, 2), slots.Outcome{})
	if by, failed := d.FailedBy(0); !failed || by != mapOf(0, 2) || !d.Done(0) {
		t.Errorf("failed by %v (%v), done %v", by, failed, d.Done(0))
	}
	d.wantStarts(4)
	if got := d.JobCounts(0, slots.Map); got.Failed != 2 || got.Killed != 1 || got.Started != 3 {
		t.Errorf("counts %+v", got)
	}
}

func TestALostOutputThatFailsTheJobIsNotDone(t *testing.T) {
	c := two()
	c.MaxAttempts = 1
	d := newDesk(t, c, &anySlot{})
	d.Submit(0, slots.JobSpec{Name: "j", Maps: 1, MapsSealed: true, Reduces: 1})
	d.wantStarts(0, mapOf(0, 0))
	d.Finish(1, mapOf(0, 0), done)
	d.LostOutput(2, 0, 0)
	if by, failed := d.FailedBy(0); !failed || by != mapOf(0, 0) || !d.Done(0) {
		t.Errorf("failed by %v (%v), done %v", by, failed, d.Done(0))
	}
	if n, total := d.JobTasks(0, slots.Map); n != 0 || total != 1 {
		t.Errorf("%d of %d maps are done", n, total)
	}
}

func TestAFailedJobTakesNothingElseWithIt(t *testing.T) {
	c := slots.Config{Slots: policytest.Typed(1, 3, 0), MaxAttempts: 1}
	d := newDesk(t, c, &anySlot{})
	d.Submit(0, slots.JobSpec{Name: "bad", Maps: 2, MapsSealed: true})
	d.Submit(0, slots.JobSpec{Name: "good", Maps: 1, MapsSealed: true})
	d.wantStarts(0, mapOf(0, 0), mapOf(1, 0), slots.AttemptID{Job: 1})
	d.Finish(1, mapOf(1, 0), slots.Outcome{})
	if d.Done(0) {
		t.Error("the job is done while an attempt of it is left")
	}
	if o := d.ask(1); len(o.Kills) != 1 || o.Kills[0] != mapOf(0, 0) {
		t.Errorf("kills %v", o.Kills)
	}
	d.Finish(2, mapOf(0, 0), slots.Outcome{Killed: true})
	d.Finish(2, slots.AttemptID{Job: 1}, done)
	if d.JobState(0) != slots.Failed || d.JobState(1) != slots.Succeeded || !d.Done(0) || !d.Done(1) {
		t.Errorf("states %v, %v", d.JobState(0), d.JobState(1))
	}
}

func TestReducesStartWhenEnoughMapsAreDone(t *testing.T) {
	for name, c := range map[string]struct {
		slowstart slots.PPM
		sealed    bool
		openAfter int // maps done; -1: not while unsealed
	}{
		"1.0 waits for the last":                             {slots.One, true, 4},
		"0.5 waits for half":                                 {slots.One / 2, true, 2},
		"0.05 waits for one: the share is rounded up":        {slots.One / 20, true, 1},
		"0 waits for nothing":                                {0, true, 0},
		"while the number of maps may grow the gate is shut": {slots.One / 20, false, -1},
		"but at 0 it is open even then":                      {0, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, slots.Config{Slots: policytest.Typed(1, 1, 1), Slowstart: c.slowstart}, fifo.New())
			d.Submit(0, slots.JobSpec{Name: "j", Maps: 4, MapsSealed: c.sealed, ReadyMaps: 4, Reduces: 1})
			openAfter := -1
			for i := range 5 {
				for _, s := range d.ask(time.Duration(i)).Starts {
					if s.Attempt.Kind == slots.Reduce {
						openAfter = i
					}
				}
				if i < 4 {
					d.Finish(time.Duration(i), mapOf(slots.TaskID(i), 0), done)
				}
			}
			if openAfter != c.openAfter {
				t.Errorf("open after %d maps, want %d", openAfter, c.openAfter)
			}
		})
	}
}

func TestAStreamBecomesKnownBitByBit(t *testing.T) {
	d := newDesk(t, two(), fifo.New())
	d.Submit(0, slots.JobSpec{Name: "stream", Reduces: 1})
	d.wantStarts(0)
	d.Ready(1, 0, slots.Readiness{Maps: 1})
	d.wantStarts(1, mapOf(0, 0))
	d.Finish(2, mapOf(0, 0), done)
	d.wantStarts(2)
	d.Ready(3, 0, slots.Readiness{Maps: 2, Total: 2, Sealed: true})
	d.wantStarts(3, mapOf(1, 0))
	d.Finish(4, mapOf(1, 0), done)
	d.wantStarts(4, reduceOf(0, 0))
	d.Finish(5, reduceOf(0, 0), done)
	if got := d.JobTimes(0); !d.Done(0) || got != (slots.JobTimes{Submit: 0, Start: 1, MapsDone: 4, Finish: 5}) {
		t.Errorf("done %v, times %+v", d.Done(0), got)
	}
}

func TestAStreamThatTurnsOutEmptyIsDoneWithItsReduces(t *testing.T) {
	d := newDesk(t, two(), fifo.New())
	d.Submit(0, slots.JobSpec{Name: "empty", Reduces: 1})
	d.Submit(0, slots.JobSpec{Name: "nothing at all"})
	d.Ready(1, 0, slots.Readiness{Sealed: true})
	d.Ready(1, 1, slots.Readiness{Sealed: true})
	if d.JobState(1) != slots.Succeeded {
		t.Errorf("a job without tasks is %v", d.JobState(1))
	}
	d.wantStarts(1, reduceOf(0, 0))
	d.Finish(2, reduceOf(0, 0), done)
	if !d.Done(0) {
		t.Error("not done")
	}
}

func TestReadAheadIsBounded(t *testing.T) {
	d := newDesk(t, slots.Config{Slots: policytest.Typed(1, 4, 1)}, fifo.New())
	d.Submit(0, slots.JobSpec{Name: "j", Maps: 4, MapsSealed: true, ReadyMaps: 1})
	d.wantStarts(0, mapOf(0, 0))
	d.Ready(1, 0, slots.Readiness{Maps: 3, Total: 4, Sealed: true})
	d.wantStarts(1, mapOf(1, 0), mapOf(2, 0))
}

func TestALostMapOutputRunsAgainAndShutsTheGate(t *testing.T) {
	d := newDesk(t, two(), &anySlot{typed: true})
	d.Submit(0, slots.JobSpec{Name: "j", Maps: 1, MapsSealed: true, Reduces: 2})
	d.wantStarts(0, mapOf(0, 0))
	d.Finish(1, mapOf(0, 0), done)
	d.wantStarts(1, reduceOf(0, 0))
	d.LostOutput(2, 0, 0)
	d.LostOutput(2, 0, 0) // a second report of the same loss
	d.wantStarts(2, mapOf(0, 1))
	d.Finish(4, reduceOf(0, 0), slots.Outcome{Killed: true})
	d.wantStarts(4) // the gate is closed
	d.Finish(5, mapOf(0, 1), done)
	d.wantStarts(5, reduceOf(0, 1))
	if got := d.Stats().WaitingReduce; got != 2 {
		t.Errorf("reduces waited %v, want from 2 to 4", got)
	}
	if gates := d.ops(trace.OpGate); len(gates) != 3 || !gates[0].Has(trace.OK) || gates[1].Has(trace.OK) || !gates[2].Has(trace.OK) {
		t.Errorf("gate events %+v", gates)
	}
	if got := d.JobTimes(0).MapsDone; got != 5 {
		t.Errorf("maps done at %v", got)
	}
}

func TestAMapWhoseOutputIsAlwaysLostFailsItsJob(t *testing.T) {
	d := newDesk(t, two(), &anySlot{typed: true})
	d.Submit(0, slots.JobSpec{Name: "j", Maps: 1, MapsSealed: true, Reduces: 1})
	for n := range int32(4) {
		at := time.Duration(n)
		d.ask(at)
		d.Finish(at, mapOf(0, n), done)
		d.LostOutput(at, 0, 0)
	}
	if by, failed := d.FailedBy(0); !failed || by != mapOf(0, 3) {
		t.Errorf("failed %v by %v", failed, by)
	}
}

func TestADroppedTaskCountsAsDone(t *testing.T) {
	d := newDesk(t, slots.Config{Slots: policytest.Typed(1, 1, 0)}, &anySlot{})
	d.Submit(0, slots.JobSpec{Name: "j", Maps: 3, MapsSealed: true})
	d.wantStarts(0, mapOf(0, 0))
	d.Drop(1, 0, slots.Map, 1) // pending
	d.Drop(1, 0, slots.Map, 0) // running
	d.Drop(1, 0, slots.Map, 0) // twice
	if o := d.ask(1); len(o.Kills) != 1 || o.Kills[0] != mapOf(0, 0) {
		t.Fatalf("kills %v", o.Kills)
	}
	d.Finish(2, mapOf(0, 0), slots.Outcome{Killed: true})
	d.wantStarts(2, mapOf(2, 0)) // map 0 does not run again
	d.Finish(3, mapOf(2, 0), done)
	if !d.Done(0) || d.JobState(0) != slots.Succeeded {
		t.Errorf("job is %v", d.JobState(0))
	}
}

func TestARestoredMapIsDoneAndRunsOnlyWhenItsOutputIsLost(t *testing.T) {
	d := newDesk(t, slots.Config{Slots: policytest.Typed(1, 2, 0), MaxAttempts: 1}, &anySlot{})
	d.Submit(0, slots.JobSpec{Name: "j", Maps: 3, MapsSealed: true, Reduces: 1})
	d.Restore(0, 0, 1)
	d.Restore(0, 0, 1) // twice
	d.wantStarts(0, mapOf(0, 0), mapOf(2, 0))
	d.Restore(1, 0, 0) // it runs: this comes too late
	if done, total := d.JobTasks(0, slots.Map); done != 1 || total != 3 {
		t.Fatalf("%d of %d maps are done", done, total)
	}
	d.LostOutput(1, 0, 1)
	d.Finish(2, mapOf(0, 0), done)
	d.wantStarts(2, mapOf(1, 0)) // although one failure is one too many
	if d.JobState(0) != slots.Running {
		t.Errorf("job is %v", d.JobState(0))
	}
}

func TestARestoredOutputIsOnNoTracker(t *testing.T) {
	d := newDesk(t, slots.Config{Slots: policytest.Typed(2, 1, 1), Slowstart: slots.One}, &anySlot{typed: true})
	d.Submit(0, slots.JobSpec{Name: "j", Maps: 2, MapsSealed: true, Reduces: 1})
	d.Restore(0, 0, 0)
	d.Restore(0, 0, 1)
	d.LostTracker(1, 1)
	d.wantStarts(1, slots.AttemptID{Kind: slots.Reduce})
}

func TestDroppingAheadOfAStream(t *testing.T) {
	d := newDesk(t, slots.Config{Slots: policytest.Typed(1, 1, 0)}, &anySlot{})
	d.Submit(0, slots.JobSpec{Name: "j"})
	d.Drop(0, 0, slots.Map, 1)
	d.Ready(1, 0, slots.Readiness{Maps: 3, Total: 3, Sealed: true})
	d.wantStarts(1, mapOf(0, 0))
	d.Finish(2, mapOf(0, 0), done)
	d.wantStarts(2, mapOf(2, 0))
}

// TestADriverLetsAJobFail: no task has failed too often, and the job has failed all the same.
func TestADriverLetsAJobFail(t *testing.T) {
	d := newDesk(t, slots.Config{Slots: policytest.Typed(1, 1, 0)}, &anySlot{})
	d.Submit(0, slots.JobSpec{Name: "J", Maps: 2, MapsSealed: true})
	d.ask(0)
	d.Fail(1, 0)
	if o := d.ask(1); len(o.Kills) != 1 {
		t.Errorf("orders %+v", o)
	}
	if _, byTask := d.FailedBy(0); byTask || d.JobState(0) != slots.Failed {
		t.Errorf("state %v, by a task %v", d.JobState(0), byTask)
	}
}

func TestAbortKillsAndForgets(t *testing.T) {
	d := newDesk(t, slots.Config{Slots: policytest.Typed(1, 1, 0)}, &anySlot{})
	d.Submit(0, slots.JobSpec{Name: "j", Maps: 3, MapsSealed: true})
	d.wantStarts(0, mapOf(0, 0))
	d.Abort(1, 0)
	if o := d.ask(1); len(o.Kills) != 1 || len(o.Starts) != 0 {
		t.Fatalf("orders %+v", o)
	}
	d.Finish(2, mapOf(0, 0), done) // it succeeded, but too late
	if d.JobState(0) != slots.Killed || !d.Done(0) || d.JobCounts(0, slots.Map).Killed != 1 {
		t.Errorf("job is %v, counts %+v", d.JobState(0), d.JobCounts(0, slots.Map))
	}
	d.Finish(3, mapOf(0, 0), done)
	d.LostOutput(3, 0, 0)
	d.Ready(3, 0, slots.Readiness{Maps: 9})
	if d.Stats().Stale != 1 {
		t.Errorf("%d ends of unknown attempts", d.Stats().Stale)
	}
}

func TestALostTrackerTakesItsAttemptsAndMapOutputs(t *testing.T) {
	d := newDesk(t, slots.Config{Slots: policytest.Typed(2, 1, 1), Slowstart: slots.One}, &anySlot{typed: true})
	d.Submit(0, slots.JobSpec{Name: "j", Maps: 3, MapsSealed: true, Reduces: 1})
	d.wantStarts(0, mapOf(0, 0), mapOf(1, 0))
	d.Finish(1, mapOf(1, 0), done) // on tracker 1
	d.wantStarts(1, mapOf(2, 0))   // on tracker 1 again
	d.LostTracker(2, 1)
	d.Finish(2, mapOf(2, 0), done) // the driver does not know yet
	d.wantStarts(2)                // tracker 0 is busy, 1 is gone
	d.Finish(3, mapOf(0, 0), done)
	d.wantStarts(3, mapOf(2, 1))
	d.Finish(4, mapOf(2, 1), done)
	d.wantStarts(4, mapOf(1, 1))
	d.Finish(5, mapOf(1, 1), done)
	d.wantStarts(5, reduceOf(0, 0))
	if c := d.JobCounts(0, slots.Map); c.Killed != 1 || c.LostOutputs != 1 || c.Failed != 0 {
		t.Errorf("counts %+v", c)
	}
}

func TestAJobIsCompleteWithItsReduces(t *testing.T) {
	d := newDesk(t, slots.Config{Slots: policytest.Typed(1, 1, 2), Slowstart: slots.One}, &anySlot{typed: true})
	d.Submit(0, slots.JobSpec{Name: "j", Maps: 1, MapsSealed: true, Reduces: 2})
	d.wantStarts(0, mapOf(0, 0))
	d.Finish(1, mapOf(0, 0), done)
	d.wantStarts(1, reduceOf(0, 0), reduceOf(1, 0))
	d.Finish(2, reduceOf(0, 0), done)
	d.LostOutput(3, 0, 0)
	d.wantStarts(3, mapOf(0, 1))
	d.Finish(4, reduceOf(1, 0), done) // it had copied the output before
	if o := d.ask(4); len(o.Kills) != 1 || o.Kills[0] != mapOf(0, 1) || d.JobState(0) != slots.Succeeded {
		t.Errorf("orders %+v, job %v", o, d.JobState(0))
	}
}

func TestStatsAddUpSlotTime(t *testing.T) {
	d := newDesk(t, slots.Config{Slots: policytest.Typed(1, 1, 1), Slowstart: 0}, &anySlot{})
	d.Submit(0, slots.JobSpec{Name: "j", Maps: 2, MapsSealed: true, Reduces: 1})
	d.ask(0) // both maps: slot 1 is lent
	d.Finish(2*second, mapOf(1, 0), done)
	d.ask(2 * second) // the reduce, which waits for map 0
	d.Finish(5*second, mapOf(0, 0), done)
	d.Finish(6*second, reduceOf(0, 0), done)
	got := d.Stats()
	want := slots.Stats{Moves: 1, Jain: 1, JainInTime: 1, Totals: slots.Totals{
		Busy: 11 * second, Lent: 2 * second, WaitingReduce: 3 * second, Open: 12 * second, Work: 8 * second, Room: 12 * second, Wasted: slots.Wasted{Waiting: 3 * second},
	}}
	want.Phases[slots.PhaseCompute], want.Phases[slots.PhaseCopy] = 7*second, 4*second
	if got != want || got.Utilisation() != 8.0/12 {
		t.Errorf("got %+v, utilisation %v, want %+v", got, got.Utilisation(), want)
	}
	if s := d.SlotTimes(1); s.Busy != 6*second || s.Lent != 2*second || s.Starts != 2 {
		t.Errorf("slot 1: %+v", s)
	}
}

func TestFairnessCountsOnlyTheTimeWithDemand(t *testing.T) {
	d := newDesk(t, slots.Config{Slots: policytest.Typed(1, 2, 0)}, &anySlot{})
	d.Submit(0, slots.JobSpec{Name: "short", Maps: 1, MapsSealed: true})
	d.Submit(0, slots.JobSpec{Name: "long", Maps: 1, MapsSealed: true})
	d.ask(0)
	d.Finish(1, mapOf(0, 0), done)
	d.Finish(10, slots.AttemptID{Job: 1}, done)
	if got := d.Stats().Jain; got != 1 {
		t.Errorf("Jain's index is %v: each had a slot as long as it wanted one", got)
	}
}

func TestVisitsGoOnAfterTheTrackerThatWasServedLast(t *testing.T) {
	d := newDesk(t, slots.Config{Slots: policytest.Typed(3, 2, 0)}, fifo.New())
	d.Submit(0, slots.JobSpec{Name: "stream"})
	for i, want := range [][2]slots.TrackerID{{0, 1}, {2, 0}, {1, 2}} {
		at := time.Duration(i)
		d.Ready(at, 0, slots.Readiness{Maps: int32(2*i) + 2})
		o := d.ask(at)
		if len(o.Starts) != 2 {
			t.Fatalf("round %d: %d starts", i, len(o.Starts))
		}
		for k, s := range o.Starts {
			if got := d.Config().Slots[s.Slot].Tracker; got != want[k] {
				t.Errorf("round %d: start %d on tracker %d, want %d", i, k, got, want[k])
			}
			d.Finish(at, s.Attempt, done)
		}
	}
}

func TestTypedSlotsStayTyped(t *testing.T) {
	// A policy without Traits.Lends may not lend, even if it asks for it.
	refused := slots.Granted
	p := &anySlot{typed: true, each: func(v *slots.View, d *slots.Decision) {
		if v.Pending(slots.Map) == 2 {
			defer func() { _ = recover() }() // checked builds panic
			d.Grant(slots.Grant{Slot: 1, Kind: slots.Map, Task: slots.NoTask})
			refused = d.Refused()
		}
	}}
	d := newDesk(t, two(), p)
	d.Submit(0, slots.JobSpec{Name: "j", Maps: 2, MapsSealed: true})
	d.wantStarts(0, mapOf(0, 0))
	if refused != slots.RefusedTyped && refused != slots.Granted {
		t.Errorf("refused for %v", refused)
	}
}

func TestNewRefusesWhatMakesNoSense(t *testing.T) {
	ok := policytest.Typed(1, 1, 1)
	for name, c := range map[string]slots.Config{
		"no slots":           {},
		"ids out of order":   {Slots: []slots.Slot{{ID: 1}}},
		"a negative tracker": {Slots: []slots.Slot{{Tracker: -1}}},
		"share above 1":      {Slots: ok, Slowstart: slots.One + 1},
		"negative share":     {Slots: ok, BorrowMap: -1},
		"negative attempts":  {Slots: ok, MaxAttempts: -1},
		"a pool twice":       {Slots: ok, Pools: []slots.Pool{{Name: "a"}, {Name: "a"}}},
		"negative minimum":   {Slots: ok, Pools: []slots.Pool{{Name: "a", MinMaps: -1}}},
	} {
		if _, err := slots.New(c, fifo.New()); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if l, err := slots.New(slots.Config{Slots: ok}, fifo.New()); err != nil || l.Config().PolicyName != "fifo" {
		t.Errorf("a policy without a name of its run's: %v", err)
	}
}

// starter is FIFO with a slowstart of its own.
type starter struct{ fifo.FIFO }

func (*starter) Traits() slots.Traits {
	return slots.Traits{Name: "fifo", OwnSlowstart: true, Slowstart: slots.One / 2}
}

func TestAPolicyMayHaveASlowstartOfItsOwn(t *testing.T) {
	p := &starter{}
	l, err := slots.New(slots.Config{Slots: policytest.Typed(1, 2, 1), Slowstart: slots.One}, p)
	if err != nil {
		t.Fatal(err)
	}
	if got := l.Config().Slowstart; got != slots.One/2 {
		t.Errorf("%v is recorded, want the policy's", got)
	}
}

// recorder is FIFO with an option of its own.
type recorder struct {
	fifo.FIFO
	options any
}

func (r *recorder) Traits() slots.Traits { return slots.Traits{Name: "fifo", Options: r.options} }

func TestAPolicysOptionsAreRecorded(t *testing.T) {
	type options struct {
		Extra int `json:"extra"`
	}
	l, err := slots.New(slots.Config{Slots: policytest.Typed(1, 1, 1)}, &recorder{options: options{Extra: 3}})
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	s := trace.NewStream()
	s.Attach(trace.NewJSONL(&file))
	l.SetStream(s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	d, err := trace.NewDecoder(&file)
	if err != nil {
		t.Fatal(err)
	}
	c, err := slots.ConfigOf(d.Header())
	if err != nil {
		t.Fatal(err)
	}
	if got := string(c.Options); got != `{"extra":3}` {
		t.Errorf("recorded: %s", got)
	}
}

// TestWrongSlots: New refuses each wrong field of a slot.
func TestWrongSlots(t *testing.T) {
	for name, wrong := range map[string]func(s *slots.Slot){
		"the number": func(s *slots.Slot) { s.ID++ }, "a home kind": func(s *slots.Slot) { s.Home = 2 },
		"no tracker": func(s *slots.Slot) { s.Tracker = -1 }, "a tracker beyond the slots": func(s *slots.Slot) { s.Tracker = 3 },
		"the weight": func(s *slots.Slot) { s.Weight = -1 },
	} {
		c := two()
		wrong(&c.Slots[1])
		if _, err := slots.New(c, fifo.New()); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestTheCallerKeepsItsPools(t *testing.T) {
	c := two()
	c.Pools = []slots.Pool{{Name: "prod"}} // of weight 0, for which the Ledger has a default
	if _, err := slots.New(c, fifo.New()); err != nil || c.Pools[0].Weight != 0 {
		t.Errorf("weight %d, %v", c.Pools[0].Weight, err)
	}
}
