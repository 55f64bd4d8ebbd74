package engine

import (
	"context"
	"time"

	"mrlocal/engine/task"
	"mrlocal/slots"
	"mrlocal/slots/setup"
	"mrlocal/trace"
)

// tickEvery is how often the coordinator looks at running attempts for
// progress and time-outs.
const tickEvery = 100 * time.Millisecond

// mostSettling bounds how many chains may settle at a time. While there are so
// many, nothing new starts: each of them has files open.
const mostSettling = 32

// coordinator is the goroutine that owns the Ledger and the states of chains,
// jobs and attempts. Other goroutines post closures to its inbox. It applies
// them, asks the Ledger for orders and carries them out.
//
//	coordinator.go  the run loop
//	arrivals.go     chains are opened, submitted and settled
//	jobs.go         jobs end, well or not
//	attempts.go     attempts start and end
//	lost.go         outputs and trackers are lost, by themselves or on purpose
//	windingdown.go  an interrupted run, and attempts that do not come back
type coordinator struct {
	run       *run
	ledger    *slots.Ledger
	inbox     *task.Inbox
	running   map[slots.AttemptID]*runningAttempt // looked up, never iterated for a decision
	order     []*runningAttempt                   // running attempts, oldest first
	jobs      []*runningJob                       // by JobID, all that were ever submitted
	unfed     []*runningJob                       // their feeders wait until a running-job limit lets the job run
	maybeDone []*runningJob                       // jobs that endJobs looks at next; one may be here twice

	release  *setup.Release // chains that have not been opened
	toOpen   []*chain       // chains whose time has come, for the next opener
	opening  bool           // an opener is at work
	settling int            // chains that settle
	left     int            // chains that have not ended
	faults   []setup.Fault  // still to come, by time
	lost     []bool         // by tracker

	probe time.Duration // from when on the policy wants to know how far attempts are; negative: never

	hungBytes int64 // leased by threads that do not come back
	state     runState
}

// newCoordinator makes the coordinator of a run. Nothing runs before serve.
func newCoordinator(r *run, l *slots.Ledger) *coordinator {
	return &coordinator{
		run: r, ledger: l, inbox: task.NewInbox(), running: map[slots.AttemptID]*runningAttempt{}, release: setup.NewRelease(len(r.chains), func(i int) *setup.Submission { return &r.chains[i].job.Submission }),
		left: len(r.chains), faults: setup.TimedFaults(r.o.Faults), lost: make([]bool, r.o.Trackers), probe: -1,
	}
}

// serve runs every chain to its end. It returns why the run was interrupted,
// nil if it was not.
func (c *coordinator) serve(ctx context.Context) error {
	// The ticker serves progress and time-outs. The timer serves known times: submissions, faults,
	// the policy's wake-up.
	ticker := time.NewTicker(tickEvery)
	defer ticker.Stop()
	timer := time.NewTimer(0)
	defer timer.Stop()
	// One round: take up what is due, ask the Ledger until nothing changes, then sleep.
	for c.endJobs(); c.left > 0; c.endJobs() {
		c.openDue()
		c.injectFaults()
		// A job that has ended may release others. They are submitted before
		// slots are assigned, so that they compete for the same free slots.
		if c.endJobs() {
			continue
		}
		wake := c.ask()
		// An order may end a job at once; do not sleep on that.
		if len(c.maybeDone) > 0 {
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
		// The round above looks at the clock itself, so there is nothing to do here.
		case <-timer.C:
		case <-ctx.Done():
			return c.interrupt(context.Cause(ctx))
		}
	}
	return nil
}

// ask asks the Ledger for orders and carries them out. It returns the time at
// which the Ledger wants to be asked again; negative: never.
func (c *coordinator) ask() (wake time.Duration) {
	// A chain that has settled posts to the inbox, which brings the coordinator back here.
	// Facts are still applied; only new starts wait.
	if c.settling >= mostSettling {
		return -1
	}
	// The policy decides on progress that is up to date.
	c.answerProbe()
	wake = c.obey(c.ledger.AssignAll(c.run.now()))
	c.feedAdmitted()
	return wake
}

// obey carries out the Ledger's orders and returns when it wants to be asked
// again; negative: never.
func (c *coordinator) obey(o *slots.Orders) time.Duration {
	// The orders belong to the Ledger, and are valid until it is asked again.
	for _, s := range o.Starts {
		c.start(s)
	}
	// The deadlock guard kills attempts that it has just started, and a reduce
	// may leave its copy phase at once: Kills and Advances come after Starts.
	for _, id := range o.Kills {
		if a := c.running[id]; a != nil {
			a.Kill()
		}
	}
	for _, id := range o.Advances {
		if a := c.running[id]; a != nil && a.Gate != nil {
			a.Gate.Open()
		}
	}
	if o.Probe >= 0 && (c.probe < 0 || o.Probe < c.probe) {
		c.probe = o.Probe
	}
	return o.Wake
}

// nextWake returns the earliest time at which something is to be done;
// negative: no such time is known. wake is when the Ledger wants to be asked.
func (c *coordinator) nextWake(wake time.Duration) time.Duration {
	next := wake
	earlier := func(t time.Duration) {
		if next < 0 || t < next {
			next = t
		}
	}
	// Chains that can no longer run are still taken up, so that each gets its error.
	if _, at, ok := c.release.Next(); ok && c.state == runExhausted {
		earlier(0)
	} else if ok {
		earlier(at)
	}
	if len(c.faults) > 0 {
		earlier(c.faults[0].At)
	}
	return next
}

// tick shows progress, fails attempts that show no life, and gives up those
// of failed jobs that do not notice that they are killed.
func (c *coordinator) tick() {
	now := time.Now()
	c.showProgress()
	c.run.used.Record(c.run.stream, c.run.now(), c.run.env.Budget.Leased(), c.run.temp.UsedBytes())
	// The list is copied, because timeOut and abandon take attempts out of it.
	for _, a := range append([]*runningAttempt(nil), c.order...) {
		// Who waits for memory or map outputs is not stuck.
		if beat := a.Beat.Load(); beat != a.lastBeat || a.Waiting.Load() {
			a.lastBeat, a.lastBeatAt = beat, now
		}
		switch {
		case now.Sub(a.lastBeatAt) > c.run.o.TaskTimeout:
			c.timeOut(a)
		case !a.stopBy.IsZero() && now.After(a.stopBy):
			c.abandon(a)
		}
	}
}

// answerProbe reports progress if the policy has asked for it by now and is about to
// decide. The tick does not: it would have the policy decide at moments that belong to
// the engine and to no fact of the run.
func (c *coordinator) answerProbe() {
	if now := c.run.now(); c.probe >= 0 && now >= c.probe && c.ledger.Due(now) {
		c.probe = -1                // each request is answered once
		for _, a := range c.order { // the Ledger ignores those on lost trackers
			c.ledger.Progress(now, a.ID, a.Done(c.ledger.JobTasks(a.ID.Job, slots.Map)))
		}
	}
}

// showProgress appends to the events how far attempts are, for those who watch the run, in
// steps of 1 %. Reduces in their copy phase are left out.
func (c *coordinator) showProgress() {
	for _, a := range c.order {
		if done := a.Done(c.ledger.JobTasks(a.ID.Job, slots.Map)); done >= a.shown+slots.One/100 && !c.onLostTracker(a) && !a.Copying(done) {
			a.shown = done
			c.Detail(trace.Event{Op: trace.OpSeen, Kind: a.ID.Kind, Job: int32(a.ID.Job), Task: int32(a.ID.Task), N: a.ID.N, Slot: int32(a.Slot), A: int64(done)})
		}
	}
}
