package slots

// What a failure means for where a task may run next (SPEC 1.10, 1.12): not on
// a tracker where it failed, unless it failed on all of them; and a tracker on
// which a job's attempts failed too often gets no more of that job's tasks, as
// long as such trackers are less than a quarter of the cluster.

// failures are where a job's attempts failed. Both maps are only looked up.
type failures struct {
	at    map[TrackerID]int32 // failed attempts by tracker
	flaky int32               // trackers with too many
	tasks map[taskOf][]TrackerID
}

type taskOf struct {
	kind Kind
	task TaskID
}

// defaultMaxTrackerFailures is mapred.max.tracker.failures.
const defaultMaxTrackerFailures = 4

// failedAt books a failed attempt on a tracker.
func (l *Ledger) failedAt(j *ledgerJob, k Kind, t TaskID, at TrackerID) {
	if len(l.trackers) == 1 {
		return // nowhere else to go
	}
	f := &j.failures
	if f.at == nil {
		f.at, f.tasks = map[TrackerID]int32{}, map[taskOf][]TrackerID{}
	}
	if f.at[at]++; f.at[at] == l.config.MaxTrackerFailures {
		f.flaky++
	}
	f.tasks[taskOf{k, t}] = append(f.tasks[taskOf{k, t}], at)
}

// blacklisted: a tracker gets no more tasks of j.
func (l *Ledger) blacklisted(j *ledgerJob, at TrackerID) bool {
	f := &j.failures
	return f.flaky > 0 && f.at[at] >= l.config.MaxTrackerFailures && int(f.flaky)*4 < len(l.trackers)
}

// avoids: a task failed at a tracker, and there is one that serves where it did
// not.
func (l *Ledger) avoids(j *ledgerJob, k Kind, t TaskID, at TrackerID) bool {
	failed := j.failures.tasks[taskOf{k, t}]
	here := false
	for _, f := range failed {
		here = here || f == at
	}
	if !here {
		return false
	}
	for i := range l.trackers {
		tr := &l.trackers[i]
		if !tr.lost && tr.open > 0 && !contains(failed, tr.id) && !l.blacklisted(j, tr.id) {
			return true
		}
	}
	return false
}

func contains(all []TrackerID, t TrackerID) bool {
	for _, x := range all {
		if x == t {
			return true
		}
	}
	return false
}

// retryAt is the first task that failed before and may start at a tracker.
func (l *Ledger) retryAt(j *ledgerJob, k Kind, at TrackerID) TaskID {
	s := &j.side[k]
	if len(s.retry) == 0 {
		return NoTask
	}
	found, kept := NoTask, s.retry[:0]
	for _, t := range s.retry {
		if s.tasks[t].state != taskPending {
			continue // started or dropped since
		}
		kept = append(kept, t)
		if found == NoTask && !l.avoids(j, k, t, at) {
			found = t
		}
	}
	s.retry = kept
	return found
}

// requeue makes a task pending again, to be started before new ones.
func (l *Ledger) requeue(j *ledgerJob, k Kind, t TaskID) {
	s := &j.side[k]
	s.tasks[t].state = taskPending
	s.pending++
	if s.tasks[t].failed > 0 {
		s.retry = append(s.retry, t)
		return
	}
	s.again = append(s.again, t)
	if k == Map {
		j.places.Again(&l.placement, int32(j.id), int32(t))
	}
}
