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
	held          // a reduce that has copied everything, and may not go on yet
	works         // a map, or a reduce past its copy
	onCPU         // the same, under L2: computes or reduces
	onDisk        // the same: writes or sorts
	over          // has ended, and its tracker has not told yet
)

// running is what runs on a slot.
type running struct {
	attempt  slots.AttemptID
	gen      uint32 // what is on the agenda for an earlier one is void
	stage    stage
	killed   bool
	advanced bool // may leave its copy phase, where the policy says when
	tracker  slots.TrackerID
	started  time.Duration

	next, before slots.SlotID // in the job's list of copying reduces

	took, ends time.Duration // of its work; ends not under L2

	// Under L2 only.
	place    int32         // in the pool that it shares; negative: in none
	turn     uint64        // of the ends of its periods, among those for the same time
	memory   uint64        // that it wants
	cpu, io  time.Duration // to come
	computed time.Duration // alone, in all
	copied   time.Duration // for how long it did
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
	r.attempt, r.gen, r.killed, r.advanced, r.started = s.Attempt, r.gen+1, false, false, d.now
	d.where[s.Attempt] = s.Slot
	d.live++
	i := d.fileJob[s.Attempt.Job]
	j := &d.jobs[i]
	if s.Attempt.Kind == slots.Map {
		base, took := d.takes(r)
		if j.placed && s.Locality < slots.LevelTracker {
			took = scaled(int64(took), int64(d.o.RemotePenalty), int64(slots.One))
		}
		d.work(s.Slot, base, took)
		return
	}
	r.stage = copies
	d.append(&j.copying, s.Slot)
	if d.nodes != nil {
		d.onNet(j, s.Slot)
	}
	if !j.flow.complete() {
		d.tellPhase(s.Slot, slots.PhaseCopy)
		return
	}
	d.finishCopy(j, s.Slot)
}

// takes is how long the work of an attempt takes: as the file has it, and on its
// tracker.
func (d *driver) takes(r *running) (base, took time.Duration) {
	i := d.fileJob[r.attempt.Job]
	w := &d.file.Jobs[i]
	times := &w.MapTime
	if r.attempt.Kind == slots.Reduce {
		times = &w.ReduceTime
	}
	base = max(0, times.At(d.o.Seed, int(i), r.attempt.Kind == slots.Reduce, int(r.attempt.Task)))
	if speed := d.trackers[r.tracker].speed; speed != slots.One {
		return base, scaled(int64(base), int64(slots.One), int64(speed))
	}
	return base, base
}

// work begins the work of a map, or of a reduce that has left its copy phase.
func (d *driver) work(id slots.SlotID, base, took time.Duration) {
	r := &d.slots[id]
	r.stage, r.took, r.ends = works, took, later(d.now, took)
	if d.nodes != nil {
		d.share(id, base, took)
		return
	}
	if r.attempt.Kind == slots.Reduce {
		d.tellPhase(id, slots.PhaseReduce)
	}
	d.push(r.ends, endAttempt, int32(id), r.gen)
}

// finishCopy lets a reduce of a complete flow copy what it has not copied yet.
func (d *driver) finishCopy(j *jobRun, id slots.SlotID) {
	r := &d.slots[id]
	shared := d.nodes != nil && j.flow.mapBytes > 0
	at := j.flow.copied(r.started)
	if shared {
		at = d.copiesUntil(id)
	}
	if at <= d.now {
		d.copied(id)
		return
	}
	if r.started == d.now {
		d.tellPhase(id, slots.PhaseCopy)
	}
	if shared {
		d.awaitCopy(id)
		return
	}
	d.push(at, endCopy, int32(id), r.gen)
}

// copied: a reduce has all its input, and reduces if it may.
func (d *driver) copied(id slots.SlotID) {
	r := &d.slots[id]
	d.unlink(&d.jobs[d.fileJob[r.attempt.Job]].copying, id)
	if d.nodes != nil {
		d.offNet(id)
	}
	r.stage = held
	if !d.holds || r.advanced {
		d.leaveCopy(id)
		return
	}
	d.tellPhase(id, slots.PhaseHeld)
}

// advance: a reduce may leave its copy phase, once it has all its input.
func (d *driver) advance(a slots.AttemptID) {
	id, ok := d.where[a]
	if !ok {
		return
	}
	r := &d.slots[id]
	r.advanced = true
	if r.stage == held {
		d.leaveCopy(id)
	}
}

// leaveCopy lets a reduce that has all its input reduce.
func (d *driver) leaveCopy(id slots.SlotID) {
	r := &d.slots[id]
	d.off(id)
	base, took := d.takes(r)
	d.work(id, base, took)
}

// end: an attempt has come to its end, well or not.
func (d *driver) end(id slots.SlotID) {
	r := &d.slots[id]
	d.off(id)
	r.stage = over
	if d.o.Heartbeat > 0 {
		d.later(id, slots.PhaseNone)
		return
	}
	d.tellEnd(id)
}

// kill stops an attempt; one that has ended already, or that is gone with its
// tracker, is left alone.
func (d *driver) kill(a slots.AttemptID) {
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
	if r.stage != over {
		d.off(id)
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
	o := slots.Outcome{OK: true}
	if d.nodes != nil {
		o.CPU = scaled(int64(r.computed), int64(j.needs.cpuShare[r.attempt.Kind]), int64(slots.One))
	}
	if r.attempt.Kind == slots.Map {
		o.OutBytes = d.file.Jobs[i].MapOutputBytes
		return o
	}
	f := j.flow
	f.mapBytes = d.file.Jobs[i].MapOutputBytes // L0 moves them in no time
	o.InBytes = f.bytes(f.maps)
	o.CopyBytes, o.CopyTime = o.InBytes, j.flow.copying(f.maps)
	if d.nodes != nil && j.flow.mapBytes > 0 {
		o.CopyTime = r.copied
	}
	return o
}

// tellPhase tells the Ledger that an attempt changes phase.
func (d *driver) tellPhase(id slots.SlotID, p slots.Phase) {
	if d.o.Heartbeat > 0 {
		d.later(id, p)
		return
	}
	d.ledger.Phase(d.now, d.slots[id].attempt, p)
}
