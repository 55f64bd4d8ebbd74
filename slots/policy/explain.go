package policy

import (
	"fmt"
	"slices"
	"time"

	"mrlocal/slots"
	"mrlocal/slots/policy/dynamicmr"
	"mrlocal/slots/policy/settings"
	"mrlocal/trace"
)

// This file says why: the numbers of a grant in the papers' words, whom it beat,
// and why a visit starts nothing more of a kind. Nothing here is called, and
// nothing is built, unless someone listens (Decision.Explaining).

// why is what a grant to a job of a pool rests on.
func (o *order) why(v *slots.View, pool slots.PoolID, id slots.JobID, f offer) slots.Why {
	w := slots.Why{Numbers: f.numbers()}
	if o.shape != lineUp {
		w.Numbers = append(w.Numbers, o.standing(v, pool, f.kind)...)
	}
	w.Beaten = o.beatenPools(v, pool, f.kind)
	w.Beaten = append(w.Beaten, o.beatenJobs(v, pool, id, f.kind, slots.MostBeaten-len(w.Beaten))...)
	return w
}

// standing is where the winning pool stands: running tasks, weight, min share
// and fair share; under PD-DHFS of both kinds together.
func (o *order) standing(v *slots.View, id slots.PoolID, k slots.Kind) []slots.Number {
	c, key := v.Pool(id).Config(), o.poolKey(v, id, k)
	of := " of pool " + c.Name
	all := []slots.Number{
		{Name: "running tasks" + of, Num: key.running},
		{Name: "weight", Num: key.weight, Den: int64(slots.One)},
	}
	if key.minShare > 0 {
		all = append(all, slots.Number{Name: "min share", Num: key.minShare})
	}
	return append(all, named("fair share", o.fairShare(v, id, k)))
}

// fairShare is a pool's share by Shares, which no decision but preemption uses
// (A15).
func (o *order) fairShare(v *slots.View, id slots.PoolID, k slots.Kind) slots.Number {
	pools := make([]Demand, v.Pools())
	capacity := v.Capacity(k)
	for i := range pools {
		pools[i] = shareDemand(v.Pool(slots.PoolID(i)), k)
		if o.shape == together {
			other := shareDemand(v.Pool(slots.PoolID(i)), k.Other())
			pools[i].Demand += other.Demand
			pools[i].Min += other.Min
		}
	}
	if o.shape == together {
		capacity += v.Capacity(k.Other())
	}
	return waterLevel(pools, capacity).share(pools[id])
}

// beatenPools are the pools after the winner, in order; under PD-DHFS those with
// a task of either kind.
func (o *order) beatenPools(v *slots.View, winner slots.PoolID, k slots.Kind) (all []slots.Beaten) {
	if o.shape == lineUp {
		return nil
	}
	key := o.poolKey(v, winner, k)
	keyOf := func(id int32) shareKey { return o.poolKey(v, slots.PoolID(id), k) }
	ids := firsts(&o.pools[k], slots.MostBeaten+1, keyOf)
	if o.shape == together {
		ids = append(ids, firsts(&o.pools[k.Other()], slots.MostBeaten+1, keyOf)...)
		slices.SortFunc(ids, func(a, b int32) int { return byKey(keyOf(a), keyOf(b)) })
		ids = slices.Compact(ids)
	}
	for _, id := range ids {
		if id == int32(winner) || len(all) == slots.MostBeaten {
			continue
		}
		other := keyOf(id)
		if fairShareLess(&other, &key) {
			continue // it has no task that the tracker may run
		}
		all = append(all, slots.Beaten{Pool: slots.PoolID(id), Job: slots.NoJob, Why: against(&other, &key, "its name comes later")})
	}
	return all
}

// byKey is fairShareLess as slices.SortFunc has it; names make keys of pools
// differ.
func byKey(a, b shareKey) int {
	switch {
	case fairShareLess(&a, &b):
		return -1
	case fairShareLess(&b, &a):
		return 1
	}
	return 0
}

// beatenJobs are the jobs after the winner, in order: of its pool, or of all
// where there are no pools.
func (o *order) beatenJobs(v *slots.View, pool slots.PoolID, winner slots.JobID, k slots.Kind, most int) (all []slots.Beaten) {
	keyOf := func(n int32) shareKey { return o.jobKey(v, v.Job(o.members[pool][n]), k) }
	key := o.jobKey(v, v.Job(winner), k)
	for _, n := range firsts(&o.jobs[k][pool], most+1, keyOf) {
		id := o.members[pool][n]
		if id == winner || len(all) == most {
			continue
		}
		other := keyOf(n)
		all = append(all, slots.Beaten{Pool: v.Job(id).Pool(), Job: id, Why: against(&other, &key, "it was submitted later")})
	}
	return all
}

// firsts are the first n ids of a ranking, in order. They are taken out and put
// back: their order is total, so the ranking is as it was.
func firsts(r *slots.Ranking[shareKey], n int, keyOf func(id int32) shareKey) (ids []int32) {
	for range n {
		id, ok := r.First()
		if !ok {
			break
		}
		ids = append(ids, id)
		r.Remove(id)
	}
	for _, id := range ids {
		r.Set(id, keyOf(id))
	}
	return ids
}

// against says why a candidate comes after the winner, by what decided.
func against(other, winner *shareKey, tie string) string {
	switch {
	case other.rank != winner.rank:
		return "its priority is lower"
	case other.needy != winner.needy:
		return fmt.Sprintf("%d running, not below a min share, against %d of %d", other.running, winner.running, winner.minShare)
	case other.needy && other.running*max(winner.minShare, 1) != winner.running*max(other.minShare, 1):
		return fmt.Sprintf("%d running of a min share of %d against %d of %d", other.running, other.minShare, winner.running, winner.minShare)
	case !other.needy && other.running*winner.weight != winner.running*other.weight:
		return fmt.Sprintf("%d running / weight %v against %d / %v", other.running, slots.PPM(other.weight), winner.running, slots.PPM(winner.weight))
	case other.submitted != winner.submitted:
		return "it was submitted later"
	}
	return "equal, but " + tie
}

// demandName and loadName are the papers' names.
func demandName(k slots.Kind) string { return k.String() + "SlotsDemand" }
func loadName(k slots.Kind) string   { return k.String() + " load factor" }

// loads are line 1 of Algorithm 1: demands and load factors of both kinds.
func (p *PIDHFS) loads(v *slots.View) (all []slots.Number) {
	for k := range slots.Kind(trace.Kinds) {
		demand := int64(p.slotsDemand(v, k))
		all = append(all, slots.Number{Name: demandName(k), Num: demand}, ratio(loadName(k), demand, capacity(v, k)))
	}
	return append(all, roomNumbers(v)...)
}

// roomNumbers are about slot weights, where there are any: then demands are in
// weight.
func roomNumbers(v *slots.View) []slots.Number {
	if !v.Weights().Bound() {
		return nil
	}
	t := v.Tracker()
	return []slots.Number{{Name: fmt.Sprintf("weight that tracker %d has room for", t), Num: int64(v.RoomAt(t))}}
}

// noRoom is why a task of kind k does not fit in the visited tracker's weight; ""
// where it does.
func noRoom(v *slots.View, k slots.Kind) string {
	w, room := v.Weights(), v.RoomAt(v.Tracker())
	if !w.Bound() || room >= w.Of(k) {
		return ""
	}
	return fmt.Sprintf("the tracker has room for a weight of %d, and a %v weighs %d", room, k, w.Of(k))
}

// ratio is a number of which the whole may be nothing.
func ratio(name string, part int64, whole int32) slots.Number {
	return slots.Number{Name: name, Num: part, Den: int64(whole)}
}

func (p *PIDHFS) ownNumbers(v *slots.View, k slots.Kind) []slots.Number {
	t := v.Tracker()
	return append(p.loads(v), slots.Number{Name: fmt.Sprintf("available %v slots of tracker %d", k, t), Num: int64(p.available(v, t, k, 0))})
}

func (p *PIDHFS) borrowNumbers(v *slots.View, k slots.Kind, extra int32) []slots.Number {
	t, other := v.Tracker(), k.Other()
	return append(p.loads(v),
		slots.Number{Name: fmt.Sprintf("extra %s", demandName(k)), Num: int64(extra)},
		ratio("updated "+loadName(other), int64(p.slotsDemand(v, other)+extra), capacity(v, other)),
		slots.Number{Name: fmt.Sprintf("%v slots that may still be lent", other), Num: int64(allowanceLeft(p.options, v, other))},
		slots.Number{Name: fmt.Sprintf("available %v slots of tracker %d", other, t), Num: int64(p.available(v, t, other, extra))})
}

// copyNumbers are what LATE looks at.
func copyNumbers(v *slots.View, c *dynamicmr.Candidate) []slots.Number {
	return []slots.Number{
		seconds("time left of the running attempt", c.Left), seconds("its time in all", c.Total),
		seconds("what the slowest quarter takes at least", c.Slowest), seconds("what is usual", c.Usual),
	}
}

func seconds(name string, t time.Duration) slots.Number {
	return slots.Number{Name: name + ", in s", Num: int64(t / time.Microsecond), Den: int64(slots.One)}
}

// decline ends a visit: why nothing more of each kind is started.
func (p *PIDHFS) decline(v *slots.View, d *slots.Decision) {
	for k := range slots.Kind(trace.Kinds) {
		reason := p.order.stopped(v, k)
		if reason == "" {
			reason = p.whyNoSlot(v, k)
		}
		d.Decline(k, reason, p.loads(v)...)
	}
}

// whyNoSlot: something may start, but Algorithm 1 has no slot for it here. What
// holds for the whole cluster is said first: where nothing can be granted
// anywhere, one tracker's visit speaks for all.
func (p *PIDHFS) whyNoSlot(v *slots.View, k slots.Kind) string {
	t, other := v.Tracker(), k.Other()
	switch {
	case v.FreeAt(t) > 0 && p.idleAt(v, k) >= v.Weights().Of(k) && p.available(v, t, k, 0) <= 0:
		return "the tracker's share of the load is used up"
	case p.unused(v, other) == 0:
		return fmt.Sprintf("%s %s: no slot is unused", loadName(other), ratio("", int64(p.slotsDemand(v, other)), capacity(v, other)).Value())
	case noRoom(v, k) != "":
		return noRoom(v, k)
	case p.slotsDemand(v, k) <= capacity(v, k):
		return fmt.Sprintf("%s is at most 1: the %v slots of other trackers are enough", loadName(k), k)
	case !p.lendable(v, other):
		return allLent(v, p.options, other)
	case v.FreeAt(t) == 0:
		return "no slot of the tracker is free"
	}
	return "the tracker's share of the load is used up"
}

func allLent(v *slots.View, o settings.Options, k slots.Kind) string {
	allowed := percentage(o, k).Of(v.Capacity(k))
	if allowed == 0 {
		return fmt.Sprintf("no %v slot may be lent", k)
	}
	if allowed == 1 {
		return fmt.Sprintf("the one %v slot that may be lent is lent", k)
	}
	return fmt.Sprintf("all %d %v slots that may be lent are lent", allowed, k)
}

// stopped is why nothing of kind k may start whatever slots there are; "" where
// something may.
func (o *order) stopped(v *slots.View, k slots.Kind) string {
	switch {
	case v.Pending(k) == 0:
		return fmt.Sprintf("no %v is pending", k)
	case o.total[k].startable == 0:
		return fmt.Sprintf("every pool with a pending %v is at its limit", k)
	case o.pools[k].Len() > 0:
		return ""
	}
	for _, t := range o.out { // all that could start was refused; the first says why
		if t.kind == k {
			return refusedBecause(t.why, k)
		}
	}
	return ""
}

func refusedBecause(r slots.Refusal, k slots.Kind) string {
	switch r {
	case slots.RefusedLocality:
		return "what is pending is kept back for locality"
	case slots.RefusedDeadlock:
		return "a slot must stay for the maps that the pending reduces wait for"
	case slots.RefusedWeight:
		return fmt.Sprintf("the tracker's weight has no room for a %v", k)
	case slots.RefusedFailedHere, slots.RefusedBlacklisted:
		return fmt.Sprintf("the pending %vs failed on this tracker", k)
	}
	return "refused: " + r.String()
}

// numbers are what a case of Algorithm 2 rests on.
func (p *PDDHFS) numbers(v *slots.View, pool slots.PoolID, k slots.Kind) []slots.Number {
	t, other := v.Tracker(), k.Other()
	all := []slots.Number{
		{Name: "totalSlotsDemand", Num: int64(p.totalDemand())},
		{Name: "trackerRunningTasksNum", Num: int64(runningTasks(v, t))},
		{Name: "trackerCurrentSlotsCapacity", Num: int64(p.currentSlotsCapacity(v, t))},
		ratio(fmt.Sprintf("running %vs per %v slot of the tracker", k, k), int64(v.RunningAt(t, k)), v.CapacityAt(t, k)),
	}
	all = append(all, roomNumbers(v)...)
	if !p.ownSlot(v, k) {
		all = append(all, slots.Number{Name: fmt.Sprintf("%v slots that may still be lent", other), Num: int64(allowanceLeft(p.options, v, other))})
	}
	for each := range slots.Kind(trace.Kinds) {
		all = append(all, slots.Number{Name: demandName(each) + " of the pool", Num: int64(poolDemand(v.Pool(pool), each, 0).all)})
	}
	return all
}

// decline ends a visit: why nothing more of each kind is started.
func (p *PDDHFS) decline(v *slots.View, d *slots.Decision) {
	t := v.Tracker()
	for k := range slots.Kind(trace.Kinds) {
		reason := p.order.stopped(v, k)
		switch {
		case reason != "":
		case v.FreeAt(t) > 0 && !p.withinShare(v, t):
			reason = "the tracker's share of the load is used up"
		case noRoom(v, k) != "":
			reason = noRoom(v, k)
		case !p.lendable(v, k.Other()): // first, as in whyNoSlot
			reason = allLent(v, p.options, k.Other())
		default:
			reason = "no slot of the tracker is free"
		}
		d.Decline(k, reason,
			slots.Number{Name: "totalSlotsDemand", Num: int64(p.totalDemand())},
			slots.Number{Name: "trackerRunningTasksNum", Num: int64(runningTasks(v, t))},
			slots.Number{Name: "trackerCurrentSlotsCapacity", Num: int64(p.currentSlotsCapacity(v, t))})
	}
}

// loadNumbers are what the load manager of Fair looks at.
func (f *Fair) loadNumbers(v *slots.View, t slots.TrackerID, k slots.Kind) []slots.Number {
	return []slots.Number{
		{Name: fmt.Sprintf("%v demand", k), Num: int64(f.order.total[k].all)},
		ratio(loadName(k), int64(f.order.total[k].all), v.Capacity(k)),
		{Name: fmt.Sprintf("%v slots that tracker %d may use", k, t), Num: int64(f.loadCap(v, t, k))},
		{Name: fmt.Sprintf("%vs that run there", k), Num: int64(v.RunningAt(t, k))},
	}
}

// decline says why Fair starts nothing more of kind k on this visit.
func (f *Fair) decline(v *slots.View, d *slots.Decision, k slots.Kind) {
	t := v.Tracker()
	reason := f.order.stopped(v, k)
	switch {
	case reason != "":
	case v.FreeHome(t, k) == 0:
		reason = fmt.Sprintf("no %v slot of the tracker is free", k)
	default:
		reason = "the tracker's share of the load is used up"
	}
	d.Decline(k, reason, f.loadNumbers(v, t, k)...)
}
