package bench_test

import (
	"testing"
	"testing/synctest"
	"time"

	"mrlocal/bench"
	"mrlocal/engine"
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
