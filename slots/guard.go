package slots

import "mrlocal/trace"

// The deadlock guard (DESIGN 5; SPEC A9). Under a policy that lends map slots,
// reduces in their copy phase can hold every slot on which the maps they wait
// for could run. A waiting reduce is one whose job has unfinished maps; a
// map-capable slot is one that a map may use under the policy. The Ledger
//
//  1. refuses a grant after which every map-capable slot would hold a waiting
//     reduce (wouldDeadlock), and
//  2. where it happens all the same, because a map output was lost, or because
//     what pends failed where a slot is free and may not go there again, kills
//     the newest waiting reduce once a map is pending, none runs and no slot is
//     free on which one may (guard). Until a map has started, no waiting reduce
//     may take a map-capable slot: else the policy could give the reduce its
//     slot back.
//
// YARN's allocator has the same rule (SPEC 1.13). It never ends otherwise
// useful work: a waiting reduce has reduced nothing yet.

// wouldDeadlock is part 1, for a reduce of j on s.
func (l *Ledger) wouldDeadlock(j *job, s *slot) bool {
	if !j.waiting || !l.capable(s) {
		return false
	}
	return l.guardKill && l.total.pending[Map] > 0 || l.total.heldWaiting+1 >= l.total.mapCapable
}

// guard is part 2, at the end of every Assign.
func (l *Ledger) guard() {
	t := &l.total
	if t.pending[Map] == 0 || t.running[Map] > 0 || t.killing > 0 || t.heldWaiting == 0 || t.freeCapable > 0 && l.mapFitsFree() {
		return
	}
	var newest *slot
	for i := range l.slots {
		s := &l.slots[i]
		if s.busy && s.state == SlotOpen && s.attempt.Kind == Reduce && l.capable(s) && l.jobs[s.attempt.Job].waiting &&
			(newest == nil || s.seq > newest.seq) && (l.failedJobs == 0 || l.mapFits(s.Tracker)) {
			newest = s
		}
	}
	if newest == nil {
		return
	}
	l.guardKill = true
	l.kill(newest, trace.RuleDeadlockGuard)
}

// mapFitsFree: some pending map may start on a free map-capable slot. That is so
// of any such slot while nothing has failed.
func (l *Ledger) mapFitsFree() bool {
	if l.failedJobs == 0 {
		return true
	}
	for i := range l.trackers {
		t := &l.trackers[i]
		free := len(t.free[Map]) + len(t.free[homeExtra])
		if l.lends {
			free += len(t.free[Reduce])
		}
		if free > 0 && l.mapFits(t.id) {
			return true
		}
	}
	return false
}

// mapFits: some pending map may start on a tracker. It walks all jobs: it is
// asked only when no map runs and something has failed.
func (l *Ledger) mapFits(at TrackerID) bool {
	for _, j := range l.jobs {
		if j.side[Map].shown > 0 && !l.blacklisted(j, at) && l.pick(j, Map, at, LevelAny) != NoTask {
			return true
		}
	}
	return false
}
