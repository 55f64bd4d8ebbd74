package bench_test

import (
	"testing"

	"mrlocal/engine"
	"mrlocal/slots"
	"mrlocal/slots/setup"
	"mrlocal/trace"
)

// BenchmarkOverlap measures lazy start on a real machine [OMO21, section IV-C], with
// one map and one reduce slot. Under fair, reduces start when a twentieth of the maps
// is done, and wait in their slots. Under omo they start so that their shuffle ends
// with the maps, and leave the slots to maps until then. It reports medians of the
// start of the first reduce and of the makespan. With -judge it fails unless omo's
// first reduce starts later and its job ends no later.
func BenchmarkOverlap(b *testing.B) {
	const omo, early = "omo", "fair"
	slowstart := slots.PPM(50_000)
	for _, s := range []source{words(), records()} {
		b.Run("job="+s.name, func(b *testing.B) {
			paths := makeInputs(b, []source{s})
			b.SetBytes(*sizeBytes)
			for b.Loop() {
				first, whole := map[string][]float64{}, map[string][]float64{}
				for range *rounds {
					for _, sched := range []string{early, omo} {
						var at firstReduce
						r := runWith(b, []source{s}, paths, engine.Options{
							Policy: newPolicy(b, sched), Config: setup.Config{MapSlots: 1, ReduceSlots: 1, Slowstart: &slowstart},
							Watch: func(s *trace.Stream) { s.Attach(&at) },
						})
						first[sched], whole[sched] = append(first[sched], at.seconds), append(whole[sched], r.MakespanSeconds)
					}
				}
				for _, sched := range []string{early, omo} {
					b.ReportMetric(middle(first[sched]), sched+"-first-reduce-s")
					b.ReportMetric(middle(whole[sched]), sched+"-s")
				}
				b.ReportMetric(ratio(whole[early], whole[omo]), "fair/omo")
				if *judge && (middle(first[omo]) <= middle(first[early]) || ratio(whole[omo], whole[early]) > noise) {
					b.Errorf("%s: under omo reduces start at %.3f s and the job ends at %.3f s, under fair at slowstart 0.05 %.3f s and %.3f s",
						s.name, middle(first[omo]), middle(whole[omo]), middle(first[early]), middle(whole[early]))
				}
			}
		})
	}
}

// firstReduce records when the first reduce of a run started.
type firstReduce struct{ seconds float64 }

// Record implements trace.Sink.
func (f *firstReduce) Record(_ *trace.Stream, e *trace.Event) error {
	if e.Op == trace.OpStart && e.Kind == trace.Reduce && f.seconds == 0 {
		f.seconds = e.At.Seconds()
	}
	return nil
}
