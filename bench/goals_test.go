package bench_test

import (
	"testing"
	"time"

	"mrlocal/engine"
	"mrlocal/slots/setup"
)

// BenchmarkGoals measures goals under RAS on a real machine [RAS11, section 4.3]. Of
// two equal jobs one has a tight goal and gets the slots that it needs. The other job
// was submitted first, has time to spare, and gets the rest. It reports medians of the
// end of each job, without goals and with them. The tight goal is six tenths of what
// both jobs take together. Six tasks run at a time, because on the slots of one core
// each job would always have one. With -judge it fails unless the tight job ends
// earlier than without goals and the other job still meets its goal.
func BenchmarkGoals(b *testing.B) {
	const loose, tight = 0, 1
	pair := []source{words(), words()}
	paths := makeInputs(b, pair)
	b.SetBytes(2 * *sizeBytes)
	for b.Loop() {
		var without, with [2][]float64
		for range *rounds {
			r := runTowards(b, pair, paths, [2]time.Duration{})
			whole := time.Duration(r.MakespanSeconds * float64(time.Second))
			goals := runTowards(b, pair, paths, [2]time.Duration{loose: 20 * whole, tight: whole * 6 / 10})
			for i := range pair {
				without[i], with[i] = append(without[i], r.Jobs[i].FinishS), append(with[i], goals.Jobs[i].FinishS)
			}
			if *judge && goals.Jobs[loose].FinishS > *goals.Jobs[loose].DeadlineS {
				b.Errorf("the job with time to spare misses its goal: %.3f s of %.3f s", goals.Jobs[loose].FinishS, *goals.Jobs[loose].DeadlineS)
			}
		}
		b.ReportMetric(middle(without[tight]), "tight-without-goals-s")
		b.ReportMetric(middle(with[tight]), "tight-s")
		b.ReportMetric(middle(without[loose]), "loose-without-goals-s")
		b.ReportMetric(middle(with[loose]), "loose-s")
		if *judge && ratio(with[tight], without[tight]) >= 1 {
			b.Errorf("the job with the tight goal ends at %.3f s, without goals at %.3f s", middle(with[tight]), middle(without[tight]))
		}
	}
}

// runTowards runs the jobs at once under RAS, each with its goal; 0: no goal.
func runTowards(b *testing.B, all []source, paths []string, goals [2]time.Duration) *engine.Report {
	b.Helper()
	work := batchOf(b, all, paths, 2)
	for i := range work {
		work[i].Deadline = goals[i]
	}
	r, err := engine.RunBatch(b.Context(), work, engine.Options{Policy: newPolicy(b, "ras"), Config: setup.Config{MapSlots: 5, ReduceSlots: 1}})
	if err != nil {
		b.Fatal(err)
	}
	return r
}
