// Package fresh is a FRESH-like baseline, the policy fresh, reconstructed [FRESH14]; its
// page is docs/papers/fresh14.md.
//
// A Fresh owns a few words per job and slot, and serves one Ledger at a time.
package fresh

import (
	"cmp"
	"time"

	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/yarn"
	"mrlocal/trace"
)

// Fresh is a FRESH-like baseline, reconstructed from the abstracts of FRESH and TuMM
// and from [OMO21, section V-D]. It has containers of any kind, and starts reduces
// once all maps of the job are done. A free container goes to the kind that has too
// few containers for its remaining work. Of that kind, the job with the fewest
// containers for its weight gets it [FRESH14, "remaining work"].
type Fresh struct {
	yarn.Base
	jobs   [trace.Kinds]slots.Ranking[yarn.Fewest] // by kind: jobs with a task to start
	counts [][trace.Kinds]int64                    // by job: its part of work
	work   work
}

// work is the remaining work of each kind over all jobs, in microseconds of container
// time.
type work [trace.Kinds]int64

// New returns the policy fresh.
func New() *Fresh { return &Fresh{} }

// Reset implements slots.Policy.
func (f *Fresh) Reset() {
	*f = Fresh{jobs: [trace.Kinds]slots.Ranking[yarn.Fewest]{yarn.NewRanking(), yarn.NewRanking()}}
}

// ruleRemainingWork is the only rule by which the policy grants.
const ruleRemainingWork slots.Rule = "remaining-work"

// Traits implements slots.Policy. A container has no kind.
func (*Fresh) Traits() slots.Traits {
	return slots.Traits{Name: "fresh", Uses: slots.JobWeight | slots.JobPriority, Lends: true, OwnSlowstart: true, Slowstart: slots.One, Rules: map[slots.Rule]string{
		ruleRemainingWork: "the container goes to the kind of task that has too few containers for its remaining work, else to the other kind. Of the jobs with such tasks, this one has the fewest containers for its weight",
	}}
}

// Observe implements slots.Observer.
func (f *Fresh) Observe(e slots.Fact) {
	if policy.Freed(&e) {
		f.Finish(&e)
	}
}

// Decide is one heartbeat, which starts one task.
func (f *Fresh) Decide(v *slots.View, d *slots.Decision) {
	f.Update(v, f)
	started := v.FreeAt(v.Tracker()) > 0 && f.allocate(v, d)
	f.Decline(v, d, started, "")
	f.End(v, f)
}

// allocate gives a free container to the kind that has too few. If that kind has no task to
// start, the other kind gets it. allocate reports whether a task started.
func (f *Fresh) allocate(v *slots.View, d *slots.Decision) bool {
	k := slots.Reduce
	if float64(v.Running(slots.Map)) < mapContainers(yarn.Total(v), f.work) {
		k = slots.Map
	}
	return f.fewest(v, d, k) || f.fewest(v, d, k.Other())
}

// fewest starts a task of kind k of the job with the fewest containers for its weight, and
// reports whether one started.
func (f *Fresh) fewest(v *slots.View, d *slots.Decision, k slots.Kind) bool {
	for {
		id, ok := yarn.First(&f.jobs[k])
		if !ok {
			return false
		}
		if f.Grant(v, d, f, slots.GrantOf(id, k, ruleRemainingWork), func() slots.Why { return f.why(v, id, k) }) {
			return true
		}
	}
}

// mapContainers returns s_m = S · W_m / (W_m + W_r). With this number of all containers for maps,
// map work and reduce work end at the same time [FRESH14, "remaining work"].
func mapContainers(all int32, w work) float64 {
	both := float64(w[slots.Map]) + float64(w[slots.Reduce])
	if both == 0 {
		return 0
	}
	return float64(all) * float64(w[slots.Map]) / both
}

// Rank implements yarn.Ranker. It also updates the remaining work by the job's part.
func (f *Fresh) Rank(_ *slots.View, j slots.JobView) {
	id := j.ID()
	counts := policy.At(&f.counts, id)
	for k := range slots.Kind(trace.Kinds) {
		f.jobs[k].Keep(int32(id), f.Startable(j, k) > 0, yarn.FewestOf(j))
		f.work[k] -= counts[k]
		counts[k] = f.remaining(j, k)
		f.work[k] += counts[k]
	}
}

// remaining returns the work of kind k that a job still has, in microseconds. Reduces count only
// when all maps of the job are done. The time of a task is the job's mean. If there is none, it
// is the mean of all jobs, else that of all maps, else a second.
func (f *Fresh) remaining(j slots.JobView, k slots.Kind) int64 {
	if j.Ended() || !j.Runnable() || k == slots.Reduce && !policy.MapsDone(j) {
		return 0
	}
	took := cmp.Or(f.Of(j.ID()).Mean(k), f.All.Mean(k), f.All.Mean(slots.Map), time.Second)
	return int64(j.Total(k)-j.Done(k)) * max(took.Microseconds(), 1)
}

// why returns the reasons of a grant to a job.
func (f *Fresh) why(v *slots.View, id slots.JobID, k slots.Kind) slots.Why {
	all := append(yarn.FairNumbers(v.Job(id)),
		slots.Decimal("remaining map work in seconds", float64(f.work[slots.Map])/1e6), slots.Decimal("remaining reduce work in seconds", float64(f.work[slots.Reduce])/1e6),
		slots.Decimal("map containers s_m", mapContainers(yarn.Total(v), f.work)), slots.Whole("running maps", v.Running(slots.Map)))
	return slots.Why{Numbers: all, Beaten: policy.Beaten(&f.jobs[k], id, v, yarn.Holds)}
}
