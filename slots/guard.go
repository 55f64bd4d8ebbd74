package slots

import "mrlocal/trace"

// The deadlock guard (A9). Under a policy that lends map slots,
// reduces in their copy phase can hold every slot on which the maps they wait
// for could run. A waiting reduce is one whose job has unfinished maps; a
// map-capable slot is one that a map may use under the policy. The Ledger
//
//  1. refuses a grant after which every map-capable slot would hold a waiting
//     reduce (wouldDeadlock), and
//  2. where it happens all the same, because a map output was lost, kills the
//     newest waiting reduce once a map is pending, none runs and no map-capable
//     slot is free (guard). Until a map has started, no waiting reduce may take
//     a map-capable slot: else the policy could give the reduce its slot back.
//
// A free slot may be of no use: the map that pends failed there, or the policy's
// percentages or its even load keep maps from it. So part 2 holds as well when
// nothing runs but waiting reduces and nobody found anything to start (stuck). A
// reduce may then wait on a slot that drains: no map can have that, but a policy
// that counts tasks gives its place to none.
//
// Under slot weights a slot may be idle and its tracker full. Part 1 then leaves
// waiting reduces so much weight in all that one tracker at least has room for a
// map, and part 2 holds where no tracker has.
//
// YARN's allocator has the same rule (SPEC 1.13). It never ends otherwise
// useful work: a waiting reduce has reduced nothing yet.

// wouldDeadlock is part 1, for a reduce of j on s.
func (l *Ledger) wouldDeadlock(j *ledgerJob, s *ledgerSlot) bool {
	if !j.waiting || !l.capable(s) {
		return false
	}
	return l.guardKill && l.total.pending[Map] > 0 || l.total.heldWaiting+1 >= l.total.mapCapable ||
		l.weights.Bound() && l.weights.Times(Reduce, l.total.heldWaiting+1) > l.total.keeps
}

// keeps is the weight that waiting reduces may have of a tracker with so many
// home slots that a map still fits. All trackers are full of them only where they
// have more than that of all trackers together.
func (l *Ledger) keeps(home [2]int32) int32 {
	if !l.weights.Bound() {
		return 0
	}
	return max(l.weights.Sum(home)-l.weights.Of(Map), 0)
}

// mapFits: some tracker has room for the weight of a map.
func (l *Ledger) mapFits() bool {
	for i := range l.trackers {
		if t := &l.trackers[i]; t.freeSlots() > 0 && l.fits(t, l.weights.Of(Map)) {
			return true
		}
	}
	return !l.weights.Bound()
}

// fits: a tracker has room for so much weight; always where nothing has any.
func (l *Ledger) fits(t *tracker, w int32) bool { return !l.weights.Bound() || l.room(t) >= w }

// room is the weight that a tracker may still run.
func (l *Ledger) room(t *tracker) int32 { return l.weights.Room(t.cap, t.running) }

// guard is part 2, at the end of every Assign.
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
		if s.busy && (s.state == SlotOpen || stuck) && s.attempt.Kind == Reduce && s.beforeSort() && l.capable(s) &&
			l.jobs[s.attempt.Job].waiting && (newest == nil || s.seq > newest.seq) {
			newest = s
		}
	}
	if newest == nil { // all have copied what they need, and will end
		return
	}
	l.guardKill = true
	l.kill(newest, trace.RuleDeadlockGuard)
}

// beforeSort: what a reduce has done so far is to copy.
func (s *ledgerSlot) beforeSort() bool { return s.phase < PhaseSort || s.phase == PhaseHeld }

// stuck: slots are free and nothing will come of it. Every tracker was visited
// since the last change and was given nothing, nothing runs but waiting
// reduces, and the policy waits for no time.
func (l *Ledger) stuck() bool {
	return int(l.fruitless) >= len(l.trackers) && l.wake < 0 && l.total.waiting == l.total.running[Reduce]
}
