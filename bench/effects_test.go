package bench

import (
	"testing"

	"mrlocal/engine"
	"mrlocal/slots"
)

// compare runs with and without something in turn and reports how many times as
// long it takes without, as a ratio of medians. With -judge, at least gain.
func compare(b *testing.B, what string, gain float64, of func(*engine.Report) float64, run func(with bool) *engine.Report) {
	b.Helper()
	for b.Loop() {
		var with, without []*engine.Report
		for range *rounds {
			with, without = append(with, run(true)), append(without, run(false))
		}
		fast, slow := median(with, of), median(without, of)
		b.ReportMetric(fast, "with-s")
		b.ReportMetric(slow, "without-s")
		b.ReportMetric(slow/fast, "without/with")
		if *judge && slow/fast < gain {
			b.Errorf("%s: %.2f times as long without it, want %.2f", what, slow/fast, gain)
		}
	}
}

// BenchmarkCopies is what copies of stragglers gain (LATE over fair): of two
// trackers one has a twentieth of the other's speed.
func BenchmarkCopies(b *testing.B) {
	jobs := []source{words()}
	paths := makeInputs(b, jobs)
	compare(b, "copies of stragglers", 1.2, makespan, func(with bool) *engine.Report {
		name := "fair"
		if with {
			name = "late"
		}
		return runWith(b, jobs, paths, engine.Options{
			Policy: newPolicy(b, name), Trackers: 2, MapSlots: 1, ReduceSlots: 1, Slow: []engine.TrackerSpeed{{Tracker: 1, Speed: slots.One / 20}},
		})
	})
}
