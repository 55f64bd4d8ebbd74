// Package dynsplit is Dynamic Split. It divides slots between maps and reduces by how far each
// job's maps are. It also makes tasks that use different resources overlap.
//
// Paper: Wang, Zhang, Liao, Zha: Dynamic Split Model of Resource Utilization in
// MapReduce, DataCloud-SC 2011, of which we have the slides [Split11]; its page is
// docs/papers/split11.md.
//
// Dynamic resource allocation is split.go and shares.go. Each job has a share of all
// home slots by its weight, which is divided between its maps and its reduces by w_m and
// w_r. A free slot goes to the kind of a job that is farthest below its share. The slot
// changes its home kind (slots.Grant.Rehome), so it is not lent. The shares alone decide when
// reduces start: the slowstart is 0.
//
// The resource usage pipeline is in shares.go. A map in its I/O period opens an
// additional map slot. Reduces are bounded in total, in copy, and in sort and compute.
// The pipeline depends on the changes of phase that the Ledger reports (Observe). Its third
// part, the kvbuffer that grows, is in package spill.
//
// As in the Hadoop that the paper changed, a heartbeat starts one task. With heartbeat
// 0 trackers are visited in turn until nothing is left to start.
//
// Memory: a policy owns about 100 bytes per job.
package dynsplit

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/trace"
)

// Split is the policy dynsplit.
//
// Shares depend on all jobs. They are computed again when an eighth of the jobs have
// changed. So the cost of a decision does not grow with the number of jobs. Until then a
// job that changes is ranked by its old share.
type Split struct {
	options policy.Options

	jobs    []splitJob    // by id
	live    []slots.JobID // running jobs, and those that ended since the last allocation
	wants   []want        // by index in live; scratch of allocate
	shares  []share       // by index in live; scratch of allocate
	totals  share         // R_M, R_R
	changes int           // number of changes of jobs since the last allocation
	at      time.Duration // of the last allocation

	ranks [trace.Kinds]slots.Ranking[float64] // jobs whose kind may start a task, by how far it is below its share
	early slots.Ranking[float64]              // jobs whose reduces may start although their maps are not all done
	skips policy.Skips

	moved []slots.SlotID // slots whose attempt changed phase or ended since the last visit
}

// splitJob is the state of a job that the View does not have.
type splitJob struct {
	active       bool    // it is admitted and has not ended
	finished     int32   // number of finished maps of reduceWeight
	maps         int32   // number of maps of reduceWeight; -1: not computed yet
	reduceWeight float64 // w_r
	share        share
	carried      share              // remainders of earlier allocations
	ran          [trace.Kinds]int32 // running tasks when it was ranked last
	below        share              // the keys in the rankings
}

var _ policy.Phased = (*Split)(nil)

// New returns the policy dynsplit.
func New(o policy.Options) *Split { return &Split{options: o} }

// The rules of the policy.
const (
	ruleSplit      slots.Rule = "dynamic-split"
	ruleAdditional slots.Rule = "additional-map" // the tracker has no free normal slot
)

// Traits implements slots.Policy. Lends is set because any slot can change its home kind,
// although no slot is lent. w_r replaces the slowstart [Split11, "no slowstart"].
func (s *Split) Traits() slots.Traits {
	return slots.Traits{Name: "dynsplit", Uses: slots.JobWeight | slots.JobPriority, Lends: true, OwnSlowstart: true, Options: s.options, Rules: map[slots.Rule]string{
		ruleSplit:      "of the maps and reduces of all jobs, these are farthest below their share. As a job's maps finish, its share goes from maps to reduces (w_m, w_r)",
		ruleAdditional: "a map of the tracker is in its I/O period and leaves the CPU to others. So one more map may run than the tracker has slots (resource usage pipeline)",
	}}
}

// Reset implements slots.Policy.
func (s *Split) Reset() {
	*s = Split{options: s.options}
	for _, r := range []*slots.Ranking[float64]{&s.ranks[slots.Map], &s.ranks[slots.Reduce], &s.early} {
		r.Less = func(a, b *float64) bool { return *a > *b }
	}
}

// Decide is one heartbeat, which starts one task.
func (s *Split) Decide(v *slots.View, d *slots.Decision) {
	s.pipeline(v, d)
	s.update(v)
	started := v.FreeAt(v.Tracker()) > 0 && s.start(v, d)
	if d.WantsReason() {
		s.decline(v, d, started)
	}
	s.skips.End(func(id slots.JobID) { s.rank(v.Job(id)) })
}

// NextVisit implements slots.Selective. It returns -1 if no kind of any job may start.
func (s *Split) NextVisit(v *slots.View, t slots.TrackerID) slots.TrackerID {
	if s.update(v); s.ranks[slots.Map].Len() == 0 && s.ranks[slots.Reduce].Len() == 0 && s.early.Len() == 0 {
		return -1
	}
	return t
}

// start gives a slot of the tracker to the kind of a job that is farthest below its share, and
// reports whether a task started. Only kinds that may run on the tracker count [Split11,
// "changing home kinds"].
func (s *Split) start(v *slots.View, d *slots.Decision) bool {
	t := v.Tracker()
	for {
		k, id, ok := s.farthest(s.mapFits(v, t), s.reduceFits(v, t), s.earlyFits(v))
		if !ok {
			return false
		}
		g := slots.Grant{Slot: slots.NoSlot, Job: id, Kind: k, Task: slots.NoTask, Rule: ruleSplit, Rehome: true, HomeSlot: k == slots.Reduce}
		if normalSlots(v, t) == 0 {
			g.Rule = ruleAdditional
		}
		if s.skips.Grant(d, g, func() slots.Why { return s.why(v, id, k, g.Rule) }) {
			s.update(v)
			return true
		}
		s.rank(v.Job(id))
	}
}

// farthest returns the kind of a job that is farthest below its share. Of equals it returns a
// map, then the job that was submitted first. The arguments say whether maps, reduces, and
// reduces of jobs with unfinished maps may start.
func (s *Split) farthest(maps, reduces, early bool) (best slots.Kind, job slots.JobID, ok bool) {
	for _, r := range []struct {
		kind    slots.Kind
		ranking *slots.Ranking[float64]
		allowed bool
	}{
		{slots.Map, &s.ranks[slots.Map], maps},
		{slots.Reduce, &s.ranks[slots.Reduce], reduces},
		{slots.Reduce, &s.early, reduces && early},
	} {
		id, some := r.ranking.First()
		if !some || !r.allowed {
			continue
		}
		if !ok || s.jobs[id].below[r.kind] > s.jobs[job].below[best] {
			best, job, ok = r.kind, slots.JobID(id), true
		}
	}
	return best, job, ok
}

// earlyFits reports whether a reduce may start although its job's maps are not all done: fewer
// reduces run than R_R [Split11, "bound of early reduces"]. A job that was submitted when there
// were few jobs may hold more than its present share. Without this bound the waiting reduces of
// many such jobs could hold all slots.
func (s *Split) earlyFits(v *slots.View) bool {
	return !s.holdsBack("bound") || float64(v.Running(slots.Reduce)) < s.totals[slots.Reduce]
}

// holdsBack reports whether a rule of Options.EarlyReduces, "floor" or "bound", applies.
func (s *Split) holdsBack(rule string) bool {
	switch s.options.EarlyReduces {
	case "", "both", rule:
		return true
	}
	return false
}

// update updates the states and ranks of the jobs that have changed, and computes shares again
// if that is due.
func (s *Split) update(v *slots.View) {
	changed := v.Changed()
	for _, id := range changed {
		s.updateJob(v.Job(id))
	}
	s.changes += len(changed)
	if s.changes > 0 && s.changes*8 >= len(s.live) {
		s.allocate(v)
		return
	}
	for _, id := range changed {
		s.rank(v.Job(id))
	}
}

// updateJob updates the state of a job, and w_r if its number of finished maps has changed.
func (s *Split) updateJob(j slots.JobView) {
	id := j.ID()
	for int(id) >= len(s.jobs) {
		s.jobs = append(s.jobs, splitJob{maps: -1})
	}
	at := &s.jobs[id]
	if active := !j.Ended() && j.Runnable(); active != at.active {
		at.active = active
		if active {
			s.live = append(s.live, id)
		}
	}
	if finished, maps := j.Done(slots.Map), j.Total(slots.Map); j.Sealed() && (finished != at.finished || maps != at.maps) {
		at.finished = finished
		at.maps = maps
		at.reduceWeight = reduceWeight(finished, maps)
	}
}

// allocate computes the shares of all jobs [Split11, dynamic resource allocation], and ranks all
// jobs by them.
func (s *Split) allocate(v *slots.View) {
	again := v.Now() == s.at && len(s.shares) > 0 // remainders are carried once per instant
	s.changes, s.at = 0, v.Now()
	kept := s.live[:0]
	var weights float64
	for _, id := range s.live {
		at := &s.jobs[id]
		if !at.active {
			s.rank(v.Job(id))
			continue
		}
		if !again {
			s.remains(v.Job(id), at)
		}
		kept = append(kept, id)
		weights += float64(v.Job(id).Weight())
	}
	s.live = kept
	slotCount := float64(v.Capacity(slots.Map) + v.Capacity(slots.Reduce))
	s.wants = s.wants[:0]
	for _, id := range s.live {
		j := v.Job(id)
		s.wants = append(s.wants, s.want(j, jobShare(float64(j.Weight()), weights, slotCount)))
	}
	s.shares = fill(s.shares[:0], s.wants, slotCount)
	s.totals = totals(s.shares)
	for i, id := range s.live {
		s.jobs[id].share = s.shares[i]
		s.rank(v.Job(id))
	}
}

// remains carries the remainders of a job's shares to the next allocation [Split11, "largest
// remainder"]. The reduces of a job whose maps are not all done carry nothing. Their share grows
// without that, and a reduce that starts because of a remainder would hold its slot until the
// maps are done.
func (s *Split) remains(j slots.JobView, at *splitJob) {
	for k := range slots.Kind(trace.Kinds) {
		if j.Pending(k) == 0 || k == slots.Reduce && !policy.MapsDone(j) {
			at.carried[k] = 0
			continue
		}
		at.carried[k] = carry(at.share[k], at.carried[k], at.ran[k])
	}
}

// want returns the demand of a job in an allocation. jobShare is R_i, its share by its weight,
// in slots.
func (s *Split) want(j slots.JobView, jobShare float64) want {
	w := want{weight: float64(j.Weight()), reduceWeight: s.weightOf(j)}
	w.demand[slots.Map] = float64(j.Pending(slots.Map) + j.Running(slots.Map))
	reduces := float64(j.Pending(slots.Reduce) + j.Running(slots.Reduce))
	if !policy.MapsDone(j) {
		early := earlyReduces(w.reduceWeight, jobShare, j.Total(slots.Reduce), !s.holdsBack("floor"))
		reduces = min(reduces, max(early, float64(j.Running(slots.Reduce))))
	}
	w.demand[slots.Reduce] = reduces
	return w
}

// weightOf returns w_r of a job. It is 0 if the job has no reduces. It is also 0 as long as the
// number of maps is not final, because x is not known then [Split11, "which x"].
func (s *Split) weightOf(j slots.JobView) float64 {
	if !j.Sealed() || j.Total(slots.Reduce) == 0 {
		return 0
	}
	return s.jobs[j.ID()].reduceWeight
}

// rank ranks a job for each kind of which it has pending tasks. Reduces of a job whose maps are
// not all done are ranked in s.early, and only if they are below their share, or below its whole
// slots [Split11, "floors and the bound"].
func (s *Split) rank(j slots.JobView) {
	at := &s.jobs[j.ID()]
	for k := range slots.Kind(trace.Kinds) {
		at.ran[k] = j.Running(k)
		at.below[k] = below(at.share[k], at.carried[k], j.Running(k))
		may := at.active && j.Pending(k) > 0 && !s.skips.Has(j.ID(), k)
		early := k == slots.Reduce && !policy.MapsDone(j)
		s.ranks[k].Keep(int32(j.ID()), may && !early, at.below[k])
		if k == slots.Reduce {
			own := at.share[k]
			if s.holdsBack("floor") {
				own = math.Floor(own)
			}
			s.early.Keep(int32(j.ID()), may && early && below(own, at.carried[k], j.Running(k)) > 0, at.below[k])
		}
	}
}

// What follows explains decisions in the paper's words. The policy calls it only while explanations
// are on (Decision.Explaining).

// why returns the reasons of a grant: how far the maps of the job are, its share, and the shares
// of all jobs.
func (s *Split) why(v *slots.View, id slots.JobID, k slots.Kind, r slots.Rule) slots.Why {
	j, at := v.Job(id), &s.jobs[id]
	weight := s.weightOf(j)
	names := [trace.Kinds]string{slots.Map: "R_im", slots.Reduce: "R_ir"}
	w := slots.Why{Numbers: []slots.Number{
		{Name: "x", Num: int64(j.Done(slots.Map)), Den: int64(max(j.Total(slots.Map), 1))},
		slots.Decimal("w_m", mapWeight(weight)), slots.Decimal("w_r", weight),
		slots.Decimal(names[k], at.share[k]), slots.Decimal("carried", at.carried[k]), slots.Whole(fmt.Sprintf("running %vs of the job", k), j.Running(k)),
		slots.Decimal("R_M", s.totals[slots.Map]), slots.Decimal("R_R", s.totals[slots.Reduce]),
	}}
	if r == ruleAdditional {
		w.Numbers = append(w.Numbers, slots.Whole("maps of the tracker in their I/O period", v.InPhase(v.Tracker(), slots.PhaseIO)),
			slots.Whole("additional map slots", s.options.AdditionalMapSlots))
	}
	w.Beaten = s.beaten(v, id, k)
	return w
}

// beaten returns the jobs after the winner, at most slots.MostBeaten: those with tasks of kind k,
// then those with tasks of the other kind.
func (s *Split) beaten(v *slots.View, winner slots.JobID, k slots.Kind) (all []slots.Beaten) {
	for _, of := range []slots.Kind{k, k.Other()} {
		after := s.ranks[of].Firsts(nil, slots.MostBeaten+1)
		if of == slots.Reduce && s.earlyFits(v) {
			after = s.early.Firsts(after, slots.MostBeaten+1)
			slices.SortStableFunc(after, func(a, b int32) int { return cmp.Compare(s.jobs[b].below[of], s.jobs[a].below[of]) })
		}
		for _, n := range after {
			id := slots.JobID(n)
			if id == winner && of == k || len(all) == slots.MostBeaten {
				continue
			}
			why := fmt.Sprintf("its %vs are %+.3f slots below their share", of, s.jobs[id].below[of])
			all = append(all, slots.Beaten{Pool: v.Job(id).Pool(), Job: id, Why: why})
		}
	}
	return all
}

// decline explains the end of a visit: why it starts nothing more of each kind.
func (s *Split) decline(v *slots.View, d *slots.Decision, started bool) {
	for k := range slots.Kind(trace.Kinds) {
		d.Decline(k, s.stopped(v, k, started), slots.Decimal("R_M", s.totals[slots.Map]), slots.Decimal("R_R", s.totals[slots.Reduce]))
	}
}

// stopped returns in words why nothing more of kind k starts.
func (s *Split) stopped(v *slots.View, k slots.Kind, started bool) string {
	t, reduce := v.Tracker(), k == slots.Reduce
	return cmp.Or(
		policy.If(v.Pending(k) == 0, fmt.Sprintf("no %v is pending", k)),
		policy.If(started, "a heartbeat starts one task"),
		policy.If(v.FreeAt(t) == 0 || !s.mapFits(v, t), "no slot of the tracker is free, normal or additional"),
		policy.If(reduce && normalSlots(v, t) == 0, "only an additional map slot is free"),
		s.skips.Why(k),
		policy.If(reduce && !within(v.RunningAt(t, k), s.options.ReduceTotal),
			fmt.Sprintf("the tracker runs as many reduces as it may, %d", s.options.ReduceTotal)),
		policy.If(reduce && !within(copying(v, t), s.options.ReduceShuffle),
			fmt.Sprintf("as many reduces of the tracker copy as may, %d", s.options.ReduceShuffle)),
		policy.If(s.early.Len() > 0,
			fmt.Sprintf("as many reduces run as R_R, %d, and the maps of the jobs that want more are not all done", v.Running(k))),
		"the pending reduces have no share yet: too few of their jobs' maps are done")
}
