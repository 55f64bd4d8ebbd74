package slots

import (
	"time"

	"mrlocal/slots/demand"
	"mrlocal/trace"
)

// Demand says what one task of a job needs: a map (PhaseCompute), a reduce that
// copies (PhaseCopy) or one that sorts and reduces (PhaseReduce). Submit tells it
// of a job that has a profile.
func (l *Ledger) Demand(now time.Duration, id JobID, p Phase, v demand.Vector) {
	l.advance(now)
	e := jobEvent(trace.OpDemand, id)
	e.Phase = p
	e.A, e.B, e.C = int64(v.CPU), int64(v.IO), int64(v.Memory)
	l.fact(e)
	j := l.job(id)
	if j == nil || j.state != Running {
		return
	}
	if j.spec.Profile == nil {
		j.spec.Profile = &demand.Profile{}
	}
	*j.spec.Profile.Of(p) = v
	l.done(j)
}

// JobProfile is what the tasks of a job are taken to need, and whether the job
// said so: else it is demand.Default of the home slots of the first tracker.
func (l *Ledger) JobProfile(id JobID) (p demand.Profile, given bool) {
	if p := l.jobs[id].spec.Profile; p != nil {
		return *p, true
	}
	return demand.Default(l.homeSlots), false
}

// PlacesByDemand reports whether the policy does (Traits.ByDemand).
func (l *Ledger) PlacesByDemand() bool { return l.byDemand }

// Profile is JobProfile.
func (j JobView) Profile() (p demand.Profile, given bool) { return j.v.l.JobProfile(j.id) }

// CapacityOf is what a tracker has of each resource.
func (v *View) CapacityOf(t TrackerID) demand.Vector { return v.l.config.Capacities.Of(int32(t)) }
