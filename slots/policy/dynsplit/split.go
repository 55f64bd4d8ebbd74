package dynsplit

import (
	"time"

	"mrlocal/slots"
	"mrlocal/slots/policy/settings"
	"mrlocal/trace"
)

// Split is Dynamic Split.
//
// Shares concern all jobs. They are worked out anew when as many jobs have
// changed as are an eighth of those there, so that a decision costs what changed
// however many jobs there are; between that, a job that changes is placed by its
// old share.
type Split struct {
	options settings.Options

	jobs    []standing
	live    []slots.JobID // that run, and those that ended since the last allocation
	wants   []want        // of live
	shares  []share
	totals  share // R_M, R_R
	changed []slots.JobID
	news    int           // jobs that changed since the last allocation
	at      time.Duration // of the last allocation

	ranks [trace.Kinds]slots.Ranking[float64] // of jobs whose kind may start a task, by how far it is below its share
	early slots.Ranking[float64]              // of those whose reduces may, though their maps are not all done
	out   []refusal                           // of the rankings, for the rest of the visit

	moved []slots.SlotID // slots whose attempt changed phase or ended: their trackers' pipelines have news
}

// standing is what a job's place rests on besides the View.
type standing struct {
	active       bool
	barred       [trace.Kinds]bool // for the rest of the visit
	finished     int32             // maps, as reduceWeight has it
	maps         int32
	reduceWeight float64
	share        share
	carried      share
	ran          [trace.Kinds]int32 // at the end of the last decision about it
	below        share              // as the rankings have it
}

type refusal struct {
	job  slots.JobID
	kind slots.Kind
	why  slots.Refusal
}

var _ interface {
	slots.Policy
	slots.Opener
	slots.PhaseGate
	slots.Observer
	slots.Resetter
	slots.NothingToGrant
} = (*Split)(nil)

// New returns Dynamic Split.
func New(o settings.Options) *Split {
	s := &Split{options: o}
	s.Reset()
	return s
}

// Traits implements slots.Policy. Any slot can become one of any kind; none is
// ever lent. w_r replaces the slowstart (A27).
func (s *Split) Traits() slots.Traits {
	return slots.Traits{Name: "dynsplit", Lends: true, OwnSlowstart: true, Options: s.options, Rules: map[slots.Rule]string{
		trace.RuleSplit:      "of the maps and reduces of all jobs those farthest below their share, which goes from a job's maps to its reduces as its maps get done (w_m, w_r)",
		trace.RuleAdditional: "a map of the tracker is in its I/O period and leaves the CPU to others, so one more map than the tracker has slots may run (resource usage pipeline)",
	}}
}

// Reset implements slots.Resetter.
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
	if d.Explaining() {
		s.decline(v, d, started)
	}
	s.restore(v)
}

// NothingToGrant implements slots.NothingToGrant: no kind of any job may start.
func (s *Split) NothingToGrant(v *slots.View) bool {
	s.update(v)
	return s.ranks[slots.Map].Len() == 0 && s.ranks[slots.Reduce].Len() == 0 && s.early.Len() == 0
}

// start gives a slot of the tracker to the kind that is farthest below its share
// of those that may have it here.
func (s *Split) start(v *slots.View, d *slots.Decision) bool {
	t := v.Tracker()
	for {
		k, id, ok := s.farthest(s.mapFits(v, t), s.reduceFits(v, t), s.earlyFits(v))
		if !ok {
			return false
		}
		g := slots.Grant{Slot: slots.NoSlot, Job: id, Kind: k, Task: slots.NoTask, Rule: trace.RuleSplit, Rehome: true, HomeSlot: k == slots.Reduce}
		if normalSlots(v, t) == 0 {
			g.Rule = trace.RuleAdditional
		}
		if d.Explaining() {
			d.Because(s.why(v, id, k, g.Rule))
		}
		if d.Grant(g) {
			s.update(v)
			return true
		}
		s.bar(v, refusal{id, k, d.Refused()})
	}
}

// farthest is the kind of a job that is farthest below its share; of equals a
// map, then the job that was submitted first.
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

// earlyFits: a reduce whose maps are not all done may start only as long as fewer
// reduces run than the cluster has slots for, R_R (S3). A job that came when there
// were few holds more than its share now; without this bound the reduces of many
// such jobs come to hold all slots, and wait.
func (s *Split) earlyFits(v *slots.View) bool {
	return float64(v.Running(slots.Reduce)) < s.totals[slots.Reduce]
}

// update takes in what changed, and allocates anew where that is due.
func (s *Split) update(v *slots.View) {
	s.changed = v.Changed(s.changed[:0])
	for _, id := range s.changed {
		s.take(v.Job(id))
	}
	s.news += len(s.changed)
	if s.news > 0 && s.news*8 >= len(s.live) {
		s.allocate(v)
		return
	}
	for _, id := range s.changed {
		s.rank(v.Job(id))
	}
}

// take notes how far a job is.
func (s *Split) take(j slots.JobView) {
	id := j.ID()
	for int(id) >= len(s.jobs) {
		s.jobs = append(s.jobs, standing{maps: -1})
	}
	at := &s.jobs[id]
	if active := !j.Ended() && j.Runnable(); active != at.active {
		at.active = active
		if active {
			s.live = append(s.live, id)
		}
	}
	if finished, maps := j.Done(slots.Map), j.Total(slots.Map); j.Sealed() && (finished != at.finished || maps != at.maps) {
		at.finished, at.maps, at.reduceWeight = finished, maps, reduceWeight(finished, maps)
	}
}

// allocate works out all shares (S2, S3, A28) from how far each job is now.
func (s *Split) allocate(v *slots.View) {
	again := v.Now() == s.at && len(s.shares) > 0 // at one instant there is one remainder
	s.news, s.at = 0, v.Now()
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

// remains carries what is left of a job's shares (A27). The reduces of a job
// whose maps are not all done carry nothing: their share grows by itself, and a
// reduce that starts for a remainder would hold its slot until the maps are done.
func (s *Split) remains(j slots.JobView, at *standing) {
	for k := range slots.Kind(trace.Kinds) {
		if j.Pending(k) == 0 || k == slots.Reduce && !mapsDone(j) {
			at.carried[k] = 0
			continue
		}
		at.carried[k] = carry(at.share[k], at.carried[k], at.ran[k])
	}
}

// want is what a job of so many slots by its weight brings to an allocation.
func (s *Split) want(j slots.JobView, jobShare float64) want {
	w := want{weight: float64(j.Weight()), reduceWeight: s.weightOf(j)}
	w.demand[slots.Map] = float64(j.Pending(slots.Map) + j.Running(slots.Map))
	reduces := j.Pending(slots.Reduce) + j.Running(slots.Reduce)
	if !mapsDone(j) {
		early := earlyReduces(w.reduceWeight, jobShare, j.Total(slots.Reduce))
		reduces = min(reduces, max(early, j.Running(slots.Reduce)))
	}
	w.demand[slots.Reduce] = float64(reduces)
	return w
}

// weightOf is w_r of a job: 0 where it has no reduces, or as long as the number of
// its maps is not final, so that x is not known (A27).
func (s *Split) weightOf(j slots.JobView) float64 {
	if !j.Sealed() || j.Total(slots.Reduce) == 0 {
		return 0
	}
	return s.jobs[j.ID()].reduceWeight
}

// mapsDone: all maps of the job are done, so that its reduces need not wait. A
// lost output changes that again.
func mapsDone(j slots.JobView) bool { return j.Sealed() && j.Done(slots.Map) == j.Total(slots.Map) }

// rank finds a job's places. A reduce of a job whose maps are not all done has
// one only as long as it is below its share.
func (s *Split) rank(j slots.JobView) {
	at := &s.jobs[j.ID()]
	for k := range slots.Kind(trace.Kinds) {
		at.ran[k] = j.Running(k)
		at.below[k] = below(at.share[k], at.carried[k], j.Running(k))
		may := at.active && j.Pending(k) > 0 && !at.barred[k]
		early := k == slots.Reduce && !mapsDone(j)
		place(&s.ranks[k], j.ID(), at.below[k], may && !early)
		if k == slots.Reduce {
			place(&s.early, j.ID(), at.below[k], may && early && at.below[k] > 0)
		}
	}
}

func place(r *slots.Ranking[float64], id slots.JobID, below float64, there bool) {
	if there {
		r.Set(int32(id), below)
	} else {
		r.Remove(int32(id))
	}
}

// bar keeps tasks of a job from starting for the rest of the visit.
func (s *Split) bar(v *slots.View, r refusal) {
	s.out = append(s.out, r)
	s.jobs[r.job].barred[r.kind] = true
	s.rank(v.Job(r.job))
}

// restore ends a visit: it puts back what was taken out.
func (s *Split) restore(v *slots.View) {
	for _, r := range s.out {
		s.jobs[r.job].barred[r.kind] = false
		s.rank(v.Job(r.job))
	}
	s.out = s.out[:0]
}
