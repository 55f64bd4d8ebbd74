// Package sim runs a workload file in virtual time, on a cluster of any size. It uses the same
// slots.Ledger, policies, events and report as a real run.
//
// Run takes queued events from one queue, ordered by time and sequence (sim/events):
// submissions, ends of attempts, completed copies, faults, heartbeats. It gives the
// Ledger all facts of one instant, then asks the Ledger, and obeys its orders at that
// instant. Run draws nothing at random: durations are a hash of seed, job and task
// (workload.Times). So the same seed gives the same bytes of events.
//
// A cost model computes how long attempts copy and work (sim/cost). These rules hold
// under every model:
//
//   - A tracker's speed divides the times of maps and reduces, not of copies.
//   - The remote penalty multiplies the times of maps that are not on a tracker with their
//     input.
//   - An attempt that a fault makes fail fails at the end of its time.
//   - A reduce keeps what it has copied. If a map's output is lost, a reduce that has left its
//     copy phase goes on. A reduce that still copies waits until the map has run again, and
//     then copies the new output.
//
// If the policy decides when reduces leave their copy phase (slots.PhaseGate), a reduce
// that has copied everything keeps its slot and memory until then.
//
// There are two ways of asking for orders. At heartbeat 0, the driver calls AssignAll at each
// instant, after all its facts. At heartbeat T, tracker i of n has a heartbeat at i·T/n
// and every T from there, as in Hadoop. At a heartbeat the tracker reports which attempts have
// ended or changed phase since the last one, in that order. Then the driver calls Assign for
// the tracker. A kill stops an attempt at once, and its tracker reports the end at its next
// heartbeat. Submissions, faults and wake-ups of the policy take effect at their own time.
// Reported map outputs become available at their own time too. A wake-up is a visit of all
// trackers. Without jobs there are no heartbeats.
//
// A run that makes no progress, or whose queue grows without end, ends with an error that
// says what it waits for (bounds).
//
// Memory: 24 bytes for each event in the queue, about 200 for each slot, 500 for each
// job, and that of the cost model. Run does not change the workload.File.
package sim

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/sim/cost"
	"mrlocal/sim/events"
	"mrlocal/slots"
	"mrlocal/slots/report"
	"mrlocal/slots/setup"
	"mrlocal/trace"
	"mrlocal/workload"
)

// Run runs the jobs of f in virtual time until all have ended. If errs.IsUsage is true for
// the error, nothing was started. With any other error Run also returns the report up to that
// point. Then ctx has ended, events could not be written, or the run could not go on. In the
// last case the error says what the run waits for.
func Run(ctx context.Context, f *workload.File, o Options) (*report.Report, error) {
	r, err := runAll(ctx, f, o)
	if err == nil && o.Alone {
		err = runAlone(ctx, f, o, r)
	}
	return r, errs.Typed(ctx, err)
}

// warn notes what may be a mistake in the configuration: settings that have no effect, and tasks
// that faults name and jobs do not have. check refuses such faults unless the tasks are measured.
func (o *Options) warn(f *workload.File, jobs []setup.Submission) {
	for _, w := range o.Warnings(o.Policy, true) {
		o.Note(w)
	}
	o.Ignored(o.Policy, len(jobs), func(i int) *setup.Submission { return &jobs[i] }, o.Note)
	for i := range f.Jobs {
		for _, w := range setup.UnknownTasks(o.Faults, i, f.Jobs[i].Maps, f.Jobs[i].Reduces) {
			o.Note(f.Jobs[i].Name + ": " + w)
		}
	}
}

// runAll runs all jobs of f together. It checks options and file before the Ledger gets the
// first job. Errors after that come with a report.
func runAll(ctx context.Context, f *workload.File, o Options) (*report.Report, error) {
	claimed, err := setup.ClaimOf(o.Policy)
	if err != nil {
		return nil, err
	}
	defer claimed.Release()
	o.Policy = claimed.Policy
	f, jobs, err := o.ready(f)
	if err != nil {
		return nil, err
	}
	l, err := newLedger(f, &o, claimed)
	if err != nil {
		return nil, err
	}
	var notes report.Notes
	o.Note = notes.Keep(o.Note)
	o.warn(f, jobs)
	d := newDriver(f, jobs, &o, l, claimed)
	var stream *trace.Stream
	if o.Events != nil || o.Watch != nil {
		stream = trace.NewStream()
		if o.Events != nil {
			stream.Attach(trace.NewJSONL(o.Events))
		}
		if o.Watch != nil {
			o.Watch(stream)
		}
		l.SetStream(stream)
		d.stream = stream
	}
	d.plan()
	err = d.run(ctx)
	if stream != nil {
		if serr := stream.Close(); serr != nil && !errors.Is(err, serr) {
			err = errors.Join(err, fmt.Errorf("events: %w", serr))
		}
	}
	if text := setup.LateFaults(l.Now(), d.faultsLeft); text != "" && err == nil {
		o.Note(text)
	}
	if text := l.Refused(); text != "" {
		o.Note(text)
	}
	r := d.report()
	r.Notes = notes.All()
	if err != nil {
		r.Error = err.Error()
	}
	return r, err
}

// Check returns the error with which Run would refuse f under o; nil: it would start.
func Check(f *workload.File, o Options) error {
	claimed, err := setup.ClaimOf(o.Policy)
	if err != nil {
		return err
	}
	defer claimed.Release()
	o.Policy = claimed.Policy
	_, _, err = o.ready(f)
	return err
}

// ready completes o, which has a claimed Policy, by its defaults and by f. It returns f as it is run, and its jobs. It
// fails if the run must not start.
func (o *Options) ready(f *workload.File) (*workload.File, []setup.Submission, error) {
	*o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, nil, err
	}
	f, err := o.predicted(o.withBuffer(f))
	if err != nil {
		return nil, nil, err
	}
	over := o.Config
	_, jobs := f.Lower(over)
	o.Config = o.Cluster(f)
	if o.ShuffleBytesPerSecond = 0; o.level.network {
		o.ShuffleBytesPerSecond = f.Cluster.CopyRate()
	}
	return f, jobs, f.Keyed(check(f, o), over)
}

// newLedger returns the Ledger of a run of f. o is whole.
func newLedger(f *workload.File, o *Options, claimed *setup.Claim) (*slots.Ledger, error) {
	// The cost measured depends on which slots share a core.
	var core func(tracker, i int) int32
	if o.level.machine && !o.NoPin {
		core = setup.Cores(o.Trackers, max(1, f.Cluster.Cores))
	}
	config := o.Ledger(o.Policy, core)
	config.ParallelCopies = int32(f.Cluster.Shuffle.Copiers)
	l, err := slots.New(config, o.Policy)
	if panicked := claimed.Err(); panicked != nil {
		return nil, panicked
	}
	return l, err
}

// report returns the report of the run so far: figures of the Ledger, and those of the cost
// model. Jobs that were never submitted come last, with times of -1.
func (d *driver) report() *report.Report {
	r := report.FromLedger("sim", d.ledger)
	r.Config.Set(&d.o.Config)
	r.Config.HeartbeatS, r.Config.Cost = d.o.Heartbeat.Seconds(), d.o.Cost
	d.model.Describe(d.ledger.Now(), r, func(id slots.JobID) (job int32, maps int64) {
		return d.fileJob[id], d.jobs[d.fileJob[id]].written
	})
	for id, i := range d.fileJob {
		id := slots.JobID(id)
		r.Describe(id, &d.jobs[i].spec)
		r.Jobs[id].StepOf = d.file.Jobs[i].StepOf
		if a, failed := d.ledger.FailedBy(id); failed {
			r.Jobs[id].Error = fmt.Sprintf("%s %d failed %s", a.Kind, a.Task, errs.Counted(d.ledger.Config().MaxAttempts, "time"))
		}
		if d.ledger.JobState(id) == slots.Killed { // by failAll
			r.Jobs[id].State, r.Jobs[id].Error = slots.Failed.String(), everyTrackerLost
		}
	}
	for i := range d.jobs {
		if j := &d.jobs[i]; j.state == jobNotStarted {
			state := slots.Killed
			if j.blame < 0 {
				state = slots.Failed
			}
			r.Jobs = append(r.Jobs, report.JobReport{
				State: state.String(), Maps: int(j.spec.Maps), Reduces: int(j.spec.Reduces),
				SubmitS: -1, StartS: -1, MapsDoneS: -1, FinishS: -1, Error: d.blamed(j), StepOf: d.file.Jobs[i].StepOf,
			})
			r.Describe(slots.JobID(len(r.Jobs)-1), &j.spec)
		}
	}
	return r
}

// run handles events until all jobs have ended and none of their attempts runs. It handles all
// events of an instant before it asks the Ledger, so that decisions know all facts of the
// instant. It fails if ctx ends, if events cannot be written, or if the run cannot go on.
func (d *driver) run(ctx context.Context) error {
	// Up to here the slot time of all slots together is within int64 nanoseconds.
	latest := time.Duration(1<<62) / time.Duration(max(len(d.slots), 1))
	for n := 0; d.left > 0 || d.live > 0; n++ {
		at, ok := d.queue.Next()
		if !ok {
			return d.stalled()
		}
		if n%1024 == 0 { // a check at each instant would slow the run down
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if d.stream != nil && d.stream.Err() != nil {
				return fmt.Errorf("events: %w", d.stream.Err())
			}
		}
		d.now = at
		if d.now > latest {
			return fmt.Errorf("simulation: at %v it has come beyond %v, the virtual time that can be counted on %d slots", d.ledger.Now(), latest, len(d.slots))
		}
		for ; ok && at == d.now; at, ok = d.queue.Next() {
			e := d.queue.Pop()
			d.on[e.Kind()](d.now, e.ID, e.Gen)
			if err := d.bounds.count(d.now, d.queue.Len()); err != nil {
				return fmt.Errorf("simulation: endless at %v: %w%s", d.ledger.Now(), err, d.waitsFor())
			}
		}
		if d.left == 0 && d.live == 0 {
			return nil // a real run asks for no orders at its end either, so the events are the same
		}
		if err := d.ask(); err != nil {
			return err
		}
		if err := d.claimed.Err(); err != nil {
			return err
		}
		if d.idle > mostIdleSteps && d.now-d.idleSince > d.mostIdle {
			return d.stalled()
		}
	}
	return nil
}

// ask asks for orders, after all facts of this instant. At heartbeat 0 or after a wake-up it asks
// for all trackers. Otherwise it asks for the trackers that have a heartbeat, in the order of
// the events.
func (d *driver) ask() error {
	if d.o.Heartbeat == 0 || d.woken {
		if err := d.askAll(); err != nil {
			return err
		}
	}
	for _, id := range d.beats {
		d.beat(id)
	}
	d.beats = d.beats[:0]
	return nil
}

// askAll asks for orders for all trackers. At heartbeat 0 it asks again as long as obey returns
// true.
// With heartbeats a slot that a kill has freed waits for the next heartbeat of its tracker.
func (d *driver) askAll() error {
	if d.woken {
		d.woken = false
		d.idleStep()
	}
	d.probe()
	for round := 0; ; round++ {
		if again := d.obey(d.ledger.AssignAll(d.now)); !again || d.o.Heartbeat > 0 {
			return nil
		}
		if round > mostRounds {
			return fmt.Errorf("simulation: %s kills and starts without end at %v", d.o.Policy.Traits().Name, d.now)
		}
	}
}

const (
	// mostRounds bounds the rounds of askAll at one instant. A policy that needs more
	// kills attempts that it has just started.
	mostRounds = 100_000

	// mostIdleSteps is how many heartbeats or wake-ups in a row may start nothing
	// while nothing runs. If there are more, and the time for which a policy may wait
	// for locality is over, the run is stalled.
	mostIdleSteps = 1000
)

// obey carries out orders: attempts start at once and stop at once. It reports whether the
// driver has to ask the Ledger again at this instant. That is so after a kill, which frees a
// slot. It is also so if attempts change phase and the policy is a slots.PhaseGate, which
// decides by phases. o belongs to the Ledger and is valid until the next Assign.
func (d *driver) obey(o *slots.Orders) (again bool) {
	for i := range o.Starts {
		d.start(&o.Starts[i])
	}
	if len(o.Starts) > 0 {
		d.idle = 0
	}
	for _, a := range o.Kills {
		d.kill(a)
	}
	for _, a := range o.Advances {
		d.advance(a)
	}
	if o.Probe >= 0 && (d.probeAt < 0 || o.Probe < d.probeAt) {
		d.probeAt = o.Probe
	}
	// Only the earliest wake-up is kept. The Ledger reports later ones again at that time.
	if o.Wake >= 0 && (d.wakeAt < 0 || o.Wake < d.wakeAt) {
		d.wakeAt = max(o.Wake, d.now)
		d.queue.Push(d.wakeAt, events.WakePolicy, 0, 0)
	}
	return len(o.Kills) > 0 || d.byPhase && len(o.Starts)+len(o.Advances) > 0
}

// idleStep counts a heartbeat or a wake-up that may start nothing. Events that are sure to come,
// such as ends of attempts, reset the count; obey resets it when something starts.
func (d *driver) idleStep() {
	if d.queue.Coming > 0 {
		d.idle = 0
		return
	}
	if d.idle == 0 {
		d.idleSince = d.now
	}
	d.idle++
}

// stalled returns the error of a run in which nothing happens any more.
func (d *driver) stalled() error {
	return fmt.Errorf("simulation: stalled at %v%s", d.ledger.Now(), d.waitsFor())
}

// waitsFor says which job the run waits for, and the likely cause. It names only the first
// running job.
func (d *driver) waitsFor() string {
	id := slices.IndexFunc(d.jobs, func(j simJob) bool {
		return j.state == jobRunning && d.ledger.JobState(j.id) == slots.Running
	})
	if id < 0 {
		return fmt.Sprintf(" with %s to come", errs.Counted(d.left, "job"))
	}
	j := &d.jobs[id]
	var unfinished [2]int32
	for k := range unfinished {
		done, total := d.ledger.JobTasks(j.id, slots.Kind(k))
		unfinished[k] = total - done
	}
	_, idle := d.ledger.Idle()
	why := fmt.Sprintf("%s starts none of them, with %s and %s idle", d.o.Policy.Traits().Name, errs.Counted(idle[slots.Map], "map slot"), errs.Counted(idle[slots.Reduce], "reduce slot"))
	if idle[slots.Map] == 0 && idle[slots.Reduce] == 0 {
		why = "no slot is left"
	}
	return fmt.Sprintf(": job %s has %s and %s to do, and %s", j.spec.Name, errs.Counted(unfinished[slots.Map], "map"), errs.Counted(unfinished[slots.Reduce], "reduce"), why)
}

// bounds keep a run from going on for ever, or until the memory is full. An attempt that
// ends by itself, a submission and a fault are progress. Everything else, such as a
// heartbeat, a start, a kill or a change of phase, is not.
type bounds struct {
	mostEvents  int64 // number of events since the last progress
	mostAtOnce  int64 // number of events at one instant, since the last progress
	mostPending int   // number of events in the queue

	events, atOnce int64 // counts for the first two
	now            time.Duration
}

// newBounds returns bounds that no run with progress reaches. 100 million events are a year of
// heartbeats, every 3 s, of ten trackers.
func newBounds(slotCount, jobCount int) bounds {
	n := slotCount + jobCount
	return bounds{
		mostEvents:  100_000_000 + 10_000*int64(n),
		mostAtOnce:  1_000_000 + 1000*int64(n),
		mostPending: 16_000_000 + 100*n, // 24 bytes each
	}
}

// progress resets the counts.
func (b *bounds) progress() { b.events, b.atOnce = 0, 0 }

// count counts an event at time now, when pending events are in the queue. It fails if a bound
// is exceeded.
func (b *bounds) count(now time.Duration, pending int) error {
	if now != b.now {
		b.now, b.atOnce = now, 0
	}
	b.events++
	b.atOnce++
	switch {
	case b.atOnce > b.mostAtOnce:
		return fmt.Errorf("%d events for the same time, and no attempt has ended", b.mostAtOnce)
	case b.events > b.mostEvents:
		return fmt.Errorf("%d events since an attempt has ended", b.mostEvents)
	case pending > b.mostPending:
		return fmt.Errorf("%d events are pending", pending)
	}
	return nil
}

// runAlone runs each job of f by itself, under the same options without faults. It adds the
// times to whole, the report of the run of all jobs. A job is submitted at time 0 and waits for
// no other. Its tasks take as long as in the whole run (Options.first). Their inputs are on
// other trackers, because the placement depends on the id of the job.
func runAlone(ctx context.Context, f *workload.File, o Options, whole *report.Report) error {
	byName := map[string]*report.JobReport{}
	for i := range whole.Jobs {
		byName[whole.Jobs[i].Name] = &whole.Jobs[i]
	}
	o.Events, o.Watch = nil, nil
	o.Note = nil
	o.Alone = false
	o.Faults = nil
	for i := range f.Jobs {
		one := *f
		one.Faults = nil
		one.Jobs = []workload.ListedJob{f.Jobs[i]}
		j := &one.Jobs[0]
		if j.Deadline > 0 {
			j.Deadline = max(1, j.Deadline-j.Submit)
		}
		j.Submit, j.After = 0, nil
		o.first = i
		r, err := Run(ctx, &one, o)
		if err != nil {
			return err
		}
		byName[j.Name].SetAlone(r)
	}
	return nil
}

// model is a cost model. It computes how long attempts copy and work, and has the map outputs of
// the jobs on their way.
type model interface {
	// Flow returns the flow of a job, by its index in the file. The driver drops lost outputs
	// from it and releases it.
	Flow(job int32) *cost.Flow

	// Set sets the activity of an attempt from now on. The model queues an event for the
	// time at which the activity is over. CopyRest may be over at once; then Set queues no
	// event and returns true.
	Set(now time.Duration, t *cost.Task, to cost.Activity) (over bool)

	// MapEnded adds the output of a map attempt that has ended, if the Ledger has committed it.
	// The Ledger has done outputs of the job now, of total. MapEnded returns true if this makes
	// the last one available.
	MapEnded(now time.Duration, t *cost.Task, task slots.TaskID, done, total int32) (complete bool)

	// Lose calls drop, which removes lost outputs from the flow of a job. all yields the
	// reduces that copy from the flow.
	Lose(now time.Duration, all iter.Seq[*cost.Task], drop func())

	// Done returns the share of its copy, if copying is true, or else of its work that an
	// attempt has done, from 0 to 1.
	Done(now time.Duration, t *cost.Task, copying bool) float64

	// Describe adds figures of the cluster and of the jobs to r. It is called once, at the end
	// of the run. maps returns, for a job of the report, its index in the file and the number
	// of its maps that have written their output.
	Describe(now time.Duration, r *report.Report, maps func(id slots.JobID) (job int32, maps int64))
}

// level is a cost level.
type level struct {
	name    string
	network bool // copying over the network takes time
	machine bool // times are those of a real machine, whose slots share cores
	model   func(c cost.Config) model
}

// levels returns the cost levels; the first one is the default.
func levels() []level {
	alone := func(c cost.Config) model { return cost.NewAlone(c) }
	return []level{
		{name: "l0", model: alone},
		{name: "l1", model: alone, network: true},
		{name: "l2", model: func(c cost.Config) model { return cost.NewShared(c) }, network: true},
		{name: "measured", model: func(c cost.Config) model { return cost.NewMeasured(c) }, machine: true},
	}
}

// setHandlers sets the handlers of all kinds of events but those of the model.
func (d *driver) setHandlers() {
	d.on[events.SubmitJob] = func(time.Duration, int32, uint32) { d.submitDue() }
	d.on[events.EndAttempt] = func(_ time.Duration, id int32, gen uint32) {
		if d.slots[id].Gen == gen {
			d.End(slots.SlotID(id))
		}
	}
	d.on[events.EndCopy] = func(_ time.Duration, id int32, gen uint32) {
		if r := &d.slots[id]; r.Gen == gen && r.state == attemptCopying {
			d.copied(slots.SlotID(id))
		}
	}
	d.on[events.InjectFault] = func(_ time.Duration, id int32, _ uint32) { d.inject(&d.o.Faults[id]) }
	d.on[events.Beat] = func(_ time.Duration, id int32, _ uint32) { d.beats = append(d.beats, slots.TrackerID(id)) }
	// A wake-up is stale if the policy has asked for an earlier one since.
	d.on[events.WakePolicy] = func(time.Duration, int32, uint32) {
		d.woken = d.woken || d.wakeAt == d.now
		if d.woken {
			d.wakeAt = -1
		}
	}
}
