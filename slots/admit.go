package slots

import "mrlocal/trace"

// Running-job limits of pools and users. A job beyond a limit waits for the first limit
// that is full. It has no pending tasks as long as it waits. When a job ends, the Ledger
// admits the first waiting job in FIFO order (priority, submission).
//
// Hadoop 1.0.3, FairScheduler.updateRunnability, decides at every update which jobs may run.
// A job of higher priority then takes the place of a running one, which gets no
// more tasks. Here an admitted job stays admitted, because a limit bounds how many jobs hold
// resources. A job that gets no more tasks half-way would hold its resources longest.

// limit is the running-job limit of a pool or a user, and the jobs that wait for it.
type limit struct {
	most    int32 // running jobs; 0: any number
	running int32 // jobs that were admitted and have not ended
	waiting Ranking[Priority]
}

// newLimit returns a limit of most running jobs; 0: any number. Of waiting jobs of one priority the smaller id
// comes first.
func newLimit(most int32) limit {
	return limit{most: most, waiting: Ranking[Priority]{Less: func(a, b *Priority) bool { return *a > *b }}}
}

func (m *limit) full() bool { return m.most > 0 && m.running >= m.most }

// fullFor returns the first limit that keeps j waiting, or nil.
func (l *Ledger) fullFor(j *ledgerJob) *limit {
	if j.pool.limit.full() {
		return &j.pool.limit
	}
	if u := l.userLimits[j.spec.User]; u != nil && u.full() {
		return u
	}
	return nil
}

// admit admits j and returns true, or enters j at the limit that it has to wait for.
func (l *Ledger) admit(j *ledgerJob) bool {
	if j.blocked = l.fullFor(j); j.blocked != nil {
		j.blocked.waiting.Set(int32(j.id), j.spec.Priority)
		return false
	}
	j.admitted = true
	l.countAdmitted(j, 1)
	return true
}

// countAdmitted adds d to the running jobs of j's pool and user.
func (l *Ledger) countAdmitted(j *ledgerJob, d int32) {
	j.pool.limit.running += d
	if u := l.userLimits[j.spec.User]; u != nil {
		u.running += d
	}
}

// leave takes an ended job out of its limits and admits jobs that waited for its place.
func (l *Ledger) leave(j *ledgerJob) {
	if !j.admitted {
		if j.blocked != nil {
			j.blocked.waiting.Remove(int32(j.id))
		}
		return
	}
	l.countAdmitted(j, -1)
	l.fill(&j.pool.limit)
	if u := l.userLimits[j.spec.User]; u != nil {
		l.fill(u)
	}
}

// fill admits waiting jobs while the limit has room. If another limit of such a job is full,
// the job waits for the other limit from then on.
func (l *Ledger) fill(m *limit) {
	for !m.full() {
		id, ok := m.waiting.First()
		if !ok {
			return
		}
		m.waiting.Remove(id)
		if j := l.jobs[id]; l.admit(j) {
			l.recordDecision(jobEvent(trace.OpAdmit, j.id), trace.RuleNone)
			l.refresh(j)
		}
	}
}
