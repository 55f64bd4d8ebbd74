package dhfs

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"mrlocal/slots"
	"mrlocal/slots/policy"
)

// probe is a policy that starts given numbers of tasks on each tracker, and then calls
// look.
type probe struct {
	run  map[slots.TrackerID][2]int32
	look func(v *slots.View)
}

func (*probe) Traits() slots.Traits { return slots.Traits{Name: "probe", Lends: true} }

func (*probe) Reset() {}

func (p *probe) Decide(v *slots.View, d *slots.Decision) {
	for k, n := range p.run[v.Tracker()] {
		for range n {
			d.Grant(slots.Grant{Slot: slots.NoSlot, Job: slots.JobID(k), Kind: slots.Kind(k), Task: slots.NoTask, Rule: RuleOwnSlots})
		}
	}
	p.look(v)
}

// state is a cluster in the paper's numbers.
type state struct {
	caps         [][2]int32 // map and reduce slots, by tracker
	run          [][2]int32 // running maps and reduces, by tracker
	pendM, pendR int32
	pctM, pctR   slots.PPM
	wantDemand   [2]int32
	wantScenario Scenario
	wantExtra    [2]int32 // extraMapSlotsDemand, extraReduceSlotsDemand
	wantLent     [2]int32 // by lending kind
}

// view builds the state. Job 0 has the maps and job 1 the reduces, so that no task waits
// for the other kind.
func (s *state) view(t *testing.T, look func(v *slots.View)) {
	t.Helper()
	var all []slots.Slot
	run := map[slots.TrackerID][2]int32{}
	total := [2]int32{s.pendM, s.pendR}
	for i, c := range s.caps {
		for k, n := range c {
			for range n {
				all = append(all, slots.Slot{ID: slots.SlotID(len(all)), Tracker: slots.TrackerID(i), Core: -1, Home: slots.Kind(k)})
			}
		}
		run[slots.TrackerID(i)] = s.run[i]
		total[0] += s.run[i][0]
		total[1] += s.run[i][1]
	}
	looked := 0
	p := &probe{run: run, look: func(v *slots.View) {
		if looked++; looked == len(s.caps) {
			look(v)
		}
	}}
	l, err := slots.New(slots.Config{Slots: all}, p)
	if err != nil {
		t.Fatal(err)
	}
	l.Submit(0, slots.JobSpec{Name: "maps", Maps: total[0], MapsSealed: true})
	l.Submit(0, slots.JobSpec{Name: "reduces", MapsSealed: true, Reduces: total[1]})
	for i := range s.caps {
		l.Assign(time.Duration(i), slots.TrackerID(i))
	}
	if looked != len(s.caps) {
		t.Fatalf("looked %d times", looked)
	}
}

func TestAlgorithm1DecidesAsSpecified(t *testing.T) {
	one := func(runM, runR int32) [][2]int32 { return [][2]int32{{runM, runR}} }
	paper := [][2]int32{{90, 18}}
	for name, s := range map[string]state{
		"(a) only maps, too many for their slots: all 18 reduce slots may be borrowed": {
			caps: paper, run: one(90, 0), pendM: 230, pctM: slots.One, pctR: slots.One,
			wantDemand: [2]int32{320, 0}, wantScenario: MapBorrows, wantExtra: [2]int32{18, 0}},
		"(b) reduces borrow half of the map slots": {
			caps: paper, run: one(30, 18), pendR: 182, pctM: slots.One / 2, pctR: slots.One,
			wantDemand: [2]int32{30, 200}, wantScenario: ReduceBorrows, wantExtra: [2]int32{0, 45}},
		"(c) what is lent already counts against the allowance": {
			caps: paper, run: one(30, 50), pendR: 150, pctM: slots.One / 2, pctR: slots.One,
			wantDemand: [2]int32{62, 168}, wantScenario: ReduceBorrows, wantExtra: [2]int32{0, 13}, wantLent: [2]int32{32, 0}},
		"(d) both short: nothing is borrowed": {
			caps: paper, run: one(60, 40), pendM: 40, pendR: 100, pctM: slots.One, pctR: slots.One,
			wantDemand: [2]int32{122, 118}, wantScenario: Saturated, wantLent: [2]int32{22, 0}},
		"(e) a load factor of exactly 1 leaves nothing unused": {
			caps: paper, run: one(90, 18), pendR: 182, pctM: slots.One, pctR: slots.One,
			wantDemand: [2]int32{90, 200}, wantScenario: Saturated},
		"(f) everything is lent: the reduce slots are used": {
			caps: paper, run: one(108, 0), pendM: 212, pctM: slots.One, pctR: slots.One,
			wantDemand: [2]int32{302, 18}, wantScenario: Saturated, wantLent: [2]int32{0, 18}},
		"lent by tracker: with two trackers used minus running says 0 where 1 is lent": {
			caps: [][2]int32{{2, 1}, {2, 1}}, run: [][2]int32{{3, 0}, {0, 2}}, pendR: 5, pctM: slots.One / 4, pctR: slots.One,
			wantDemand: [2]int32{3, 7}, wantScenario: ReduceBorrows, wantExtra: [2]int32{0, 0}, wantLent: [2]int32{1, 1}},
		"borrow allowance: a quarter of 18 reduce slots is 4, whatever the trackers round up to": {
			caps: repeat([2]int32{10, 2}, 9), run: repeat([2]int32{10, 0}, 9), pendM: 100, pctM: slots.One, pctR: slots.One / 4,
			wantDemand: [2]int32{190, 0}, wantScenario: MapBorrows, wantExtra: [2]int32{4, 0}},
		"no reduce slots at all: reduces live on borrowed ones": {
			caps: [][2]int32{{4, 0}}, run: one(1, 0), pendR: 3, pctM: slots.One, pctR: slots.One,
			wantDemand: [2]int32{1, 3}, wantScenario: ReduceBorrows, wantExtra: [2]int32{0, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			s.view(t, func(v *slots.View) {
				p := NewPI(policy.Options{BorrowMap: s.pctM, BorrowReduce: s.pctR})
				p.Reset()
				p.Order.Update(v)
				scenario, _ := Algorithm1(p.Counts.Phases(v, slots.Map))
				demand := [2]int32{p.Counts.Phase(v, slots.Map).SlotsDemand(), p.Counts.Phase(v, slots.Reduce).SlotsDemand()}
				extra := [2]int32{p.extra(v, slots.Map), p.extra(v, slots.Reduce)}
				lent := [2]int32{v.LentBy(slots.Map), v.LentBy(slots.Reduce)}
				if demand != s.wantDemand || scenario != s.wantScenario || extra != s.wantExtra || lent != s.wantLent {
					t.Errorf("demand %v, %v, extra %v, lent %v; want %v, %v, %v, %v",
						demand, scenario, extra, lent, s.wantDemand, s.wantScenario, s.wantExtra, s.wantLent)
				}
			})
		})
	}
}

func repeat(c [2]int32, n int) (all [][2]int32) {
	for range n {
		all = append(all, c)
	}
	return all
}

func TestUpdatedLoadFactors(t *testing.T) {
	// (a) reduce load factor (0+18)/18 = 1; (b) map (30+45)/90 = .8333;
	// (c) (62+13)/90 = .8333. A tracker gives away the ceiling of it.
	for _, c := range []struct {
		name  string
		s     state
		kind  slots.Kind
		extra int32
		want  int32
	}{
		{"(a)", state{caps: [][2]int32{{90, 18}}, run: [][2]int32{{90, 0}}, pendM: 230}, slots.Reduce, 18, 18},
		{"(b)", state{caps: [][2]int32{{90, 18}}, run: [][2]int32{{30, 18}}, pendR: 182}, slots.Map, 45, 75 - 30},
		{"(c)", state{caps: [][2]int32{{90, 18}}, run: [][2]int32{{30, 50}}, pendR: 150}, slots.Map, 13, 75 - 62},
		{"borrow allowance: ceil(4/18 · 2) = 1 on each of nine trackers", state{caps: repeat([2]int32{10, 2}, 9), run: repeat([2]int32{10, 0}, 9), pendM: 100}, slots.Reduce, 4, 1},
	} {
		c.s.view(t, func(v *slots.View) {
			p := NewPI(policy.Options{})
			p.Reset()
			p.Order.Update(v)
			if got := p.available(v, c.kind, c.extra); got != c.want {
				t.Errorf("%s: %d available, want %d", c.name, got, c.want)
			}
		})
	}
}

// TestDemandsAddUp: map demand plus reduce demand is all pending and running tasks,
// however they are spread [DHFS13, "used slots"]. Lent counts are never below used
// minus running [DHFS13, "lent by tracker"].
func TestDemandsAddUp(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := state{pendM: rapid.Int32Range(0, 50).Draw(rt, "pendM"), pendR: rapid.Int32Range(0, 50).Draw(rt, "pendR")}
		var run [2]int32
		for range rapid.IntRange(2, 9).Draw(rt, "trackers") {
			c := [2]int32{rapid.Int32Range(1, 6).Draw(rt, "M"), rapid.Int32Range(0, 4).Draw(rt, "R")}
			m := rapid.Int32Range(0, c[0]+c[1]).Draw(rt, "runM")
			r := rapid.Int32Range(0, c[0]+c[1]-m).Draw(rt, "runR")
			s.caps, s.run = append(s.caps, c), append(s.run, [2]int32{m, r})
			run[0], run[1] = run[0]+m, run[1]+r
		}
		s.view(t, func(v *slots.View) {
			p := NewPI(policy.Options{})
			p.Reset()
			p.Order.Update(v)
			if sum := p.Counts.Phase(v, slots.Map).SlotsDemand() + p.Counts.Phase(v, slots.Reduce).SlotsDemand(); sum != s.pendM+s.pendR+run[0]+run[1] {
				rt.Fatalf("demands add up to %d, not to %d pending and %d running", sum, s.pendM+s.pendR, run[0]+run[1])
			}
			for k := range slots.Kind(2) {
				if v.LentBy(k) < v.Used(k)-v.Running(k) {
					rt.Fatalf("%v slots: %d lent, used %d, running %d", k, v.LentBy(k), v.Used(k), v.Running(k))
				}
			}
		})
	})
}
