package slots

import "slices"

// places is where the inputs of a job's maps are: a synthetic placement of
// Config.Replicas copies of each, drawn by a hash of seed, job and task, so
// that nothing but the lists by tracker is kept. A list ascends; what stands
// before its cursor is not pending any more, so that the first pending map of
// a tracker is found in O(1), amortised: only a map that is pending once more
// sets cursors back.
type places struct {
	known  int32 // maps placed so far
	here   []placeList
	groups []placeList
}

type placeList struct {
	tasks []TaskID
	next  int32
}

// add appends t, once.
func (p *placeList) add(t TaskID) {
	if n := len(p.tasks); n == 0 || p.tasks[n-1] != t {
		p.tasks = append(p.tasks, t)
	}
}

// again makes t be found again.
func (p *placeList) again(t TaskID) {
	i, _ := slices.BinarySearch(p.tasks, t)
	p.next = min(p.next, int32(i))
}

// first is the first map of the list that may start; those that failed before
// are in side.retry.
func (p *placeList) first(s *side) TaskID {
	for ; int(p.next) < len(p.tasks); p.next++ {
		t := p.tasks[p.next]
		if int32(t) >= s.ready {
			break
		}
		if int(t) >= len(s.tasks) || s.tasks[t].state == taskPending && s.tasks[t].failed == 0 {
			return t
		}
	}
	return NoTask
}

// placed: the maps of j have places. With a single tracker all are there, and
// no lists are kept.
func (l *Ledger) placed(j *job) bool { return l.config.Replicas > 0 && !j.spec.Unplaced }

// place gives the maps that became known their places.
func (l *Ledger) place(j *job) {
	total := j.side[Map].total
	if !l.placed(j) || len(l.trackers) == 1 || j.places.known == total {
		return
	}
	p := &j.places
	if p.here == nil {
		p.here = make([]placeList, len(l.trackers))
		if l.config.GroupTrackers > 0 {
			p.groups = make([]placeList, l.groupOf(TrackerID(len(l.trackers)-1))+1)
		}
	}
	for ; p.known < total; p.known++ {
		t := TaskID(p.known)
		at := l.copiesOf(j.id, t)
		for range l.replicas() {
			tracker := at.next()
			p.here[tracker].add(t)
			if p.groups != nil {
				p.groups[l.groupOf(tracker)].add(t)
			}
		}
	}
}

func (l *Ledger) replicas() int { return min(int(l.config.Replicas), len(l.trackers)) }

// copies walks the trackers that have a map's input: from a hashed start in a
// hashed stride that shares no factor with their number, so that they differ.
type copies struct{ at, stride, trackers uint64 }

func (l *Ledger) copiesOf(j JobID, t TaskID) copies {
	n := uint64(len(l.trackers))
	h := mix(mix(l.config.Seed, uint64(uint32(j))<<32|uint64(uint32(t))), 0x9e3779b97f4a7c15)
	c := copies{at: (h & 0xffffffff) % n, stride: 1 + (h>>32)%(n-1), trackers: n}
	for gcd(c.stride, n) != 1 {
		c.stride = c.stride%(n-1) + 1
	}
	return c
}

func (c *copies) next() TrackerID {
	t := TrackerID(c.at)
	c.at = (c.at + c.stride) % c.trackers
	return t
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func (l *Ledger) groupOf(t TrackerID) int32 {
	if l.config.GroupTrackers == 0 {
		return 0
	}
	return int32(t) / l.config.GroupTrackers
}

// placeAgain makes t findable again after it became pending once more.
func (l *Ledger) placeAgain(j *job, t TaskID) {
	if j.places.here == nil {
		return
	}
	from := l.copiesOf(j.id, t)
	for range l.replicas() {
		tracker := from.next()
		j.places.here[tracker].again(t)
		if j.places.groups != nil {
			j.places.groups[l.groupOf(tracker)].again(t)
		}
	}
}

// levelOf is how near the input of map t is to a tracker.
func (l *Ledger) levelOf(j *job, t TaskID, at TrackerID) Level {
	if !l.placed(j) {
		return LevelAny
	}
	if len(l.trackers) == 1 {
		return LevelTracker
	}
	level := LevelAny
	from := l.copiesOf(j.id, t)
	for range l.replicas() {
		switch r := from.next(); {
		case r == at:
			return LevelTracker
		case l.config.GroupTrackers > 0 && l.groupOf(r) == l.groupOf(at):
			level = LevelGroup
		}
	}
	return level
}

// nearest is the map of j that is nearest to a tracker among those that never
// failed; NoTask where none is nearer than LevelAny.
func (l *Ledger) nearest(j *job, at TrackerID) (TaskID, Level) {
	p := &j.places
	if p.here == nil {
		return NoTask, LevelAny
	}
	if t := p.here[at].first(&j.side[Map]); t != NoTask {
		return t, LevelTracker
	}
	if p.groups != nil {
		if t := p.groups[l.groupOf(at)].first(&j.side[Map]); t != NoTask {
			return t, LevelGroup
		}
	}
	return NoTask, LevelAny
}

// pick is the task of kind k to start next at a tracker (SPEC 1.10): one that
// failed before, wherever its input is, though not where it failed; then, of
// maps that have a place, the nearest; then one that was killed or whose output
// is lost; then the next in order. NoTask where none has the least locality.
func (l *Ledger) pick(j *job, k Kind, at TrackerID, least Level) TaskID {
	s := &j.side[k]
	if t := l.retryAt(j, k, at); t != NoTask {
		return t
	}
	if k == Map && l.placed(j) && len(l.trackers) > 1 {
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
func (l *Ledger) local(j *job, at TrackerID) Level {
	if !l.placed(j) {
		return LevelAny
	}
	if len(l.trackers) == 1 || l.retryAt(j, Map, at) != NoTask {
		return LevelTracker
	}
	_, level := l.nearest(j, at)
	return level
}
