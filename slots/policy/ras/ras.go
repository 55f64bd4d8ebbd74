// Package ras holds RAS, the Resource-aware Adaptive Scheduler. It places tasks by their
// demand of a tracker's CPU, I/O and memory. Its aim is that each job meets its completion
// time goal, which is the deadline of the job here.
//
// Paper: Polo, Castillo, Carrera, Becerra, Whalley, Steinder, Torres, Ayguadé:
// Resource-aware Adaptive Scheduling for MapReduce Clusters, Middleware 2011 [RAS11];
// its page is docs/papers/ras11.md.
//
// The Placement Algorithm (placement.go) runs once in a control cycle. It finds how many
// maps and reduces of each job belong on each tracker: the matrices P^M and P^R. The Task
// Scheduler (scheduler.go) starts tasks towards that placement, whenever a slot is free,
// and never overloads a tracker. The formulas are in formulas.go, the state of a job in
// status.go. A slot is a job slot [RAS11, section 3]. The policy opens it for the tasks
// that are placed on its tracker, whatever its home kind.
//
// Feasibility [RAS11, eq. 6] means that the running tasks of a tracker need no more than the
// tracker has. It holds after every launch and every switch of a reduce from shuffle to
// reduce. Checked builds test it after each decision. A fact may break it: the reduces of a job
// need more when a map is dropped or restored. The policy then starts no task on that tracker until
// feasibility holds again.
//
// Memory: a RAS owns some words for each pair of a running job and a tracker.
package ras

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"mrlocal/internal/invariant"
	"mrlocal/internal/order"
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/trace"
)

// A control cycle is as long as the average map, within these bounds. The paper's cycle is
// tens of seconds, for maps of some minutes [RAS11, section 3.2].
const (
	leastCycle = 250 * time.Millisecond
	mostCycle  = 10 * time.Second
)

// RAS is the policy ras.
type RAS struct {
	options  policy.Options
	measures policy.Measures

	jobs      []*rasJob // active jobs, by id
	byID      []*rasJob // nil: not active
	nodes     []node    // by tracker
	trackerOf []int32   // by slot
	changed   []slots.JobID
	logs      logs

	candidates

	// Scratch of a placement.
	now    time.Duration
	order  []int32      // trackers in the order in which they get reducers
	counts []int32      // of the counting sort that makes order
	free   int          // number of trackers with a slot for one more reduce in shuffle
	least  slots.Vector // of each resource the least that a map needs

	// Reduces in shuffle that run.
	held    []held        // in the order of their starts
	ready   []held        // those of held whose job has done its maps, or is not known
	regroup bool          // ready is out of date: a job has done its maps, or has to run one again
	ended   bool          // held may be out of date: a reduce has ended
	denied  []uint32      // by slot: node.ends when its reduce did not fit; it need not be tried again until then
	blocked time.Duration // time since which only they run and nothing can start; negative: something can

	moved bool // this visit has started a task, or let a reduce switch
	lost  bool // some job has a map to run again (rasJob.reopened)
	tight bool // on this visit a map did not start because its copies have no room on another tracker

	// Watch gets each active job after each placement, with the utility of the job in it [RAS11, Fig. 5]. The utility
	// is -Inf for a job without a placed map. nil: nothing gets them.
	Watch func(now time.Duration, job slots.JobID, utility float64)

	// awake has the trackers on which something may start. On another tracker, no more tasks are
	// placed than run, or none of the placed tasks could start at the last look. Its result holds until
	// something on the tracker ends or advances, tasks are placed again, or a job needs less. So most visits need
	// no look.
	awake      order.Set[slots.TrackerID]
	explaining bool // explanations were on at the last visit

	next   time.Duration // end of the control cycle
	urgent bool          // tasks must be placed again before next
	stale  bool          // something has changed since the cycle began
}

// node is a tracker: its slots and capacity, and the tasks that are placed there.
type node struct {
	slots    []slots.SlotID
	home     int32 // number of home slots, which are always open
	capacity slots.Vector
	lost     bool
	opened   [2]int // number of home slots by kind
	extra    int    // number of extra slots that are open
	busy     int    // number of extra slots up to the last busy one

	load    slots.Vector // the needs of the placed tasks
	maps    slots.Vector // the part of load for maps
	copying slots.Vector // the needs of reduces in shuffle when all maps of their jobs are placed
	used    int32        // number of slots of placed tasks
	reduces int32        // number of placed reduces
	room    int32        // number of slots that are kept for maps
	jobs    []local      // jobs with tasks placed here, in no order; some may have none any more
	shuffle []*rasJob    // jobs with reduces in shuffle here; some may have none any more

	ends uint32 // counts what may give room: a task has ended or advanced, or a job needs less
}

var _ policy.Phased = (*RAS)(nil)

// New returns the policy ras.
func New(o policy.Options) *RAS { return &RAS{options: o} }

// Reset implements slots.Policy.
func (r *RAS) Reset() {
	*r = RAS{options: r.options, Watch: r.Watch, blocked: -1, candidates: newCandidates()}
}

// ruleLowestUtility is the only rule by which the policy grants.
const ruleLowestUtility slots.Rule = "lowest-utility"

// Traits implements slots.Policy. A job slot is for the task that is placed there
// [RAS11, section 3]. Reduces start as early as there is room, so that their shuffle
// runs along with the maps [RAS11, section 3.3].
func (r *RAS) Traits() slots.Traits {
	return slots.Traits{Name: "ras", Lends: true, OwnSlowstart: true, ByDemand: true, Options: r.options, Rules: map[slots.Rule]string{
		ruleLowestUtility: "the placement of this control cycle has it on this tracker, and there is room for it. Its job has the lowest utility of such jobs",
	}}
}

// Extra implements slots.Opener: as many slots as possible, because the placement sets
// the number of job slots [RAS11, section 3].
func (*RAS) Extra(_ [trace.Kinds]int32, most int) int { return most }

// HoldsCopy implements slots.PhaseGate: the Task Scheduler decides when a reduce
// switches from shuffle to reduce [RAS11, section 3.5].
func (*RAS) HoldsCopy() bool { return true }

// Observe implements slots.Observer. It is the Job Status Updater [RAS11, section 3.2]. It
// measures finished tasks, and notes which earlier results a fact may have made invalid.
func (r *RAS) Observe(f slots.Fact) {
	switch {
	case f.Op == trace.OpLostTracker:
		r.urgent, r.ended = true, true
		r.wakeUp()
	case f.Op == trace.OpFinish && f.Slot >= 0:
		known := average(r.measures.Of(slots.JobID(f.Job))) > 0
		r.measures.Finish(&f)
		r.urgent = r.urgent || !known && average(r.measures.Of(slots.JobID(f.Job))) > 0 // s_req can be estimated now
	}
	if f.Op == trace.OpFinish {
		r.wakeAt(f.Slot)
		r.ended = r.ended || f.Kind == slots.Reduce
	}
	switch {
	case f.Op == trace.OpLostTracker:
		for _, s := range r.jobs {
			r.unbar(s)
		}
	case f.Op == trace.OpFinish && !f.Has(trace.Killed) || f.Op == trace.OpLostOutput || f.Op == trace.OpDrop || f.Op == trace.OpRestore:
		if s := *policy.At(&r.byID, slots.JobID(f.Job)); s != nil {
			r.unbar(s)
		}
	}
}

// unbar lets the pending tasks of a job start on each tracker, because they may be other ones now.
func (r *RAS) unbar(s *rasJob) {
	if s.barred[slots.Map] != nil || s.barred[slots.Reduce] != nil {
		r.wakeUp()
	}
	s.barred = [trace.Kinds][]bool{}
}

// Decide is one heartbeat of a tracker. If a control cycle has ended, it places all tasks
// again. Then the Task Scheduler starts the placed tasks for which there is room.
func (r *RAS) Decide(v *slots.View, d *slots.Decision) {
	r.update(v)
	var before []slots.Vector
	if invariant.Enabled {
		before = r.loads(v)
	}
	if r.urgent || v.Now() >= r.next {
		r.controlCycle(v, d)
	}
	r.moved, r.explaining = false, d.Explaining()
	r.advance(v, d)
	r.killReopened(v, d)
	r.preempt(v, d)
	r.launch(v, d)
	r.unblock(v, d)
	r.wake(v, d)
	if invariant.Enabled {
		r.checkFeasible(v, before)
	}
}

// controlCycle places all tasks and begins a control cycle [RAS11, section 3.2].
func (r *RAS) controlCycle(v *slots.View, d *slots.Decision) {
	r.place(v)
	if r.Watch != nil {
		for _, s := range r.jobs {
			r.Watch(v.Now(), s.id, s.at(s.allotted).value())
		}
	}
	r.open(d)
	r.next = v.Now() + r.cycle()
	r.urgent, r.stale = false, false
}

// cycle returns T, the length of a control cycle [RAS11, "end of the map phase"].
func (r *RAS) cycle() time.Duration {
	if r.options.Cycle > 0 {
		return r.options.Cycle
	}
	return max(leastCycle, min(cmp.Or(average(&r.measures.All), mostCycle), mostCycle))
}

// wake asks for a visit at the end of the cycle if tasks are pending and something has
// changed since they were placed.
func (r *RAS) wake(v *slots.View, d *slots.Decision) {
	switch {
	case r.urgent: // the Ledger refused a placed task, which may be placed on another tracker
		d.WakeAt(v.Now() + 1)
	case r.stale && v.Pending(slots.Map)+v.Pending(slots.Reduce) > 0:
		d.WakeAt(r.next)
	}
}

// update updates the states of the jobs that have changed since the last call. It decides
// whether tasks must be placed again before the end of the cycle.
func (r *RAS) update(v *slots.View) {
	if r.nodes == nil {
		r.layOut(v)
	}
	r.changed = v.Changed()
	r.stale = r.stale || len(r.changed) > 0
	for _, id := range r.changed {
		j := v.Job(id)
		if active := !j.Ended() && j.Runnable(); active != (*policy.At(&r.byID, id) != nil) {
			r.urgent, r.regroup = true, true
			if !active {
				r.remove(id)
				continue
			}
			r.add(id)
		}
		s := r.byID[id]
		if s == nil {
			continue
		}
		begun := s.begun
		profile := s.profile
		done := s.mapsDone
		r.forget(s)
		if s.read(v, r.options.ShuffleMemory) {
			r.urgent = true
		}
		r.note(s)
		r.lost, r.regroup = r.lost || s.reopened, r.regroup || s.mapsDone != done
		// Tasks of the job may need less than before, so others may have room now.
		if s.begun < begun || s.profile != profile {
			r.wakeUp()
		}
	}
}

// NextVisit implements slots.Selective. After a start or an advance it asks for one more visit,
// because only a visit updates the states of jobs.
func (r *RAS) NextVisit(v *slots.View, t slots.TrackerID) slots.TrackerID {
	if r.urgent || r.moved || r.explaining || r.options.PreemptReduces || r.allHeld(v) {
		return t
	}
	next := r.awake.Next(t)
	if invariant.Enabled {
		r.checkAsleep(v, t, next)
	}
	return next
}

// wakeUp makes the next visit of each tracker look for tasks to start.
func (r *RAS) wakeUp() {
	for t := range r.nodes {
		r.wakeTracker(slots.TrackerID(t))
	}
}

// wakeTracker makes the next visit of a tracker look for tasks to start.
func (r *RAS) wakeTracker(t slots.TrackerID) {
	r.awake.Put(t, true)
	r.nodes[t].ends++
}

// wakeAt wakes the tracker of a slot, or all trackers if the slot is negative: not known.
func (r *RAS) wakeAt(slot int32) {
	switch {
	case r.nodes == nil:
	case slot < 0 || int(slot) >= len(r.trackerOf):
		r.wakeUp()
	default:
		r.wakeTracker(slots.TrackerID(r.trackerOf[slot]))
	}
}

// layOut makes the nodes of the trackers and their slots. It is called once, because neither
// changes during a run.
func (r *RAS) layOut(v *slots.View) {
	r.nodes = make([]node, v.Trackers())
	r.denied = make([]uint32, v.Slots())
	r.order = make([]int32, len(r.nodes))
	for id := range slots.SlotID(v.Slots()) {
		s := v.Slot(id)
		n := &r.nodes[s.Tracker]
		n.slots = append(n.slots, id)
		r.trackerOf = append(r.trackerOf, int32(s.Tracker))
		if !s.Extra {
			n.home++
			n.opened[s.Home]++
		}
	}
	for t := range r.nodes {
		r.nodes[t].capacity = v.CapacityOf(slots.TrackerID(t))
		r.wakeTracker(slots.TrackerID(t))
	}
}

// add makes the state of a job that has become active.
func (r *RAS) add(id slots.JobID) {
	s := &rasJob{id: id, logs: &r.logs}
	s.on = make([]placed, len(r.nodes))
	r.byID[id] = s
	// A job that was admitted late may have a smaller id than others.
	i, _ := r.find(id)
	r.jobs = slices.Insert(r.jobs, i, s)
}

// remove removes the state of a job that is not active any more.
func (r *RAS) remove(id slots.JobID) {
	r.forget(r.byID[id])
	r.byID[id] = nil
	i, _ := r.find(id)
	r.jobs = slices.Delete(r.jobs, i, i+1)
}

// find returns the index of a job in r.jobs, or the one that it would get there.
func (r *RAS) find(id slots.JobID) (int, bool) {
	return slices.BinarySearchFunc(r.jobs, id, func(s *rasJob, id slots.JobID) int { return cmp.Compare(s.id, id) })
}

// open opens as many job slots on each tracker as tasks are placed there [RAS11, section
// 3]. It never closes home slots, nor busy slots.
func (r *RAS) open(d *slots.Decision) {
	for t := range r.nodes {
		n := &r.nodes[t]
		extra := max(int(min(n.used, int32(len(n.slots)))-n.home), n.busy)
		if extra != n.extra && !n.lost {
			n.extra = extra
			d.Resize(slots.TrackerID(t), n.opened[slots.Map], n.opened[slots.Reduce], extra)
		}
	}
}

// What follows explains decisions in the paper's words. The policy calls it only while explanations
// are on (Decision.Explaining).

// share returns a share as a Number.
func share(name string, p slots.PPM) slots.Number {
	return slots.Number{Name: name, Num: int64(p), Den: int64(slots.One)}
}

// shown returns a utility as explanations show it, with two decimals.
func shown(u utility) string {
	if u <= none/2 {
		return "-∞"
	}
	return fmt.Sprintf("%.2f", math.Round(u.float()*100)/100)
}

// why returns the reasons of a launch. These are the terms of the job's utility, its placement,
// the needs of the task, and the free resources of the tracker. load is the needs of the
// running tasks.
func (r *RAS) why(v *slots.View, s *rasJob, k slots.Kind, load slots.Vector) slots.Why {
	n, t := &r.nodes[v.Tracker()], v.Tracker()
	j := v.Job(s.id)
	rest := n.capacity.Minus(load)
	needs := s.needs(k, n, s.mapsDone)
	w := slots.Why{Numbers: []slots.Number{
		slots.Whole("running maps", j.Running(slots.Map)), slots.Whole("s_req", s.required), slots.Whole("s_pend", s.left[slots.Map]), slots.Whole("s_alloc, placed", s.allotted[slots.Map]),
		slots.Whole("running reduces", j.Running(slots.Reduce)), slots.Whole("r_pend", s.left[slots.Reduce]),
		slots.Whole(fmt.Sprintf("%vs of the job placed on the tracker", k), s.on[t].tasks[k]), slots.Whole("of these running", s.here[k]),
		share("CPU it needs", needs.CPU), share("CPU left", rest.CPU), share("I/O it needs", needs.IO), share("I/O left", rest.IO),
		share("memory it needs", needs.Memory), share("memory left", rest.Memory),
	}}
	if s.left[slots.Reduce] > 0 {
		w.Numbers = append(w.Numbers, slots.Whole("maps of the job that run or are done", s.begun), share("I/O of each of its reduces that copies", s.copying(n, s.begun).IO))
	}
	for _, o := range r.jobs {
		if o != s && len(w.Beaten) < slots.MostBeaten && v.Job(o.id).Pending(slots.Map)+v.Job(o.id).Pending(slots.Reduce) > 0 {
			w.Beaten = append(w.Beaten, slots.Beaten{Pool: v.Job(o.id).Pool(), Job: o.id, Why: r.whyNot(v, s, o, n, int(t), load)})
		}
	}
	return w
}

// whyNot returns in words why a job with pending tasks was not chosen.
func (r *RAS) whyNot(v *slots.View, winner, s *rasJob, n *node, t int, load slots.Vector) string {
	if _, ok := r.startable(v, s, n, t, load); ok {
		return fmt.Sprintf("its utility is %s, and the winner's %s", shown(s.running(v)), shown(winner.running(v)))
	}
	if s.here[slots.Map] >= s.on[t].tasks[slots.Map] && s.here[slots.Reduce] >= s.on[t].tasks[slots.Reduce] {
		return "no more of it is placed on this tracker"
	}
	return "its tasks that are placed on this tracker have no room yet"
}

// decline explains the end of a visit: it declines both kinds with the reason. out has the last
// refusal of the Ledger by kind.
func (r *RAS) decline(v *slots.View, d *slots.Decision, t int, out [trace.Kinds]slots.Refusal) {
	load := r.running(v, t)
	rest := r.nodes[t].capacity.Minus(load)
	for k := range slots.Kind(trace.Kinds) {
		d.Decline(k, r.stopped(v, k, t, out[k]), share("CPU left", rest.CPU), share("I/O left", rest.IO), share("memory left", rest.Memory))
	}
}

// stopped returns in words why nothing more of kind k starts on tracker t.
func (r *RAS) stopped(v *slots.View, k slots.Kind, t int, refused slots.Refusal) string {
	missing := int32(0)
	for _, s := range r.jobs {
		if s.pending[k] > 0 {
			missing += max(s.on[t].tasks[k]-s.here[k], 0)
		}
	}
	switch {
	case v.Pending(k) == 0:
		return fmt.Sprintf("no %v is pending", k)
	case refused == slots.RefusedDeadlock:
		return "a slot must stay for the maps that the pending reduces wait for"
	case refused != slots.Granted:
		return fmt.Sprintf("the pending %vs failed on this tracker", k)
	case missing == 0:
		return fmt.Sprintf("the placement has no more %vs on this tracker", k)
	case v.FreeAt(v.Tracker()) == 0:
		return "no slot of the tracker is free"
	}
	return "the tasks that are placed on this tracker have no room until another task ends"
}
