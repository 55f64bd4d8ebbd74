package policy

import (
	"time"

	"mrlocal/slots"
)

// Wait is delay scheduling [Delay10]: a job that is offered a slot away from its
// input waits a little for a nearer one. It bounds only which maps of a job may
// start; the Order says which job comes first. The zero value never waits.
//
// A heartbeat is an instant: if all trackers are visited at one time, the job has
// skipped one heartbeat.
type Wait struct {
	Delay    time.Duration                            // for a slot at the input, then once more for one in its group; 0: off
	Wakeless bool                                     // no slot idles because of a wait, so no visit is needed when one ends
	Starving func(v *slots.View, p slots.PoolID) bool // the pool takes any slot; nil: no pool does

	at      time.Duration // of the latest heartbeat
	visit   int64         // visits so far
	jobs    []waiting     // by job
	skipped []slots.JobID // at the latest heartbeat
}

// waiting is how long a job has waited, as Hadoop 1.0.3, FairScheduler.JobInfo.
type waiting struct {
	waited   time.Duration // timeWaitedForLocalMap
	launched int64         // the visit that last started a map of it
	relaxed  uint8         // steps below the input's tracker: lastMapLocalityLevel
	skipped  bool          // skippedAtLastHeartbeat
}

// beat starts a visit: a job that was skipped at the last heartbeat has waited from
// then to now (Hadoop 1.0.3, FairScheduler.updateLocalityWaitTimes). It costs the
// jobs that were skipped.
func (w *Wait) beat(now time.Duration) {
	if w.Delay == 0 {
		return
	}
	w.visit++
	if now == w.at {
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

func (w *Wait) of(id slots.JobID) *waiting { return At(&w.jobs, id) }

// allowed is the least locality that a map of the job must have now (Hadoop 1.0.3,
// FairScheduler.getAllowedLocalityLevel). A pool that starves takes any slot. With
// one group of trackers, all trackers are as near as Hadoop's one default rack.
func (w *Wait) allowed(v *slots.View, id slots.JobID) slots.Level {
	if w.Delay == 0 || !v.Placed(id) || w.Starving != nil && w.Starving(v, v.Job(id).Pool()) {
		return slots.LevelAny
	}
	j := w.of(id)
	switch steps := int64(j.relaxed) + int64(j.waited/w.Delay); {
	case steps == 0:
		return slots.LevelTracker
	case steps == 1 && grouped(v):
		return slots.LevelGroup
	}
	return slots.LevelAny
}

// grouped reports whether there are several groups of trackers.
func grouped(v *slots.View) bool {
	return v.Group(slots.TrackerID(v.Trackers()-1)) != v.Group(0)
}

// skip marks a job that was offered a slot and has no map near enough. It asks for
// a visit when the job will take less.
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

// launched starts a job's wait anew after a map of this locality has started
// (Hadoop 1.0.3, FairScheduler.updateLastMapLocalityLevel).
func (w *Wait) launched(id slots.JobID, level slots.Level) {
	if w.Delay == 0 {
		return
	}
	*w.of(id) = waiting{launched: w.visit, relaxed: uint8(slots.LevelTracker - level)}
}
