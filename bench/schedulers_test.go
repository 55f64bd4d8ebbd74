package bench_test

import (
	"fmt"
	"testing"

	"mrlocal/engine"
)

// BenchmarkSchedulers measures what lending slots gains on a real machine with one
// map and one reduce slot [DHFS13, "lending gains"]. It runs a single job, and five
// jobs at once, under each policy in turn, and reports medians of makespans. A gain is the
// median of the ratios of the rounds. fifo and fair keep slots typed. With -judge it fails
// where a gain is too small.
func BenchmarkSchedulers(b *testing.B) {
	for _, c := range []struct {
		name string
		jobs []source
		gain float64 // the least gain: makespan under fair divided by makespan under dhfs
	}{
		{"wordcount", []source{words()}, 1.4},
		{"mix", mix(), 1.2},
	} {
		b.Run("job="+c.name, func(b *testing.B) {
			paths := makeInputs(b, c.jobs)
			b.SetBytes(*sizeBytes * int64(len(c.jobs)))
			for b.Loop() {
				runs, took := inTurn(b, c.jobs, paths), map[string][]float64{}
				for _, sched := range schedulers() {
					took[sched] = figures(runs[sched], makespan)
					b.ReportMetric(middle(took[sched]), sched+"-s")
				}
				b.ReportMetric(ratio(figures(runs["fair"], mapPhase), figures(runs["pi-dhfs"], mapPhase)), "map-phase-fair/pi-dhfs")
				b.ReportMetric(ratio(took["fifo"], took["fair"]), "fifo/fair")
				for _, sched := range []string{"pi-dhfs", "pd-dhfs"} {
					gain := ratio(took["fair"], took[sched])
					b.ReportMetric(gain, "fair/"+sched)
					if *judge && gain < c.gain {
						b.Errorf("%s: %s is %.2f times as fast as fair, less than %.2f", c.name, sched, gain, c.gain)
					}
				}
				if slow := ratio(took["fair"], took["fifo"]); *judge && slow > noise {
					b.Errorf("%s: fair takes %.2f times as long as fifo on the same slots", c.name, slow)
				}
			}
		})
	}
}

// noise is the difference of the same work under two policies on a busy machine.
const noise = 1.15

func schedulers() []string { return []string{"fifo", "fair", "pi-dhfs", "pd-dhfs"} }

// inTurn runs the jobs under one policy after the other, several times. So a change of the machine's
// speed affects all policies in the same way.
func inTurn(b *testing.B, all []source, paths []string) map[string][]*engine.Report {
	b.Helper()
	runs := map[string][]*engine.Report{}
	for range *rounds {
		for _, sched := range schedulers() {
			runs[sched] = append(runs[sched], runReal(b, all, paths, sched, 1, 1))
		}
	}
	if *rounds < 1 {
		b.Fatal(fmt.Errorf("-rounds %d", *rounds))
	}
	return runs
}

func makespan(r *engine.Report) float64 { return r.MakespanSeconds }

// mapPhase returns the seconds from the first job's start to the end of the last map.
func mapPhase(r *engine.Report) (seconds float64) {
	for _, j := range r.Jobs {
		seconds = max(seconds, j.MapsDoneS-r.Jobs[0].StartS)
	}
	return seconds
}
