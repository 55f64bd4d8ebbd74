package bench

import (
	"fmt"
	"strings"
	"testing"

	"mrlocal/workload"
)

// metrics are some that expressions can look up.
func metrics(name string, words []string) (value, error) {
	switch name {
	case "makespan":
		if words[0] == "fair-*" {
			return value{v: []float64{340, 300, 320}, x: []float64{0.05, 0.6, 1}}, nil
		}
		return value{v: []float64{240}}, nil
	}
	return value{}, fmt.Errorf("no such metric")
}

func TestExpressions(t *testing.T) {
	for text, want := range map[string]string{
		"1 - makespan[omo] / min(makespan[fair-*])": "0.2",
		"29 % + 1":                               "1.29",
		"-(2 - 3) * 4 / 8":                       "0.5",
		"max(makespan[fair-*]) - mean(1, 2, 3)":  "338",
		"where_least(makespan[fair-*])":          "0.6",
		"where_least(1 - makespan[fair-*])":      "0.05",
		"spread(2, 3)":                           "1.5",
		"rise(makespan[fair-*])":                 "-40",
		"makespan[omo] < makespan[fair-*]":       "240 < 300 to 340; true",
		"makespan[fair-*] <= makespan[omo] + 80": "300 to 340 <= 320; false",
		"1 < 2 <= 2 == 2":                        "1 < 2 <= 2 == 2; true",
		"":                                       `error: a number, a function or a metric is expected at ""`,
		"1 +":                                    "error: a number, a function or a metric is expected",
		"2 3":                                    `error: "3" is too much`,
		"makespan":                               `error: "makespan" is neither a number nor followed by ( or [`,
		"speed[omo]":                             "error: speed[omo]: no such metric",
		"makespan[omo":                           "error: no ] after makespan[",
		"median(1, 2)":                           "error: no function median",
		"where_least(1, 2)":                      "error: where_least: of runs that were swept",
		"makespan[fair-*] + min(1) * (makespan[fair-*] < 1)": "error: ) is missing",
	} {
		r, err := evaluate(text, metrics)
		got := ""
		switch {
		case err != nil:
			got = "error: " + err.Error()
			want = strings.Replace(want, "error: ", "error: "+text+": ", 1)
			if strings.HasPrefix(got, want) {
				continue
			}
		case len(r.signs) > 0:
			got = fmt.Sprintf("%v; %v", &r, r.holds)
		default:
			got = r.String()
		}
		if got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}

func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		figure workload.Figure
		want   string
	}{
		{workload.Figure{Paper: "29 %", Ours: "0.2949"}, "29.5 % exact"},
		{workload.Figure{Paper: "29 %", Ours: "0.2951"}, "29.5 % differs: band 29.0 % to 29.0 %: not explained"},
		{workload.Figure{Paper: "29 %", Ours: "0.33", Band: []string{"20 %", "40 %"}}, "33.0 % within the band: 20.0 % to 40.0 %"},
		{workload.Figure{Paper: "29 %", Ours: "0.29", Fitted: true}, "29.0 % calibrated"},
		{workload.Figure{Paper: "29 %", Ours: "0.33", Fitted: true, Band: []string{"20 %", "40 %"}}, "33.0 % calibrated: band 20.0 % to 40.0 %"},
		{workload.Figure{Paper: "32..55 %", Ours: "0.4"}, "40.0 % within the band: 32.0 % to 55.0 %"},
		{workload.Figure{Paper: "32..55 %", Ours: "0.9", Beyond: "0"}, "90.0 % same direction: band 32.0 % to 55.0 %"},
		{workload.Figure{Paper: "32..55 %", Ours: "0.9", Beyond: "0", Because: "x"}, "90.0 % same direction: band 32.0 % to 55.0 %: x"},
		{workload.Figure{Paper: "32..55 %", Ours: "-0.1", Beyond: "0", Because: "x"}, "-10.0 % differs: band 32.0 % to 55.0 %: x"},
		{workload.Figure{Paper: "1319 s", Ours: "1319.4"}, "1319 s exact"},
		{workload.Figure{Paper: "54", Ours: "54 == 54"}, "54 == 54 exact"},
		{workload.Figure{Paper: "more", Ours: "2 > 1"}, "2 > 1 same direction"},
		{workload.Figure{Paper: "more", Ours: "1 > 2", Because: "x"}, "1 > 2 differs: x"},
	} {
		r, err := evaluate(c.figure.Ours, metrics)
		if err != nil {
			t.Fatal(err)
		}
		l, err := judge(&c.figure, &r)
		if err != nil {
			t.Fatal(err)
		}
		if got := l.Ours + " " + l.says(); got != c.want {
			t.Errorf("%+v\n got %s\nwant %s", c.figure, got, c.want)
		}
	}
}
