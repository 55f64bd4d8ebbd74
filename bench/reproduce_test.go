package bench_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"mrlocal/bench"
	"mrlocal/internal/golden"
	"mrlocal/internal/invariant"
	"mrlocal/sim"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/registry"
	"mrlocal/workload"
)

// results are those of all experiments, which are run once. In a checked build,
// where each decision is checked and that takes minutes, they are left out: the
// policies' own tests check them.
func results(t *testing.T) []*bench.Result {
	t.Helper()
	if invariant.Enabled {
		t.Skip("all experiments take too long with every decision checked")
	}
	all, err := once()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var once = sync.OnceValues(func() (all []*bench.Result, err error) {
	experiments, err := bench.All()
	for _, e := range experiments {
		r, err := e.Run(context.Background())
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, err
})

// TestTheDocumentIsTheCommandsOutput: mrlocal reproduce --write, or this test with
// -rewrite, renews docs/reproduction.md where something has changed.
func TestTheDocumentIsTheCommandsOutput(t *testing.T) {
	files, err := bench.Document(results(t))
	if err != nil {
		t.Fatal(err)
	}
	docs := filepath.Join("..", "docs")
	for _, name := range slices.Sorted(maps.Keys(files)) {
		golden.Check(t, filepath.Join(docs, filepath.FromSlash(name)), files[name])
	}
	charts, err := filepath.Glob(filepath.Join(docs, bench.Folder, "*"))
	if err != nil || len(charts) != len(files)-1 {
		t.Errorf("%d charts in docs/%s, and the document has %d: %v", len(charts), bench.Folder, len(files)-1, err)
	}
}

// TestAtMostThreeFiguresDiffer and what differs is explained. The word stands in
// such lines only, so that counting it counts them.
func TestAtMostThreeFiguresDiffer(t *testing.T) {
	differ := 0
	var said strings.Builder
	for _, r := range results(t) {
		said.Write(r.Text())
		for _, l := range r.Lines {
			if l.Verdict == bench.Differs {
				differ++
				if l.Because == "not explained" {
					t.Errorf("%s: %s: the paper's %s, ours %s: why?", r.Name, l.What, l.Paper, l.Ours)
				}
			}
		}
	}
	said.WriteString(bench.Summary(results(t)))
	document, err := bench.Document(results(t))
	if err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{"output": said.String(), "document": string(document["reproduction.md"])} {
		if n := strings.Count(strings.ToLower(text), "differ"); differ > 3 || n != differ {
			t.Errorf("%d figures differ, at most 3 may; the %s has the word %d times", differ, what, n)
		}
	}
}

// TestTheInequalitiesHold checks that each claim of docs/papers that must come out has
// figures, of workloads with fixed seeds. A figure that does not hold is one of the
// few that are explained.
func TestTheInequalitiesHold(t *testing.T) {
	checked := map[string]int{}
	for _, r := range results(t) {
		for _, l := range r.Lines {
			if l.Target == "" {
				continue
			}
			checked[l.Target]++
			if l.Verdict == bench.Differs {
				t.Logf("%s: %s, %s: %s", l.Target, r.Name, l.What, l.Because)
			}
		}
	}
	for _, claim := range []string{
		"lending gains", "pool moves", // [DHFS13]
		"ablations", "locality and fairness", "trade-off", // [DynamicMR14]
		"cpu up and wait down",        // [Split11]
		"static slots", "tight goals", // [RAS11]
		"slowstart curve", "better than its halves", "printed gains", // [OMO21]
	} {
		if checked[claim] == 0 {
			t.Errorf("%s: no figure", claim)
		}
	}
}

// TestDynamicSplitUsesProcessorsMoreAndWaitsLess is the half of
// [Split11, "cpu up and wait down"] that is about processors, with each of the five
// seeds: over the whole macrobenchmark they compute more, and in the map phase of the
// microbenchmark they wait less for disks.
func TestDynamicSplitUsesProcessorsMoreAndWaitsLess(t *testing.T) {
	found := 0
	for _, r := range results(t) {
		for _, l := range r.Lines {
			switch r.Name + ": " + l.What {
			case "dsplit-macro: user CPU, with the split against raw", "dsplit-micro: I/O wait in the map phase is less", "dsplit-micro: the job ends earlier":
				found++
				if l.Verdict == bench.Differs || l.Held < 5 || l.Held < l.Seeds {
					t.Errorf("%s: %s: %s with %d of %d seeds", r.Name, l.What, l.Ours, l.Held, l.Seeds)
				}
			}
		}
	}
	if found != 3 {
		t.Errorf("%d of 3 figures", found)
	}
}

// TestOtherSeedsAreHeldAgainstTheFirst: the verdict is the first seed's, and a
// seed counts where the figure comes out as well with it alone.
func TestOtherSeedsAreHeldAgainstTheFirst(t *testing.T) {
	const seeds = 6
	file := func(flags string) *bench.Result {
		f, err := workload.Parse("seeds.yaml", []byte(`
cluster: {trackers: 2, map_slots: 2, reduce_slots: 1}
jobs: [{name: J, maps: 20, map_time: {lognormal: [10s, 0.5]}}]
experiments:
  - name: seeds
    paper: none
    `+flags+`
    figures:
      - {what: it takes less than a minute, paper: faster, ours: "makespan[fifo] < 60"}
      - {what: it ends, paper: sometime, ours: "makespan[fifo] > 0"}
`))
		if err != nil {
			t.Fatal(err)
		}
		all, err := bench.Of(f)
		if err != nil {
			t.Fatal(err)
		}
		r, err := all[0].Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	faster := 0
	var first bench.Verdict
	for n := range seeds {
		l := file(fmt.Sprintf("runs: [{name: fifo, sched: fifo, seed: %d}]", n+1)).Lines[0]
		if n == 0 {
			first = l.Verdict
		}
		if l.Seeds != 0 {
			t.Errorf("%+v", l)
		}
		if l.Verdict != bench.Differs {
			faster++
		}
	}
	lines := file(fmt.Sprintf("runs: [{name: fifo, sched: fifo}]\n    seeds: %d", seeds)).Lines
	if l := lines[0]; l.Verdict != first || l.Held != faster || l.Seeds != seeds || faster == 0 || faster == seeds {
		t.Errorf("%+v; the first seed alone: %v; %d of %d take less than a minute", l, first, faster, seeds)
	}
	if l := lines[1]; l.Verdict != bench.Same || l.Held != seeds || l.Seeds != seeds {
		t.Errorf("%+v", l)
	}
}

// TestEveryWorkloadRunsUnderEveryPolicy: mrlocal sim --sched all.
func TestEveryWorkloadRunsUnderEveryPolicy(t *testing.T) {
	if testing.Short() || invariant.Enabled {
		t.Skip("runs each file under each policy")
	}
	for _, name := range bench.Workloads() {
		f, err := bench.LoadWorkload(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, info := range registry.All() {
			p, err := registry.New(info.Name, policy.DefaultOptions())
			if err != nil {
				t.Fatal(err)
			}
			r, err := sim.Run(t.Context(), f, sim.Options{Policy: p})
			if err != nil {
				t.Errorf("%s under %s: %v", name, info.Name, err)
				continue
			}
			for i := range r.Jobs {
				if j := &r.Jobs[i]; j.State != "succeeded" {
					t.Errorf("%s under %s: %s %s", name, info.Name, j.Name, j.State)
				}
			}
		}
	}
}

func TestExperimentsAreFoundByName(t *testing.T) {
	all, err := bench.All()
	if err != nil {
		t.Fatal(err)
	}
	if some, err := bench.Named(all, []string{"fig6", "fig5"}); err != nil || len(some) != 2 || some[0].Name != "fig6" {
		t.Errorf("%v, %v", some, err)
	}
	if some, err := bench.Named(all, nil); err != nil || len(some) != len(all) {
		t.Errorf("%d of %d, %v", len(some), len(all), err)
	}
	for name, complaint := range map[string]string{"fig7": "did you mean fig4?", "elsewhere": "unknown; there are dsplit-macro, "} {
		if _, err := bench.Named(all, []string{name}); err == nil || !strings.Contains(err.Error(), complaint) {
			t.Errorf("%s: %v, want %s", name, err, complaint)
		}
	}
}

// TestFilesOfExperimentsAreThoseOfTheFolder: what is embedded is what is there.
func TestFilesOfExperimentsAreThoseOfTheFolder(t *testing.T) {
	for _, name := range bench.Workloads() {
		text, err := bench.WorkloadText(name)
		if err != nil {
			t.Fatal(err)
		}
		there, err := os.ReadFile(filepath.Join("workloads", name))
		if err != nil || string(there) != string(text) {
			t.Errorf("%s is not what is embedded: %v", name, err)
		}
	}
}
