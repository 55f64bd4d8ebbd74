package slots

import (
	"cmp"
	"strings"
	"time"

	"mrlocal/internal/invariant"
	"mrlocal/trace"
)

// Priority orders jobs under FIFO, and is a factor of their weight under fair (Hadoop
// 1.0.3, SchedulingAlgorithms.FifoComparator, FairScheduler.getPriorityFactor).
type Priority int8

const (
	VeryLow  Priority = -2
	Low      Priority = -1
	Normal   Priority = 0
	High     Priority = 1
	VeryHigh Priority = 2
)

// Weight returns the factor of a job's weight: 0.25, 0.5, 1, 2 or 4 for VeryLow to VeryHigh.
func (p Priority) Weight() PPM {
	return One << 2 >> (2 - min(max(p, VeryLow), VeryHigh))
}

// JobSpec describes a job to Submit.
type JobSpec struct {
	Name, Pool, User string // Pool "": a pool with the job's name
	Reduces          int32
	Priority         Priority
	Weight           PPM // of the job in its pool; 0: 1.0

	// Maps is the number of maps that are known, MapsSealed whether it is final.
	// The first ReadyMaps of them may start; 0 means all of them if the number is
	// final, none if not. Ready adds to these numbers later.
	Maps       int32
	MapsSealed bool
	ReadyMaps  int32

	Deadline time.Duration // from the start of the run; 0: none
	Profile  *Profile      // what its tasks need; nil: unknown. Submit copies it
	Unplaced bool          // the input of the maps has no place, whatever Config.Replicas is
	Single   bool          // only one attempt at a time can read the input of a map: no speculative maps
}

// Readiness says how many maps of a job are known and may start. It only grows.
type Readiness struct {
	Maps   int32 // maps [0, Maps) may start
	Total  int32 // maps that are known; less than Maps counts as Maps
	Sealed bool  // Total is final
}

// Outcome says how an attempt ended. An attempt that is neither OK nor Killed has failed, and
// counts towards Config.MaxAttempts. The Ledger only passes bytes and times to an Observer.
type Outcome struct {
	OK        bool // its output is committed
	Killed    bool
	InBytes   int64
	OutBytes  int64
	CPU       time.Duration
	CopyBytes int64         // of a reduce: what it copied
	CopyTime  time.Duration // the time of this copying, without waiting for maps
}

// Submit adds a job at time now and returns its id. Bytes of names that are not UTF-8
// become U+FFFD. As with all facts, now counts from the start of the run and must not be
// before the latest fact or Assign.
func (l *Ledger) Submit(now time.Duration, s JobSpec) JobID {
	l.advance(now)
	for _, text := range []*string{&s.Name, &s.Pool, &s.User} {
		*text = strings.ToValidUTF8(*text, "\ufffd") // as event files have it
	}
	s.Pool = cmp.Or(s.Pool, s.Name)
	s.Weight = cmp.Or(s.Weight, One)
	if s.MapsSealed && s.ReadyMaps == 0 {
		s.ReadyMaps = s.Maps
	}
	invariant.Check(s.Maps >= s.ReadyMaps && s.ReadyMaps >= 0 && s.Reduces >= 0 && s.Weight > 0 && s.Deadline >= 0, "slots: Submit %+v", s)
	// Demand below sets the profile and records it, so that a replay has it as well.
	profile := s.Profile
	s.Profile = nil
	j := &ledgerJob{
		id: JobID(len(l.jobs)), spec: s, pool: l.poolNamed(s.Pool), sealed: s.MapsSealed,
		times: JobTimes{Submit: l.now, Start: -1, MapsDone: -1, Finish: -1},
	}
	l.jobs = append(l.jobs, j)
	l.total.active++
	e := trace.Event{
		Op: trace.OpSubmit, Job: int32(j.id), A: int64(s.Maps), B: int64(s.Reduces), C: int64(s.ReadyMaps),
		D: int64(s.Priority), E: int64(s.Weight), F: int64(s.Deadline),
	}
	e.Set(trace.Sealed, s.MapsSealed)
	e.Set(trace.Unplaced, s.Unplaced)
	e.Set(trace.Single, s.Single)
	l.record(e, s.Name, s.Pool, s.User)
	l.admit(j)
	j.side[Map].raiseTotal(s.Maps)
	j.side[Map].makeReady(s.ReadyMaps)
	j.side[Reduce].makeReady(s.Reduces)
	l.addPlaces(j)
	l.endFact(j)
	if profile != nil {
		for _, p := range []Phase{PhaseCompute, PhaseCopy, PhaseReduce} {
			l.Demand(now, j.id, p, *profile.Of(p))
		}
	}
	return j.id
}

// fact records a fact about a job at time now, and returns the job, or nil if it does not run.
func (l *Ledger) fact(now time.Duration, e trace.Event) *ledgerJob {
	l.advance(now)
	l.record(e)
	if j := l.job(JobID(e.Job)); j != nil && j.state == Running {
		return j
	}
	return nil
}

// Ready reports that more maps of a job are known or may start. It ignores numbers that are
// smaller than before, and jobs that have ended.
func (l *Ledger) Ready(now time.Duration, id JobID, r Readiness) {
	r.Total = max(r.Total, r.Maps)
	e := jobEvent(trace.OpReady, id)
	e.A, e.B = int64(r.Maps), int64(r.Total)
	e.Set(trace.Sealed, r.Sealed)
	j := l.fact(now, e)
	if j == nil {
		return
	}
	m := &j.side[Map]
	invariant.Check(!j.sealed || r.Total <= m.total, "slots: Ready: job %d is sealed at %d maps: %+v", id, m.total, r)
	if !j.sealed {
		m.raiseTotal(r.Total)
		j.sealed = r.Sealed
	}
	m.makeReady(min(r.Maps, m.total))
	l.addPlaces(j)
	l.endFact(j)
}

// Demand reports what one task of a job needs. PhaseCompute is for a map, PhaseCopy for a
// reduce in its copy phase, and PhaseReduce for a reduce that sorts or reduces. Submit
// calls it for a job with a profile.
func (l *Ledger) Demand(now time.Duration, id JobID, p Phase, v Vector) {
	j := l.fact(now, trace.Event{Op: trace.OpDemand, Phase: p, Job: int32(id), A: int64(v.CPU), B: int64(v.IO), C: int64(v.Memory)})
	if j == nil {
		return
	}
	if j.spec.Profile == nil {
		j.spec.Profile = &Profile{}
	}
	*j.spec.Profile.Of(p) = v
	l.endFact(j)
}

// Place reports that a tracker has the input of map t. It is called before the job's first
// map starts, once for each tracker that has the input. After a call, a map of the job has
// only the places that are reported for it, whatever Config.Replicas is.
func (l *Ledger) Place(now time.Duration, id JobID, t TaskID, at TrackerID) {
	j := l.fact(now, trace.Event{Op: trace.OpPlace, Kind: Map, Job: int32(id), Task: int32(t), A: int64(at)})
	if j == nil {
		return
	}
	j.places.Put(&l.placement, int32(t), int32(at))
	l.endFact(j)
}

// Drop reports that a task is not needed. It counts as done, and its attempts are killed.
func (l *Ledger) Drop(now time.Duration, id JobID, k Kind, t TaskID) {
	l.skip(now, trace.OpDrop, id, k, t)
}

// Restore reports that the output of a pending map is left from an earlier, killed run. The
// map counts as done, on no tracker. If the output is lost later, the map is pending again,
// but the loss does not count as a failure.
func (l *Ledger) Restore(now time.Duration, id JobID, t TaskID) {
	l.skip(now, trace.OpRestore, id, Map, t)
}

// skip marks a task as done although no attempt of this run commits it: dropped if op is
// OpDrop, restored if it is OpRestore. It ignores tasks that are done, and the restoring of
// a map that runs.
func (l *Ledger) skip(now time.Duration, op trace.Op, id JobID, k Kind, t TaskID) {
	j := l.fact(now, trace.Event{Op: op, Kind: k, Job: int32(id), Task: int32(t)})
	if j == nil {
		return
	}
	s := &j.side[k]
	if !j.sealed && k == Map {
		s.raiseTotal(int32(t) + 1)
	}
	invariant.Check(t >= 0 && int32(t) < s.total, "slots: %v: job %d has %d %s tasks, not %d", op, id, s.total, k, t)
	task := s.task(t)
	switch before := task.state; {
	case before == taskPending:
		if int32(t) < s.ready {
			s.pending--
		}
	case before == taskRunning && op == trace.OpDrop:
		l.killTask(task, trace.RuleDropped)
	default:
		return
	}
	// A dropped task has no output that could be lost; a restored one has.
	if task.state = taskDropped; op == trace.OpRestore {
		task.state = taskDone
	}
	s.done++
	l.endFact(j)
}

// Phase reports that an attempt has entered phase p. It ignores attempts that are unknown. The
// first phase of a map follows its start at once, so it gives no cause for a new decision. A reduce
// that copies again gives one under every policy, because the deadlock guard may kill it.
func (l *Ledger) Phase(now time.Duration, a AttemptID, p Phase) {
	l.advance(now)
	s := l.slotOf(a)
	if s == nil || s.Phase == p || int(p) >= numPhases {
		return
	}
	tr := &l.trackers[s.Tracker]
	begins, copied := s.Phase == PhaseNone && p == PhaseCompute, !s.beforeSort()
	tr.phases[s.Phase]--
	tr.phases[p]++
	s.Phase = p
	s.progress.Phase(a.Kind)
	l.meter.Enter(&s.use, l.now, p)
	e := attemptEvent(trace.OpPhase, a, s.ID)
	e.Phase = p
	l.record(e)
	if begins {
		l.observe()
		return
	}
	l.measured()
	if copied && s.beforeSort() {
		l.dirty = true
	}
}

// measured ends a fact about phases or progress. Such a fact can change the decisions of an
// Observer only. So the next AssignAll asks the policy only if it is one.
func (l *Ledger) measured() {
	if l.observer != nil {
		l.observe()
		l.dirty = true
	}
}

// Finish reports that an attempt has ended, for whatever reason. An attempt whose tracker was
// lost has ended already, so Finish only counts it in Stats.Stale.
func (l *Ledger) Finish(now time.Duration, a AttemptID, o Outcome) {
	l.advance(now)
	s := l.slotOf(a)
	e := attemptEvent(trace.OpFinish, a, NoSlot)
	if s != nil {
		e.Slot = int32(s.ID)
	}
	e.Set(trace.OK, o.OK)
	e.Set(trace.Killed, o.Killed)
	e.A = o.InBytes
	e.B = o.OutBytes
	e.C = int64(o.CPU)
	e.D = o.CopyBytes
	e.E = int64(o.CopyTime)
	l.record(e)
	if s == nil {
		l.stats.Stale++
		return
	}
	j := l.jobs[a.Job]
	// An attempt that fails while it is killed is not counted as a failure.
	killed := o.Killed || s.Killing
	l.release(s)
	switch {
	case o.OK:
		l.commit(j, a, s)
	case killed:
		l.killedAttempt(j, a, s)
	default:
		l.failedAttempt(j, a, s)
	}
	l.endFact(j)
}

// commit marks the task of a as done and kills its other attempts. If the task is done
// or dropped already, or the job has ended, a counts as killed. on is the slot that a had.
func (l *Ledger) commit(j *ledgerJob, a AttemptID, on *ledgerSlot) {
	s := &j.side[a.Kind]
	task := &s.tasks[a.Task]
	if task.state != taskRunning || j.state != Running {
		l.useless(s, task, on)
		return
	}
	if a.Kind == Reduce {
		l.meter.Wasted.Waiting += j.clock.at(l.now) - on.use.waited
	}
	task.state, task.done = taskDone, on.Tracker
	s.done++
	l.killTask(task, trace.RuleLostRace)
}

// killedAttempt counts a kill. The task is pending again unless another attempt of it runs.
func (l *Ledger) killedAttempt(j *ledgerJob, a AttemptID, on *ledgerSlot) {
	s := &j.side[a.Kind]
	task := &s.tasks[a.Task]
	l.useless(s, task, on)
	if j.state == Running && task.state == taskRunning && task.head == NoSlot {
		l.requeue(j, a.Kind, a.Task)
	}
}

// useless counts an attempt as killed and its time as wasted. The time counts under Copies if
// the attempt was a copy or another attempt has committed the task, else under Killed.
func (l *Ledger) useless(s *jobSide, task *ledgerTask, on *ledgerSlot) {
	s.counts.Killed++
	to := &l.meter.Wasted.Killed
	if on.Speculative || task.state == taskDone {
		to = &l.meter.Wasted.Copies
	}
	*to += on.use.Took(l.now)
}

// failedAttempt counts a failure. The task is pending again unless another attempt of it runs.
// Failure number Config.MaxAttempts of a task ends the job.
func (l *Ledger) failedAttempt(j *ledgerJob, a AttemptID, on *ledgerSlot) {
	s := &j.side[a.Kind]
	s.counts.Failed++
	l.meter.Wasted.Failed += on.use.Took(l.now)
	task := &s.tasks[a.Task]
	if j.state != Running || task.state != taskRunning {
		return
	}
	task.failed++
	l.failedAt(j, a.Kind, a.Task, on.Tracker)
	if int(task.failed) >= l.config.MaxAttempts {
		j.failedBy = a
		l.endJob(j, Failed)
		return
	}
	if task.head == NoSlot {
		l.requeue(j, a.Kind, a.Task)
	}
}

// LostOutput reports that the output of a committed map is gone. The map has failed once
// more and is pending again, which may close the gate (Hadoop 1.0.3,
// JobInProgress.fetchFailureNotification).
func (l *Ledger) LostOutput(now time.Duration, id JobID, t TaskID) {
	j := l.fact(now, trace.Event{Op: trace.OpLostOutput, Kind: Map, Job: int32(id), Task: int32(t)})
	if j == nil {
		return
	}
	m := &j.side[Map]
	if t < 0 || int(t) >= len(m.tasks) || m.tasks[t].state != taskDone {
		return
	}
	m.counts.LostOutputs++
	if at := m.tasks[t].done; at != noTracker { // no tracker of this run is to blame for a restored output
		m.tasks[t].failed++
		l.failedAt(j, Map, t, at)
	}
	l.uncommit(j, t)
	if int(m.tasks[t].failed) >= l.config.MaxAttempts {
		j.failedBy = AttemptID{Job: id, Kind: Map, Task: t, N: m.tasks[t].n - 1}
		l.endJob(j, Failed)
	}
	l.endFact(j)
}

// LostTracker reports that a tracker is gone. Its attempts are killed, and the maps that
// it committed for running jobs with reduces are pending again (Hadoop 1.0.3,
// JobTracker.lostTaskTracker). The driver need not report the end of the attempts.
func (l *Ledger) LostTracker(now time.Duration, id TrackerID) {
	l.advance(now)
	l.record(trace.Event{Op: trace.OpLostTracker, A: int64(id)})
	tr := &l.trackers[id]
	if tr.lost {
		return
	}
	tr.lost = true
	for _, sid := range tr.slots {
		s := &l.slots[sid]
		if s.Busy {
			a := s.Attempt
			l.release(s)
			l.killedAttempt(l.jobs[a.Job], a, s)
			l.endFact(l.jobs[a.Job])
		}
		if s.State != SlotClosed {
			l.closeSlot(s, trace.RuleLostTracker)
		}
	}
	l.relist(l.blacklists.Unlist(l.lost), len(l.slots))
	for _, j := range l.jobs {
		// The output of a map-only job is its result, which does not lie on the tracker.
		if j.state != Running || j.side[Reduce].total == 0 {
			continue
		}
		m := &j.side[Map]
		for t := range m.tasks {
			if m.tasks[t].state == taskDone && m.tasks[t].done == id {
				m.counts.LostOutputs++
				l.uncommit(j, TaskID(t))
			}
		}
		l.endFact(j)
	}
}

// uncommit makes a committed map pending again. If another attempt of the map still runs,
// the map counts as running until that attempt ends.
func (l *Ledger) uncommit(j *ledgerJob, t TaskID) {
	m := &j.side[Map]
	m.done--
	m.tasks[t].done = noTracker
	if m.tasks[t].head != NoSlot {
		m.tasks[t].state = taskRunning
		return
	}
	l.requeue(j, Map, t)
}

// Abort reports that a job is cancelled. Its running attempts are killed.
func (l *Ledger) Abort(now time.Duration, id JobID) {
	l.abort(jobEvent(trace.OpAbort, id), now, Killed)
}

// Fail reports that a job fails although no task has failed too often. Its running attempts are killed.
func (l *Ledger) Fail(now time.Duration, id JobID) {
	l.abort(trace.Event{Op: trace.OpAbort, Job: int32(id), A: 1}, now, Failed)
}

func (l *Ledger) abort(e trace.Event, now time.Duration, s State) {
	if j := l.fact(now, e); j != nil {
		j.failedBy.Job = NoJob
		l.endJob(j, s)
		l.endFact(j)
	}
}
