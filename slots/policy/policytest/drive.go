package policytest

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"mrlocal/slots"
	"mrlocal/trace"
)

// ScriptJob is a job with fixed task times, as under the simulator's cost model L0. A map takes
// its MapTime. A reduce takes its ReduceTime, which counts from the end of the last map if
// the reduce started earlier.
type ScriptJob struct {
	Spec       slots.JobSpec
	Submit     time.Duration // from the start of the run
	MapTime    func(task slots.TaskID) time.Duration
	ReduceTime func(task slots.TaskID) time.Duration

	// MapIO is the length of the I/O period at the end of a map. 0: there is none.
	MapIO time.Duration

	// MapBytes is the output of a map in bytes. Copying takes no time here. But the outcome
	// of a reduce has the time that Config.CopyBandwidth implies, so that policies can
	// estimate shuffles.
	MapBytes int64

	// Fail returns how many first attempts of a task fail, at their end. nil: none fails.
	Fail func(k slots.Kind, task slots.TaskID) int32
}

// Const returns the times of tasks that all take d.
func Const(d time.Duration) func(slots.TaskID) time.Duration {
	return func(slots.TaskID) time.Duration { return d }
}

// ScriptFault is a fact that a test injects at a time.
type ScriptFault struct {
	At time.Duration
	Do func(now time.Duration, l *slots.Ledger)
}

// Typed returns the slots of trackers with the given numbers of map slots and reduce slots each.
// Each slot is bound to a core of its own.
func Typed(trackers, maps, reduces int) []slots.Slot { return WithExtra(trackers, maps, reduces, 0) }

// WithExtra is Typed with extra slots in addition, extra for each tracker.
func WithExtra(trackers, maps, reduces, extra int) []slots.Slot {
	return slots.Layout{
		Trackers: trackers, MapSlots: maps, ReduceSlots: reduces, MaxSlots: maps + reduces + extra,
		Core: func(tracker, i int) int32 { return int32(tracker*(maps+reduces) + i) },
	}.Slots()
}

// Options say how Drive drives a run. The zero value is valid.
type Options struct {
	Heartbeat time.Duration // 0: the Ledger is asked at once, after every instant
	Faults    []ScriptFault
	Sinks     []trace.Sink // get the events of the run

	// Speeds of the trackers, by id. The others have speed 1.
	Speeds []slots.PPM

	// Explain, if set, gets the explanations (Ledger.Explain).
	Explain func(e *slots.Explanation)

	// Each, if set, is called after the last Assign of every instant.
	Each func(now time.Duration, l *slots.Ledger) error
}

// Drive runs jobs in virtual time on a Ledger over c and p until no event is left, and returns
// the Ledger. In tests it replaces the engine and the simulator. Like them it gives the Ledger
// all facts of an instant before the next Assign. It fails if the run stops before its jobs have
// ended. The same arguments give the same events, because nothing depends on the clock or on
// the order of a map.
func Drive(c slots.Config, p slots.Policy, jobs []ScriptJob, o Options) (*slots.Ledger, error) {
	l, err := slots.New(c, p)
	if err != nil {
		return nil, err
	}
	s := trace.NewStream()
	for _, k := range o.Sinks {
		s.Attach(k)
	}
	l.SetStream(s)
	l.Explain(o.Explain, nil)
	d := &driver{ledger: l, o: o, jobs: map[slots.JobID]ScriptJob{}, live: map[slots.AttemptID]*running{}, parked: map[slots.JobID][]slots.AttemptID{}, probeAt: -1}
	_, d.reports = p.(slots.Speculator)
	_, d.byPhase = p.(slots.PhaseGate)
	for _, j := range jobs {
		// The Ledger gives ids in the order of submission.
		d.at(j.Submit, func(now time.Duration) { d.jobs[l.Submit(now, j.Spec)] = j })
	}
	for _, f := range o.Faults {
		d.at(f.At, func(now time.Duration) {
			f.Do(now, l)
			for id := range slots.JobID(l.Jobs()) { // a dropped map may be the last one
				d.unpark(now, id)
			}
		})
	}
	if l.HoldsCopy() {
		d.let = map[slots.AttemptID]bool{}
	}
	if err := d.run(c); err != nil {
		return l, err
	}
	if err := s.Close(); err != nil {
		return l, err
	}
	if l.Active() > 0 {
		return l, fmt.Errorf("stuck at %v with %d jobs left", l.Now(), l.Active())
	}
	return l, nil
}

// driver has the event queue and the running attempts. All times are virtual and count from
// the start of the run.
type driver struct {
	ledger  *slots.Ledger
	o       Options
	jobs    map[slots.JobID]ScriptJob
	live    map[slots.AttemptID]*running
	let     map[slots.AttemptID]bool          // reduces that may leave their copy phase; nil: all may
	parked  map[slots.JobID][]slots.AttemptID // reduces that wait for maps, or to leave their copy phase
	byPhase bool                              // the policy is a slots.PhaseGate, which decides by phases
	queue   []event                           // by time; those of one time in the order of the calls of at
	facts   int                               // number of events in queue with a change
	wakeAt  time.Duration                     // of the latest wake-up in queue

	probeAt time.Duration // as slots.Orders.Probe
	reports bool          // the driver reports progress at every heartbeat

	idle int // number of instants in a row after which no change was sure to come
}

// running is a running attempt. Its work takes the time took from began on. A map works at once.
// A reduce works when it has all its data, and under a slots.PhaseGate also may leave its copy phase.
type running struct {
	slot        slots.SlotID
	copied      bool // a reduce that has all its data
	works       bool
	began, took time.Duration
}

// mostIdle bounds driver.idle, so that Drive fails under a policy that starts nothing and asks for
// wake-ups, or at heartbeats. It is longer than any wait for a local slot in tests.
const mostIdle = 1000

// event is a change at a time.
type event struct {
	at time.Duration
	do func(now time.Duration) // nil: the time only leads to an Assign
}

// at puts an event into the queue. An event without do does not keep the run alive.
func (d *driver) at(t time.Duration, do func(now time.Duration)) {
	// The place is behind all events for the same time.
	i := sort.Search(len(d.queue), func(i int) bool { return d.queue[i].at > t })
	d.queue = slices.Insert(d.queue, i, event{t, do})
	if do != nil {
		d.facts++
	}
}

// run handles all events of an instant before it asks the Ledger, as both drivers do.
func (d *driver) run(c slots.Config) error {
	d.wakeAt = -1
	// When all jobs have ended, events without a change do not keep the run alive.
	for len(d.queue) > 0 && (d.facts > 0 || d.ledger.Active() > 0) {
		now := d.queue[0].at
		for len(d.queue) > 0 && d.queue[0].at == now {
			e := d.queue[0]
			d.queue = d.queue[1:]
			if e.do != nil {
				d.facts--
				e.do(now)
			}
		}
		if err := d.assign(now, c); err != nil {
			return err
		}
		if d.idle++; d.facts > 0 {
			d.idle = 0
		}
		if d.idle > mostIdle {
			return fmt.Errorf("stuck at %v with %d jobs left: nothing has changed at the last %d times", now, d.ledger.Active(), d.idle)
		}
	}
	return nil
}

// assign asks the Ledger and obeys until it has no more orders at this instant. A killed
// attempt ends at once, which may free a slot. With heartbeats, assign waits for the next
// multiple of the period and asks once for each tracker.
func (d *driver) assign(now time.Duration, c slots.Config) error {
	if beat := d.o.Heartbeat; beat > 0 {
		// The facts of this instant wait in the Ledger for the next heartbeat.
		if now%beat != 0 {
			d.at(now-now%beat+beat, nil)
			return nil
		}
		if d.reports {
			d.reportProgress(now)
		}
		for t := range c.Slots[len(c.Slots)-1].Tracker + 1 {
			d.obey(now, d.ledger.Assign(now, t))
		}
		if d.ledger.Active() > 0 || len(d.live) > 0 {
			d.at(now+beat, nil)
		}
		return nil
	}
	if d.probeAt >= 0 && now >= d.probeAt && d.ledger.Due(now) {
		d.probeAt = -1
		d.reportProgress(now)
	}
	for {
		o := d.ledger.AssignAll(now)
		if o.Probe >= 0 && (d.probeAt < 0 || o.Probe < d.probeAt) {
			d.probeAt = o.Probe
		}
		d.obey(now, o)
		if o.Wake > now && o.Wake != d.wakeAt {
			d.wakeAt = o.Wake
			d.at(o.Wake, nil)
		}
		// These orders change the View at this instant, so the policy decides again.
		if len(o.Kills) > 0 || o.Wake == now || d.byPhase && len(o.Starts)+len(o.Advances) > 0 {
			continue
		}
		if d.o.Each != nil {
			if err := d.o.Each(now, d.ledger); err != nil {
				return fmt.Errorf("at %v: %w", now, err)
			}
		}
		return nil
	}
}

// reportProgress reports the progress of all attempts. The progress of a reduce is 0 until its
// job's maps are done, and then goes from a third to the whole.
func (d *driver) reportProgress(now time.Duration) {
	v := d.ledger.View()
	for id := range slots.SlotID(v.Slots()) {
		s := v.Slot(id)
		t := d.live[s.Attempt]
		if !s.Busy || t == nil || t.slot != id {
			continue
		}
		score := int64(0)
		if t.works {
			score = int64(float64(slots.AllDone) * (float64(now-t.began) / float64(t.took)))
		}
		if s.Attempt.Kind == slots.Reduce && t.works {
			score = (int64(slots.AllDone) + 2*score) / 3
		}
		d.ledger.Progress(now, id, s.Attempt, slots.Progress(score))
	}
}

// obey carries out orders. o is valid until the next call of the Ledger.
func (d *driver) obey(now time.Duration, o *slots.Orders) {
	for _, s := range o.Starts {
		d.start(now, s)
	}
	for _, a := range o.Advances {
		d.let[a] = true
		d.unpark(now, a.Job)
	}
	// The copy stays valid during the calls of Finish.
	for _, a := range append([]slots.AttemptID(nil), o.Kills...) {
		if d.live[a] != nil {
			delete(d.live, a)
			d.ledger.Finish(now, a, slots.Outcome{Killed: true})
		}
	}
}

// start begins an attempt. A reduce waits until it has its data.
func (d *driver) start(now time.Duration, s slots.Start) {
	a := s.Attempt
	d.live[a] = &running{slot: s.Slot}
	if a.Kind == slots.Map {
		d.work(now, a, d.jobs[a.Job].MapTime(a.Task))
		return
	}
	d.parked[a.Job] = append(d.parked[a.Job], a)
	d.unpark(now, a.Job)
}

// work begins the work of an attempt, which takes the time took at speed 1. An attempt that was
// killed does not begin.
func (d *driver) work(now time.Duration, a slots.AttemptID, took time.Duration) {
	t := d.live[a]
	if t == nil {
		return
	}
	if at := int(d.ledger.Config().Slots[t.slot].Tracker); at < len(d.o.Speeds) {
		took = took * time.Duration(slots.One) / time.Duration(d.o.Speeds[at])
	}
	t.works, t.began, t.took = true, now, took
	if io := d.jobs[a.Job].MapIO; a.Kind == slots.Map && io > 0 {
		d.at(now+took-io, func(now time.Duration) { d.ledger.Phase(now, a, slots.PhaseIO) })
	}
	d.at(now+took, func(now time.Duration) { d.end(now, a) })
}

// unpark lets the reduces of a job go on that have all their data and may leave their copy phase.
// Reduces copy at once when all maps of the job are done. They keep the data if a map output is
// lost afterwards.
func (d *driver) unpark(now time.Duration, id slots.JobID) {
	done := d.ledger.JobTimes(id).MapsDone >= 0
	var parked []slots.AttemptID
	for _, a := range d.parked[id] {
		t := d.live[a]
		if t == nil {
			continue
		}
		t.copied = t.copied || done
		if t.copied && (d.let == nil || d.let[a]) {
			d.reduce(now, a)
			continue
		}
		parked = append(parked, a)
		if done {
			d.ledger.Phase(now, a, slots.PhaseHeld)
		}
	}
	d.parked[id] = parked
}

// reduce begins the work of a reduce that has all its data.
func (d *driver) reduce(now time.Duration, a slots.AttemptID) {
	j := d.jobs[a.Job]
	if d.let != nil || j.MapIO > 0 {
		d.ledger.Phase(now, a, slots.PhaseReduce)
	}
	d.work(now, a, j.ReduceTime(a.Task))
}

// end ends an attempt, unless it was killed. If a map output was lost since the reduce began to
// work, the reduce waits again. Under a slots.PhaseGate it does not wait, because it keeps its
// copied data.
func (d *driver) end(now time.Duration, a slots.AttemptID) {
	if d.live[a] == nil {
		return
	}
	if a.Kind == slots.Reduce && d.let == nil && d.ledger.JobTimes(a.Job).MapsDone < 0 && d.ledger.JobState(a.Job) == slots.Running {
		d.live[a].copied, d.live[a].works = false, false
		if d.jobs[a.Job].MapIO > 0 {
			d.ledger.Phase(now, a, slots.PhaseCopy)
		}
		d.parked[a.Job] = append(d.parked[a.Job], a)
		return
	}
	delete(d.live, a)
	j := d.jobs[a.Job]
	ok := j.Fail == nil || a.N >= j.Fail(a.Kind, a.Task)
	o := slots.Outcome{OK: ok, OutBytes: j.MapBytes}
	if a.Kind == slots.Reduce {
		_, maps := d.ledger.JobTasks(a.Job, slots.Map)
		// Each reduce copies an equal share of the output of all maps.
		o.OutBytes, o.CopyBytes = 0, j.MapBytes*int64(maps)/int64(j.Spec.Reduces)
		if b := d.ledger.Config().CopyBandwidth; b > 0 {
			o.CopyTime = time.Duration(o.CopyBytes) * time.Second / time.Duration(b)
		}
	}
	d.ledger.Finish(now, a, o)
	d.unpark(now, a.Job)
}

// Log is a trace.Sink that keeps every event in memory. Tests of several packages compare whole runs
// event by event, which need no event file for that. A Log belongs to the test.
type Log struct {
	Events []trace.Event
	stream *trace.Stream
}

// Record implements trace.Sink: it appends e to Events.
func (l *Log) Record(s *trace.Stream, e *trace.Event) error {
	l.Events, l.stream = append(l.Events, *e), s
	return nil
}

// Rule returns the rule of a decision among Events.
func (l *Log) Rule(e *trace.Event) trace.Rule { return trace.RuleOf(l.stream.Texts(e.Ref)) }

// Line returns the line of e in an event file. e is one of Events, perhaps changed.
func (l *Log) Line(e *trace.Event) string {
	return string(trace.AppendJSON(nil, e, l.stream.Texts(e.Ref)))
}

// Texts returns the texts that the Ref of one of Events refers to.
func (l *Log) Texts(e *trace.Event) []string { return l.stream.Texts(e.Ref) }
