package sim

import (
	"fmt"
	"time"

	"mrlocal/internal/invariant"
	"mrlocal/sim/cost"
	"mrlocal/sim/events"
	"mrlocal/slots"
	"mrlocal/slots/setup"
	"mrlocal/trace"
	"mrlocal/workload"
)

// driver is one run: the event queue, the attempts on the slots, and the states of the jobs. It
// gives facts to its Ledger and obeys the Ledger's orders.
type driver struct {
	file    *workload.File
	o       *Options
	claimed *setup.Claim
	ledger  *slots.Ledger
	stream  *trace.Stream // nil: nothing is recorded
	queue   events.Queue
	now     time.Duration // virtual time

	slots    []simAttempt                     // by slot id
	where    map[slots.AttemptID]slots.SlotID // of running attempts; never iterated
	trackers []tracker                        // by id
	model    model
	on       events.Handlers // handlers of queued events
	holds    bool            // a reduce leaves its copy phase only when the policy orders it
	byPhase  bool            // the policy is a slots.PhaseGate, which decides by phases
	jobs     []simJob        // by index in the file
	release  *setup.Release
	fileJob  []int32           // by JobID: index in the file
	failing  map[taskKey]int32 // number of first attempts that a fault makes fail

	live         int // number of attempts whose end the Ledger does not know yet
	left         int // number of jobs that have not ended
	active       int // number of jobs that are submitted and whose end is noted (noteEnd)
	faultsLeft   int
	trackersLost int
	quiet        int // number of trackers that are not lost and have no Beat in the queue

	wakeAt    time.Duration     // of the wake-up in the queue; negative: none
	probeAt   time.Duration     // from this time on progress is reported; negative: it is not
	woken     bool              // a wake-up is due at this instant
	beats     []slots.TrackerID // trackers that have a heartbeat at this instant
	idle      int               // number of heartbeats and wake-ups in a row that started nothing
	idleSince time.Duration     // time of the first of these
	mostIdle  time.Duration     // for so long a policy may wait while nothing runs
	bounds    bounds
}

// simJob is the state of a job of the file.
type simJob struct {
	spec    slots.JobSpec
	state   jobState
	id      slots.JobID    // once it is in the Ledger
	blame   int32          // index of the job because of which it does not start; negative: no tracker was left
	written int64          // number of maps that have written their output
	faulty  bool           // a fault makes attempts of some task fail
	placed  bool           // its maps' input has a place
	flow    *cost.Flow     // its map outputs on their way; the model's
	copying []slots.SlotID // its reduces that copy, in the order of their starts, and none for others
}

// taskKey names a task by the index of its job in the file.
type taskKey struct {
	job, task int32
	kind      slots.Kind
}

// newDriver makes the driver of a run of f. jobs and o are lowered and checked.
func newDriver(f *workload.File, jobs []setup.Submission, o *Options, l *slots.Ledger, claimed *setup.Claim) *driver {
	c := l.Config()
	d := &driver{
		file: f, o: o, claimed: claimed, ledger: l, slots: make([]simAttempt, len(c.Slots)), jobs: make([]simJob, len(f.Jobs)), left: len(f.Jobs), wakeAt: -1, probeAt: -1,
		where: map[slots.AttemptID]slots.SlotID{}, failing: map[taskKey]int32{},
		mostIdle: 2 * o.Heartbeat, holds: l.HoldsCopy(),
	}
	if o.LocalityDelay != nil {
		d.mostIdle += 4 * *o.LocalityDelay
	}
	_, d.byPhase = claimed.Inner.(slots.PhaseGate)
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
		d.slots[i].Slot = s.ID
		d.slots[i].Tracker = s.Tracker
		d.slots[i].state = attemptGone
	}
	// Beats begin with the first job, so no tracker has one in the queue yet.
	d.quiet = len(d.trackers)
	for _, s := range o.Slow {
		d.trackers[s.Tracker].speed = s.Factor
	}
	d.model = o.level.model(cost.Config{
		Queue: &d.queue, Handlers: &d.on, Host: d, File: f, Slots: c.Slots, Capacities: c.Capacities,
		BytesPerSecond: o.ShuffleBytesPerSecond, Note: o.Note,
	})
	for i := range f.Jobs {
		d.jobs[i] = d.newJob(i, &jobs[i], &c)
	}
	d.release = setup.NewRelease(len(jobs), func(i int) *setup.Submission { return &jobs[i] })
	d.setHandlers()
	return d
}

// newJob returns the state of job i of the file before its submission. All of its maps and
// reduces are known.
func (d *driver) newJob(i int, s *setup.Submission, c *slots.Config) simJob {
	w := &d.file.Jobs[i]
	j := simJob{spec: s.Spec(), flow: d.model.Flow(int32(i))}
	j.spec.Maps = int32(w.Maps)
	j.spec.MapsSealed = true
	j.spec.Reduces = int32(w.Reduces)
	j.spec.Unplaced = w.StepOf != ""
	j.placed = c.Replicas > 0 && !j.spec.Unplaced
	return j
}

// plan adds the submissions and timed faults of the file to the queue. Faults that make attempts
// fail go into d.failing.
func (d *driver) plan() {
	for i := range d.jobs {
		d.queue.Push(d.file.Jobs[i].Submit, events.SubmitJob, int32(i), 0)
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
		d.queue.Push(x.At, events.InjectFault, int32(i), 0)
	}
}

// submitDue submits the jobs whose time has come and that wait for no other job. It starts the
// heartbeats if there are none yet.
func (d *driver) submitDue() {
	submitted := false
	for i, at, ok := d.release.First(); ok && at <= d.now; i, at, ok = d.release.First() {
		d.release.Remove()
		j := &d.jobs[i]
		invariant.Move(&j.state, jobRunning)
		j.id = d.ledger.Submit(d.now, j.spec)
		if d.stream != nil {
			for _, before := range d.file.Jobs[i].After {
				d.stream.Append(trace.Event{At: d.now, Op: trace.OpWait, Job: int32(j.id), A: int64(d.jobs[before].id), B: int64(d.file.Jobs[i].Submit)})
			}
		}
		d.fileJob = append(d.fileJob, int32(i))
		d.active++
		d.idle = 0
		d.bounds.progress()
		submitted = true
		d.noteEnd(int32(i)) // a job without tasks ends at once
	}
	if !submitted || d.o.Heartbeat == 0 || d.active == 0 || d.quiet == 0 {
		return
	}
	for id := range d.trackers { // those that have no heartbeat get one
		d.schedule(slots.TrackerID(id), false)
	}
}

// afterFact is called after every fact about job i of the file. If the job has ended, it notes
// the end and submits jobs that waited for it.
func (d *driver) afterFact(i int32) {
	if d.ledger.Active() == d.active {
		return
	}
	d.noteEnd(i)
	d.submitDue()
	invariant.Check(d.ledger.Active() == d.active, "sim: %d jobs are active, not %d", d.ledger.Active(), d.active)
}

// noteEnd notes the end of job i, if it has ended.
func (d *driver) noteEnd(i int32) {
	j := &d.jobs[i]
	if j.state != jobRunning || d.ledger.JobState(j.id) == slots.Running {
		return
	}
	invariant.Move(&j.state, jobEnded)
	j.flow.Release() // no reduce copies any more
	d.active--
	d.left--
	d.releaseAfter(i, d.ledger.JobState(j.id) == slots.Succeeded)
}

// releaseAfter releases the jobs that wait for job i, which has ended. If it did not succeed, they never
// start.
func (d *driver) releaseAfter(i int32, succeeded bool) {
	for _, x := range d.release.Ended(d.now, int(i), succeeded) {
		d.neverStart(int32(x.Job), int32(x.Because))
	}
}

// neverStart notes that job i is never submitted. blame is as in simJob.
func (d *driver) neverStart(i, blame int32) {
	j := &d.jobs[i]
	invariant.Move(&j.state, jobNotStarted)
	j.blame = blame
	d.left--
	d.o.Note(fmt.Sprintf("job %s does not start: %s", j.spec.Name, d.blamed(j)))
}

// everyTrackerLost is the error of a job that has not ended when the last tracker is lost.
const everyTrackerLost = "every tracker is lost"

// blamed returns in words why a job is not submitted.
func (d *driver) blamed(j *simJob) string {
	if j.blame < 0 {
		return everyTrackerLost
	}
	b, did := &d.jobs[j.blame], "failed"
	if b.state == jobNotStarted && b.blame >= 0 {
		did = "does not start either"
	}
	return fmt.Sprintf("job %s, which it waits for, %s", b.spec.Name, did)
}

// inject injects the loss of a tracker or of a committed map output.
func (d *driver) inject(x *setup.Fault) {
	d.faultsLeft--
	d.idle = 0
	d.bounds.progress()
	if x.Tracker >= 0 {
		d.lose(slots.TrackerID(x.Tracker))
		return
	}
	j := &d.jobs[x.Job]
	if j.state != jobRunning {
		return
	}
	d.ledger.LostOutput(d.now, j.id, slots.TaskID(x.Task))
	d.loseOutputs(j, func(a *cost.Available) bool { return a.Task == slots.TaskID(x.Task) })
	d.afterFact(int32(x.Job))
}

// lose handles the loss of a tracker, with the attempts that run there and the map outputs on
// it.
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
	tr.pending = nil // these updates are lost with the tracker
	for _, id := range tr.slots {
		if d.slots[id].state != attemptGone {
			d.forget(id) // LostTracker below ends all attempts in the Ledger at once
		}
	}
	d.ledger.LostTracker(d.now, t)
	for _, i := range d.fileJob {
		if j := &d.jobs[i]; j.state == jobRunning && j.spec.Reduces > 0 {
			d.loseOutputs(j, func(a *cost.Available) bool { return a.Tracker == t })
		}
	}
	if d.trackersLost == len(d.trackers) {
		d.failAll()
	}
}

// failAll makes all jobs fail that have not ended, because no attempt can run any more. As in a
// real run, jobs that are to come fail without being submitted, and jobs that wait for others never
// start.
func (d *driver) failAll() {
	for _, i := range d.fileJob {
		if j := &d.jobs[i]; j.state == jobRunning {
			d.ledger.Abort(d.now, j.id)
			d.noteEnd(i)
		}
	}
	for i, _, ok := d.release.First(); ok; i, _, ok = d.release.First() {
		d.release.Remove()
		d.neverStart(int32(i), -1)
		d.releaseAfter(int32(i), false)
	}
}

// loseOutputs takes lost outputs out of a job's flow, so that reduces that copy have to wait. It
// takes only as many as the Ledger counts as lost: the Ledger ignores outputs of maps that are not
// done.
func (d *driver) loseOutputs(j *simJob, lost func(a *cost.Available) bool) {
	done, _ := d.ledger.JobTasks(j.id, slots.Map)
	if done >= j.flow.There { // the Ledger has lost none of them
		return
	}
	copying := func(yield func(*cost.Task) bool) {
		for _, id := range j.copying {
			if id != none && !yield(&d.slots[id].Task) {
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

// tracker is one tracker, and the updates that it reports at its next heartbeat.
type tracker struct {
	speed   slots.PPM // One: normal
	lost    bool
	beating bool // its next Beat is in the queue
	slots   []slots.SlotID
	pending []statusUpdate
}

// statusUpdate says that an attempt is in another phase, or has ended.
type statusUpdate struct {
	attempt slots.AttemptID
	slot    slots.SlotID
	phase   slots.Phase // PhaseNone: the attempt has ended
}

// reportLater adds a status update for the next heartbeat of a slot's tracker.
func (d *driver) reportLater(id slots.SlotID, p slots.Phase) {
	r := &d.slots[id]
	t := &d.trackers[r.Tracker]
	t.pending = append(t.pending, statusUpdate{r.id, id, p})
}

// beat is a heartbeat of a tracker: it reports ends, phases and progress of its attempts, then
// it asks for orders.
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

// schedule adds the tracker's next Beat to the queue: the first one at d.now or later, or with
// after the first one later than d.now.
func (d *driver) schedule(id slots.TrackerID, after bool) {
	t := &d.trackers[id]
	if t.beating || t.lost {
		return
	}
	t.beating = true
	d.quiet--
	// Tracker i of n has its heartbeats at i·T/n + k·T.
	every := d.o.Heartbeat
	at := cost.Scaled(int64(every), int64(id), int64(len(d.trackers)))
	if d.now > at {
		at += (d.now - at + every - 1) / every * every
	}
	if after && at == d.now {
		at += every
	}
	d.queue.Push(at, events.Beat, int32(id), 0)
}
