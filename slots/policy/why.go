package policy

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"time"

	"mrlocal/slots"
	"mrlocal/trace"
)

// This file explains decisions in the papers' words. It has the numbers that a grant depends on,
// the candidates that were not chosen, and the reasons why a visit starts nothing more. Policies
// call it only while explanations are on (Decision.Explaining).

// why returns the reasons of a grant to job id of a pool. numbers are those of the rule.
func (o *Order) why(v *slots.View, pool slots.PoolID, id slots.JobID, k slots.Kind, numbers Numbers) slots.Why {
	o.rerank(v, k.Other()) // beatenPools reads both kinds
	w := slots.Why{Numbers: append(numbers(pool), roomNumbers(v)...)}
	if o.sharing != slots.NoShares {
		w.Numbers = append(w.Numbers, o.standing(v, pool, k)...)
	}
	w.Beaten = o.beatenPools(v, pool, k)
	w.Beaten = append(w.Beaten, o.beatenJobs(v, pool, id, k, slots.MostBeaten-len(w.Beaten))...)
	return w
}

// roomNumbers returns the weight that the visited tracker has room for, or nil without slot
// weights.
func roomNumbers(v *slots.View) []slots.Number {
	if !v.Weights().Bound() {
		return nil
	}
	return []slots.Number{slots.Whole(fmt.Sprintf("weight that tracker %d has room for", v.Tracker()), v.RoomAt(v.Tracker()))}
}

// standing returns the numbers of a pool's place in the order: running tasks, weight, min
// share and fair share. They are of kind k, or with Together of both kinds.
func (o *Order) standing(v *slots.View, id slots.PoolID, k slots.Kind) []slots.Number {
	c, key := v.Pool(id).Config(), o.poolKey(v, id, k)
	all := []slots.Number{
		{Name: "running tasks of pool " + c.Name, Num: key.running},
		{Name: "weight", Num: key.weight, Den: int64(slots.One)},
	}
	if key.minShare > 0 {
		all = append(all, slots.Number{Name: "min share", Num: key.minShare})
	}
	share := o.fairShare(v, id, k)
	share.Name = "fair share"
	return append(all, share)
}

// fairShare returns a pool's share by Level, for explanations. Preemption is the only
// decision that depends on such shares [DHFS13, "shares for display"].
func (o *Order) fairShare(v *slots.View, id slots.PoolID, k slots.Kind) slots.Number {
	var pools [trace.Kinds][]ShareDemand
	for i := range v.Pools() {
		for k := range slots.Kind(trace.Kinds) {
			pools[k] = append(pools[k], ShareDemandOf(v.Pool(slots.PoolID(i)), k))
		}
	}
	capacity := [trace.Kinds]int32{v.Capacity(slots.Map), v.Capacity(slots.Reduce)}
	if o.sharing == slots.Together {
		pools[k], capacity[k] = BothKinds(pools, capacity)
	}
	return LevelOf(pools[k], capacity[k]).Share(pools[k][id])
}

// beatenPools returns the pools after the winner, in order, at most slots.MostBeaten. With
// Together it includes pools that have only a task of the other kind.
func (o *Order) beatenPools(v *slots.View, winner slots.PoolID, k slots.Kind) (all []slots.Beaten) {
	if o.sharing == slots.NoShares {
		return nil
	}
	key := o.poolKey(v, winner, k)
	keyOf := func(id int32) *shareKey { return new(o.poolKey(v, slots.PoolID(id), k)) }
	ids := o.pools[k].Firsts(nil, slots.MostBeaten+1)
	if o.sharing == slots.Together {
		ids = o.pools[k.Other()].Firsts(ids, slots.MostBeaten+1)
		sort.Slice(ids, func(i, j int) bool { return shareLess(keyOf(ids[i]), keyOf(ids[j])) })
		ids = slices.Compact(ids)
	}
	for _, id := range ids {
		if id == int32(winner) || len(all) == slots.MostBeaten {
			continue
		}
		other := keyOf(id)
		if shareLess(other, &key) {
			continue // it has no task that the tracker may run
		}
		all = append(all, slots.Beaten{Pool: slots.PoolID(id), Job: slots.NoJob, Why: against(other, &key, "its name comes later")})
	}
	return all
}

// beatenJobs returns up to most jobs after the winner, in order: of its pool, or with NoShares
// of all jobs.
func (o *Order) beatenJobs(v *slots.View, pool slots.PoolID, winner slots.JobID, k slots.Kind, most int) (all []slots.Beaten) {
	key := o.jobKey(v, v.Job(winner), k)
	for _, n := range o.jobs[k][pool].Firsts(nil, most+1) {
		id := o.members[pool][n]
		if id == winner || len(all) == most {
			continue
		}
		other := o.jobKey(v, v.Job(id), k)
		all = append(all, slots.Beaten{Pool: v.Job(id).Pool(), Job: id, Why: against(&other, &key, "it was submitted later")})
	}
	return all
}

// against returns in words why a candidate comes after the winner: the first part of the key
// in which they differ. tie is the reason if all parts but the last are equal.
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

// stopped returns in words why no task of kind k may start, whatever slots are free, or "" if
// one may.
func (o *Order) stopped(v *slots.View, k slots.Kind) string {
	switch {
	case v.Pending(k) == 0:
		return NoTask(v, k)
	case o.Demand(v, k).Startable == 0:
		return fmt.Sprintf("every pool with a pending %v is at its limit", k)
	case o.pools[k].Len() > 0:
		return ""
	}
	return refusedBecause(o.skipped, k) // every job that had a task was refused
}

// LoadUsedUp is the reason if an even load leaves no slot to the visited tracker.
const LoadUsedUp = "the tracker's share of the load is used up"

// NoTask returns in words that no task of kind k is pending, or "" if one is.
func NoTask(v *slots.View, k slots.Kind) string {
	return If(v.Pending(k) == 0, fmt.Sprintf("no %v is pending", k))
}

// NoTaskOrSlot is NoTask, or says that no home slot of the kind is free on the visited tracker.
func NoTaskOrSlot(v *slots.View, k slots.Kind) string {
	return cmp.Or(NoTask(v, k), If(v.FreeHome(v.Tracker(), k) == 0, fmt.Sprintf("no %v slot of the tracker is free", k)))
}

// If returns the reason if it holds, else "".
func If(holds bool, reason string) string {
	if !holds {
		return ""
	}
	return reason
}

// refusedBecause returns in words why the Ledger refused the first of the skipped tasks of kind k, or
// "" if it refused none. The words fit Decision.Decline.
func refusedBecause(all []skipped, k slots.Kind) string {
	i := slices.IndexFunc(all, func(s skipped) bool { return s.kind == k && s.why != slots.Granted })
	if i < 0 {
		return ""
	}
	switch all[i].why {
	case slots.RefusedLocality:
		return "the pending tasks wait for a slot near their input"
	case slots.RefusedDeadlock:
		return "a slot must stay for the maps that the pending reduces wait for"
	case slots.RefusedWeight:
		return fmt.Sprintf("the tracker's weight has no room for a %v", k)
	case slots.RefusedFailedHere, slots.RefusedBlacklisted:
		return fmt.Sprintf("the pending %vs failed on this tracker", k)
	}
	return "refused: " + all[i].why.String()
}

// Ratio returns part ÷ whole as a Number with that name. whole may be 0.
func Ratio(name string, part int64, whole int32) slots.Number {
	return slots.Number{Name: name, Num: part, Den: int64(whole)}
}

// LoadName returns the papers' name for the demand of a kind divided by its slots, as
// "map load factor".
func LoadName(k slots.Kind) string { return k.String() + " load factor" }

// copyNumbers returns the numbers by which LATE, or Hadoop's own rule, has chosen a candidate.
func copyNumbers(c *candidate) []slots.Number {
	if c.Average > 0 {
		return []slots.Number{
			{Name: "average progress of its kind in its job", Num: int64(c.Average / slots.ProgressUnit), Den: int64(slots.One)},
			{Name: "its progress", Num: int64(c.Progress / slots.ProgressUnit), Den: int64(slots.One)},
		}
	}
	return []slots.Number{
		seconds("time left of the running attempt", c.Left), seconds("its time in all", c.Total),
		seconds("what the slowest quarter takes at least", c.Slowest), seconds("what is usual", c.Usual),
	}
}

// seconds returns a time as a Number in seconds.
func seconds(name string, t time.Duration) slots.Number {
	return slots.Number{Name: name + ", in s", Num: int64(t / time.Microsecond), Den: int64(slots.One)}
}
