package sim

import (
	"fmt"
	"io"
	"time"

	"mrlocal/errs"
	"mrlocal/slots"
	"mrlocal/slots/fifo"
	"mrlocal/slots/setup"
	"mrlocal/trace"
	"mrlocal/workload"
)

// Options are how a workload file is run; the zero value is cost L0, heartbeat
// 0, seed 1, FIFO, on the file's own cluster.
type Options struct {
	Policy slots.Policy // nil: FIFO; it serves this run until Run returns

	// Trackers, and slots per tracker; 0: the file's, else as setup.Options.
	Trackers, MapSlots, ReduceSlots, MaxSlots int

	Slowstart     *slots.PPM // nil: the file's, else 1
	Attempts      int        // failed attempts of a task that fail its job; 0: 4
	LocalityDelay time.Duration

	// Heartbeat is how often a tracker asks; 0: at once, whenever something has
	// happened.
	Heartbeat time.Duration

	Cost string // "l0" (default), "l1" or "l2"

	// RemotePenalty is how many times as long a map takes away from its input;
	// 0: 1.
	RemotePenalty slots.PPM

	Seed uint64 // 0: 1

	Events io.Writer           // the event file, where not nil; it is not closed
	Watch  func(*trace.Stream) // called before the first event, to attach readers
	Note   func(string)        // warnings, a line each
}

func (o Options) withDefaults() Options {
	if o.Cost == "" {
		o.Cost = costL0
	}
	if o.RemotePenalty == 0 {
		o.RemotePenalty = slots.One
	}
	if o.Seed == 0 {
		o.Seed = 1
	}
	if o.Policy == nil {
		o.Policy = fifo.New()
	}
	if o.Note == nil {
		o.Note = func(string) {}
	}
	return o
}

const (
	costL0 = "l0"
	costL1 = "l1"
	costL2 = "l2"
)

// leastHeartbeat bounds how many beats a second of virtual time can have.
const leastHeartbeat = time.Millisecond

func (o *Options) validate() error {
	switch {
	case o.Cost != costL0 && o.Cost != costL1 && o.Cost != costL2:
		return errs.Optionf("cost "+o.Cost, "unknown; there are l0, l1 and l2")
	case o.Heartbeat != 0 && o.Heartbeat < leastHeartbeat:
		return errs.Optionf(fmt.Sprintf("heartbeat %v", o.Heartbeat), "must be 0 (at once) or at least %v", leastHeartbeat)
	case o.RemotePenalty < slots.One:
		return errs.Optionf(fmt.Sprintf("remote penalty %v", o.RemotePenalty), "must be at least 1: it is a factor of a map's time")
	case o.LocalityDelay < 0:
		return errs.Optionf(fmt.Sprintf("locality delay %v", o.LocalityDelay), "must not be negative")
	}
	return nil
}

func (o *Options) setup() setup.Options {
	return setup.Options{
		Trackers: o.Trackers, MapSlots: o.MapSlots, ReduceSlots: o.ReduceSlots, MaxSlots: o.MaxSlots,
		Slowstart: o.Slowstart, Attempts: o.Attempts, Seed: o.Seed, LocalityDelay: o.LocalityDelay,
	}
}

// check refuses what cannot run: before anything is started.
func check(f *workload.File, o *Options, c *slots.Config) error {
	trackers := 0
	var home [2]bool
	for _, s := range c.Slots {
		trackers = max(trackers, int(s.Tracker)+1)
		home[s.Home] = home[s.Home] || !s.Extra
	}
	if len(f.Jobs) == 0 {
		return errs.Inputf(f.Name, "has no jobs")
	}
	if err := checkTrackers(f, trackers); err != nil {
		return err
	}
	lends := o.Policy.Traits().Lends
	for i := range f.Jobs {
		j := &f.Jobs[i]
		switch {
		case j.Maps+j.Reduces == 0 && j.Job != "":
			return f.Errorf(j.Pos, "job "+j.Name, "no maps and no reduces: a simulated job gives the number of its tasks")
		case j.Maps > 0 && !j.MapTime.Given():
			return f.Errorf(j.Pos, "job "+j.Name, "no map_time, neither here nor in defaults")
		case j.Reduces > 0 && !j.ReduceTime.Given():
			return f.Errorf(j.Pos, "job "+j.Name, "no reduce_time, neither here nor in defaults")
		}
		for k, n := range [2]int{slots.Map: j.Maps, slots.Reduce: j.Reduces} {
			kind := slots.Kind(k)
			if n > 0 && !home[kind] && !(lends && home[kind.Other()]) {
				return f.Errorf(j.Pos, "job "+j.Name, "has %s tasks, and there is no %s slot that could run them under %s", kind, kind, o.Policy.Traits().Name)
			}
		}
		if o.Cost != costL0 && f.Cluster.NetBytes <= 0 && j.MapOutputBytes > 0 && j.Reduces > 0 {
			return f.Errorf(j.Pos, "job "+j.Name, "has map_output, and the cluster no net bandwidth to copy it over under cost %s; give cluster: {net: 125MB}", o.Cost)
		}
	}
	return nil
}

// checkTrackers refuses what names trackers or tasks that are not there: flags
// may have made the cluster another than the file's.
func checkTrackers(f *workload.File, trackers int) error {
	for _, s := range f.Slow {
		if s.Tracker < 0 || s.Tracker >= trackers {
			return errs.Inputf(f.Name, "slow: there is no tracker %d; they count from 0 to %d", s.Tracker, trackers-1)
		}
		if s.Factor <= 0 {
			return errs.Inputf(f.Name, "slow: tracker %d: a factor of %v; it must be above 0", s.Tracker, s.Factor)
		}
	}
	for _, x := range f.Faults {
		if err := checkFault(f, x, trackers); err != nil {
			return err
		}
	}
	return nil
}

func checkFault(f *workload.File, x workload.Fault, trackers int) error {
	if x.Tracker >= trackers {
		return errs.Inputf(f.Name, "faults: there is no tracker %d to lose; they count from 0 to %d", x.Tracker, trackers-1)
	}
	if x.Tracker >= 0 {
		return nil
	}
	if x.Job < 0 || x.Job >= len(f.Jobs) {
		return errs.Inputf(f.Name, "faults: job %d of %d", x.Job, len(f.Jobs))
	}
	j := &f.Jobs[x.Job]
	kind, tasks := "map", j.Maps
	if x.Reduce {
		kind, tasks = "reduce", j.Reduces
	}
	switch {
	case x.Task < 0 || x.Task >= tasks:
		return f.Errorf(j.Pos, "job "+j.Name, "faults name its %s task %d, and it has %d of them", kind, x.Task, tasks)
	case x.Lost && x.Reduce:
		return f.Errorf(j.Pos, "job "+j.Name, "faults lose the output of reduce task %d; only a map's output can be lost", x.Task)
	}
	return nil
}
