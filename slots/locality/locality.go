// Package locality says on which trackers the input of a map is, and finds the
// pending map that is nearest to a tracker.
//
// Placement is synthetic: so many copies of each input, drawn by a hash of
// seed, job and task, so that it needs no memory and every driver and replay
// has the same. An Index is one job's lists of maps by tracker and by group of
// trackers, 4 bytes a copy, which belong to it.
//
// Neighbour: slots, whose Ledger has a Placement and an Index a job, and whose
// ids are plain numbers here.
package locality

import (
	"slices"

	"mrlocal/internal/ppm"
	"mrlocal/trace"
)

// Level is how near a map's input is to a tracker. The greater the nearer.
type Level uint8

const (
	Any     Level = iota // elsewhere, or nobody knows
	Group                // in the same group of trackers
	Tracker              // there
)

func (l Level) String() string { return [...]string{"any", "group", "tracker"}[l] }

// Placement is where inputs are on a cluster.
type Placement struct {
	Seed          uint64
	Trackers      int32
	Replicas      int32 // on how many trackers each input is; 0: nowhere in particular
	GroupTrackers int32 // trackers a group; 0: there are no groups
}

// Group is the group of trackers that a tracker is in, 0 where there are none.
func (p *Placement) Group(tracker int32) int32 {
	if p.GroupTrackers == 0 {
		return 0
	}
	return tracker / p.GroupTrackers
}

// Level is how near the input of a job's map is to a tracker.
func (p *Placement) Level(job, task, tracker int32) Level {
	level := Any
	at := p.copies(job, task)
	for range p.replicas() {
		switch c := at.next(); {
		case c == tracker:
			return Tracker
		case p.GroupTrackers > 0 && p.Group(c) == p.Group(tracker):
			level = Group
		}
	}
	return level
}

func (p *Placement) replicas() int32 { return min(p.Replicas, p.Trackers) }

// copies walks the trackers that have an input: from a hashed start in a hashed
// stride that shares no factor with their number, so that they differ.
type copies struct{ at, stride, trackers uint64 }

func (p *Placement) copies(job, task int32) copies {
	n := uint64(p.Trackers)
	if n == 1 {
		return copies{trackers: 1}
	}
	h := trace.Hash(trace.Hash(p.Seed, uint64(uint32(job))<<32|uint64(uint32(task))), 0x9e3779b97f4a7c15)
	c := copies{at: (h & 0xffffffff) % n, stride: 1 + (h>>32)%(n-1), trackers: n}
	for ppm.GCD(c.stride, n) != 1 {
		c.stride = c.stride%(n-1) + 1
	}
	return c
}

func (c *copies) next() int32 {
	t := int32(c.at)
	c.at = (c.at + c.stride) % c.trackers
	return t
}

// Tasks are a job's maps as an Index asks about them.
type Tasks interface {
	Ready() int32              // maps below may start, others not yet
	Startable(task int32) bool // pending, and to be chosen by its place
}

// Index finds the maps of one job by place. The zero value has none.
type Index struct {
	known  int32
	here   []list
	groups []list
}

// list ascends; what stands before its cursor is not startable any more, so
// that the first one is found in O(1), amortised: only a map that is pending
// once more sets cursors back.
type list struct {
	tasks []int32
	next  int32
}

// Add adds the job's maps that became known, all below total.
func (x *Index) Add(p *Placement, job, total int32) {
	if x.known == total {
		return
	}
	if x.here == nil {
		x.here = make([]list, p.Trackers)
		if p.GroupTrackers > 0 {
			x.groups = make([]list, p.Group(p.Trackers-1)+1)
		}
	}
	for ; x.known < total; x.known++ {
		x.each(p, job, x.known, (*list).add)
	}
}

// Again makes a map findable again after it became pending once more.
func (x *Index) Again(p *Placement, job, task int32) {
	if x.here != nil {
		x.each(p, job, task, (*list).again)
	}
}

// each does something to all lists that a map is in.
func (x *Index) each(p *Placement, job, task int32, do func(*list, int32)) {
	at := p.copies(job, task)
	for range p.replicas() {
		tracker := at.next()
		do(&x.here[tracker], task)
		if x.groups != nil {
			do(&x.groups[p.Group(tracker)], task)
		}
	}
}

// Nearest is the startable map that is nearest to a tracker; false where none
// is nearer than Any.
func (x *Index) Nearest(p *Placement, tracker int32, of Tasks) (task int32, level Level, found bool) {
	if x.here == nil {
		return 0, Any, false
	}
	if t, ok := x.here[tracker].first(of); ok {
		return t, Tracker, true
	}
	if x.groups != nil {
		if t, ok := x.groups[p.Group(tracker)].first(of); ok {
			return t, Group, true
		}
	}
	return 0, Any, false
}

// add appends a map, once.
func (l *list) add(task int32) {
	if n := len(l.tasks); n == 0 || l.tasks[n-1] != task {
		l.tasks = append(l.tasks, task)
	}
}

func (l *list) again(task int32) {
	i, _ := slices.BinarySearch(l.tasks, task)
	l.next = min(l.next, int32(i))
}

func (l *list) first(of Tasks) (task int32, found bool) {
	for ready := of.Ready(); int(l.next) < len(l.tasks); l.next++ {
		t := l.tasks[l.next]
		if t >= ready {
			break
		}
		if of.Startable(t) {
			return t, true
		}
	}
	return 0, false
}
