package ras

import (
	"fmt"
	"math"

	"mrlocal/slots"
	"mrlocal/trace"
)

// This file explains decisions in the paper's words. The policy calls it only while explanations
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
