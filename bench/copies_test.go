package bench_test

import (
	"testing"

	"mrlocal/engine"
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/dynamicmr"
	"mrlocal/slots/setup"
)

// BenchmarkCopies measures SEPB on a real machine [DynamicMR14, "sepb"]. One of two
// trackers has a tenth of the other's speed, and its tasks hold the job up until a
// copy overtakes them. It reports medians of makespans: dynamicmr without copies, with
// copies job-first and batch-first, and fair without and with copies (late). With
// -judge it fails unless copies help.
func BenchmarkCopies(b *testing.B) {
	tuned := func(change func(o *policy.Options)) func() slots.Policy {
		return func() slots.Policy {
			o := policy.DefaultOptions()
			change(&o)
			return dynamicmr.New(o)
		}
	}
	cases := []struct {
		name string
		make func() slots.Policy
	}{
		{"no-copies", tuned(func(o *policy.Options) { o.SEPB = false })},
		{"job-first", tuned(func(o *policy.Options) { o.SEPBJobs = 0 })},
		{"batch-first", tuned(func(*policy.Options) {})},
		{"fair", func() slots.Policy { return newPolicy(b, "fair") }},
		{"late", func() slots.Policy { return newPolicy(b, "late") }},
	}
	for _, s := range []source{words(), records()} {
		b.Run("job="+s.name, func(b *testing.B) {
			paths := makeInputs(b, []source{s})
			b.SetBytes(*sizeBytes)
			for b.Loop() {
				took := map[string][]float64{}
				for range *rounds {
					for _, c := range cases {
						r := runWith(b, []source{s}, paths, engine.Options{
							Policy: c.make(), Config: setup.Config{Trackers: 2, MapSlots: 1, ReduceSlots: 1, Slow: []setup.Slow{{Tracker: 1, Factor: slots.One / 10}}},
						})
						took[c.name] = append(took[c.name], r.MakespanSeconds)
					}
				}
				for _, c := range cases {
					b.ReportMetric(middle(took[c.name]), c.name+"-s")
				}
				gain := ratio(took["no-copies"], took["batch-first"])
				b.ReportMetric(gain, "no-copies/batch-first")
				if *judge && gain < 1 {
					b.Errorf("%s: with copies %.3f s, without %.3f s", s.name, middle(took["batch-first"]), middle(took["no-copies"]))
				}
			}
		})
	}
}
