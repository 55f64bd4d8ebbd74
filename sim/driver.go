package sim

import (
	"fmt"
	"time"

	"mrlocal/internal/invariant"
	"mrlocal/sim/cost"
	"mrlocal/slots"
	"mrlocal/slots/setup"
	"mrlocal/trace"
	"mrlocal/workload"
)

// driver is one run: its events, what runs on each slot, and the state of each job. It
// tells its Ledger facts and obeys the Ledger's orders.
type driver struct {
	file   *workload.File
	o      *Options
	ledger *slots.Ledger
	stream *trace.Stream // nil: nobody watches
	queue  cost.Queue
	now    time.Duration

	slots    []simAttempt
	where    map[slots.AttemptID]slots.SlotID // looked up only
	trackers []tracker
	model    costModel
	accounts accounts                                    // of the same model
	on       [cost.EventKinds]func(id int32, gen uint32) // what handles an event
	holds    bool                                        // a reduce may leave its copy phase only when the policy says so
	looks    bool                                        // the policy decides by phases, and may hold reduces
	jobs     []simJob                                    // as in the file
	release  *setup.Release
	fileJob  []int32 // by JobID: index in the file
	failing  map[taskKey]int32

	live         int // attempts that the Ledger thinks run
	left         int // jobs that have not ended
	active       int // jobs that are submitted and have not ended
	faultsLeft   int
	trackersLost int
	quiet        int // trackers that are not lost and have no Beat in the queue

	wakeAt    time.Duration     // of the wake-up in the queue; negative: none
	probeAt   time.Duration     // from when on progress is to be reported; negative: it is not
	woken     bool              // a wake-up is due at this instant
	beats     []slots.TrackerID // trackers whose heartbeat it is
	idle      int               // steps in a row that brought nothing
	idleSince time.Duration
	mostIdle  time.Duration // how long a policy may wait with nothing running
	bounds    bounds
}

// simJob is the state of a job of the file.
type simJob struct {
	spec    slots.JobSpec
	written int64       // maps that have written their output
	id      slots.JobID // -1: not submitted
	blame   int32       // the job because of which it is not submitted; -1: none
	ended   bool        // it has ended, or is never submitted
	faulty  bool        // some task has attempts that fail on purpose
	placed  bool        // its maps' input has a place
	flow    cost.Flow
	copying list
}

// taskKey names a task of the file.
type taskKey struct {
	job, task int32
	kind      slots.Kind
}

// newDriver makes the driver of a run of f. jobs and o are lowered and checked.
func newDriver(f *workload.File, jobs []setup.Submission, o *Options, l *slots.Ledger) *driver {
	c := l.Config()
	d := &driver{
		file: f, o: o, ledger: l, slots: make([]simAttempt, len(c.Slots)), jobs: make([]simJob, len(f.Jobs)), left: len(f.Jobs), wakeAt: -1, probeAt: -1,
		where: map[slots.AttemptID]slots.SlotID{}, failing: map[taskKey]int32{},
		mostIdle: 4*o.LocalityDelay + 2*o.Heartbeat, holds: l.HoldsCopy(),
	}
	_, d.looks = o.Policy.(slots.PhaseGate)
	d.bounds = newBounds(len(c.Slots), len(f.Jobs))
	if o.mostEvents > 0 {
		d.bounds.mostEvents = o.mostEvents
	}
	for i, s := range c.Slots {
		for int(s.Tracker) >= len(d.trackers) {
			d.trackers = append(d.trackers, tracker{speed: slots.One})
		}
		t := &d.trackers[s.Tracker]
		t.slots = append(t.slots, s.ID)
		d.slots[i].Slot, d.slots[i].Tracker = s.ID, s.Tracker
	}
	// Beats begin with the first job, so no tracker has one in the queue yet.
	d.quiet = len(d.trackers)
	for _, s := range o.Slow {
		d.trackers[s.Tracker].speed = s.Factor
	}
	for i := range f.Jobs {
		d.jobs[i] = d.newJob(i, &jobs[i], &c)
	}
	d.release = setup.NewRelease(len(jobs), func(i int) *setup.Submission { return &jobs[i] })
	d.setModel(c.Capacities)
	d.setHandlers()
	return d
}

// newJob returns the state of job i of the file before its submission. All of its maps and
// reduces are known.
func (d *driver) newJob(i int, s *setup.Submission, c *slots.Config) simJob {
	w := &d.file.Jobs[i]
	j := simJob{spec: s.Spec(), id: -1, blame: -1, copying: list{none, none}}
	j.spec.Maps, j.spec.MapsSealed, j.spec.Reduces = int32(w.Maps), true, int32(w.Reduces)
	j.placed = c.Replicas > 0 && !j.spec.Unplaced
	j.flow = cost.Flow{Maps: j.spec.Maps, Reduces: int64(j.spec.Reduces)}
	if d.o.network() {
		j.flow.MapBytes, j.flow.PerSecond = w.MapOutputBytes, d.o.ShuffleBytesPerSecond
	}
	return j
}

// plan adds the submissions and faults of the file to the queue, in its order.
func (d *driver) plan() {
	for i := range d.jobs {
		d.queue.Push(d.file.Jobs[i].Submit, cost.SubmitJob, int32(i), 0)
	}
	for i, x := range d.o.Faults {
		if x.Tracker < 0 && !x.Lost {
			kind := slots.Map
			if x.Reduce {
				kind = slots.Reduce
			}
			d.jobs[x.Job].faulty = true
			key := taskKey{int32(x.Job), int32(x.Task), kind}
			d.failing[key] = max(d.failing[key], int32(x.Fail))
			continue
		}
		d.faultsLeft++
		d.queue.Push(x.At, cost.InjectFault, int32(i), 0)
	}
}

// submitDue submits the jobs whose time has come and that wait for no other job.
func (d *driver) submitDue() {
	submitted := false
	for i, at, ok := d.release.Next(); ok && at <= d.now; i, at, ok = d.release.Next() {
		d.release.Take()
		j := &d.jobs[i]
		j.id = d.ledger.Submit(d.now, j.spec)
		d.fileJob = append(d.fileJob, int32(i))
		d.active++
		d.idle = 0
		d.bounds.progress()
		submitted = true
		d.book(int32(i))
	}
	if submitted {
		d.startBeats()
	}
}

// settle follows every fact about job i of the file: it may have ended, so that
// others may be submitted.
func (d *driver) settle(i int32) {
	if d.ledger.Active() == d.active {
		return
	}
	d.book(i)
	d.submitDue()
	invariant.Check(d.ledger.Active() == d.active, "sim: %d jobs are active, not %d", d.ledger.Active(), d.active)
}

// book books the end of job i, if it has ended, and drops the jobs that are never
// submitted because it did not succeed.
func (d *driver) book(i int32) {
	j := &d.jobs[i]
	if j.ended || d.ledger.JobState(j.id) == slots.Running {
		return
	}
	j.ended = true
	// Outputs of a job that has ended are copied by nobody.
	j.flow.Release()
	d.active--
	d.left--
	for _, drop := range d.release.Ended(d.now, int(i), d.ledger.JobState(j.id) == slots.Succeeded) {
		j := &d.jobs[drop.Job]
		j.ended, j.blame = true, int32(drop.Because)
		d.left--
		d.o.Note(fmt.Sprintf("job %s does not start: %s", j.spec.Name, d.blamed(j)))
	}
}

// blamed says why a job is not submitted.
func (d *driver) blamed(j *simJob) string {
	b, did := &d.jobs[j.blame], "failed"
	if b.blame >= 0 {
		did = "does not start either"
	}
	return fmt.Sprintf("job %s, which it waits for, %s", b.spec.Name, did)
}

// inject injects a fault: a tracker or a committed map output is lost.
func (d *driver) inject(x *setup.Fault) {
	d.faultsLeft--
	d.idle = 0
	d.bounds.progress()
	if x.Tracker >= 0 {
		d.lose(slots.TrackerID(x.Tracker))
		return
	}
	j := &d.jobs[x.Job]
	if j.id < 0 || j.ended {
		return
	}
	d.ledger.LostOutput(d.now, j.id, slots.TaskID(x.Task))
	d.dropped(j, func(a *cost.Available) bool { return a.Task == slots.TaskID(x.Task) })
	d.settle(int32(x.Job))
}

// lose loses a tracker, with the attempts that run there and the map outputs on it.
func (d *driver) lose(t slots.TrackerID) {
	tr := &d.trackers[t]
	if tr.lost {
		return
	}
	tr.lost = true
	if !tr.beating {
		d.quiet--
	}
	d.trackersLost++
	// What the tracker has not reported by now is never reported.
	tr.pending = nil
	for _, id := range tr.slots {
		if d.slots[id].stage != idle {
			// LostTracker below tells the Ledger of all attempts there at once.
			d.forget(id)
		}
	}
	d.ledger.LostTracker(d.now, t)
	for _, i := range d.fileJob {
		if j := &d.jobs[i]; !j.ended && j.spec.Reduces > 0 {
			d.dropped(j, func(a *cost.Available) bool { return a.Tracker == t })
		}
	}
}

// dropped takes lost outputs out of a job's flow, as far as the Ledger has lost
// them: reduces that copy must wait.
func (d *driver) dropped(j *simJob, lost func(a *cost.Available) bool) {
	done, _ := d.ledger.JobTasks(j.id, slots.Map)
	// The Ledger has lost none of these outputs.
	if done >= j.flow.There {
		return
	}
	copying := func(yield func(*cost.Task) bool) {
		for id := j.copying.first; id != none; id = d.slots[id].next {
			if !yield(&d.slots[id].Task) {
				return
			}
		}
	}
	if j.flow.Complete() {
		for t := range copying {
			t.Gen++ // its EndCopy is stale
		}
	}
	d.model.Lose(d.now, copying, func() { j.flow.Drop(done, lost) })
}

// tracker is one tracker, and its pending updates.
type tracker struct {
	speed   slots.PPM
	lost    bool
	beating bool // its next Beat is in the queue
	slots   []slots.SlotID
	pending []statusUpdate
}

// statusUpdate is what a tracker reports at its next heartbeat: an attempt is in
// another phase, or has ended (PhaseNone).
type statusUpdate struct {
	attempt slots.AttemptID
	slot    slots.SlotID
	phase   slots.Phase
}

// later adds a status update for the tracker's next heartbeat.
func (d *driver) later(id slots.SlotID, p slots.Phase) {
	r := &d.slots[id]
	t := &d.trackers[r.Tracker]
	t.pending = append(t.pending, statusUpdate{r.id, id, p})
}

// beat is a heartbeat: the tracker reports what has changed, then asks for tasks.
func (d *driver) beat(id slots.TrackerID) {
	t := &d.trackers[id]
	t.beating = false
	if t.lost {
		return
	}
	d.quiet++
	d.idleStep()
	for i := 0; i < len(t.pending); i++ { // the end of a map may add updates of reduces here
		u := t.pending[i]
		if u.phase == slots.PhaseNone {
			d.reportEnd(u.slot)
		} else {
			d.ledger.Phase(d.now, u.attempt, u.phase)
		}
	}
	t.pending = t.pending[:0]
	if d.probeAt >= 0 {
		for _, id := range t.slots {
			d.reportProgress(id)
		}
	}
	d.obey(d.ledger.Assign(d.now, id))
	if d.active > 0 || d.live > 0 {
		d.schedule(id, true)
	}
}

// schedule adds the tracker's next Beat to the queue: the first one from d.now on, or
// after d.now.
func (d *driver) schedule(id slots.TrackerID, after bool) {
	t := &d.trackers[id]
	if t.beating || t.lost {
		return
	}
	t.beating = true
	d.quiet--
	every := d.o.Heartbeat
	at := cost.Scaled(int64(every), int64(id), int64(len(d.trackers)))
	if d.now > at {
		at += (d.now - at + every - 1) / every * every
	}
	if after && at == d.now {
		at += every
	}
	d.queue.Push(at, cost.Beat, int32(id), 0)
}

// startBeats starts the heartbeats of all trackers when there is a job.
func (d *driver) startBeats() {
	if d.o.Heartbeat == 0 || d.active == 0 || d.quiet == 0 {
		return
	}
	for id := range d.trackers {
		d.schedule(slots.TrackerID(id), false)
	}
}
