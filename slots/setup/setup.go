// Package setup makes what a slots.Ledger takes out of a workload file and
// flags, so that a batch and a simulation read a file in one and the same way:
// the slots of every tracker, pools, users, placement, and jobs.
//
// It is pure, and owns nothing: what it returns belongs to the caller.
//
// Neighbours: workload is the file, slots takes the results; sim and the command
// line, which tells the engine, call it.
package setup

import (
	"fmt"
	"time"

	"mrlocal/internal/ppm"
	"mrlocal/slots"
	"mrlocal/slots/demand"
	"mrlocal/workload"
)

// Options are the flags that go before what the file says. The zero value
// takes everything from the file.
type Options struct {
	Trackers    int // 0: the file's cluster, else 1
	MapSlots    int // per tracker; 0: the file's cluster, else 2
	ReduceSlots int // per tracker; 0: the file's cluster, else 1
	MaxSlots    int // per tracker, the extra ones that a policy may open among them; 0: 2·(maps + reduces)

	Cores         [][]int32  // of each tracker, which its slots take in turn; nil: not bound (-1)
	Slowstart     *slots.PPM // nil: the file's defaults, else 1
	Attempts      int        // 0: 4
	Seed          uint64
	LocalityDelay time.Duration
	Replicas      int // 0: the file's
}

// Config is the configuration of a Ledger for f under o. Numbers beyond 32 bits
// are the caller's fault: workload refuses them.
func Config(f *workload.File, o Options) slots.Config {
	o = o.withDefaults(f)
	layout := slots.Layout{Trackers: o.Trackers, MapSlots: o.MapSlots, ReduceSlots: o.ReduceSlots, MaxSlots: o.MaxSlots, Core: o.core}
	c := slots.Config{
		Slots:         layout.Slots(),
		Slowstart:     *o.Slowstart,
		MaxAttempts:   o.Attempts,
		Replicas:      int32(o.Replicas),
		GroupTrackers: int32(f.Groups),
		LocalityDelay: o.LocalityDelay,
		Seed:          o.Seed,
	}
	for _, p := range f.Capacities {
		if p.Tracker < o.Trackers {
			c.Capacities = append(c.Capacities, demand.Capacity{Tracker: int32(p.Tracker), Vector: demand.Vector(p.Demand)})
		}
	}
	for _, p := range f.Pools {
		c.Pools = append(c.Pools, poolOf(p))
	}
	for _, u := range f.Users {
		c.Users = append(c.Users, slots.User{Name: u.Name, MaxRunning: int32(u.MaxRunning)})
	}
	return c
}

// Weights are the slot weights of f; without them, none that bound anything.
func Weights(f *workload.File) demand.Weights {
	return demand.Weights{Map: int32(f.Cluster.MapWeight), Reduce: int32(f.Cluster.ReduceWeight)}
}

func (o Options) withDefaults(f *workload.File) Options {
	o.Trackers = first(o.Trackers, f.Cluster.Trackers, 1)
	o.MapSlots = first(o.MapSlots, f.Cluster.MapSlots, 2)
	o.ReduceSlots = first(o.ReduceSlots, f.Cluster.ReduceSlots, 1)
	o.MaxSlots = first(o.MaxSlots, 2*(o.MapSlots+o.ReduceSlots))
	o.Replicas = first(o.Replicas, f.Replicas)
	if o.Slowstart == nil {
		o.Slowstart = f.Defaults.Slowstart
	}
	if o.Slowstart == nil {
		whole := ppm.One
		o.Slowstart = &whole
	}
	return o
}

func first(values ...int) int {
	for _, v := range values {
		if v != 0 {
			return v
		}
	}
	return 0
}

// core is where slot i of tracker t runs; the cores of a tracker are taken in
// turn.
func (o *Options) core(t, i int) int32 {
	if t >= len(o.Cores) || len(o.Cores[t]) == 0 {
		return -1
	}
	return o.Cores[t][i%len(o.Cores[t])]
}

func poolOf(p workload.Pool) slots.Pool {
	return slots.Pool{
		Name: p.Name, Weight: p.Weight, FIFO: p.FIFO,
		MinMaps: int32(p.MinMaps), MinReduces: int32(p.MinReduces),
		MaxMaps: int32(p.MaxMaps), MaxReduces: int32(p.MaxReduces),
		MaxRunning:   int32(p.MaxRunning),
		PreemptAfter: patience(p.PreemptAfter), FairPreemptAfter: patience(p.FairPreemptAfter),
	}
}

// patience turns "negative is never" of a file into the "0 is never" of slots.
func patience(d time.Duration) time.Duration {
	switch {
	case d < 0:
		return 0
	case d == 0:
		return 1 // at once: the least time there is
	}
	return d
}

// JobSpec is job i of f as the simulator submits it: all of its maps and
// reduces known. The engine, which counts splits, overrides the counts.
func JobSpec(f *workload.File, i int) slots.JobSpec {
	j := &f.Jobs[i]
	return slots.JobSpec{
		Name: j.Name, Pool: j.Pool, User: j.User,
		Maps: int32(j.Maps), MapsSealed: true, Reduces: int32(j.Reduces),
		Priority: slots.Priority(j.Priority), Weight: j.Weight, Deadline: j.Deadline, Profile: ProfileOf(j),
	}
}

// ProfileOf is a job's profile as a Ledger takes it; nil where it has none.
func ProfileOf(j *workload.Job) *demand.Profile {
	if j.Profile == nil {
		return nil
	}
	return &demand.Profile{Map: demand.Vector(j.Profile.Map), Shuffle: demand.Vector(j.Profile.Shuffle), Reduce: demand.Vector(j.Profile.Reduce)}
}

// Warnings are what is legal and may not be meant, a line each: more minimum
// than capacity, more replicas than trackers.
func Warnings(c slots.Config) (lines []string) {
	capacity := map[slots.Kind]int64{}
	trackers := 0
	for _, s := range c.Slots {
		if !s.Extra {
			capacity[s.Home]++
		}
		trackers = max(trackers, int(s.Tracker)+1)
	}
	for _, k := range []slots.Kind{slots.Map, slots.Reduce} {
		least := int64(0)
		for i := range c.Pools {
			least += int64(c.Pools[i].Min(k))
		}
		if least > capacity[k] {
			lines = append(lines, fmt.Sprintf("pools: the minimum shares are %d %s slots of the %d there are: they are scaled down in proportion", least, k, capacity[k]))
		}
	}
	if int(c.Replicas) > trackers {
		there := fmt.Sprintf("there are %d trackers", trackers)
		if trackers == 1 {
			there = "there is one tracker"
		}
		lines = append(lines, fmt.Sprintf("locality: %d replicas, and %s: every tracker has every block", c.Replicas, there))
	}
	return lines
}
