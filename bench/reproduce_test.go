package bench_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"mrlocal/bench"
	"mrlocal/internal/invariant"
	"mrlocal/internal/testkit"
	"mrlocal/sim"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/registry"
	"mrlocal/workload"
)

// fewSeeds is the number of seeds of each random experiment in tests. The document has all
// seeds of the files.
const fewSeeds = 1

// results returns the results of all experiments but those of ranges, which are run once. It skips the test in a
// checked build: there the runs would take minutes, and the tests of the policies check all decisions.
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

// experiments returns all experiments, which are read and prepared once. Tests run one after the other, so they can
// share them.
var experiments = bench.ReadOnce

var once = sync.OnceValues(func() (all []*bench.Result, err error) {
	experiments, err := experiments()
	for _, e := range experiments {
		if isRange(e) {
			continue
		}
		r, err := e.Run(context.Background(), fewSeeds)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, err
})

// isRange reports whether an experiment has so many runs that it takes seconds. TestTheDocumentIsTheCommandsOutput runs
// them with -long.
func isRange(e *bench.Experiment) bool {
	return slices.Contains([]string{"ras-range", "dsplit-range", "omo-range", "motive"}, e.Name)
}

// resultOf returns the result of an experiment without seeds.
func resultOf(t *testing.T, name string) *bench.Result {
	t.Helper()
	if !invariant.Enabled { // there all experiments but ranges run anyway
		all := results(t)
		if i := slices.IndexFunc(all, func(r *bench.Result) bool { return r.Name == name }); i >= 0 {
			return all[i]
		}
	}
	all, err := experiments()
	if err != nil {
		t.Fatal(err)
	}
	some, err := bench.Named(all, []string{name})
	if err != nil {
		t.Fatal(err)
	}
	r, err := some[0].Run(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// written returns the figures in the document's file of figures.
func written(t *testing.T) (lines []bench.Line) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "docs", filepath.FromSlash(bench.FiguresFile)))
	if err == nil {
		err = json.Unmarshal(text, &lines)
	}
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// TestTheDocumentIsTheCommandsOutput checks that docs/reproduction.md is up to date. Deterministic
// figures and charts must be those of the document. Random figures need all seeds,
// so they are taken from the document's own file of figures. -rewrite writes the document with all seeds.
func TestTheDocumentIsTheCommandsOutput(t *testing.T) {
	const renew = "go test ./bench -run TestTheDocumentIsTheCommandsOutput -timeout 2h -rewrite"
	if testkit.Rewrite() {
		checkDocument(t, wholeResults(t))
		return
	}
	ran, lines := results(t), written(t)
	all, err := experiments()
	if err != nil {
		t.Fatal(err)
	}
	var whole []*bench.Result
	for _, e := range all {
		if len(lines) < len(e.Figures) {
			t.Fatalf("the document has too few figures at %s: %s", e.Name, renew)
		}
		var r *bench.Result
		switch {
		case !isRange(e):
			r, ran = ran[0], ran[1:]
		case !testkit.Long():
			whole = append(whole, &bench.Result{Experiment: e, Lines: lines[:len(e.Figures)]})
			lines = lines[len(e.Figures):]
			continue
		default:
			if r, err = e.Run(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
		}
		for i := range r.Lines {
			got, want := r.Lines[i], lines[i]
			// TestIsolatedCausesAreThoseOfTheDocument makes the changes of some figures again.
			if got.Isolated = want.Isolated; got.Isolated != "" && got.Open() {
				got.Reason = strings.TrimSpace(got.Reason + " " + got.Isolated)
			}
			if want.Seeds != max(1, r.Seeds) && got.Ours != "" {
				t.Errorf("%s: %s: %d seeds in the document, not %d: %s", r.Name, got.What, want.Seeds, r.Seeds, renew)
			}
			// These values depend on the seeds.
			if r.Seeds > 1 {
				got.Ours, got.Shown, got.Verdict, got.Direction, got.Seeds, got.CILow, got.CIHigh, got.Reason =
					want.Ours, want.Shown, want.Verdict, want.Direction, want.Seeds, want.CILow, want.CIHigh, want.Reason
			}
			if got != want {
				t.Errorf("%s\n got %+v\nwant %+v", renew, got, want)
			}
		}
		copied := *r
		copied.Lines, lines = lines[:len(r.Lines)], lines[len(r.Lines):]
		whole = append(whole, &copied)
	}
	if len(lines) > 0 {
		t.Fatalf("the document has %d figures more, from %s on: %s", len(lines), lines[0].What, renew)
	}
	checkDocument(t, whole)
}

// wholeResults runs all experiments with all seeds, and each open figure again with single changes.
func wholeResults(t *testing.T) (whole []*bench.Result) {
	all, err := experiments()
	for _, e := range all {
		r, ran := e.Run(t.Context(), 0)
		if ran == nil {
			ran = r.Isolate(t.Context())
		}
		if err = errors.Join(err, ran); err != nil {
			t.Fatal(err)
		}
		whole = append(whole, r)
	}
	return whole
}

// checkDocument compares the document and its charts with those of the results.
func checkDocument(t *testing.T, whole []*bench.Result) {
	files, err := bench.Document(whole)
	if err != nil {
		t.Fatal(err)
	}
	docs := filepath.Join("..", "docs")
	for _, name := range slices.Sorted(maps.Keys(files)) {
		testkit.Golden(t, filepath.Join(docs, filepath.FromSlash(name)), files[name])
	}
	drawn, err := filepath.Glob(filepath.Join(docs, bench.Folder, "*"))
	if err != nil || len(drawn) != len(files)-1 {
		t.Errorf("%d files in docs/%s, and the document has %d: %v", len(drawn), bench.Folder, len(files)-1, err)
	}
}

// TestTheExampleOfTheFormatIsInside runs the experiment that docs/workloads.md shows. The document
// prints our figure.
func TestTheExampleOfTheFormatIsInside(t *testing.T) {
	document, err := os.ReadFile(filepath.Join("..", "docs", "workloads.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(document), "## Experiments of papers")
	_, example, _ = strings.Cut(example, "```yaml\n")
	example, after, ok := strings.Cut(example, "```\n")
	f, err := workload.Parse("docs/workloads.md", []byte(example))
	if err != nil || !ok {
		t.Fatal(err)
	}
	all, err := bench.Of(f)
	if err != nil {
		t.Fatal(err)
	}
	r, err := all[0].Run(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if l := &r.Lines[0]; l.Verdict != bench.Inside || !strings.Contains(after, "Ours is "+l.Shown+", inside the band.") {
		t.Errorf("%v: %s, and the document differs", l.Verdict, l.Shown)
	}
	if l := &r.Lines[1]; !strings.HasPrefix(l.Shown, "true") {
		t.Errorf("the comparison: %s", l.Shown)
	}
}

// TestWhatIsOpenHasAReason checks that each figure outside of its band, and each false comparison,
// has a reason, and no other figure.
func TestWhatIsOpenHasAReason(t *testing.T) {
	for _, l := range written(t) {
		switch {
		case l.Open() != (l.Reason != ""):
			t.Errorf("%s: %s: %s, reason %q", l.Experiment, l.What, l.Shown, l.Reason)
		case strings.HasPrefix(l.Because, "Isolated"):
			t.Errorf("%s: %s: runs say what is isolated, under the key isolate: %s", l.Experiment, l.What, l.Because)
		case !l.Open() && l.Isolated != "":
			t.Errorf("%s: %s: %s needs no change: %s", l.Experiment, l.What, l.Shown, l.Isolated)
		case !l.Open() && l.Because != "":
			t.Errorf("%s: %s: %s needs no reason: %s", l.Experiment, l.What, l.Shown, l.Because)
		}
	}
}

// TestIsolatedCausesAreThoseOfTheDocument makes each change of some experiments again, and compares
// the results with the document.
func TestIsolatedCausesAreThoseOfTheDocument(t *testing.T) {
	if invariant.Enabled {
		t.Skip("takes too long with every decision checked")
	}
	all, err := experiments()
	if err != nil {
		t.Fatal(err)
	}
	some, err := bench.Named(all, []string{"fig4", "dsplit-micro", "omo-h"}[:testkit.Rounds(3)])
	if err != nil {
		t.Fatal(err)
	}
	document := map[string]string{}
	for _, l := range written(t) {
		document[l.Experiment+l.What] = l.Isolated
	}
	made := 0
	for _, e := range some {
		r, err := e.Run(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Isolate(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, l := range r.Lines {
			if made += len(l.Isolated); l.Isolated != document[l.Experiment+l.What] {
				t.Errorf("%s: %s\n got %s\nwant %s", e.Name, l.What, l.Isolated, document[l.Experiment+l.What])
			}
		}
	}
	if made == 0 {
		t.Error("nothing was changed")
	}
}

// TestAChangeIsMadeAlone checks the effect of each key of a change. A change that changes nothing is
// an error with its place.
func TestAChangeIsMadeAlone(t *testing.T) {
	const file = `cluster: {trackers: 1, map_slots: 1, reduce_slots: 1}
jobs:
  - {name: A, maps: 4, reduces: 1, map_time: 10s, reduce_time: 5s}
  - {name: B, maps: 2, reduces: 1, map_time: {list: [10s, 20s]}, reduce_time: 5s}
experiments:
  - name: e
    paper: p
    runs: [{name: r, sched: fifo}]
    figures:
      - {what: w, paper: 110 s, ours: "makespan[r]", isolate: [%s]}
`
	for change, want := range map[string]string{
		"{set: {jobs.A.maps: 8}}":              "Isolated: with jobs.A.maps=8 it is 115 s, inside (1 seed).",
		"{scale: {map_time: 2}}":               "Isolated: with map_time times 2 it is 145 s (1 seed).",
		"{scale: {reduce_time: 0}}":            "Each alone: with reduce_time times 0 it is 70 s (1 seed).",
		"{without: [B]}":                       "Each alone: with no B it is 45 s (1 seed).",
		"{map-slots: 2}":                       "Each alone: with --map-slots 2 it is 45 s (1 seed).",
		"{without: [B], scale: {map_time: 2}}": "Isolated: with no B and map_time times 2 it is 85 s, inside (1 seed).",
		"{name: r, map-slots: 2}":              "Each alone: with --map-slots 2 for run r alone it is 45 s (1 seed).",
		"{name: q, map-slots: 2}":              "error: e.yaml:10:64: w: no run is called q",
		"{set: {jobs.C.maps: 8}}":              "error: e.yaml:10:64: run r: jobs.C.maps=8: no C in jobs; there are A, B, with indexes from 0",
		"{scale: {deadline: 2}}":               "error: e.yaml:10:64: run r: scale: no deadline; there are map_time, reduce_time, map_output, profile",
		"{scale: {map_time: x}}":               "error: e.yaml:10:64: run r: scale: map_time: x is not a factor",
		"{without: [C]}":                       "error: e.yaml:10:64: run r: names jobs that are not there, or one twice: C",
		"{slow: 0=0.5}":                        "Isolated: with --slow 0=0.5 it is 150 s (1 seed).",
		"{replicas: 1, remote-penalty: 2}":     "Each alone: with --replicas 1 and --remote-penalty 2 it is 75 s (1 seed).",
		"{attempts: 2}":                        "Each alone: with --attempts 2 it is 75 s (1 seed).",
		"{alone: true}":                        "Each alone: with --alone true it is 75 s (1 seed).",
		"{seed: 0}":                            "error: e.yaml:10:65: seed: 0: too small; at least 1",
		"{trackers: 0}":                        "error: e.yaml:10:65: trackers: 0: too small; at least 1",
		"{slow: 1=0.5}":                        "error: e.yaml:10:64: run r: e.yaml:1:21: slow, trackers: there is no tracker 1; they count from 0 to 0",
		"{sort-buffer: 1MiB}":                  "error: e.yaml:10:64: run r: sort-buffer, task-memory, buffer-growth: need cost l2, under which kvbuffers take time",
		"{sched: fifi}":                        "error: e.yaml:10:65: sched: fifi: no such policy; did you mean fifo?",
		"{speed: 2}":                           "error: e.yaml:10:65: speed: no such setting; did you mean seed?",
	} {
		r, err := ofFile(t, fmt.Sprintf(file, change))
		if err != nil {
			t.Fatal(change, err)
		}
		got := ""
		if err := r.Isolate(t.Context()); err != nil {
			got = "error: " + err.Error()
		} else {
			got = r.Lines[0].Isolated
		}
		if got != want {
			t.Errorf("%s\n got %s\nwant %s", change, got, want)
		}
	}
}

// TestMetricsByHand: four maps of 12 s on two slots end after 12 and 24 s. The reduce copies
// 40 MB at 1 MB/s from 24 s on, or from 12 s on at a slowstart of a half. Then it takes 5 s.
func TestMetricsByHand(t *testing.T) {
	text := `
cluster: {map_slots: 2, reduce_slots: 1, net: 1MB}
jobs: [{name: A, maps: 4, reduces: 1, map_time: 12s, reduce_time: 5s, map_output: 10MB}]
experiments:
  - name: e
    paper: p
    with: {cost: l1, sched: fair, heartbeat: 0s}
    runs: [{name: late, slowstart: 1}, {name: early, slowstart: 0.5}, {name: scaled, slowstart: 1, scale: {map_time: [1, 2], reduce_time: [1, 0]}}]
    figures:
`
	all := []struct{ ours, want string }{
		{"makespan[late]", "69"}, {"map_phase[late]", "24"}, {"map_only[late]", "24"}, {"overlap[late]", "0"}, {"shuffle_only[late]", "40"},
		{"makespan[early]", "57"}, {"map_phase[early]", "24"}, {"map_only[early]", "12"}, {"overlap[early]", "12"}, {"shuffle_only[early]", "28"},
		{"max(last_batch[late])", "2"}, {"concurrency[late] * makespan[late]", "48"}, {"hoarding[early]", "12"}, {"reducing[early] * makespan[early]", "45"}, {"lent[early]", "0"},
		{"reduces[early, *, 3]", "1"}, {"reduces[early, A, 1]", "0"}, {"min(makespan[scaled-*])", "69"}, {"makespan[scaled-2]", "88"},
		{"finish[late, A]", "69"}, {"maps_done[late, A]", "24"}, {"start[late, A]", "0"}, {"task_maps[late]", "4"}, {"task_reduces[late]", "1"},
	}
	for i, f := range all {
		text += fmt.Sprintf("      - {what: w%d, paper: \"%s\", check: input, ours: \"%s\"}\n", i, f.want, f.ours)
	}
	r, err := ofFile(t, text)
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range r.Lines {
		if got, err := strconv.ParseFloat(string(l.Ours), 64); err != nil || strconv.FormatFloat(got, 'f', -1, 64) != all[i].want {
			t.Errorf("%s is %s, not %s: %v", all[i].ours, l.Ours, all[i].want, err)
		}
	}
}

// TestALostTrackerRunsNothing: of the four maps that start at once, those of a tracker that is
// lost at 5 s do not run in step 2, which starts at 10 s, nor in step 3.
func TestALostTrackerRunsNothing(t *testing.T) {
	f, err := workload.Parse("e.yaml", []byte(`
cluster: {trackers: 2, map_slots: 2, reduce_slots: 1}
pools: [{name: p}]
faults: [{at: 5s, tracker: 1, lost: true}]
jobs: [{name: J, pool: p, maps: 8, reduces: 0, map_time: 20s}]
experiments:
  - name: e
    paper: none
    runs: [{name: fair, sched: fair}]
    figures: [{what: first, paper: 4, ours: "maps[fair, p, 1]"}, {what: two, paper: 2, ours: "maps[fair, p, 2]"}, {what: three, paper: 2, ours: "maps[fair, p, 3]"}]
`))
	if err != nil {
		t.Fatal(err)
	}
	some, err := bench.Of(f)
	if err != nil {
		t.Fatal(err)
	}
	r, err := some[0].Run(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"4", "2", "2"} {
		if got := string(r.Lines[i].Ours); got != want {
			t.Errorf("step %d: %s running maps, want %s", i+1, got, want)
		}
	}
}

// TestReadingsHaveNoVerdict checks that the formats for programs have no readings, because the paper
// has no figure for them. The document and the terminal show their mean with its interval.
func TestReadingsHaveNoVerdict(t *testing.T) {
	run := func(ours string) (*bench.Result, error) {
		return ofFile(t, fmt.Sprintf(`
cluster: {map_slots: 1, reduce_slots: 1}
jobs: [{name: A, maps: 4, reduces: 0, map_time: {uniform: [1s, 2s]}}]
experiments:
  - name: e
    paper: p
    runs: [{name: one, sched: fifo}, {name: two, sched: fifo, map-slots: 2}]
    seeds: 20
    readings: [{what: two slots save, unit: "%%", ours: "%s"}]
`, ours))
	}
	r, err := run("1 - makespan[two] / makespan[one]")
	if err != nil {
		t.Fatal(err)
	}
	if text := r.Text(); !regexp.MustCompile(`two slots save\s+4\d(\.\d)? %\s+4\d(\.\d)? to 4\d`).Match(text) {
		t.Errorf("%s", text)
	}
	if len(r.Lines) > 0 || bytes.Contains(bench.CSV([]*bench.Result{r}), []byte("save")) || strings.Contains(bench.Summary([]*bench.Result{r}), "1 figure") {
		t.Errorf("a reading is listed as a figure: %s", bench.CSV([]*bench.Result{r}))
	}
	if _, err := run("makespan[two] < makespan[one]"); err == nil || err.Error() != "e.yaml:9:16: two slots save: a reading is a number; a comparison belongs to figures" {
		t.Error(err)
	}
}

// TestTheFormatsHaveAllFigures: CSV and JSON have the same values for each figure.
func TestTheFormatsHaveAllFigures(t *testing.T) {
	all := results(t)
	records, err := csv.NewReader(bytes.NewReader(bench.CSV(all))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if head := strings.Join(records[0], ","); head != "experiment,figure,paper,ours,low,high,verdict,fitted,seeds,reason,direction,ci_low,ci_high,withdrawn" {
		t.Error(head)
	}
	text, err := bench.JSON(all)
	if err != nil {
		t.Fatal(err)
	}
	var objects []map[string]any
	err = json.Unmarshal(text, &objects)
	objects = slices.DeleteFunc(objects, func(o map[string]any) bool { return o["check"] != "" })
	if err != nil || len(objects) != len(records)-1 {
		t.Fatalf("%d objects, %d records: %v", len(objects), len(records)-1, err)
	}
	for i, record := range records[1:] {
		for k, cell := range record {
			name := records[0][k]
			want := fmt.Sprint(objects[i][name])
			switch {
			case objects[i][name] == nil:
				want = ""
			case name == "fitted":
				want = map[string]string{"true": "yes", "false": "no"}[want]
			}
			// A decoder of JSON drops the zeros at the end of a number.
			number, err := strconv.ParseFloat(cell, 64)
			if got := fmt.Sprint(number); cell != want && (err != nil || got != want) {
				t.Errorf("%s: %s is %q as CSV and %q as JSON", record[1], name, cell, want)
			}
		}
		ours, low, high, verdict, reason := record[3], record[4], record[5], record[6], record[9]
		if open := verdict == "outside" || ours == "false"; open != (reason != "") {
			t.Errorf("%s: %s: %s %s, reason %q", record[0], record[1], ours, verdict, reason)
		}
		if n, err := strconv.ParseFloat(ours, 64); err == nil && verdict == "inside" {
			from, _ := strconv.ParseFloat(low, 64)
			to, _ := strconv.ParseFloat(high, 64)
			// Ours is rounded, and the band is not.
			if margin := 0.06 * max(1, math.Abs(n)/100); n < from-margin || n > to+margin || low == "" {
				t.Errorf("%s: %s: %s is not inside %s to %s", record[0], record[1], ours, low, high)
			}
		}
	}
}

// TestEachClaimHasFigures checks that each claim of docs/papers that runs can show has
// figures.
func TestEachClaimHasFigures(t *testing.T) {
	checked := map[string]int{}
	for _, r := range results(t) {
		for _, l := range r.Lines {
			checked[l.Claim]++
		}
	}
	for _, claim := range []string{
		"lending gains", "pool moves", // [DHFS13]
		"ablations", "locality and fairness", "trade-off", "prescheduling needs a light load", // [DynamicMR14]
		"cpu up and wait down",        // [Split11]
		"static slots", "tight goals", // [RAS11]
		"slowstart curve", "better than its halves", "printed gains", // [OMO21]
	} {
		if checked[claim] == 0 {
			t.Errorf("%s: no figure", claim)
		}
	}
}

// TestDynamicSplitUsesProcessorsMoreAndWaitsLess checks the part about processors of
// [Split11, "cpu up and wait down"]. Over the whole macrobenchmark they compute more. In the map
// phase of the microbenchmark they wait less for disks.
func TestDynamicSplitUsesProcessorsMoreAndWaitsLess(t *testing.T) {
	found := 0
	for _, l := range written(t) {
		switch l.Experiment + ": " + l.What {
		case "dsplit-macro: user CPU, with the split against raw", "dsplit-micro: I/O wait in the map phase is less", "dsplit-micro: the job ends earlier":
			found++
			if l.Direction != bench.Same {
				t.Errorf("%s: %s: %s", l.Experiment, l.What, l.Shown)
			}
		}
	}
	if found != 3 {
		t.Errorf("%d of 3 figures", found)
	}
}

// TestSeedsAreMeansWithIntervals checks that ours is the mean over the seeds that are run. If they are
// fewer than the file has, a reason says so.
func TestSeedsAreMeansWithIntervals(t *testing.T) {
	file := func(flags string, most int) *bench.Result {
		f, err := workload.Parse("seeds.yaml", []byte(`
cluster: {trackers: 2, map_slots: 2, reduce_slots: 1}
jobs: [{name: J, maps: 20, map_time: {lognormal: [10s, 0.5]}}]
experiments:
  - name: seeds
    paper: none
    `+flags+`
    figures:
      - {what: makespan, paper: 1.000 s, ours: "makespan[fifo]"}
      - {what: it ends, paper: sometime, ours: "makespan[fifo] > 0"}
`))
		if err != nil {
			t.Fatal(err)
		}
		all, err := bench.Of(f)
		if err != nil {
			t.Fatal(err)
		}
		r, err := all[0].Run(t.Context(), most)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	const seeds = 6
	sum, squares := 0.0, 0.0
	for n := range seeds {
		l := file(fmt.Sprintf("runs: [{name: fifo, sched: fifo, seed: %d}]", n+1), 0).Lines[0]
		x, err := strconv.ParseFloat(string(l.Ours), 64)
		if err != nil || l.Seeds != 1 || l.CILow != "" {
			t.Fatalf("%+v: %v", l, err)
		}
		sum, squares = sum+x, squares+x*x
	}
	mean := sum / seeds
	half := 2.571 * math.Sqrt((squares-seeds*mean*mean)/(seeds-1)/seeds)
	l := file(fmt.Sprintf("runs: [{name: fifo, sched: fifo}]\n    seeds: %d", seeds+1), seeds).Lines[0]
	for name, c := range map[string]struct {
		got  bench.Cell
		want float64
	}{"mean": {l.Ours, mean}, "low": {l.CILow, mean - half}, "high": {l.CIHigh, mean + half}} {
		if n, err := strconv.ParseFloat(string(c.got), 64); err != nil || math.Abs(n-c.want) > 0.002 {
			t.Errorf("%s: %s, want %.3f", name, c.got, c.want)
		}
	}
	if half < 1 || l.Seeds != seeds || l.Reason != "judged by 6 of 7 seeds only" {
		t.Errorf("half %v: %+v", half, l)
	}
}

// TestEveryWorkloadRunsUnderEveryPolicy checks what mrlocal sim --sched all does. Without -long, each file runs under
// a quarter of the policies.
func TestEveryWorkloadRunsUnderEveryPolicy(t *testing.T) {
	if testing.Short() || invariant.Enabled {
		t.Skip("runs each file under each policy")
	}
	for k, name := range bench.Workloads() {
		f, err := bench.LoadWorkload(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, info := range registry.All() {
			if (i+k)%4 >= testkit.Rounds(4) {
				continue
			}
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
	all, err := experiments()
	if err != nil {
		t.Fatal(err)
	}
	if some, err := bench.Named(all, []string{"fig6", "fig5"}); err != nil || len(some) != 2 || some[0].Name != "fig6" {
		t.Errorf("%v, %v", some, err)
	}
	if some, err := bench.Named(all, nil); err != nil || len(some) != len(all) {
		t.Errorf("%d of %d, %v", len(some), len(all), err)
	}
	for name, complaint := range map[string]string{"fig7": "did you mean fig4?", "elsewhere": "unknown; there are dependent, "} {
		if _, err := bench.Named(all, []string{name}); err == nil || !strings.Contains(err.Error(), complaint) {
			t.Errorf("%s: %v, want %s", name, err, complaint)
		}
	}
}

// TestFilesOfExperimentsAreThoseOfTheFolder checks that all workload files are embedded.
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
