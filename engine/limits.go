package engine

import (
	"mrlocal/slots"
	"mrlocal/trace"
)

// limits knows which jobs the Ledger lets run where pools or users have a
// running-job limit: it follows the Ledger's events. Only such a job may have
// its streams decoded, because pieces that nobody may take would keep memory
// from those who can.
type limits struct {
	most     map[string]int32 // by "pool " or "user " and name; only where there is a limit
	running  map[string]int32
	jobs     map[int32]*jobRun // that wait for their admission
	let      map[int32][]string
	admitted []int32
}

func newLimits(o *Options) limits {
	l := limits{most: map[string]int32{}, running: map[string]int32{}, jobs: map[int32]*jobRun{}, let: map[int32][]string{}}
	for i := range o.Pools {
		if p := &o.Pools[i]; p.MaxRunning > 0 {
			l.most["pool "+p.Name] = p.MaxRunning
		}
	}
	for i := range o.Users {
		if u := &o.Users[i]; u.MaxRunning > 0 {
			l.most["user "+u.Name] = u.MaxRunning
		}
	}
	return l
}

func (l *limits) any() bool { return len(l.most) > 0 }

// submitted notes j and reports whether it may run at once.
func (l *limits) submitted(j *jobRun) bool {
	spec := j.spec()
	keys := []string{"pool " + spec.Pool, "user " + spec.User}
	for _, k := range keys {
		if most, limited := l.most[k]; limited && l.running[k] >= most {
			l.jobs[int32(j.id)] = j
			return false
		}
	}
	l.admit(int32(j.id), keys)
	return true
}

func (l *limits) admit(id int32, keys []string) {
	for _, k := range keys {
		l.running[k]++
	}
	l.let[id] = keys
}

// Record implements trace.Sink.
func (l *limits) Record(_ *trace.Stream, e *trace.Event) error {
	switch {
	case e.Op.String() == "admit":
		if j := l.jobs[e.Job]; j != nil {
			spec := j.spec()
			l.admit(e.Job, []string{"pool " + spec.Pool, "user " + spec.User})
			delete(l.jobs, e.Job)
			l.admitted = append(l.admitted, e.Job)
		}
	case e.Op == trace.OpJobEnd:
		for _, k := range l.let[e.Job] {
			l.running[k]--
		}
		delete(l.let, e.Job)
		delete(l.jobs, e.Job)
	}
	return nil
}

// takeAdmitted are the jobs that may run since the last call.
func (l *limits) takeAdmitted() (ids []slots.JobID) {
	for _, id := range l.admitted {
		ids = append(ids, slots.JobID(id))
	}
	l.admitted = l.admitted[:0]
	return ids
}
