package study

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"mrlocal/slots/report"
	"mrlocal/trace"
)

const mapCount, reduceCount = 12, 6

// machine stands for a machine that runs a job of 12 maps and 6 reduces, or none.
// The times of tasks are functions of the number k of slots.
type fakeMachine struct {
	mapTime, copyTime, computeTime func(k int) time.Duration
	mapOnly                        bool
	trackers                       int
	made                           []setting
}

func (m *fakeMachine) run(s setting) (*run, error) {
	m.made = append(m.made, s)
	tasks := reduceCount
	if m.mapOnly {
		tasks = 0
	}
	r := &run{times: &Run{}, report: &report.Report{
		Policy: "fair", MakespanSeconds: 1, Jobs: []report.JobReport{{Name: "job", Maps: mapCount, Reduces: tasks}},
		Config: report.Config{Trackers: m.trackers, DataPlane: &report.DataPlane{BlockBytes: 4 << 20}},
	}}
	stream := trace.NewStream()
	stream.Attach(r.times)
	stream.Open(trace.Header{Slots: []trace.Slot{{}}})
	stream.Append(trace.Event{Op: trace.OpSubmit, A: int64(mapCount), B: int64(tasks)})
	task := int32(0)
	attempt := func(op trace.Op, kind trace.Kind, phase trace.Phase, flags trace.Flags, at time.Duration) {
		stream.Append(trace.Event{Op: op, Kind: kind, Phase: phase, Flags: flags, Task: task, At: at})
		if op == trace.OpFinish {
			task++
		}
	}
	at := time.Duration(0)
	for range mapCount {
		attempt(trace.OpStart, trace.Map, 0, 0, at)
		at += m.mapTime(s.MapSlots)
		attempt(trace.OpFinish, trace.Map, 0, trace.OK, at)
	}
	attempt(trace.OpStart, trace.Map, 0, 0, at) // one that is killed does not count
	at += time.Hour
	attempt(trace.OpFinish, trace.Map, 0, trace.Killed, at)
	for range tasks {
		attempt(trace.OpStart, trace.Reduce, 0, 0, at)
		attempt(trace.OpPhase, trace.Reduce, trace.PhaseCopy, 0, at)
		at += m.copyTime(s.ReduceSlots)
		attempt(trace.OpPhase, trace.Reduce, trace.PhaseSort, 0, at)
		at += m.computeTime(s.ReduceSlots)
		attempt(trace.OpFinish, trace.Reduce, 0, trace.OK, at)
	}
	return r, nil
}

func (m *fakeMachine) series() *series {
	return &series{most: setting{MapSlots: 4, ReduceSlots: 3}, rounds: 1, make: m.run, begin: func(int, int, setting) {}}
}

// processors is the time of tasks that compute: with more slots than n processors
// they take longer.
func processors(n int, alone time.Duration) func(k int) time.Duration {
	return func(k int) time.Duration { return alone * time.Duration(max(k, n)) / time.Duration(n) }
}

// seek is the time of tasks that slow each other down: two of them take three times as long as one.
func seek(alone time.Duration) func(k int) time.Duration {
	return func(k int) time.Duration { return alone * time.Duration(max(1, 2*k-1)) }
}

func measure(t *testing.T, s *series) *Result {
	t.Helper()
	r, err := tune(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Avg_k is 10 s with one or two slots, 15 s with three, 20 s with four: Avg_k/k is
// 10, 5, 5, 5. Tune chooses two slots, the least of equals.
func TestTheBestNumberHasTheLeastAvgPerSlot(t *testing.T) {
	m := &fakeMachine{mapTime: processors(2, 10*time.Second), mapOnly: true}
	c := measure(t, m.series()).Choices[0]
	if c.Flag != "--map-slots" || c.Best != 2 || c.Tasks != mapCount {
		t.Fatalf("%+v", c)
	}
	want := []Row{
		{Slots: 1, AvgS: 10, PerSlotS: 10, GainS: 0, LoseS: 60, Verdict: "too few"}, // Lose_1 = (12/1 - 12/2)·10
		{Slots: 2, AvgS: 10, PerSlotS: 5, Verdict: "best"},
		{Slots: 3, AvgS: 15, PerSlotS: 5, GainS: 20, LoseS: 20, Verdict: "no better, within the spread of the rounds"},
		{Slots: 4, AvgS: 20, PerSlotS: 5, GainS: 30, LoseS: 30, Verdict: "no better, within the spread of the rounds"}, // Gain_2 = (20 - 10)·12/4
	}
	for i, w := range want {
		got := c.Rows[i]
		if got.MakespanS, got.RoundsS = 0, nil; fmt.Sprint(got) != fmt.Sprint(w) {
			t.Errorf("got %+v, want %+v", got, w)
		}
	}
}

// Two tasks that slow each other down take 30 s each: Avg_2/2 = 15 is above Avg_1.
func TestFewerSlotsAreBetterWhereTasksHinderOneAnother(t *testing.T) {
	m := &fakeMachine{mapTime: seek(10 * time.Second), mapOnly: true}
	c := measure(t, m.series()).Choices[0]
	if c.Best != 1 || c.Rows[1].Verdict != "too many" || c.Rows[1].GainS != 120 || c.Rows[1].LoseS != 60 {
		t.Errorf("%+v", c)
	}
}

// [Split11] uses the guideline in this way. It bounds reduces in total, in their shuffle, and in
// their sort and compute. Each bound has its own Avg_k. They are measured with the number of map
// slots that was chosen before.
func TestReducesAreBoundedByTheirPeriods(t *testing.T) {
	m := &fakeMachine{mapTime: processors(2, time.Second), copyTime: seek(time.Second), computeTime: processors(3, 9*time.Second)}
	r := measure(t, m.series())
	got := map[string]int{}
	for _, c := range r.Choices {
		got[c.Flag] = c.Best
	}
	// Avg_k/k of all: 10, 12/2, 14/3; of the copy: 1, 3/2, 5/3; of the rest 9/k.
	want := map[string]int{"--map-slots": 2, "--reduce-slots": 3, "--reduce-shuffle": 1, "--reduce-compute": 3}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	flags := []string{"--map-slots 2 --reduce-slots 3", "--sched dynsplit --map-slots 2 --reduce-slots 3 --reduce-total 3 --reduce-shuffle 1"}
	if !slices.Equal(r.Flags, flags) {
		t.Errorf("got %q, want %q", r.Flags, flags)
	}
	for i, s := range m.made {
		if i > 4 && s.MapSlots != 2 {
			t.Errorf("reduces were measured with %d map slots", s.MapSlots)
		}
	}
}

func TestAPeriodThatTakesNoTimeIsNotBounded(t *testing.T) {
	m := &fakeMachine{mapTime: processors(1, time.Second), copyTime: seek(time.Millisecond), computeTime: processors(3, 9*time.Second)}
	r := measure(t, m.series())
	if c := r.Choices[2]; c.Flag != "--reduce-shuffle" || c.Best != 0 || strings.Contains(r.Flags[1], c.Flag) {
		t.Errorf("%+v, flags %q", c, r.Flags)
	}
	if !strings.Contains(string(r.Text()), "no bound: less than 1 % of a reduce's time") {
		t.Errorf("%s", r.Text())
	}
}

// The guideline assumes that P is the same in all runs. So all runs have the splits of the first one.
func TestAllRunsHaveTheSameTasks(t *testing.T) {
	m := &fakeMachine{mapTime: processors(2, time.Second), copyTime: seek(time.Second), computeTime: processors(3, time.Second)}
	o := m.series()
	o.rounds = 2
	measure(t, o)
	if first := m.made[0]; first != (setting{MapSlots: 4, ReduceSlots: 3}) {
		t.Errorf("the first run is made with %+v", first)
	}
	var slots []string
	for _, s := range m.made[1:] {
		slots = append(slots, fmt.Sprint(s.MapSlots, "/", s.ReduceSlots))
		if s.Reducers != reduceCount || s.BlockBytes != 4<<20 {
			t.Errorf("a run is made with %+v", s)
		}
	}
	if got, want := strings.Join(slots, " "), "1/0 2/0 3/0 4/0 1/0 2/0 3/0 4/0 2/1 2/2 2/3 2/1 2/2 2/3"; got != want {
		t.Errorf("runs of map/reduce slots: %s, want %s", got, want)
	}
}

// With more slots than tasks, fewer than k tasks would run at a time.

func TestThereAreNoMoreSlotsThanTasks(t *testing.T) {
	m := &fakeMachine{mapTime: processors(2, time.Second), mapOnly: true, trackers: 4}
	o := m.series()
	o.most.MapSlots = 20
	if c := measure(t, o).Choices[0]; len(c.Rows) != mapCount/4 || c.Edge != "no more slots were tried than a tracker has tasks" {
		t.Errorf("%d rows of 12 maps on 4 trackers, %q", len(c.Rows), c.Edge)
	}
}

func TestTheBestAtTheEndHasANoteOfTheEdge(t *testing.T) {
	m := &fakeMachine{mapTime: processors(4, time.Second), copyTime: seek(time.Second), computeTime: processors(3, 9*time.Second)}
	want := map[string]string{"--map-slots": "--map-slots", "--reduce-slots": "--reduce-slots", "--reduce-compute": "--reduce-slots"}
	for _, c := range measure(t, m.series()).Choices {
		edge := ""
		if flag := want[c.Flag]; flag != "" {
			edge = "no more were measured; " + flag + " measures more"
		}
		if c.Edge != edge {
			t.Errorf("%s: %q, want %q", c.Flag, c.Edge, edge)
		}
	}
}

func TestTheMedianOfTheRoundsCounts(t *testing.T) {
	round := 0
	m := &fakeMachine{mapOnly: true, mapTime: func(k int) time.Duration {
		if k == 2 && round == 2 { // a run that something else has slowed down
			return time.Minute
		}
		return 4 * time.Second
	}}
	o := m.series()
	o.most.MapSlots, o.rounds = 2, 3
	o.begin = func(done, all int, s setting) {
		round = (done + 1) / 2
		if all != 6 {
			t.Errorf("%d runs are announced", all)
		}
	}
	c := measure(t, o).Choices[0]
	if c.Best != 2 || c.Rows[1].AvgS != 4 || !slices.Equal(c.Rows[1].RoundsS, []float64{4, 60, 4}) || c.Rows[0].Verdict != "too few, within the spread of the rounds" {
		t.Errorf("%+v", c)
	}
}

func TestARunThatFailsEndsIt(t *testing.T) {
	m := &fakeMachine{mapTime: processors(2, time.Second), mapOnly: true}
	o := m.series()
	broken := errors.New("broken")
	o.make = func(s setting) (*run, error) {
		if len(m.made) == 2 {
			return nil, broken
		}
		return m.run(s)
	}
	if _, err := tune(o); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

func TestTextAndReport(t *testing.T) {
	m := &fakeMachine{mapTime: processors(2, 10*time.Second), mapOnly: true}
	o := m.series()
	o.most.MapSlots = 2
	r := measure(t, o)
	want := `job: 12 maps, 0 reduces, blocks of 4194304 bytes; under fair, medians of 1 run each

--map-slots: Avg_k is the mean time of a map, from its start to its commit, P = 12
  k   Avg_k  Avg_k/k  Gain   Lose  makespan  verdict
  1  10.00s   10.00s   0µs  60.00s     1.00s  too few
  2  10.00s    5.00s     -      -     1.00s  the paper's best; the fastest run
no more were measured; --map-slots measures more

flags:
  --map-slots 2
`
	if got := string(r.Text()); strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(want), " ") {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	// The run with one slot contradicts the guideline.
	r.Choices[0].Rows[0].MakespanS = 0.9
	for _, line := range []string{"900ms too few; the fastest run\n", "1.00s the paper's best\n"} {
		if got := strings.ReplaceAll(string(r.Text()), "\t", " "); !strings.Contains(got, line) {
			t.Errorf("%s\nhas no line %q", got, line)
		}
	}
	var text bytes.Buffer
	err := WriteJSON(&text, r)
	var back Result
	if err != nil || json.Unmarshal(text.Bytes(), &back) != nil || fmt.Sprint(back) != fmt.Sprint(*r) || back.Schema != 1 || back.Kind != "tune" {
		t.Errorf("%s: %v", text.String(), err)
	}
}
