package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	"mrlocal/slots"
	"mrlocal/slots/setup"
	"mrlocal/trace"
)

// tickEvery is how often the coordinator checks running attempts for progress and
// time-outs.
const tickEvery = 100 * time.Millisecond

// mostSettling bounds how many chains settle at a time, because each has files open. While
// there are this many, no attempt starts.
const mostSettling = 32

// coordinator is the goroutine that owns the Ledger and the states of chains,
// jobs and attempts. Other goroutines post closures to its inbox. It applies
// them, asks the Ledger for orders and carries the orders out. Its files:
//
//	coordinator.go  the run loop
//	jobs.go         chains are opened, their jobs are submitted and end, results are settled
//	attempts.go     attempts start and end; an interrupted run, and attempts that do not come back
//	trackers.go     outputs and trackers are lost, by themselves or on purpose
type coordinator struct {
	run       *run
	ledger    *slots.Ledger
	inbox     *Inbox
	running   map[slots.AttemptID]*attempt      // not iterated, because the order of a map is random
	gates     map[slots.AttemptID]chan struct{} // of running reduces that the Ledger holds in their copy phases
	order     []*attempt                        // the same attempts, oldest first
	jobs      []*job                            // all that were ever submitted, by JobID
	unfed     []*job                            // jobs whose feeders start when a limit on running jobs allows it
	maybeDone []*job                            // jobs that endJobs checks next; one may be here twice

	release  *setup.Release // chains that have not been opened
	toOpen   []*chain       // chains whose time has come, for the next opener
	opening  bool           // an opener is at work
	settling int            // chains that settle
	left     int            // number of chains that have not ended
	faults   []setup.Fault  // still to come, by time
	lost     []bool         // by tracker

	probe time.Duration // from this time on the policy needs the progress of attempts (slots.Orders.Probe); negative: never

	hungBytes int64 // leased by abandoned threads
	state     runState
}

// newCoordinator makes the coordinator of a run. serve starts its work.
func newCoordinator(r *run, l *slots.Ledger) *coordinator {
	return &coordinator{
		run: r, ledger: l, inbox: &Inbox{Wake: make(chan struct{}, 1)}, running: map[slots.AttemptID]*attempt{}, gates: map[slots.AttemptID]chan struct{}{}, release: setup.NewRelease(len(r.chains), func(i int) *setup.Submission { return &r.chains[i].job.Submission }),
		left: len(r.chains), faults: setup.TimedFaults(r.o.Faults), lost: make([]bool, r.o.Trackers), probe: -1,
	}
}

// serve runs every chain to its end. If ctx ends before, it returns what interrupt
// returns, else nil.
func (c *coordinator) serve(ctx context.Context) error {
	// The ticker serves progress and time-outs. The timer serves known times: submissions, faults,
	// the policy's wake-up.
	ticker := time.NewTicker(tickEvery)
	defer ticker.Stop()
	timer := time.NewTimer(0)
	defer timer.Stop()
	// A round opens chains and injects faults that are due, asks the Ledger for orders until
	// nothing changes, and then sleeps.
	c.tellProgress()
	for c.endJobs(); c.left > 0; c.endJobs() {
		c.openDue()
		c.injectFaults()
		// A job that has ended may release others. They are submitted before
		// slots are assigned, so that they compete for the same free slots.
		if c.endJobs() {
			continue
		}
		wake := c.ask()
		// The policy or an order may end a job at once. The next round takes that up without a sleep.
		if c.state == runServing && c.policyFailed(wake) || len(c.maybeDone) > 0 {
			continue
		}
		timer.Stop()
		if next := c.nextWake(wake); next >= 0 {
			timer.Reset(max(0, next-c.run.now()))
		}
		select {
		case <-c.inbox.Wake:
			c.inbox.Apply()
		case <-ticker.C:
			c.tick()
		case <-timer.C: // the next round reads the clock and takes up what is due
		case <-ctx.Done():
			return c.interrupt(context.Cause(ctx))
		}
	}
	c.run.ended = c.run.now()
	c.windDown() // attempts on lost trackers may be left
	c.tellProgress()
	return nil
}

// policyFailed fails every chain if the policy has panicked, or if all that is left waits for the
// policy, which is not asked any more. It reports whether that is so. wake is the answer of ask.
func (c *coordinator) policyFailed(wake time.Duration) bool {
	err := c.run.claimed.Err()
	if err != nil {
		c.run.printStack(false, err)
	} else if _, _, coming := c.release.First(); !coming && !c.opening && len(c.toOpen)+c.settling+len(c.maybeDone)+len(c.faults) == 0 {
		// Nothing here leads to a fact for the Ledger.
		err = c.run.claimed.Stalled(c.ledger, wake, len(c.order))
	}
	if err != nil {
		c.failAll(err)
	}
	return err != nil
}

// ask asks the Ledger for orders and carries them out. It returns the time at
// which the Ledger must be asked again; negative: never.
func (c *coordinator) ask() (wake time.Duration) {
	// A chain that has settled posts to the inbox, so the coordinator wakes and asks then. Facts
	// are still applied until then; only starts wait.
	if c.settling >= mostSettling {
		return -1
	}
	// The policy must decide on progress that is up to date.
	c.answerProbe()
	wake = c.obey(c.ledger.AssignAll(c.run.now()))
	c.feedAdmitted()
	return wake
}

// obey carries out the Ledger's orders and returns the time at which the Ledger must be
// asked again; negative: never. o belongs to the Ledger, and is valid until the Ledger is asked
// again.
func (c *coordinator) obey(o *slots.Orders) time.Duration {
	for _, s := range o.Starts {
		if s.Attempt.Kind == slots.Map {
			c.startMap(s)
		} else {
			c.startReduce(s)
		}
	}
	// Kills and Advances come after Starts, because they may name an attempt that has just been
	// started. The deadlock guard may kill it, and a reduce may leave its copy phase at once.
	for _, id := range o.Kills {
		if a := c.running[id]; a != nil {
			a.kill()
		}
	}
	for _, id := range o.Advances {
		if gate := c.gates[id]; gate != nil {
			close(gate)
			delete(c.gates, id)
		}
	}
	if o.Probe >= 0 {
		slots.Earlier(&c.probe, o.Probe)
	}
	return o.Wake
}

// nextWake returns the earliest time at which the coordinator has work that is known now;
// negative: there is none. wake is the time at which the Ledger must be asked.
func (c *coordinator) nextWake(wake time.Duration) time.Duration {
	// Chains that cannot run any more are taken up at once, so that each ends with its error.
	if _, at, ok := c.release.First(); ok && c.state == runExhausted {
		wake = 0
	} else if ok {
		slots.Earlier(&wake, at)
	}
	if len(c.faults) > 0 {
		slots.Earlier(&wake, c.faults[0].At)
	}
	return wake
}

// tick records progress, times out attempts without a sign of life, and abandons attempts of
// failed jobs that have not noticed their kill within stopWithin.
func (c *coordinator) tick() {
	now := time.Now()
	c.showProgress()
	c.tellProgress()
	c.run.used.Record(c.run.stream, c.run.now(), c.run.budget.Leased(), c.run.temp.UsedBytes(), c.run.budget.Limit())
	// The list is copied, because abandon takes attempts out of it.
	for _, a := range append([]*attempt(nil), c.order...) {
		// An attempt that waits for memory, map outputs or its source is not stuck.
		if beat := a.beat.Load(); beat != a.lastBeat || a.waiting.Load() || a.state == attemptWaiting {
			a.lastBeat, a.lastBeatAt = beat, now
		}
		switch {
		case now.Sub(a.lastBeatAt) > c.run.o.TaskTimeout:
			c.abandon(a)
			err := fmt.Errorf("%s: no progress for %v", a.name(), c.run.o.TaskTimeout)
			a.job.chain.note(err.Error() + ": its thread is abandoned")
			c.failJob(a.job, err, false)
		case !a.stopBy.IsZero() && now.After(a.stopBy):
			c.abandon(a)
		}
	}
}

// tellProgress calls Options.Progress. What that function makes wrong is its own affair.
func (c *coordinator) tellProgress() {
	tell := c.run.o.Progress
	if tell == nil {
		return
	}
	p := Progress{Elapsed: c.run.now(), Running: len(c.order), JobsLeft: c.left}
	for id := range c.ledger.Jobs() {
		maps, allMaps := c.ledger.JobTasks(slots.JobID(id), slots.Map)
		reduces, allReduces := c.ledger.JobTasks(slots.JobID(id), slots.Reduce)
		p.MapsDone += int(maps)
		p.Maps += int(allMaps)
		p.ReducesDone += int(reduces)
		p.Reduces += int(allReduces)
	}
	_ = c.run.calls.Call("Options.Progress", func() error { tell(p); return nil })
}

// answerProbe reports the progress of all attempts to the Ledger, if the policy has asked for
// it and is about to decide. tick does not report it, because a report makes the policy decide.
// The policy should decide when something has happened, not whenever the engine's clock ticks.
func (c *coordinator) answerProbe() {
	if now := c.run.now(); c.probe >= 0 && now >= c.probe && c.ledger.Due(now) {
		c.probe = -1                // each request is answered once
		for _, a := range c.order { // the Ledger ignores attempts on lost trackers
			c.ledger.Progress(now, slots.SlotID(a.slot), a.id, a.done(c.ledger.JobTasks(a.id.Job, slots.Map)))
		}
	}
}

// showProgress appends the progress of attempts to the events, in steps of 1 %, for displays of
// the run. It leaves out reduces in their copy phase.
func (c *coordinator) showProgress() {
	for _, a := range c.order {
		if done := a.done(c.ledger.JobTasks(a.id.Job, slots.Map)); done >= a.shown+slots.AllDone/100 && !c.onLostTracker(a) && !a.copying(done) {
			a.shown = done
			c.detail(trace.Event{Op: trace.OpSeen, Kind: a.id.Kind, Job: int32(a.id.Job), Task: int32(a.id.Task), N: a.id.N, Slot: int32(a.slot), A: int64(done / slots.ProgressUnit)})
		}
	}
}

// Inbox holds closures that other goroutines post for the coordinator of a run
// (docs/adr/0003). The coordinator applies them in the order in which they were posted.
//
// The inbox has no bound, so that Post never blocks. The coordinator itself may post: an
// output may report to the inbox while the coordinator calls the output. Running attempts,
// feeders and outputs have little to report, so the inbox stays small.
type Inbox struct {
	Wake chan struct{} // holds one token while closures wait
	mu   struct {
		sync.Mutex
		posted []func()
		closed bool
	}
}

// Post adds f, from any goroutine, and wakes the coordinator. After Close it drops f.
func (b *Inbox) Post(f func()) {
	b.mu.Lock()
	if !b.mu.closed {
		b.mu.posted = append(b.mu.posted, f)
	}
	b.mu.Unlock()
	// One token is enough: Apply takes all closures that are there.
	select {
	case b.Wake <- struct{}{}:
	default:
	}
}

// Apply runs the closures that wait, and then those that these have posted. Only the
// coordinator calls it.
func (b *Inbox) Apply() {
	for {
		b.mu.Lock()
		posted := b.mu.posted
		b.mu.posted = nil
		b.mu.Unlock()
		if len(posted) == 0 {
			return
		}
		for _, f := range posted {
			f()
		}
	}
}

// Close drops the closures that wait.
func (b *Inbox) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.closed, b.mu.posted = true, nil
}
