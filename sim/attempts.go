package sim

import (
	"mrlocal/internal/invariant"
	"mrlocal/sim/cost"
	"mrlocal/slots"
	"mrlocal/trace"
)

// stage is what a slot is doing.
// An attempt goes down this list and never back, except that a reduce may copy again
// after a lost output.
type stage uint8

const (
	idle    stage = iota
	copying       // a reduce waits for map outputs, or copies them
	held          // a reduce has copied everything, and may not go on yet
	working       // a map, or a reduce that has copied everything
	over          // its attempt has ended, and its tracker has not reported that yet
)

// simAttempt is what runs on a slot.
// There is one for each slot, used again for each attempt. Gen distinguishes an event of an
// earlier attempt from one of this.
type simAttempt struct {
	cost.Task
	id       slots.AttemptID
	stage    stage
	killed   bool
	advanced bool // the policy has let it leave its copy phase

	next, before slots.SlotID // in the job's list of copying reduces
}

// none is the end of a list of slots.
const none = slots.NoSlot

// list holds a job's copying reduces in the order of their starts.
// The links lie in the slots, so a list takes no memory of its own.
type list struct{ first, last slots.SlotID }

// append adds a reduce to the end of a list.
// The reduce must be in no list.
func (d *driver) append(l *list, id slots.SlotID) {
	r := &d.slots[id]
	r.next, r.before = none, l.last
	if l.last == none {
		l.first = id
	} else {
		d.slots[l.last].next = id
	}
	l.last = id
}

// unlink takes a reduce out of a list.
// The reduce must be in this list. It takes the same time wherever it stands.
func (d *driver) unlink(l *list, id slots.SlotID) {
	r := &d.slots[id]
	if r.before == none {
		l.first = r.next
	} else {
		d.slots[r.before].next = r.next
	}
	if r.next == none {
		l.last = r.before
	} else {
		d.slots[r.next].before = r.before
	}
}

// start begins an attempt on its slot.
//
// hot: once an attempt.
func (d *driver) start(s *slots.Start) {
	r := &d.slots[s.Slot]
	invariant.Check(r.stage == idle, "sim: slot %d has %v and gets %v", s.Slot, r.id, s.Attempt)
	i := d.fileJob[s.Attempt.Job]
	r.id, r.killed, r.advanced = s.Attempt, false, false
	r.Job, r.Kind, r.Gen, r.Started, r.CPU, r.CopyTime = i, s.Attempt.Kind, r.Gen+1, d.now, 0, 0
	// Orders name attempts, and events name slots.
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
	r.stage = copying
	d.append(&j.copying, s.Slot)
	d.model.Set(d.now, &r.Task, cost.Copying)
	if !j.flow.Complete() {
		d.reportPhase(s.Slot, slots.PhaseCopy)
		return
	}
	d.finishCopy(s.Slot)
}

// times sets how long the work of an attempt takes: as the file has it, and on its
// tracker.
func (d *driver) times(r *simAttempt) {
	w := &d.file.Jobs[r.Job]
	times := &w.MapTime
	if r.Kind == slots.Reduce {
		times = &w.ReduceTime
	}
	r.Base = max(0, times.At(d.o.Seed, int(r.Job)+d.o.first, r.Kind == slots.Reduce, int(r.id.Task)))
	r.Took = r.Base
	if speed := d.trackers[r.Tracker].speed; speed != slots.One {
		r.Took = cost.Scaled(int64(r.Base), int64(slots.One), int64(speed))
	}
}

// work begins the work of a map, or of a reduce that has left its copy phase.
func (d *driver) work(r *simAttempt) {
	r.stage = working
	d.model.Set(d.now, &r.Task, cost.Working)
}

// finishCopy lets a reduce of a complete flow copy what it has not copied yet.
func (d *driver) finishCopy(id slots.SlotID) {
	r := &d.slots[id]
	if d.model.Set(d.now, &r.Task, cost.CopyRest) {
		d.copied(id)
		return
	}
	if r.Started == d.now {
		d.reportPhase(id, slots.PhaseCopy)
	}
}

// copied books that a reduce has all its input. It reduces if it may.
func (d *driver) copied(id slots.SlotID) {
	r := &d.slots[id]
	d.unlink(&d.jobs[r.Job].copying, id)
	d.model.Set(d.now, &r.Task, cost.Held)
	r.stage = held
	if !d.holds || r.advanced {
		d.leaveCopy(r)
		return
	}
	d.reportPhase(id, slots.PhaseHeld)
}

// advance lets a reduce leave its copy phase once it has all its input.
func (d *driver) advance(a slots.AttemptID) {
	id, ok := d.where[a]
	if !ok {
		return
	}
	r := &d.slots[id]
	r.advanced = true
	if r.stage == held {
		d.leaveCopy(r)
	}
}

// leaveCopy lets a reduce that has all its input reduce.
func (d *driver) leaveCopy(r *simAttempt) {
	d.times(r)
	d.work(r)
}

// End implements cost.Host: the work of an attempt is done.
func (d *driver) End(id slots.SlotID) { d.end(id) }

// end books the end of an attempt, however it ended.
func (d *driver) end(id slots.SlotID) {
	r := &d.slots[id]
	d.model.Set(d.now, &r.Task, cost.Idle)
	r.stage = over
	if d.o.Heartbeat > 0 {
		d.later(id, slots.PhaseNone)
		return
	}
	d.reportEnd(id)
}

// kill stops an attempt, unless it has ended or its tracker is lost.
func (d *driver) kill(a slots.AttemptID) {
	id, ok := d.where[a]
	if !ok || d.slots[id].stage == over {
		return
	}
	r := &d.slots[id]
	if r.stage == copying {
		d.unlink(&d.jobs[r.Job].copying, id)
	}
	r.Gen++
	r.killed = true
	d.end(id)
}

// forget takes an attempt off its slot. The Ledger does not hear of it.
func (d *driver) forget(id slots.SlotID) {
	r := &d.slots[id]
	if r.stage == copying {
		d.unlink(&d.jobs[r.Job].copying, id)
	}
	if r.stage != over {
		d.model.Set(d.now, &r.Task, cost.Idle)
	}
	delete(d.where, r.id)
	r.Gen++
	r.stage = idle
	d.live--
}

// reportEnd tells the Ledger how an attempt ended. If the Ledger commits a map output,
// it is available from now on. The last one lets the reduces that copy finish.
//
// hot: once an attempt.
func (d *driver) reportEnd(id slots.SlotID) {
	r := &d.slots[id]
	a, i := r.id, r.Job
	// The slot is free before the Ledger hears of the end, because it may grant it at once.
	d.forget(id)
	if !r.killed {
		d.bounds.progress()
	}
	d.ledger.Finish(d.now, a, d.outcome(r, i))
	j := &d.jobs[i]
	if done, total := d.ledger.JobTasks(a.Job, slots.Map); a.Kind == slots.Map && done == total {
		d.accounts.MapsDone(d.now)
	}
	if a.Kind == slots.Map && j.spec.Reduces > 0 && !j.flow.Complete() {
		if done, _ := d.ledger.JobTasks(a.Job, slots.Map); done > j.flow.There {
			// The Ledger has committed the output.
			j.flow.Add(d.now, a.Task, r.Tracker)
			d.flowed(j)
		}
	}
	d.settle(i)
}

// flowed schedules the end of all copies if the last output of a job is available.
func (d *driver) flowed(j *simJob) {
	if !j.flow.Complete() {
		return
	}
	for id := j.copying.first; id != none; {
		next := d.slots[id].next // finishCopy may take id out
		d.finishCopy(id)
		id = next
	}
}

// outcome returns how an attempt ended, and the bytes it moved.
func (d *driver) outcome(r *simAttempt, i int32) slots.Outcome {
	if r.killed {
		return slots.Outcome{Killed: true}
	}
	j := &d.jobs[i]
	if j.faulty && r.id.N < d.failing[taskKey{i, int32(r.id.Task), r.Kind}] {
		return slots.Outcome{}
	}
	o := slots.Outcome{OK: true, CPU: r.CPU}
	if r.Kind == slots.Map {
		j.written++
		// Only a job that was measured has input bytes; the output matters for the shuffle.
		o.InBytes = d.file.Jobs[i].MapInputBytes
		o.OutBytes = d.file.Jobs[i].MapOutputBytes
		return o
	}
	f := j.flow
	f.MapBytes = d.file.Jobs[i].MapOutputBytes // L0 moves them in no time
	o.InBytes = f.Bytes(f.Maps)
	o.CopyBytes, o.CopyTime = o.InBytes, r.CopyTime
	return o
}

// Phase implements cost.Host.
func (d *driver) Phase(id slots.SlotID, p slots.Phase) { d.reportPhase(id, p) }

// Detail implements cost.Host. The Ledger needs none of it.
func (d *driver) Detail(id slots.SlotID, op trace.Op, first, second int64) {
	if d.stream == nil {
		return
	}
	a := d.slots[id].id
	d.stream.Append(trace.Event{
		Op: op, At: d.now, Kind: a.Kind, Job: int32(a.Job), Task: int32(a.Task), N: a.N, Slot: int32(id), A: first, B: second,
	})
}

// reportPhase tells the Ledger that an attempt is in another phase: now, or at its
// tracker's next heartbeat.
func (d *driver) reportPhase(id slots.SlotID, p slots.Phase) {
	if d.o.Heartbeat > 0 {
		d.later(id, p)
		return
	}
	d.ledger.Phase(d.now, d.slots[id].id, p)
}

// The driver computes what an attempt has done only when the policy asks for it
// (slots.Orders.Probe): a policy that speculates does so before it looks at what runs.
// With heartbeats each tracker then reports it at every heartbeat.

// probe reports the progress of all attempts, if the policy asked for it by now and is
// about to decide. An event that is stale, such as the end of a killed attempt, leads to
// no decision.
func (d *driver) probe() {
	if d.probeAt < 0 || d.now < d.probeAt || d.o.Heartbeat > 0 || !d.ledger.Due(d.now) {
		return
	}
	d.probeAt = -1
	for id := range d.slots {
		d.reportProgress(slots.SlotID(id))
	}
}

// reportProgress tells the Ledger how far an attempt is. A map has done the part of
// its time that is over. A reduce has a third for what it has copied, and two thirds
// for the rest (Hadoop 1.0.3, ReduceTask).
func (d *driver) reportProgress(id slots.SlotID) {
	r := &d.slots[id]
	if r.stage == idle || r.stage == over {
		return
	}
	done := float64(0)
	switch {
	case r.stage == copying:
		done = d.model.Done(d.now, &r.Task, true) / 3
	case r.stage == held:
		done = 1. / 3
	case r.Kind == slots.Map:
		done = d.model.Done(d.now, &r.Task, false)
	default:
		done = 1./3 + float64(d.model.Done(d.now, &r.Task, false)*2/3)
	}
	d.ledger.Progress(d.now, r.id, slots.PPM(float64(done*float64(slots.One))))
}
