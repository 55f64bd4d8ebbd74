package slots_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"mrlocal/slots"
	"mrlocal/slots/policy/fifo"
	"mrlocal/slots/policy/policytest"
	"mrlocal/trace"
)

// nearPolicy grants maps of job 0 with the locality that the test asks for, and checks the
// View.
type nearPolicy struct {
	least slots.Level
	look  func(v *slots.View)
	got   []slots.Refusal
}

func (*nearPolicy) Traits() slots.Traits { return slots.Traits{Name: "near"} }
func (*nearPolicy) Reset()               {}

func (p *nearPolicy) Decide(v *slots.View, d *slots.Decision) {
	if p.look != nil {
		p.look(v)
	}
	for v.FreeHome(v.Tracker(), slots.Map) > 0 && v.Job(0).Pending(slots.Map) > 0 {
		if !d.Grant(slots.Grant{Slot: slots.NoSlot, Job: 0, Kind: slots.Map, Task: slots.NoTask, Rule: "fifo", Locality: p.least}) {
			p.got = append(p.got, d.Refused())
			return
		}
	}
}

func placedCluster(trackers, replicas, group int) slots.Config {
	return slots.Config{Slots: policytest.Typed(trackers, 1, 1), Slowstart: slots.One, Replicas: int32(replicas), GroupTrackers: int32(group)}
}

// TestEveryMapIsFoundWhereItsInputIs: the policy asks for local maps only. Then each map
// starts on a tracker that has its input, and all maps start, also after kills and lost
// outputs.
func TestEveryMapIsFoundWhereItsInputIs(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		trackers := rapid.IntRange(2, 9).Draw(rt, "trackers")
		replicas := rapid.IntRange(1, 4).Draw(rt, "replicas")
		maps := rapid.IntRange(1, 60).Draw(rt, "maps")
		c := placedCluster(trackers, replicas, rapid.IntRange(0, 3).Draw(rt, "group"))
		c.Seed = rapid.Uint64().Draw(rt, "seed")
		p := &nearPolicy{least: slots.LevelTracker}
		l, err := slots.New(c, p)
		if err != nil {
			rt.Fatal(err)
		}
		known := rapid.IntRange(0, maps).Draw(rt, "known at first")
		l.Submit(0, slots.JobSpec{Name: "j", Maps: int32(known), ReadyMaps: int32(known / 2), Reduces: 1})
		now, homes := time.Duration(0), map[slots.TaskID]map[slots.TrackerID]bool{}
		for round := 0; ; round++ {
			if round > 4*maps+20 {
				done, total := l.JobTasks(0, slots.Map)
				rt.Fatalf("%d of %d maps after %d rounds", done, total, round)
			}
			now++
			if round == 3 {
				l.Ready(now, 0, slots.Readiness{Maps: int32(maps), Total: int32(maps), Sealed: true})
			}
			for tr := range slots.TrackerID(trackers) {
				for _, s := range append([]slots.Start(nil), l.Assign(now, tr).Starts...) {
					if s.Locality != slots.LevelTracker {
						rt.Fatalf("%v starts on tracker %d at level %v", s.Attempt, tr, s.Locality)
					}
					if homes[s.Attempt.Task] == nil {
						homes[s.Attempt.Task] = map[slots.TrackerID]bool{}
					}
					homes[s.Attempt.Task][tr] = true
					now++
					l.Finish(now, s.Attempt, slots.Outcome{OK: rapid.IntRange(0, 3).Draw(rt, "end") > 0, Killed: true})
				}
			}
			if done, total := l.JobTasks(0, slots.Map); round > 3 && done == total {
				if rapid.Bool().Draw(rt, "stop") {
					break
				}
				l.LostOutput(now, 0, slots.TaskID(rapid.IntRange(0, maps-1).Draw(rt, "lost")))
				if l.JobState(0) != slots.Running {
					return
				}
				p.least = slots.LevelAny // a failed map goes anywhere
				l.Abort(now, 0)
				return
			}
		}
		for task, where := range homes {
			if len(where) > min(replicas, trackers) {
				rt.Fatalf("map %d ran locally on %d trackers of %d replicas", task, len(where), replicas)
			}
		}
		if n := l.JobCounts(0, slots.Map); n.Local != n.Started {
			rt.Fatalf("%+v", n)
		}
	})
}

// TestReplicasAreSpreadEvenly checks all numbers of trackers.
func TestReplicasAreSpreadEvenly(t *testing.T) {
	for _, trackers := range []int{2, 3, 10, 12, 97} {
		p := &nearPolicy{least: slots.LevelTracker}
		l, err := slots.New(placedCluster(trackers, 3, 0), p)
		if err != nil {
			t.Fatal(err)
		}
		const maps = 1000
		l.Submit(0, slots.JobSpec{Name: "j", Maps: maps, MapsSealed: true, Reduces: 1})
		started := 0
		now := time.Duration(0)
		for started < maps {
			before := started
			for tr := range slots.TrackerID(trackers) {
				for _, s := range append([]slots.Start(nil), l.Assign(now, tr).Starts...) {
					now++
					l.Finish(now, s.Attempt, slots.Outcome{OK: true})
					started++
				}
			}
			if even := started - before; maps-before > maps/5 && even < trackers {
				t.Fatalf("%d trackers: only %d have a local map while %d pend", trackers, even, maps-before)
			}
		}
	}
}

func TestLocalityTellsLevelsApart(t *testing.T) {
	var seen []slots.Level
	p := &nearPolicy{least: slots.LevelTracker, look: func(v *slots.View) { seen = append(seen, v.Local(0, v.Tracker())) }}
	l, err := slots.New(placedCluster(6, 1, 3), p)
	if err != nil {
		t.Fatal(err)
	}
	l.Submit(0, slots.JobSpec{Name: "one", Maps: 1, MapsSealed: true, Reduces: 1})
	for tr := range slots.TrackerID(6) {
		if len(l.Assign(0, tr).Starts) > 0 {
			break
		}
	}
	home := len(seen) - 1
	if seen[home] != slots.LevelTracker {
		t.Fatalf("started at level %v", seen[home])
	}
	for tr, level := range seen[:home] {
		want := slots.LevelAny
		if tr/3 == home/3 {
			want = slots.LevelGroup
		}
		if level != want {
			t.Errorf("tracker %d: %v, want %v (the map is at %d)", tr, level, want, home)
		}
	}
	for _, r := range p.got {
		if r != slots.RefusedLocality {
			t.Errorf("refused for %v", r)
		}
	}
}

func TestAFailedMapGoesElsewhereFirst(t *testing.T) {
	p := &nearPolicy{}
	d := newDesk(t, slots.Config{Slots: policytest.Typed(3, 1, 1), Slowstart: slots.One}, p)
	d.Submit(0, slots.JobSpec{Name: "j", Maps: 1, MapsSealed: true, Reduces: 1})
	at := func(now time.Duration, tr slots.TrackerID) int { return len(d.Assign(now, tr).Starts) }
	if at(1, 0) != 1 {
		t.Fatal("not started")
	}
	d.Finish(2, mapOf(0, 0), slots.Outcome{})
	if at(3, 0) != 0 || p.got[0] != slots.RefusedFailedHere {
		t.Fatalf("started again where it failed: %v", p.got)
	}
	if at(4, 1) != 1 {
		t.Fatal("not started elsewhere")
	}
	d.Finish(5, mapOf(0, 1), slots.Outcome{})
	d.LostTracker(6, 2)
	if at(7, 0) != 1 { // it failed on every tracker that is left
		t.Fatal("not started where it failed, though it failed everywhere")
	}
}

func TestATrackerWithFourFailuresOfAJobGetsNoMoreOfIt(t *testing.T) {
	const trackers = 5
	p := &nearPolicy{}
	d := newDesk(t, slots.Config{Slots: policytest.Typed(trackers, 1, 1), Slowstart: slots.One}, p)
	d.Submit(0, slots.JobSpec{Name: "j", Maps: 40, MapsSealed: true, Reduces: 1})
	now := time.Duration(0)
	fail := func(tr slots.TrackerID) bool {
		now++
		starts := d.Assign(now, tr).Starts
		if len(starts) == 0 {
			return false
		}
		d.Finish(now, starts[0].Attempt, slots.Outcome{})
		return true
	}
	for i := range 4 {
		if !fail(0) {
			t.Fatalf("failure %d did not start", i)
		}
	}
	if fail(0) || p.got[0] != slots.RefusedBlacklisted {
		t.Fatalf("a fifth attempt on a tracker with four failures: %v", p.got)
	}
	for range 4 { // 2 of 5 trackers are too many for a blacklist
		fail(1)
	}
	if !fail(0) {
		t.Fatal("blacklisted, though flaky trackers are a quarter or more")
	}
}

func TestAJobOverALimitWaitsItsTurn(t *testing.T) {
	c := two()
	c.Pools = []slots.Pool{{Name: "p", MaxRunning: 2}}
	c.Users = []slots.User{{Name: "ann", MaxRunning: 1}}
	d := newDesk(t, c, &anySlot{})
	submit := func(name, user string, p slots.Priority) slots.JobID {
		return d.Submit(d.Now(), slots.JobSpec{Name: name, Pool: "p", User: user, Maps: 1, MapsSealed: true, Priority: p})
	}
	first := submit("first", "ann", slots.Normal)
	anns := submit("ann's second", "ann", slots.VeryHigh) // waits for ann
	bobs := submit("bob's", "bob", slots.Normal)
	low := submit("low", "bob", slots.Low)    // waits for the pool
	high := submit("high", "bob", slots.High) // waits for the pool, before low
	admitted := func(want ...slots.JobID) {
		t.Helper()
		got := d.ops(trace.OpAdmit)
		if len(got) != len(want) {
			t.Fatalf("%d jobs admitted after a wait, want %d", len(got), len(want))
		}
		for i, id := range want {
			if slots.JobID(got[i].Job) != id {
				t.Errorf("admission %d is of job %d, want %d", i, got[i].Job, id)
			}
		}
	}
	if pending, _ := d.Idle(); pending[slots.Map] != 2 {
		t.Fatalf("%d maps pend, want those of two jobs", pending[slots.Map])
	}
	admitted()
	d.Abort(1, bobs)
	admitted(high)
	d.Abort(2, first) // frees the limits of the pool and of ann; the pool comes first
	admitted(high, low)
	d.Abort(3, low)
	admitted(high, low, anns)
	d.Abort(4, high)
	d.Abort(5, anns)
	submit("later", "ann", slots.Normal)
	admitted(high, low, anns)
	if pending, _ := d.Idle(); pending[slots.Map] != 1 {
		t.Fatal("a free limit keeps a job back")
	}
}

func TestLimitsHoldWhateverEnds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := two()
		c.Pools = []slots.Pool{{Name: "p", MaxRunning: 2}, {Name: "q", MaxRunning: 1}, {Name: "free"}}
		c.Users = []slots.User{{Name: "ann", MaxRunning: 2}, {Name: "bob", MaxRunning: 1}}
		l, err := slots.New(c, fifo.New())
		if err != nil {
			rt.Fatal(err)
		}
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			now := l.Now() + 1
			if l.Jobs() == 0 || rapid.Bool().Draw(rt, "submit") {
				l.Submit(now, slots.JobSpec{
					Name: "j", Pool: rapid.SampledFrom([]string{"p", "q", "free"}).Draw(rt, "pool"), User: rapid.SampledFrom([]string{"ann", "bob", "eve"}).Draw(rt, "user"),
					Maps: int32(rapid.IntRange(0, 2).Draw(rt, "maps")), MapsSealed: true, Priority: slots.Priority(rapid.IntRange(-2, 2).Draw(rt, "priority")),
				})
			} else {
				l.Abort(now, slots.JobID(rapid.IntRange(0, l.Jobs()-1).Draw(rt, "abort")))
			}
			if err := l.Check(); err != nil { // counts and limits, and that no job waits without need
				rt.Fatal(err)
			}
		}
	})
}
