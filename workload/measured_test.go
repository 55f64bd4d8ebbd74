package workload_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mrlocal/internal/ppm"
	"mrlocal/workload"
)

const measuredFile = `
jobs:
  - {name: links, job: grep, args: {regexp: a.c, input: wiki, output: out}}
  - {name: count, after: links, job: wordcount, args: {input: wiki, output: out2}}
`

func measured() *workload.Measured {
	half, one, two := ppm.One/2, ppm.One, 2*ppm.One
	task := workload.TaskTimes{Fixed: time.Millisecond, Spread: []ppm.Share{half, one, two}, Use: workload.Use{Slowdown: []ppm.Share{one, two}, CPU: one}}
	small := workload.Division{MapBytes: 4 << 20, Map: 9 * time.Millisecond, OutputRatio: one, ReducePerMiB: time.Millisecond}
	large := workload.Division{MapBytes: 8 << 20, Map: 11 * time.Millisecond, OutputRatio: half, ReducePerMiB: 2 * time.Millisecond}
	first := workload.Stage{Size: workload.Size{Maps: 4, Reduces: 2, InputBytes: 16 << 20}, Start: 5 * time.Millisecond, Divided: []workload.Division{small, large}, Map: task, Reduce: task}
	second := workload.Stage{Size: workload.Size{Maps: 1, Reduces: 1, InputBytes: 1 << 20}, Divided: []workload.Division{small}, Map: task, Reduce: task}
	return &workload.Measured{Cores: 2, WarmUp: time.Second, Probe: workload.Probe{Alone: 20 * time.Millisecond, All: 30 * time.Millisecond}, Jobs: []workload.ProfiledJob{
		{Name: "links", Runs: "grep regexp=a.c", Stages: []workload.Stage{first, second}},
		{Name: "it's", Runs: "wordcount", Stages: []workload.Stage{first}},
	}}
}

// TestMeasuredIsReadAsWritten checks that reading the section of Text gives the same values.
func TestMeasuredIsReadAsWritten(t *testing.T) {
	f, err := workload.Read("w", strings.NewReader(measuredFile+measured().Text()))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(measured(), f.Measured); d != "" {
		t.Error(d)
	}
}

// TestEachMeasuredKeyIsSimulated changes each value of the section, and finds another prediction. The probe
// scales the section in validate.
func TestEachMeasuredKeyIsSimulated(t *testing.T) {
	// The file gives the first prediction. Maps of 1 and 6 MiB lie below and between the divisions.
	predict := func(text string) (all [3]string) {
		f, err := workload.Read("w", strings.NewReader(measuredFile+text))
		if err != nil {
			t.Fatalf("%v:\n%s", err, text)
		}
		for i, mib := range []int64{0, 1, 6} {
			p, err := f.Predicted(f.Measured, func(string, int) (workload.Size, bool) {
				return workload.Size{Maps: 1, Reduces: 2, InputBytes: mib << 20}, mib > 0
			})
			if err != nil {
				t.Fatal(err)
			}
			all[i] = fmt.Sprintf("%+v %+v", p.Cluster, p.Jobs)
		}
		return all
	}
	text, changed := measured().Text(), 0
	for _, at := range regexp.MustCompile(`\w+: \[?[0-9][^,\]}\n]*`).FindAllStringIndex(text, -1) {
		if key, _, _ := strings.Cut(text[at[0]:at[1]], ":"); key == "alone" || key == "all" {
			continue
		}
		// Another first digit keeps values above 0 and lists in ascending order.
		digit := at[0] + strings.IndexAny(text[at[0]:at[1]], "123456789")
		if digit < at[0] {
			continue // 0s and the like
		}
		other := text[:digit] + string("1234567898"[text[digit]-'0']) + text[digit+1:]
		if strings.HasPrefix(text[at[0]:], "spread: [0.5") || strings.HasPrefix(text[at[0]:], "slowdown: [1") {
			other = text[:digit] + strings.Replace(text[digit:], "2]", "3]", 1)
		}
		if predict(text) == predict(other) {
			t.Errorf("%s changes no prediction", text[at[0]:at[1]])
		}
		changed++
	}
	if changed < 20 {
		t.Errorf("%d values", changed)
	}
}

// TestDivideStaysOnTheLine checks Divide between two divisions, and outside of all.
func TestDivideStaysOnTheLine(t *testing.T) {
	s := &measured().Jobs[0].Stages[0]
	for mib, want := range map[int64]time.Duration{2: 5 * time.Millisecond, 4: 9 * time.Millisecond, 6: 10 * time.Millisecond, 8: 11 * time.Millisecond, 16: 22 * time.Millisecond} {
		if d := s.Divide(mib << 20); d.Map != want || d.MapBytes != mib<<20 {
			t.Errorf("a map of %d MiB takes %v, want %v", mib, d.Map, want)
		}
	}
	if d := s.Divide(6 << 20); d.OutputRatio != ppm.One*3/4 || d.ReducePerMiB != 1500*time.Microsecond {
		t.Errorf("%+v", d)
	}
}

// TestASlowMachine has a probe that takes 1.5 times as long alone and 3 times as long on all cores.
// Then all times are 1.5 times as long, and slowdowns on all cores are doubled. The original
// Measured does not change.
func TestASlowMachine(t *testing.T) {
	times := func(m *workload.Measured) []time.Duration {
		s := &m.Jobs[0].Stages[0]
		return []time.Duration{m.WarmUp, s.Start, s.Map.Fixed, s.Reduce.Fixed, s.Divided[1].Map, s.Divided[1].ReducePerMiB}
	}
	m := measured()
	slow := m.Slowed(1.5, 3)
	for i, d := range times(m) {
		if got := times(slow)[i]; d == 0 || got != d*3/2 {
			t.Errorf("time %d is %v, and %v on the slow machine", i, d, got)
		}
	}
	if d := cmp.Diff(measured(), m); d != "" {
		t.Error(d)
	}
	s := &slow.Jobs[0].Stages[0]
	for _, got := range [][]ppm.Share{s.Map.Slowdown, s.Reduce.Slowdown} {
		if d := cmp.Diff([]ppm.Share{ppm.One, 4 * ppm.One}, got); d != "" {
			t.Error(d)
		}
	}
	if s.Divided[1].OutputRatio != ppm.One/2 || s.Map.CPU != ppm.One || s.Size != m.Jobs[0].Stages[0].Size {
		t.Errorf("%+v", s)
	}
	if d := cmp.Diff(m, m.Slowed(1, 1)); d != "" {
		t.Error(d)
	}
}

// TestBetweenOneTaskAndAllCores has four cores, and a probe that is only slower on all of them.
func TestBetweenOneTaskAndAllCores(t *testing.T) {
	for k, want := range map[float64]float64{1: 1, 2.5: 1.5, 4: 2, 8: 2} {
		if got := workload.SlowerBeside(k, 4, 1, 2); got != want {
			t.Errorf("%v at work: %v times as long, want %v", k, got, want)
		}
	}
	if got := workload.SlowerBeside(1, 1, 1, 2); got != 2 {
		t.Errorf("on one core %v", got)
	}
	if alone, all := (workload.Probe{Alone: 2, All: 6}).Slower(workload.Probe{Alone: 1, All: 4}); alone != 2 || all != 1.5 {
		t.Errorf("%v, %v", alone, all)
	}
	if alone, all := (workload.Probe{Alone: 2, All: 6}).Slower(workload.Probe{}); alone != 1 || all != 1 {
		t.Errorf("by nothing that is known: %v, %v", alone, all)
	}
}

// TestPredictedFollowsTheChain predicts grep, which is a chain of two jobs. A job that waits for grep
// waits for both. A job that was not measured gets the times of a job of the same signature.
func TestPredictedFollowsTheChain(t *testing.T) {
	f, err := workload.Read("w", strings.NewReader(measuredFile))
	if err != nil {
		t.Fatal(err)
	}
	larger := workload.Size{Maps: 8, Reduces: 4, InputBytes: 48 << 20}
	p, err := f.Predicted(measured(), func(job string, stage int) (workload.Size, bool) { return larger, job == "count" && stage == 0 })
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range p.Jobs {
		j := &p.Jobs[i]
		after := ""
		for _, n := range j.After {
			after += " after " + p.Jobs[n].Name
		}
		got = append(got, j.Name+after+" of "+j.StepOf)
	}
	if d := cmp.Diff([]string{"links of ", "count after links.2 of ", "links.2 after links of links"}, got); d != "" {
		t.Error(d)
	}
	count := &p.Jobs[1]
	if count.Maps != 8 || count.Reduces != 4 || count.MapInputBytes != 6<<20 || count.Submit != 5*time.Millisecond {
		t.Errorf("%d maps, %d reduces, %d bytes a map, from %v", count.Maps, count.Reduces, count.MapInputBytes, count.Submit)
	}
	// Maps of 6 MiB are between two measured divisions: 10 ms, with a spread from half to twice that. A
	// reduce copies 9 MiB: 1 ms, and 1.5 ms for each MiB.
	for task := range 1000 {
		for d, middle := range map[time.Duration]time.Duration{
			count.MapTime.At(1, 1, false, task): 10 * time.Millisecond, count.ReduceTime.At(1, 1, true, task): 14500 * time.Microsecond,
		} {
			if d < middle/2 || d > 2*middle {
				t.Fatalf("task %d takes %v", task, d)
			}
		}
	}
	if len(f.Jobs) != 2 || f.Jobs[1].Maps != 0 {
		t.Error("the file itself has changed")
	}
}

func TestWhatWasNotMeasuredIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		measuredFile + "  - {name: other, job: wordcount, args: {input: wiki, alnum: true, output: o}}\n": `w:5:5: job other: nothing that runs "wordcount alnum=true" was measured`,
	} {
		f, err := workload.Read("w", strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Predicted(measured(), func(string, int) (workload.Size, bool) { return workload.Size{}, false }); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for change, want := range map[string][2]string{
		"spread":   {"[0.5, 1, 2]", "[1, 0.5, 2]"},
		"slowdown": {"slowdown: [1, 2]", "slowdown: [1, 0.5]"},
		"no maps":  {"{maps: 4, ", "{"},
		"divided":  {"map_bytes: 4194304", "map_bytes: 9MiB"},
		"no cores": {"cores: 2", "warm_up: 2s"},
	} {
		text := strings.Replace(measuredFile+measured().Text(), want[0], want[1], 1)
		if _, err := workload.Read("w", strings.NewReader(text)); err == nil {
			t.Errorf("%s: read", change)
		}
	}
}
