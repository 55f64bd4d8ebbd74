// Package policy holds the code that several slot policies share. It has the fair order of pools
// and jobs (Order), delay scheduling (Wait), and copies of slow tasks (Copies, Speculation). It
// also has fair shares (Level) and the options of all policies. Each policy has a package below.
//
// A policy decides by the View that the Ledger (package slots) gives it, and by orderings that
// it keeps of jobs that have changed. Each rule of a paper, and of Hadoop, is a function that
// names its source; docs/papers lists the papers.
//
// Ownership: an Order and its parts belong to one policy, which serves one Ledger. They keep
// no View.
package policy

import (
	"cmp"
	"time"

	"mrlocal/slots"
	"mrlocal/trace"
)

// Order is the fair order of pools and of the jobs in them. For each kind it ranks
// the pools that have a task which may start, and their jobs. Before every grant an Order
// ranks the jobs that have changed again, so a grant costs O(log pools + log jobs).
// It belongs to one policy, which makes a new one at Reset.
type Order struct {
	Updates int64 // number of changes of jobs so far

	total   [trace.Kinds]Demand // of all pools
	sharing slots.Sharing
	pools   [trace.Kinds]slots.Ranking[shareKey]
	jobs    [trace.Kinds][]slots.Ranking[shareKey] // by pool; the ids are the jobs' numbers there
	numbers []int32                                // by job: how many jobs of its pool came before it
	members [][]slots.JobID                        // by pool and number
	demands [trace.Kinds][]Demand                  // by pool
	skipped []skipped                              // out of the rankings until the visit ends
	wait    Wait
	copies  *Copies // nil: running tasks are not copied
}

// Demand has the demand of a pool for one kind, each count within the pool's limit (Hadoop
// 1.0.3, PoolSchedulable.updateDemand).
type Demand struct {
	All       int32 // running tasks and those that may start
	Startable int32 // tasks that may start: pending ones and copies
	Pending   int32 // of these, pending ones
}

// skipped is a job that the Ledger refused a slot for during this visit. Its tasks of the kind
// are left out until the visit ends.
type skipped struct {
	job  slots.JobID
	kind slots.Kind
	why  slots.Refusal // Granted: the policy itself holds the tasks back (Skips)
	copy bool          // the Ledger refused a copy of a running task
}

// shareKey is the sort key of a pool or of a job. A ranking keeps keys by value, because the
// View changes in place and a ranking must not change before Update.
type shareKey struct {
	rank      int8          // in FIFO order, minus the priority; else 0
	needy     bool          // below the min share
	running   int64         // tasks
	minShare  int64         // min(min share, demand)
	weight    int64         // in parts per million
	submitted time.Duration // of a job
	name      string        // of a pool
}

// shareLess is the order of Hadoop 1.0.3, SchedulingAlgorithms.FairShareComparator. Pools below
// their min share come first, and of these the one farthest below. The others are ordered by
// running tasks divided by weight, fewest first, then by submission, then by name.
func shareLess(a, b *shareKey) bool {
	if a.rank != b.rank {
		return a.rank < b.rank
	}
	if a.needy != b.needy {
		return a.needy
	}
	// Products compare the quotients running ÷ weight and running ÷ min share exactly.
	left, right := a.running*b.weight, b.running*a.weight
	if a.needy {
		left, right = a.running*max(b.minShare, 1), b.running*max(a.minShare, 1)
	}
	if left != right {
		return left < right
	}
	if a.submitted != b.submitted {
		return a.submitted < b.submitted
	}
	return a.name < b.name
}

// NewOrder returns an Order for one Ledger. It ranks pools by their tasks of the kind, or with slots.Together
// of both kinds. With slots.NoShares all jobs stand in one line (Hadoop 1.0.3, JobQueueTaskScheduler). wait is
// the delay scheduling of its jobs.
func NewOrder(s slots.Sharing, wait Wait) Order { return Order{sharing: s, wait: wait} }

// Copy makes the Order start copies of running tasks: those that c finds. c belongs to the
// Order from then on.
func (o *Order) Copy(c *Copies) { o.copies = c }

// Begin starts a visit. It brings the waiting times of jobs up to now, and ranks the jobs
// that have changed. It finds the running tasks that are worth a copy. A policy calls Begin
// first in Decide, and End last.
func (o *Order) Begin(v *slots.View) {
	o.wait.beat(v.Now())
	o.Update(v)
	o.look(v)
}

// End ends a visit. It explains why the visit starts nothing more of each kind: by the reason that the Order
// knows, else by why, with the numbers that the reason depends on. It ranks the skipped jobs again, and asks
// for progress and a wake-up if copies need them.
func (o *Order) End(v *slots.View, d *slots.Decision, why func(k slots.Kind) string, numbers func(k slots.Kind) []slots.Number) {
	if d.WantsReason() {
		for k := range slots.Kind(trace.Kinds) {
			d.Decline(k, cmp.Or(o.stopped(v, k), why(k)), append(numbers(k), roomNumbers(v)...)...)
		}
	}
	for _, s := range o.skipped {
		o.rankAgain(v, s.job, s.kind)
	}
	o.skipped = o.skipped[:0]
	o.askProgress(v, d)
}

// Update ranks the jobs that have changed since the last call, and their pools.
func (o *Order) Update(v *slots.View) {
	changed := v.Changed()
	o.Updates += int64(len(changed))
	for _, id := range changed {
		j := v.Job(id)
		if o.copies != nil {
			o.rankRunning(v, j, o.copies.changed(v, j))
		}
		for k := range slots.Kind(trace.Kinds) {
			o.rankAgain(v, id, k)
		}
	}
	if o.copies != nil {
		o.balance(v)
	}
}

// Demand returns the demand of all pools for kind k.
func (o *Order) Demand(v *slots.View, k slots.Kind) *Demand {
	o.rerank(v, k)
	return &o.total[k]
}

// Pending returns the pending tasks of all pools of kind k, those of each within its limit.
func (o *Order) Pending(k slots.Kind) int32 { return o.total[k].Pending }

// placeOf returns the pool of a job in this Order. With NoShares all jobs are in pool 0.
func (o *Order) placeOf(j slots.JobView) slots.PoolID {
	if o.sharing == slots.NoShares {
		return 0
	}
	return j.Pool()
}

// rank ranks a job in its pool for kind k. A job without a task that may start leaves the
// ranking.
func (o *Order) rank(v *slots.View, j slots.JobView, k slots.Kind) {
	place := o.placeOf(j)
	for int(place) >= len(o.jobs[k]) {
		o.jobs[k] = append(o.jobs[k], slots.Ranking[shareKey]{Less: shareLess})
		o.demands[k] = append(o.demands[k], Demand{})
	}
	jobs, n := &o.jobs[k][place], o.numberOf(v, j.ID())
	if j.Pending(k)+o.copies.ranked(j.ID(), k) > 0 {
		jobs.Set(n, o.jobKey(v, j, k))
	} else {
		jobs.Remove(n)
	}
}

// numberOf returns a job's number among the jobs of its pool, in the order of ids. A Ranking
// takes memory for all ids up to the greatest. With the ids of the jobs themselves, n jobs
// in n pools would take memory in proportion to n².
func (o *Order) numberOf(v *slots.View, id slots.JobID) int32 {
	for int(id) >= len(o.numbers) {
		next := slots.JobID(len(o.numbers))
		place := o.placeOf(v.Job(next))
		members := At(&o.members, place)
		o.numbers = append(o.numbers, int32(len(*members)))
		*members = append(*members, next)
	}
	return o.numbers[id]
}

// rankPool ranks a pool for kind k, and updates o.total. A pool leaves the ranking if none of
// its jobs may start a task of the kind, or if it is at its limit.
func (o *Order) rankPool(v *slots.View, id slots.PoolID, k slots.Kind) {
	o.pools[k].Less = shareLess
	d, before := o.demandOf(v, id, k), o.demands[k][id]
	o.total[k].All += d.All - before.All
	o.total[k].Startable += d.Startable - before.Startable
	o.total[k].Pending += d.Pending - before.Pending
	o.demands[k][id] = d
	if o.jobs[k][id].Len() == 0 || d.Startable == 0 {
		o.pools[k].Remove(int32(id))
		return
	}
	o.pools[k].Set(int32(id), o.poolKey(v, id, k))
}

// demandOf returns the demand of a pool of this Order, copies included.
func (o *Order) demandOf(v *slots.View, id slots.PoolID, k slots.Kind) Demand {
	if o.sharing == slots.NoShares {
		return Demand{v.Pending(k) + v.Running(k), v.Pending(k), v.Pending(k)}
	}
	return demandOf(v.Pool(id), k, o.copiesIn(id, k))
}

// demandOf returns a pool's demand for kind k: the running and pending tasks of its jobs,
// capped by its MaxMaps or MaxReduces (Hadoop 1.0.3, PoolSchedulable.updateDemand). copies is
// how many of its tasks are worth a copy. Each of them counts as one more task that may start.
func demandOf(p slots.PoolView, k slots.Kind, copies int32) Demand {
	startable := p.Pending(k) + copies
	d := Demand{startable + p.Running(k), startable, p.Pending(k)}
	if limit := p.Config().Max(k); limit > 0 {
		d.All = min(d.All, limit)
		room := max(limit-p.Running(k), 0)
		d.Startable, d.Pending = min(d.Startable, room), min(d.Pending, room)
	}
	return d
}

// poolKey returns the sort key of a pool for kind k. With Together the key counts both kinds
// [DHFS13, "combined key"], and with NoShares all keys are equal.
func (o *Order) poolKey(v *slots.View, id slots.PoolID, k slots.Kind) shareKey {
	if o.sharing == slots.NoShares {
		return shareKey{weight: 1}
	}
	p := v.Pool(id)
	c := p.Config()
	key := shareKey{
		running: int64(p.Running(k)), minShare: min(int64(c.Min(k)), int64(demandOf(p, k, 0).All)),
		weight: int64(c.Weight), name: c.Name,
	}
	if o.sharing == slots.Together {
		both := int64(demandOf(p, slots.Map, 0).All) + int64(demandOf(p, slots.Reduce, 0).All)
		key.running = int64(p.Running(slots.Map)) + int64(p.Running(slots.Reduce))
		key.minShare = min(int64(c.MinMaps)+int64(c.MinReduces), both)
	}
	key.needy = key.running < key.minShare
	return key
}

// jobKey returns the sort key of a job in its pool for kind k. Jobs have no min share. A FIFO
// pool, and a policy without pools, orders jobs by priority and submission (Hadoop 1.0.3,
// SchedulingAlgorithms.FifoComparator).
func (o *Order) jobKey(v *slots.View, j slots.JobView, k slots.Kind) shareKey {
	if o.sharing == slots.NoShares || v.Pool(j.Pool()).Config().FIFO {
		return shareKey{rank: -int8(j.Priority()), weight: 1, submitted: j.Submitted()}
	}
	return shareKey{running: int64(j.Running(k)), weight: int64(j.Weight()), submitted: j.Submitted()}
}

// First returns the first pool that may start a task of kind k, and false if there is none.
// It also returns false after the Ledger has refused a pending task because its weight
// exceeds the tracker's room. The room is kept for that task, because lighter tasks could
// take it for ever.
func (o *Order) First(v *slots.View, k slots.Kind) (slots.PoolID, bool) {
	if n := len(o.skipped); n > 0 && o.skipped[n-1].why == slots.RefusedWeight && !o.skipped[n-1].copy {
		return 0, false
	}
	o.rerank(v, k)
	id, ok := o.pools[k].First()
	return slots.PoolID(id), ok
}

// Before reports whether pool a comes before pool b in fair order. The key of a counts its
// tasks of kind k, that of b its tasks of the other kind.
func (o *Order) Before(v *slots.View, a slots.PoolID, k slots.Kind, b slots.PoolID) bool {
	x, y := o.poolKey(v, a, k), o.poolKey(v, b, k.Other())
	return shareLess(&x, &y)
}

// The rules of policies that share slots fairly between pools.
const (
	RuleMinShare  slots.Rule = "min-share"  // the pool farthest below its min share
	RuleFairShare slots.Rule = "fair-share" // the pool farthest below its fair share
)

// Offer is a free slot that a policy offers for tasks of one kind.
type Offer struct {
	Kind slots.Kind
	Rule slots.Rule // RuleNone: RuleMinShare for a pool below its min share, else RuleFairShare
	Move slots.Move // whether a start counts as a move
}

// Numbers returns the numbers that the rule of an offer to a pool depends on. It is called only
// while explanations are on. It is not a field of Offer, because a Rule of an Offer escapes to the
// Ledger. A function next to it would be allocated for each decision.
type Numbers func(pool slots.PoolID) []slots.Number

// Grant starts a task of the first job of the first pool for which the Ledger does not refuse
// it. It reports whether a task started. numbers are those of the rule, for explanations.
func (o *Order) Grant(v *slots.View, d *slots.Decision, f Offer, numbers Numbers) bool {
	for {
		o.rerank(v, f.Kind)
		pool, ok := o.pools[f.Kind].First()
		if !ok {
			return false
		}
		if o.Try(v, d, slots.PoolID(pool), f, numbers, false) {
			return true
		}
	}
}

// Try offers the slot to the first job of a pool, which must have a task that may start. It
// reports whether a task started. A job that is refused is skipped for the rest of the visit.
// If anywhere is true, a map starts even if its job waits for a local slot.
func (o *Order) Try(v *slots.View, d *slots.Decision, pool slots.PoolID, f Offer, numbers Numbers, anywhere bool) bool {
	o.rerank(v, f.Kind)
	id := o.firstJob(pool, f.Kind)
	if f.Rule == trace.RuleNone {
		f.Rule = RuleFairShare
		if key := o.poolKey(v, pool, f.Kind); key.needy {
			f.Rule = RuleMinShare
		}
	}
	g := slots.Grant{Slot: slots.NoSlot, Job: id, Kind: f.Kind, Task: slots.NoTask, Rule: f.Rule, Move: f.Move}
	if f.Kind == slots.Map && !anywhere {
		g.Locality = o.wait.allowed(v, id)
	}
	// A ranked job without pending tasks has a running task that is worth a copy.
	if o.copies != nil && v.Job(id).Pending(f.Kind) == 0 {
		c, ok := o.copy(v, &g)
		if !ok {
			o.skip(v, d, pool, skipped{id, f.Kind, slots.RefusedSameHost, true})
			return false
		}
		numbers = func(slots.PoolID) []slots.Number { return copyNumbers(&c) }
	}
	if o.ask(v, d, pool, g, numbers) {
		return true
	}
	o.skip(v, d, pool, skipped{id, f.Kind, d.Refused(), g.Speculative})
	return false
}

// GrantLocal is Slot PreScheduling [DynamicMR14, "slot prescheduling"]. It starts a map of the
// first job of the first pool. A pending map of that job must have its input on the visited tracker. If the job
// has no pending map, GrantLocal starts a copy under the same condition. It reports whether a map started.
func (o *Order) GrantLocal(v *slots.View, d *slots.Decision, numbers Numbers) bool {
	const k = slots.Map
	o.rerank(v, k)
	pool, ok := o.pools[k].First()
	if !ok {
		return false
	}
	id := o.firstJob(slots.PoolID(pool), k)
	g := slots.Grant{Slot: slots.NoSlot, Job: id, Kind: k, Task: slots.NoTask, Rule: trace.RulePreScheduled, Locality: slots.LevelTracker}
	if v.Job(id).Pending(k) == 0 {
		c, ok := o.copy(v, &g)
		if !ok || v.LocalTask(id, c.Attempt.Task, v.Tracker()) != slots.LevelTracker {
			return false
		}
		numbers = func(slots.PoolID) []slots.Number { return copyNumbers(&c) }
	} else if v.Local(id, v.Tracker()) != slots.LevelTracker {
		return false
	}
	return o.ask(v, d, slots.PoolID(pool), g, numbers)
}

// firstJob returns the first job of a pool that is ranked.
func (o *Order) firstJob(pool slots.PoolID, k slots.Kind) slots.JobID {
	n, _ := o.jobs[k][pool].First()
	return o.members[pool][n]
}

// ask asks the Ledger for a grant to a job of a pool, with its reason, and reports whether the Ledger
// applied it. Then ask updates waits, copies and rankings.
func (o *Order) ask(v *slots.View, d *slots.Decision, pool slots.PoolID, g slots.Grant, numbers Numbers) bool {
	if d.WantsReason() {
		d.Because(o.why(v, pool, g.Job, g.Kind, numbers))
	}
	if !d.Grant(g) {
		return false
	}
	if g.Kind == slots.Map && !g.Speculative {
		o.wait.launched(g.Job, d.Started().Locality)
	}
	if o.copies != nil {
		o.copies.Started(v, d.Started())
	}
	o.Update(v)
	return true
}

// skip takes a job out of the rankings until the visit ends. A task of another job may get the
// slot, because the reason concerns this job alone. For example, the deadlock guard refused its
// reduce, its tasks failed on this tracker, or it waits for a local slot.
func (o *Order) skip(v *slots.View, d *slots.Decision, pool slots.PoolID, s skipped) {
	if s.why == slots.RefusedLocality {
		o.wait.skip(v, d, s.job)
	}
	o.skipped = append(o.skipped, s)
	o.jobs[s.kind][pool].Remove(o.numberOf(v, s.job))
	o.rankPool(v, pool, s.kind)
}

// Recall ranks the jobs again that were skipped for one reason, and reports
// whether there were any.
func (o *Order) Recall(v *slots.View, why slots.Refusal) bool {
	kept := o.skipped[:0]
	for _, s := range o.skipped {
		if s.why == why {
			o.rankAgain(v, s.job, s.kind)
		} else {
			kept = append(kept, s)
		}
	}
	recalled := len(kept) < len(o.skipped)
	o.skipped = kept
	return recalled
}

// rankAgain ranks a job and its pool again.
func (o *Order) rankAgain(v *slots.View, id slots.JobID, k slots.Kind) {
	j := v.Job(id)
	o.rank(v, j, k)
	o.rankPool(v, o.placeOf(j), k)
}

// copy turns a grant for a job without pending tasks into a grant of a copy. It returns the
// task to copy, and false if the job has none for the visited tracker.
func (o *Order) copy(v *slots.View, g *slots.Grant) (candidate, bool) {
	c, ok := o.copies.pick(v, g.Job, g.Kind)
	if ok {
		g.Task = c.Attempt.Task
		g.Speculative = true
		g.Locality = slots.LevelAny
		g.Rule, g.Move = RuleSpeculative, slots.MoveIfLent
	}
	return c, ok
}

// Skips lists the jobs whose tasks of a kind are left out until the visit ends. It is for
// policies without an Order. The zero value has none.
type Skips struct {
	jobs []skipped
	of   [trace.Kinds][]bool // by kind and job: the tasks are skipped
}

// Add skips the tasks of kind k of a job. why is the refusal of the Ledger. Granted means that
// the policy itself holds the tasks back.
func (s *Skips) Add(id slots.JobID, k slots.Kind, why slots.Refusal) {
	s.jobs = append(s.jobs, skipped{job: id, kind: k, why: why})
	*At(&s.of[k], id) = true
}

// Grant asks the Ledger for a grant, with its reason, and reports whether the Ledger applied it. If not, the
// tasks of its kind are skipped.
func (s *Skips) Grant(d *slots.Decision, g slots.Grant, why func() slots.Why) bool {
	if d.WantsReason() {
		d.Because(why())
	}
	if d.Grant(g) {
		return true
	}
	s.Add(g.Job, g.Kind, d.Refused())
	return false
}

// Has reports whether tasks of kind k of a job are skipped.
func (s *Skips) Has(id slots.JobID, k slots.Kind) bool {
	return int(id) < len(s.of[k]) && s.of[k][id]
}

// Why returns in words why the Ledger refused the first of the skipped tasks of kind k, or ""
// if it refused none.
func (s *Skips) Why(k slots.Kind) string { return refusedBecause(s.jobs, k) }

// End ends a visit and empties s. It calls rank with each job that was skipped, so that the
// policy ranks the job again.
func (s *Skips) End(rank func(id slots.JobID)) {
	for _, o := range s.jobs {
		s.of[o.kind][o.job] = false
		rank(o.job)
	}
	s.jobs = s.jobs[:0]
}

// Beaten returns the first jobs of a ranking but the winner, at most slots.MostBeaten. why
// returns the reason for each, in words.
func Beaten[K any](r *slots.Ranking[K], winner slots.JobID, v *slots.View, why func(j slots.JobView) string) (all []slots.Beaten) {
	for _, id := range r.Firsts(nil, slots.MostBeaten+1) {
		if j := v.Job(slots.JobID(id)); j.ID() != winner && len(all) < slots.MostBeaten {
			all = append(all, slots.Beaten{Pool: j.Pool(), Job: j.ID(), Why: why(j)})
		}
	}
	return all
}

// Phased is a policy that opens extra slots and decides by the phases of attempts.
type Phased interface {
	slots.Policy
	slots.Opener
	slots.PhaseGate
	slots.Observer
	slots.Selective
}

// MapsDone reports whether all maps of the job are done, so that its reduces need not
// wait. It may become false again if the output of a map is lost.
func MapsDone(j slots.JobView) bool { return j.Sealed() && j.Done(slots.Map) == j.Total(slots.Map) }

// At returns a pointer to element i of a list, which grows as far as needed. New elements are
// zero. The pointer is valid until the list grows.
func At[T any, I ~int32](list *[]T, i I) *T {
	if missing := int(i) + 1 - len(*list); missing > 0 {
		*list = append(*list, make([]T, missing)...)
	}
	return &(*list)[i]
}
