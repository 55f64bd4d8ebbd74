package sim_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"mrlocal/internal/invariant"
	"mrlocal/internal/testkit"
	"mrlocal/sim"
	"mrlocal/slots"
	"mrlocal/slots/policy/fifo"
	"mrlocal/slots/policy/policytest"
	"mrlocal/trace"
	"mrlocal/workload"
)

// TestTasksShareWhatATrackerHas: one tracker, one job, and how long it takes.
func TestTasksShareWhatATrackerHas(t *testing.T) {
	for name, c := range map[string]struct {
		cluster, job string
		want         float64
	}{
		"one map has a core for itself":                     {"map_slots: 1, cores: 1", "maps: 1, map_time: 10s", 10},
		"two maps on one core take twice as long":           {"map_slots: 2, cores: 1", "maps: 2, map_time: 10s", 20},
		"two maps on two cores do not":                      {"map_slots: 2, cores: 2", "maps: 2, map_time: 10s", 10},
		"three maps on two cores":                           {"map_slots: 3, cores: 2", "maps: 3, map_time: 10s", 15},
		"where nothing is said of cores there are enough":   {"map_slots: 9", "maps: 9, map_time: 10s", 10},
		"half a core each is one core":                      {"map_slots: 2, cores: 1", "maps: 2, map_time: 10s, cpu: 0.5", 10},
		"0.6 of a core each is 1.2 times what there is":     {"map_slots: 2, cores: 1", "maps: 2, map_time: 10s, cpu: 0.6", 12},
		"a cap beyond what there is takes what there is":    {"map_slots: 2, cores: 1", "maps: 2, map_time: 10s, cpu: 3", 20},
		"the short one leaves the core to the long one":     {"map_slots: 2, cores: 1", "maps: 2, map_time: {list: [5s, 10s]}", 15},
		"as slow as its tracker":                            {"map_slots: 2, cores: 1}\nslow: [{tracker: 0, factor: 0.5}]\nlocality: {replicas: 1", "maps: 2, map_time: 10s", 40},
		"alone, the I/O period is part of the time":         {"map_slots: 1, cores: 1, disk: 10MB", "maps: 1, map_time: 10s, map_output: 40MB, disk: 10MB", 10},
		"and all of it where there is more to write":        {"map_slots: 1, cores: 1, disk: 10MB", "maps: 1, map_time: 3s, map_output: 40MB, disk: 10MB", 3},
		"two maps share the core, then the disk":            {"map_slots: 2, cores: 1, disk: 10MB", "maps: 2, map_time: 10s, map_output: 40MB, disk: 10MB", 20},
		"half the disk each is the whole disk":              {"map_slots: 2, cores: 2, disk: 10MB", "maps: 2, map_time: 10s, map_output: 20MB, disk: 5MB", 10},
		"who computes does not disturb who writes":          {"map_slots: 2, cores: 1, disk: 10MB", "maps: 2, map_time: {list: [4s, 12s]}, map_output: 40MB, disk: 10MB", 12},
		"a profile is that of the whole tracker":            {"map_slots: 1, cores: 2, disk: 10MB", "maps: 1, map_time: 10s, profile: {map: {cpu: 0.3, io: 0.45}}", 10},
		"two of them want three quarters each of it":        {"map_slots: 2, cores: 2, disk: 10MB", "maps: 2, map_time: 10s, profile: {map: {cpu: 0.3, io: 0.45}}", 15},
		"what the tasks use goes before their profile":      {"map_slots: 2, cores: 2, disk: 10MB", "maps: 2, map_time: 10s, profile: {map: {cpu: 0.1}}, load: {map: {cpu: 0.3, io: 0.45}}", 15},
		"what the job says itself goes before its profile":  {"map_slots: 2, cores: 2, disk: 10MB", "maps: 2, map_time: 10s, cpu: 1, profile: {map: {cpu: 0.3, io: 0.45}}", 10},
		"memory that is there changes nothing":              {"map_slots: 2, cores: 1, disk: 10MB", "maps: 2, map_time: {list: [4s, 12s]}, map_output: 40MB, disk: 10MB, profile: {map: {mem: 0.5}}", 12},
		"a tracker that has half of the cores":              {"map_slots: 2, cores: 2}\ncapacities: [{tracker: 0, cpu: 0.5}]\nlocality: {replicas: 1", "maps: 2, map_time: 10s", 20},
		"one that has twice the disk":                       {"map_slots: 2, cores: 2, disk: 10MB}\ncapacities: [{tracker: 0, io: 2}]\nlocality: {replicas: 1", "maps: 2, map_time: 10s, map_output: 40MB, disk: 10MB", 10},
		"one that has half of the memory":                   {"map_slots: 2, cores: 1, disk: 10MB}\ncapacities: [{tracker: 0, mem: 0.5}]\nlocality: {replicas: 1", "maps: 2, map_time: {list: [4s, 12s]}, map_output: 40MB, disk: 10MB, profile: {map: {mem: 0.5}}", 13.333333333},
		"a task whose cap is more than there is, alone":     {"map_slots: 1, cores: 2, overcommit: {cpu: 1}}\ncapacities: [{tracker: 0, cpu: 0.5}]\nlocality: {replicas: 1", "maps: 1, map_time: 10s, cpu: 2", 20},
		"twice the cores wanted, a tenth of them lost":      {"map_slots: 2, cores: 1, overcommit: {cpu: 0.1}", "maps: 2, map_time: 10s", 22},
		"twice the disk wanted, half as long again":         {"map_slots: 2, cores: 2, disk: 10MB, overcommit: {io: 0.5}", "maps: 2, map_time: 10s, map_output: 40MB, disk: 10MB", 6 + 12},
		"what is not wanted too much costs nothing":         {"map_slots: 2, cores: 2, disk: 10MB, overcommit: {cpu: 1, io: 1, mem: 1}", "maps: 2, map_time: 10s, map_output: 20MB, disk: 5MB, profile: {map: {mem: 0.5}}", 10},
		"twice the memory wanted, half of the speed":        {"map_slots: 2, cores: 2, overcommit: {mem: 1}", "maps: 2, map_time: 10s, profile: {map: {mem: 1}}", 20},
		"memory that is not there: computing waits for I/O": {"map_slots: 2, cores: 1, disk: 10MB", "maps: 2, map_time: {list: [4s, 12s]}, map_output: 40MB, disk: 10MB, profile: {map: {mem: 1}}", 13.333333333},
	} {
		t.Run(name, func(t *testing.T) {
			f := parse(t, "cluster: {trackers: 1, reduce_slots: 1, "+c.cluster+"}", "jobs: [{name: J, "+c.job+"}]")
			r, _, _ := recorded(t, f, sim.Options{Policy: named(t, "fair"), Cost: "l2"})
			if got := seconds(r); got < c.want || got > c.want+1e-9 {
				t.Errorf("%v s, want %v s", got, c.want)
			}
		})
	}
}

// phases are the changes of phase and the ends of a job's first tasks, as
// "m0 compute 0s".
func phases(events []trace.Event) (lines []string) {
	for _, e := range events {
		what := ""
		switch {
		case e.Op == trace.OpPhase:
			what = e.Phase.String()
		case e.Op == trace.OpFinish && e.Has(trace.OK):
			what = "done"
		case e.Op == trace.OpFinish:
			what = "ended"
		default:
			continue
		}
		lines = append(lines, fmt.Sprintf("%c%d %s %v", e.Kind.String()[0], e.Task, what, e.At))
	}
	return lines
}

// TestPeriodsAreReportedAsTheyBegin has two maps. Alone, each computes for 6 s and writes
// for 4 s. Together on one core they compute for 12 s, and then write for 8 s. The reduce
// starts at the end of the first map. It copies 80 MB at 20 MB a second, sorts them at 10
// MB a second, and reduces for the rest of its 10 s.
func TestPeriodsAreReportedAsTheyBegin(t *testing.T) {
	lines := []string{"cluster: {trackers: 1, map_slots: 2, reduce_slots: 1, cores: 1, disk: 10MB, net: 20MB}", "defaults: {slowstart: 0.5}",
		"jobs: [{name: J, maps: 2, reduces: 1, map_time: 10s, reduce_time: 10s, map_output: 40MB, disk: 10MB}]"}
	want := []string{
		"m0 compute 0s", "m1 compute 0s", "m0 io 12s", "m1 io 12s", "m0 done 20s", "m1 done 20s",
		"r0 copy 20s", "r0 sort 24s", "r0 reduce 32s", "r0 done 34s",
	}
	r, events, _ := recorded(t, parse(t, lines...), sim.Options{Policy: named(t, "fair"), Cost: "l2"})
	if got := phases(events); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, e := range events {
		if e.Op == trace.OpFinish {
			if cpu := []int64{6e9, 2e9}[e.Kind]; e.C != cpu {
				t.Errorf("%v %d reports %d ns of CPU, want %d", e.Kind, e.Task, e.C, cpu)
			}
			if e.Kind == trace.Reduce && (e.D != 80_000_000 || e.E != 4e9) {
				t.Errorf("the reduce copied %d bytes in %d ns", e.D, e.E)
			}
		}
	}
	if r.Config.Cost != "l2" {
		t.Errorf("cost %q in the report", r.Config.Cost)
	}
	// At a heartbeat of 5 s the tracker reports the same at its next heartbeat.
	_, events, _ = recorded(t, parse(t, lines...), sim.Options{Policy: named(t, "fair"), Cost: "l2", Heartbeat: 5 * time.Second})
	want = []string{
		"m0 compute 5s", "m1 compute 5s", "m0 io 15s", "m1 io 15s", "m0 done 20s", "m1 done 20s",
		"r0 copy 25s", "r0 sort 25s", "r0 reduce 35s", "r0 done 35s",
	}
	if got := phases(events); !slices.Equal(got, want) {
		t.Errorf("at a heartbeat, got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestReducesShareTheNetworkOfTheirTracker: each copies 20 MB at 1 MB a second,
// 20 s alone; two on one tracker take 40 s, on two trackers 20 s. Where one
// began later, on the other map's tracker or not, it gets its half from then on.
func TestReducesShareTheNetworkOfTheirTracker(t *testing.T) {
	job := "jobs: [{name: J, maps: 2, reduces: 2, map_time: 10s, reduce_time: 5s, map_output: 20MB}]"
	for cluster, want := range map[string]float64{
		"cluster: {trackers: 1, map_slots: 2, reduce_slots: 2, net: 1MB}": 10 + 40 + 5,
		"cluster: {trackers: 2, map_slots: 1, reduce_slots: 1, net: 1MB}": 10 + 20 + 5,
		"cluster: {trackers: 1, map_slots: 2, reduce_slots: 1, net: 1MB}": 10 + 2*(20+5),
	} {
		r, events, _ := recorded(t, parse(t, cluster, job), sim.Options{Policy: named(t, "fair"), Cost: "l2"})
		if seconds(r) != want {
			t.Errorf("%s: %v s, want %v s", cluster, seconds(r), want)
		}
		for _, e := range events {
			if e.Op == trace.OpFinish && e.Kind == trace.Reduce && e.D != 20_000_000 {
				t.Errorf("%s: a reduce copied %d bytes", cluster, e.D)
			}
		}
	}
}

// TestWhatEndsLeavesItsPartToOthers: two tasks share a resource. One goes away at some time
// of its period, and the other has the whole resource from then on.
func TestWhatEndsLeavesItsPartToOthers(t *testing.T) {
	for name, c := range map[string]struct {
		lines []string
		want  float64
	}{
		// Both compute at half speed; tracker 0 is lost at 4 s, and the map of tracker 0 runs on 1.
		"a lost tracker, in its computing period": {[]string{"cluster: {trackers: 2, map_slots: 2, reduce_slots: 1, cores: 1}", "faults: [{at: 4s, tracker: 0, lost: true}]",
			"jobs: [{name: J, maps: 3, map_time: 10s}]"}, 30},
		// A failing map fails at its own end, and begins again alone.
		"a failing map": {[]string{"cluster: {trackers: 1, map_slots: 2, reduce_slots: 1, cores: 1}", "faults: [{task: J/m/0, fail: 1}]",
			"jobs: [{name: J, maps: 2, map_time: {list: [5s, 10s]}}]"}, 20},
		"a failing reduce copies, sorts and reduces again": {[]string{"cluster: {trackers: 1, map_slots: 2, reduce_slots: 1, cores: 1, disk: 10MB, net: 20MB}", "faults: [{task: J/r/0, fail: 1}]",
			"jobs: [{name: J, maps: 1, reduces: 1, map_time: 10s, reduce_time: 5s, map_output: 20MB, disk: 10MB}]"}, 10 + 2*(1+5)},
		// Outputs are there at 5 and 10; 20 s of copying each. At 12 s output 0 is
		// lost: of output 1 2 s are copied at most, and from 17 s on 0 is there again.
		"a lost output is copied again": {[]string{"cluster: {trackers: 1, map_slots: 1, reduce_slots: 1, net: 1MB}", "defaults: {slowstart: 0}", "faults: [{at: 12s, task: J/m/0, lost: true}]",
			"jobs: [{name: J, maps: 2, reduces: 1, map_time: 5s, reduce_time: 0s, map_output: 20MB}]"}, 10 + 40},
	} {
		t.Run(name, func(t *testing.T) {
			r, _, _ := recorded(t, parse(t, c.lines...), sim.Options{Policy: named(t, "fair"), Cost: "l2"})
			if seconds(r) != c.want || r.Jobs[0].State != "succeeded" {
				t.Errorf("%v s, %s; want %v s", seconds(r), r.Jobs[0].State, c.want)
			}
		})
	}
}

// quitter starts all tasks until a time. From then on it kills all attempts and starts nothing.
type quitter struct {
	fifo.FIFO
	at time.Duration
}

func (q *quitter) Decide(v *slots.View, d *slots.Decision) {
	if v.Now() < q.at {
		q.FIFO.Decide(v, d)
		d.WakeAt(q.at)
		return
	}
	for id := range slots.SlotID(v.Slots()) {
		d.Reclaim(id)
	}
}

// TestNobodyWaitsForWhatNobodySharesAnyMore: maps of a year on half a core each, and reduces that
// copy for as long, are killed after a second. The run stalls soon, and not when they would have
// ended.
func TestNobodyWaitsForWhatNobodySharesAnyMore(t *testing.T) {
	for _, job := range []string{
		"{name: J, maps: 2, map_time: 8760h}",
		"{name: J, maps: 2, reduces: 2, map_time: 1s, reduce_time: 8760h, map_output: 1TB}",
	} {
		f := parse(t, "cluster: {trackers: 1, map_slots: 2, reduce_slots: 2, cores: 1, disk: 10MB, net: 10MB}", "jobs: ["+job+"]")
		log := &policytest.Log{}
		r, err := sim.Run(t.Context(), f, sim.Options{Policy: &quitter{*fifo.New(), 5 * time.Second}, Cost: "l2", Heartbeat: time.Second, Watch: func(s *trace.Stream) { s.Attach(log) }})
		if err == nil || !strings.Contains(err.Error(), "stalled") || len(log.Events) > 5000 {
			t.Errorf("%s: %v after %d events, %v", job, err, len(log.Events), r.Error)
		}
	}
}

// TestAHundredThousandTasksTakeSeconds: the time of a simulation under L2 is proportional to the
// number of events, even if every event changes the speed of a tracker. 30 s are allowed.
// Checked builds check the whole state at each step and are left out.
func TestAHundredThousandTasksTakeSeconds(t *testing.T) {
	if invariant.Enabled || testing.Short() {
		t.Skip("a matter of speed")
	}
	tasks := 50_000 * testkit.Rounds(2)
	for _, jobs := range []int{100, 1} {
		f := crowded(t, tasks, jobs)
		if jobs > 1 {
			f.Cluster.Overcommit = workload.Overcommit{CPU: slots.One / 20, IO: slots.One / 2, Memory: slots.One / 4}
		}
		began := time.Now()
		r := run(t, f, sim.Options{Policy: named(t, "fair"), Cost: "l2"})
		if took := time.Since(began); took > 30*time.Second*time.Duration(tasks)/100_000 {
			t.Errorf("%d jobs: %v", jobs, took)
		} else {
			t.Logf("%d jobs: %v, makespan %v s", jobs, took, seconds(r))
		}
	}
}
