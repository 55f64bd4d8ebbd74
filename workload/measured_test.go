package workload_test

import (
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
	task := workload.TaskTimes{Fixed: time.Millisecond, PerMiB: 2 * time.Millisecond, Spread: []ppm.Share{half, one, two}, Slowdown: []ppm.Share{one, two}, CPU: one}
	first := workload.Stage{Size: workload.Size{Maps: 4, Reduces: 2, InputBytes: 16 << 20}, Start: 5 * time.Millisecond, OutputRatio: half, Map: task, Reduce: task}
	second := workload.Stage{Size: workload.Size{Maps: 1, Reduces: 1, InputBytes: 1 << 20}, OutputRatio: one, Map: task, Reduce: task}
	return &workload.Measured{Cores: 2, MemoryBytes: 9_000_000_000, WarmUp: time.Second, Jobs: []workload.MeasuredJob{
		{Name: "links", Runs: "grep regexp=a.c", Stages: []workload.Stage{first, second}},
		{Name: "it's", Runs: "wordcount", Stages: []workload.Stage{first}},
	}}
}

// TestMeasuredIsReadAsWritten: the section that profile writes means what it was made of.
func TestMeasuredIsReadAsWritten(t *testing.T) {
	f, err := workload.Read("w", strings.NewReader(measuredFile+measured().Text()))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(measured(), f.Measured); d != "" {
		t.Error(d)
	}
}

// TestPredictedFollowsTheChain: grep is two jobs, and what waits for it waits for both. A job
// that was not measured takes the times of one that runs the same.
func TestPredictedFollowsTheChain(t *testing.T) {
	f, err := workload.Read("w", strings.NewReader(measuredFile))
	if err != nil {
		t.Fatal(err)
	}
	larger := workload.Size{Maps: 8, Reduces: 4, InputBytes: 64 << 20}
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
		got = append(got, j.Name+after)
	}
	if d := cmp.Diff([]string{"links", "count after links.2", "links.2 after links"}, got); d != "" {
		t.Error(d)
	}
	// A map of 8 MiB takes 17 ms, from half to twice of it; a reduce copies 8 MiB as well.
	count := &p.Jobs[1]
	if count.Maps != 8 || count.Reduces != 4 || count.MapInputBytes != 8<<20 || count.Submit != 5*time.Millisecond {
		t.Errorf("%d maps, %d reduces, %d bytes a map, from %v", count.Maps, count.Reduces, count.MapInputBytes, count.Submit)
	}
	for task := range 1000 {
		for _, d := range []time.Duration{count.MapTime.At(1, 1, false, task), count.ReduceTime.At(1, 1, true, task)} {
			if d < 8500*time.Microsecond || d > 34*time.Millisecond {
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
		"no cores": {"cores: 2", "warm_up: 2s"},
	} {
		text := strings.Replace(measuredFile+measured().Text(), want[0], want[1], 1)
		if _, err := workload.Read("w", strings.NewReader(text)); err == nil {
			t.Errorf("%s: read", change)
		}
	}
}
