package policy

import (
	"time"

	"mrlocal/slots"
)

// delay is delay scheduling (SPEC 1.6): a job that is offered a slot away from
// its data waits a little for a nearer one. It holds a job's allowed level back
// only; who comes first is the order's business. The zero value waits never.
//
// A heartbeat is an instant here: where all trackers are visited at one time,
// their offers are one.
type delay struct {
	wait     time.Duration                            // node delay, and rack delay once more; 0: off
	wakeless bool                                     // no slot ever idles because of a wait
	at       time.Duration                            // of the latest heartbeat
	visit    int64                                    // visits so far
	jobs     []patience                               // by job
	skipped  []slots.JobID                            // at the latest heartbeat
	starving func(v *slots.View, p slots.PoolID) bool // nil: no pool ever
}

// patience is where a job stands.
type patience struct {
	waited   time.Duration // timeWaitedForLocalMap
	launched int64         // the visit that last started a map of it
	hurry    uint8         // 0: lastMapLocalityLevel is NODE; 1: RACK; 2: ANY
	skipped  bool          // skippedAtLastHeartbeat
}

// beat is updateLocalityWaitTimes: a job that was skipped at the last heartbeat
// has waited from then to now. It costs the jobs that were skipped.
func (w *delay) beat(now time.Duration) {
	if w.wait == 0 {
		return
	}
	w.visit++
	if now == w.at {
		return
	}
	for _, id := range w.skipped {
		if p := &w.jobs[id]; p.skipped {
			p.waited += now - w.at
			p.skipped = false
		}
	}
	w.skipped, w.at = w.skipped[:0], now
}

func (w *delay) of(id slots.JobID) *patience {
	for int(id) >= len(w.jobs) {
		w.jobs = append(w.jobs, patience{})
	}
	return &w.jobs[id]
}

// allowed is getAllowedLocalityLevel: the least locality that a map of the job
// must have now. A pool that starves takes what it gets.
func (w *delay) allowed(v *slots.View, id slots.JobID) slots.Level {
	if w.wait == 0 || !v.Placed(id) || w.starving != nil && w.starving(v, v.Job(id).Pool()) {
		return slots.LevelAny
	}
	p := w.of(id)
	switch steps := int64(p.hurry) + int64(p.waited/w.wait); {
	case steps == 0:
		return slots.LevelTracker
	case steps == 1 && grouped(v):
		return slots.LevelGroup
	}
	return slots.LevelAny // Hadoop's default is one rack, which all of a cluster is near to
}

// grouped reports whether there are several groups of trackers.
func grouped(v *slots.View) bool {
	return v.Group(slots.TrackerID(v.Trackers()-1)) != v.Group(0)
}

// skip marks a job that was offered a slot and has nothing near enough, and
// wakes the Ledger when the job will take less.
func (w *delay) skip(v *slots.View, d *slots.Decision, id slots.JobID) {
	p := w.of(id)
	if !w.wakeless {
		d.WakeAt(v.Now() + w.wait - p.waited%w.wait)
	}
	if p.launched != w.visit && !p.skipped {
		p.skipped = true
		w.skipped = append(w.skipped, id)
	}
}

// launched is updateLastMapLocalityLevel.
func (w *delay) launched(id slots.JobID, level slots.Level) {
	if w.wait == 0 {
		return
	}
	*w.of(id) = patience{launched: w.visit, hurry: uint8(slots.LevelTracker - level)}
}
