package registry_test

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"mrlocal/internal/testkit"
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/dhfs"
	"mrlocal/slots/policy/policytest"
	"mrlocal/trace"
)

// naive is a policy that follows the text of an algorithm: it sorts all pools and scans
// all jobs before each single task.
type naive struct {
	name   string
	o      policy.Options
	decide func(n *naive, v *slots.View, d *slots.Decision)
	jobs   []slots.JobID
}

func (n *naive) Traits() slots.Traits {
	return slots.Traits{Name: n.name, Lends: n.name != "fair" && (n.o.BorrowMap > 0 || n.o.BorrowReduce > 0)}
}

func (n *naive) Reset() { n.jobs = nil }

// Decide finds every job by View.Changed, because each has changed when it was submitted.
func (n *naive) Decide(v *slots.View, d *slots.Decision) {
	n.jobs = append(n.jobs, v.Changed()...)
	slices.Sort(n.jobs)
	n.jobs = slices.Compact(n.jobs)
	n.decide(n, v, d)
}

func reference(name string, o policy.Options) slots.Policy {
	return &naive{name: name, o: o, decide: map[string]func(*naive, *slots.View, *slots.Decision){
		"fair": (*naive).fair, "pi-dhfs": (*naive).pi, "pi-fifo": (*naive).pi, "pd-dhfs": (*naive).pd,
	}[name]}
}

// capped is a pool's demand of a kind, and wants its pending part.
func capped(p slots.PoolView, k slots.Kind) int32 {
	d := p.Pending(k) + p.Running(k)
	if limit := p.Config().Max(k); limit > 0 {
		d = min(d, limit)
	}
	return d
}

func wants(p slots.PoolView, k slots.Kind) int32 {
	return max(0, min(p.Pending(k), capped(p, k)-p.Running(k)))
}

func (n *naive) sum(v *slots.View, k slots.Kind, of func(slots.PoolView, slots.Kind) int32) (sum int32) {
	if n.name == "pi-fifo" {
		return v.Pending(k)
	}
	for id := range slots.PoolID(v.Pools()) {
		sum += of(v.Pool(id), k)
	}
	return sum
}

// sorted are the pools by FairShareComparator, on the counts of one kind or of
// both together.
func sorted(v *slots.View, kinds ...slots.Kind) []slots.PoolID {
	var all []slots.PoolID
	for id := range slots.PoolID(v.Pools()) {
		all = append(all, id)
	}
	type standing struct{ running, least, weight int64 }
	of := func(id slots.PoolID) (s standing) {
		p, demand := v.Pool(id), int64(0)
		for _, k := range kinds {
			s.running += int64(p.Running(k))
			s.least += int64(p.Config().Min(k))
			demand += int64(capped(p, k))
		}
		s.least, s.weight = min(s.least, demand), int64(p.Config().Weight)
		return s
	}
	slices.SortFunc(all, func(i, j slots.PoolID) int {
		a, b := of(i), of(j)
		needyA, needyB := a.running < a.least, b.running < b.least
		byName := cmp.Compare(v.Pool(i).Config().Name, v.Pool(j).Config().Name)
		switch {
		case needyA && !needyB:
			return -1
		case needyB && !needyA:
			return 1
		case needyA:
			return cmp.Or(cmp.Compare(a.running*max(b.least, 1), b.running*max(a.least, 1)), byName)
		}
		return cmp.Or(cmp.Compare(a.running*b.weight, b.running*a.weight), byName)
	})
	return all
}

// jobsOf are the jobs with a pending task of kind k in order: of a pool, or of
// all pools by priority and submission.
func (n *naive) jobsOf(v *slots.View, p slots.PoolID, line bool, k slots.Kind) (all []slots.JobID) {
	for _, id := range n.jobs {
		if j := v.Job(id); (line || j.Pool() == p) && j.Pending(k) > 0 {
			all = append(all, id)
		}
	}
	fifo := line || v.Pool(p).Config().FIFO
	slices.SortFunc(all, func(x, y slots.JobID) int {
		a, b := v.Job(x), v.Job(y)
		first := cmp.Compare(b.Priority(), a.Priority())
		if !fifo {
			first = cmp.Compare(int64(a.Running(k))*int64(b.Weight()), int64(b.Running(k))*int64(a.Weight()))
		}
		return cmp.Or(first, cmp.Compare(a.Submitted(), b.Submitted()), cmp.Compare(x, y))
	})
	return all
}

// assignTask starts a task of a pool.
func (n *naive) assignTask(v *slots.View, d *slots.Decision, p slots.PoolID, k slots.Kind, r slots.Rule) bool {
	line := n.name == "pi-fifo"
	if !line && wants(v.Pool(p), k) == 0 {
		return false
	}
	for _, id := range n.jobsOf(v, p, line, k) {
		if d.Grant(slots.Grant{Slot: slots.NoSlot, Job: id, Kind: k, Task: slots.NoTask, Rule: r}) {
			return true
		}
	}
	return false
}

// anyPool starts a task of the first pool that yields one. RuleNone stands for
// the fair scheduler's two.
func (n *naive) anyPool(v *slots.View, d *slots.Decision, k slots.Kind, r slots.Rule) bool {
	for _, p := range sorted(v, k) {
		rule, pool := r, v.Pool(p)
		if rule == trace.RuleNone {
			rule = policy.RuleFairShare
			if pool.Running(k) < min(pool.Config().Min(k), capped(pool, k)) {
				rule = policy.RuleMinShare
			}
		}
		if n.assignTask(v, d, p, k, rule) {
			return true
		}
	}
	return false
}

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }

// fair is Hadoop 1.0.3, FairScheduler.assignTasks.
func (n *naive) fair(v *slots.View, d *slots.Decision) {
	t, rejected := v.Tracker(), [2]bool{}
	for {
		for k := range slots.Kind(2) {
			full := int32(0)
			if all := v.Capacity(k); all > 0 {
				own := int64(v.CapacityAt(t, k))
				full = int32(min(ceilDiv(int64(n.sum(v, k, capped))*own, int64(all)), own))
			}
			rejected[k] = rejected[k] || n.sum(v, k, wants) == 0 || v.FreeHome(t, k) == 0 || v.RunningAt(t, k) >= full
		}
		if rejected[0] && rejected[1] {
			return
		}
		k := slots.Reduce
		if !rejected[slots.Map] && (rejected[slots.Reduce] || v.RunningAt(t, slots.Map) <= v.RunningAt(t, slots.Reduce)) {
			k = slots.Map
		}
		rejected[k] = !n.anyPool(v, d, k, trace.RuleNone)
	}
}

// pi is [DHFS13, Alg. 1], with all quantities computed anew for each slot.
func (n *naive) pi(v *slots.View, d *slots.Decision) {
	for v.FreeAt(v.Tracker()) > 0 && n.piOnce(v, d) {
	}
}

func (n *naive) piOnce(v *slots.View, d *slots.Decision) bool {
	t, m, r := v.Tracker(), slots.Map, slots.Reduce
	mapSlotsDemand := n.sum(v, m, wants) + v.Used(m)
	reduceSlotsDemand := n.sum(v, r, wants) + v.Used(r)
	M, R := v.Capacity(m), v.Capacity(r)
	available := func(k slots.Kind, demand int32) int64 {
		if v.Capacity(k) == 0 {
			return 0
		}
		own := int64(v.CapacityAt(t, k))
		return min(ceilDiv(int64(demand)*own, int64(v.Capacity(k))), own) - int64(v.UsedAt(t, k))
	}
	stranded := v.Pending(m) > 0 && v.Running(m) == 0 // then the share of the load does not bind maps
	left := func(k slots.Kind) bool { return stranded && v.UsedAt(t, k) < v.CapacityAt(t, k) }
	if (available(m, mapSlotsDemand) > 0 || left(m)) && n.anyPool(v, d, m, dhfs.RuleOwnSlots) {
		return true
	}
	if available(r, reduceSlotsDemand) > 0 && n.anyPool(v, d, r, dhfs.RuleOwnSlots) {
		return true
	}
	switch {
	case mapSlotsDemand > M && reduceSlotsDemand < R:
		extra := min(max(n.o.BorrowReduce.Of(R)-v.LentBy(r), 0), mapSlotsDemand-M)
		return extra > 0 && (available(r, reduceSlotsDemand+extra) > 0 || left(r)) && n.anyPool(v, d, m, dhfs.RuleMapBorrows)
	case mapSlotsDemand < M && reduceSlotsDemand > R:
		extra := min(max(n.o.BorrowMap.Of(M)-v.LentBy(m), 0), reduceSlotsDemand-R)
		return extra > 0 && available(m, mapSlotsDemand+extra) > 0 && n.anyPool(v, d, r, dhfs.RuleReduceBorrows)
	}
	return false
}

// pd is [DHFS13, Alg. 2], line by line. Without a wait for local slots case 5 finds no
// map that cases 1 and 3 did not find.
func (n *naive) pd(v *slots.View, d *slots.Decision) {
	t, m, r := v.Tracker(), slots.Map, slots.Reduce
	trackerSlotsCapacity := int64(v.CapacityAt(t, m) + v.CapacityAt(t, r))
	for {
		totalSlotsDemand := int64(n.sum(v, m, capped) + n.sum(v, r, capped))
		current := min(ceilDiv(totalSlotsDemand*trackerSlotsCapacity, int64(v.Capacity(m)+v.Capacity(r))), trackerSlotsCapacity)
		foundTask := false
		over := int64(v.RunningAt(t, m)+v.RunningAt(t, r)) >= current
		stranded := v.Pending(m) > 0 && v.Running(m) == 0 // then the share of the load does not bind maps
		if over && !stranded || v.FreeAt(t) == 0 {
			return
		}
		for _, p := range sorted(v, m, r) {
			idleMap, idleReduce := v.RunningAt(t, m) < v.CapacityAt(t, m), v.RunningAt(t, r) < v.CapacityAt(t, r)
			lendReduce := v.LentBy(r) < n.o.BorrowReduce.Of(v.Capacity(r))
			lendMap := v.LentBy(m) < n.o.BorrowMap.Of(v.Capacity(m))
			if idleMap && n.assignTask(v, d, p, m, dhfs.RuleOwnSlots) ||
				!over && idleReduce && n.assignTask(v, d, p, r, dhfs.RuleOwnSlots) ||
				!idleMap && lendReduce && n.assignTask(v, d, p, m, dhfs.RuleMapBorrows) ||
				!over && !idleReduce && lendMap && n.assignTask(v, d, p, r, dhfs.RuleReduceBorrows) {
				foundTask = true
				break
			}
		}
		if !foundTask {
			return
		}
	}
}

// TestFastPoliciesDecideAsTheAlgorithmsSay: rankings that are kept up to date give the
// same decisions as sorting and scanning, on random workloads.
func TestFastPoliciesDecideAsTheAlgorithmsSay(t *testing.T) {
	testkit.Check(t, func(rt *rapid.T) {
		share := rapid.SampledFrom([]slots.PPM{0, slots.One / 3, slots.One / 2, slots.One, slots.One})
		o := policy.Options{BorrowMap: share.Draw(rt, "of maps"), BorrowReduce: share.Draw(rt, "of reduces")}
		c := slots.Config{
			Slots:     policytest.Typed(rapid.IntRange(1, 4).Draw(rt, "trackers"), rapid.IntRange(1, 5).Draw(rt, "map slots"), rapid.IntRange(1, 4).Draw(rt, "reduce slots")),
			Slowstart: share.Draw(rt, "slowstart"),
		}
		small := func(name string) int32 { return max(0, rapid.Int32Range(-3, 4).Draw(rt, name)) }
		for _, name := range []string{"a", "b", "c"} {
			c.Pools = append(c.Pools, slots.Pool{
				Name: name, Weight: rapid.SampledFrom([]slots.PPM{slots.One / 2, slots.One, 3 * slots.One}).Draw(rt, "weight"),
				MinMaps: small("min maps"), MinReduces: small("min reduces"), MaxMaps: small("max maps"), MaxReduces: small("max reduces"),
				FIFO: rapid.Bool().Draw(rt, "fifo"),
			})
		}
		jobs := policytest.DrawJobs(rt)
		for i := range jobs {
			jobs[i].Spec.Pool = rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(rt, "pool")
			jobs[i].Spec.Priority = slots.Priority(rapid.IntRange(-2, 2).Draw(rt, "priority"))
		}
		beat := time.Duration(rapid.IntRange(0, 2).Draw(rt, "heartbeat")) * time.Second
		for _, name := range []string{"fair", "pi-dhfs", "pd-dhfs", "pi-fifo"} {
			fast, want := events(rt, c, mustNew(t, name, o), jobs, beat), events(rt, c, reference(name, o), jobs, beat)
			for i := range want {
				if i >= len(fast) || fast[i] != want[i] {
					rt.Fatalf("%s: event %d is %s, want %s", name, i, line(fast, i), line(want, i))
				}
			}
			if len(fast) != len(want) {
				rt.Fatalf("%s: %d events, want %d", name, len(fast), len(want))
			}
		}
	})
}

// events returns the lines of the events of a run.
func events(t *rapid.T, c slots.Config, p slots.Policy, jobs []policytest.ScriptJob, beat time.Duration) (lines []string) {
	var log policytest.Log
	if _, err := policytest.Drive(c, p, jobs, policytest.Options{Heartbeat: beat, Sinks: []trace.Sink{&log}}); err != nil {
		t.Fatalf("%s: %v", p.Traits().Name, err)
	}
	for i := range log.Events {
		lines = append(lines, log.Line(&log.Events[i]))
	}
	return lines
}

func line(all []string, i int) string {
	if i >= len(all) {
		return "none"
	}
	return all[i]
}
