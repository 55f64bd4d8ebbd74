package slots

import (
	"strings"
	"time"

	"mrlocal/internal/invariant"
	"mrlocal/slots/demand"
	"mrlocal/trace"
)

// Priority orders jobs under FIFO and weighs them under fair (SPEC 1.3).
type Priority int8

const (
	VeryLow  Priority = -2
	Low      Priority = -1
	Normal   Priority = 0
	High     Priority = 1
	VeryHigh Priority = 2
)

// Weight is the priority as a factor of a job's weight: 0.25, 0.5, 1, 2, 4.
func (p Priority) Weight() PPM {
	return One << 2 >> (2 - min(max(p, VeryLow), VeryHigh))
}

// JobSpec is a job as Submit takes it.
type JobSpec struct {
	Name, Pool, User string // Pool "": one of the job's own name
	Reduces          int32
	Priority         Priority
	Weight           PPM // 0: 1.0

	// Maps is the number of maps known; MapsSealed says that it is final.
	// ReadyMaps of them, the first ones, may start: 0 means all where it is
	// final, and none where it is not. Ready tells of more later.
	Maps       int32
	MapsSealed bool
	ReadyMaps  int32

	Deadline time.Duration   // absolute; 0: none
	Profile  *demand.Profile // what its tasks need; nil: nobody knows. It is copied
	Unplaced bool            // its maps' input has no place, whatever Config.Replicas says
	Single   bool            // the input of a map is for one attempt at a time: no copy runs beside it
}

// Readiness is how much of a job's map side is known. It only grows.
type Readiness struct {
	Maps   int32 // map tasks [0, Maps) may start
	Total  int32 // map tasks known; never less than Maps
	Sealed bool  // Total is final
}

// Outcome is how an attempt ended. Neither OK nor Killed: it failed, and counts
// towards MaxAttempts. Bytes and times are for policies that learn.
type Outcome struct {
	OK        bool // committed
	Killed    bool
	InBytes   int64
	OutBytes  int64
	CPU       time.Duration
	CopyBytes int64
	CopyTime  time.Duration
}

// progressStep is the least progress that is a fact, so that an attempt has at
// most 100 of them; less is neither recorded nor shown to the policy.
const progressStep = One / 100

// Submit adds a job. It may be called at any time.
func (l *Ledger) Submit(now time.Duration, s JobSpec) JobID {
	l.advance(now)
	for _, text := range []*string{&s.Name, &s.Pool, &s.User} {
		*text = strings.ToValidUTF8(*text, "\ufffd") // as an event file has it
	}
	if s.Pool == "" {
		s.Pool = s.Name
	}
	if s.Weight == 0 {
		s.Weight = One
	}
	if s.MapsSealed && s.ReadyMaps == 0 {
		s.ReadyMaps = s.Maps
	}
	invariant.Check(s.Maps >= s.ReadyMaps && s.ReadyMaps >= 0 && s.Reduces >= 0 && s.Weight > 0 && s.Deadline >= 0, "slots: Submit %+v", s)
	profile := s.Profile
	s.Profile = nil
	j := &ledgerJob{
		id: JobID(len(l.jobs)), spec: s, pool: l.poolNamed(s.Pool), sealed: s.MapsSealed,
		times: JobTimes{Submit: l.now, Start: -1, MapsDone: -1, Finish: -1},
	}
	l.jobs = append(l.jobs, j)
	l.total.active++
	e := jobEvent(trace.OpSubmit, j.id)
	e.A, e.B, e.C, e.D, e.E, e.F = int64(s.Maps), int64(s.Reduces), int64(s.ReadyMaps), int64(s.Priority), int64(s.Weight), int64(s.Deadline)
	if s.MapsSealed {
		e.Flags |= trace.Sealed
	}
	if s.Unplaced {
		e.Flags |= trace.Unplaced
	}
	if s.Single {
		e.Flags |= trace.Single
	}
	l.fact(e, s.Name, s.Pool, s.User)
	l.admit(j)
	j.side[Map].know(s.Maps)
	j.side[Map].open(s.ReadyMaps)
	j.side[Reduce].open(s.Reduces)
	l.place(j)
	l.done(j)
	if profile != nil {
		for _, p := range []Phase{PhaseCompute, PhaseCopy, PhaseReduce} {
			l.Demand(now, j.id, p, *profile.Of(p))
		}
	}
	return j.id
}

// Ready says that more maps may start or are known. What it takes back is
// ignored.
func (l *Ledger) Ready(now time.Duration, id JobID, r Readiness) {
	l.advance(now)
	r.Total = max(r.Total, r.Maps)
	e := jobEvent(trace.OpReady, id)
	e.A, e.B = int64(r.Maps), int64(r.Total)
	if r.Sealed {
		e.Flags = trace.Sealed
	}
	l.fact(e)
	j := l.job(id)
	if j == nil || j.state != Running {
		return
	}
	m := &j.side[Map]
	invariant.Check(!j.sealed || r.Total <= m.total, "slots: Ready: job %d is sealed at %d maps: %+v", id, m.total, r)
	if !j.sealed {
		m.know(r.Total)
		j.sealed = r.Sealed
	}
	m.open(min(r.Maps, m.total))
	l.place(j)
	l.done(j)
}

// Drop says that a task is not needed: it counts as done, and its attempts are
// killed.
func (l *Ledger) Drop(now time.Duration, id JobID, k Kind, t TaskID) {
	l.advance(now)
	l.fact(trace.Event{Op: trace.OpDrop, Kind: k, Job: int32(id), Task: int32(t)})
	j := l.job(id)
	if j == nil || j.state != Running {
		return
	}
	s := &j.side[k]
	if !j.sealed && k == Map {
		s.know(int32(t) + 1)
	}
	invariant.Check(t >= 0 && int32(t) < s.total, "slots: Drop: job %d has %d %s tasks, not %d", id, s.total, k, t)
	task := s.at(t)
	switch task.state {
	case taskPending:
		if int32(t) < s.ready {
			s.pending--
		}
	case taskRunning:
		l.killTask(task, trace.RuleDropped)
	default:
		return
	}
	task.state = taskDropped
	s.done++
	l.done(j)
}

// Phase says that an attempt is in another phase.
func (l *Ledger) Phase(now time.Duration, a AttemptID, p Phase) {
	l.advance(now)
	s := l.slotOf(a)
	if s == nil || s.phase == p || int(p) >= phases {
		return
	}
	tr := &l.trackers[s.Tracker]
	tr.phases[s.phase]--
	tr.phases[p]++
	s.phase = p
	e := attemptEvent(trace.OpPhase, a, s.ID, trace.RuleNone)
	e.Phase = p
	l.fact(e)
	l.measured()
}

// Progress says how far an attempt is.
func (l *Ledger) Progress(now time.Duration, a AttemptID, done PPM) {
	s := l.slotOf(a)
	done = min(done, One)
	if s == nil || done <= s.progress || done < s.progress+progressStep && done < One {
		return
	}
	l.advance(now)
	s.progress = done
	e := attemptEvent(trace.OpProgress, a, s.ID, trace.RuleNone)
	e.A = int64(done)
	l.fact(e)
	l.measured()
}

// measured ends a fact that calls for a decision only where the policy learns.
func (l *Ledger) measured() {
	if l.observer != nil {
		l.observed()
		l.dirty = true
	}
}

// Finish says that an attempt has ended, however. An attempt that the Ledger
// does not know (its tracker is lost) is ignored.
func (l *Ledger) Finish(now time.Duration, a AttemptID, o Outcome) {
	l.advance(now)
	s := l.slotOf(a)
	e := attemptEvent(trace.OpFinish, a, NoSlot, trace.RuleNone)
	if s != nil {
		e.Slot = int32(s.ID)
	}
	if o.OK {
		e.Flags |= trace.OK
	}
	if o.Killed {
		e.Flags |= trace.Killed
	}
	e.A, e.B, e.C, e.D, e.E = o.InBytes, o.OutBytes, int64(o.CPU), o.CopyBytes, int64(o.CopyTime)
	l.fact(e)
	if s == nil {
		l.stats.stale++
		return
	}
	j := l.jobs[a.Job]
	killed := o.Killed || s.killing
	l.release(s)
	switch {
	case o.OK:
		l.commit(j, a, s.Tracker)
	case killed:
		l.killedAttempt(j, a)
	default:
		l.failedAttempt(j, a, s.Tracker)
	}
	l.done(j)
}

// commit books a task as done; its other attempts lost the race. An attempt
// whose task is not wanted any more counts as killed.
func (l *Ledger) commit(j *ledgerJob, a AttemptID, t TrackerID) {
	s := &j.side[a.Kind]
	task := &s.tasks[a.Task]
	if task.state != taskRunning || j.state != Running {
		s.counts.Killed++
		return
	}
	task.state, task.done = taskDone, t
	s.done++
	l.killTask(task, trace.RuleLostRace)
}

func (l *Ledger) killedAttempt(j *ledgerJob, a AttemptID) {
	s := &j.side[a.Kind]
	s.counts.Killed++
	if task := &s.tasks[a.Task]; j.state == Running && task.state == taskRunning && task.head == NoSlot {
		l.requeue(j, a.Kind, a.Task)
	}
}

func (l *Ledger) failedAttempt(j *ledgerJob, a AttemptID, at TrackerID) {
	s := &j.side[a.Kind]
	s.counts.Failed++
	task := &s.tasks[a.Task]
	if j.state != Running || task.state != taskRunning {
		return
	}
	task.failed++
	l.failedAt(j, a.Kind, a.Task, at)
	if int(task.failed) >= l.config.MaxAttempts {
		j.failedBy = a
		l.endJob(j, Failed)
		return
	}
	if task.head == NoSlot {
		l.requeue(j, a.Kind, a.Task)
	}
}

// LostOutput says that a committed map's output is gone: the map is pending
// again, which may close the gate, and counts as failed once more (SPEC 1.12,
// fetch failures).
func (l *Ledger) LostOutput(now time.Duration, id JobID, t TaskID) {
	l.advance(now)
	l.fact(trace.Event{Op: trace.OpLostOutput, Kind: Map, Job: int32(id), Task: int32(t)})
	j := l.job(id)
	if j == nil || j.state != Running {
		return
	}
	m := &j.side[Map]
	if t < 0 || int(t) >= len(m.tasks) || m.tasks[t].state != taskDone {
		return
	}
	m.counts.LostOutputs++
	m.tasks[t].failed++
	l.failedAt(j, Map, t, m.tasks[t].done)
	if int(m.tasks[t].failed) >= l.config.MaxAttempts {
		j.failedBy = AttemptID{Job: id, Kind: Map, Task: t, N: m.tasks[t].n - 1}
		l.endJob(j, Failed)
	} else {
		l.uncommit(j, t)
	}
	l.done(j)
}

// Lost says that a tracker is gone: its attempts are killed and, of jobs that
// have reduces, the maps it completed are pending again (SPEC 1.12). The driver
// need not report those attempts.
func (l *Ledger) LostTracker(now time.Duration, id TrackerID) {
	l.advance(now)
	l.fact(trace.Event{Op: trace.OpLostTracker, A: int64(id)})
	tr := &l.trackers[id]
	if tr.lost {
		return
	}
	tr.lost = true
	for _, sid := range tr.slots {
		s := &l.slots[sid]
		if s.busy {
			a := s.attempt
			l.release(s)
			l.killedAttempt(l.jobs[a.Job], a)
			l.done(l.jobs[a.Job])
		}
		if s.state != SlotClosed {
			l.closeSlot(s, trace.RuleLostTracker)
		}
	}
	for _, j := range l.jobs {
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
		l.done(j)
	}
}

// uncommit makes a committed map pending again; where an attempt that lost the
// race has not ended yet, from its end on.
func (l *Ledger) uncommit(j *ledgerJob, t TaskID) {
	m := &j.side[Map]
	m.done--
	m.tasks[t].done = -1
	if m.tasks[t].head != NoSlot {
		m.tasks[t].state = taskRunning
		return
	}
	l.requeue(j, Map, t)
}

// Abort says that a job is not wanted any more: nothing of it starts, and what
// runs is killed.
func (l *Ledger) Abort(now time.Duration, id JobID) {
	l.advance(now)
	l.fact(jobEvent(trace.OpAbort, id))
	j := l.job(id)
	if j == nil || j.state != Running {
		return
	}
	l.endJob(j, Killed)
	l.done(j)
}
