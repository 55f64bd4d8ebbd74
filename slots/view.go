package slots

import (
	"time"

	"mrlocal/slots/demand"
)

// View is the state a policy decides on. It is maintained in place and always
// current: a grant shows at once. It, and the Jobs and Pools taken from it, are
// valid until Decide returns; checked builds empty it then.
type View struct {
	l *Ledger
}

// Now is the time of this decision.
func (v *View) Now() time.Duration { return v.l.now }

// Tracker is the one that is being visited.
func (v *View) Tracker() TrackerID { return v.l.visited }

// Trackers is how many there are.
func (v *View) Trackers() int { return len(v.l.trackers) }

// Pending is how many tasks of kind k may start now: ready, and reduces past
// their gate.
func (v *View) Pending(k Kind) int32 { return v.l.total.pending[k] }

// Running is how many attempts of kind k run.
func (v *View) Running(k Kind) int32 { return v.l.total.running[k] }

// Waiting is how many reduces run whose jobs have unfinished maps.
func (v *View) Waiting() int32 { return v.l.total.waiting }

// CopyBandwidth is Config.CopyBandwidth.
func (v *View) CopyBandwidth() int64 { return v.l.config.CopyBandwidth }

// Capacity is how many open slots have home kind k.
func (v *View) Capacity(k Kind) int32 { return v.l.total.cap[k] }

// Weights are what tasks weigh; all of them 1 where the policy has no weights.
func (v *View) Weights() demand.Weights { return v.l.weights }

// Used is the papers' used slots of kind k, summed over trackers (SPEC D4), in
// weight.
func (v *View) Used(k Kind) int32 { return v.l.total.tally.Used[k] }

// LentBy is the papers' count of slots of kind k that tasks of the other kind
// use, summed over trackers (SPEC A4), in weight.
func (v *View) LentBy(k Kind) int32 { return v.l.total.tally.Lent[k] }

// RunningAt, CapacityAt and UsedAt are the same of one tracker.
func (v *View) RunningAt(t TrackerID, k Kind) int32 { return v.l.trackers[t].running[k] }

// CapacityAt: see RunningAt.
func (v *View) CapacityAt(t TrackerID, k Kind) int32 { return v.l.trackers[t].cap[k] }

// UsedAt: see RunningAt.
func (v *View) UsedAt(t TrackerID, k Kind) int32 { return v.l.trackers[t].tally.Used[k] }

// FreeAt is how many open slots of a tracker are idle, as far as its weight has
// room for tasks on them.
func (v *View) FreeAt(t TrackerID) int32 {
	tr := &v.l.trackers[t]
	if !v.l.weights.Bound() {
		return tr.freeSlots()
	}
	return min(tr.freeSlots(), v.l.room(tr)/v.l.weights.Lightest())
}

// RoomAt is the weight that a tracker may still run.
func (v *View) RoomAt(t TrackerID) int32 { return v.l.room(&v.l.trackers[t]) }

// FreeHome is how many open slots of home kind k of a tracker are idle.
func (v *View) FreeHome(t TrackerID, k Kind) int32 { return int32(len(v.l.trackers[t].free[k])) }

// FreeExtra is how many open extra slots of a tracker are idle.
func (v *View) FreeExtra(t TrackerID) int32 {
	return int32(len(v.l.trackers[t].free[homeExtra]))
}

// OpenExtra is how many extra slots of a tracker are open.
func (v *View) OpenExtra(t TrackerID) int32 {
	tr := &v.l.trackers[t]
	return tr.open - tr.cap[Map] - tr.cap[Reduce]
}

// InPhase is how many attempts on a tracker are in a phase.
func (v *View) InPhase(t TrackerID, p Phase) int32 { return v.l.trackers[t].phases[p] }

// SlotsOf are all slots of a tracker, in the order of ids; not to be changed.
func (v *View) SlotsOf(t TrackerID) []SlotID { return v.l.trackers[t].slots }

// Local is the best locality that a pending map of a job has on a tracker, in
// O(1), amortised. LevelAny where its input has no place. A map that failed
// before counts as near everywhere.
func (v *View) Local(id JobID, t TrackerID) Level { return v.l.local(v.l.jobs[id], t) }

// Placed reports whether the input of the job's maps has a place.
func (v *View) Placed(id JobID) bool { return v.l.placed(v.l.jobs[id]) }

// Group is the group of trackers that t is in; 0 where there are none.
func (v *View) Group(t TrackerID) int32 { return v.l.placement.Group(int32(t)) }

// Changed appends to dst the jobs of which anything changed since the last
// call, each once.
func (v *View) Changed(dst []JobID) []JobID {
	for _, id := range v.l.changed {
		v.l.jobs[id].dirty = false
	}
	dst = append(dst, v.l.changed...)
	v.l.changed = v.l.changed[:0]
	return dst
}

// Job is a job; id must be one that was submitted.
func (v *View) Job(id JobID) JobView { return JobView{v, id} }

// Pool is a pool.
func (v *View) Pool(id PoolID) PoolView { return PoolView{v, id} }

// Pools is how many pools there are; they count from 0.
func (v *View) Pools() int { return len(v.l.pools) }

// Slots is how many slots there are, open or not.
func (v *View) Slots() int { return len(v.l.slots) }

// SlotView is a slot at this moment. What stands after Busy counts only then.
type SlotView struct {
	Slot
	State    SlotState
	Busy     bool
	Lent     bool
	Killing  bool // its end is ordered
	Advanced bool // a reduce that may leave its copy phase
	Attempt  AttemptID
	Phase    Phase
	Progress PPM
	Started  time.Duration

	Speculative bool // it was started as a copy of a running task
}

// Slot is the slot id at this moment.
func (v *View) Slot(id SlotID) SlotView {
	s := &v.l.slots[id]
	return SlotView{s.Slot, s.state, s.busy, s.lent, s.killing, s.advanced, s.attempt, s.phase, s.progress, s.started, s.speculative}
}

// Job is a job as a policy sees it.
type JobView struct {
	v  *View
	id JobID
}

func (j JobView) job() *ledgerJob { return j.v.l.jobs[j.id] }

// ID is the job's id: jobs that were submitted earlier have smaller ones.
func (j JobView) ID() JobID { return j.id }

// Pool is the job's pool.
func (j JobView) Pool() PoolID { return j.job().pool.id }

// Priority is the job's priority.
func (j JobView) Priority() Priority { return j.job().spec.Priority }

// Weight is the job's weight, its priority's factor included.
func (j JobView) Weight() PPM {
	s := &j.job().spec
	return max(1, s.Weight*s.Priority.Weight()/One)
}

// User is who submitted it.
func (j JobView) User() string { return j.job().spec.User }

// Deadline is when it should be done, from the start of the run; 0: whenever.
func (j JobView) Deadline() time.Duration { return j.job().spec.Deadline }

// Runnable reports whether the job is within the running-job limits of its
// pool and user; else it shows no pending tasks.
func (j JobView) Runnable() bool { return j.job().admitted }

// Submitted is when it was.
func (j JobView) Submitted() time.Duration { return j.job().times.Submit }

// Pending is how many of the job's tasks of kind k may start now.
func (j JobView) Pending(k Kind) int32 { return j.job().side[k].shown }

// Running is how many attempts of kind k run.
func (j JobView) Running(k Kind) int32 { return j.job().side[k].running }

// Done is how many tasks of kind k are done.
func (j JobView) Done(k Kind) int32 { return j.job().side[k].done }

// Total is how many tasks of kind k are known; of maps it may still grow.
func (j JobView) Total(k Kind) int32 { return j.job().side[k].total }

// Sealed reports whether the number of its maps is final.
func (j JobView) Sealed() bool { return j.job().sealed }

// Ended reports whether the job is not running any more.
func (j JobView) Ended() bool { return j.job().state != Running }

// PoolView is a pool as a policy sees it.
type PoolView struct {
	v  *View
	id PoolID
}

func (p PoolView) pool() *ledgerPool { return p.v.l.pools[p.id] }

// Config is what the pool was configured with.
func (p PoolView) Config() *Pool { return &p.pool().Pool }

// Pending is how many of the pool's tasks of kind k may start now.
func (p PoolView) Pending(k Kind) int32 { return p.pool().pending[k] }

// Running is how many of its attempts of kind k run.
func (p PoolView) Running(k Kind) int32 { return p.pool().running[k] }
