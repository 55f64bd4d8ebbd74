package bench_test

import (
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mrlocal/engine"
	"mrlocal/internal/datagen"
	"mrlocal/jobs"
	"mrlocal/jobs/puma"
	"mrlocal/shuffle"
	"mrlocal/slots"
	"mrlocal/slots/report"
	"mrlocal/slots/setup"
)

// These are the workloads of [OMO21, Tables 4 and 5] with bytes and times divided by 1024: 20 GB
// become 20 MiB, and jobs arrive every 2 ms. Numbers of tasks, nodes and containers are the paper's.
// Rates do not change: a reduce copies as many bytes a second as in bench/workloads/omo-*.yaml.
const (
	setBlock = 256 << 10
	setCopy  = 36_600_000
	setNodes = 20
)

// equalJobs are a number of jobs of a benchmark. Each has that many GB of input in the paper.
type equalJobs struct{ jobs, gigabytes int }

// runSet runs equal jobs, each on a file of its size, and discards their results.
func runSet(b *testing.B, s source, of equalJobs, path, sched string, slowstart slots.PPM) *report.Report {
	b.Helper()
	var work []engine.BatchJob
	for i := range of.jobs {
		chain, err := s.chain()
		if err != nil {
			b.Fatal(err)
		}
		work = append(work, engine.BatchJob{
			Submission: setup.Submission{Name: fmt.Sprint(s.name, i), Submit: time.Duration(2*i) * time.Millisecond}, Chain: chain,
			JobOptions: engine.JobOptions{Inputs: []string{path}, BlockBytes: setBlock, Reducers: of.gigabytes / 10},
		})
	}
	r, err := engine.RunBatch(b.Context(), work, engine.Options{
		Policy: newPolicy(b, sched), Config: setup.Config{Trackers: setNodes, MapSlots: 2, ReduceSlots: 2, Slowstart: &slowstart},
		NoPin: true, MemoryBytes: 2 << 30, Copiers: shuffle.Copiers{Parallel: 1, BytesPerSecond: setCopy},
	})
	if err != nil {
		b.Fatalf("%s under %s: %v", s.name, sched, err)
	}
	return r
}

// setFile makes the input of the equal jobs.
func setFile(b *testing.B, kind datagen.Kind, gigabytes int) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "input")
	if err := datagen.Generate(b.Context(), kind, path, int64(gigabytes)<<20, uint64(gigabytes)); err != nil {
		b.Fatal(err)
	}
	return path
}

var policies = flag.String("policies", "", "of BenchmarkSimpleWorkloads only these policies, with commas between them")

// BenchmarkSimpleWorkloads runs the simple workloads of [OMO21, section V-D] for real: eight
// equal jobs of 20 GB. It reports medians of makespans, the gains that Fig. 10 to 12 print, and
// the time of the shuffle after the maps (Fig. 9). fair-containers has no typed slots, as in
// Table 3; its slowstarts are those of that table.
func BenchmarkSimpleWorkloads(b *testing.B) {
	percents := func(all ...slots.PPM) (shares []slots.PPM) {
		for _, p := range all {
			shares = append(shares, p*slots.One/100)
		}
		return shares
	}
	schedules := []struct {
		sched      string
		slowstarts []slots.PPM
	}{
		{"fair", percents(5, 20, 40, 60, 80, 100)}, {"fair-containers", percents(50, 60, 70, 80, 90, 100)},
		{"fresh", percents(100)}, {"batch-finish", percents(100)}, {"lazy-start", percents(5)}, {"omo", percents(5)}, {"yarn", percents(5)},
	}
	sequences := source{"seqcount", datagen.Lines, func() (jobs.Chain, error) { return puma.NewSequenceCount() }}
	for _, s := range []source{records(), words(), sequences} {
		b.Run("job="+s.name, func(b *testing.B) {
			path := setFile(b, s.kind, 20)
			for b.Loop() {
				runs := map[string][]*report.Report{}
				for range *rounds {
					for _, of := range schedules {
						if *policies != "" && !slices.Contains(strings.Split(*policies, ","), of.sched) {
							continue
						}
						for _, share := range of.slowstarts {
							name := of.sched
							if len(of.slowstarts) > 1 {
								name = fmt.Sprintf("%s-%v", of.sched, share)
							}
							runs[name] = append(runs[name], runSet(b, s, equalJobs{8, 20}, path, of.sched, share))
						}
					}
				}
				var fair []float64
				for name, all := range runs {
					b.ReportMetric(median(all, makespan), name+"-s")
					b.ReportMetric(median(all, func(r *report.Report) float64 { return makespan(r) - mapPhase(r) }), name+"-after-maps-s")
					if strings.HasPrefix(name, "fair-0") || name == "fair-1" {
						fair = append(fair, median(all, makespan))
					}
				}
				for _, sched := range []string{"lazy-start", "omo"} {
					if len(fair) == 0 || runs[sched] == nil || runs["fresh"] == nil {
						continue
					}
					took := median(runs[sched], makespan)
					b.ReportMetric(100*(1-took/slices.Min(fair)), sched+"-against-fair-%")
					b.ReportMetric(100*(1-took/median(runs["fresh"], makespan)), sched+"-against-fresh-%")
				}
			}
		})
	}
}

// BenchmarkSets runs larger inputs and more jobs of [OMO21, Fig. 14] for real under omo: sets C
// to G of Table 5 as terasorts. It reports makespans by that of set C, 12 jobs of 20 GB.
func BenchmarkSets(b *testing.B) {
	paths := map[int]string{}
	for _, gigabytes := range []int{20, 30, 40} {
		paths[gigabytes] = setFile(b, datagen.Records, gigabytes)
	}
	sets := []equalJobs{{12, 20}, {12, 30}, {12, 40}, {18, 20}, {24, 20}}
	for b.Loop() {
		runs := make([][]*report.Report, len(sets))
		for range *rounds {
			for i, of := range sets {
				runs[i] = append(runs[i], runSet(b, records(), of, paths[of.gigabytes], "omo", slots.One/20))
			}
		}
		b.ReportMetric(median(runs[0], makespan), "12x20GB-s")
		for i, of := range sets[1:] {
			b.ReportMetric(median(runs[i+1], makespan)/median(runs[0], makespan), fmt.Sprintf("%dx%dGB", of.jobs, of.gigabytes))
		}
	}
}
