package ras

import (
	"slices"

	"mrlocal/internal/invariant"
	"mrlocal/internal/order"
	"mrlocal/slots"
)

// candidates has the jobs that a placement may choose. Most jobs of a long queue are idle: none
// of their maps is placed, so their utility is −∞, and the one that was submitted first comes
// first. A placement leaves them alone until it reaches them.
type candidates struct {
	touched   []*rasJob               // jobs with placed tasks, and those that have changed since the last placement
	groups    []*group                // the jobs with maps that are not done, in no order
	byNeeds   map[slots.Vector]*group // the same groups
	byUtility slots.Ranking[utility]  // jobs with a map that is placed and one that could be, by utility
	unplaced  int                     // number of jobs with maps that are not done, and none of them placed

	reducing [2]order.Set[slots.JobID] // jobs with pending reduces: all of them, and those whose maps are done
}

// group has the jobs whose maps have the same needs, and are not all done.
type group struct {
	needs slots.Vector // of a map
	at    int          // index in candidates.groups
	jobs  int
	idle  order.IDs[slots.JobID] // those with a map that could be placed, and none that is placed
}

// indexed says where candidates has a job.
type indexed struct {
	group    *group // nil: its maps are done
	idle     bool   // in group.idle
	unplaced bool   // counted in candidates.unplaced
	touched  bool
}

// newCandidates returns candidates without jobs.
func newCandidates() candidates {
	return candidates{
		byNeeds:   map[slots.Vector]*group{},
		byUtility: slots.Ranking[utility]{Less: func(a, b *utility) bool { return *a < *b }},
	}
}

// note adds a job whose state has been read. The next placement ranks it.
func (c *candidates) note(s *rasJob) {
	if !s.touched {
		s.touched = true
		c.touched = append(c.touched, s)
	}
	if s.left[slots.Map] > 0 {
		g := c.byNeeds[s.profile.Map]
		if g == nil {
			g = &group{needs: s.profile.Map, at: len(c.groups)}
			c.byNeeds[g.needs] = g
			c.groups = append(c.groups, g)
		}
		g.jobs++
		s.group = g
	}
	c.reducing[0].Put(s.id, s.pending[slots.Reduce] > 0)
	c.reducing[1].Put(s.id, s.pending[slots.Reduce] > 0 && s.mapsDone)
}

// forget takes a job out, because its state changes or because it has ended.
func (c *candidates) forget(s *rasJob) {
	c.byUtility.Remove(int32(s.id))
	c.setIdle(s, false, false)
	for i := range c.reducing {
		c.reducing[i].Put(s.id, false)
	}
	g := s.group
	if s.group = nil; g == nil {
		return
	}
	if g.jobs--; g.jobs == 0 {
		last := c.groups[len(c.groups)-1]
		c.groups[g.at], last.at = last, g.at
		c.groups = c.groups[:len(c.groups)-1]
		delete(c.byNeeds, g.needs)
	}
}

// rank brings the candidates up to date after a change of the job's placed maps.
func (c *candidates) rank(s *rasJob) {
	has, placed := s.hasMap(), s.allotted[slots.Map] > 0
	c.byUtility.Keep(int32(s.id), has && placed, s.utility)
	c.setIdle(s, has && !placed, s.left[slots.Map] > 0 && !placed)
}

// setIdle notes whether a job is idle and whether it is unplaced.
func (c *candidates) setIdle(s *rasJob, idle, unplaced bool) {
	switch {
	case idle && !s.idle:
		s.group.idle.Push(s.id)
	case !idle && s.idle:
		s.group.idle.Remove(s.id)
	}
	if unplaced != s.unplaced {
		c.unplaced--
		if unplaced {
			c.unplaced += 2
		}
	}
	s.idle, s.unplaced = idle, unplaced
}

// keepPlaced ends a placement: only jobs with placed tasks stay touched.
func (c *candidates) keepPlaced() {
	c.touched = slices.DeleteFunc(c.touched, func(s *rasJob) bool {
		s.touched = s.allotted[slots.Map] > 0 || s.allotted[slots.Reduce] > 0
		return !s.touched
	})
}

// before reports whether a job has a lower utility than another one, or the same and was
// submitted first.
func (s *rasJob) before(o *rasJob) bool {
	return s.utility < o.utility || s.utility == o.utility && s.id < o.id
}

// touch makes sure that a job is in r.touched and that its s_req is of now.
func (r *RAS) touch(s *rasJob) {
	if s.touched {
		return
	}
	s.touched, s.part = true, 0
	r.touched = append(r.touched, s)
	r.estimate(s)
}

// estimate sets s_req and the utility of a job.
func (r *RAS) estimate(s *rasJob) {
	s.estimate(r.now, average(r.measures.Of(s.id)), r.options.RequiredAtFirst)
	s.setUtility()
}

// nextReducing returns the first job from an id on that may get a reducer; nil: there is none.
// Without a slot for reduces in shuffle only jobs whose maps are done may.
func (r *RAS) nextReducing(from slots.JobID) *rasJob {
	which := &r.reducing[1]
	if r.free > 0 {
		which = &r.reducing[0]
	}
	if id := which.Next(from); id >= 0 {
		return r.byID[id]
	}
	return nil
}

// idleWithRoom returns the first idle job of a group with room for a map on tracker t; nil: there
// is none. The other jobs matter only if the first one is barred from the tracker.
func (r *RAS) idleWithRoom(g *group, n *node, t int) (in *rasJob) {
	if len(g.idle) == 0 || !n.load.Plus(g.needs.AtMost(n.capacity)).Fits(n.capacity) {
		return nil
	}
	if s := r.byID[g.idle[0]]; r.roomForMap(s, n, t) {
		return s
	}
	for _, id := range g.idle {
		if s := r.byID[id]; (in == nil || id < in.id) && r.roomForMap(s, n, t) {
			in = s
		}
	}
	return in
}

// worst returns the job with the lowest utility that has a map to place, whether there is room
// for the map or not. The job but does not count. Of equals worst returns the job submitted
// first; nil: there is none.
func (r *RAS) worst(but *rasJob) (in *rasJob) {
	for _, g := range r.groups {
		if len(g.idle) > 0 && (in == nil || g.idle[0] < in.id) {
			in = r.byID[g.idle[0]] // but has a map, so it is not idle
		}
	}
	if in != nil {
		return in
	}
	id, ok := r.byUtility.First()
	if !ok {
		return nil
	}
	if s := r.byID[id]; s != but {
		return s
	}
	for _, s := range r.touched {
		if s != but && s.hasMap() && (in == nil || s.before(in)) {
			in = s
		}
	}
	return in
}

// checkCandidates compares the choices for tracker t with those of a look at all jobs.
func (r *RAS) checkCandidates(n *node, t int) {
	var in, worst *rasJob
	least, jobs := one, 0
	for _, s := range r.jobs {
		if worst == nil && s.hasMap() || s.hasMap() && s.before(worst) {
			worst = s
		}
		if n.used < int32(len(n.slots)) && (in == nil || s.before(in)) && r.roomForMap(s, n, t) {
			in = s
		}
		if s.left[slots.Map] > 0 && s.utility < least {
			least, jobs = s.utility, 0
		}
		if s.left[slots.Map] > 0 && s.utility == least {
			jobs++
		}
	}
	utility, lowest := r.lowest()
	invariant.Check(r.lowestWithRoom(n, t) == in && r.worst(nil) == worst && utility == least && lowest == jobs,
		"ras: a look at all jobs chooses others for tracker %d", t)
}
