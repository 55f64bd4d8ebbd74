package policy

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"mrlocal/slots"
	"mrlocal/trace"
)

// scanner is fair slots with copies. On each visit it compares the jobs checked at several
// percentages.
type scanner struct {
	order Order
	jobs  int // submitted so far
	check func(v *slots.View, o *Order)
}

func (*scanner) Traits() slots.Traits { return slots.Traits{Name: "scanner", Uses: slots.PoolMax} }

func (*scanner) Reset() {}

func (s *scanner) Decide(v *slots.View, d *slots.Decision) {
	s.order.Begin(v)
	for k := range slots.Kind(trace.Kinds) {
		for v.RunningAt(v.Tracker(), k) < v.CapacityAt(v.Tracker(), k) && s.order.Grant(v, d, Offer{Kind: k}, nil) {
		}
	}
	s.check(v, &s.order)
	s.order.End(v, d, nil, nil)
}

// firstJobsPending is the rule as its sentence has it: sort all running jobs, take the
// first ceil(percentage * running), and add up what they have pending.
func firstJobsPending(v *slots.View, o *Order, jobs int, k slots.Kind, percentage slots.PPM) (n int32) {
	var running []slots.JobView
	for id := range slots.JobID(jobs) {
		if j := v.Job(id); j.Runnable() && !j.Ended() {
			running = append(running, j)
		}
	}
	slices.SortFunc(running, func(a, b slots.JobView) int {
		if a.Pool() != b.Pool() {
			x, y := o.poolKey(v, a.Pool(), k), o.poolKey(v, b.Pool(), k)
			return before(shareLess(&x, &y), shareLess(&y, &x), int64(a.Pool()), int64(b.Pool()))
		}
		x, y := o.jobKey(v, a, k), o.jobKey(v, b, k)
		return before(shareLess(&x, &y), shareLess(&y, &x), int64(a.ID()), int64(b.ID()))
	})
	inPool := map[slots.PoolID]int32{}
	for _, j := range running[:jobsChecked(percentage, int32(len(running)))] {
		inPool[j.Pool()] += j.Pending(k)
	}
	for pool, pending := range inPool {
		n += min(pending, demandOf(v.Pool(pool), k, 0).Pending)
	}
	return n
}

func before(less, more bool, a, b int64) int {
	switch {
	case less:
		return -1
	case more:
		return 1
	}
	return cmp.Compare(a, b)
}

// TestMoreJobsCheckedNeverLetMoreCopiesStart: a greater percentage finds at least as many
// pending tasks, so it allows no copy that a smaller one forbids. It counts the pending
// tasks of the first of all running jobs, also of jobs that have nothing to start
// [DynamicMR14, "sepb"].
func TestMoreJobsCheckedNeverLetMoreCopiesStart(t *testing.T) {
	levels := 0
	rapid.Check(t, func(rt *rapid.T) {
		jobs := rapid.IntRange(1, 12).Draw(rt, "jobs")
		s := &scanner{}
		some := [trace.Kinds]slots.PPM{slots.One / 2, slots.One / 2}
		s.order = NewOrder(slots.PerKind, Wait{})
		s.order.Copy(NewCopies(&Options{}, some, false, func(v *slots.View, k slots.Kind) int32 { return v.Capacity(k) - v.Running(k) }))
		s.check = func(v *slots.View, o *Order) {
			for k := range slots.Kind(trace.Kinds) {
				last, seen := int32(0), 0
				for _, p := range []slots.PPM{0, 1, slots.One / 20, slots.One / 10, slots.One / 5, slots.One / 3, slots.One / 2, slots.One * 9 / 10, slots.One} {
					o.copies.checked[k] = p
					n := o.pendingChecked(v, k, o.Pending(k)) // more would be known without a look
					o.copies.checked[k] = 1                   // the order stays known
					if n < last {
						rt.Fatalf("%v of the jobs have %d %vs pending, a smaller share %d", p, n, k, last)
					}
					if n > last {
						seen++
					}
					last = n
				}
				levels = max(levels, seen)
				for _, p := range []slots.PPM{slots.One / 10, slots.One / 3, slots.One / 2, slots.One} {
					want := firstJobsPending(v, o, s.jobs, k, p)
					o.copies.checked[k] = p
					for _, enough := range []int32{1, 3, want, want + 1} {
						if got := o.pendingChecked(v, k, enough); leavesSlots(got, enough) != leavesSlots(want, enough) {
							rt.Fatalf("%v of the jobs have %d %vs pending, want %d; %d would be enough", p, got, k, want, enough)
						}
					}
					o.copies.checked[k] = 1
				}
			}
		}
		drawLife(rt, s, jobs)
	})
	if levels < 3 && !testing.Short() { // the few draws of -short may have less
		t.Errorf("at most %d levels of pending tasks were seen", levels)
	}
}

// drawLife submits jobs and ends attempts at random, and visits trackers between.
func drawLife(rt *rapid.T, p *scanner, jobs int) {
	c := slots.Config{
		Slots:     slots.Layout{Trackers: 2, MapSlots: 4, ReduceSlots: 2}.Slots(),
		Slowstart: rapid.SampledFrom([]slots.PPM{0, slots.One}).Draw(rt, "slowstart"),
		Pools:     []slots.Pool{{Name: "a", MinMaps: 2, MaxMaps: 3}, {Name: "b", FIFO: true, MaxRunning: 2}},
	}
	l, err := slots.New(c, p)
	if err != nil {
		rt.Fatal(err)
	}
	var live []slots.AttemptID
	for now := time.Duration(1); now < 60; now++ {
		if p.jobs < jobs && rapid.Bool().Draw(rt, "submit") {
			p.jobs++
			l.Submit(now, slots.JobSpec{
				Pool: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "pool"), MapsSealed: true,
				Maps: int32(rapid.IntRange(0, 6).Draw(rt, "maps")), Reduces: int32(rapid.IntRange(0, 3).Draw(rt, "reduces")),
			})
		}
		if len(live) > 0 && rapid.Bool().Draw(rt, "end") {
			i := rapid.IntRange(0, len(live)-1).Draw(rt, "which")
			if a := live[i]; a.Kind == slots.Map || l.JobTimes(a.Job).MapsDone >= 0 {
				live = slices.Delete(live, i, i+1)
				l.Finish(now, a, slots.Outcome{OK: true})
			}
		}
		for _, s := range l.AssignAll(now).Starts {
			live = append(live, s.Attempt)
		}
	}
}
