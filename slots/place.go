package slots

import (
	"slices"

	"mrlocal/trace"
)

// Startable reports whether map t may be chosen by its place, for mapIndex. A map
// that failed before may not: it goes first, wherever its input is.
func (s *jobSide) Startable(t int32) bool {
	return int(t) >= len(s.tasks) || s.tasks[t].state == taskPending && s.tasks[t].failed == 0
}

// placed reports whether the inputs of j's maps have places.
func (l *Ledger) placed(j *ledgerJob) bool {
	return (l.placement.Replicas > 0 || j.places.given != nil) && !j.spec.Unplaced
}

// indexed reports whether j.places finds maps by their place. A single tracker has all inputs,
// so it needs no index.
func (l *Ledger) indexed(j *ledgerJob) bool { return l.placed(j) && len(l.trackers) > 1 }

// addPlaces adds maps to the index that became known since the last call.
func (l *Ledger) addPlaces(j *ledgerJob) {
	if l.indexed(j) {
		j.places.Add(&l.placement, int32(j.id), j.side[Map].total)
	}
}

// levelOf returns how near the input of map t is to a tracker.
func (l *Ledger) levelOf(j *ledgerJob, t TaskID, at TrackerID) Level {
	if !l.placed(j) {
		return LevelAny
	}
	return j.places.Level(&l.placement, int32(j.id), int32(t), int32(at))
}

// nearest returns the startable map of j whose input is nearest to a tracker, among those
// that never failed, and its level. It returns NoTask if none is nearer than LevelAny.
func (l *Ledger) nearest(j *ledgerJob, at TrackerID) (TaskID, Level) {
	t, level, found := j.places.Nearest(&l.placement, int32(at), &j.side[Map])
	if !found {
		return NoTask, LevelAny
	}
	return TaskID(t), level
}

// pick returns the task of kind k to start next on a tracker (Hadoop 1.0.3,
// JobInProgress.findNewMapTask, findNewReduceTask). The order is:
//
//  1. tasks that failed before, wherever their input is, but not on a tracker where they failed;
//  2. of the maps that have a place, the nearest;
//  3. tasks that were killed, or whose output was lost with its tracker;
//  4. the next task in order.
//
// pick returns NoTask if there is none, or none with locality least or better.
func (l *Ledger) pick(j *ledgerJob, k Kind, at TrackerID, least Level) TaskID {
	s := &j.side[k]
	if t := l.retryAt(j, k, at); t != NoTask {
		return t
	}
	if k == Map && l.indexed(j) {
		t, level := l.nearest(j, at)
		if level > LevelAny && level >= least {
			return t
		}
		if least > LevelAny {
			return NoTask
		}
	}
	return s.pick()
}

// local returns the best level of the maps of j that may start on a tracker. It is for
// View.Local. A map that failed before counts as LevelTracker, because pick takes it first.
func (l *Ledger) local(j *ledgerJob, at TrackerID) Level {
	if !l.placed(j) {
		return LevelAny
	}
	if len(l.trackers) == 1 || l.retryAt(j, Map, at) != NoTask {
		return LevelTracker
	}
	_, level := l.nearest(j, at)
	return level
}

// A failure limits where tasks may run next (package slots). A task does not run again
// on a tracker where it failed, unless it failed on all of them.

// failedAt counts a failed attempt on a tracker, which bars the task from the tracker.
func (l *Ledger) failedAt(j *ledgerJob, k Kind, t TaskID, at TrackerID) {
	if len(l.trackers) > 1 { // on a single tracker the task has to run again there
		j.failures.Failed(k, int32(t), int32(at), l.config.MaxTrackerFailures)
	}
}

// blacklisted reports whether a job blacklists a tracker: the tracker is faulty, and fewer than a quarter of all
// trackers are.
func (l *Ledger) blacklisted(j *ledgerJob, at TrackerID) bool {
	return j.failures.faulty(int32(at), l.config.MaxTrackerFailures) && int(j.failures.flaky)*4 < len(l.trackers)
}

// relist sets how many slots of each home kind are open on trackers whose state on the
// graylist has changed. 0 takes them out of service, and a large number opens all. Running
// attempts go on, and their slots close when they end.
func (l *Ledger) relist(trackers []int32, open int) {
	for _, t := range trackers {
		l.resize(TrackerID(t), [slotLists]int{Map: open, Reduce: open}, trace.RuleGraylisted)
	}
}

// lost reports whether a tracker is lost.
func (l *Ledger) lost(t int32) bool { return l.trackers[t].lost }

// out reports whether a tracker gets no more tasks: it is lost, or graylisted.
func (l *Ledger) out(t *tracker) bool { return t.lost || l.blacklists.Gray(int32(t.id)) }

// Graylisted reports whether a tracker is out of service because several jobs blacklisted
// it.
func (l *Ledger) Graylisted(t TrackerID) bool { return l.blacklists.Gray(int32(t)) }

// avoids reports whether a task failed on a tracker and could run on another one where it did
// not fail.
func (l *Ledger) avoids(j *ledgerJob, k Kind, t TaskID, at TrackerID) bool {
	failed := j.failures.tasks[failedTask{k, int32(t)}]
	if !slices.Contains(failed, int32(at)) {
		return false
	}
	for i := range l.trackers {
		tr := &l.trackers[i]
		if !l.out(tr) && tr.open > 0 && !slices.Contains(failed, int32(tr.id)) && !l.blacklisted(j, tr.id) {
			return true
		}
	}
	return false
}

// retryAt returns the first task that failed before and may start on a tracker. It drops
// stale entries of the list.
func (l *Ledger) retryAt(j *ledgerJob, k Kind, at TrackerID) TaskID {
	s := &j.side[k]
	if len(s.failedTasks) == 0 {
		return NoTask
	}
	found, kept := NoTask, s.failedTasks[:0]
	for _, t := range s.failedTasks {
		if s.tasks[t].state != taskPending {
			continue // stale
		}
		kept = append(kept, t)
		if found == NoTask && !l.avoids(j, k, t, at) {
			found = t
		}
	}
	s.failedTasks = kept
	return found
}

// requeue makes a task pending again. It starts before tasks that never ran.
func (l *Ledger) requeue(j *ledgerJob, k Kind, t TaskID) {
	s := &j.side[k]
	s.tasks[t].state = taskPending
	s.pending++
	if s.tasks[t].failed > 0 {
		s.failedTasks = append(s.failedTasks, t)
		return
	}
	s.requeued = append(s.requeued, t)
	if k == Map {
		j.places.Again(&l.placement, int32(j.id), int32(t))
	}
}
