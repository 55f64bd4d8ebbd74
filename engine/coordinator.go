package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"mrlocal/engine/source"
	"mrlocal/engine/task"
	"mrlocal/internal/machine"
	"mrlocal/report"
	"mrlocal/shuffle"
	"mrlocal/slots"
	"mrlocal/slots/pool"
	"mrlocal/slots/setup"
	"mrlocal/spill/runs"
	"mrlocal/trace"
)

// tickEvery is how often the coordinator looks at running attempts for
// progress and time-outs.
const tickEvery = 100 * time.Millisecond

// stopWithin bounds how long an ended run waits for attempts to notice.
const stopWithin = 1200 * time.Millisecond

// mostClosing bounds how many jobs may be at making their result durable.
// While there are so many, nothing new starts: each has files open.
const mostClosing = 32

// attempt is a running attempt with what the coordinator knows of it.
type runningAttempt struct {
	*task.Attempt
	job        *runningJob
	lastBeat   int64     // of Attempt.Beat
	lastBeatAt time.Time // when it last rose
	lastPPM    int64
	abandoned  bool
	gone       bool // the Ledger has forgotten it: its tracker is lost
	usage      []report.Usage
	raced      bool      // another attempt of its task has run beside it
	killedAt   time.Time // when its job failed; zero: it has not

	inherits chan source.Source // waits for what another attempt still reads; nil: it need not, or has it
}

// Phase implements task.Listener.
func (c *coordinator) Phase(a *task.Attempt, p slots.Phase) {
	c.inbox.post(func() {
		if b := c.running[a.ID]; b != nil && b.Attempt == a {
			c.ledger.Phase(c.run.now(), a.ID, p)
		}
	})
}

// Spilled implements task.Listener: what spills goes on the timeline.
func (c *coordinator) Spilled(a *task.Attempt, e runs.Event) {
	op := [...]trace.Op{
		runs.Grow: trace.OpGrow, runs.Refuse: trace.OpRefuse, runs.SpillStart: trace.OpSpillStart, runs.SpillEnd: trace.OpSpillEnd,
		runs.Evict: trace.OpEvict, runs.MergePass: trace.OpMergeEnd,
	}[e.Kind]
	c.inbox.post(func() {
		c.run.stream.Append(trace.Event{
			At: c.run.now(), Op: op, Kind: a.ID.Kind, Job: int32(a.ID.Job), Task: int32(a.ID.Task), N: a.ID.N, Slot: int32(a.Slot),
			A: e.Bytes, B: e.Records,
		})
	})
}

// coordinator is the goroutine that owns the Ledger. Workers post closures to
// its inbox; it applies them, asks the Ledger and obeys.
type coordinator struct {
	run     *run
	ledger  *slots.Ledger
	inbox   *inbox
	running map[slots.AttemptID]*runningAttempt // looked up, never iterated for a decision
	order   []*runningAttempt                   // running attempts, oldest first
	jobs    []submitted                         // by JobID
	unfed   []*runningJob                       // with streams, and over a running-job limit

	due     dueQueue // chains that wait for nothing but their time
	toOpen  []*chain // chains whose time has come, for the next opener
	opening bool     // an opener is at work
	closing int      // chains that settle
	left    int      // chains that have not ended
	touched []*runningJob
	faults  []setup.Fault // still to come, by time
	lost    []bool        // trackers

	probe time.Duration // when the policy wants to know how far attempts are; negative: never

	hungBytes   int64 // leased by threads that hang for good
	hopeless    bool  // nothing can run any more: every work has failed
	interrupted bool
}

func newCoordinator(r *run, l *slots.Ledger) *coordinator {
	return &coordinator{
		run: r, ledger: l, inbox: newInbox(), running: map[slots.AttemptID]*runningAttempt{}, due: newDueQueue(),
		left: len(r.chains), faults: timedFaults(r.o.Faults), lost: make([]bool, r.o.Trackers), probe: -1,
	}
}

// serve runs every work to its end. The error is why it was interrupted.
func (c *coordinator) serve(ctx context.Context) error {
	for _, ch := range c.run.chains {
		if ch.waits == 0 {
			c.due.push(ch)
		}
	}
	ticker := time.NewTicker(tickEvery)
	defer ticker.Stop()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for c.settleJobs(); c.left > 0; c.settleJobs() {
		c.openDue()
		c.injectFaults()
		if c.settleJobs() {
			continue
		}
		wake := c.ask()
		if c.touched != nil {
			continue
		}
		timer.Stop()
		if next := c.nextWake(wake); next >= 0 {
			timer.Reset(max(0, next-c.run.now()))
		}
		select {
		case <-c.inbox.wake:
			c.inbox.apply()
		case <-ticker.C:
			c.tick()
		case <-timer.C:
		case <-ctx.Done():
			return c.interrupt(context.Cause(ctx))
		}
	}
	return nil
}

// ask asks the Ledger for orders and obeys. It returns when the Ledger wants
// to be asked again; negative: no need.
func (c *coordinator) ask() (wake time.Duration) {
	if c.closing >= mostClosing {
		return -1
	}
	c.answerProbe()
	wake = c.obey(c.ledger.AssignAll(c.run.now()))
	c.feedAdmitted()
	return wake
}

// nextWake is the earliest time at which something is to be done; negative:
// none is known.
func (c *coordinator) nextWake(wake time.Duration) time.Duration {
	next := wake
	earlier := func(t time.Duration) {
		if next < 0 || t < next {
			next = t
		}
	}
	if ch := c.nextDue(); ch != nil && c.hopeless {
		earlier(0)
	} else if ch != nil {
		earlier(ch.job.Submit)
	}
	if len(c.faults) > 0 {
		earlier(c.faults[0].At)
	}
	if c.probe >= 0 {
		earlier(c.probe)
	}
	return next
}

// touch marks a job as one that may have ended.
func (c *coordinator) touch(j *runningJob) {
	if !j.touched {
		j.touched = true
		c.touched = append(c.touched, j)
	}
}

// settleJobs goes on with the jobs that have ended: the next of the chain, or
// the end of the work. It reports whether there were any.
func (c *coordinator) settleJobs() (any bool) {
	for len(c.touched) > 0 {
		touched := c.touched
		c.touched = nil
		for _, j := range touched {
			j.touched = false
			if !j.freed && c.ledger.Done(j.id) {
				c.jobDone(j)
				any = true
			}
		}
	}
	return any
}

// jobDone: nothing of j runs any more.
func (c *coordinator) jobDone(j *runningJob) {
	ch := j.chain
	if ch.err == nil && c.ledger.JobState(j.id) != slots.Succeeded {
		if ch.err = j.firstFailure; ch.err == nil {
			ch.err = fmt.Errorf("%s: its tasks failed more often than Options.Attempts allows", j.Spec.Name)
		}
	}
	for t, out := range j.outputs { // reduces that had copied it need not see it made again
		if out == nil && j.counted[t] != nil {
			j.counters.Add(j.counted[t])
		}
	}
	j.noteBinary()
	if ch.err == nil && j.step+1 < len(ch.job.Chain) {
		next := ch.next(j)
		j.finish()
		c.jobs[j.id].over()
		c.submit(next)
		return
	}
	j.finish()
	c.end(ch)
}

// submit hands a job to the Ledger.
func (c *coordinator) submit(j *runningJob) {
	ch := j.chain
	j.id = c.ledger.Submit(c.run.now(), j.spec())
	ch.current, ch.stage, ch.lastID = j, running, j.id
	c.jobs = append(c.jobs, submitted{runningJob: j, chain: ch, step: j.step})
	c.touch(j)
	j.tellSample()
	j.start(c)
	if j.feeder != nil {
		c.unfed = append(c.unfed, j)
		c.feedAdmitted()
	}
}

// fail ends a work with its first cause; others go on.
func (c *coordinator) fail(ch *chain, cause error) {
	if ch.stage >= closing {
		return
	}
	if ch.err == nil {
		ch.err = cause
	}
	j := ch.current
	if j == nil {
		return // its opener will find it so
	}
	if !j.ended {
		j.ended = true
		c.ledger.Abort(c.run.now(), j.id)
		c.touch(j)
	}
	for _, a := range c.order {
		if a.job == j && !a.Killed() {
			a.Kill()
			a.killedAt = time.Now()
		}
	}
	j.stopFeeder(cause)
}

// interrupt ends every work and waits, for a bounded time, until attempts have
// noticed and results under way are settled. Everything pending is gone then.
func (c *coordinator) interrupt(cause error) error {
	c.interrupted = true
	for _, ch := range c.run.chains {
		if ch.stage < closing {
			ch.killed = ch.err == nil
			c.fail(ch, cause)
		}
	}
	c.obey(c.ledger.AssignAll(c.run.now()))
	c.windDown()
	problems := []error{cause}
	undone := false
	for _, ch := range c.run.chains {
		if ch.stage != ended {
			undone = true
			problems = append(problems, ch.abort())
		}
	}
	if !undone { // what was left had been done in time
		return nil
	}
	return errors.Join(problems...)
}

// windDown waits, for a bounded time, until the killed attempts have ended.
func (c *coordinator) windDown() {
	deadline := time.NewTimer(stopWithin)
	defer deadline.Stop()
	for len(c.running) > 0 || c.closing > 0 {
		select {
		case <-c.inbox.wake:
			c.inbox.apply()
		case <-deadline.C:
			for _, a := range append([]*runningAttempt(nil), c.order...) {
				c.abandon(a)
			}
			return
		}
	}
}

// obey carries out the Ledger's orders and returns when it wants to be asked
// again; negative: no need.
func (c *coordinator) obey(o *slots.Orders) time.Duration {
	for _, s := range o.Starts {
		c.start(s)
	}
	for _, id := range o.Kills { // also of what has just been started: the deadlock guard's
		if a := c.running[id]; a != nil {
			a.Kill()
		}
	}
	for _, id := range o.Advances { // also of what has just been started
		if a := c.running[id]; a != nil && a.Gate != nil {
			a.Gate.Open()
		}
	}
	c.probeAt(o)
	return o.Wake
}

// start runs a granted attempt on its slot's thread.
func (c *coordinator) start(s slots.Start) {
	j := c.jobs[s.Attempt.Job].runningJob
	a := &runningAttempt{Attempt: task.New(c.run.ctx, s.Attempt, int(s.Slot), &c.run.env, &j.Job, c), job: j, lastBeatAt: time.Now()}
	a.Tracker = c.ledger.Config().Slots[s.Slot].Tracker
	a.Faulty = c.run.failsFirst(a)
	a.Stretch = c.run.stretch(a, s.Locality)
	if a.ID.Kind == slots.Reduce && c.ledger.HoldsCopy() {
		a.Gate = make(task.Gate)
	}
	c.join(a)
	c.running[a.ID] = a
	c.order = append(c.order, a)
	if a.ID.Kind == slots.Map {
		c.run.runningMaps.Add(1)
		src := j.sources[a.ID.Task]
		if c.stillRead(a) {
			a.inherits = make(chan source.Source, 1)
		}
		next := a.inherits
		c.run.pool.Run(a.Slot, func(pool.Worker) { c.runMapOn(a, src, next) })
		return
	}
	c.run.pool.Run(a.Slot, func(pool.Worker) { c.runReduceOn(a) })
}

// runMapOn maps src, or what comes through next where that is not nil.
func (c *coordinator) runMapOn(a *runningAttempt, src source.Source, next <-chan source.Source) {
	cpu := machine.ThreadCPU()
	var out *runs.MapOutput
	err := task.Whole(func() (err error) {
		if next != nil {
			if src, err = a.Await(next); err != nil {
				return err
			}
		}
		return a.Profiled(func() (err error) {
			out, err = a.Map(src)
			return err
		})
	})
	a.usage = a.Usage()
	spent := machine.ThreadCPU() - cpu
	c.inbox.post(func() { c.mapEnded(a, src, out, err, spent) })
}

func (c *coordinator) runReduceOn(a *runningAttempt) {
	cpu := machine.ThreadCPU()
	err := task.Whole(func() error { return a.Profiled(a.Reduce) })
	a.usage = a.Usage()
	spent := machine.ThreadCPU() - cpu
	c.inbox.post(func() { c.reduceEnded(a, err, spent) })
}

// mapEnded books the end of a map attempt.
func (c *coordinator) mapEnded(a *runningAttempt, src source.Source, out *runs.MapOutput, err error, cpu time.Duration) {
	j := a.job
	err = a.endOfMap(out, err)
	if !c.remove(a) || err != nil || j.ended || a.gone {
		if out != nil {
			j.Drop(out)
		}
		c.attemptFailed(a, err)
		return
	}
	if out != nil {
		out.Register(c.run.budget)
		for len(j.outputs) < len(j.sources) {
			j.outputs, j.ranOn, j.counted = append(j.outputs, nil), append(j.ranOn, 0), append(j.counted, nil)
		}
		j.outputs[a.ID.Task], j.ranOn[a.ID.Task], j.counted[a.ID.Task] = out, a.Tracker, &a.Counters
		j.Shuffle.Commit(int(a.ID.Task), out)
	}
	releaseSource(src)
	c.book(a, cpu)
}

// reduceEnded books the end of a reduce attempt.
func (c *coordinator) reduceEnded(a *runningAttempt, err error, cpu time.Duration) {
	j := a.job
	if !c.remove(a) || err != nil || j.ended || a.gone {
		c.attemptFailed(a, err)
		return
	}
	j.Shuffle.PartDone(int(a.ID.Task))
	c.book(a, cpu)
}

// book reports a successful attempt to the Ledger and adds its counters.
func (c *coordinator) book(a *runningAttempt, cpu time.Duration) {
	a.Counters.CPUMilliseconds = cpu.Milliseconds()
	a.job.counters.Add(&a.Counters)
	a.job.use(a.usage)
	out := a.Counters.MapOutputBytes
	if a.ID.Kind == slots.Reduce || a.job.MapOnly() {
		out = a.Counters.OutputBytes
	}
	c.touch(a.job)
	c.ledger.Finish(c.run.now(), a.ID, slots.Outcome{
		OK: true, InBytes: a.Counters.MapInputBytes, OutBytes: out, CPU: cpu, CopyBytes: a.CopyBytes, CopyTime: a.CopyTime,
	})
}

// remove forgets a running attempt; false if it was given up before.
func (c *coordinator) remove(a *runningAttempt) bool {
	a.End()
	if a.abandoned {
		return false
	}
	delete(c.running, a.ID)
	if a.ID.Kind == slots.Map {
		c.run.runningMaps.Add(-1)
	}
	for i, b := range c.order {
		if b == a {
			c.order = append(c.order[:i], c.order[i+1:]...)
			break
		}
	}
	return true
}

// attemptFailed books the end of an attempt that did not commit.
func (c *coordinator) attemptFailed(a *runningAttempt, err error) {
	if a.abandoned {
		return
	}
	j := a.job
	writes := a.ID.Kind == slots.Reduce || j.MapOnly()
	switch {
	case err == nil && a.gone && writes:
		if j.written == nil {
			j.written = map[slots.TaskID]*runningAttempt{}
		}
		j.written[a.ID.Task] = a
	case err != nil && writes && !j.ended && !a.gone && j.written[a.ID.Task] != nil:
		// What was lost with its tracker had been done, and counts once.
		a.Counters = j.written[a.ID.Task].Counters
		delete(j.written, a.ID.Task)
		if j.Shuffle != nil {
			j.Shuffle.PartDone(int(a.ID.Task))
		}
		if a.ID.Kind == slots.Map {
			releaseSource(j.sources[a.ID.Task])
		}
		c.book(a, 0)
		return
	}
	if err == nil {
		err = task.ErrKilled
	}
	lost := c.outputLost(j, err)
	killed := a.Killed() || lost || errors.Is(err, task.ErrKilled) || errors.Is(err, shuffle.ErrLost) || a.lostRace(err)
	c.touch(j)
	if !a.gone {
		c.ledger.Finish(c.run.now(), a.ID, slots.Outcome{Killed: killed})
	}
	if a.ID.Kind == slots.Map && !j.ended && a.inherits == nil {
		c.sourceAgain(a)
	}
	c.handOn(a)
	if killed {
		return
	}
	a.ReportFailure(err)
	if j.firstFailure == nil {
		j.firstFailure = fmt.Errorf("%s: %w", a.Name(), err)
	}
	target := j.chain.target()
	if c.ledger.JobState(j.id) == slots.Failed || task.Permanent(err) || target != nil && target.Err() != nil {
		c.fail(j.chain, j.firstFailure)
	}
}

// tick reports progress, gives up attempts that show no life, and abandons
// those of failed jobs that do not notice.
func (c *coordinator) tick() {
	now := time.Now()
	c.tellProgress(false)
	for _, a := range append([]*runningAttempt(nil), c.order...) {
		if beat := a.Beat.Load(); beat != a.lastBeat || a.Waiting.Load() {
			a.lastBeat, a.lastBeatAt = beat, now
		}
		switch {
		case now.Sub(a.lastBeatAt) > c.run.o.TaskTimeout:
			c.giveUp(a)
		case !a.killedAt.IsZero() && now.Sub(a.killedAt) > stopWithin:
			c.abandon(a)
		}
	}
}

// abandon gives up an attempt whose thread is in user code and cannot be
// stopped, however it was told; the slot gets a new thread.
func (c *coordinator) abandon(a *runningAttempt) {
	a.Kill()
	c.remove(a)
	a.abandoned = true
	c.run.abandoned++
	c.run.pool.Abandon(a.Slot)
	a.LeaveFDs() // it may never return
	j := a.job
	if a.ID.Kind == slots.Map {
		if j.stuck == nil {
			j.stuck = map[slots.TaskID]bool{}
		}
		j.stuck[a.ID.Task] = true
	}
	c.handOn(a)
	c.touch(j)
	if !a.gone {
		c.ledger.Finish(c.run.now(), a.ID, slots.Outcome{Killed: j.ended})
	}
	// What its thread holds is never given back.
	c.hungBytes += c.run.env.FloorBytes
	if c.run.budget.Limit()-c.run.env.HeldTotalBytes-c.hungBytes < c.run.env.FloorBytes && !c.interrupted {
		for _, ch := range c.run.chains {
			c.fail(ch, errors.New("no memory is left for tasks: threads that hang hold it all; raise Options.MemoryBytes"))
		}
		c.hopeless = true
	}
}

// giveUp fails an attempt that made no progress.
func (c *coordinator) giveUp(a *runningAttempt) {
	j := a.job
	c.abandon(a)
	err := fmt.Errorf("%s: no progress for %v", a.Name(), c.run.o.TaskTimeout)
	j.chain.note(err.Error() + ": its thread is abandoned")
	if j.firstFailure == nil {
		j.firstFailure = err
	}
	if c.ledger.JobState(j.id) == slots.Failed {
		c.fail(j.chain, j.firstFailure)
	}
}
