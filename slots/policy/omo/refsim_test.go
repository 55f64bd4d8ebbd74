package omo_test

import (
	"fmt"
	"math"
	"testing"

	"mrlocal/sim"
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/omo"
	"mrlocal/slots/setup"
	"mrlocal/trace"
	"mrlocal/workload"
)

// oneJob is the workload of [OMO21, "one-job simulation"]: one job of 80 maps of 30 s
// and 4 reduces on 8 slots. Its shuffle takes the given number of seconds: a reduce copies a fourth
// of 80 outputs of as many MB, at 20 MB a second.
func oneJob(t testing.TB, shuffle int, mapTime string) *workload.File {
	t.Helper()
	f, err := workload.Parse("refsim1.yaml", fmt.Appendf(nil,
		`{cluster: {trackers: 1, map_slots: 6, reduce_slots: 2, net: 20MB}, jobs: [{name: J, maps: 80, reduces: 4, map_time: %s, reduce_time: 20s, map_output: %dMB}]}`,
		mapTime, shuffle))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func makespan(t testing.TB, f *workload.File, p slots.Policy, slowstart slots.PPM, seed uint64) float64 {
	t.Helper()
	r, err := sim.Run(t.Context(), f, sim.Options{Policy: p, Cost: "l1", Config: setup.Config{Slowstart: &slowstart, Seed: seed}})
	if err != nil {
		t.Fatal(err)
	}
	return r.MakespanSeconds
}

// slowstarts are those of the simulation, in parts per million.
var slowstarts = []slots.PPM{50_000, 200_000, 400_000, 500_000, 600_000, 700_000, 800_000, 900_000, slots.One}

// givenLazyStart is lazy start with F_o = S/T_m given.
func givenLazyStart() *omo.OMO {
	p := omo.NewLazyStart(policy.DefaultOptions())
	p.Give(8.0 / 30)
	return p
}

// TestReferenceSimulation1 is [OMO21, "one-job simulation"] without jitter, in whole
// seconds. It compares fixed slowstarts over containers with lazy start, which finds the
// best of them. With one job batch finish has nothing to choose, so it is the fair
// scheduler.
func TestReferenceSimulation1(t *testing.T) {
	for shuffle, want := range map[int]struct {
		fixed []float64
		lazy  float64
	}{
		20:  {[]float64{591, 561, 501, 471, 441, 411, 381, 351, 340}, 340},
		60:  {[]float64{593, 563, 503, 473, 443, 413, 383, 353, 380}, 353},
		120: {[]float64{596, 566, 506, 476, 446, 416, 386, 410, 440}, 386},
	} {
		f := oneJob(t, shuffle, "30s")
		for i, s := range slowstarts {
			if got := makespan(t, f, omo.NewBatchFinish(policy.DefaultOptions()), s, 1); math.Round(got) != want.fixed[i] {
				t.Errorf("T_s %d, slowstart %v: %v s, want %v s", shuffle, s, got, want.fixed[i])
			}
		}
		if got := makespan(t, f, givenLazyStart(), slots.One, 1); math.Round(got) != want.lazy {
			t.Errorf("T_s %d, lazy start with F_o given: %v s, want %v s", shuffle, got, want.lazy)
		}
		if got := makespan(t, f, omo.NewLazyStart(policy.DefaultOptions()), slots.One, 1); math.Abs(got-want.lazy) > 0.05*want.lazy {
			t.Errorf("T_s %d, lazy start by the monitor: %v s, want %v s within 5 %%", shuffle, got, want.lazy)
		}
	}
}

// TestLazyStartBeatsEveryFixedSlowstart is the simulation with jitter: map times vary
// by ±30 %, and over 20 seeds lazy start ends before any fixed slowstart does.
func TestLazyStartBeatsEveryFixedSlowstart(t *testing.T) {
	mean := func(f *workload.File, p slots.Policy, s slots.PPM) (sum float64) {
		for seed := range uint64(20) {
			sum += makespan(t, f, p, s, seed+1)
		}
		return sum / 20
	}
	for _, shuffle := range []int{20, 60, 120} {
		f := oneJob(t, shuffle, "{uniform: [21s, 39s]}")
		best := math.Inf(1)
		for _, s := range slowstarts {
			best = min(best, mean(f, omo.NewBatchFinish(policy.DefaultOptions()), s))
		}
		if given, observed := mean(f, givenLazyStart(), slots.One), mean(f, omo.NewLazyStart(policy.DefaultOptions()), slots.One); given >= best || observed >= best {
			t.Errorf("T_s %d: %v s with F_o given, %v s by the monitor, and the best slowstart has %v s", shuffle, given, observed, best)
		}
	}
}

// whileMapsPend notes F_o as long as maps are pending. Later the reduces change it.
type whileMapsPend struct {
	*omo.OMO
	frequency float64
}

func (p *whileMapsPend) Decide(v *slots.View, d *slots.Decision) {
	p.OMO.Decide(v, d)
	if v.Pending(slots.Map) > 0 {
		p.frequency, _ = p.Measured()
	}
}

// TestTheMonitorFindsTheFrequency: eight containers and maps of 30 s release
// 8/30 a second; the estimate ends within a tenth of it, whatever the jitter.
func TestTheMonitorFindsTheFrequency(t *testing.T) {
	for _, mapTime := range []string{"30s", "{uniform: [21s, 39s]}"} {
		p := &whileMapsPend{OMO: omo.NewLazyStart(policy.DefaultOptions())}
		makespan(t, oneJob(t, 0, mapTime), p, slots.One, 1)
		_, windows := p.Measured()
		if f := p.frequency; windows < 9 || math.Abs(f*30/8-1) > 0.1 {
			t.Errorf("maps of %s: F_o = %v after %d windows, want %v", mapTime, f, windows, 8.0/30)
		}
	}
}

// TestABatchThatHasBegunKeepsContainers: with batch-reserve no other job starts a map
// between two maps of a batch. Without it the job that gains most changes meanwhile [OMO21,
// "batch for each container"].
func TestABatchThatHasBegunKeepsContainers(t *testing.T) {
	text := "{cluster: {trackers: 20, map_slots: 2, reduce_slots: 2, net: 36.6MB}, jobs: ["
	for i := range 8 {
		text += fmt.Sprintf("{name: J%d, submit: %ds, maps: 80, reduces: 2, map_time: {lognormal: [30s, 0.2]}, reduce_time: 720s, map_output: 256MiB},", i, 2*i)
	}
	f, err := workload.Parse("eight.yaml", []byte(text+"]}"))
	if err != nil {
		t.Fatal(err)
	}
	broken := func(reserve bool) (n int) {
		o := policy.DefaultOptions()
		o.BatchReserve = reserve
		p := omo.New(o)
		left, batch := map[int32]int{}, int32(-1)
		sink := sinkFunc(func(s *trace.Stream, e *trace.Event) error {
			if e.Op == trace.OpSubmit {
				left[e.Job] = 80
			}
			if e.Op != trace.OpStart || e.Kind != trace.Map {
				return nil
			}
			left[e.Job]--
			if batch >= 0 && e.Job != batch && left[batch] > 0 {
				n++
			}
			if batch = -1; trace.RuleOf(s.Texts(e.Ref)) == omo.RuleBatchFinish {
				batch = e.Job
			}
			return nil
		})
		if _, err := sim.Run(t.Context(), f, sim.Options{Policy: p, Cost: "l1", Watch: func(s *trace.Stream) { s.Attach(sink) }}); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if off, on := broken(false), broken(true); off == 0 || on > 0 {
		t.Errorf("batches are broken into %d times without batch-reserve, %d times with it", off, on)
	}
}

type sinkFunc func(s *trace.Stream, e *trace.Event) error

func (f sinkFunc) Record(s *trace.Stream, e *trace.Event) error { return f(s, e) }

// TestReducesOfAllJobsLeaveRoomForMaps: by [OMO21, eq. 3] four jobs of two reduces begin their reduces
// on eight containers while each has a fourth of its maps to start. One container is left for
// them. With their room taken from the shares of the jobs they wait for the maps [OMO21, "room in the
// share"].
func TestReducesOfAllJobsLeaveRoomForMaps(t *testing.T) {
	f, err := workload.Parse("room.yaml", []byte(`{cluster: {trackers: 2, map_slots: 3, reduce_slots: 1, net: 20MB}, jobs: [
		&j {name: J0, maps: 80, map_time: {lognormal: [20s, 0.2]}, reduces: 2, reduce_time: 20s, map_output: 150MB},
		{<<: *j, name: J1}, {<<: *j, name: J2}, {<<: *j, name: J3}]}`))
	if err != nil {
		t.Fatal(err)
	}
	share := policy.DefaultOptions()
	share.LazyRoom = "share"
	for seed := uint64(1); seed <= 3; seed++ {
		after := makespan(t, f, omo.NewFair(policy.DefaultOptions()), slots.One, seed)
		for name, with := range map[string]func(policy.Options) *omo.OMO{"omo": omo.New, "lazy-start": omo.NewLazyStart} {
			paper, mended := makespan(t, f, with(policy.DefaultOptions()), 0, seed), makespan(t, f, with(share), 0, seed)
			if paper < 1.2*after || mended > 1.06*after {
				t.Errorf("seed %d: %s takes %.0f s, with room in the share %.0f s; reduces after maps %.0f s", seed, name, paper, mended, after)
			}
		}
	}
}
