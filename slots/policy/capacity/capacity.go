// Package capacity is the Capacity Scheduler of Hadoop 1.x on static, typed slots. It is the third
// scheduler that Hadoop ships, next to those of packages fifo and fair.
//
// Queues have parts of the slots of each kind (Pool.Capacity). What a queue does not use, others may
// use, up to their Pool.MaxCapacity: this is elasticity. A free slot goes to the queue that uses least
// of its capacity. In a queue the job that was submitted first goes first, unless its user is at the
// limit of a user.
//
// A pool with a capacity is a queue. All other pools together are the queue default, which has the
// rest of the slots (mapred.job.queue.name). A pool of the name default sets the limits of that queue, and
// its capacity if it has one. docs/papers/hadoop.md, "no priorities", says what is not built.
//
// Memory: a policy owns some words for each job, and some for each user of a queue.
package capacity

import (
	"cmp"
	"fmt"

	"mrlocal/internal/order"
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/trace"
)

// Capacity is the Capacity Scheduler (Hadoop 1.0.3, CapacityTaskScheduler).
type Capacity struct {
	queues []*queue  // the first is default
	left   slots.PPM // what the others leave of the capacity
	of     []*queue  // by pool
	jobs   []member  // by job
	skips  policy.Skips
}

// queue is a queue with its users (Hadoop 1.0.3, CapacitySchedulerQueue).
type queue struct {
	pool     slots.Pool // its name and its limits
	capacity slots.PPM
	users    map[string]*user
	kinds    [trace.Kinds]struct {
		running int32                  // its attempts
		active  int32                  // users with a job in waiting
		waiting order.IDs[slots.JobID] // jobs with a pending task
	}
}

// user has what the jobs of a user in a queue run, and how many of them have a pending task.
type user struct{ running, waitingJobs [trace.Kinds]int32 }

// member is a job as it is counted in its queue.
type member struct {
	queue   *queue // nil: queue and user are not set yet
	user    *user
	running [trace.Kinds]int32
	waits   [trace.Kinds]bool // a task is pending
}

// New returns the policy capacity.
func New() *Capacity { return &Capacity{} }

// Reset implements slots.Policy.
func (c *Capacity) Reset() {
	*c = Capacity{left: slots.One, queues: []*queue{{users: map[string]*user{}}}}
	c.addPool(slots.Pool{Name: slots.DefaultQueue})
	c.of = nil // a pool of this id is still to come
}

// ruleCapacity is the only rule by which the policy grants.
const ruleCapacity slots.Rule = "capacity"

// Traits implements slots.Policy.
func (*Capacity) Traits() slots.Traits {
	return slots.Traits{Name: "capacity", Uses: slots.PoolCapacity, Rules: map[slots.Rule]string{
		ruleCapacity: "its queue uses the least part of its capacity; there it is the first job whose user is below the limit",
	}}
}

// Decide is one heartbeat: maps for all free map slots, at most one of them away from its input, and one
// reduce (Hadoop 1.0.3, CapacityTaskScheduler.addMapTasks and addReduceTask).
func (c *Capacity) Decide(v *slots.View, d *slots.Decision) {
	c.update(v)
	near := false
	for v.FreeHome(v.Tracker(), slots.Map) > 0 && c.grant(v, d, slots.Map, near) {
		s := d.Started()
		near = near || s.Locality == slots.LevelAny && v.Placed(s.Attempt.Job)
	}
	started := v.FreeHome(v.Tracker(), slots.Reduce) > 0 && c.grant(v, d, slots.Reduce, false)
	if d.WantsReason() {
		c.decline(v, d, near, started)
	}
	c.skips.End(func(slots.JobID) {})
}

// grant starts a task of kind k of the first job that the Ledger does not refuse. It reports whether one
// started. With near it starts no map away from its input.
func (c *Capacity) grant(v *slots.View, d *slots.Decision, k slots.Kind, near bool) bool {
	for {
		q, id := c.first(v, k)
		if q == nil {
			return false
		}
		g := slots.GrantOf(id, k, ruleCapacity)
		if near && v.Placed(id) {
			g.Locality = slots.LevelGroup
		}
		if c.skips.Grant(d, g, func() slots.Why { return c.why(v, k, q, id) }) {
			c.update(v)
			return true
		}
	}
}

// first returns the queue that uses the least part of its capacity, and its first job that may start a task of
// kind k. Queues without such a job do not count; nil: there is none (Hadoop 1.0.3, TaskSchedulingMgr.assignTasks). Of
// equals the queue that comes first in the configuration goes first. In Hadoop a hash table decides.
func (c *Capacity) first(v *slots.View, k slots.Kind) (first *queue, job slots.JobID) {
	for _, q := range c.queues {
		// next takes longer, so the comparison comes first.
		if first != nil && !q.emptier(first, v, k) {
			continue
		}
		if id, ok := c.next(v, q, k); ok {
			first, job = q, id
		}
	}
	return first, job
}

// emptier reports whether q uses a smaller part of its capacity than o. A queue without capacity counts as
// one that uses all of it (Hadoop 1.0.3, TaskSchedulingMgr.QueueComparator).
func (q *queue) emptier(o *queue, v *slots.View, k slots.Kind) bool {
	parts := func(q *queue) (used, of int64) {
		if of = int64(q.slots(v, k)); of == 0 {
			return 1, 1
		}
		return int64(q.kinds[k].running), of
	}
	used, of := parts(q)
	otherUsed, otherOf := parts(o)
	return used*otherOf < otherUsed*of
}

// slots returns the capacity of the queue in slots of kind k, rounded down (Hadoop 1.0.3,
// SlotsUsage.updateCapacities).
func (q *queue) slots(v *slots.View, k slots.Kind) int32 {
	return q.capacity.Of(v.Capacity(k))
}

// most returns how many slots of kind k the queue may use, those that it borrows included (Hadoop 1.0.3,
// CapacitySchedulerQueue.assignSlotsToQueue). It is at least 1, so that each queue makes progress.
func (q *queue) most(v *slots.View, k slots.Kind) int32 {
	if q.pool.MaxCapacity == 0 {
		return v.Capacity(k)
	}
	return max(1, q.pool.MaxCapacity.Of(v.Capacity(k)))
}

// userLimit returns how many slots of kind k one user of the queue may use (Hadoop 1.0.3,
// CapacitySchedulerQueue.assignSlotsToJob). Active users are those with a pending task of the kind
// (SlotsUsage.updateSlotsUsage). They share the queue, but each may use the minimum user limit of it. Beyond its
// capacity a queue counts as one slot larger than what it uses. No user may use more than the capacity times the user
// limit factor.
func (q *queue) userLimit(v *slots.View, k slots.Kind) int32 {
	capacity := max(1, q.slots(v, k))
	size := capacity
	if running := q.kinds[k].running; running >= capacity {
		size = running + 1
	}
	active := max(1, q.kinds[k].active)
	share := max((size+active-1)/active, q.pool.MinUserLimit.CeilOf(size))
	// At least one slot, so that each user makes progress.
	return max(1, int32(min(int64(share), int64(capacity)*int64(q.pool.UserLimitFactor)/int64(slots.One))))
}

// next returns the first job of the queue that may start a task of kind k, and false if there is none
// (Hadoop 1.0.3, TaskSchedulingMgr.getTaskFromQueue).
func (c *Capacity) next(v *slots.View, q *queue, k slots.Kind) (slots.JobID, bool) {
	of := &q.kinds[k]
	if len(of.waiting) == 0 || of.running >= q.most(v, k) {
		return 0, false
	}
	limit := q.userLimit(v, k)
	for _, id := range of.waiting {
		if c.jobs[id].user.running[k] < limit && !c.skips.Has(id, k) {
			return id, true
		}
	}
	return 0, false
}

// update counts the jobs that have changed since the last call.
func (c *Capacity) update(v *slots.View) {
	for _, id := range v.Changed() {
		j := v.Job(id)
		m := policy.At(&c.jobs, id)
		if m.queue == nil {
			c.list(v, j, m)
		}
		q, u := m.queue, m.user
		for k := range slots.Kind(trace.Kinds) {
			q.kinds[k].running += j.Running(k) - m.running[k]
			u.running[k] += j.Running(k) - m.running[k]
			m.running[k] = j.Running(k)
			if waits := j.Pending(k) > 0; waits != m.waits[k] {
				m.waits[k] = waits
				q.wait(u, k, id, waits)
			}
		}
	}
}

// wait adds a job of user u to those that wait, or takes it away. Jobs are in the order of submission, which is
// that of ids (Hadoop 1.0.3, CapacitySchedulerQueue.STARTTIME_JOB_COMPARATOR).
func (q *queue) wait(u *user, k slots.Kind, id slots.JobID, waits bool) {
	of := &q.kinds[k]
	if waits {
		of.waiting.Push(id)
		if u.waitingJobs[k]++; u.waitingJobs[k] == 1 {
			of.active++
		}
		return
	}
	of.waiting.Remove(id)
	if u.waitingJobs[k]--; u.waitingJobs[k] == 0 {
		of.active--
	}
}

// list sets the queue and the user of a job, which may be new.
func (c *Capacity) list(v *slots.View, j slots.JobView, m *member) {
	for p := slots.PoolID(len(c.of)); int(p) < v.Pools(); p++ {
		c.addPool(*v.Pool(p).Config())
	}
	m.queue = c.of[j.Pool()]
	if m.user = m.queue.users[j.User()]; m.user == nil {
		m.user = &user{}
		m.queue.users[j.User()] = m.user
	}
}

// addPool adds the next pool, and its queue if it is one of its own.
func (c *Capacity) addPool(p slots.Pool) {
	p.MinUserLimit, p.UserLimitFactor = cmp.Or(p.MinUserLimit, slots.One), cmp.Or(p.UserLimitFactor, slots.One)
	of := c.queues[0]
	switch {
	case p.Name == slots.DefaultQueue:
		of.pool = p
	case p.Capacity > 0:
		of = &queue{pool: p, capacity: p.Capacity, users: map[string]*user{}}
		c.queues = append(c.queues, of)
		c.left -= p.Capacity
	}
	c.of = append(c.of, of)
	c.queues[0].capacity = cmp.Or(c.queues[0].pool.Capacity, c.left)
}

// why returns the reasons of a grant to the first job of a queue, with the other jobs of the queue and the
// other queues that have a job.
func (c *Capacity) why(v *slots.View, k slots.Kind, q *queue, id slots.JobID) slots.Why {
	limit := q.userLimit(v, k)
	w := slots.Why{Numbers: []slots.Number{
		slots.Whole(fmt.Sprintf("%v slots that queue %s uses", k, q.pool.Name), q.kinds[k].running), slots.Whole("its capacity", q.slots(v, k)), slots.Whole("its maximum capacity", q.most(v, k)),
		slots.Whole("slots of the job's user", c.jobs[id].user.running[k]), slots.Whole("limit of a user", limit),
	}}
	for _, other := range q.kinds[k].waiting[:min(len(q.kinds[k].waiting), slots.MostBeaten)] {
		reason := "it was submitted later"
		if c.jobs[other].user.running[k] >= limit {
			reason = "its user is at the limit"
		}
		if other != id {
			w.Beaten = append(w.Beaten, slots.Beaten{Pool: v.Job(other).Pool(), Job: other, Why: reason})
		}
	}
	for _, o := range c.queues {
		if other, ok := c.next(v, o, k); ok && o != q {
			w.Beaten = append(w.Beaten, slots.Beaten{Pool: v.Job(other).Pool(), Job: other, Why: fmt.Sprintf("queue %s uses %d of %d", o.pool.Name, o.kinds[k].running, o.slots(v, k))})
		}
	}
	return w
}

// decline explains the end of a visit: why it starts nothing more of each kind.
func (c *Capacity) decline(v *slots.View, d *slots.Decision, near, started bool) {
	for k := range slots.Kind(trace.Kinds) {
		d.Decline(k, cmp.Or(policy.NoTaskOrSlot(v, k),
			policy.If(k == slots.Reduce && started, "a heartbeat starts at most one reduce"),
			policy.If(k == slots.Map && near, "a heartbeat starts at most one map away from its input"),
			c.skips.Why(k), "each queue is at its maximum capacity, or its users are at their limits"))
	}
}
