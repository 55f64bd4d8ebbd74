package slots

import "mrlocal/trace"

// The deadlock guard [DHFS13, "deadlock guard"]. Under a policy that lends map slots, reduces in
// their copy phase can hold every map-capable slot. Then the maps that they wait for cannot run. A
// waiting reduce is a running reduce whose job has unfinished maps. A map-capable slot is one on
// which the policy may put a map. The guard has two parts:
//
//  1. The Ledger refuses a grant after which every map-capable slot would hold a
//     waiting reduce (wouldDeadlock).
//  2. If the output of a map is lost, waiting reduces can hold all map-capable slots in
//     spite of part 1. If then a map is pending, no map runs and no map-capable slot is
//     free, the Ledger kills the newest waiting reduce (guard). Until a map has started, no
//     waiting reduce may take a map-capable slot. Otherwise the policy could give the slot
//     back to the reduce.
//
// A free slot may be of no use. For example, the pending map failed on its tracker, or the
// percentages or the even load of the policy keep maps off it. So part 2 also applies if only
// waiting reduces run and every tracker was visited in vain (stuck). The Ledger may then
// kill a reduce on a draining slot. No map can have that slot, but a policy that counts
// tasks lets a map start once the reduce has ended.
//
// Under slot weights a slot can be free while its tracker is full. Part 1 then limits
// the weight of all waiting reduces, so that at least one tracker has room for a map.
// Part 2 applies if no tracker has room.
//
// MapReduce's allocator on YARN has the same rule (Hadoop 2.6,
// RMContainerAllocator.preemptReducesIfNeeded). The guard discards only copied data, because
// a waiting reduce has not called its reducer yet.

// wouldDeadlock is part 1: it reports whether a reduce of j must not start on s.
func (l *Ledger) wouldDeadlock(j *ledgerJob, s *ledgerSlot) bool {
	return j.waiting && l.mapCapable(s) && (l.mapFirst && l.total.pending[Map] > 0 ||
		l.total.heldWaiting+1 >= l.total.mapCapable ||
		l.traits.Weights.Bound() && l.traits.Weights.Times(Reduce, l.total.heldWaiting+1) > l.total.reduceRoom)
}

// reduceRoom returns the weight that waiting reduces may have on a tracker with the given
// home slots, so that a map still fits. As long as they have no more than the sum over
// all trackers, some tracker has room for a map.
func (l *Ledger) reduceRoom(home [2]int32) int32 {
	if !l.traits.Weights.Bound() {
		return 0
	}
	return max(l.traits.Weights.Sum(home)-l.traits.Weights.Of(Map), 0)
}

// mapFits reports whether some tracker with a free slot has room for the weight of a
// map.
func (l *Ledger) mapFits() bool {
	for i := range l.trackers {
		if t := &l.trackers[i]; t.freeSlots() > 0 && l.fits(t, l.traits.Weights.Of(Map)) {
			return true
		}
	}
	return !l.traits.Weights.Bound()
}

// fits reports whether a tracker has room for weight w. Without weights it returns true.
func (l *Ledger) fits(t *tracker, w int32) bool { return !l.traits.Weights.Bound() || l.room(t) >= w }

// room returns the weight that a tracker may still run.
func (l *Ledger) room(t *tracker) int32 { return l.traits.Weights.Room(t.cap, t.running) }

// guard is part 2. It runs at the end of every Assign.
func (l *Ledger) guard() {
	t := &l.total
	stuck := l.stuck()
	if t.pending[Map] == 0 || t.running[Map] > 0 || t.killing > 0 || t.heldWaiting+t.draining == 0 ||
		!stuck && (t.heldWaiting == 0 || t.freeCapable > 0 && l.mapFits()) {
		return
	}
	var newest *ledgerSlot
	for i := range l.slots {
		s := &l.slots[i]
		if s.Busy && (s.State == SlotOpen || stuck) && s.Attempt.Kind == Reduce && s.beforeSort() && l.mapCapable(s) &&
			l.jobs[s.Attempt.Job].waiting && (newest == nil || s.seq > newest.seq) {
			newest = s
		}
	}
	if newest == nil { // every waiting reduce is beyond its copy phase, so it ends without more maps
		return
	}
	l.mapFirst = true
	l.kill(newest, trace.RuleDeadlockGuard)
}

// beforeSort reports whether the reduce on s has only copied so far.
func (s *ledgerSlot) beforeSort() bool { return s.Phase < PhaseSort || s.Phase == PhaseHeld }

// stuck reports whether the run cannot go on by itself. Three conditions hold then. Every tracker
// was visited since the last change and got nothing. Only waiting reduces run. The policy has
// asked for no wake-up, or so many of them have led to nothing that no wait can be the reason.
func (l *Ledger) stuck() bool {
	return int(l.idleVisits) >= len(l.trackers) && (l.wake < 0 || l.vainWakes >= leastVainWakes+2*l.total.active) &&
		l.total.waiting == l.total.running[Reduce]
}

// leastVainWakes is how many wake-ups in a row the guard lets a policy have, and two more for each active
// job: a policy that waits for locality needs up to two for a job. A policy that looks for tasks to copy
// asks for wake-ups without end.
const leastVainWakes = 16

// When a reduce may start. Four things decide:
//
//   - The gate of its job, gateOpen. It opens once a share of the job's maps is done
//     (slowstart), and until then the job shows no pending reduces. The share is
//     Config.Slowstart, unless the policy has its own (Traits.OwnSlowstart).
//   - The policy, which grants reduces or does not.
//   - The deadlock guard, above, which refuses a reduce that would wait for maps on the
//     last slot that a map may use.
//   - Like any task: a free slot, running-job limits, earlier failures, weights
//     (Ledger.resolve).
//
// A reduce that has started leaves its copy phase when it has the output of all maps. If the
// policy is a PhaseGate, the policy decides when the reduce leaves it.

// gateOpen reports whether the job's reduces may start (Hadoop 1.0.3,
// JobInProgress.scheduleReduces). The number of its maps must be final, and ceil(slowstart
// · maps) of them done. The loss of a map's output may close the gate again.
func (j *ledgerJob) gateOpen(slowstart PPM) bool {
	return slowstart == 0 || j.sealed && j.side[Map].done >= slowstart.CeilOf(j.side[Map].total)
}

// setGate opens or closes the gate of j, and records it if j is running and has reduces.
func (l *Ledger) setGate(j *ledgerJob) {
	running := j.state == Running
	gate := running && j.gateOpen(l.config.Slowstart)
	if gate == j.gate {
		return
	}
	j.gate = gate
	if j.side[Reduce].total > 0 && running {
		e := jobEvent(trace.OpGate, j.id)
		e.Set(trace.OK, gate)
		l.recordDecision(e, trace.RuleNone)
	}
}
