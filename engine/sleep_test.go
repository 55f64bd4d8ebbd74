package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mrlocal/engine"
	"mrlocal/jobs"
	"mrlocal/jobs/sleep"
	"mrlocal/slots"
	"mrlocal/slots/explain"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/fifo"
	"mrlocal/slots/policy/policytest"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/report"
	"mrlocal/slots/setup"
	"mrlocal/trace"
)

// sleeping returns a job whose maps and reduces take the given times.
func sleeping(t testing.TB, maps, reduces []time.Duration) jobs.Chain {
	t.Helper()
	return build(t, sleep.New, sleep.Options{
		Maps: len(maps), Reduces: len(reduces),
		MapTime:    func(task int) time.Duration { return maps[task] },
		ReduceTime: func(task int) time.Duration { return reduces[task] },
	})
}

func secs(s ...float64) (times []time.Duration) {
	for _, x := range s {
		times = append(times, time.Duration(x*float64(time.Second)))
	}
	return times
}

// gantt returns the starts and ends of attempts, one on each line.
func gantt(events []trace.Event) string {
	var b strings.Builder
	for _, e := range events {
		switch e.Op {
		case trace.OpStart:
			fmt.Fprintf(&b, "%v start J%d %v %d on %d\n", e.At, e.Job, e.Kind, e.Task, e.Slot)
		case trace.OpFinish:
			fmt.Fprintf(&b, "%v end J%d %v %d\n", e.At, e.Job, e.Kind, e.Task)
		case trace.OpJobEnd:
			fmt.Fprintf(&b, "%v over J%d\n", e.At, e.Job)
		case trace.OpSubmit:
			fmt.Fprintf(&b, "%v submit J%d\n", e.At, e.Job)
		}
	}
	return b.String()
}

func TestSleepingJobsStartAndEndExactlyWhenTheirTimesSay(t *testing.T) {
	want := map[string]string{
		// Slots 0 and 1 are for maps, 2 for reduces.
		"fair": `
0s submit J0
0s submit J1
0s start J0 map 0 on 0
0s start J1 map 0 on 1
10s end J0 map 0
10s start J0 map 1 on 0
13.5s end J1 map 0
13.5s start J1 map 1 on 1
21s end J0 map 1
21s start J0 reduce 0 on 2
21s start J1 map 2 on 0
25.5s submit J2
26s end J0 reduce 0
26s over J0
28s end J1 map 1
28s start J2 map 0 on 1
29.125s end J2 map 0
29.125s start J2 reduce 0 on 2
29.375s end J2 reduce 0
29.375s over J2
29.375s submit J3
29.375s start J3 map 0 on 1
30.375s end J3 map 0
30.375s over J3
36.5s end J1 map 2
36.5s start J1 reduce 0 on 2
43.5s end J1 reduce 0
43.5s over J1
`,
		"pi-dhfs": `
0s submit J0
0s submit J1
0s start J0 map 0 on 0
0s start J1 map 0 on 1
0s start J0 map 1 on 2
10s end J0 map 0
10s start J1 map 1 on 0
11s end J0 map 1
11s start J0 reduce 0 on 2
13.5s end J1 map 0
13.5s start J1 map 2 on 1
16s end J0 reduce 0
16s over J0
24.5s end J1 map 1
25.5s submit J2
25.5s start J2 map 0 on 0
26.625s end J2 map 0
26.625s start J2 reduce 0 on 2
26.875s end J2 reduce 0
26.875s over J2
26.875s submit J3
26.875s start J3 map 0 on 0
27.875s end J3 map 0
27.875s over J3
29s end J1 map 2
29s start J1 reduce 0 on 2
36s end J1 reduce 0
36s over J1
`,
	}
	for sched, want := range want {
		t.Run(sched, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				batch := []engine.BatchJob{
					{Submission: setup.Submission{Name: "J00", Pool: "prod"}, Chain: sleeping(t, secs(10, 11), secs(5))},
					{Submission: setup.Submission{Name: "J01", Pool: "test"}, Chain: sleeping(t, secs(13.5, 14.5, 15.5), secs(7))},
					{Submission: setup.Submission{Name: "J02", Pool: "prod", Submit: 25*time.Second + 500*time.Millisecond}, Chain: sleeping(t, secs(1.125), secs(0.25))},
					{Submission: setup.Submission{Name: "J03", Pool: "prod", After: []int{2}}, Chain: sleeping(t, secs(1), nil)},
				}
				log := &policytest.Log{}
				var events bytes.Buffer
				r, err := engine.RunBatch(t.Context(), batch, engine.Options{
					Policy: newPolicy(t, sched), Config: setup.Config{MapSlots: 2, ReduceSlots: 1, Pools: []slots.Pool{{Name: "prod"}, {Name: "test"}}}, NoPin: true, MemoryBytes: 64 << 20, Events: &events, Watch: func(s *trace.Stream) { s.Attach(log) },
				})
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), gantt(log.Events)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				difference, err := explain.Replay(&events, registry.ForReplay, explain.ReplayOptions{})
				if err != nil || difference != nil {
					t.Errorf("replay: %v, %v", difference, err)
				}
				last := r.Jobs[1].FinishS
				if r.MakespanSeconds != last {
					t.Errorf("makespan %v s, but the last job ended at %v s", r.MakespanSeconds, last)
				}
			})
		})
	}
}

// TestTheJobsOfAUserShareAPool, unless they name one: bob's job has as many of the 4 slots as ann's three jobs.
func TestTheJobsOfAUserShareAPool(t *testing.T) {
	for _, c := range []struct {
		name      string
		ann, d    setup.Submission // of ann's jobs, and of d
		wantPools []string
		wantEnd   float64 // of d, which has 4 maps of 10 s: 20 s with 2 slots, 40 s with 1
	}{
		{"users", setup.Submission{User: "ann"}, setup.Submission{User: "bob"}, []string{"ann", "ann", "ann", "bob"}, 20},
		{"a pool that d names", setup.Submission{User: "ann"}, setup.Submission{User: "ann", Pool: "prod"}, []string{"ann", "ann", "ann", "prod"}, 20},
		{"no users", setup.Submission{}, setup.Submission{}, []string{"a", "b", "c", "d"}, 40},
	} {
		synctest.Test(t, func(t *testing.T) {
			var batch []engine.BatchJob
			for _, name := range []string{"a", "b", "c", "d"} {
				s := c.ann
				if name == "d" {
					s = c.d
				}
				s.Name = name
				batch = append(batch, engine.BatchJob{Submission: s, Chain: sleeping(t, secs(10, 10, 10, 10), nil)})
			}
			r, err := engine.RunBatch(t.Context(), batch, engine.Options{
				Policy: newPolicy(t, "fair"), Config: setup.Config{MapSlots: 4, ReduceSlots: 1}, NoPin: true, MemoryBytes: 64 << 20,
			})
			if err != nil {
				t.Fatal(err)
			}
			var pools []string
			for i := range r.Jobs {
				pools = append(pools, r.Jobs[i].Pool)
			}
			if end := rows(r)["d"].FinishS; !slices.Equal(pools, c.wantPools) || end != c.wantEnd {
				t.Errorf("%s: pools %v, d ends at %v s; want %v, %v s", c.name, pools, end, c.wantPools, c.wantEnd)
			}
		})
	}
}

// rows returns the jobs of a report by name.
func rows(r *report.Report) map[string]*report.JobReport {
	m := map[string]*report.JobReport{}
	for i := range r.Jobs {
		m[r.Jobs[i].Name] = &r.Jobs[i]
	}
	return m
}

func TestASlowTrackerTakesAsMuchLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, r := must(t, sleeping(t, secs(3, 3), secs(1)), engine.Options{
			Config: setup.Config{Trackers: 2, MapSlots: 1, ReduceSlots: 1, Slow: []setup.Slow{{Tracker: 1, Factor: slots.One / 4}, {Tracker: 0, Factor: slots.One / 2}}}, NoPin: true, MemoryBytes: 64 << 20,
		})
		j := r.Jobs[0]
		// The maps take 6 s and 12 s, the reduce, on one of them, 2 s or 4 s.
		if got := j.FinishS; j.MapsDoneS != 12 || got != 14 && got != 16 {
			t.Errorf("maps done at %v s, end at %v s", j.MapsDoneS, got)
		}
	})
}

func TestARemoteMapTakesAsMuchLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const maps = 12
		times := make([]time.Duration, maps)
		for i := range times {
			times[i] = time.Second
		}
		log := &policytest.Log{}
		_, r := must(t, sleeping(t, times, secs(1)), engine.Options{
			Config: setup.Config{Trackers: 4, MapSlots: 1, ReduceSlots: 1, Replicas: 1, RemotePenalty: 3 * slots.One}, NoPin: true, MemoryBytes: 64 << 20,
			Watch: func(s *trace.Stream) { s.Attach(log) },
		})
		began, local := map[int32]time.Duration{}, map[int32]bool{}
		remote := 0
		for _, e := range log.Events {
			switch {
			case e.Kind != trace.Map:
			case e.Op == trace.OpStart:
				began[e.Task], local[e.Task] = e.At, slots.Level(e.A) == slots.LevelTracker
			case e.Op == trace.OpFinish:
				want := time.Second
				if !local[e.Task] {
					want, remote = 3*time.Second, remote+1
				}
				if got := e.At - began[e.Task]; got != want {
					t.Errorf("map %d, local %v, took %v", e.Task, local[e.Task], got)
				}
			}
		}
		if got := r.Jobs[0].Counters.DataLocalMaps; got != int64(maps-remote) || remote == 0 {
			t.Errorf("%d local maps of %d, %d remote", got, maps, remote)
		}
	})
}

func TestFaultsHappenToRealRuns(t *testing.T) {
	for name, c := range map[string]struct {
		faults []setup.Fault
		want   func(j *report.JobReport) bool
	}{
		"the first two attempts of a map fail at their end": {
			[]setup.Fault{{Tracker: -1, Task: 1, Fail: 2}},
			func(j *report.JobReport) bool { return j.Counters.FailedMaps == 2 && j.FinishS == 2+2+2+1 },
		},
		"the first attempt of a reduce fails at its end": {
			[]setup.Fault{{Tracker: -1, Reduce: true, Fail: 1}},
			func(j *report.JobReport) bool { return j.Counters.FailedReduces == 1 && j.FinishS == 2+1+1 },
		},
		"a lost map output is made again": { // it is lost while the reduce runs, which starts over
			[]setup.Fault{{Tracker: -1, Lost: true, At: 2500 * time.Millisecond}},
			func(j *report.JobReport) bool { return j.Counters.LaunchedMaps == 3 && j.State == "succeeded" },
		},
		"a lost tracker's maps run elsewhere": {
			[]setup.Fault{{Tracker: 1, At: time.Second}},
			func(j *report.JobReport) bool { return j.Counters.KilledMaps == 1 && j.FinishS == 4+1 },
		},
		"a lost tracker's finished maps run again elsewhere": {
			[]setup.Fault{{Tracker: 1, At: 2500 * time.Millisecond}},
			func(j *report.JobReport) bool { return j.Counters.LaunchedMaps == 3 && j.State == "succeeded" },
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, r := must(t, sleeping(t, secs(2, 2), secs(1)), engine.Options{
					Config: setup.Config{Trackers: 2, MapSlots: 1, ReduceSlots: 1, Faults: c.faults}, NoPin: true, MemoryBytes: 64 << 20,
				})
				if j := &r.Jobs[0]; !c.want(j) {
					t.Errorf("%+v", *j)
				}
			})
		})
	}
}

// As sim's TestLooksForCopiesDoNotHideADeadlock, in a real run.
func TestLooksForCopiesDoNotHideADeadlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		o, early := policy.DefaultOptions(), slots.PPM(0)
		o.CopyRule, o.CopyAfter = "hadoop", time.Second
		p, err := registry.New("dynamicmr", o)
		if err != nil {
			t.Fatal(err)
		}
		r, err := engine.RunChain(ctx, sleeping(t, secs(1), secs(1, 1, 1, 1, 1, 1, 1)), engine.Options{
			Policy: p, Config: setup.Config{Trackers: 3, MapSlots: 2, ReduceSlots: 1, Slowstart: &early, Faults: []setup.Fault{{Tracker: -1, Fail: 2}}},
			NoPin: true, MemoryBytes: 256 << 20, JobOptions: engine.JobOptions{Stdout: io.Discard},
		})
		if err != nil || r.Jobs[0].State != "succeeded" || r.Jobs[0].Counters.FailedMaps != 2 {
			t.Errorf("%v, %+v", err, r.Jobs[0])
		}
	})
}

func TestWithoutATrackerEveryJobFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := engine.RunBatch(t.Context(), []engine.BatchJob{
			{Submission: setup.Submission{Name: "A"}, Chain: sleeping(t, secs(5), secs(1))}, {Submission: setup.Submission{Name: "B", Submit: time.Hour}, Chain: sleeping(t, secs(5), secs(1))},
		}, engine.Options{Config: setup.Config{MapSlots: 1, ReduceSlots: 1, Faults: []setup.Fault{{Tracker: 0, At: time.Second}}}, NoPin: true, MemoryBytes: 64 << 20})
		if err == nil || !strings.Contains(err.Error(), "2 of 2 jobs failed: A: every tracker is lost") {
			t.Errorf("error %v", err)
		}
		if got := rows(r)["A"]; got.State != "failed" || got.FinishS != 1 {
			t.Errorf("job %+v", got)
		}
		if r.MakespanSeconds > 2 {
			t.Errorf("it waited %v s for a job that cannot run", r.MakespanSeconds)
		}
	})
}

// late is FIFO that panics after one second.
type late struct{ *fifo.FIFO }

func (p late) Decide(v *slots.View, d *slots.Decision) {
	if d.WakeAt(time.Second); v.Now() >= time.Second {
		panic("lost count")
	}
	p.FIFO.Decide(v, d)
}

// The policy panics, so the job fails, but its map sleeps on. The run is interrupted before the map
// is abandoned.
func TestARunThatWaitsForItsLastAttemptsCanBeInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 1550*time.Millisecond)
		defer cancel()
		chain := failing(func(jobs.Block, jobs.Emitter) error { time.Sleep(2 * time.Second); return nil }, nil)
		r, err := engine.RunChain(ctx, chain, engine.Options{
			JobOptions: engine.JobOptions{Stdin: strings.NewReader("a\n"), Inputs: []string{"-"}}, Policy: late{fifo.New()},
			Config: setup.Config{MapSlots: 1, ReduceSlots: 1}, MemoryBytes: 64 << 20, Stderr: io.Discard,
		})
		if !errors.Is(err, context.DeadlineExceeded) || r.Jobs[0].State != "failed" || r.MakespanSeconds != 2 {
			t.Errorf("%v, the job is %v after %v s", err, r.Jobs[0].State, r.MakespanSeconds)
		}
	})
}

func TestReducesThatWaitForMapsHoardTheirSlots(t *testing.T) {
	for slowstart, want := range map[slots.PPM]float64{0: 2 * 10, slots.One / 2: 2 * 4, slots.One: 0} {
		synctest.Test(t, func(t *testing.T) {
			_, r := must(t, sleeping(t, secs(6, 10), secs(1, 1)), engine.Options{
				Config: setup.Config{MapSlots: 2, ReduceSlots: 2, Slowstart: &slowstart}, NoPin: true, MemoryBytes: 64 << 20,
			})
			if r.HoardingSlotSeconds != want || r.MakespanSeconds != 11 {
				t.Errorf("slowstart %v: %v slot-seconds of waiting in %v s, want %v in 11 s", slowstart, r.HoardingSlotSeconds, r.MakespanSeconds, want)
			}
		})
	}
}

// TestNotesOfARun: a run notes faults without effect, and settings that may be a mistake, as a simulation
// does. It does not wait for a fault whose time comes late.
func TestNotesOfARun(t *testing.T) {
	lost := []setup.Fault{{Tracker: 1, At: time.Hour}}
	for name, c := range map[string]struct {
		setup setup.Config
		want  []string
	}{
		"nothing to note":             {setup.Config{}, nil},
		"a fault after the end":       {setup.Config{Faults: lost}, []string{"faults: the run ended at 3s, before 1 of the faults"}},
		"a map that is not there":     {setup.Config{Faults: []setup.Fault{{Tracker: -1, Task: 2, Fail: 1}}}, []string{"faults: there is no map task 2; the job has 2"}},
		"a reduce that is not there":  {setup.Config{Faults: []setup.Fault{{Tracker: -1, Reduce: true, Task: 1, Fail: 1}}}, []string{"faults: there is no reduce task 1; the job has 1"}},
		"more replicas than trackers": {setup.Config{Replicas: 3}, []string{"locality: 3 replicas, and there are 2 trackers: every tracker has every block"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var notes []string
				c.setup.Trackers, c.setup.MapSlots, c.setup.ReduceSlots = 2, 1, 1
				_, report := must(t, sleeping(t, secs(2, 2), secs(1)), engine.Options{Config: c.setup, NoPin: true, MemoryBytes: 64 << 20, Note: func(text string) { notes = append(notes, text) }})
				if !slices.Equal(notes, c.want) || !slices.Equal(report.Notes, c.want) {
					t.Errorf("%q, in the report %q, want %q", notes, report.Notes, c.want)
				}
			})
		})
	}
}
