package omo

import (
	"mrlocal/slots"
	"mrlocal/slots/policy/yarn"
)

// batchFinishMap starts a map of the job that gains most from finishing its last maps
// in one batch [OMO21, Alg. 2]. It reports whether one started.
func (s *OMO) batchFinishMap(v *slots.View, d *slots.Decision) bool {
	if !s.batch {
		return false
	}
	for {
		id, ok := s.nextBatch(v)
		if !ok {
			return false
		}
		why := func() slots.Why { return s.whyBatch(v, id) }
		switch {
		case id != s.batching && s.benefit(v.Job(id)) <= 0: // the estimates have changed since it was ranked
			s.waves.Remove(int32(id))
		case s.Grant(v, d, s, slots.GrantOf(id, slots.Map, ruleBatchFinish), why):
			if s.options.BatchReserve {
				s.batching = id
			}
			return true
		}
	}
}

// nextBatch returns the job whose batch gets the container [OMO21, "batch for each
// container"]. It is the job that gains most. With Options.BatchReserve it is the job whose
// batch has begun, as long as that job has maps to start.
func (s *OMO) nextBatch(v *slots.View) (slots.JobID, bool) {
	if s.batching >= 0 {
		if j := v.Job(s.batching); !j.Ended() && s.Startable(j, slots.Map) > 0 {
			return s.batching, true
		}
		s.batching = noJob
	}
	return yarn.First(&s.waves)
}

// benefit returns t_fair - t_batch of a job, in seconds [OMO21, eq. 4-5]. It is 0 if
// the job is not a candidate. A candidate has begun its reduce stage [OMO21, "batch
// candidates"], needs one wave for its maps [OMO21, "one wave"], and has finished a map.
func (s *OMO) benefit(j slots.JobView) float64 {
	if s.requireReduceStarted && !s.jobs[j.ID()].begun {
		return 0
	}
	observed, level, known := s.estimates(j.ID())
	m := s.Of(j.ID())
	pending, reduces := yarn.Unstarted(j), j.Total(slots.Reduce)
	mapTime := m.Mean(slots.Map).Seconds()
	if !known || pending == 0 || m.Tasks[slots.Map] == 0 || !oneWave(observed, mapTime, pending) {
		return 0
	}
	fair := fairTime(observed, mapTime, s.active, pending)
	return fair - batchTime(observed, mapTime, level, pending, reduces, othersGet(observed, fair, s.active))
}
