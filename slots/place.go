package slots

import "mrlocal/slots/locality"

// Level is how near a map's input is to a tracker. The greater the nearer.
type Level = locality.Level

const (
	LevelAny     = locality.Any
	LevelGroup   = locality.Group
	LevelTracker = locality.Tracker
)

// Ready and Startable are what a locality.Index asks: a map that failed before
// is in side.retry and not chosen by its place.
func (s *side) Ready() int32 { return s.ready }

func (s *side) Startable(t int32) bool {
	return int(t) >= len(s.tasks) || s.tasks[t].state == taskPending && s.tasks[t].failed == 0
}

// placed: the maps of j have places.
func (l *Ledger) placed(j *ledgerJob) bool { return l.placement.Replicas > 0 && !j.spec.Unplaced }

// indexed: they are found by place. With a single tracker all are there.
func (l *Ledger) indexed(j *ledgerJob) bool { return l.placed(j) && len(l.trackers) > 1 }

// place gives the maps that became known their places.
func (l *Ledger) place(j *ledgerJob) {
	if l.indexed(j) {
		j.places.Add(&l.placement, int32(j.id), j.side[Map].total)
	}
}

// levelOf is how near the input of map t is to a tracker.
func (l *Ledger) levelOf(j *ledgerJob, t TaskID, at TrackerID) Level {
	if !l.placed(j) {
		return LevelAny
	}
	return l.placement.Level(int32(j.id), int32(t), int32(at))
}

// nearest is the map of j that is nearest to a tracker among those that never
// failed; NoTask where none is nearer than LevelAny.
func (l *Ledger) nearest(j *ledgerJob, at TrackerID) (TaskID, Level) {
	t, level, found := j.places.Nearest(&l.placement, int32(at), &j.side[Map])
	if !found {
		return NoTask, LevelAny
	}
	return TaskID(t), level
}

// pick is the task of kind k to start next at a tracker (SPEC 1.10): one that
// failed before, wherever its input is, though not where it failed; then, of
// maps that have a place, the nearest; then one that was killed or whose output
// is lost; then the next in order. NoTask where none has the least locality.
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

// local is the best level of any map of j that may start at a tracker. A map
// that failed before counts as near: it goes first, wherever its input is.
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
