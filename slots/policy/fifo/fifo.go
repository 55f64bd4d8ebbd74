// Package fifo is Hadoop's first scheduler, the simplest policy. The engine uses it if no
// policy is set. It lies outside of slots/policy because the engine imports no package below
// slots/policy.
//
// A FIFO owns two orderings of jobs and serves one Ledger at a time.
package fifo

import (
	"cmp"

	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/trace"
)

// FIFO is Hadoop 1.0.3, JobQueueTaskScheduler. It keeps slots typed: each runs tasks of its
// home kind. The first job in order of priority, submission and id that has a task gets the
// slot. A tracker takes its part of the load, ceil(load factor · capacity), so that few
// tasks spread evenly. In one heartbeat a tracker gets at most one reduce, and at most one
// map that is not near its input.
type FIFO struct {
	first [trace.Kinds]slots.Ranking[slots.Priority] // by kind: jobs with a pending task; of equals the smaller id comes first
	skips policy.Skips
}

// New returns the policy fifo.
func New() *FIFO { return &FIFO{} }

// Reset implements slots.Policy. It forgets all jobs, because those of a new run have the
// same ids.
func (f *FIFO) Reset() {
	*f = FIFO{}
	for k := range f.first {
		// Hadoop 1.0.3, SchedulingAlgorithms.FifoComparator: priority, then submission, which is the order
		// of ids.
		f.first[k].Less = func(a, b *slots.Priority) bool { return *a > *b }
	}
}

// ruleFIFO is the only rule by which the policy grants.
const ruleFIFO slots.Rule = "fifo"

// Traits implements slots.Policy.
func (*FIFO) Traits() slots.Traits {
	return slots.Traits{Name: "fifo", Uses: slots.JobPriority, Rules: map[slots.Rule]string{
		ruleFIFO: "the first job in order of priority and submission that has a task for this slot",
	}}
}

// Decide is one heartbeat (Hadoop 1.0.3, JobQueueTaskScheduler.assignTasks).
func (f *FIFO) Decide(v *slots.View, d *slots.Decision) {
	f.update(v)
	t := v.Tracker()
	for f.fits(v, d, t, slots.Map) && f.grantFirst(v, d, slots.Map) {
		// The rest is left to trackers that may be nearer to the input. Maps whose input has no
		// place are equally near everywhere.
		if s := d.Started(); s.Locality == slots.LevelAny && v.Placed(s.Attempt.Job) {
			d.Decline(slots.Map, "a heartbeat starts at most one map away from its input")
			break
		}
	}
	// Maps come first, as in Hadoop, and a second reduce waits for the next heartbeat.
	if f.fits(v, d, t, slots.Reduce) && f.grantFirst(v, d, slots.Reduce) {
		d.Decline(slots.Reduce, "a heartbeat starts at most one reduce")
	}
}

// fits reports whether a task of kind k is pending and the tracker has a free slot for it
// within its part of the load. If not, it declines the kind with the reason.
func (f *FIFO) fits(v *slots.View, d *slots.Decision, t slots.TrackerID, k slots.Kind) bool {
	if v.Pending(k) > 0 && v.FreeHome(t, k) > 0 && v.RunningAt(t, k) < slots.LoadCap(v, t, k) {
		return true
	}
	if d.WantsReason() {
		d.Decline(k, cmp.Or(policy.NoTaskOrSlot(v, k), "the tracker has its part of the load"), f.numbers(v, k)...)
	}
	return false
}

// numbers returns the numbers that a decision about kind k depends on.
func (f *FIFO) numbers(v *slots.View, k slots.Kind) []slots.Number {
	t := v.Tracker()
	all := []slots.Number{
		{Name: "pending " + k.String() + "s", Num: int64(v.Pending(k))},
		{Name: "running on the tracker", Num: int64(v.RunningAt(t, k))},
		{Name: "the tracker's part of the load", Num: int64(slots.LoadCap(v, t, k))},
	}
	if c := int64(v.Capacity(k)); c > 0 {
		all = append(all, slots.Number{Name: k.String() + " load factor", Num: int64(v.Pending(k)) + int64(v.Running(k)), Den: c})
	}
	return all
}

// why returns the reasons of a grant to winner, the first job of the order. The beaten
// candidates are the next jobs of the order. It takes jobs out of the ranking to reach the
// next ones, and puts them back.
func (f *FIFO) why(v *slots.View, k slots.Kind, winner slots.JobID) slots.Why {
	return slots.Why{Numbers: f.numbers(v, k), Beaten: policy.Beaten(&f.first[k], winner, v, func(j slots.JobView) string {
		if j.Priority() < v.Job(winner).Priority() {
			return "its priority is lower"
		}
		return "it was submitted later"
	})}
}

// grantFirst starts a task of the first job that the Ledger does not refuse. It reports
// whether a task started. It ranks the refused jobs again for the next grant.
func (f *FIFO) grantFirst(v *slots.View, d *slots.Decision, k slots.Kind) (granted bool) {
	for !granted {
		id, ok := f.first[k].First()
		if !ok {
			break
		}
		g := slots.GrantOf(slots.JobID(id), k, ruleFIFO)
		granted = f.skips.Grant(d, g, func() slots.Why { return f.why(v, k, g.Job) })
		if !granted {
			f.first[k].Remove(id)
		}
	}
	f.skips.End(func(id slots.JobID) { f.rank(v, id) })
	f.update(v)
	return granted
}

// update ranks the jobs that have changed since the last call.
func (f *FIFO) update(v *slots.View) {
	for _, id := range v.Changed() {
		f.rank(v, id)
	}
}

// rank keeps a job in the order of each kind of which it has pending tasks.
func (f *FIFO) rank(v *slots.View, id slots.JobID) {
	j := v.Job(id)
	for k := range f.first {
		f.first[k].Keep(int32(id), j.Pending(slots.Kind(k)) > 0, j.Priority())
	}
}
