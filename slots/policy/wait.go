package policy

import (
	"time"

	"mrlocal/slots"
)

// Wait is delay scheduling [Delay10]: a job that is offered a slot away from its
// input waits a little for a nearer one. Wait only bounds which maps of a job may
// start; the Order decides which job comes first. With the zero value no job waits.
//
// All visits at one time count as one heartbeat. So if all trackers are visited at one time,
// a job skips one heartbeat.
type Wait struct {
	Delay    time.Duration                            // wait for a slot at the input, then once more for one in its group; 0: no wait
	Wakeless bool                                     // no slot is idle because of a wait, so no visit is needed when a wait ends
	Starving func(v *slots.View, p slots.PoolID) bool // the pool takes any slot; nil: no pool does

	most    int32         // the most home slots that were open
	at      time.Duration // of the latest heartbeat
	visit   int64         // visits so far
	jobs    []waiting     // by job
	skipped []slots.JobID // at the latest heartbeat
}

// waiting is the state of a job's wait, as in Hadoop 1.0.3, FairScheduler.JobInfo, whose
// names stand next to the fields.
type waiting struct {
	waited   time.Duration // timeWaitedForLocalMap
	launched int64         // the visit that last started a map of it
	relaxed  uint8         // steps below the input's tracker: lastMapLocalityLevel
	skipped  bool          // skippedAtLastHeartbeat
}

// beat starts a visit. It adds the time since the last heartbeat to the waits of the jobs that
// were skipped then (Hadoop 1.0.3, FairScheduler.updateLocalityWaitTimes). It costs O(jobs
// that were skipped).
func (w *Wait) beat(now time.Duration) {
	if w.Delay == 0 {
		return
	}
	w.visit++
	if now == w.at { // the same heartbeat, of another tracker
		return
	}
	for _, id := range w.skipped {
		if j := &w.jobs[id]; j.skipped {
			j.waited += now - w.at
			j.skipped = false
		}
	}
	w.skipped, w.at = w.skipped[:0], now
}

// of returns the wait of a job.
func (w *Wait) of(id slots.JobID) *waiting { return At(&w.jobs, id) }

// allowed returns the least locality that a map of the job must have now (Hadoop 1.0.3,
// FairScheduler.getAllowedLocalityLevel). The jobs of a pool that starves take any slot.
// With one group of trackers the second step is left out, because every tracker is in the
// group of every input.
func (w *Wait) allowed(v *slots.View, id slots.JobID) slots.Level {
	if w.Delay == 0 || !v.Placed(id) || w.Starving != nil && w.Starving(v, v.Job(id).Pool()) {
		return slots.LevelAny
	}
	j := w.of(id)
	// Each whole Delay of waiting allows one level less than the last map of the job had. A level that
	// only lost trackers have is worth no wait.
	switch steps := int64(j.relaxed) + int64(j.waited/w.Delay); {
	case steps == 0:
		return w.reach(v, id)
	case steps == 1 && v.Group(slots.TrackerID(v.Trackers()-1)) != v.Group(0): // there are groups
		return min(w.reach(v, id), slots.LevelGroup)
	}
	return slots.LevelAny
}

// reach returns the nearest level that a job can still have on a tracker with open slots. It costs
// O(trackers) if home slots are closed, as those of a lost tracker are.
func (w *Wait) reach(v *slots.View, id slots.JobID) (best slots.Level) {
	open := v.Capacity(slots.Map) + v.Capacity(slots.Reduce)
	if w.most = max(w.most, open); open == w.most {
		return slots.LevelTracker
	}
	for t := range slots.TrackerID(v.Trackers()) {
		if best < slots.LevelTracker && v.CapacityAt(t, slots.Map)+v.CapacityAt(t, slots.Reduce)+v.OpenExtra(t) > 0 {
			best = max(best, v.Local(id, t))
		}
	}
	return best
}

// skip marks a job that was offered a slot and has no map near enough. It asks for a visit at
// the time at which the job accepts the next lower level.
func (w *Wait) skip(v *slots.View, d *slots.Decision, id slots.JobID) {
	j := w.of(id)
	if !w.Wakeless {
		d.WakeAt(v.Now() + w.Delay - j.waited%w.Delay)
	}
	if j.launched != w.visit && !j.skipped {
		j.skipped = true
		w.skipped = append(w.skipped, id)
	}
}

// launched resets a job's wait after a map with this locality has started (Hadoop 1.0.3,
// FairScheduler.updateLastMapLocalityLevel). The next map may have the same level at once.
func (w *Wait) launched(id slots.JobID, level slots.Level) {
	if w.Delay == 0 {
		return
	}
	*w.of(id) = waiting{launched: w.visit, relaxed: uint8(slots.LevelTracker - level)}
}
