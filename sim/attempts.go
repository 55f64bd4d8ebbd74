package sim

import (
	"time"

	"mrlocal/internal/invariant"
	"mrlocal/slots"
)

// stage is what a slot is doing.
type stage uint8

const (
	nothing stage = iota
	copies        // a reduce: waits for map outputs, or copies them
	works         // a map, or a reduce past its copy
	over          // has ended, and its tracker has not told yet
)

// running is what runs on a slot.
type running struct {
	attempt slots.Attempt
	gen     uint32 // what is on the agenda for an earlier one is void
	stage   stage
	killed  bool
	tracker slots.TrackerID
	started time.Duration

	next, before slots.SlotID // in the job's list of copying reduces
}

// none ends lists of slots.
const none = slots.NoSlot

// list holds a job's copying reduces in the order of their starts.
type list struct{ first, last slots.SlotID }

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
// hot: once an attempt.
func (d *driver) start(s *slots.Start) {
	r := &d.slots[s.Slot]
	invariant.Check(r.stage == nothing, "sim: slot %d has %v and gets %v", s.Slot, r.attempt, s.Attempt)
	r.attempt, r.gen, r.killed, r.started = s.Attempt, r.gen+1, false, d.now
	d.where[s.Attempt] = s.Slot
	d.live++
	i := d.fileJob[s.Attempt.Job]
	j := &d.jobs[i]
	if s.Attempt.Kind == slots.Map {
		r.stage = works
		took := d.takes(r)
		if j.placed && s.Locality < slots.LevelTracker {
			took = scaled(int64(took), int64(d.o.RemotePenalty), int64(slots.One))
		}
		d.push(later(d.now, took), endAttempt, int32(s.Slot), r.gen)
		return
	}
	r.stage = copies
	d.append(&j.copying, s.Slot)
	if !j.flow.complete() {
		d.tellPhase(s.Slot, slots.PhaseCopy)
		return
	}
	d.finishCopy(j, s.Slot)
}

// takes is how long the work of an attempt takes on its tracker.
func (d *driver) takes(r *running) time.Duration {
	i := d.fileJob[r.attempt.Job]
	w := &d.file.Jobs[i]
	times := &w.MapTime
	if r.attempt.Kind == slots.Reduce {
		times = &w.ReduceTime
	}
	took := max(0, times.At(d.o.Seed, int(i), r.attempt.Kind == slots.Reduce, int(r.attempt.Task)))
	if speed := d.trackers[r.tracker].speed; speed != slots.One {
		took = scaled(int64(took), int64(slots.One), int64(speed))
	}
	return took
}

// finishCopy lets a reduce of a complete flow copy what it has not copied yet.
func (d *driver) finishCopy(j *jobRun, id slots.SlotID) {
	r := &d.slots[id]
	if at := j.flow.copied(r.started); at > d.now {
		if r.started == d.now {
			d.tellPhase(id, slots.PhaseCopy)
		}
		d.push(at, endCopy, int32(id), r.gen)
		return
	}
	d.copied(id)
}

// copied: a reduce has all its input and reduces.
func (d *driver) copied(id slots.SlotID) {
	r := &d.slots[id]
	d.unlink(&d.jobs[d.fileJob[r.attempt.Job]].copying, id)
	r.stage = works
	d.tellPhase(id, slots.PhaseReduce)
	d.push(later(d.now, d.takes(r)), endAttempt, int32(id), r.gen)
}

// end: an attempt has come to its end, well or not.
func (d *driver) end(id slots.SlotID) {
	r := &d.slots[id]
	r.stage = over
	if d.o.Heartbeat > 0 {
		d.later(id, slots.PhaseNone)
		return
	}
	d.tellEnd(id)
}

// kill stops an attempt; one that has ended already, or that is gone with its
// tracker, is left alone.
func (d *driver) kill(a slots.Attempt) {
	id, ok := d.where[a]
	if !ok || d.slots[id].stage == over {
		return
	}
	r := &d.slots[id]
	if r.stage == copies {
		d.unlink(&d.jobs[d.fileJob[a.Job]].copying, id)
	}
	r.gen++
	r.killed = true
	d.end(id)
}

// forget takes an attempt off its slot without telling anybody.
func (d *driver) forget(id slots.SlotID) {
	r := &d.slots[id]
	if r.stage == copies {
		d.unlink(&d.jobs[d.fileJob[r.attempt.Job]].copying, id)
	}
	delete(d.where, r.attempt)
	r.gen++
	r.stage = nothing
	d.live--
}

// tellEnd tells the Ledger how an attempt ended; a map output that it takes is
// available from now on, and the last one lets the reduces that copy go on.
// hot: once an attempt.
func (d *driver) tellEnd(id slots.SlotID) {
	r := &d.slots[id]
	a, i := r.attempt, d.fileJob[r.attempt.Job]
	d.forget(id)
	d.ledger.Finish(d.now, a, d.outcome(r, i))
	j := &d.jobs[i]
	if a.Kind == slots.Map && j.spec.Reduces > 0 && !j.flow.complete() {
		if done, _ := d.ledger.JobTasks(a.Job, slots.Map); done > j.flow.there {
			j.flow.add(d.now, a.Task, r.tracker)
			d.flowed(j)
		}
	}
	d.settle(i)
}

// flowed: where the last output is there, every copying reduce can tell when it
// has them all.
func (d *driver) flowed(j *jobRun) {
	if !j.flow.complete() {
		return
	}
	for id := j.copying.first; id != none; {
		next := d.slots[id].next // finishCopy may take id out
		d.finishCopy(j, id)
		id = next
	}
}

// outcome is how an attempt ended and the bytes it moved.
func (d *driver) outcome(r *running, i int32) slots.Outcome {
	if r.killed {
		return slots.Outcome{Killed: true}
	}
	j := &d.jobs[i]
	if j.faulty && r.attempt.N < d.failing[taskKey{i, int32(r.attempt.Task), r.attempt.Kind}] {
		return slots.Outcome{}
	}
	if r.attempt.Kind == slots.Map {
		return slots.Outcome{OK: true, OutBytes: d.file.Jobs[i].MapOutputBytes}
	}
	f := j.flow
	f.mapBytes = d.file.Jobs[i].MapOutputBytes // L0 moves them in no time
	n := f.bytes(f.maps)
	return slots.Outcome{OK: true, InBytes: n, CopyBytes: n, CopyTime: j.flow.copying(f.maps)}
}

// tellPhase tells the Ledger that an attempt changes phase.
func (d *driver) tellPhase(id slots.SlotID, p slots.Phase) {
	if d.o.Heartbeat > 0 {
		d.later(id, p)
		return
	}
	d.ledger.Phase(d.now, d.slots[id].attempt, p)
}
