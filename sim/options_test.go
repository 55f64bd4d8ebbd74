package sim_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/internal/invariant"
	"mrlocal/sim"
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/setup"
	"mrlocal/trace"
	"mrlocal/workload"
)

const oneJob = "jobs: [{name: J, maps: 3, reduces: 2, map_time: 4s, reduce_time: 4s, map_output: 1MB}]"

// TestWhatCannotRunIsRefusedBeforeAnythingStarts, as wrong usage in one line.
func TestWhatCannotRunIsRefusedBeforeAnythingStarts(t *testing.T) {
	real := parse(t, two, oneJob)
	real.Jobs[0].Maps, real.Jobs[0].Reduces, real.Jobs[0].Job = 0, 0, "wordcount"
	timeless := parse(t, two, oneJob)
	timeless.Jobs[0].MapTime = workload.Times{}
	for _, c := range []struct {
		name string
		file *workload.File
		o    sim.Options
		want string
	}{
		{"too many replicas", parse(t, "cluster: {trackers: 1000, map_slots: 1, reduce_slots: 1}", "jobs: [{name: J, maps: 1000000, map_time: 1s}]"), sim.Options{Config: setup.Config{Replicas: 200}}, "Options.Replicas: 200: with job J the inputs have 200000000 replicas; at most 120000000"},
		{"events of too many tasks", parse(t, two, "jobs: [{name: J, maps: 20000000, map_time: 1s}]"), sim.Options{Events: io.Discard}, "Options.Events: with job J there are 1 jobs and 20000000 tasks; readers of events keep 768MiB and 8388608 tasks at most; run without events"},
		{"an unknown cost", parse(t, two, oneJob), sim.Options{Cost: "L1"}, "Options.Cost: L1: no such choice; one of l0, l1, l2, measured"},
		{"l1 without a bandwidth", parse(t, two, oneJob), sim.Options{Cost: "l1"}, "test.yaml:2:8: job J: has map_output, and the cluster no net bandwidth"},
		{"l2 without a bandwidth", parse(t, two, oneJob), sim.Options{Cost: "l2"}, "test.yaml:2:8: job J: has map_output, and the cluster no net bandwidth to copy it over under cost l2"},
		{"a negative heartbeat", parse(t, two, oneJob), sim.Options{Heartbeat: -1}, "Options.Heartbeat: -1ns: too small; at least 1ms"},
		{"a heartbeat of nothing but beats", parse(t, two, oneJob), sim.Options{Heartbeat: 1000}, "Options.Heartbeat: 1µs: too small; at least 1ms"},
		{"a penalty that is a gain", parse(t, two, oneJob), sim.Options{Config: setup.Config{RemotePenalty: slots.One / 2}}, "Options.RemotePenalty: 0.5: too small; at least 1"},
		{"a negative delay", parse(t, two, oneJob), sim.Options{Config: setup.Config{LocalityDelay: new(time.Duration(-1))}}, "must be from 0 to"},
		{"a slow tracker that flags took away", parse(t, two, "slow: [{tracker: 1, factor: 0.5}]", oneJob), sim.Options{Config: setup.Config{Trackers: 1}}, "test.yaml:2:18: tracker: there is no tracker 1; they count from 0 to 0"},
		{"a fault of a tracker and of a task", parse(t, two, oneJob), sim.Options{Config: setup.Config{Faults: []setup.Fault{{Fail: 1}}}}, "Options.Faults: tracker 0 cannot fail attempts"},
		{"a fault without an effect", parse(t, two, oneJob), sim.Options{Config: setup.Config{Faults: []setup.Fault{{Tracker: -1}}}}, "Options.Faults: the fault of task 0 of job 0 needs either Lost or Fail"},
		{"a lost tracker that flags took away", parse(t, two, "faults: [{at: 1s, tracker: 1, lost: true}]", oneJob), sim.Options{Config: setup.Config{Trackers: 1}}, "test.yaml:2:28: tracker: there is no tracker 1; they count from 0 to 0"},
		{"fewer slots than home slots", parse(t, two, oneJob), sim.Options{Config: setup.Config{MaxSlots: 1}}, "Options.MaxSlots: 1: must be at least "},
		{"a negative number of slots", parse(t, two, oneJob), sim.Options{Config: setup.Config{MaxSlots: -5}}, "Options.MaxSlots: -5: too small; at least 1"},
		{"a real job", real, sim.Options{}, "job J: no maps: a simulated job gives the number of its tasks"},
		{"a job without times", timeless, sim.Options{}, "job J: no map_time"},
		{"no jobs", &workload.File{Name: "empty.yaml"}, sim.Options{}, "empty.yaml: has no jobs"},
	} {
		var file bytes.Buffer
		c.o.Events = &file
		r, err := sim.Run(context.Background(), c.file, c.o)
		if !errs.IsUsage(err) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") || r != nil || file.Len() > 0 {
			t.Errorf("%s: %v, want %q; report %v, %d bytes of events", c.name, err, c.want, r, file.Len())
		}
	}
}

// TestTheSeedIsAllThatVaries: same seed, same bytes; another, others.
func TestTheSeedIsAllThatVaries(t *testing.T) {
	f := shipped(t, "fig5.yaml")
	_, _, one := recorded(t, f, sim.Options{Policy: named(t, "pi-dhfs")})
	_, _, same := recorded(t, f, sim.Options{Policy: named(t, "pi-dhfs"), Config: setup.Config{Seed: 1}})
	_, _, other := recorded(t, f, sim.Options{Policy: named(t, "pi-dhfs"), Config: setup.Config{Seed: 2}})
	if !bytes.Equal(one, same) || bytes.Equal(one, other) {
		t.Errorf("seeds 1, 1 and 2: %d, %d and %d bytes; the first two must be equal and the last not", len(one), len(same), len(other))
	}
}

// TestFlagsOverrideTheFilesCluster in slots, and the report has the effective
// settings.
func TestFlagsOverrideTheFilesCluster(t *testing.T) {
	half := slots.One / 2
	f := parse(t, "defaults: {slowstart: 1}", "slow: [{tracker: 2, factor: 0.5}]", oneJob)
	r := run(t, f, sim.Options{
		Config: setup.Config{Trackers: 3, MapSlots: 4, ReduceSlots: 2, MaxSlots: 7, Slowstart: &half, Attempts: 2, Seed: 9, RemotePenalty: 2 * slots.One, LocalityDelay: new(5 * time.Second)}, Heartbeat: time.Second,
	})
	c := r.Config
	if r.Kind != "sim" || r.Policy != "fifo" || c.Trackers != 3 || c.MapSlots != 4 || c.ReduceSlots != 2 || c.MaxSlots != 7 || c.Slowstart != .5 || c.Attempts != 2 ||
		c.Seed != 9 || c.HeartbeatS != 1 || c.Cost != "l0" || c.RemotePenalty != 2 || c.LocalityDelayS != 5 || len(c.Slow) != 1 || c.Slow[0].Factor != .5 {
		t.Errorf("%s %s %+v", r.Kind, r.Policy, c)
	}
}

// TestMapsAwayFromTheirInputPayThePenalty: 10 s there, 30 s elsewhere.
func TestMapsAwayFromTheirInputPayThePenalty(t *testing.T) {
	f := parse(t, "cluster: {trackers: 10, map_slots: 2, reduce_slots: 1}", "locality: {replicas: 1}", "jobs: [{name: J, maps: 50, map_time: 10s}]")
	r, _, _ := recorded(t, f, sim.Options{Policy: named(t, "fair"), Config: setup.Config{RemotePenalty: 3 * slots.One}})
	var busy float64
	for _, s := range r.Slots {
		busy += s.BusyS
	}
	local := float64(r.Jobs[0].Counters.DataLocalMaps)
	if want := 10*local + 30*(50-local); busy != want || local == 0 || local == 50 {
		t.Errorf("%v local maps, %v slot-seconds, want %v", local, busy, want)
	}
	free := run(t, f, sim.Options{Policy: named(t, "fair")})
	nowhere := run(t, parse(t, "cluster: {trackers: 10, map_slots: 2, reduce_slots: 1}", "jobs: [{name: J, maps: 50, map_time: 10s}]"), sim.Options{Policy: named(t, "fair"), Config: setup.Config{RemotePenalty: 3 * slots.One}})
	if seconds(free) != 30 || seconds(nowhere) != 30 {
		t.Errorf("without a penalty %v s, without places %v s, want 30 s", seconds(free), seconds(nowhere))
	}
}

// TestRunningJobLimitsHold for pools and users: jobs run one after the other
// where one may run.
func TestRunningJobLimitsHold(t *testing.T) {
	cluster := "cluster: {trackers: 1, map_slots: 10, reduce_slots: 1}"
	for name, lines := range map[string][]string{
		"a pool's": {"pools: [{name: p, max_running_jobs: 1}]", "jobs: [{name: a, pool: p, maps: 2, map_time: 10s}, {name: b, pool: p, maps: 2, map_time: 10s}, {name: c, pool: p, maps: 2, map_time: 10s}]"},
		"a user's": {"users: [{name: u, max_running_jobs: 1}]", "jobs: [{name: a, user: u, maps: 2, map_time: 10s}, {name: b, user: u, maps: 2, map_time: 10s}, {name: c, user: u, maps: 2, map_time: 10s}]"},
	} {
		for _, policy := range policies() {
			r, _, _ := recorded(t, parse(t, append([]string{cluster}, lines...)...), sim.Options{Policy: named(t, policy)})
			if seconds(r) != 30 || job(t, r, "b").StartS != 10 || job(t, r, "c").StartS != 20 {
				t.Errorf("%s under %s: %v s, b at %v s", name, policy, seconds(r), job(t, r, "b").StartS)
			}
		}
	}
}

// TestTheJobsOfAUserShareAPool, unless they name one: bob, with one job, has as many of the 12 slots as ann, with
// three.
func TestTheJobsOfAUserShareAPool(t *testing.T) {
	for _, c := range []struct {
		name, of, own, pools string  // what ann's jobs have, and what d has
		pool                 string  // of d
		want                 float64 // end of d, which has 24 maps of 10 s: 40 s with 6 slots, 80 s with 3
	}{
		{name: "users", of: "user: ann", own: "user: bob", pool: "bob", want: 40},
		{name: "users, of which one has a weight", of: "user: ann", own: "user: bob", pools: "pools: [{name: bob, weight: 3}]", pool: "bob", want: 30},
		{name: "users and pools", of: "user: ann, pool: %s", own: "user: bob, pool: d", pool: "d", want: 80},
		{name: "no users", of: "", own: "", pool: "d", want: 80},
		{name: "a user, and a job without one", of: "user: ann", own: "", pool: "d", want: 40},
	} {
		jobs := "jobs:\n"
		for _, name := range []string{"a", "b", "c"} {
			jobs += fmt.Sprintf("  - {name: %s, %s, maps: 24, map_time: 10s}\n", name, strings.ReplaceAll(c.of, "%s", name))
		}
		jobs += fmt.Sprintf("  - {name: d, %s, maps: 24, map_time: 10s}\n", c.own)
		jobs = strings.ReplaceAll(jobs, ", ,", ",")
		f := parse(t, "cluster: {trackers: 1, map_slots: 12, reduce_slots: 1}", "users: [{name: ann}, {name: bob}]", c.pools, jobs)
		d := job(t, run(t, f, sim.Options{Policy: named(t, "fair")}), "d")
		if d.Pool != c.pool || d.FinishS != c.want {
			t.Errorf("%s: d in pool %s ends at %v s; want pool %s, %v s", c.name, d.Pool, d.FinishS, c.pool, c.want)
		}
	}
}

// TestAJobWithNothingToDoEndsAtOnce: it ends although its pool is full, and a job that waits for
// it is submitted.
func TestAJobWithNothingToDoEndsAtOnce(t *testing.T) {
	f := parse(t, two, "pools: [{name: p, max_running_jobs: 1}, {name: q}]", "defaults: {map_time: 10s}",
		"jobs: [{name: a, pool: p, maps: 1}, {name: none, pool: p, maps: 1}, {name: c, pool: q, maps: 1, after: [none]}]")
	f.Jobs[1].Maps = 0
	r, _, _ := recorded(t, f, sim.Options{Policy: named(t, "fair")})
	if n := job(t, r, "none"); n.State != "succeeded" || n.FinishS != 0 || job(t, r, "c").FinishS != 10 {
		t.Errorf("%+v, c at %v s", n, job(t, r, "c").FinishS)
	}
}

// TestALongChainOfJobs: 5,000 jobs, each behind the one before, are neither
// slow nor deep.
func TestALongChainOfJobs(t *testing.T) {
	f := parse(t, two, oneJob)
	first := f.Jobs[0]
	f.Jobs = nil
	for i := range 5_000 {
		j := first
		j.Name, j.Maps, j.Reduces = "J"+strings.Repeat("x", i%7), 0, 0
		if i > 0 {
			j.After = []int{i - 1}
		}
		if i == 2_500 {
			j.Maps = 1
		}
		f.Jobs = append(f.Jobs, j)
	}
	if r := run(t, f, sim.Options{Policy: named(t, "fair")}); seconds(r) != 4 || len(r.Jobs) != 5_000 {
		t.Errorf("%d jobs in %v s", len(r.Jobs), seconds(r))
	}
}

// TestARunEndsWhenItsContextDoes with the cause and what was done until then.
func TestARunEndsWhenItsContextDoes(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	cause := errors.New("enough")
	cancel(cause)
	r, err := sim.Run(ctx, parse(t, two, oneJob), sim.Options{})
	if !errors.Is(err, cause) || r == nil || r.Error != "enough" {
		t.Errorf("%v, %+v", err, r)
	}
}

// fullDisk takes no byte.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestEventsThatCannotBeWrittenFailTheRun(t *testing.T) {
	r, err := sim.Run(context.Background(), parse(t, two, oneJob), sim.Options{Events: fullDisk{}})
	if err == nil || errs.IsUsage(err) || !strings.Contains(err.Error(), "events: no space left on device") || r == nil {
		t.Errorf("%v", err)
	}
}

// TestTimesBeyondCountingEndTheRun instead of wrapping around.
func TestTimesBeyondCountingEndTheRun(t *testing.T) {
	f := parse(t, two, oneJob)
	f.Jobs[0].MapTime = workload.Constant(1 << 62)
	r, err := sim.Run(context.Background(), f, sim.Options{})
	if err == nil || r == nil || !strings.Contains(err.Error(), "the virtual time that can be counted") {
		t.Errorf("%v", err)
	}
}

// TestFaultsAfterTheEndAreSaid, and do not make the run longer.
func TestFaultsAfterTheEndAreSaid(t *testing.T) {
	var notes []string
	f := parse(t, two, "faults: [{at: 1h, tracker: 1, lost: true}]", oneJob)
	r := run(t, f, sim.Options{Note: func(s string) { notes = append(notes, s) }})
	if seconds(r) != 12 || len(notes) != 1 || !strings.Contains(notes[0], "the run ended at 12s, before 1 of the faults") {
		t.Errorf("%v s, %q", seconds(r), notes)
	}
}

// TestMoreMinimumThanThereIsIsSaid: it is scaled down, and the run goes on.
func TestMoreMinimumThanThereIsIsSaid(t *testing.T) {
	var notes []string
	f := parse(t, two, "pools: [{name: a, min_maps: 5}, {name: b, min_maps: 5}]", "jobs: [{name: J, pool: a, maps: 3, map_time: 4s}]")
	run(t, f, sim.Options{Policy: named(t, "fair"), Note: func(s string) { notes = append(notes, s) }})
	if len(notes) == 0 || !strings.Contains(notes[0], "min") {
		t.Errorf("%q", notes)
	}
}

// TestARunAllocatesForJobsNotForTasks: ten times the tasks, hardly more
// allocations.
func TestARunAllocatesForJobsNotForTasks(t *testing.T) {
	if invariant.Enabled {
		t.Skip("checked builds allocate on purpose")
	}
	allocations := func(maps int) float64 {
		f := parse(t, "cluster: {trackers: 10, map_slots: 8, reduce_slots: 2, net: 1MB}",
			fmt.Sprintf("jobs: [{name: J, maps: %d, reduces: 100, map_time: {uniform: [2s, 4s]}, reduce_time: 3s, map_output: 1kB}]", maps))
		return testing.AllocsPerRun(3, func() { run(t, f, sim.Options{Policy: named(t, "pi-dhfs"), Cost: "l1"}) })
	}
	if few, many := allocations(1000), allocations(10_000); many > few+200 {
		t.Errorf("%v allocations with 1,000 maps, %v with 10,000", few, many)
	}
}

// TestPhasesAreFacts: a reduce that waits for maps copies until they are done.
func TestPhasesAreFacts(t *testing.T) {
	_, events, _ := recorded(t, parse(t, two, "defaults: {slowstart: 0}", "jobs: [{name: J, maps: 2, reduces: 3, map_time: 4s, reduce_time: 4s}]"), sim.Options{Policy: named(t, "fair")})
	var got []string
	for _, e := range events {
		if e.Op == trace.OpPhase {
			got = append(got, e.Phase.String()+" "+e.At.String())
		}
	}
	if all := strings.Join(got, ", "); all != "copy 0s, copy 0s, reduce 4s, reduce 4s, reduce 8s" {
		t.Errorf("%s", all)
	}
}

// TestZeroGivenIsZero: each option of a policy that may be 0 has effect at 0, also where the
// policy's own value is another one. delay at 0 is fair, dynsplit without additional slots opens
// none, and the shares of what is lent are 0.
func TestZeroGivenIsZero(t *testing.T) {
	f := parse(t, "cluster: {trackers: 4, map_slots: 2, reduce_slots: 1}", "locality: {replicas: 1}", "jobs:", "  - {name: A, maps: 200, map_time: 1s, reduces: 8, reduce_time: 1s}")
	zero := policy.DefaultOptions()
	for _, field := range zero.Fields() {
		_ = field.Value.Set("0") // an option for which 0 is not a value keeps its default
	}
	like := func(name, as string) {
		t.Helper()
		got := run(t, f, sim.Options{Policy: with(t, name, zero), Config: setup.Config{LocalityDelay: zero.LocalityDelay}})
		want := run(t, f, sim.Options{Policy: named(t, as)})
		if got.MakespanSeconds != want.MakespanSeconds || got.Moves != want.Moves {
			t.Errorf("%s at zero: %v s and %d moves; %s: %v s and %d moves", name, got.MakespanSeconds, got.Moves, as, want.MakespanSeconds, want.Moves)
		}
	}
	like("delay", "fair")
	like("fair", "fair")
	like("pi-fifo", "fifo")
	if waits := run(t, f, sim.Options{Policy: named(t, "delay")}); waits.MakespanSeconds <= run(t, f, sim.Options{Policy: named(t, "fair")}).MakespanSeconds {
		t.Error("delay does not wait by default")
	}
	if r := run(t, f, sim.Options{Policy: with(t, "pi-dhfs", zero)}); r.Moves != 0 {
		t.Errorf("pi-dhfs that lends nothing: %d moves", r.Moves)
	}
}
