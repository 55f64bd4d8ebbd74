package study

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"mrlocal/internal/errs"
	"mrlocal/slots"
	"mrlocal/slots/report"
)

const million = 1_000_000

func TestRunsAreLaidOutSeriesBySeries(t *testing.T) {
	for _, c := range []struct {
		name string
		o    SweepOptions
		want string
	}{
		{"policies change fastest", SweepOptions{MapSlots: []int64{1, 2}, Policies: []string{"fair", "fifo"}}, "1,-1,-1,-1 fair; 1,-1,-1,-1 fifo; 2,-1,-1,-1 fair; 2,-1,-1,-1 fifo"},
		{"then the setting of most values", SweepOptions{MapSlots: []int64{1, 2}, ReduceSlots: []int64{3, 4, 5}}, "1,3,-1,-1 p; 1,4,-1,-1 p; 1,5,-1,-1 p; 2,3,-1,-1 p; 2,4,-1,-1 p; 2,5,-1,-1 p"},
		{"a total leaves the reduce slots", SweepOptions{TotalSlots: 4}, "1,3,-1,-1 p; 2,2,-1,-1 p; 3,1,-1,-1 p"},
		{"a total of chosen map slots", SweepOptions{TotalSlots: 12, MapSlots: []int64{10, 6}}, "10,2,-1,-1 p; 6,6,-1,-1 p"},
		{"a share alone has the other at both ends", SweepOptions{BorrowMap: []int64{0, 5, million}},
			"-1,-1,0,0 p; -1,-1,5,0 p; -1,-1,1000000,0 p; -1,-1,0,1000000 p; -1,-1,5,1000000 p; -1,-1,1000000,1000000 p"},
		{"a share of one value stands by itself", SweepOptions{BorrowReduce: []int64{7}}, "-1,-1,-1,7 p"},
		{"both shares as given", SweepOptions{BorrowMap: []int64{1, 2}, BorrowReduce: []int64{3}}, "-1,-1,1,3 p; -1,-1,2,3 p"},
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
		rows, err := p.Run(func(c Configuration, name string) (*report.Report, error) {
			got = append(got, fmt.Sprintf("%d,%d,%d,%d %s", c.MapSlots, c.ReduceSlots, c.BorrowMap, c.BorrowReduce, name))
			return &report.Report{Policy: name}, nil
		})
		if text := strings.Join(got, "; "); err != nil || text != c.want || len(rows) != p.Runs() {
			t.Errorf("%s:\n got  %s (%v)\n want %s", c.name, text, err, c.want)
		}
	}
}

func TestWhatCannotBeSwept(t *testing.T) {
	thousand := make([]int64, 1000)
	for want, o := range map[string]SweepOptions{
		"nothing to sweep":           {},
		"cannot be combined with":    {TotalSlots: 3, ReduceSlots: []int64{1}},
		"3 of --total-slots 3 leave": {TotalSlots: 3, MapSlots: []int64{3}},
		"more than 100000 runs":      {MapSlots: thousand, ReduceSlots: thousand},
	} {
		o.Policies = []string{"p"}
		if _, err := NewPlan(o); err == nil || !errs.IsUsage(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestSpeedupsAreAgainstTheFirstPolicyOrTheFirstRow(t *testing.T) {
	makespans := map[string]float64{"1 fair": 100, "1 pi": 80, "2 fair": 60, "2 pi": 60}
	run := func(c Configuration, name string) (*report.Report, error) {
		return &report.Report{Policy: name, MakespanSeconds: makespans[fmt.Sprint(c.MapSlots, " ", name)]}, nil
	}
	for _, c := range []struct {
		policies []string
		want     string
	}{
		{[]string{"fair", "pi"}, "[0 0.25 0 0] fair in the same configuration"},
		{[]string{"fair"}, "[0 0.6666666666666667] map-slots 1"},
	} {
		p, err := NewPlan(SweepOptions{MapSlots: []int64{1, 2}, Policies: c.policies})
		if err != nil {
			t.Fatal(err)
		}
		rows, _ := p.Run(run)
		if got := fmt.Sprint(p.speedups(rows), " ", p.against()); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
		if lines := strings.Count(string(p.CSV(rows)), "\n"); lines != len(rows)+1 {
			t.Errorf("%d lines of CSV for %d rows", lines, len(rows))
		}
		if series := p.Chart("f", "", rows).Series; len(series) != len(c.policies) || len(series[0].Points) != 2 {
			t.Errorf("series %v", series)
		}
	}
}

func TestARunThatFailsIsNamed(t *testing.T) {
	p, err := NewPlan(SweepOptions{MapSlots: []int64{1, 2}, Policies: []string{"fair"}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Run(func(Configuration, string) (*report.Report, error) { return nil, errs.Optionf("a.yaml", "no jobs") })
	if err == nil || err.Error() != "fair, map-slots 1: a.yaml: no jobs" {
		t.Error(err)
	}
	broken := errors.New("broken")
	if _, err = p.Run(func(Configuration, string) (*report.Report, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Error(err)
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
		p, err := NewPlan(SweepOptions{MapSlots: []int64{1, 2, 3}, Policies: []string{"fair"}})
		if err != nil {
			t.Fatal(err)
		}
		rows, _ := p.Run(func(c2 Configuration, name string) (*report.Report, error) {
			x, state := c.makespans[c2.MapSlots-1], slots.Succeeded
			if x < 0 {
				x, state = -x, slots.Failed
			}
			return &report.Report{Policy: name, MakespanSeconds: x, Jobs: []report.JobReport{{State: state.String()}}}, nil
		})
		if got := p.best(rows); got != c.want {
			t.Errorf("got %swant %s", got, c.want)
		}
		if got := fmt.Sprint(p.speedups(rows)); got != c.speedups {
			t.Errorf("speedups %s, want %s", got, c.speedups)
		}
		points := func(y string) (n int) {
			for _, s := range p.Chart("f", y, rows).Series {
				n += len(s.Points)
			}
			return n
		}
		known := 3 - strings.Count(c.speedups, "NaN")
		if makespans, speedups := points("makespan"), points("speedup"); makespans != c.points || speedups != known {
			t.Errorf("%d points of makespans and %d of speedups, want %d and %d", makespans, speedups, c.points, known)
		}
		if csv := string(p.CSV(rows)); strings.Contains(csv, "NaN") {
			t.Errorf("%s", csv)
		}
	}
}

func TestASweepEndsWithItsBestRow(t *testing.T) {
	for want, makespans := range map[string][3]float64{
		"best: fair, map-slots 2, 80s; 11.1% shorter than the next, 20.0% shorter than the first row\n": {100, 80, 90},
		"best: fair, map-slots 1, 80s (1 other row as short); 11.1% shorter than the next\n":            {80, 90, 80},
		"best: fair, map-slots 1, 80s (2 other rows as short); all rows are equal\n":                    {80, 80, 80},
	} {
		p, err := NewPlan(SweepOptions{MapSlots: []int64{1, 2, 3}, Policies: []string{"fair"}})
		if err != nil {
			t.Fatal(err)
		}
		rows, _ := p.Run(func(c Configuration, name string) (*report.Report, error) {
			return &report.Report{Policy: name, MakespanSeconds: makespans[c.MapSlots-1]}, nil
		})
		if got := p.best(rows); got != want {
			t.Errorf("got %swant %s", got, want)
		}
	}
}
