package svg_test

import (
	"bytes"
	"encoding/csv"
	"io"
	"slices"
	"strings"
	"testing"

	"mrlocal/internal/testkit"
	"mrlocal/view"
	"mrlocal/view/export"
	"mrlocal/view/svg"
	"mrlocal/view/viewtest"
)

// TestFigures draws the figures for papers, of runs that are the same each time.
func TestFigures(t *testing.T) {
	runs := []view.Named{{Name: "one", Model: viewtest.AllSigns()}, {Name: "<two>", Model: viewtest.AllSigns()}}
	heat := svg.Heat{Title: "Heat", XName: "map slots per tracker", YName: "weight", Name: "makespan (s)", Panels: []string{"fair", "pi-dhfs"}, Xs: []string{"1", "2", "3"}, Ys: []string{"1", "2"}}
	for i := range 11 { // the last cell has no value
		heat.Cells = append(heat.Cells, svg.HeatCell{Panel: i / 6, Y: i / 3 % 2, X: i % 3, Value: 1000 / float64(i+1)})
	}
	for name, c := range map[string]struct {
		draw func(w io.Writer) error
		want map[string]int
	}{
		"responses.svg": {func(w io.Writer) error { return svg.Responses(w, runs, "Responses") }, map[string]int{`class="s s`: 4, ">response time (s)<": 1, ">40<": 1, ">&lt;two&gt;<": 1}},
		"usage.svg":     {func(w io.Writer) error { return svg.Usage(w, runs, "Usage") }, map[string]int{`class="layer`: 2, ">prod<": 2, ">40 s<": 1, ">&lt;two&gt;<": 1}},
		"heat.svg":      {heat.WriteSVG, map[string]int{"<rect x=": 11, ">1000<": 1, ">90.91<": 1, ">map slots per tracker<": 1, ">weight<": 1, "makespan (s): 90.91 (pale) to 1000 (deep)": 1}},
	} {
		var b bytes.Buffer
		if err := c.draw(&b); err != nil {
			t.Fatal(err)
		}
		testkit.Golden(t, "testdata/"+name, b.Bytes())
		for words, want := range c.want {
			if got := strings.Count(b.String(), words); got != want {
				t.Errorf("%s: %s occurs %d times, want %d", name, words, got, want)
			}
		}
		if err := c.draw(failing{}); err == nil || !strings.Contains(err.Error(), "disk full") {
			t.Errorf("%s: a writer that fails: %v", name, err)
		}
	}
}

// TestTheResponsesOfAllJobsEndAtOne checks the heights of the steps: each job that succeeds is one of them.
func TestTheResponsesOfAllJobsEndAtOne(t *testing.T) {
	m := viewtest.Runs()[0].Model(t)
	all := m.Responses()
	if len(all) != len(m.Jobs) {
		t.Fatalf("%d of %d jobs succeeded", len(all), len(m.Jobs))
	}
	for i := range all {
		if took := all[i].Response(); took <= 0 || i > 0 && took < all[i-1].Response() {
			t.Errorf("job %d: %v", i, took)
		}
	}
}

// Runs whose policies define fair shares in different ways are measured by one definition, as the page does.
func TestUsageOfSeveralRunsHasOneDefinition(t *testing.T) {
	const workload = "cluster: {trackers: 1, map_slots: 4, reduce_slots: 2}\ndefaults: {map_time: 10s, reduce_time: 10s}\njobs:\n  - {name: a, pool: one, maps: 9, reduces: 1}\n  - {name: b, pool: two, maps: 1, reduces: 9}\n"
	var runs []view.Named
	for _, policy := range []string{"fifo", "pi-dhfs", "pd-dhfs"} {
		runs = append(runs, view.Named{Name: policy, Model: viewtest.Simulate(t, workload, policy, "l0").Model})
	}
	for n, want := range map[int]struct{ perKind, together, lines int }{2: {1, 0, 2}, 3: {0, 1, 6}} { // fifo has no shares of its own
		var b bytes.Buffer
		if err := svg.Usage(&b, runs[:n], "Usage"); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		if a, c, d := strings.Count(text, "dashes: fair share of the slots of each kind"), strings.Count(text, "dashes: fair share of all slots"), strings.Count(text, `stroke-width="1.6" stroke-dasharray`); a != want.perKind || c != want.together || d != want.lines {
			t.Errorf("%d runs: %d and %d definitions, %d lines, want %+v", n, a, c, d, want)
		}
		b.Reset()
		if err := export.UsageTable(&b, runs[:n]); err != nil {
			t.Fatal(err)
		}
		rows, _ := csv.NewReader(&b).ReadAll()
		byKind, both := slices.Index(rows[0], "share_maps"), slices.Index(rows[0], "share")
		for _, row := range rows[1:] {
			if own := n == 2; (row[byKind] != "") != (own && row[0] == "pi-dhfs") || (row[both] != "") != (!own || row[0] == "pi-dhfs") {
				t.Fatalf("%d runs, a row of %s: share_maps %q, share %q", n, row[0], row[byKind], row[both])
			}
		}
	}
}
