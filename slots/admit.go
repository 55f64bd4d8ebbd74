package slots

import "mrlocal/trace"

// Running-job limits of pools and users (SPEC 1.4). A job over a limit waits,
// showing no demand, for the first limit that is full; when a job ends, the
// first one waiting is admitted, in FIFO order (priority, submission).
//
// Hadoop decides anew at every update which jobs may run, so that a job of
// higher priority takes the place of one that runs already, which then gets no
// more tasks. Here a job that was admitted stays so: a limit bounds how many
// jobs hold resources, and one that is stopped half-way holds them longest.

// limit is how many jobs of a pool or a user may run.
type limit struct {
	most    int32 // 0: any number
	running int32 // jobs admitted, and not ended
	waiting Ranking[Priority]
}

func newLimit(most int32) limit {
	return limit{most: most, waiting: Ranking[Priority]{Less: higher}}
}

// higher is the order in which jobs are admitted.
func higher(a, b *Priority) bool { return *a > *b }

func (m *limit) full() bool { return m.most > 0 && m.running >= m.most }

// fullFor is the first limit that keeps j from running, or nil.
func (l *Ledger) fullFor(j *ledgerJob) *limit {
	if j.pool.limit.full() {
		return &j.pool.limit
	}
	if u := l.userLimits[j.spec.User]; u != nil && u.full() {
		return u
	}
	return nil
}

// admit lets j run, or wait.
func (l *Ledger) admit(j *ledgerJob) bool {
	if j.blocked = l.fullFor(j); j.blocked != nil {
		j.blocked.waiting.Set(int32(j.id), j.spec.Priority)
		return false
	}
	j.admitted = true
	l.countAdmitted(j, 1)
	return true
}

func (l *Ledger) countAdmitted(j *ledgerJob, d int32) {
	j.pool.limit.running += d
	if u := l.userLimits[j.spec.User]; u != nil {
		u.running += d
	}
}

// leave ends j's part in the limits and admits who waited for its place.
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

// fill admits waiting jobs while the limit has room. One that another limit
// keeps back waits for that one from then on.
func (l *Ledger) fill(m *limit) {
	for !m.full() {
		id, ok := m.waiting.First()
		if !ok {
			return
		}
		m.waiting.Remove(id)
		if j := l.jobs[id]; l.admit(j) {
			l.decided(jobEvent(trace.OpAdmit, j.id))
			l.touch(j)
		}
	}
}
