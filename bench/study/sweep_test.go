package study

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"mrlocal/internal/errs"
	"mrlocal/slots"
	"mrlocal/slots/report"
)

// made makes the study of a plan whose runs have the makespans that of returns. A negative one stands for a
// run with a failed job.
func made(t *testing.T, o Options, of func(t Trial) float64) *Study {
	t.Helper()
	if o.Policies == nil {
		o.Policies = []string{"fair"}
	}
	p, err := NewPlan(o)
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.Study(t.Context(), 2, nil, func(_ context.Context, t Trial) (*report.Report, []string, error) {
		x, state := of(t), slots.Succeeded
		if x < 0 {
			x, state = -x, slots.Failed
		}
		return &report.Report{Policy: t.Policy, MakespanSeconds: x, Jobs: []report.JobReport{{State: state.String()}}}, nil, nil
	}, func(string) {}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// given returns flags with their values, from words as "map-slots 1 2". The name of a value in the file has a dot.
func given(texts ...string) (all []Swept) {
	for _, text := range texts {
		words := strings.Fields(text)
		all = append(all, Swept{Name: words[0], InFile: strings.Contains(words[0], "."), Values: words[1:]})
	}
	return all
}

func TestRunsAreLaidOutSeriesBySeries(t *testing.T) {
	for _, c := range []struct {
		name string
		o    Options
		want string
	}{
		{"policies change fastest", Options{Swept: given("map-slots 1 2"), Policies: []string{"fair", "fifo"}}, "map-slots: 1 fair; 1 fifo; 2 fair; 2 fifo"},
		{"seeds change before policies", Options{Swept: given("map-slots 1"), Policies: []string{"fair", "fifo"}, Seeds: 2}, "map-slots: 1 fair; 1 fair 2; 1 fifo; 1 fifo 2"},
		{"then the setting of most values", Options{Swept: given("map-slots 1 2", "reduce-slots 3 4 5")}, "map-slots reduce-slots: 1 3 p; 1 4 p; 1 5 p; 2 3 p; 2 4 p; 2 5 p"},
		{"a total leaves the reduce slots", Options{TotalSlots: 4}, "map-slots reduce-slots: 1 3 p; 2 2 p; 3 1 p"},
		{"a total of chosen map slots", Options{TotalSlots: 12, Swept: given("map-slots 10 6")}, "map-slots reduce-slots: 10 2 p; 6 6 p"},
		{"a share alone has the other at both ends", Options{Swept: given("borrow-map 0 0.5 1")}, "borrow-map borrow-reduce: 0 0 p; 0.5 0 p; 1 0 p; 0 1 p; 0.5 1 p; 1 1 p"},
		{"a share of one value stands by itself", Options{Swept: given("borrow-reduce 0.7")}, "borrow-reduce: 0.7 p"},
		{"both shares as given", Options{Swept: given("borrow-map 0.1 0.2", "borrow-reduce 0.3")}, "borrow-map borrow-reduce: 0.1 0.3 p; 0.2 0.3 p"},
		{"values of the file", Options{Swept: given("map-slots 1", "a.b x y")}, "map-slots a.b: 1 x p; 1 y p"},
	} {
		if c.o.Policies == nil {
			c.o.Policies = []string{"p"}
		}
		p, err := NewPlan(c.o)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var got []string
		for run := range p.Runs() {
			x := p.Trial(run)
			words := append(append([]string{}, x.Words...), x.Policy)
			if x.Seed > 1 {
				words = append(words, fmt.Sprint(x.Seed))
			}
			got = append(got, strings.Join(words, " "))
			if n := len(p.Flags(x)) + len(p.Changes(x)); n != len(x.Words) || len(p.Changes(x)) != strings.Count(strings.Join(p.names, " "), ".") {
				t.Errorf("%s: %d settings of %d words", c.name, n, len(x.Words))
			}
		}
		if text := strings.Join(p.names, " ") + ": " + strings.Join(got, "; "); text != c.want {
			t.Errorf("%s:\n got  %s\n want %s", c.name, text, c.want)
		}
	}
}

func TestWhatCannotBeSwept(t *testing.T) {
	thousand := make([]string, 1000)
	for want, o := range map[string]Options{
		"nothing to sweep":           {},
		"cannot be combined with":    {TotalSlots: 3, Swept: given("reduce-slots 1")},
		"3 of --total-slots 3 leave": {TotalSlots: 3, Swept: given("map-slots 3")},
		"more than 100000 runs":      {Swept: []Swept{{Name: "map-slots", Values: thousand}, {Name: "reduce-slots", Values: thousand}}},
		"than 100000 runs":           {Seeds: 100_000, Policies: []string{"p", "q"}},
	} {
		if o.Policies == nil {
			o.Policies = []string{"p"}
		}
		if _, err := NewPlan(o); err == nil || !errs.IsUsage(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestSpeedupsAreAgainstTheFirstPolicyOrTheFirstRow(t *testing.T) {
	makespans := map[string]float64{"1 fair": 100, "1 pi": 80, "2 fair": 60, "2 pi": 60}
	for _, c := range []struct {
		policies []string
		want     string
	}{
		{[]string{"fair", "pi"}, "[0 0.25 0 0] fair in the same configuration"},
		{[]string{"fair"}, "[0 0.6666666666666667] map-slots 1"},
	} {
		s := made(t, Options{Swept: given("map-slots 1 2"), Policies: c.policies}, func(t Trial) float64 { return makespans[t.Words[0]+" "+t.Policy] })
		if got := fmt.Sprint(speedups(s), " ", s.against()); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
		if lines := strings.Count(string(s.CSV()), "\n"); lines != s.Runs()+1 {
			t.Errorf("%d lines of CSV for %d runs", lines, s.Runs())
		}
		if series := s.Chart("f", "").Series; len(series) != len(c.policies) || len(series[0].Points) != 2 {
			t.Errorf("series %v", series)
		}
	}
}

func speedups(s *Study) (all []float64) {
	for run := range s.Runs() {
		all = append(all, s.speedup(run))
	}
	return all
}

// TestResultsHaveTheColumnsOfCSV checks that a row of --results is the row of --csv with the key before it and
// a job after it.
func TestResultsHaveTheColumnsOfCSV(t *testing.T) {
	o := Options{Swept: append(given("map-slots 1 2"), Swept{Name: "jobs.*.map_time", InFile: true, Values: []string{"{uniform: [1s, 2s]}"}}), Seeds: 2, Policies: []string{"fair"}}
	p, err := NewPlan(o)
	if err != nil {
		t.Fatal(err)
	}
	path := t.TempDir() + "/r.csv"
	results, err := p.OpenResults(path, "key", 1)
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.Study(t.Context(), 1, results, func(_ context.Context, x Trial) (*report.Report, []string, error) {
		return &report.Report{MakespanSeconds: float64(x.Seed) / 3, Jobs: []report.JobReport{{Name: "J"}}}, nil, nil
	}, func(string) {}, nil)
	if err = errors.Join(err, results.Close()); err != nil {
		t.Fatal(err)
	}
	read := func(text []byte) [][]string {
		rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	runs, jobs := read(s.CSV()), read(whole)
	if len(runs) != 5 || len(jobs) != len(runs) {
		t.Fatalf("%d and %d rows", len(runs), len(jobs))
	}
	for i := range runs {
		n := len(runs[i]) - 1 // without the speedup
		if !slices.Equal(runs[i][:n], jobs[i][1:1+n]) {
			t.Errorf("row %d: %v is not in %v", i, runs[i][:n], jobs[i])
		}
	}
	// The runs of the file are not made again, and have the same figures.
	if results, err = p.OpenResults(path, "key", 1); err != nil {
		t.Fatal(err)
	}
	again, err := p.Study(t.Context(), 1, results, nil, func(string) {}, nil)
	if err = errors.Join(err, results.Close()); err != nil || string(again.CSV()) != string(s.CSV()) {
		t.Errorf("read again: %v\n%s", err, again.CSV())
	}
}

func TestARunThatFailsIsNamed(t *testing.T) {
	p, err := NewPlan(Options{Swept: given("map-slots 1 2"), Policies: []string{"fair"}})
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	for _, fail := range []error{errs.Optionf("a.yaml", "no jobs"), broken} {
		_, err = p.Study(t.Context(), 1, nil, func(context.Context, Trial) (*report.Report, []string, error) { return nil, nil, fail }, func(string) {}, nil)
		if want := "fair, map-slots 1: a.yaml: no jobs"; !errors.Is(err, broken) && (err == nil || err.Error() != want) {
			t.Error(err)
		}
	}
}

// TestARowWithFailedJobsIsMarkedAndNeverBest: a run without its failed jobs is short, but does less
// work. A negative makespan stands for such a run.
func TestARowWithFailedJobsIsMarkedAndNeverBest(t *testing.T) {
	for _, c := range []struct {
		makespans [3]float64
		speedups  string
		want      string
		points    int
	}{
		{[3]float64{-10, 80, 90}, "[NaN NaN NaN]", "best: fair, map-slots 2, 80s; 11.1% shorter than the next; without 1 row with failed jobs\n", 2},
		{[3]float64{-100, 80, 90}, "[NaN NaN NaN]", "best: fair, map-slots 2, 80s; 11.1% shorter than the next; without 1 row with failed jobs\n", 2},
		{[3]float64{100, -10, 90}, "[0 NaN 0.11111111111111116]", "best: fair, map-slots 3, 90s; 10.0% shorter than the next, 10.0% shorter than the first row; without 1 row with failed jobs\n", 2},
		{[3]float64{100, -10, -20}, "[0 NaN NaN]", "best: fair, map-slots 1, 100s; without 2 rows with failed jobs\n", 1},
		{[3]float64{-10, -10, -20}, "[NaN NaN NaN]", "best: none, jobs of every row failed\n", 0},
	} {
		s := made(t, Options{Swept: given("map-slots 1 2 3")}, byMapSlots(c.makespans))
		if got := s.best(); got != c.want {
			t.Errorf("got %swant %s", got, c.want)
		}
		if got := fmt.Sprint(speedups(s)); got != c.speedups {
			t.Errorf("speedups %s, want %s", got, c.speedups)
		}
		points := func(y string) (n int) {
			for _, s := range s.Chart("f", y).Series {
				n += len(s.Points)
			}
			return n
		}
		known := 3 - strings.Count(c.speedups, "NaN")
		if makespans, speedups := points("makespan"), points("speedup"); makespans != c.points || speedups != known {
			t.Errorf("%d points of makespans and %d of speedups, want %d and %d", makespans, speedups, c.points, known)
		}
		if csv := string(s.CSV()); strings.Contains(csv, "NaN") {
			t.Errorf("%s", csv)
		}
	}
}

// byMapSlots returns the makespan of a run with 1, 2 or 3 map slots.
func byMapSlots(makespans [3]float64) func(t Trial) float64 {
	return func(t Trial) float64 { return makespans[t.Words[0][0]-'1'] }
}

func TestASweepEndsWithItsBestRow(t *testing.T) {
	for want, makespans := range map[string][3]float64{
		"best: fair, map-slots 2, 80s; 11.1% shorter than the next, 20.0% shorter than the first row\n": {100, 80, 90},
		"best: fair, map-slots 1, 80s (1 other row as short); 11.1% shorter than the next\n":            {80, 90, 80},
		"best: fair, map-slots 1, 80s (2 other rows as short); all rows are equal\n":                    {80, 80, 80},
	} {
		if got := made(t, Options{Swept: given("map-slots 1 2 3")}, byMapSlots(makespans)).best(); got != want {
			t.Errorf("got %swant %s", got, want)
		}
	}
}
