package slots

import (
	"slices"

	"mrlocal/internal/ppm"
	"mrlocal/trace"
)

// Level is how near the input of a map is to a tracker. A greater level is nearer.
type Level uint8

const (
	LevelAny     Level = iota // elsewhere, or the input has no place
	LevelGroup                // in the same group of trackers
	LevelTracker              // on the tracker
)

// String returns the word that event files and reports use.
func (l Level) String() string { return [...]string{"any", "group", "tracker"}[l] }

// Placement chooses the trackers that have a replica of an input, for jobs whose real places
// are not known (Index.Put). It is synthetic: the trackers follow from a hash of seed, job
// and task. So it needs no memory, and each driver and each replay gets the same trackers.
type Placement struct {
	Seed          uint64
	Trackers      int32
	Replicas      int32 // number of trackers that have an input; 0: inputs have no place
	GroupTrackers int32 // trackers per group; 0: there are no groups
}

// Group returns the group of a tracker, 0 if there are no groups.
func (p *Placement) Group(tracker int32) int32 {
	if p.GroupTrackers == 0 {
		return 0
	}
	return tracker / p.GroupTrackers
}

// replicaWalk yields the trackers that have an input, one per call of next. It begins at
// tracker at and goes on in steps of stride, modulo the number of trackers.
type replicaWalk struct{ at, stride, trackers uint64 }

// replicasOf returns the walk over the trackers that hold the input of a map. Start and stride
// come from a hash. The stride has no factor in common with the number of trackers, so the
// walk meets each tracker once.
func (p *Placement) replicasOf(job, task int32) replicaWalk {
	n := uint64(p.Trackers)
	if n == 1 {
		return replicaWalk{trackers: 1}
	}
	h := trace.Hash(trace.Hash(p.Seed, uint64(uint32(job))<<32|uint64(uint32(task))), 0x9e3779b97f4a7c15)
	c := replicaWalk{at: (h & 0xffffffff) % n, stride: 1 + (h>>32)%(n-1), trackers: n}
	for ppm.GCD(c.stride, n) != 1 { // ends, because 1 is a stride
		c.stride = c.stride%(n-1) + 1
	}
	return c
}

// next returns a tracker and goes one step on.
func (c *replicaWalk) next() int32 {
	t := int32(c.at)
	c.at = (c.at + c.stride) % c.trackers
	return t
}

// mapIndex finds the maps of one job by the places of their inputs. It has them in a list
// per tracker and a list per group of trackers. It owns these lists, which take 4 bytes
// per replica, and as much again for groups. The zero value has no maps.
type mapIndex struct {
	known  int32     // maps [0, known) are in the lists, if the Placement draws the places
	here   []mapList // by tracker; nil: there are no lists yet
	groups []mapList // by group; nil: there are no groups
	given  [][]int32 // by map: the trackers that Put named; nil: the Placement draws them
}

// mapList has maps in ascending order. No map before index next is startable. So first finds the
// first startable map in amortised O(1). A map that is pending again sets next back.
type mapList struct {
	tasks []int32
	next  int32
}

// Add adds the maps below total that the index does not have yet. It does nothing after Put,
// because the Placement then does not count.
func (x *mapIndex) Add(p *Placement, job, total int32) {
	if x.known == total || x.given != nil {
		return
	}
	x.make(p)
	for ; x.known < total; x.known++ {
		x.each(p, job, x.known, (*mapList).add)
	}
}

// make makes empty lists, unless they are there.
func (x *mapIndex) make(p *Placement) {
	if x.here != nil {
		return
	}
	x.here = make([]mapList, p.Trackers)
	if p.GroupTrackers > 0 {
		x.groups = make([]mapList, p.Group(p.Trackers-1)+1)
	}
}

// Put adds a tracker to those that have the input of a map. From the first call on, the maps of
// the job have only the places that Put has named.
func (x *mapIndex) Put(p *Placement, task, tracker int32) {
	if x.given == nil {
		*x = mapIndex{given: [][]int32{}} // drops the places that the Placement drew
		x.make(p)
	}
	if more := int(task) + 1 - len(x.given); more > 0 {
		x.given = append(x.given, make([][]int32, more)...)
	}
	if slices.Contains(x.given[task], tracker) {
		return
	}
	x.given[task] = append(x.given[task], tracker)
	x.here[tracker].add(task)
	if x.groups != nil {
		x.groups[p.Group(tracker)].add(task)
	}
}

// Level returns how near the input of a map of a job is to a tracker.
func (x *mapIndex) Level(p *Placement, job, task, tracker int32) Level {
	level := LevelAny
	x.trackers(p, job, task, func(t int32) {
		switch {
		case t == tracker:
			level = LevelTracker
		case p.GroupTrackers > 0 && p.Group(t) == p.Group(tracker):
			level = max(level, LevelGroup)
		}
	})
	return level
}

// trackers calls visit with the trackers that have the input of a map: those that Put named, or those that the
// Placement draws. All have it if there are fewer than Placement.Replicas.
func (x *mapIndex) trackers(p *Placement, job, task int32, visit func(tracker int32)) {
	if x.given == nil {
		at := p.replicasOf(job, task)
		for range min(p.Replicas, p.Trackers) {
			visit(at.next())
		}
	} else if int(task) < len(x.given) {
		for _, t := range x.given[task] {
			visit(t)
		}
	}
}

// Again makes Nearest find a map that is pending again.
func (x *mapIndex) Again(p *Placement, job, task int32) {
	if x.here != nil {
		x.each(p, job, task, (*mapList).again)
	}
}

// each calls do with the task for all lists that a map is in.
func (x *mapIndex) each(p *Placement, job, task int32, do func(*mapList, int32)) {
	x.trackers(p, job, task, func(tracker int32) {
		do(&x.here[tracker], task)
		if x.groups != nil {
			do(&x.groups[p.Group(tracker)], task)
		}
	})
}

// Nearest returns the startable map whose input is nearest to a tracker, and its level. Of
// several it returns the lowest. It returns NoTask if no map is nearer than LevelAny.
func (x *mapIndex) Nearest(p *Placement, tracker int32, of *jobSide) (TaskID, Level) {
	if x.here == nil {
		return NoTask, LevelAny
	}
	if t, ok := x.here[tracker].first(of); ok {
		return TaskID(t), LevelTracker
	}
	if x.groups != nil {
		if t, ok := x.groups[p.Group(tracker)].first(of); ok {
			return TaskID(t), LevelGroup
		}
	}
	return NoTask, LevelAny
}

// add adds a map, unless it is there. A group may have several replicas of an input.
func (l *mapList) add(task int32) {
	i := len(l.tasks)
	if i > 0 && l.tasks[i-1] >= task { // rare, because maps become known in their order
		var found bool
		if i, found = slices.BinarySearch(l.tasks, task); found {
			return
		}
	}
	l.tasks = slices.Insert(l.tasks, i, task)
	l.next = min(l.next, int32(i))
}

// again sets next back to a map.
func (l *mapList) again(task int32) {
	i, _ := slices.BinarySearch(l.tasks, task)
	l.next = min(l.next, int32(i))
}

// first returns the first startable map and moves next to it. It stops at maps that are not
// ready, which may become startable later.
func (l *mapList) first(of *jobSide) (task int32, found bool) {
	for ; int(l.next) < len(l.tasks); l.next++ {
		t := l.tasks[l.next]
		if t >= of.ready {
			break
		}
		if of.Startable(t) {
			return t, true
		}
	}
	return 0, false
}

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
	return j.places.Nearest(&l.placement, int32(at), &j.side[Map])
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
