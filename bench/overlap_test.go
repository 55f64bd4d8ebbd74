package bench

import (
	"slices"
	"testing"

	"mrlocal/engine"
	"mrlocal/slots"
	"mrlocal/slots/setup"
	"mrlocal/trace"
)

// BenchmarkOverlap is OMO's point on a real machine: reduces that start as soon as
// a twentieth of the maps is done wait in their slots, and OMO's, which start when
// their shuffle ends with the maps, leave the slots to maps until then. Medians of
// when the first reduce starts and of the makespan, on one map and one reduce slot.
// With -judge it fails unless OMO's starts later and its job ends no later.
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
				b.ReportMetric(middle(whole[early])/middle(whole[omo]), "fair/omo")
				if *judge && (middle(first[omo]) <= middle(first[early]) || middle(whole[omo]) > noise*middle(whole[early])) {
					b.Errorf("%s: under omo reduces start at %.3f s and the job ends at %.3f s, under fair at slowstart 0.05 %.3f s and %.3f s",
						s.name, middle(first[omo]), middle(whole[omo]), middle(first[early]), middle(whole[early]))
				}
			}
		})
	}
}

// firstReduce is when the first reduce of a run started.
type firstReduce struct{ seconds float64 }

// Record implements trace.Sink.
func (f *firstReduce) Record(_ *trace.Stream, e *trace.Event) error {
	if e.Op == trace.OpStart && e.Kind == trace.Reduce && f.seconds == 0 {
		f.seconds = e.At.Seconds()
	}
	return nil
}

func middle(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}
