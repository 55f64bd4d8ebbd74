package bench

import (
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"mrlocal/engine"
	"mrlocal/jobs"
	"mrlocal/jobs/grep"
	"mrlocal/jobs/wordcount"
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/workload"
)

var (
	sizeBytes = flag.Int64("size", 64<<20, "bytes of input a benchmark makes")
	rounds    = flag.Int("rounds", 5, "runs of each policy, in turn; medians count")
)

// BenchmarkLending is the seeds' point in a sentence: with one map and one
// reduce slot, a map-heavy job's map phase is shorter when the idle reduce
// slot is lent to maps. fifo and fair keep slots typed, so theirs is what one
// slot can do.
func BenchmarkLending(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "words")
	if err := workload.Generate(workload.Words, dir, *sizeBytes, 1); err != nil {
		b.Fatal(err)
	}
	for _, job := range []struct {
		name  string
		chain func() (jobs.Chain, error)
	}{
		{"wordcount", func() (jobs.Chain, error) { return wordcount.New(wordcount.Options{}) }},
		{"grep", func() (jobs.Chain, error) {
			return grep.New(grep.Options{Patterns: []string{`[a-m]+ing`}, Count: true})
		}},
	} {
		b.Run("job="+job.name, func(b *testing.B) {
			b.SetBytes(*sizeBytes)
			for b.Loop() {
				phase := map[string]float64{}
				var overlap int
				for sched, reports := range runInTurn(b, dir, job.chain) {
					phase[sched] = median(reports)
					if sched == "pi-dhfs" {
						overlap = lentMaps(reports)
					}
				}
				b.ReportMetric(phase["fair"], "fair-map-s")
				b.ReportMetric(phase["pi-dhfs"], "pi-dhfs-map-s")
				b.ReportMetric(phase["fair"]/phase["pi-dhfs"], "fair/pi-dhfs")
				b.ReportMetric(phase["fair"]/phase["fifo"], "fair/fifo")
				b.ReportMetric(float64(overlap)/float64(*rounds), "moves/run")
			}
		})
	}
}

// runInTurn runs the job under each policy, one after the other, several
// times, so that a drift of the machine's speed touches all alike.
func runInTurn(b *testing.B, input string, chain func() (jobs.Chain, error)) map[string][]*engine.Report {
	b.Helper()
	reports := map[string][]*engine.Report{}
	for range *rounds {
		for _, sched := range []string{"fifo", "fair", "pi-dhfs"} {
			p, err := policy.New(sched, policy.Options{BorrowMap: slots.One, BorrowReduce: slots.One})
			if err != nil {
				b.Fatal(err)
			}
			c, err := chain()
			if err != nil {
				b.Fatal(err)
			}
			// Many splits, so that neither slot waits long for the other's last.
			report, err := engine.RunChain(b.Context(), c, engine.Options{
				Inputs: []string{input}, Policy: p, MapSlots: 1, ReduceSlots: 1, BlockBytes: max(*sizeBytes/64, 1<<20),
			})
			if err != nil {
				b.Fatal(fmt.Errorf("%s: %w", sched, err))
			}
			reports[sched] = append(reports[sched], report)
		}
	}
	return reports
}

// median is the median length of the first job's map phase.
func median(reports []*engine.Report) float64 {
	var phases []float64
	for _, r := range reports {
		phases = append(phases, r.Jobs[0].MapsDoneS-r.Jobs[0].StartS)
	}
	slices.Sort(phases)
	return phases[len(phases)/2]
}

func lentMaps(reports []*engine.Report) (moves int) {
	for _, r := range reports {
		moves += int(r.Moves)
	}
	return moves
}
