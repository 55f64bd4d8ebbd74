package view_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"mrlocal/trace"
	"mrlocal/view"
	"mrlocal/view/export"
	"mrlocal/view/svg"
	"mrlocal/view/viewtest"
)

// counted has the numbers that a renderer shows of a run; -1: it does not show the number.
type counted struct {
	bars, lent int
	phases     map[string]float64 // in seconds; nil: not shown
}

// TestAllRenderersAgree compares the numbers of bars and of lent bars, and the time in each phase.
func TestAllRenderersAgree(t *testing.T) {
	for _, run := range viewtest.Runs() {
		t.Run(run.Name, func(t *testing.T) {
			m := run.Model(t)
			totals := m.Totals()
			want := counted{totals.Bars, totals.Lent, map[string]float64{}}
			for p, d := range totals.Phases {
				if d > 0 {
					want.phases[trace.Phase(p).String()] = d.Seconds()
				}
			}
			for name, got := range map[string]counted{"json": ofJSON(t, m), "svg": ofSVG(t, m), "chrome": ofChrome(t, m), "tables": ofTables(t, m), "metrics": ofMetrics(t, m)} {
				if got.bars >= 0 && got.bars != want.bars || got.lent != want.lent {
					t.Errorf("%s has %d bars, %d lent, want %d and %d", name, got.bars, got.lent, want.bars, want.lent)
				}
				for phase, s := range want.phases {
					if got.phases != nil && math.Abs(got.phases[phase]-s) > 1e-6*max(1, s) {
						t.Errorf("%s has %v s of phase %s, want %v", name, got.phases[phase], phase, s)
					}
				}
			}
		})
	}
}

func ofJSON(t *testing.T, m *view.Model) counted {
	all := decodeTables(t, m.AppendJSON(nil, 0))
	c := counted{bars: len(all["bars"]["seq"]), phases: map[string]float64{}}
	ends := map[int64]int64{}
	for i, bar := range all["ends"]["bar"] {
		ends[bar] = all["ends"]["at"][i]
	}
	// As on the page, each bar is in its first phase until another one starts.
	type at struct{ phase, since int64 }
	in := map[int64]at{}
	for i, from := range all["bars"]["from"] {
		c.lent += int(all["bars"]["lent"][i])
		in[int64(i)] = at{int64(trace.Kind(all["bars"]["kind"][i]).FirstPhase()), from}
	}
	add := func(bar, to int64) {
		c.phases[trace.Phase(in[bar].phase).String()] += float64(to-in[bar].since) / 1e9
	}
	for i, bar := range all["phase_starts"]["bar"] {
		add(bar, all["phase_starts"]["at"][i])
		in[bar] = at{all["phase_starts"]["phase"][i], all["phase_starts"]["at"][i]}
	}
	for bar := range in {
		add(bar, ends[bar])
	}
	return c
}

func ofSVG(t *testing.T, m *view.Model) counted {
	var b bytes.Buffer
	if err := svg.Write(&b, []view.Named{{Model: m}}, svg.Options{}); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	c := counted{bars: strings.Count(text, `<g class="bar">`), lent: strings.Count(text, `<g class="bar lent">`)}
	c.bars += c.lent
	for _, part := range strings.Split(text, `data-bars="`)[1:] {
		var bars, lent int
		if _, err := fmt.Sscanf(part, `%d" data-lent="%d"`, &bars, &lent); err != nil {
			t.Fatal(err)
		}
		c.bars, c.lent = c.bars+bars, c.lent+lent
	}
	return c
}

func ofChrome(t *testing.T, m *view.Model) counted {
	var b bytes.Buffer
	if err := export.Chrome(&b, m); err != nil {
		t.Fatal(err)
	}
	var file struct {
		TraceEvents []struct {
			Ph, Name, Cat string
			Dur           float64
		}
	}
	if err := json.Unmarshal(b.Bytes(), &file); err != nil {
		t.Fatal(err)
	}
	c := counted{phases: map[string]float64{}}
	for _, e := range file.TraceEvents {
		switch {
		case e.Ph != "X":
		case e.Cat == "phase":
			c.phases[e.Name] += e.Dur / 1e6
		default:
			c.bars++
			if strings.HasSuffix(e.Cat, ",lent") {
				c.lent++
			}
		}
	}
	return c
}

func ofTables(t *testing.T, m *view.Model) counted {
	var b bytes.Buffer
	if err := export.TaskTable(&b, m); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	c := counted{bars: len(rows) - 1, phases: map[string]float64{}}
	for _, row := range rows[1:] {
		for i, column := range rows[0] {
			if phase, ok := strings.CutSuffix(column, "_s"); ok {
				v, _ := strconv.ParseFloat(row[i], 64)
				c.phases[phase] += v
			}
			if column == "lent" && row[i] == "true" {
				c.lent++
			}
		}
	}
	return c
}

func ofMetrics(t *testing.T, m *view.Model) counted {
	var b bytes.Buffer
	if err := export.Metrics(&b, m); err != nil {
		t.Fatal(err)
	}
	c := counted{phases: map[string]float64{}}
	for line := range strings.SplitSeq(b.String(), "\n") {
		name, value, _ := strings.Cut(line, " ")
		v, _ := strconv.ParseFloat(value, 64)
		if phase, ok := strings.CutPrefix(name, `mrlocal_phase_seconds_total{phase="`); ok {
			c.phases[strings.TrimSuffix(phase, `"}`)] = v
		}
		if strings.HasPrefix(name, "mrlocal_slot_loans_total{") {
			c.lent += int(v)
		}
		if strings.HasPrefix(name, "mrlocal_attempts_total{") {
			c.bars += int(v)
		}
	}
	return c
}
