package sim_test

import (
	"testing"
	"time"

	"mrlocal/sim"
	"mrlocal/slots"
	"mrlocal/trace"
)

// TestTrackersBeatInTurn: of two trackers at a heartbeat of 4 s, tracker 0 beats
// at 0, 4, 8 and tracker 1 at 2, 6, 10. Each takes a map of 3 s at its first
// heartbeat and reports its end at the next. The reduce starts when the end of the
// last map is reported, at 6. It ends at 9, which is reported at 10.
func TestTrackersBeatInTurn(t *testing.T) {
	f := parse(t, two, "jobs: [{name: J, maps: 2, reduces: 1, map_time: 3s, reduce_time: 3s}]")
	r, events, _ := recorded(t, f, sim.Options{Policy: named(t, "fair"), Heartbeat: 4 * time.Second})
	type reported struct {
		op   trace.Op
		kind slots.Kind
		at   time.Duration
	}
	var got []reported
	for _, e := range events {
		if e.Op == trace.OpStart || e.Op == trace.OpFinish {
			got = append(got, reported{e.Op, e.Kind, e.At / time.Second})
		}
		if e.Op == trace.OpAssign && e.At%(2*time.Second) != 0 {
			t.Errorf("a beat at %v", e.At)
		}
	}
	want := []reported{
		{trace.OpStart, slots.Map, 0}, {trace.OpStart, slots.Map, 2}, {trace.OpFinish, slots.Map, 4}, {trace.OpFinish, slots.Map, 6},
		{trace.OpStart, slots.Reduce, 6}, {trace.OpFinish, slots.Reduce, 10},
	}
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%d: got %v, want %v", i, got[i], want[i])
		}
	}
	if seconds(r) != 10 || r.Config.HeartbeatS != 4 {
		t.Errorf("makespan %v s, heartbeat %v s in the report", seconds(r), r.Config.HeartbeatS)
	}
}

// TestNothingBeatsWhileThereIsNoJob: a year of waiting costs nothing, and the
// beats go on in the rhythm they had.
func TestNothingBeatsWhileThereIsNoJob(t *testing.T) {
	f := parse(t, two, "defaults: {map_time: 3s}", "jobs: [{name: a, maps: 2}, {name: b, maps: 1, submit: 8760h}, {name: c, maps: 1, submit: 8760h1s}]")
	r, events, _ := recorded(t, f, sim.Options{Policy: named(t, "fair"), Heartbeat: 4 * time.Second})
	if len(events) > 60 || seconds(r) != 8760*3600+6 {
		t.Errorf("%d events, the end at %v s", len(events), seconds(r))
	}
}

// TestAHeartbeatCostsSlotTime: the longer it is the longer runs take, and every
// policy gets everything done.
func TestAHeartbeatCostsSlotTime(t *testing.T) {
	f := parse(t, "cluster: {trackers: 9, map_slots: 10, reduce_slots: 2}", "jobs:",
		"  - {name: J1, maps: 160, reduces: 30, map_time: 20s, reduce_time: 20s}", "  - {name: J2, maps: 320, reduces: 200, map_time: 20s, reduce_time: 20s}")
	for _, name := range policies() {
		before := 0.0
		for _, heartbeat := range []time.Duration{0, 500 * time.Millisecond, 3 * time.Second, 11 * time.Second} {
			r := run(t, f, sim.Options{Policy: named(t, name), Heartbeat: heartbeat})
			if seconds(r) < before {
				t.Errorf("%s: %v s at a heartbeat of %v, %v s at a shorter one", name, seconds(r), heartbeat, before)
			}
			before = seconds(r)
		}
	}
}

// sleeper starts all tasks of job 0, but not before a time, for which it asks for a wake-up.
type sleeper struct{ until time.Duration }

func (sleeper) Traits() slots.Traits { return slots.Traits{Name: "sleeper"} }

func (sleeper) Reset() {}

func (p sleeper) Decide(v *slots.View, d *slots.Decision) {
	if v.Now() < p.until {
		d.WakeAt(p.until)
		return
	}
	for v.FreeHome(v.Tracker(), slots.Map) > 0 && v.Job(0).Pending(slots.Map) > 0 {
		d.Grant(slots.Grant{Slot: slots.NoSlot, Job: 0, Kind: slots.Map, Task: slots.NoTask})
	}
}

// TestAPolicyIsWokenWhenItWantsToBe, to the nanosecond and out of turn.
func TestAPolicyIsWokenWhenItWantsToBe(t *testing.T) {
	f := parse(t, two, "jobs: [{name: J, maps: 2, map_time: 3s}]")
	for heartbeat, want := range map[time.Duration]float64{
		0:                10,
		4 * time.Second:  12, // both end at 10; tracker 1 reports at 10, tracker 0 at 12
		60 * time.Second: 60,
	} {
		r := run(t, f, sim.Options{Policy: sleeper{until: 7 * time.Second}, Heartbeat: heartbeat})
		if j := job(t, r, "J"); j.StartS != 7 || j.FinishS != want {
			t.Errorf("heartbeat %v: from %v s to %v s, want 7 s to %v s", heartbeat, j.StartS, j.FinishS, want)
		}
	}
}

// TestAKillIsReportedAtTheNextBeat: the slot is free for others only then.
func TestAKillIsReportedAtTheNextBeat(t *testing.T) {
	f := parse(t, "cluster: {trackers: 1, map_slots: 2, reduce_slots: 1}", "faults: [{task: J/m/0, fail: 4}]", "jobs: [{name: J, maps: 2, map_time: {list: [1s, 100s]}}]")
	for heartbeat, want := range map[time.Duration]float64{0: 4, 10 * time.Second: 50} { // its fourth failure is reported at 40
		r, events, _ := recorded(t, f, sim.Options{Policy: named(t, "fair"), Heartbeat: heartbeat})
		reported := events[len(events)-1].At.Seconds()
		if j := job(t, r, "J"); j.State != "failed" || reported != want || j.Counters.KilledMaps != 1 {
			t.Errorf("heartbeat %v: %s, %d killed, all reported at %v s, want %v s", heartbeat, j.State, j.Counters.KilledMaps, reported, want)
		}
	}
}
