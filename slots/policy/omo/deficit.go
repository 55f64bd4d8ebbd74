package omo

import (
	"time"

	"mrlocal/slots"
	"mrlocal/slots/policy/yarn"
)

// owed is the sort key of a job in the fair scheduler: the largest deficit first, then the
// fewest containers for its weight. If jobs are ordered by container counts, all deficits
// are 0.
type owed struct {
	deficit float64 // container-seconds, at the last update
	yarn.Fewest
}

// deficitEvery is the time between two updates of deficits (Hadoop 0.20.2,
// FairScheduler.UPDATE_INTERVAL).
const deficitEvery = 500 * time.Millisecond

// orderDeficit orders jobs by their deficits, the container time below their fair share
// (policy.Options.ContainerOrder).
const orderDeficit = "deficit"

// account has the deficit of a job: its fair share of the containers less its containers, over
// time. Maps and reduces count together [OMO21, section V-A].
type account struct {
	deficit float64       // in container-seconds, at the last update
	held    float64       // in container-seconds: containers that the job had since then
	since   time.Duration // the time until which held counts
	has     int32         // its containers from since on
	share   float64       // its fair share, in containers
}

// accrue counts the containers that a job had until now. has is its number from now on.
func (a *account) accrue(now time.Duration, has int32) {
	if now > a.since {
		a.held += float64(a.has) * (now - a.since).Seconds()
	}
	a.has, a.since = has, now
}

// updateDeficits updates the deficits and shares of all active jobs, if that is due: every
// deficitEvery, and when a job was submitted. With many jobs it waits until an eighth of
// them have changed. The rule is deficit += (fair share - running) * time, where jobs with a
// task to run share by weight (Hadoop 0.20.2, FairScheduler.update).
func (s *OMO) updateDeficits(v *slots.View) {
	now := v.Now()
	if s.options.ContainerOrder != orderDeficit || !s.newJob && now-s.updated < deficitEvery || s.changes*8 < len(s.live) {
		return
	}
	seconds, weights := (now - s.updated).Seconds(), 0.0
	for _, id := range s.live {
		j, a := v.Job(id), &s.jobs[id].account
		a.accrue(now, yarn.Held(j))
		a.deficit += a.share*seconds - a.held
		a.held, a.share = 0, 0
		if !j.Ended() && j.Runnable() && yarn.Held(j)+j.Pending(slots.Map)+j.Pending(slots.Reduce) > 0 {
			a.share = float64(j.Weight()) // scaled to containers below
			weights += a.share
		}
	}
	s.updated, s.newJob = now, false
	total := float64(yarn.Total(v))
	for _, id := range s.live {
		if a := &s.jobs[id].account; a.share > 0 {
			a.share = total * a.share / weights
		}
		s.Rank(v, v.Job(id))
	}
	s.stale, s.changes = false, 0
}
