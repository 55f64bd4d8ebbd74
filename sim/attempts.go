package sim

import (
	"mrlocal/internal/invariant"
	"mrlocal/sim/cost"
	"mrlocal/slots"
	"mrlocal/trace"
	"mrlocal/workload"
)

// simAttempt is the attempt on a slot. There is one simAttempt for each slot, used again for
// each attempt. A queued event with another Gen is stale.
type simAttempt struct {
	cost.Task
	id       slots.AttemptID
	state    attemptState
	advanced bool // the policy allows it to leave its copy phase
	place    int  // of a copying reduce, in simJob.copying
}

// none stands in simJob.copying for a reduce that does not copy any more.
const none = slots.NoSlot

// start begins an attempt on its slot.
//
// hot: once an attempt.
func (d *driver) start(s *slots.Start) {
	r := &d.slots[s.Slot]
	invariant.Check(r.state == attemptGone, "sim: slot %d has %v and gets %v", s.Slot, r.id, s.Attempt)
	i := d.fileJob[s.Attempt.Job]
	r.id = s.Attempt
	r.state = attemptStarted
	r.advanced = false
	r.Job = i
	r.Kind = s.Attempt.Kind
	r.Gen++
	r.Started = d.now
	r.CPU, r.CopyTime = 0, 0
	d.where[s.Attempt] = s.Slot
	d.live++
	j := &d.jobs[i]
	if r.Kind == slots.Map {
		d.times(r)
		if j.placed && s.Locality < slots.LevelTracker {
			r.Took = cost.Scaled(int64(r.Took), int64(d.o.RemotePenalty), int64(slots.One))
		}
		d.work(r)
		return
	}
	invariant.Move(&r.state, attemptCopying)
	r.place, j.copying = len(j.copying), append(j.copying, s.Slot)
	d.model.Set(d.now, &r.Task, cost.Copying)
	if !j.flow.Complete() {
		d.Phase(s.Slot, slots.PhaseCopy)
		return
	}
	d.finishCopy(s.Slot)
}

// times sets how long the work of an attempt takes: Base as the file has it, and Took on its
// tracker.
func (d *driver) times(r *simAttempt) {
	w := &d.file.Jobs[r.Job]
	times := [...]*workload.Times{slots.Map: &w.MapTime, slots.Reduce: &w.ReduceTime}[r.Kind]
	r.Base = max(0, times.At(d.o.Seed, int(r.Job)+d.o.first, r.Kind == slots.Reduce, int(r.id.Task)))
	r.Took = r.Base
	if speed := d.trackers[r.Tracker].speed; speed != slots.One {
		r.Took = cost.Scaled(int64(r.Base), int64(slots.One), int64(speed))
	}
}

// work begins the work of a map, or of a reduce that has left its copy phase.
func (d *driver) work(r *simAttempt) {
	invariant.Move(&r.state, attemptWorking)
	d.model.Set(d.now, &r.Task, cost.Working)
}

// finishCopy lets a reduce copy the rest. All map outputs of its job are available.
func (d *driver) finishCopy(id slots.SlotID) {
	r := &d.slots[id]
	if d.model.Set(d.now, &r.Task, cost.CopyRest) {
		d.copied(id)
		return
	}
	if r.Started == d.now {
		d.Phase(id, slots.PhaseCopy)
	}
}

// copied ends the copying of a reduce. The reduce goes on if it may leave its copy phase, and is
// held otherwise.
func (d *driver) copied(id slots.SlotID) {
	r := &d.slots[id]
	d.jobs[r.Job].copying[r.place] = none
	d.model.Set(d.now, &r.Task, cost.Held)
	invariant.Move(&r.state, attemptHeld)
	if !d.holds || r.advanced {
		d.leaveCopy(r)
		return
	}
	d.Phase(id, slots.PhaseHeld)
}

// advance allows a reduce to leave its copy phase, as the Ledger orders. A reduce that still
// copies leaves it later. advance ignores an attempt that has ended.
func (d *driver) advance(a slots.AttemptID) {
	id, ok := d.where[a]
	if !ok {
		return
	}
	r := &d.slots[id]
	r.advanced = true
	if r.state == attemptHeld {
		d.leaveCopy(r)
	}
}

// leaveCopy begins the work of a reduce that has all its input.
func (d *driver) leaveCopy(r *simAttempt) {
	d.times(r)
	d.work(r)
}

// End implements cost.Host. The cost model calls it when the work of an attempt is done.
func (d *driver) End(id slots.SlotID) { d.end(id, attemptEnded) }

// end ends an attempt, which has ended by itself or is killed. With heartbeats the Ledger gets the
// end at the next heartbeat of the tracker.
func (d *driver) end(id slots.SlotID, as attemptState) {
	r := &d.slots[id]
	d.model.Set(d.now, &r.Task, cost.Idle)
	invariant.Move(&r.state, as)
	if d.o.Heartbeat > 0 {
		d.reportLater(id, slots.PhaseNone)
		return
	}
	d.reportEnd(id)
}

// kill stops an attempt, unless it has ended already or its tracker is lost.
func (d *driver) kill(a slots.AttemptID) {
	id, ok := d.where[a]
	if !ok || d.slots[id].state >= attemptEnded {
		return
	}
	r := &d.slots[id]
	if r.state == attemptCopying {
		d.jobs[r.Job].copying[r.place] = none
	}
	r.Gen++ // makes its queued events stale
	d.end(id, attemptKilled)
}

// forget takes an attempt off its slot without a fact for the Ledger.
func (d *driver) forget(id slots.SlotID) {
	r := &d.slots[id]
	if r.state == attemptCopying {
		d.jobs[r.Job].copying[r.place] = none
	}
	if r.state < attemptEnded {
		d.model.Set(d.now, &r.Task, cost.Idle)
	}
	delete(d.where, r.id)
	r.Gen++
	invariant.Move(&r.state, attemptGone)
	d.live--
}

// reportEnd reports the end of an attempt to the Ledger. If the Ledger commits a map output,
// the output is available from now on. After the last one, reduces that copy can finish.
//
// hot: once an attempt.
func (d *driver) reportEnd(id slots.SlotID) {
	r := &d.slots[id]
	a := r.id
	i := r.Job
	killed := r.state == attemptKilled
	// Before Finish, because the slot must be free when the Ledger grants it again.
	d.forget(id)
	outcome := slots.Outcome{Killed: true}
	if !killed {
		d.bounds.progress()
		outcome = d.outcome(r, i)
	}
	d.ledger.Finish(d.now, a, outcome)
	if a.Kind == slots.Map {
		done, total := d.ledger.JobTasks(a.Job, slots.Map)
		if d.model.MapEnded(d.now, &r.Task, a.Task, done, total) {
			for _, id := range d.jobs[i].copying { // the last map output is available
				if id != none {
					d.finishCopy(id)
				}
			}
		}
	}
	d.afterFact(i)
}

// outcome returns how an attempt of job i ended by itself, and the bytes that it moved. It counts
// the output of a map.
func (d *driver) outcome(r *simAttempt, i int32) slots.Outcome {
	j := &d.jobs[i]
	if j.faulty && r.id.N < d.failing[taskKey{i, int32(r.id.Task), r.Kind}] {
		return slots.Outcome{}
	}
	o := slots.Outcome{OK: true, CPU: r.CPU}
	if r.Kind == slots.Map {
		j.written++
		// The input bytes are 0 for a job that was not measured.
		o.InBytes = d.file.Jobs[i].MapInputBytes
		o.OutBytes = d.file.Jobs[i].MapOutputBytes
		return o
	}
	f := *j.flow
	f.MapBytes = d.file.Jobs[i].MapOutputBytes // without a network the flow has none
	o.InBytes = f.Bytes(f.Maps)
	o.CopyBytes, o.CopyTime = o.InBytes, r.CopyTime
	return o
}

// Detail implements cost.Host. It records an event that is neither fact nor decision. first and
// second are its values.
func (d *driver) Detail(id slots.SlotID, op trace.Op, first, second int64) {
	if d.stream == nil {
		return
	}
	a := d.slots[id].id
	d.stream.Append(trace.Event{
		Op: op, At: d.now, Kind: a.Kind, Job: int32(a.Job), Task: int32(a.Task), N: a.N, Slot: int32(id), A: first, B: second,
	})
}

// Phase implements cost.Host. It reports to the Ledger that an attempt is in another phase: now, or at its
// tracker's next heartbeat.
func (d *driver) Phase(id slots.SlotID, p slots.Phase) {
	if d.o.Heartbeat > 0 {
		d.reportLater(id, p)
		return
	}
	d.ledger.Phase(d.now, d.slots[id].id, p)
}

// The driver computes the progress of attempts only after a policy has asked for it
// (slots.Orders.Probe), as policies do that start copies. With heartbeats each tracker then
// reports progress at every heartbeat.

// probe reports the progress of all attempts, but only at heartbeat 0. The time of a Probe must
// have come, and the Ledger must be about to ask the policy. An instant with only stale events
// leads to no decision, so it must not answer the Probe.
func (d *driver) probe() {
	if d.probeAt < 0 || d.now < d.probeAt || d.o.Heartbeat > 0 || !d.ledger.Due(d.now) {
		return
	}
	d.probeAt = -1
	for id := range d.slots {
		d.reportProgress(slots.SlotID(id))
	}
}

// reportProgress reports the progress of the attempt on a slot to the Ledger. The progress of a
// map is the share of its work that is done. For a reduce, copying counts one third and the
// rest two thirds (Hadoop 1.0.3, ReduceTask).
func (d *driver) reportProgress(id slots.SlotID) {
	r := &d.slots[id]
	if r.state >= attemptEnded {
		return
	}
	done := float64(0)
	switch {
	case r.state == attemptCopying:
		done = d.model.Done(d.now, &r.Task, true) / 3
	case r.state == attemptHeld:
		done = 1. / 3
	case r.Kind == slots.Map:
		done = d.model.Done(d.now, &r.Task, false)
	default:
		done = 1./3 + float64(d.model.Done(d.now, &r.Task, false)*2/3)
	}
	// The conversion prevents a fused operation, so that all processors get the same progress.
	d.ledger.Progress(d.now, id, r.id, slots.Progress(float64(done*float64(slots.AllDone))))
}

// The states of attempts and jobs are ordered: none ever goes back to an earlier state. So
// `state >= attemptEnded` asks whether the attempt has ended, however it ended.

// attemptState is how far an attempt has come.
type attemptState uint8

const (
	attemptStarted attemptState = iota // it is on its slot, and does nothing yet
	attemptCopying                     // a reduce waits for map outputs, or copies them
	attemptHeld                        // a reduce has copied everything, and may not go on yet
	attemptWorking                     // a map, or a reduce that has left its copy phase
	attemptEnded                       // its work is done, and its tracker has not reported the end yet
	attemptKilled                      // it was killed, and its tracker has not reported the end yet
	attemptGone                        // its slot is free
)

func (s attemptState) String() string {
	return [...]string{"started", "copying", "held", "working", "ended", "killed", "gone"}[s]
}

// Next lists the states that may follow s, for checked builds.
func (s attemptState) Next() []attemptState {
	// To gone before the end: its tracker is lost.
	return [...][]attemptState{
		attemptStarted: {attemptCopying, attemptWorking},
		attemptCopying: {attemptHeld, attemptKilled, attemptGone},
		attemptHeld:    {attemptWorking, attemptKilled, attemptGone},
		attemptWorking: {attemptEnded, attemptKilled, attemptGone},
		attemptEnded:   {attemptGone},
		attemptKilled:  {attemptGone},
		attemptGone:    nil,
	}[s]
}

// jobState is how far a job of the file has come.
type jobState uint8

const (
	jobWaiting    jobState = iota // for its time of submission, or for jobs that it names in After
	jobRunning                    // it is in the Ledger
	jobEnded                      // its tasks are done, or it has failed
	jobNotStarted                 // it is never submitted: a job that it waits for has not succeeded, or no tracker is left
)

func (s jobState) String() string {
	return [...]string{"waiting", "running", "ended", "not started"}[s]
}

// Next lists the states that may follow s, for checked builds.
func (s jobState) Next() []jobState {
	return [...][]jobState{{jobRunning, jobNotStarted}, {jobEnded}, nil, nil}[s]
}
