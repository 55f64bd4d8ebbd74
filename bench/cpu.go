package bench

import (
	"time"

	"mrlocal/trace"
)

// cpuShares adds up what the CPUs of a cluster do, as vmstat shows it. A task that
// computes or reduces uses one core, as long as its tracker has a free one. A core
// that is idle while a task of its tracker reads or writes waits for I/O.
type cpuShares struct {
	cores    int                   // per tracker; 0: not known
	trackers []int32               // by slot
	at       []activity            // by tracker
	doing    map[int32]trace.Phase // by slot

	last time.Duration
	// user is the time of cores that compute, waited that of cores that wait for a disk.
	user, waited float64 // core-seconds so far

	mapUser, mapWaited float64 // core-seconds until the last map ended
	mapsEnd            time.Duration
}

// activity counts the tasks of a tracker by the resource that they use.
type activity struct{ computing, io int }

// Open is called by the stream before the first event.
func (c *cpuShares) Open(h *trace.Header) error {
	c.doing = map[int32]trace.Phase{}
	for _, s := range h.Slots {
		c.trackers = append(c.trackers, s.Tracker)
		// The header lists slots, not trackers. Their numbers have no gaps.
		for int(s.Tracker) >= len(c.at) {
			c.at = append(c.at, activity{})
		}
	}
	return nil
}

// Record implements trace.Sink.
func (c *cpuShares) Record(_ *trace.Stream, e *trace.Event) error {
	switch e.Op {
	case trace.OpStart:
		c.advance(e.At)
		// A start is no event of a phase, so the first phase follows from the kind of the task.
		first := trace.PhaseCompute
		if e.Kind == trace.Reduce {
			first = trace.PhaseCopy
		}
		c.change(e.Slot, first)
	case trace.OpPhase:
		c.advance(e.At)
		c.change(e.Slot, e.Phase)
	case trace.OpFinish:
		c.advance(e.At)
		c.change(e.Slot, trace.PhaseNone)
		if e.Kind == trace.Map {
			// The last map to finish leaves its values here.
			c.mapUser, c.mapWaited, c.mapsEnd = c.user, c.waited, e.At
		}
	}
	return nil
}

// advance adds the core-seconds since the last event.
func (c *cpuShares) advance(now time.Duration) {
	d := (now - c.last).Seconds()
	if c.last = now; d == 0 {
		return
	}
	for i := range c.at {
		// Cores that compute come first. Only the rest can wait for I/O.
		user := min(c.cores, c.at[i].computing)
		c.user += d * float64(user)
		c.waited += d * float64(min(c.cores-user, c.at[i].io))
	}
}

// change says that the task on a slot enters a phase. PhaseNone ends the task.
func (c *cpuShares) change(slot int32, to trace.Phase) {
	// The header has no tracker for such a slot, so its task is not counted.
	if slot < 0 || int(slot) >= len(c.trackers) {
		return
	}
	t := &c.at[c.trackers[slot]]
	t.count(c.doing[slot], -1)
	t.count(to, 1)
	c.doing[slot] = to
}

// count adds n tasks in phase p. Copying counts as neither: it uses the network, which vmstat
// does not show.
func (t *activity) count(p trace.Phase, n int) {
	switch p {
	case trace.PhaseCompute, trace.PhaseReduce:
		t.computing += n
	case trace.PhaseIO, trace.PhaseSort:
		t.io += n
	}
}

// of returns seconds as a share of all core-seconds until an instant.
func (c *cpuShares) of(seconds float64, until time.Duration) float64 {
	return seconds / (float64(c.cores*len(c.at)) * until.Seconds())
}
