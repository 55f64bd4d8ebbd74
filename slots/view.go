package slots

import (
	"cmp"
	"time"
)

// View is the state that a policy decides on. The Ledger keeps it up to date in place, so it
// includes each grant at once. A View, and each JobView and PoolView taken from it, is valid
// until Decide returns; checked builds make it unusable then. Methods that take an id panic
// if nothing has that id.
type View struct {
	l *Ledger
}

// Now returns the time of this decision, from the start of the run.
func (v *View) Now() time.Duration { return v.l.now }

// Tracker returns the tracker that is being visited.
func (v *View) Tracker() TrackerID { return v.l.visited }

// Trackers returns the number of trackers.
func (v *View) Trackers() int { return len(v.l.trackers) }

// Pending returns how many tasks of kind k may start now. The reduces of a job count
// once its gate is open.
func (v *View) Pending(k Kind) int32 { return v.l.total.pending[k] }

// Running returns how many attempts of kind k run.
func (v *View) Running(k Kind) int32 { return v.l.total.running[k] }

// Waiting returns how many running reduces belong to jobs with unfinished maps.
func (v *View) Waiting() int32 { return v.l.total.waiting }

// CopyBandwidth returns Config.CopyBandwidth, in bytes per second; 0: not known.
func (v *View) CopyBandwidth() int64 { return v.l.config.CopyBandwidth }

// ParallelCopies returns how many map outputs a reduce copies at a time.
func (v *View) ParallelCopies() int32 {
	return cmp.Or(v.l.config.ParallelCopies, DefaultParallelCopies)
}

// Capacity returns how many open home slots of kind k there are.
func (v *View) Capacity(k Kind) int32 { return v.l.total.cap[k] }

// Weights returns what tasks weigh: 1 each if the policy has no weights.
func (v *View) Weights() Weights { return v.l.traits.Weights }

// Used returns the papers' count of used slots of kind k, added up over all trackers,
// in weight [DHFS13, section III-A].
func (v *View) Used(k Kind) int32 { return v.l.total.tally.Used[k] }

// LentBy returns the papers' count of slots of kind k that tasks of the other kind
// use, in weight. It adds up all trackers [DHFS13, "lent by tracker"].
func (v *View) LentBy(k Kind) int32 { return v.l.total.tally.Lent[k] }

// RunningAt returns how many attempts of kind k run on tracker t.
func (v *View) RunningAt(t TrackerID, k Kind) int32 { return v.l.trackers[t].running[k] }

// CapacityAt returns how many open home slots of kind k tracker t has.
func (v *View) CapacityAt(t TrackerID, k Kind) int32 { return v.l.trackers[t].cap[k] }

// UsedAt returns the papers' count of used slots of kind k on tracker t, in weight.
func (v *View) UsedAt(t TrackerID, k Kind) int32 { return v.l.trackers[t].tally.Used[k] }

// FreeAt returns how many open slots of tracker t are free, and no more than its weight
// has room for.
func (v *View) FreeAt(t TrackerID) int32 {
	tr := &v.l.trackers[t]
	if !v.l.traits.Weights.Bound() {
		return tr.freeSlots()
	}
	return min(tr.freeSlots(), v.l.room(tr)/v.l.traits.Weights.Lightest())
}

// RoomAt returns the weight that tracker t may still run.
func (v *View) RoomAt(t TrackerID) int32 { return v.l.room(&v.l.trackers[t]) }

// FreeHome returns how many open home slots of kind k of tracker t are free.
func (v *View) FreeHome(t TrackerID, k Kind) int32 { return int32(len(v.l.trackers[t].free[k])) }

// OpenExtra returns how many extra slots of tracker t are open.
func (v *View) OpenExtra(t TrackerID) int32 {
	tr := &v.l.trackers[t]
	return tr.open - tr.cap[Map] - tr.cap[Reduce]
}

// InPhase returns how many attempts on tracker t are in phase p.
func (v *View) InPhase(t TrackerID, p Phase) int32 { return v.l.trackers[t].phases[p] }

// CapacityOf returns what tracker t has of each resource: the whole of it, unless
// Config.Capacities says otherwise.
func (v *View) CapacityOf(t TrackerID) Vector { return v.l.config.Capacities.Of(int32(t)) }

// SlotsOf returns all slots of tracker t, in the order of ids. The slice belongs to the
// Ledger and must not be changed.
func (v *View) SlotsOf(t TrackerID) []SlotID { return v.l.trackers[t].slots }

// Local returns the best locality that a pending map of the job has on tracker t, in
// amortised O(1). It is LevelAny if inputs have no place. A map that failed before
// counts as LevelTracker everywhere, because the Ledger starts it first.
func (v *View) Local(id JobID, t TrackerID) Level { return v.l.local(v.l.jobs[id], t) }

// LocalTask returns the locality that one map of the job has on tracker t; LevelAny if its
// input has no place.
func (v *View) LocalTask(j JobID, n TaskID, t TrackerID) Level { return v.l.levelOf(v.l.jobs[j], n, t) }

// Placed reports whether the input of the job's maps has a place.
func (v *View) Placed(id JobID) bool { return v.l.placed(v.l.jobs[id]) }

// Group returns the group of tracker t; 0 if there are no groups.
func (v *View) Group(t TrackerID) int32 { return v.l.placement.Group(int32(t)) }

// Changed returns, once each, the jobs that have changed since the last call. The list is valid until the next
// call. Only the policy calls it, because a call forgets the changes.
func (v *View) Changed() []JobID {
	v.l.changed, v.l.told = v.l.told[:0], v.l.changed
	for _, id := range v.l.told {
		v.l.jobs[id].changed = false
	}
	return v.l.told
}

// Job returns a view of a job.
func (v *View) Job(id JobID) JobView { return JobView{v, id} }

// Pool returns a view of a pool.
func (v *View) Pool(id PoolID) PoolView { return PoolView{v, id} }

// Pools returns the number of pools.
func (v *View) Pools() int { return len(v.l.pools) }

// Slots returns the number of slots, open or not.
func (v *View) Slots() int { return len(v.l.slots) }

// LoadCap returns how many tasks of kind k tracker t takes under an even load.
// That is its share of all pending and running tasks, at most its capacity (Hadoop
// 1.0.3, CapBasedLoadManager without a maximal difference).
func LoadCap(v *View, t TrackerID, k Kind) int32 {
	return ShareOfLoad(v.Pending(k)+v.Running(k), v.CapacityAt(t, k), v.Capacity(k))
}

// SlotView is the state of a slot. The fields from Lent on have a meaning only if Busy
// is set.
type SlotView struct {
	Slot
	State    SlotState
	Busy     bool
	Lent     bool // the attempt is of the other kind than the slot's home kind
	Killing  bool // the Ledger has ordered the end of the attempt
	Advanced bool // a reduce that may leave its copy phase
	Attempt  AttemptID
	Phase    Phase
	Started  time.Duration

	Speculative bool // the attempt was started while another one of its task ran
}

// Slot returns the state of slot id.
func (v *View) Slot(id SlotID) SlotView { return v.l.slots[id].SlotView }

// RunningOn returns the attempt that runs on a slot, whether the Ledger has ordered its end, and
// whether it was started while another one of its task ran. ok is false if none runs. It is faster
// than Slot.
func (v *View) RunningOn(id SlotID) (a AttemptID, killing, speculative, ok bool) {
	s := &v.l.slots[id]
	return s.Attempt, s.Killing, s.Speculative, s.Busy
}

// JobView is a job as a policy sees it.
type JobView struct {
	v  *View
	id JobID
}

func (j JobView) job() *ledgerJob { return j.v.l.jobs[j.id] }

// ID returns the job's id. A job that was submitted earlier has a smaller id.
func (j JobView) ID() JobID { return j.id }

// Pool returns the job's pool.
func (j JobView) Pool() PoolID { return j.job().pool.id }

// User returns the user who submitted the job; "": none is known.
func (j JobView) User() string { return j.job().spec.User }

// Priority returns the job's priority.
func (j JobView) Priority() Priority { return j.job().spec.Priority }

// Weight returns the job's weight times the factor of its priority.
func (j JobView) Weight() PPM {
	s := &j.job().spec
	return max(1, s.Weight*s.Priority.Weight()/One)
}

// Deadline returns the time by which the job should be done, from the start of the
// run; 0: it has no deadline.
func (j JobView) Deadline() time.Duration { return j.job().spec.Deadline }

// Profile returns what the job's tasks need of a tracker, and whether the job has a
// profile. Without one it is DefaultProfile of the first tracker's home slots.
func (j JobView) Profile() (p Profile, given bool) { return j.v.l.JobProfile(j.id) }

// Runnable reports whether the running-job limits of its pool and user admit the job. A
// job that waits for them shows no pending tasks.
func (j JobView) Runnable() bool { return j.job().admitted }

// Submitted returns the time of the job's submission.
func (j JobView) Submitted() time.Duration { return j.job().times.Submit }

// Pending returns how many of the job's tasks of kind k may start now.
func (j JobView) Pending(k Kind) int32 { return j.job().side[k].visible }

// Running returns how many of its attempts of kind k run.
func (j JobView) Running(k Kind) int32 { return j.job().side[k].running }

// Done returns how many of its tasks of kind k are done.
func (j JobView) Done(k Kind) int32 { return j.job().side[k].done }

// Total returns how many tasks of kind k are known. The number of maps may grow until
// the job is sealed.
func (j JobView) Total(k Kind) int32 { return j.job().side[k].total }

// Sealed reports whether the number of maps is final.
func (j JobView) Sealed() bool { return j.job().sealed }

// Ended reports whether the job has succeeded, failed or was killed.
func (j JobView) Ended() bool { return j.job().state != Running }

// PoolView is a pool as a policy sees it.
type PoolView struct {
	v  *View
	id PoolID
}

func (p PoolView) pool() *ledgerPool { return p.v.l.pools[p.id] }

// Config returns the configuration of the pool, which must not be changed.
func (p PoolView) Config() *Pool { return &p.pool().Pool }

// Pending returns how many tasks of kind k of the pool's jobs may start now.
func (p PoolView) Pending(k Kind) int32 { return p.pool().pending[k] }

// Running returns how many attempts of kind k of the pool's jobs run.
func (p PoolView) Running(k Kind) int32 { return p.pool().running[k] }
