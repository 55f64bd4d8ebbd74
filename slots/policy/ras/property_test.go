package ras_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/policytest"
	"mrlocal/slots/policy/ras"
)

// cluster is a random run: trackers of different capacities, jobs with profiles,
// goals and stragglers, failures, lost outputs and a lost tracker.
type cluster struct {
	config  slots.Config
	jobs    []policytest.ScriptJob
	o       policytest.Options
	options policy.Options
}

func draw(t *rapid.T) cluster {
	number := func(name string, least, most int) int { return rapid.IntRange(least, most).Draw(t, name) }
	vector := func(name string, most int) slots.Vector {
		tenths := func(of string) slots.PPM { return slots.One / 10 * slots.PPM(number(of+" of a "+name, 0, most)) }
		return slots.Vector{CPU: tenths("CPU"), IO: tenths("I/O"), Memory: tenths("memory")}
	}
	trackers := number("trackers", 1, 4)
	c := cluster{config: slots.Config{Slots: slots.Layout{
		Trackers: trackers, MapSlots: number("map slots", 1, 3), ReduceSlots: number("reduce slots", 1, 2), MaxSlots: number("slots", 0, 8),
	}.Slots()}}
	c.options.ShuffleMemory = rapid.Bool().Draw(t, "shuffle memory")
	c.options.RequiredAtFirst = rapid.SampledFrom([]string{"", "all", "one"}).Draw(t, "required at first")
	c.options.TakeMapsFor = rapid.SampledFrom([]string{"", "room", "any"}).Draw(t, "take maps for")
	c.options.Cycle = rapid.SampledFrom([]time.Duration{0, time.Millisecond, time.Second, time.Hour}).Draw(t, "cycle")
	if number("small trackers", 0, 1) == 1 {
		small := slots.Vector{CPU: slots.One / 2, IO: slots.One, Memory: slots.One / 3}
		c.config.Capacities = slots.Capacities{{Tracker: int32(number("small", 0, trackers-1)), Vector: small}}
	}
	for i := range number("jobs", 1, 5) {
		j := policytest.ScriptJob{
			Spec:   slots.JobSpec{Name: fmt.Sprint(i), Maps: int32(number("maps", 1, 12)), MapsSealed: true, Reduces: int32(number("reduces", 0, 6))},
			Submit: time.Duration(number("submit", 0, 9)) * time.Second, ReduceTime: policytest.Const(time.Duration(number("reduce time", 1, 9)) * time.Second),
		}
		mapTime, straggler := time.Duration(number("map time", 1, 9))*time.Second, slots.TaskID(number("straggler", 0, 20))
		j.MapTime = func(task slots.TaskID) time.Duration {
			if task == straggler {
				return 8 * mapTime
			}
			return mapTime
		}
		if number("profile", 0, 3) > 0 {
			j.Spec.Profile = &slots.Profile{Map: vector("map", 12), Shuffle: vector("shuffle", 4), Reduce: vector("reduce", 12)}
		}
		if number("goal", 0, 1) == 1 {
			j.Spec.Deadline = time.Duration(number("deadline", 1, 90)) * time.Second
		}
		if bad := slots.TaskID(number("failing", 0, 30)); bad < 12 {
			j.Fail = func(_ slots.Kind, task slots.TaskID) int32 {
				if task == bad {
					return 2
				}
				return 0
			}
		}
		c.jobs = append(c.jobs, j)
	}
	for range number("losses", 0, 3) {
		job, task, what := slots.JobID(number("job", 0, len(c.jobs)-1)), slots.TaskID(number("task", 0, 9)), number("what", 0, 3)
		c.o.Faults = append(c.o.Faults, policytest.ScriptFault{At: time.Duration(number("at", 1, 60)) * time.Second, Do: func(now time.Duration, l *slots.Ledger) {
			switch {
			case what == 0 && trackers > 1:
				l.LostTracker(now, slots.TrackerID(trackers-1))
			case int(job) < l.Jobs():
				l.LostOutput(now, job, task)
			}
		}})
	}
	return c
}

// TestNoTrackerIsOverloadedAndAllJobsEnd checks [RAS11, eq. 6], recounted after the last decision
// of every instant. No run deadlocks, and no job starves.
func TestNoTrackerIsOverloadedAndAllJobsEnd(t *testing.T) {
	switched, full := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		c := draw(rt)
		c.o.Each = func(_ time.Duration, l *slots.Ledger) error {
			v := l.View()
			for tracker := range slots.TrackerID(v.Trackers()) {
				load, capacity := slots.Vector{}, v.CapacityOf(tracker)
				for _, id := range v.SlotsOf(tracker) {
					s := v.Slot(id)
					if !s.Busy {
						continue
					}
					load = load.Plus(needs(v, &s, c.options.ShuffleMemory).AtMost(capacity))
					if s.Advanced {
						switched++
					}
				}
				if !load.Fits(capacity) {
					return fmt.Errorf("tracker %d has %+v, and its tasks need %+v", tracker, capacity, load)
				}
				if load.CPU == capacity.CPU || load.IO == capacity.IO || load.Memory == capacity.Memory {
					full++
				}
			}
			return nil
		}
		l, err := policytest.Drive(c.config, ras.New(c.options), c.jobs, c.o)
		if err != nil {
			rt.Fatal(err)
		}
		for id := range slots.JobID(l.Jobs()) {
			if s := l.JobState(id); s == slots.Running || s == slots.Killed {
				rt.Fatalf("job %d: %v", id, s)
			}
		}
	})
	if !testing.Short() && (switched == 0 || full == 0) { // the few draws of -short may miss one
		t.Errorf("%d reduces past their switch, %d trackers with nothing left of something", switched, full)
	}
}

// TestALateJobStartsWhereAnotherHasMapsToGive: two jobs share the slots for maps. One has the
// highest utility and a single map, the other has two. A third job that comes later gets the
// next slot of the other one.
func TestALateJobStartsWhereAnotherHasMapsToGive(t *testing.T) {
	const s = time.Second
	job := func(name string, submit time.Duration, maps, reduces int32, mapTime, reduceTime time.Duration) policytest.ScriptJob {
		return policytest.ScriptJob{
			Spec:   slots.JobSpec{Name: name, Maps: maps, MapsSealed: true, Reduces: reduces},
			Submit: submit, MapTime: policytest.Const(mapTime), ReduceTime: policytest.Const(reduceTime),
		}
	}
	jobs := []policytest.ScriptJob{job("high", 6*s, 37, 4, 2*s, 9*s), job("low", 21*s, 22, 1, 3*s, s), job("late", 27*s, 1, 0, s, s)}
	l, err := policytest.Drive(slots.Config{Slots: policytest.Typed(1, 4, 1)}, ras.New(policy.Options{}), jobs, policytest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if times := l.JobTimes(2); times.Start-times.Submit > 3*s {
		t.Errorf("it waits from %v to %v", times.Submit, times.Start)
	}
}

// needs returns the needs of an attempt, by the text of [RAS11] alone.
func needs(v *slots.View, s *slots.SlotView, shuffleMemory bool) slots.Vector {
	p, _ := v.Job(s.Attempt.Job).Profile()
	switch {
	case s.Attempt.Kind == slots.Map:
		return p.Map
	case s.Advanced:
		return p.Reduce
	}
	j := v.Job(s.Attempt.Job)
	copied := slots.PPM(min(5, j.Running(slots.Map)+j.Done(slots.Map)))
	p.Shuffle.IO = min(copied*p.Shuffle.IO, p.Reduce.IO)
	if shuffleMemory {
		p.Shuffle.Memory = max(p.Shuffle.Memory, p.Reduce.Memory)
	}
	return p.Shuffle
}

// TestAReduceStartsAfterTheLastMapIsDropped: the guard kills the reduce of a job for its map, and RAS bars
// the job from the only tracker. The map is dropped, so that no attempt of the job ends.
func TestAReduceStartsAfterTheLastMapIsDropped(t *testing.T) {
	o := policy.DefaultOptions()
	o.PreemptReduces = true
	var jobs []policytest.ScriptJob
	for i, tasks := range [][2]int32{{1, 1}, {0, 4}} {
		jobs = append(jobs, policytest.ScriptJob{
			Spec:    slots.JobSpec{Name: fmt.Sprint(i), Maps: tasks[0], MapsSealed: true, Reduces: tasks[1], Profile: &slots.Profile{}},
			MapTime: policytest.Const(time.Second), ReduceTime: policytest.Const(time.Second),
		})
	}
	drop := policytest.ScriptFault{At: time.Second, Do: func(now time.Duration, l *slots.Ledger) { l.Drop(now, 0, slots.Map, 0) }}
	if _, err := policytest.Drive(slots.Config{Slots: policytest.WithExtra(1, 1, 1, 2)}, newRAS(o), jobs, policytest.Options{Faults: []policytest.ScriptFault{drop}}); err != nil {
		t.Fatal(err)
	}
}
