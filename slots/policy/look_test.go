package policy

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"mrlocal/slots"
	"mrlocal/trace"
)

// looker starts whatever may start, and looks for tasks that are worth a copy on each visit. It
// copies the first of them.
type looker struct {
	*speculation
	t     *testing.T
	draw  *rand.Rand
	found int // candidates so far
}

func (*looker) Traits() slots.Traits { return slots.Traits{Name: "looker"} }
func (*looker) Reset()               {}

func (p *looker) Observe(f slots.Fact) { p.speculation.Observe(&f) }

func (p *looker) Decide(v *slots.View, d *slots.Decision) {
	for _, id := range v.Changed() {
		p.speculation.Changed(v.Now(), v.Job(id))
	}
	p.look(v)
	p.compare(v)
	for k := range slots.Kind(trace.Kinds) {
		for id := range slots.JobID(2) {
			free := func() bool { return v.RunningAt(v.Tracker(), k) < v.CapacityAt(v.Tracker(), k) && !v.Job(id).Ended() }
			for free() && v.Job(id).Pending(k) > 0 && d.Grant(slots.Grant{Slot: slots.NoSlot, Job: id, Kind: k, Task: slots.NoTask}) {
				p.Started(v, d.Started())
			}
			if c, ok := p.pick(v, id, k); ok && free() && p.draw.IntN(3) == 0 &&
				d.Grant(slots.Grant{Slot: slots.NoSlot, Job: id, Kind: k, Task: c.Attempt.Task, Speculative: true}) {
				p.Started(v, d.Started())
			}
		}
	}
}

// compare compares the candidates of a look with those of the rule as the paper has it: all
// attempts are judged, one after the other, by all finished and running ones.
func (p *looker) compare(v *slots.View) {
	var running []slots.SlotView
	copied := map[slots.AttemptID]bool{}
	progress := append(make([]int64, 0, v.Trackers()), p.done...)
	for len(progress) < v.Trackers() {
		progress = append(progress, 0)
	}
	for id := range slots.SlotID(v.Slots()) {
		r := v.Slot(id)
		if !r.Busy {
			continue
		}
		done, _ := v.Progress(id)
		progress[r.Tracker] += int64(done)
		if r.Speculative {
			copied[of(r.Attempt)] = true
		}
		if !r.Killing {
			running = append(running, r)
		}
	}
	var want []candidate
	for _, r := range running {
		if c, ok := p.judged(v, r, running); ok && !copied[of(r.Attempt)] {
			want = append(want, c)
		}
	}
	slices.SortStableFunc(want, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.Left, a.Left), cmp.Compare(a.Attempt.Job, b.Attempt.Job), cmp.Compare(a.Attempt.Kind, b.Attempt.Kind))
	})
	most := int(mostCopies(v.Capacity(slots.Map)+v.Capacity(slots.Reduce))) - len(copied)
	want = want[:min(len(want), max(most, 0))]
	if !slices.Equal(p.list, want) {
		p.t.Fatalf("at %v: candidates %+v, want %+v", v.Now(), p.list, want)
	}
	p.found += len(want)
	for _, m := range p.jobs {
		for k := range trace.Kinds {
			if m != nil && len(m.kinds[k].running) > 2*v.Slots()+8 {
				p.t.Fatalf("at %v: %d attempts are kept for %d slots", v.Now(), len(m.kinds[k].running), v.Slots())
			}
		}
	}
	var count [trace.Kinds]int32
	for _, c := range want {
		count[c.Attempt.Kind]++
	}
	if p.worth != count {
		p.t.Fatalf("at %v: %v candidates are counted, want %v", v.Now(), p.worth, count)
	}
	var open []int64 // of trackers that are not lost
	for t := range slots.TrackerID(v.Trackers()) {
		if v.CapacityAt(t, slots.Map) > 0 {
			open = append(open, progress[t])
		}
	}
	if slow := slowNodeBelow(open); len(want) > 0 && (p.slow != slow || !slices.Equal(p.progress, progress)) {
		p.t.Fatalf("at %v: trackers below %d of %v are slow, want %d of %v", v.Now(), p.slow, p.progress, slow, progress)
	}
}

// judged returns the attempt on a slot as a candidate, and whether it is one if it has no copy.
func (p *looker) judged(v *slots.View, r slots.SlotView, running []slots.SlotView) (candidate, bool) {
	m, kind := p.of(r.Attempt.Job), r.Attempt.Kind
	k := &m.kinds[kind]
	if !enough(k.ended, k.tasks) || kind == slots.Reduce && m.mapsDone < 0 {
		return candidate{}, false
	}
	times := slices.Sorted(slices.Values(k.times))
	usual := times[len(times)/2]
	rate := func(o slots.SlotView) (elapsed time.Duration, done slots.Progress, ok bool) {
		done, known := v.Progress(o.ID)
		elapsed = v.Now() - m.since(kind, o.Started)
		return elapsed, done, known && elapsed >= leastTime(usual, p.least)
	}
	totals := slices.Clone(k.times)
	for _, o := range running {
		if elapsed, done, ok := rate(o); ok && o.Attempt.Job == r.Attempt.Job && o.Attempt.Kind == kind {
			totals = append(totals, total(elapsed, done))
		}
	}
	slowest := slices.Sorted(slices.Values(totals))[len(totals)-slowOf(len(totals))]
	elapsed, done, ok := rate(r)
	c := candidate{Attempt: r.Attempt, Tracker: r.Tracker, Total: total(elapsed, done), Left: timeLeft(elapsed, done), Usual: usual, Slowest: slowest}
	return c, ok && c.Total >= slowest && pays(c.Left, usual)
}

// TestALookFindsWhatTheRuleSays in random lives of two jobs, with copies, kills of attempts that
// lose to them, lost trackers and more finished tasks than count.
func TestALookFindsWhatTheRuleSays(t *testing.T) {
	draw := rand.New(rand.NewPCG(32, 1))
	found := 0
	for range 40 {
		p := &looker{speculation: newSpeculation(&Options{CopyAfter: time.Duration(1 + draw.IntN(5))}), t: t, draw: draw}
		l, err := slots.New(slots.Config{Slots: slots.Layout{Trackers: 5, MapSlots: 8, ReduceSlots: 3}.Slots()}, p)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			l.Submit(0, slots.JobSpec{Maps: int32(20 + draw.IntN(150)), MapsSealed: true, Reduces: int32(draw.IntN(20))})
		}
		speed := map[slots.AttemptID]int64{}
		began := map[slots.AttemptID]time.Duration{}
		var live []slots.Start
		for now := time.Duration(1); now < 150; now++ {
			live = slices.DeleteFunc(live, func(o slots.Start) bool {
				a := o.Attempt
				done := slots.Progress(int64(now-began[a]) * speed[a])
				switch {
				case done < slots.AllDone:
					l.Progress(now, o.Slot, a, done)
				case draw.IntN(2) == 0:
					l.Finish(now, a, slots.Outcome{OK: true})
					return true
				}
				return false
			})
			if now == 40 && draw.IntN(3) == 0 {
				l.LostTracker(now, slots.TrackerID(draw.IntN(5)))
			}
			o := l.AssignAll(now)
			for _, s := range o.Starts {
				live = append(live, s)
				began[s.Attempt], speed[s.Attempt] = now, int64(slots.AllDone)/int64(2+draw.IntN(6)+draw.IntN(4)*draw.IntN(20))
			}
			for _, a := range o.Kills { // some end later
				if draw.IntN(2) == 0 {
					l.Finish(now, a, slots.Outcome{Killed: true})
					live = slices.DeleteFunc(live, func(b slots.Start) bool { return a == b.Attempt })
				}
			}
		}
		found += p.found
	}
	if found < 2000 {
		t.Errorf("only %d candidates were found", found)
	}
	t.Logf("%d candidates", found)
}

// TestTakesIsTotalWithoutADivision, also where the total does not fit into 64 bits.
func TestTakesIsTotalWithoutADivision(t *testing.T) {
	draw := rand.New(rand.NewPCG(32, 2))
	for range 20_000 {
		elapsed, score := time.Duration(draw.Int64N(1<<draw.IntN(62)+1)), slots.Progress(draw.Int64N(int64(slots.AllDone)+1)>>draw.IntN(31))
		all := total(elapsed, score)
		for _, at := range []time.Duration{all - 1, all, time.Duration(draw.Int64N(1 << 62))} {
			if at = max(at, 0); takes(elapsed, score, at) != (all >= at) {
				t.Fatalf("%d at %d: total %d, at least %d: %v", elapsed, score, all, at, takes(elapsed, score, at))
			}
		}
		if all < 1<<63-1 && takes(elapsed, score, all+1) {
			t.Fatalf("%d at %d takes more than %d", elapsed, score, all)
		}
	}
}
