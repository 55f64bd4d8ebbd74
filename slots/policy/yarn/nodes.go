package yarn

import (
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/trace"
)

// Nodes count the resources that the containers of each tracker hold. A container is here a
// request for CPU and memory, and not a slot [OMO21, "containers of resources"]. As long as it
// runs, a map holds the map part of its job's profile, and a reduce the reduce part. The zero
// value counts nothing.
type Nodes struct {
	on   bool
	all  []node    // by tracker
	held []holding // by slot
}

// node is a tracker. used is the sum of the holdings of its running attempts.
type node struct {
	capacity, used slots.Vector
	lost           bool
}

// holding has the resources that the attempt on a slot holds, and the slot's tracker.
type holding struct {
	tracker slots.TrackerID
	needs   slots.Vector
}

// OfResources makes a container a request for CPU and memory (policy.Options.Containers).
const OfResources = "resources"

// NewNodes returns Nodes that count if the containers are those of policy.Options.
func NewNodes(containers string) Nodes { return Nodes{on: containers == OfResources} }

// On reports whether a container is a request for CPU and memory.
func (n *Nodes) On() bool { return n.on }

// See makes the nodes of the trackers at the first call of a run.
func (n *Nodes) See(v *slots.View) {
	for t := len(n.all); n.on && t < v.Trackers(); t++ {
		n.all = append(n.all, node{capacity: requested(v.CapacityOf(slots.TrackerID(t)))})
	}
}

// Request returns what a task of kind k of a job requests.
func Request(j slots.JobView, k slots.Kind) slots.Vector {
	p, _ := j.Profile()
	return requested([...]slots.Vector{slots.Map: p.Map, slots.Reduce: p.Reduce}[k])
}

// requested returns needs without I/O, which is not a resource of YARN.
func requested(needs slots.Vector) slots.Vector {
	return slots.Vector{CPU: needs.CPU, Memory: needs.Memory}
}

// Makes returns how many containers of a request fit into an amount of resources: the least
// of floor(amount / request) over the resources [OMO21, section IV-A]. It is 0 if the request
// is empty.
func Makes(amount, request slots.Vector) (n int64) {
	n = -1
	for _, r := range [][2]slots.PPM{{amount.CPU, request.CPU}, {amount.Memory, request.Memory}} {
		if r[1] > 0 && (n < 0 || int64(r[0]/r[1]) < n) {
			n = max(int64(r[0]/r[1]), 0)
		}
	}
	return max(n, 0)
}

// Free appends the free resources of each tracker to dst, by tracker. A lost tracker has none.
func (n *Nodes) Free(dst []slots.Vector) []slots.Vector {
	for t := range n.all {
		dst = append(dst, n.all[t].free())
	}
	return dst
}

// free returns the free resources of a tracker.
func (n *node) free() slots.Vector {
	if n.lost {
		return slots.Vector{}
	}
	return n.capacity.Minus(n.used)
}

// fits reports whether a task of kind k of a job may start on the visited tracker. Its request
// must be free there, and a reduce that waits for maps must leave room for them. A request that
// exceeds the capacity of the tracker counts as its whole capacity.
func (n *Nodes) fits(v *slots.View, j slots.JobView, k slots.Kind) bool {
	if !n.on {
		return true
	}
	n.See(v)
	at := &n.all[v.Tracker()]
	return at.used.Plus(Request(j, k).AtMost(at.capacity)).Fits(at.capacity) &&
		(k == slots.Map || policy.MapsDone(j) || n.leavesRoom(v, j))
}

// leavesRoom reports whether one more reduce of j may start on the visited tracker. Reduces that
// wait for maps must not keep these maps from running for ever. So some tracker must have room
// for the largest of these maps next to the reduces that wait there.
func (n *Nodes) leavesRoom(v *slots.View, j slots.JobView) bool {
	waiting, count, largest := n.waiting(v)
	t := v.Tracker()
	waiting[t], count[t] = waiting[t].Plus(Request(j, slots.Reduce)), count[t]+1
	largest = largest.AtLeast(Request(j, slots.Map))
	for t := range n.all {
		at := &n.all[t]
		open := v.CapacityAt(slots.TrackerID(t), slots.Map) + v.CapacityAt(slots.TrackerID(t), slots.Reduce)
		if !at.lost && count[t] < open && waiting[t].Plus(largest.AtMost(at.capacity)).Fits(at.capacity) {
			return true
		}
	}
	return false
}

// waiting returns the resources that waiting reduces hold and their number, both by tracker. It
// also returns the largest request of a map for which one of them waits, of each resource.
func (n *Nodes) waiting(v *slots.View) (held []slots.Vector, count []int32, largest slots.Vector) {
	held, count = make([]slots.Vector, len(n.all)), make([]int32, len(n.all))
	for id := range slots.SlotID(v.Slots()) {
		s := v.Slot(id)
		if !s.Busy || s.Attempt.Kind != slots.Reduce || policy.MapsDone(v.Job(s.Attempt.Job)) || int(id) >= len(n.held) {
			continue
		}
		held[s.Tracker] = held[s.Tracker].Plus(n.held[id].needs)
		count[s.Tracker]++
		largest = largest.AtLeast(Request(v.Job(s.Attempt.Job), slots.Map))
	}
	return held, count, largest
}

// charge counts the request of a task that was started on a slot of the visited tracker.
func (n *Nodes) charge(v *slots.View, s slots.SlotID, j slots.JobView, k slots.Kind) {
	if !n.on {
		return
	}
	at := &n.all[v.Tracker()]
	h := holding{v.Tracker(), Request(j, k).AtMost(at.capacity)}
	*policy.At(&n.held, s) = h
	at.used = at.used.Plus(h.needs)
}

// Released updates the holdings by a fact. If an attempt has ended, it returns the tracker and the
// resources that the attempt held, and true.
func (n *Nodes) Released(f *slots.Fact) (t slots.TrackerID, needs slots.Vector, ok bool) {
	switch {
	case !n.on:
		return 0, needs, false
	case f.Op == trace.OpLostTracker && f.A < int64(len(n.all)):
		n.all[f.A].lost, n.all[f.A].used = true, slots.Vector{}
		for i := range n.held {
			if n.held[i].tracker == slots.TrackerID(f.A) {
				n.held[i].needs = slots.Vector{}
			}
		}
	case policy.Freed(f) && int(f.Slot) < len(n.held):
		h := n.held[f.Slot]
		n.held[f.Slot].needs = slots.Vector{}
		n.all[h.tracker].used = n.all[h.tracker].used.Minus(h.needs)
		return h.tracker, h.needs, true
	}
	return 0, needs, false
}

// idle returns how many containers for maps of a job the cluster could start now.
func (n *Nodes) idle(v *slots.View, j slots.JobView) (sum int32) {
	if !n.on {
		return Idle(v)
	}
	n.See(v)
	request := Request(j, slots.Map)
	for t := range n.all {
		at := &n.all[t]
		if request := request.AtMost(at.capacity); request != (slots.Vector{}) {
			sum += min(int32(min(Makes(at.free(), request), 1<<20)), v.FreeAt(slots.TrackerID(t)))
		} else {
			sum += v.FreeAt(slots.TrackerID(t))
		}
	}
	return sum
}

// Unblock kills the newest reduce if only reduces that wait for maps run and a pending map has
// room on no tracker. That happens if the tracker with room for the map was lost.
func (n *Nodes) Unblock(v *slots.View, d *slots.Decision) {
	if !n.on || v.Pending(slots.Map) == 0 || v.Running(slots.Map) > 0 || v.Running(slots.Reduce) > v.Waiting() {
		return
	}
	_, _, largest := n.waiting(v)
	newest := slots.NoSlot
	for id := range slots.SlotID(v.Slots()) {
		s := v.Slot(id)
		if s.Busy && s.Killing {
			return
		}
		if s.Busy && (newest == slots.NoSlot || s.Started >= v.Slot(newest).Started) {
			newest = id
		}
	}
	for t := range n.all {
		at := &n.all[t]
		if !at.lost && v.FreeAt(slots.TrackerID(t)) > 0 && at.used.Plus(largest.AtMost(at.capacity)).Fits(at.capacity) {
			return
		}
	}
	if newest != slots.NoSlot {
		d.Reclaim(newest)
	}
}
