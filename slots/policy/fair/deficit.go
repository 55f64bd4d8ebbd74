package fair

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

// Deficit is the Fair Scheduler of Hadoop 0.20 (Hadoop 0.20.2, FairScheduler). Slots are
// static and typed, and a free slot goes to the job with the largest deficit. The deficit of
// a job grows by (fair share - running tasks) over time. Pools only determine the weights
// and the min slots of their jobs. A heartbeat starts one task, a map if it can.
//
// Deficits are updated every 500 ms, and when a job is submitted. With many jobs an update
// waits until an eighth of them have changed. So the cost of a decision does not grow with
// the number of jobs.
type Deficit struct {
	accounts []account                        // by job
	pools    []poolAccount                    // by pool
	live     []slots.JobID                    // jobs that may run, in order of submission
	ranks    [trace.Kinds]slots.Ranking[owed] // by kind: jobs with a pending task
	skips    policy.Skips

	at      time.Duration // of the last update; negative: none yet
	newJob  bool          // a job was submitted since then
	changes int           // number of changes of jobs since then
}

// account has the deficits of a job.
type account struct {
	listed bool          // it is or was in Deficit.live
	weight float64       // its part of its pool's weight
	since  time.Duration // the time until which accrued counts
	kinds  [trace.Kinds]struct {
		deficit float64 // in slot-seconds, at the last update
		accrued float64 // in slot-seconds, since the last update
		running int32   // tasks, from since on
		share   float64 // fair share, in slots
		min     int32   // its part of the pool's min share, in slots
	}
}

// poolAccount is a pool during an update.
type poolAccount struct {
	weights float64       // sum of the weights of its jobs
	members []slots.JobID // its jobs
}

// owed is the sort key of a job (Hadoop 0.20.2, FairScheduler.DeficitComparator). In Hadoop
// the order of a hash table breaks ties. Here the job with the fewest running tasks for its
// weight comes first. Of equals, the job that was submitted earlier, with the lower id,
// comes first.
type owed struct {
	needy           bool // it runs less than its min slots
	deficit         float64
	running, weight int64
}

// owedLess orders owed. Products compare the quotients running ÷ weight exactly.
func owedLess(a, b *owed) bool {
	switch {
	case a.needy != b.needy:
		return a.needy
	case a.deficit != b.deficit:
		return a.deficit > b.deficit
	}
	return a.running*b.weight < b.running*a.weight
}

const (
	deficitEvery     = 500 * time.Millisecond // UPDATE_INTERVAL
	deficitSlowstart = slots.One / 20         // finished maps >= max(1, 5 %)
)

// NewDeficit returns the policy fair-deficit.
func NewDeficit() *Deficit { return &Deficit{} }

// Reset implements slots.Policy.
func (f *Deficit) Reset() {
	*f = Deficit{at: -1}
	for k := range f.ranks {
		f.ranks[k].Less = owedLess
	}
}

// ruleDeficit is the rule for jobs that are not below their min slots.
const ruleDeficit slots.Rule = "deficit"

// Traits implements slots.Policy. In this version of Hadoop the slowstart cannot be set.
func (*Deficit) Traits() slots.Traits {
	return slots.Traits{Name: "fair-deficit", Uses: slots.PoolWeight | slots.MinShare | slots.JobWeight | slots.JobPriority, Sharing: slots.PerKind, OwnSlowstart: true, Slowstart: deficitSlowstart, Rules: map[slots.Rule]string{
		policy.RuleMinShare: "its job runs fewer tasks than its part of its pool's min share",
		ruleDeficit:         "its job is the one that is owed most: fair share less running tasks, over time",
	}}
}

// NextVisit implements slots.Selective. It returns -1 if of each kind no task is pending, or no
// slot is left in the cluster.
func (f *Deficit) NextVisit(v *slots.View, t slots.TrackerID) slots.TrackerID {
	for k := range slots.Kind(trace.Kinds) {
		if v.Pending(k) > 0 && v.Running(k) < v.Capacity(k) {
			return t
		}
	}
	return -1
}

// Decide is one heartbeat: one task, a map if there is one for the tracker, else a
// reduce (Hadoop 0.20.2, FairScheduler.assignTasks).
func (f *Deficit) Decide(v *slots.View, d *slots.Decision) {
	f.updateJobs(v)
	if due := f.at < 0 || f.newJob || v.Now()-f.at >= deficitEvery; due && f.changes*8 >= len(f.live) {
		f.update(v)
	}
	started := f.fits(v, slots.Map) && f.grant(v, d, slots.Map) || f.fits(v, slots.Reduce) && f.grant(v, d, slots.Reduce)
	if d.WantsReason() {
		f.decline(v, d, started)
	}
	f.skips.End(func(id slots.JobID) { f.rank(v.Job(id)) })
}

// fits reports whether a task of kind k is pending and the tracker may run one more
// (Hadoop 0.20.2, CapBasedLoadManager).
func (f *Deficit) fits(v *slots.View, k slots.Kind) bool {
	t := v.Tracker()
	return v.Pending(k) > 0 && v.FreeHome(t, k) > 0 && v.RunningAt(t, k) < slots.LoadCap(v, t, k)
}

// grant starts a task of kind k of the first job that the Ledger does not refuse. It reports
// whether one started. Refused jobs leave the ranking until the visit ends.
func (f *Deficit) grant(v *slots.View, d *slots.Decision, k slots.Kind) bool {
	for {
		first, ok := f.ranks[k].First()
		if !ok {
			return false
		}
		id := slots.JobID(first)
		g := slots.GrantOf(id, k, ruleDeficit)
		if f.key(v.Job(id), k).needy {
			g.Rule = policy.RuleMinShare
		}
		if f.skips.Grant(d, g, func() slots.Why { return f.why(v, id, k) }) {
			f.updateJobs(v)
			return true
		}
		f.ranks[k].Remove(first)
	}
}

// updateJobs updates the accounts and ranks of the jobs that have changed since the last call.
func (f *Deficit) updateJobs(v *slots.View) {
	changed := v.Changed()
	f.changes += len(changed)
	for _, id := range changed {
		j := v.Job(id)
		if a := policy.At(&f.accounts, id); !a.listed && j.Runnable() && !j.Ended() {
			a.listed, f.newJob = true, true
			f.live = append(f.live, id)
		}
		f.accrue(v, j)
		f.rank(j)
	}
}

// rank ranks a job for each kind of which it has pending tasks.
func (f *Deficit) rank(j slots.JobView) {
	for k := range slots.Kind(trace.Kinds) {
		f.ranks[k].Keep(int32(j.ID()), j.Pending(k) > 0 && !f.skips.Has(j.ID(), k), f.key(j, k))
	}
}

// key returns the sort key of a job.
func (f *Deficit) key(j slots.JobView, k slots.Kind) owed {
	a := &f.accounts[j.ID()].kinds[k]
	return owed{j.Running(k) < a.min, a.deficit, int64(j.Running(k)), int64(j.Weight())}
}

// update does the same as Hadoop's update thread (Hadoop 0.20.2, FairScheduler.update). First it
// updates the deficits by the old shares. Then it computes new weights, min slots and fair
// shares.
func (f *Deficit) update(v *slots.View) {
	f.updateDeficits(v)
	f.live = slices.DeleteFunc(f.live, func(id slots.JobID) bool { return v.Job(id).Ended() })
	f.updateWeights(v)
	for k := range slots.Kind(trace.Kinds) {
		f.updateMinSlots(v, k)
		f.updateFairShares(v, k)
	}
	for _, id := range f.live {
		f.rank(v.Job(id))
	}
	f.at, f.newJob, f.changes = v.Now(), false, 0
}

// accrue adds (fair share - running tasks) · time up to now to the accrued time of a job. The
// next update adds the accrued time to the deficit.
func (f *Deficit) accrue(v *slots.View, j slots.JobView) {
	a := &f.accounts[j.ID()]
	since := (v.Now() - a.since).Seconds()
	a.since = v.Now()
	for k := range slots.Kind(trace.Kinds) {
		of := &a.kinds[k]
		of.accrued += float64((of.share - float64(of.running)) * since)
		of.running = j.Running(k)
	}
}

// updateDeficits adds to the deficits what the jobs have accrued (Hadoop 0.20.2,
// FairScheduler.updateDeficits).
func (f *Deficit) updateDeficits(v *slots.View) {
	for _, id := range f.live {
		f.accrue(v, v.Job(id))
		for k := range slots.Kind(trace.Kinds) {
			of := &f.accounts[id].kinds[k]
			of.deficit += of.accrued
			of.accrued = 0
		}
	}
}

// updateWeights normalises the weights of jobs, which include priorities, inside
// their pools: w · pool weight / Σw (Hadoop 0.20.2, FairScheduler.updateWeights).
func (f *Deficit) updateWeights(v *slots.View) {
	for _, id := range f.live {
		p := policy.At(&f.pools, v.Job(id).Pool())
		p.weights, p.members = 0, p.members[:0]
	}
	for _, id := range f.live {
		p := &f.pools[v.Job(id).Pool()]
		p.weights += float64(v.Job(id).Weight())
		p.members = append(p.members, id)
	}
	for _, id := range f.live {
		j := v.Job(id)
		f.accounts[id].weight = float64(j.Weight()) * float64(v.Pool(j.Pool()).Config().Weight) / float64(slots.One) / f.pools[j.Pool()].weights
	}
}

// runnableTasks returns how many tasks of kind k a job runs or could start.
func runnableTasks(j slots.JobView, k slots.Kind) int32 { return j.Pending(k) + j.Running(k) }

// updateMinSlots divides each pool's min share between its jobs, by weight and in whole slots. No
// job gets more than it can use.
func (f *Deficit) updateMinSlots(v *slots.View, k slots.Kind) {
	for _, id := range f.live {
		f.accounts[id].kinds[k].min = 0
	}
	for _, id := range f.live {
		p := v.Job(id).Pool()
		if members := f.pools[p].members; len(members) > 0 && members[0] == id {
			f.splitMinShare(v, k, members, v.Pool(p).Config().Min(k))
		}
	}
}

// splitMinShare divides left slots between the jobs of a pool (Hadoop 0.20.2,
// FairScheduler.updateMinSlots). In each round it gives floor(left · weight / Σ weight) slots
// to each job that can use more. When a round gives nothing, it gives the ceiling instead, in
// order of weight, then deficit, and ends.
func (f *Deficit) splitMinShare(v *slots.View, k slots.Kind, members []slots.JobID, left int32) {
	for left > 0 {
		var jobs []slots.JobID
		weights := 0.0
		for _, id := range members {
			if runnableTasks(v.Job(id), k) > f.accounts[id].kinds[k].min {
				jobs = append(jobs, id)
				weights += f.accounts[id].weight
			}
		}
		if len(jobs) == 0 {
			return
		}
		before := left
		for _, id := range jobs {
			left = f.giveMinSlots(v, id, k, left, math.Floor(float64(before)*f.accounts[id].weight/weights))
		}
		if left < before {
			continue
		}
		slices.SortStableFunc(jobs, func(a, b slots.JobID) int {
			x, y := &f.accounts[a], &f.accounts[b]
			return cmp.Or(cmp.Compare(y.weight, x.weight), cmp.Compare(y.kinds[k].deficit, x.kinds[k].deficit))
		})
		for _, id := range jobs {
			left = f.giveMinSlots(v, id, k, left, math.Ceil(float64(before)*f.accounts[id].weight/weights))
		}
		return
	}
}

// giveMinSlots gives a job share of the left slots, but no more than it can use, and returns how
// many are left then.
func (f *Deficit) giveMinSlots(v *slots.View, id slots.JobID, k slots.Kind, left int32, share float64) int32 {
	least := &f.accounts[id].kinds[k].min
	n := min(left, runnableTasks(v.Job(id), k)-*least, int32(share))
	*least += n
	return left - n
}

// updateFairShares gives each job slots · weight / Σ weight. Jobs whose min slots
// exceed that get their min slots, and the rest is divided again. Demand does not cap
// shares (Hadoop 0.20.2, FairScheduler.updateFairShares).
func (f *Deficit) updateFairShares(v *slots.View, k slots.Kind) {
	var left []slots.JobID
	weights, free := 0.0, float64(v.Capacity(k))
	for _, id := range f.live {
		f.accounts[id].kinds[k].share = 0
		if runnableTasks(v.Job(id), k) > 0 {
			left = append(left, id)
			weights += f.accounts[id].weight
		}
	}
	for again := true; again; {
		again = false
		share := func(id slots.JobID) float64 { return free * f.accounts[id].weight / weights }
		kept := left[:0]
		given, gone := 0.0, 0.0
		for _, id := range left {
			a := &f.accounts[id]
			if least := float64(a.kinds[k].min); least > share(id) {
				a.kinds[k].share = least
				given += least
				gone += a.weight
				again = true
				continue
			}
			a.kinds[k].share = share(id)
			kept = append(kept, id)
		}
		left = kept
		free -= given
		weights -= gone
	}
}

// why returns the reasons of a grant to a job, with the jobs after it in order.
func (f *Deficit) why(v *slots.View, id slots.JobID, k slots.Kind) slots.Why {
	a := &f.accounts[id].kinds[k]
	numbers := append([]slots.Number{
		slots.Decimal("deficit in slot-seconds", a.deficit), slots.Decimal("fair share of the job", a.share),
		{Name: "running tasks of the job", Num: int64(v.Job(id).Running(k))}, {Name: "min slots", Num: int64(a.min)},
	}, f.load(v, k)...)
	return slots.Why{Numbers: numbers, Beaten: policy.Beaten(&f.ranks[k], id, v, func(j slots.JobView) string {
		return "its deficit is " + slots.Decimal("", f.accounts[j.ID()].kinds[k].deficit).Value()
	})}
}

// load returns the numbers by which the load manager decides (fits).
func (f *Deficit) load(v *slots.View, k slots.Kind) []slots.Number {
	t := v.Tracker()
	return []slots.Number{
		{Name: fmt.Sprintf("%v slots that tracker %d may use", k, t), Num: int64(slots.LoadCap(v, t, k))},
		{Name: fmt.Sprintf("%vs that run there", k), Num: int64(v.RunningAt(t, k))},
	}
}

// decline explains the end of a visit: why it starts nothing more of each kind.
func (f *Deficit) decline(v *slots.View, d *slots.Decision, started bool) {
	for k := range slots.Kind(trace.Kinds) {
		d.Decline(k, cmp.Or(policy.NoTaskOrSlot(v, k), policy.If(started, "a heartbeat starts one task"),
			policy.If(f.ranks[k].Len() == 0, f.skips.Why(k)), policy.LoadUsedUp), f.load(v, k)...)
	}
}
