// Package yarn is MapReduce's allocator on YARN, the policy yarn (Hadoop 2.6,
// RMContainerAllocator). It also has the base of all policies on containers (Base); the
// others are in packages omo and fresh.
//
// The slots of these policies take any task. A container is a slot, whatever its
// home kind [OMO21, section III]. As in the Hadoop that [OMO21] changed, a heartbeat
// starts one task. With heartbeat 0 trackers are visited in turn until nothing is left
// to start, so that few tasks spread evenly.
//
// The policies measure from the Ledger's facts alone (policy.Measures): the times of tasks, the
// sizes of map outputs, the speed of copying. Memory: a policy owns its Base, a few words per
// job and slot.
package yarn

import (
	"cmp"
	"fmt"
	"slices"

	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/trace"
)

// YARN is MapReduce's allocator on YARN (Hadoop 2.6, RMContainerAllocator), one for
// each job, with one task per container. Containers go to jobs by fair order. Inside a
// job, reduces go before maps as long as the ramp-up allows more reduces. Reduces that keep
// all maps of their job from running are killed.
type YARN struct {
	Base
	options policy.Options
	fair    slots.Ranking[Fewest]   // jobs with a task to start
	hungry  slots.Ranking[struct{}] // jobs with pending maps, no running map, and running reduces; by id
}

// New returns the policy yarn. It is a slots.Observer only with containers of resources, because
// the Ledger asks an observer more often.
func New(o policy.Options) slots.Policy {
	if o.Containers == OfResources {
		return observer{&YARN{options: o}}
	}
	return &YARN{options: o}
}

// observer is the policy with containers of resources.
type observer struct{ *YARN }

// Observe implements slots.Observer.
func (y observer) Observe(f slots.Fact) { y.Nodes.Released(&f) }

// Reset implements slots.Policy.
func (y *YARN) Reset() {
	*y = YARN{options: y.options, fair: NewRanking()}
	y.Nodes = NewNodes(y.options.Containers)
	y.hungry.Less = func(_, _ *struct{}) bool { return false }
}

// ruleRampUp is the rule of reduces that go before maps.
const ruleRampUp slots.Rule = "ramp-up"

// Traits implements slots.Policy. A container has no kind.
func (y *YARN) Traits() slots.Traits {
	return slots.Traits{Name: "yarn", Uses: slots.JobWeight | slots.JobPriority, Lends: true, ByDemand: y.options.Containers == OfResources, Options: y.options, Rules: map[slots.Rule]string{
		RuleFewest: FewestWords,
		ruleRampUp: "its job has the fewest containers for its weight, and reduces go first as far as the maps that are done have ramped them up",
	}}
}

// Decide is one heartbeat of a node, which gets at most one container. If it gets none, reduces
// may be killed for maps.
func (y *YARN) Decide(v *slots.View, d *slots.Decision) {
	y.Update(v, y)
	started := v.FreeAt(v.Tracker()) > 0 && y.allocate(v, d)
	y.Decline(v, d, started, "the pending reduces are not ramped up yet")
	y.End(v, y)
	if !started {
		y.preempt(v, d)
		y.Nodes.Unblock(v, d)
	}
}

// allocate gives a container to the first job in fair order that may start a task, and reports
// whether one started.
func (y *YARN) allocate(v *slots.View, d *slots.Decision) bool {
	for {
		id, ok := First(&y.fair)
		if !ok {
			return false
		}
		g := slots.GrantOf(id, slots.Map, RuleFewest)
		switch j := v.Job(id); {
		case y.Startable(j, slots.Reduce) > 0 && y.rampedUp(v, j) && !(y.Nodes.On() && lacksMap(j)):
			g.Kind, g.Rule = slots.Reduce, ruleRampUp
		case y.Startable(j, slots.Map) == 0:
			y.KeepBack(id) // its maps are not ready, and its reduces wait for them
			y.Rank(v, j)
			continue
		}
		if y.Grant(v, d, y, g, func() slots.Why { return y.why(v, id) }) {
			return true
		}
	}
}

// rampedUp reports whether a job may start one more reduce. A job whose maps have all started
// may start all its reduces (Hadoop 2.6, RMContainerAllocator.scheduleReduces).
func (y *YARN) rampedUp(v *slots.View, j slots.JobView) bool {
	return Unstarted(j) == 0 || rampUp(y.limits(v, j)) > 0
}

// request has the numbers by which a job's allocator decides.
type request struct {
	total               int32 // the resource limit: containers of the job, and idle ones
	doneMaps, maps      int32 // numbers of done and of all maps
	wantedMaps, reduces int32 // numbers of maps that are not done, and of running reduces
}

// limits returns the request of a job as it is now.
func (y *YARN) limits(v *slots.View, j slots.JobView) request {
	return request{
		total:    Held(j) + y.Nodes.idle(v, j),
		doneMaps: j.Done(slots.Map), maps: j.Total(slots.Map),
		wantedMaps: Unstarted(j) + j.Running(slots.Map), reduces: j.Running(slots.Reduce),
	}
}

// rampUp returns how many more reduces a job may start; negative: it runs too many. The ideal
// reduce limit is total · min(share of maps done, maxReduceRampupLimit = 1/2), and the rest of
// total is the ideal map limit. If the maps need less than the map limit, reduces get the
// difference (Hadoop 2.6, RMContainerAllocator.scheduleReduces).
func rampUp(r request) int32 {
	num, den := int64(min(2*r.doneMaps, r.maps)), 2*int64(max(r.maps, 1))
	limit := int64(r.total) * num / den
	if total := int64(r.total); total*den-total*num >= int64(r.wantedMaps)*den {
		limit = total - int64(r.wantedMaps)
	}
	return int32(limit) - r.reduces
}

// preempt kills reduces of the jobs of y.hungry, as long as no container is idle. The reduces of
// such a job have all its containers while maps are pending (Hadoop 2.6,
// RMContainerAllocator.preemptReducesIfNeeded).
func (y *YARN) preempt(v *slots.View, d *slots.Decision) {
	for {
		id, ok := First(&y.hungry)
		if !ok || y.Nodes.idle(v, v.Job(id)) > 0 {
			return
		}
		y.hungry.Remove(int32(id)) // Rank adds it again when it changes; killed reduces need time to end
		y.preemptReduces(v, d, v.Job(id))
	}
}

// toPreempt returns how many reduces to kill: min(max(reduces for one map, half of the
// total), reduces for all maps), with maxReducePreemptionLimit = 1/2. A map needs one container.
func toPreempt(total, waitingMaps int32) int32 {
	return min(max(1, (total+1)/2), waitingMaps)
}

// preemptReduces kills reduces of a job, the newest first. Hadoop kills those with the least
// progress first. Reduces that wait for maps have copied what there is, so the newest have the
// least. If one is already being killed, it kills none, because that one gives room.
func (y *YARN) preemptReduces(v *slots.View, d *slots.Decision, j slots.JobView) {
	var victims []slots.SlotView
	for id := range slots.SlotID(v.Slots()) {
		s := v.Slot(id)
		switch {
		case !s.Busy || s.Attempt.Job != j.ID() || s.Attempt.Kind != slots.Reduce:
		case s.Killing:
			return
		default:
			victims = append(victims, s)
		}
	}
	slices.SortFunc(victims, func(a, b slots.SlotView) int {
		return cmp.Or(cmp.Compare(b.Started, a.Started), cmp.Compare(b.ID, a.ID))
	})
	n := min(toPreempt(Held(j), Unstarted(j)), int32(len(victims)))
	for _, s := range victims[:n] {
		if d.WantsReason() {
			d.Because(slots.Why{Numbers: append([]slots.Number{slots.Whole("reduces to preempt", n)}, requestNumbers(y.limits(v, j))...)})
		}
		d.Reclaim(s.ID)
	}
}

// Rank implements Ranker.
func (y *YARN) Rank(_ *slots.View, j slots.JobView) {
	maps, reduces := y.Startable(j, slots.Map), y.Startable(j, slots.Reduce)
	y.fair.Keep(int32(j.ID()), maps > 0 || reduces > 0, FewestOf(j))
	y.hungry.Keep(int32(j.ID()), lacksMap(j) && j.Running(slots.Reduce) > 0, struct{}{})
}

// lacksMap reports whether a map of a job is pending and none runs. With containers of resources
// such a job starts no reduce. Otherwise a reduce could take the resources of a killed reduce
// again, if these are too few for a map.
func lacksMap(j slots.JobView) bool { return j.Pending(slots.Map) > 0 && j.Running(slots.Map) == 0 }

// requestNumbers returns the numbers on which the ramp-up of a job's reduces depends.
func requestNumbers(r request) []slots.Number {
	return []slots.Number{
		slots.Whole("containers it has or could have", r.total), {Name: "share of maps done", Num: int64(r.doneMaps), Den: int64(max(r.maps, 1))},
		slots.Whole("maps wanted", r.wantedMaps), slots.Whole("reduces running", r.reduces), slots.Whole("reduces to ramp up", rampUp(r)),
	}
}

// why returns the reasons of a grant to a job.
func (y *YARN) why(v *slots.View, id slots.JobID) slots.Why {
	j := v.Job(id)
	return slots.Why{Numbers: append(FairNumbers(j), requestNumbers(y.limits(v, j))...), Beaten: policy.Beaten(&y.fair, id, v, Holds)}
}

// Base is the base of a policy whose slots take any task and whose visits start at most one
// task. It measures finished tasks, and has the policy rank jobs that have changed. A policy
// embeds it.
type Base struct {
	policy.Measures
	Nodes Nodes
	Slow  *policy.Stragglers // finds tasks to copy; nil: none are copied
	skips policy.Skips
	full  [trace.Kinds]bool // by kind: on this visit a task did not fit the tracker
}

// Ranker is the policy that embeds a Base. Rank updates the orderings of the policy for a job
// that may have changed.
type Ranker interface {
	Rank(v *slots.View, j slots.JobView)
}

// Update has r rank the jobs that have changed since the last call.
func (c *Base) Update(v *slots.View, r Ranker) {
	for _, id := range v.Changed() {
		if c.Slow != nil {
			c.Slow.Changed(v.Now(), v.Job(id))
		}
		r.Rank(v, v.Job(id))
	}
}

// Startable returns how many tasks of kind k of a job may start on this visit.
func (c *Base) Startable(j slots.JobView, k slots.Kind) int32 {
	if c.skips.Has(j.ID(), k) {
		return 0
	}
	return j.Pending(k)
}

// Grant starts a task of a job, and reports whether it did. why returns the reasons, and is
// called only while explanations are on. If the Ledger refuses the job, or if the tracker has
// no room for its task, the job is skipped until the visit ends.
func (c *Base) Grant(v *slots.View, d *slots.Decision, r Ranker, g slots.Grant, why func() slots.Why) bool {
	if !c.Nodes.fits(v, v.Job(g.Job), g.Kind) {
		c.full[g.Kind] = true
		c.skips.Add(g.Job, g.Kind, slots.Granted)
	} else if c.skips.Grant(d, g, why) {
		c.Start(v.Now(), d.Started().Slot)
		if c.Slow != nil {
			c.Slow.Started(v, d.Started())
		}
		c.Nodes.charge(v, d.Started().Slot, v.Job(g.Job), g.Kind)
		c.Update(v, r)
		return true
	}
	r.Rank(v, v.Job(g.Job))
	return false
}

// KeepBack skips the reduces of a job until the visit ends, because the policy itself holds them
// back.
func (c *Base) KeepBack(id slots.JobID) { c.skips.Add(id, slots.Reduce, slots.Granted) }

// End ends a visit. It has r rank the skipped jobs again.
func (c *Base) End(v *slots.View, r Ranker) {
	c.skips.End(func(id slots.JobID) { r.Rank(v, v.Job(id)) })
	c.full = [trace.Kinds]bool{}
}

// Held returns how many containers a job has.
func Held(j slots.JobView) int32 { return j.Running(slots.Map) + j.Running(slots.Reduce) }

// Total returns how many containers there are.
func Total(v *slots.View) int32 { return v.Capacity(slots.Map) + v.Capacity(slots.Reduce) }

// Idle returns how many containers run nothing.
func Idle(v *slots.View) int32 {
	return max(Total(v)-v.Running(slots.Map)-v.Running(slots.Reduce), 0)
}

// Unstarted returns m', how many of a job's maps have not started, or must start
// again.
func Unstarted(j slots.JobView) int32 {
	return max(j.Total(slots.Map)-j.Done(slots.Map)-j.Running(slots.Map), 0)
}

// Fewest is the key of fair order by containers [OMO21, "order by containers"]. The job
// with the fewest containers for its weight comes first, then the one that was
// submitted earlier, which has the lower id.
type Fewest struct{ containers, weight int64 }

// Less reports whether f comes before o. Products compare containers ÷ weight exactly.
func (f *Fewest) Less(o *Fewest) bool { return f.containers*o.weight < o.containers*f.weight }

// FewestOf returns the key of a job as it is now.
func FewestOf(j slots.JobView) Fewest { return Fewest{int64(Held(j)), int64(j.Weight())} }

// NewRanking returns an empty ranking in fair order.
func NewRanking() slots.Ranking[Fewest] { return slots.Ranking[Fewest]{Less: (*Fewest).Less} }

// First returns the first job of a ranking.
func First[K any](r *slots.Ranking[K]) (slots.JobID, bool) {
	id, ok := r.First()
	return slots.JobID(id), ok
}

// RuleFewest is the rule of policies that start a task of the job with the fewest
// containers.
const RuleFewest slots.Rule = "fewest-containers"

// FewestWords are the words of RuleFewest in explanations.
const FewestWords = "its job has the fewest containers for its weight, maps and reduces together"

// Holds says in words how many containers a job has.
func Holds(j slots.JobView) string {
	if n := Held(j); n != 1 {
		return fmt.Sprintf("it has %d containers", n)
	}
	return "it has 1 container"
}

// FairNumbers returns the numbers of a job on which fair order by containers depends.
func FairNumbers(j slots.JobView) []slots.Number {
	return []slots.Number{slots.Whole("containers of the job", Held(j)), slots.Decimal("weight", float64(j.Weight())/float64(slots.One))}
}

// Decline explains why a visit starts nothing more. started says whether it has started a task, and own is the
// reason of the policy if no other one holds.
func (c *Base) Decline(v *slots.View, d *slots.Decision, started bool, own string) {
	if d.WantsReason() {
		for k := range slots.Kind(trace.Kinds) {
			d.Decline(k, cmp.Or(policy.NoTask(v, k), policy.If(v.FreeAt(v.Tracker()) == 0, "no slot of the tracker is free"),
				policy.If(started, "a heartbeat starts one task"),
				policy.If(c.full[k], "the tracker has too little CPU or memory left, or reduces that wait would leave no room for maps"),
				c.skips.Why(k), own))
		}
	}
}
