package bench_test

import (
	"encoding/binary"
	"testing"
	"testing/synctest"
	"time"

	"mrlocal/bench"
	"mrlocal/engine"
	"mrlocal/internal/testkit"
	"mrlocal/jobs"
	"mrlocal/jobs/sleep"
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/report"
	"mrlocal/slots/setup"
	"mrlocal/trace"
	"mrlocal/workload"
)

// forReal runs a workload file in the engine. Each task sleeps for the time that the simulator draws
// for it, divided by faster. So slots, copies and slow trackers are real, and the times of tasks are
// known. The memory budget is only an account here, because sleeping tasks use almost no memory.
func forReal(tb testing.TB, f *workload.File, faster int64, sched string, o policy.Options, sinks ...trace.Sink) *report.Report {
	tb.Helper()
	p, err := registry.New(sched, o)
	if err != nil {
		tb.Fatal(err)
	}
	c, submissions := f.Lower(setup.Config{})
	var work []engine.BatchJob
	for i := range f.Jobs {
		j := &f.Jobs[i]
		times := func(t *workload.Times, reduce bool) func(task int) time.Duration {
			return func(task int) time.Duration { return t.At(1, i, reduce, task) / time.Duration(faster) }
		}
		chain, err := sleep.New(sleep.Options{Maps: j.Maps, Reduces: j.Reduces, MapTime: times(&j.MapTime, false), ReduceTime: times(&j.ReduceTime, true)})
		if err != nil {
			tb.Fatal(err)
		}
		s := submissions[i]
		s.Submit /= time.Duration(faster)
		work = append(work, engine.BatchJob{Submission: s, Chain: chain})
	}
	r, err := engine.RunBatch(tb.Context(), work, engine.Options{
		Policy: p, Config: c, NoPin: true, MemoryBytes: 2 << 30,
		Watch: func(s *trace.Stream) {
			for _, k := range sinks {
				s.Attach(k)
			}
		},
	})
	if err != nil {
		tb.Fatalf("%s under %s: %v", f.Name, sched, err)
	}
	return r
}

// sepbShares returns the shares of checked jobs in bench/workloads/sepb.yaml.
func sepbShares() []slots.PPM {
	return []slots.PPM{0, slots.One / 20, slots.One / 10, slots.One / 5, slots.One / 2, slots.One}
}

func copies(r *report.Report) (n int64) {
	for i := range r.Jobs {
		n += r.Jobs[i].Counters.SpeculativeMaps
	}
	return n
}

// TestFewerCopiesStartForRealTheMoreJobsAreChecked runs the engine on a clock of its
// own: 20 jobs, one slow tracker [DynamicMR14, "trade-off"].
func TestFewerCopiesStartForRealTheMoreJobsAreChecked(t *testing.T) {
	f := load(t, "sepb.yaml")
	var all []int64
	for _, share := range []slots.PPM{0, slots.One / 2, slots.One} {
		synctest.Test(t, func(t *testing.T) {
			o := policy.DefaultOptions()
			o.SEPBJobs = share
			all = append(all, copies(forReal(t, f, 1, "dynamicmr", o)))
		})
	}
	if !(all[0] > all[1] && all[1] > all[2]) {
		t.Errorf("%v copies with none, half and all of the jobs checked", all)
	}
}

// TestPartsOfDynamicMRForReal runs the engine on a clock of its own: 20 jobs, one slow tracker.
// DynamicMR takes no longer than each of its techniques alone, and less than fair.
func TestPartsOfDynamicMRForReal(t *testing.T) {
	if !testkit.Long() {
		t.Skip("makes six real runs of one workload")
	}
	f := load(t, "sepb.yaml")
	parts := map[string]func(o *policy.Options){
		"all": func(*policy.Options) {}, "dhsa": func(o *policy.Options) { o.SEPB, o.PreScheduling = false, false },
		"sepb": func(o *policy.Options) { o.DHSA, o.PreScheduling = "off", false }, "prescheduling": func(o *policy.Options) { o.DHSA, o.SEPB = "off", false },
	}
	took := map[string]float64{}
	for name, change := range parts {
		synctest.Test(t, func(t *testing.T) {
			o := policy.DefaultOptions()
			change(&o)
			took[name] = makespan(forReal(t, f, 1, "dynamicmr", o))
		})
	}
	synctest.Test(t, func(t *testing.T) { took["fair"] = makespan(forReal(t, f, 1, "fair", policy.DefaultOptions())) })
	for name, alone := range took {
		if took["all"] > alone || name == "fair" && took["all"] == alone {
			t.Errorf("%s takes %v s, all three %v s", name, alone, took["all"])
		}
	}
}

// TestContainersCopySlowTasksForReal runs the engine on a clock of its own, with a tracker of a quarter of the
// others' speed. OMO copies its maps only with --container-copies on [OMO21, "duplicate tasks"].
func TestContainersCopySlowTasksForReal(t *testing.T) {
	f, err := workload.Parse("slow.yaml", []byte(`{cluster: {trackers: 3, map_slots: 1, reduce_slots: 1}, slow: [{tracker: 2, factor: 0.25}],
		jobs: [{name: A, maps: 6, reduces: 1, map_time: 100s, reduce_time: 10s}]}`))
	if err != nil {
		t.Fatal(err)
	}
	var without, with *report.Report
	synctest.Test(t, func(t *testing.T) { without = forReal(t, f, 1, "omo", policy.DefaultOptions()) })
	synctest.Test(t, func(t *testing.T) {
		o := policy.DefaultOptions()
		o.ContainerCopies = true
		with = forReal(t, f, 1, "omo", o)
	})
	if copies(without) != 0 || copies(with) == 0 || makespan(with) >= makespan(without) {
		t.Errorf("%d copies and %v s, without copies %d and %v s", copies(with), makespan(with), copies(without), makespan(without))
	}
}

// filler is a mapper of sleep that also emits bytes for each of its two reduces.
type filler struct {
	jobs.Mapper
	jobs.Attempter
}

// Map implements jobs.Mapper.
func (f filler) Map(b jobs.Block, out jobs.Emitter) error {
	for part := range uint32(2) {
		out.Emit(binary.BigEndian.AppendUint32(nil, part), make([]byte, 256<<10))
	}
	return f.Mapper.Map(b, out)
}

// started counts the maps of each job that have started, and notes the number at its first reduce.
type started struct{ maps, atReduce [2]int }

// Record implements trace.Sink.
func (s *started) Record(_ *trace.Stream, e *trace.Event) error {
	switch {
	case e.Op == trace.OpStart && e.Kind == trace.Map:
		s.maps[e.Job]++
	case e.Op == trace.OpStart && s.atReduce[e.Job] == 0:
		s.atReduce[e.Job] = s.maps[e.Job]
	}
	return nil
}

// TestRoomInTheShareForReal runs two jobs of two reduces on four containers in the engine, on a clock of its
// own. Copies are slow, so that by [OMO21, eq. 3] the reduces start while maps are pending. With
// --lazy-room share they wait until all maps of their job have started [OMO21, "room in the share"].
func TestRoomInTheShareForReal(t *testing.T) {
	const maps = 12
	for _, sched := range []string{"omo", "lazy-start"} {
		var at [2]started
		for i, room := range []string{"all", "share"} {
			synctest.Test(t, func(t *testing.T) {
				o := policy.DefaultOptions()
				o.LazyRoom = room
				p, err := registry.New(sched, o)
				if err != nil {
					t.Fatal(err)
				}
				var work []engine.BatchJob
				for _, name := range []string{"A", "B"} {
					chain, err := sleep.New(sleep.Options{Maps: maps, Reduces: 2,
						MapTime:    func(int) time.Duration { return 2 * time.Second },
						ReduceTime: func(int) time.Duration { return time.Second }})
					if err != nil {
						t.Fatal(err)
					}
					inner := chain[0].NewMapper
					chain[0].NewMapper = func() jobs.Mapper { m := inner(); return filler{m, m.(jobs.Attempter)} }
					work = append(work, engine.BatchJob{Submission: setup.Submission{Name: name}, Chain: chain})
				}
				c := setup.Config{Trackers: 1, MapSlots: 3, ReduceSlots: 1, ShuffleBytesPerSecond: 256 << 10}
				r, err := engine.RunBatch(t.Context(), work, engine.Options{Policy: p, Config: c, NoPin: true, MemoryBytes: 64 << 20, Watch: func(s *trace.Stream) { s.Attach(&at[i]) }})
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%s, room of %s: %v maps started at the first reduce, %v s", sched, room, at[i].atReduce, makespan(r))
			})
		}
		if all, share := at[0].atReduce, at[1].atReduce; min(all[0], all[1]) >= maps || share != [2]int{maps, maps} {
			t.Errorf("%s: maps started at the first reduce: %v, with room in the share %v of %d", sched, all, share, maps)
		}
	}
}

// BenchmarkSEPB runs bench/workloads/sepb.yaml for real at each share of the jobs that
// are checked, in turn [DynamicMR14, "trade-off"]. It reports medians of the copies of
// maps, the makespan and the first job's time. With -judge it fails unless there are
// fewer copies at half of the jobs than at none, and fewest at all.
func BenchmarkSEPB(b *testing.B) {
	f, err := bench.LoadWorkload("sepb.yaml")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		runs := map[slots.PPM][]*report.Report{}
		for range *rounds {
			for _, share := range sepbShares() {
				o := policy.DefaultOptions()
				o.SEPBJobs = share
				runs[share] = append(runs[share], forReal(b, f, 1, "dynamicmr", o))
			}
		}
		number := func(r *report.Report) float64 { return float64(copies(r)) }
		for _, share := range sepbShares() {
			b.ReportMetric(median(runs[share], number), share.String()+"-copies")
			b.ReportMetric(median(runs[share], makespan), share.String()+"-s")
			b.ReportMetric(median(runs[share], func(r *report.Report) float64 { return r.Jobs[0].FinishS }), share.String()+"-J01-s")
		}
		if at := func(p slots.PPM) float64 { return median(runs[p], number) }; *judge && !(at(0) > at(slots.One/2) && at(slots.One/2) > at(slots.One)) {
			b.Errorf("%v copies at 0, %v at half and %v at all of the jobs", at(0), at(slots.One/2), at(slots.One))
		}
	}
}
