package bench_test

import (
	"bytes"
	"strings"
	"testing"

	"mrlocal/bench"
	"mrlocal/workload"
)

// ofFile runs the first experiment of a workload file.
func ofFile(t *testing.T, text string) (*bench.Result, error) {
	t.Helper()
	f, err := workload.Parse("e.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	all, err := bench.Of(f)
	if err != nil {
		t.Fatal(err)
	}
	return all[0].Run(t.Context(), 0)
}

// TestAFigureThatReadsNoRunIsACheck: numbers of the file are not a result. A check that agrees is counted apart.
func TestAFigureThatReadsNoRunIsACheck(t *testing.T) {
	file := func(figure string) string {
		return `
jobs: [{name: A, maps: 4, reduces: 0, map_time: 1s}]
experiments:
  - name: e
    paper: p
    runs: [{name: one, sched: fifo}]
    figures: [{what: maps, paper: 4` + figure + `}]
`
	}
	for _, ours := range []string{"4", "task_maps[one]", "task_maps[one] / 2 > 1"} {
		_, err := ofFile(t, file(`, ours: "`+ours+`"`))
		if err == nil || err.Error() != "e.yaml:7:15: maps: nothing here comes from a run, so it is not a result; say check: input" {
			t.Errorf("%s: %v", ours, err)
		}
	}
	r, err := ofFile(t, file(`, check: input, ours: "task_maps[one]"`))
	if err != nil {
		t.Fatal(err)
	}
	summary := bench.Summary([]*bench.Result{r})
	if r.Lines[0].Verdict != bench.Checked || !strings.HasPrefix(summary, "1 experiment, 0 figures: 0 exact, 0 inside") || !strings.HasSuffix(summary, "; 1 check\n") {
		t.Errorf("%v: %s", r.Lines[0].Verdict, summary)
	}
	if csv := bench.CSV([]*bench.Result{r}); bytes.Contains(csv, []byte("maps")) {
		t.Errorf("a check is among the figures: %s", csv)
	}
	if table := bench.Tables([]*bench.Result{r}); !bytes.Contains(table, []byte("#### Checks of input, Other experiments\n\n| experiment | check | theirs | ours | of |\n| --- | --- | --- | --- | --- |\n| e | maps | 4 | 4 | input |\n")) {
		t.Errorf("%s", table)
	}
}

// TestEachOrderRuns: under FIFO a job of 1 s and one of 3 s end at 1 and 4 s, or at 3 and 4 s, so the
// mean is 2.5 or 3.5 s. A list of jobs runs in its own order.
func TestEachOrderRuns(t *testing.T) {
	file := func(run string) string {
		return `
cluster: {map_slots: 1, reduce_slots: 1}
jobs: [{name: A, maps: 1, map_time: 1s}, {name: B, maps: 1, map_time: 3s}, {name: C, maps: 1, map_time: 5s}]
experiments:
  - name: e
    paper: p
    with: {sched: fifo}
    runs: [` + run + `]
    figures: [{what: first, paper: 2 s, ours: "min(mean_job[r*])"}, {what: last, paper: 2 s, ours: "max(mean_job[r*])"}, {what: product, paper: "2", ours: "mean_job[r-1] * mean_job[r-2]"}]
`
	}
	r, err := ofFile(t, file("{name: r, jobs: [A, B], each_order: true}"))
	if err != nil || r.Lines[0].Ours != "2.5" || r.Lines[1].Ours != "3.5" || r.Lines[2].Ours != "8.8" {
		t.Errorf("%+v: %v", r.Lines, err)
	}
	r, err = ofFile(t, file("{name: r-1, jobs: [B, A]}, {name: r-2, jobs: [A, B]}"))
	if err != nil || r.Lines[0].Ours != "2.5" || r.Lines[2].Ours != "8.8" {
		t.Errorf("%+v: %v", r.Lines, err)
	}
	f, err := workload.Parse("e.yaml", []byte(file("{name: r, jobs: A, each_order: true}")))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bench.Of(f); err == nil || err.Error() != "e.yaml:8:12: run r: each_order is for 2 to 6 jobs, and here are 1" {
		t.Error(err)
	}
}

// TestChecksAgree: the workload files have the papers' numbers, and the simulator the papers' formulas.
func TestChecksAgree(t *testing.T) {
	n := 0
	for _, l := range written(t) {
		if l.Check == "input" || l.Check == "formula" {
			n++
			if l.Verdict != bench.Checked {
				t.Errorf("%s: %s: %s, and the paper has %s", l.Experiment, l.What, l.Shown, l.Paper)
			}
		}
	}
	if n < 40 {
		t.Errorf("%d checks", n)
	}
}

// TestTheDocumentBeginsWithClaims: a claim holds if all of its figures do. Without a name it has the title of its
// experiment. Checks show no claim.
func TestTheDocumentBeginsWithClaims(t *testing.T) {
	r, err := ofFile(t, `
jobs: [{name: A, maps: 4, reduces: 0, map_time: 1s}]
experiments:
  - name: e
    title: the title
    paper: p [Test11]
    runs: [{name: one, sched: fifo}]
    figures:
      - {what: a, target: all of it, paper: 2 s, ours: "makespan[one]"}
      - {what: b, target: all of it, paper: less, ours: "makespan[one] < 3"}
      - {what: c, target: a part, paper: 2 s, ours: "makespan[one]"}
      - {what: d, target: a part, paper: 9 s, ours: "makespan[one]", because: The first reason.}
      - {what: e, target: a part, paper: more, ours: "makespan[one] > 3", because: The second reason.}
      - {what: f, target: nothing, paper: 9 s, ours: "makespan[one]", because: The third reason.}
      - {what: g, target: nothing, paper: 2 s, ours: "makespan[one]", fitted: true}
      - {what: h, paper: 2 s, ours: "makespan[one]", fitted: true}
      - {what: i, target: checked, paper: 4, ours: "task_maps[one]", check: input}
`)
	if err != nil {
		t.Fatal(err)
	}
	files, err := bench.Document([]*bench.Result{r})
	if err != nil {
		t.Fatal(err)
	}
	const want = "| paper | claims | held | in part | not held | fitted only |\n| --- | --- | --- | --- | --- | --- |\n" +
		"| [Test11] | 4 | 1 | 1 | 1 | 1 |\n\n" +
		"| paper | claim | held | what does not hold, and why |\n| --- | --- | --- | --- |\n" +
		"| [Test11] | all of it | held |  |\n" +
		"| [Test11] | a part | 1 of 3 | d: 9 s, ours 2 s. The first reason. And 1 other. |\n" +
		"| [Test11] | nothing | not held | f: 9 s, ours 2 s. The third reason. |\n" +
		"| [Test11] | the title | fitted only |  |\n"
	if document := string(files["reproduction.md"]); !strings.Contains(document, want) {
		t.Errorf("%s", document)
	}
}
