package bench

import (
	"fmt"
	"strings"
	"testing"

	"mrlocal/workload"
)

// metrics is a lookup with a few metrics.
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
		"1 / 50%":                                "2",
		"1 | 2":                                  "error: | cannot stand inside of a number",
		"!1":                                     "error: a number, a function or a metric is expected",
		"-(2 - 3) * 4 / 8":                       "0.5",
		"max(makespan[fair-*]) - mean(1, 2, 3)":  "338",
		"where_least(makespan[fair-*])":          "0.6",
		"where_least(1 - makespan[fair-*])":      "0.05",
		"spread(2, 3)":                           "1.5",
		"rise(makespan[fair-*])":                 "-40",
		"inner(makespan[fair-*])":                "300",
		"least(makespan[fair-*], 310)":           "300 to 310",
		"ends(makespan[fair-*])":                 "320 to 340",
		"not_above(makespan[fair-*], 320) * 3":   "2",
		"not_above(makespan[omo])":               "error: not_above: of two values",
		"inner(1, 2)":                            "error: inner: of three numbers at least",
		"makespan[omo] < makespan[fair-*]":       "240 < 300 to 340; true",
		"makespan[fair-*] <= makespan[omo] + 80": "300 to 340 <= 320; false",
		"1 < 2 <= 2 == 2":                        "1 < 2 <= 2 == 2; true",
		"":                                       "error: expected operand, found 'EOF'",
		"1 +":                                    "error: expected operand, found 'EOF'",
		"2 3":                                    "error: expected 'EOF', found 3",
		"makespan":                               `error: "makespan" is neither a number nor followed by ( or [`,
		"speed[omo]":                             "error: speed[omo]: no such metric",
		"makespan[omo":                           "error: raw string literal not terminated",
		"mode(1, 2)":                             "error: no function mode",
		"where_least(1, 2)":                      "error: where_least: of runs that were swept",
		"makespan[fair-*] + min(1) * (makespan[fair-*] < 1)": "error: < cannot stand inside of a number",
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
			holds := true
			for _, m := range r.margin {
				holds = holds && (m.by > 0 || m.by == 0 && !m.strict)
			}
			got = fmt.Sprintf("%s; %v", shownSides([]relation{r}), holds)
		default:
			got = shownSides([]relation{r})
		}
		if got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}

// resultsOf evaluates an expression for each seed. The last result stands for that of the means.
func resultsOf(t *testing.T, ours ...string) (all []relation, mean *relation) {
	t.Helper()
	for _, text := range ours {
		r, err := evaluate(text, metrics)
		if err != nil {
			t.Fatal(err)
		}
		all, mean = append(all, r), &r
	}
	return all, mean
}

func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		figure workload.Figure
		seeds  []string
		want   string
	}{
		{workload.Figure{Paper: "29 %"}, []string{"0.2949"}, "29.5 exact"},
		{workload.Figure{Paper: "29 %"}, []string{"0.2951"}, "29.5 inside 21.75 to 36.25"},
		{workload.Figure{Paper: "29 %"}, []string{"0.3626"}, "36.3 outside 21.75 to 36.25"},
		{workload.Figure{Paper: "29 %", Band: []string{"27 %", "31 %"}}, []string{"0.33"}, "33.0 outside 27 to 31"},
		{workload.Figure{Paper: "29 %", Check: "input"}, []string{"0.29"}, "29.0 check of input"},
		{workload.Figure{Paper: "29 %", Check: "formula"}, []string{"0.9"}, "90.0 outside 21.75 to 36.25"},
		{workload.Figure{Paper: "more", Check: "repeat"}, []string{"2 > 1"}, "true check of repeat"},
		{workload.Figure{Paper: "more", Check: "repeat"}, []string{"1 > 2"}, "false words, direction opposite"},
		{workload.Figure{Paper: "29 %", Fitted: true}, []string{"0.29"}, "29.0 exact, fitted"},
		{workload.Figure{Paper: "29 %", Withdrawn: "the band, 20 % to 40 %"}, []string{"0.29"}, "29.0 outside, withdrawn: the band, 20 % to 40 %"},
		{workload.Figure{Paper: "29 %", Withdrawn: "the limit"}, []string{"0.29"}, "29.0 exact, withdrawn: the limit"},
		{workload.Figure{Paper: "32..55 %"}, []string{"0.4"}, "40.0 inside 32 to 55"},
		{workload.Figure{Paper: "32..55 %", Beyond: "0"}, []string{"0.9"}, "90.0 outside 32 to 55, direction same"},
		{workload.Figure{Paper: "32..55 %", Beyond: "0"}, []string{"-0.1"}, "-10.0 outside 32 to 55, direction opposite"},
		{workload.Figure{Paper: "1319 s"}, []string{"1319.4"}, "1319 exact"},
		{workload.Figure{Paper: "0.6"}, []string{"where_least(makespan[fair-*])"}, "0.6 exact"},
		{workload.Figure{Paper: "0.06"}, []string{"where_least(1 - makespan[fair-*])"}, "0.05 outside 0.045 to 0.075"}, // at an end
		// With several seeds the whole interval must be in the band.
		{workload.Figure{Paper: "10 s"}, []string{"9", "10", "11"}, "10 [7.5, 12.5] exact"},
		{workload.Figure{Paper: "10 s"}, []string{"8", "10", "12"}, "10 [5.0, 15.0] outside 7.5 to 12.5"},
		{workload.Figure{Paper: "10 s", Beyond: "1 s"}, []string{"18", "20", "22"}, "20 [15.0, 25.0] outside 7.5 to 12.5, direction same"},
		{workload.Figure{Paper: "10 s", Beyond: "16 s"}, []string{"18", "20", "22"}, "20 [15.0, 25.0] outside 7.5 to 12.5"},
		{workload.Figure{Paper: "54"}, []string{"54 == 54"}, "true words"},
		{workload.Figure{Paper: "54"}, []string{"54 == 53"}, "false words"},
		{workload.Figure{Paper: "more"}, []string{"2 > 1"}, "true words"},
		{workload.Figure{Paper: "more"}, []string{"1 > 2"}, "false words, direction opposite"},
		{workload.Figure{Paper: "more"}, []string{"3 > 1", "4 > 1", "5 > 1"}, "true [0.516, 5.48] words"},
		// Two of three seeds agree, but the interval contains 0.
		{workload.Figure{Paper: "more"}, []string{"3 > 1", "4 > 1", "0 > 1"}, "false [-3.84, 6.5] words"},
		// The sides are paired by seed, so the large difference between seeds does not matter.
		{workload.Figure{Paper: "more"}, []string{"11 > 10", "102 > 101", "1003 > 1002"}, "true [1, 1] words"},
		{workload.Figure{Paper: "no less"}, []string{"1 >= 1", "2 >= 2"}, "true [0, 0] words"},
		{workload.Figure{Paper: "more"}, []string{"1 > 1", "2 > 2"}, "false [0, 0] words"},
		// Each pair of a chain must hold.
		{workload.Figure{Paper: "less"}, []string{"makespan[omo] < makespan[fair-*] < 341"}, "true words"},
		{workload.Figure{Paper: "less"}, []string{"makespan[omo] < makespan[fair-*] < 340"}, "false words"},
	} {
		c.figure.Ours = c.seeds[0]
		all, mean := resultsOf(t, c.seeds...)
		l, err := judge(&c.figure, all, mean)
		if err != nil {
			t.Fatal(err)
		}
		got := string(l.Ours) + " "
		if l.CILow != "" {
			got += fmt.Sprintf("[%s, %s] ", l.CILow, l.CIHigh)
		}
		if got += l.judgement(); got != c.want {
			t.Errorf("%+v of %q\n got %s\nwant %s", c.figure, c.seeds, got, c.want)
		}
	}
}

// TestSidesAreMeansOverTheSeeds: the side max(...) is the mean of the largest numbers, and not the largest of the
// means.
func TestSidesAreMeansOverTheSeeds(t *testing.T) {
	all, _ := resultsOf(t, "max(9, 1) > 2", "max(1, 7) > 3")
	if got := shownSides(all); got != "8 > 2.5" {
		t.Error(got)
	}
}

func TestAWiderBandIsAnError(t *testing.T) {
	for _, c := range []struct {
		figure    workload.Figure
		complaint string
	}{
		{workload.Figure{Paper: "11.6 %", Ours: "1", Band: []string{"8.7 %", "14.5 %"}}, ""},
		{workload.Figure{Paper: "11.6 %", Ours: "1", Band: []string{"8.7 %", "14.7 %"}}, "the band 8.7 to 14.7 is wider than 8.7 to 14.5"},
		{workload.Figure{Paper: "11.6 %", Ours: "1", Band: []string{"8.5 %", "14.5 %"}}, "is wider than"},
		{workload.Figure{Paper: "11.6 %", Ours: "1", Band: []string{"14.5 %", "8.7 %"}}, "is wider than"},
		{workload.Figure{Paper: "32..55 %", Ours: "1", Band: []string{"30 %", "55 %"}}, "is wider than 32 to 55"},
		{workload.Figure{Paper: "32..55 %", Ours: "1", Band: []string{"32 %", "50 %"}}, ""},
		{workload.Figure{Paper: "faster", Ours: "1 < 2", Band: []string{"1", "2"}}, "a comparison has no band"},
		{workload.Figure{Paper: "5", Ours: "1", Band: []string{"5", "6"}, Withdrawn: "the band, 4 to 7"}, "the band is withdrawn"},
		{workload.Figure{Paper: "faster", Ours: "1"}, "is not a number"},
	} {
		err := check(&c.figure)
		if (err == nil) != (c.complaint == "") || err != nil && !strings.Contains(err.Error(), c.complaint) {
			t.Errorf("%+v: %v, want %q", c.figure, err, c.complaint)
		}
	}
}
