package view_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"mrlocal/slots"
	"mrlocal/slots/explain"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/report"
	"mrlocal/trace"
	"mrlocal/view"
	"mrlocal/view/viewtest"
)

// fig5 returns the text of a workload of the papers.
func fig5(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile("../bench/workloads/fig5.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestTheModelHasWhatReportAndGanttHave compares model, report and gantt, which different code makes of
// the same run.
func TestTheModelHasWhatReportAndGanttHave(t *testing.T) {
	for _, name := range []string{"fifo", "fair", "pi-dhfs", "pd-dhfs", "dynamicmr", "dynsplit", "ras", "omo", "yarn"} {
		for _, cost := range []string{"l0", "l1"} {
			t.Run(name+"/"+cost, func(t *testing.T) {
				for _, s := range []viewtest.Result{viewtest.Simulate(t, fig5(t), name, cost), viewtest.Simulate(t, viewtest.Faulty, name, cost)} {
					compareWithReport(t, s)
					comparePhases(t, s)
				}
			})
		}
	}
}

func compareWithReport(t *testing.T, s viewtest.Result) {
	totals := s.Model.Totals()
	var c report.Counters
	var busy, lent float64
	for i := range s.Report.Jobs {
		j := &s.Report.Jobs[i].Counters
		c.LaunchedMaps += j.LaunchedMaps + j.LaunchedReduces
		c.KilledMaps += j.KilledMaps + j.KilledReduces
		c.FailedMaps += j.FailedMaps + j.FailedReduces
	}
	for _, slot := range s.Report.Slots {
		busy += slot.BusyS
		lent += slot.LentS
	}
	if int64(totals.Bars) != c.LaunchedMaps {
		t.Errorf("%d bars, the report has %d attempts", totals.Bars, c.LaunchedMaps)
	}
	// An attempt on a tracker that is lost counts as killed.
	if killed := int64(totals.Ends[trace.EndKilled] + totals.Ends[trace.EndLost]); killed != c.KilledMaps {
		t.Errorf("%d bars were killed, the report has %d", killed, c.KilledMaps)
	}
	if failed := int64(totals.Ends[trace.EndFailed]); failed != c.FailedMaps {
		t.Errorf("%d bars failed, the report has %d", failed, c.FailedMaps)
	}
	if got := totals.Busy.Seconds(); math.Abs(got-busy) > 1e-6 {
		t.Errorf("bars take %v s, the report has %v", got, busy)
	}
	if got := totals.LentTime.Seconds(); math.Abs(got-lent) > 1e-6 {
		t.Errorf("lent bars take %v s, the report has %v", got, lent)
	}
	for i := range s.Report.Jobs {
		j, want := &s.Model.Jobs[i], &s.Report.Jobs[i]
		if j.Name != want.Name || j.Finish.Seconds() != want.FinishS || j.MapsDone.Seconds() != want.MapsDoneS && want.MapsDoneS >= 0 || j.Start.Seconds() != want.StartS {
			t.Errorf("job %+v, the report has %+v", j, want)
		}
		if j.State == slots.Succeeded && (int(j.Finished[trace.Map]) != want.Maps || int(j.Finished[trace.Reduce]) != want.Reduces) {
			t.Errorf("job %s: %d maps and %d reduces are done, of %d and %d", j.Name, j.Finished[trace.Map], j.Finished[trace.Reduce], want.Maps, want.Reduces)
		}
	}
}

// comparePhases compares the time in each phase with the letters of the gantt by phase. The cells
// of the gantt are so short that nearly every cell has only one phase.
func comparePhases(t *testing.T, s viewtest.Result) {
	const cell = time.Second / 10
	var b bytes.Buffer
	if err := s.Timeline.Gantt(&b, trace.GanttOptions{Cell: cell, Width: 1 << 20, By: trace.ByPhase}); err != nil {
		t.Fatal(err)
	}
	letters := map[trace.Phase]string{trace.PhaseCompute: "M", trace.PhaseIO: "I", trace.PhaseCopy: "C", trace.PhaseSort: "S", trace.PhaseReduce: "R", trace.PhaseHeld: "H"}
	var rows []string
	for line := range strings.SplitSeq(b.String(), "\n") {
		// The text of a row stands behind the label: the kind and the number of the slot.
		if f := strings.Fields(line); len(f) == 3 && f[0] != "tracker" {
			rows = append(rows, f[2])
		}
	}
	all := strings.Join(rows, "")
	totals := s.Model.Totals()
	for phase, letter := range letters {
		drawn := time.Duration(strings.Count(all, letter)+strings.Count(all, strings.ToLower(letter))) * cell
		// Each bar may differ by a cell at each end of the phase.
		if off := (drawn - totals.Phases[phase]).Abs(); off > cell*time.Duration(totals.Bars) {
			t.Errorf("phase %v takes %v, the gantt draws %v", phase, totals.Phases[phase], drawn)
		}
	}
}

// TestARecordedRunIsTheRun checks that the event file gives the same model as the run.
func TestARecordedRunIsTheRun(t *testing.T) {
	s := viewtest.Simulate(t, viewtest.Faulty, "dynamicmr", "l1")
	loaded, err := view.Load(bytes.NewReader(s.Events), nil)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := string(loaded.AppendJSON(nil, 0)), string(s.Model.AppendJSON(nil, 0)); a != b {
		t.Errorf("loaded %s\nwant %s", a, b)
	}
	cut, err := view.Load(bytes.NewReader(s.Events[:len(s.Events)/2]), nil)
	if err == nil || cut == nil || cut.Ended || len(cut.Bars) == 0 || len(cut.Bars) >= len(loaded.Bars) {
		t.Errorf("half of the file: %v, %+v", err, cut)
	}
	if m, err := view.Load(strings.NewReader("{}"), nil); err == nil || m != nil {
		t.Errorf("no event file: %v", err)
	}
}

// table is a table of the JSON, by column.
type table map[string][]int64

var jsonTables = []string{"bars", "ends", "recounts", "phase_starts", "decisions", "spills", "buffers", "fetches", "usage", "losses"}

func decodeTables(t *testing.T, text []byte) map[string]table {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	all := map[string]table{}
	for _, name := range jsonTables {
		var columns table
		if err := json.Unmarshal(raw[name], &columns); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all[name] = columns
	}
	return all
}

// TestDeltasMakeTheWhole checks that many small answers together give the same tables as one answer.
func TestDeltasMakeTheWhole(t *testing.T) {
	s := viewtest.Simulate(t, viewtest.Faulty, "pi-dhfs", "l1")
	d, err := trace.NewDecoder(bytes.NewReader(s.Events))
	if err != nil {
		t.Fatal(err)
	}
	m := view.New()
	if err := m.Open(d.Header()); err != nil {
		t.Fatal(err)
	}
	got, known := map[string]table{}, uint64(0)
	ask := func() {
		for name, columns := range decodeTables(t, m.AppendJSON(nil, known)) {
			if got[name] == nil {
				got[name] = table{}
			}
			for column, values := range columns {
				got[name][column] = append(got[name][column], values...)
			}
		}
		known = m.Seq
	}
	for n := 0; ; n++ {
		e, err := d.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		m.Add(&e, d.Texts(e.Ref))
		if n%37 == 0 {
			ask()
		}
	}
	ask()
	if want := decodeTables(t, s.Model.AppendJSON(nil, 0)); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

// TestRowsAreBounded checks that a model at its bound keeps the first bars and counts the dropped rows.
func TestRowsAreBounded(t *testing.T) {
	s := viewtest.Simulate(t, fig5(t), "pi-dhfs", "l1")
	m := view.New()
	m.SetMostRows(100)
	d, err := trace.NewDecoder(bytes.NewReader(s.Events))
	if err == nil {
		err = m.Open(d.Header())
	}
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range d.All() {
		if err != nil {
			t.Fatal(err)
		}
		m.Add(e, d.Texts(e.Ref))
	}
	rows := len(m.Bars) + len(m.Ends) + len(m.Decisions) + len(m.Phases)
	if m.Dropped == 0 || rows > 300 || len(m.Bars) == 0 {
		t.Errorf("%d rows, %d dropped", rows, m.Dropped)
	}
	// Bars that are kept have their ends.
	for i := range m.Bars {
		if m.Bars[i].How == trace.EndNone {
			t.Errorf("bar %d has no end", i)
		}
	}
}

// TestCurves has two pools with weights 2 and 1 on 6 map slots. Their fair shares are 4 and 2 while
// both want more. The sum of the use is the time of the bars.
func TestCurves(t *testing.T) {
	s := viewtest.Simulate(t, `
cluster: {trackers: 1, map_slots: 6, reduce_slots: 1}
pools: [{name: prod, weight: 2}, {name: adhoc}]
jobs:
  - {name: a, pool: prod, maps: 40, reduces: 1, map_time: 10s, reduce_time: 10s}
  - {name: b, pool: adhoc, maps: 40, reduces: 1, map_time: 10s, reduce_time: 10s}
`, "fair", "l0")
	c := s.Model.Curves(0, s.Model.Last, 100, s.Model.Sharing)
	var use [2]float64
	for p := range c.Pools {
		for k := range 2 {
			for _, v := range c.Pools[p].Use[k] {
				use[k] += v * c.Step.Seconds()
			}
		}
	}
	if busy := s.Model.Totals().Busy.Seconds(); math.Abs(use[0]+use[1]-busy) > 1e-6 {
		t.Errorf("the use adds up to %v s, the bars to %v", use[0]+use[1], busy)
	}
	if a, b := c.Pools[0].ShareOf[trace.Map][2], c.Pools[1].ShareOf[trace.Map][2]; a != 4 || b != 2 {
		t.Errorf("fair shares of map slots are %v and %v", a, b)
	}
	if d := c.Pools[0].Demand[trace.Map][2]; d != 40 {
		t.Errorf("demand of map slots is %v", d)
	}
	if a := c.Pools[0].ShareOf[trace.Reduce][2]; a != 0 {
		t.Errorf("a fair share of %v reduce slots while the gate is closed", a)
	}
	if !json.Valid(c.AppendJSON(nil)) {
		t.Error("the JSON is not valid")
	}
}

// TestSharesAreThoseThatThePolicyTells compares the fair shares at each decision with the number in its reason. At
// 100 s of figure 5, pd-dhfs shares its 108 slots between two pools whose demands for each kind differ. The reasons of
// fair-deficit have the shares of jobs, which have another name.
func TestSharesAreThoseThatThePolicyTells(t *testing.T) {
	for name, want := range map[string]slots.Sharing{"fair": slots.PerKind, "fair-deficit": slots.PerKind, "pi-dhfs": slots.PerKind, "pd-dhfs": slots.Together, "fifo": slots.NoShares, "yarn": slots.NoShares, "capacity": slots.NoShares} {
		s := viewtest.Simulate(t, fig5(t), name, "l0")
		if s.Model.Sharing != want {
			t.Errorf("%s shares %v, want %v", name, s.Model.Sharing, want)
		}
		type moment struct {
			at  int64
			job int32
			k   trace.Kind
		}
		shares := map[moment]float64{}
		s.Model.EachStanding(want, func(at time.Duration, now []view.Standing, _ [trace.Kinds]int32) {
			for job := range s.Model.Jobs {
				for k := range trace.Kind(trace.Kinds) {
					p := now[s.Model.Jobs[job].Pool]
					if shares[moment{int64(at), int32(job), k}] = p.Share; want == slots.PerKind {
						shares[moment{int64(at), int32(job), k}] = p.ShareOf[k]
					}
				}
			}
		})
		compared := 0
		err := explain.Reasons(bytes.NewReader(s.Events), explain.Options{Policy: registry.ForReplay}, func(x *explain.Reason) bool {
			for _, n := range x.Numbers {
				text, _, _ := strings.Cut(n.Value, " ")
				told, err := strconv.ParseFloat(text, 64)
				row := slices.IndexFunc(s.Model.Bars, func(b view.Bar) bool { return b.Seq == x.Seq })
				if got, ok := shares[moment{x.At, x.Job, s.Model.Bars[row].Kind}]; n.Name == "fair share" && ok {
					if compared++; err != nil || math.Abs(got-told) > 0.01 {
						t.Errorf("%s at %v: the share of %s is %v, its reason says %s", name, time.Duration(x.At), s.Model.Jobs[x.Job].Name, got, n.Value)
					}
				}
			}
			return !t.Failed()
		})
		if err != nil || (compared > 100) != (want != slots.NoShares && name != "fair-deficit") {
			t.Errorf("%s: %d shares compared, %v", name, compared, err)
		}
		if c := s.Model.Curves(100*time.Second, 100*time.Second+1, 1, want); want == slots.Together && (c.Pools[0].Share[0] != 54 || c.Pools[1].Share[0] != 54) {
			t.Errorf("%s at 100 s: %v", name, c.Pools)
		}
	}
}

// TestAPoolThatWaitsForSlotsIsBelowItsShare has a pool that comes when another one has all slots.
func TestAPoolThatWaitsForSlotsIsBelowItsShare(t *testing.T) {
	s := viewtest.Simulate(t, `
cluster: {trackers: 1, map_slots: 6, reduce_slots: 1}
jobs:
  - {name: a, pool: old, maps: 12, map_time: 20s}
  - {name: b, pool: new, submit: 10s, maps: 6, map_time: 10s}
`, "fair", "l0")
	all, large := s.Model.Shortfalls(s.Model.Sharing)
	if len(all) != 1 || large || s.Model.Pools[all[0].Pool].Name != "new" || all[0].From != 10*time.Second || all[0].To != 20*time.Second || all[0].Slots != 3 {
		t.Errorf("%+v, %v", all, large)
	}
	if none, _ := s.Model.Shortfalls(slots.NoShares); none != nil {
		t.Errorf("without shares: %+v", none)
	}
}

// Short gaps between the attempts of a pool are no shortfall, however close they are to each other.
func TestGapsBetweenAttemptsAreNoShortfall(t *testing.T) {
	var sleep []string
	for i := range 20 {
		from := 90 + float64(i)/2
		sleep = append(sleep, fmt.Sprintf("A/m/%d 0 %g %g", i, from, from+0.48))
	}
	m := tape{slots: "M", arrive: 90, sleep: sleep}.run(t, "gaps").Model
	if all, _ := m.Shortfalls(slots.PerKind); len(all) > 0 {
		t.Errorf("pools that lack a slot for 0.02 s, 19 times in 100 s: %+v", all)
	}
}

// A job that waits for a limit on running jobs has no demand, also if the model ends before the job
// is admitted.
func TestAWaitingJobHasNoDemand(t *testing.T) {
	for _, limit := range []string{"users: [{name: ann, max_running_jobs: 1}]\npools: [{name: lab}]", "users: [{name: ann}]\npools: [{name: lab, max_running_jobs: 1}]"} {
		s := viewtest.Simulate(t, "cluster: {trackers: 1, map_slots: 2, reduce_slots: 1}\n"+limit+`
jobs:
  - {name: a, pool: lab, user: ann, maps: 4, map_time: 10s, reduce_time: 10s}
  - {name: b, pool: lab, user: ann, submit: 1s, maps: 6, map_time: 10s, reduce_time: 10s}
  - {name: c, pool: lab, user: ann, submit: 2s, maps: 8, map_time: 10s, reduce_time: 10s}
`, "fair", "l0")
		whole := s.Model.Curves(0, s.Model.Last, 40, s.Model.Sharing)
		for cut := range len(s.Events) {
			if s.Events[cut] != '\n' {
				continue
			}
			m, _ := view.Load(bytes.NewReader(s.Events[:cut+1]), nil) // the end of the file is missing
			if m == nil || len(m.Pools) == 0 {
				continue
			}
			got := m.Curves(0, s.Model.Last, 40, s.Model.Sharing).Pools[0].Demand[trace.Map]
			for i, want := range whole.Pools[0].Demand[trace.Map][:m.Last/whole.Step] {
				if got[i] != want {
					t.Fatalf("%s: at %v the demand is %v slots, and %v in a model that ends at %v", limit, whole.Step*time.Duration(i), want, got[i], m.Last)
				}
			}
		}
		if first := whole.Pools[0].Demand[trace.Map][2]; first != 4 {
			t.Errorf("%s: the demand is %v slots, want 4, of the first job alone", limit, first)
		}
	}
}

// A job that fails while it waits for a limit frees no place of another job.
func TestAJobThatNeverRanFreesNoPlace(t *testing.T) {
	s := trace.NewStream()
	m := view.New()
	s.Attach(m)
	s.Open(trace.Header{Slots: []trace.Slot{{}}, Config: json.RawMessage(`{"pools":[{"name":"lab","max_running_jobs":1}]}`)})
	for job := range int32(3) { // the second one fails, and then the third one is submitted
		s.Append(trace.Event{Op: trace.OpSubmit, Job: job, At: time.Duration(job) * 2 * time.Second, A: 1, C: 1, Ref: s.Refer("job", "lab", "ann")})
		if job == 1 {
			s.Append(trace.Event{Op: trace.OpJobEnd, Job: job, At: 3 * time.Second})
		}
	}
	got := m.Curves(0, 6*time.Second, 6, m.Sharing).Pools[0].Demand[trace.Map]
	for i, n := range got {
		if n != 1 {
			t.Errorf("the demand in second %d is %v slots, want 1, of the first job alone", i, n)
		}
	}
}

// TestShuffle checks that everything is copied at the end, and nothing before the reduces start.
func TestShuffle(t *testing.T) {
	s := viewtest.Simulate(t, fig5(t), "pi-dhfs", "l1")
	for _, most := range []int{7, 1000} {
		x := s.Model.Shuffle(0, s.Model.Jobs[0].Finish, most)
		if x.Rows > most || x.Columns > most || len(x.Cells) != x.Rows*x.Columns || x.Rows == 0 {
			t.Fatalf("a matrix of %d × %d with %d cells", x.Rows, x.Columns, len(x.Cells))
		}
		for i, c := range x.Cells {
			if c.Done != 1 {
				t.Errorf("cell %d of %d: %v is copied at the end", i, len(x.Cells), c.Done)
			}
		}
		for i, c := range s.Model.Shuffle(0, 0, most).Cells {
			if c.Done != 0 {
				t.Errorf("cell %d: %v is copied at the start", i, c.Done)
			}
		}
		if !json.Valid(x.AppendJSON(nil)) {
			t.Error("the JSON is not valid")
		}
	}
}

// TestAReduceIsCopiedByTheAttemptThatCounts has a reduce whose copy starts later, copies less and is killed, and
// one whose first attempt fails.
func TestAReduceIsCopiedByTheAttemptThatCounts(t *testing.T) {
	m := view.New()
	_ = m.Open(&trace.Header{Slots: []trace.Slot{{ID: 0, Home: trace.Reduce}, {ID: 1, Home: trace.Reduce}}})
	seq := uint64(0)
	add := func(second int, e trace.Event, texts ...string) {
		seq++
		e.Seq, e.At, e.Kind = seq, time.Duration(second)*time.Second, trace.Reduce
		m.Add(&e, texts)
	}
	add(0, trace.Event{Op: trace.OpSubmit, A: 4, B: 2, C: 4, Flags: trace.Sealed}, "job", "pool", "user")
	add(1, trace.Event{Op: trace.OpStart})
	add(2, trace.Event{Op: trace.OpFetch, B: 3, C: 300})
	add(3, trace.Event{Op: trace.OpStart, Slot: 1, N: 1, Flags: trace.Speculative})
	add(4, trace.Event{Op: trace.OpFetch, Slot: 1, N: 1, B: 1, C: 100})
	add(5, trace.Event{Op: trace.OpFetch, A: 3, B: 1, C: 100})
	add(6, trace.Event{Op: trace.OpFinish, Flags: trace.OK})
	add(7, trace.Event{Op: trace.OpFinish, Slot: 1, N: 1, Flags: trace.Killed})
	add(8, trace.Event{Op: trace.OpStart, Task: 1})
	add(9, trace.Event{Op: trace.OpFetch, Task: 1, B: 4, C: 400})
	add(10, trace.Event{Op: trace.OpFinish, Task: 1})
	for _, c := range []struct {
		second int
		want   [2]float64 // the share that each reduce has copied
	}{{2, [2]float64{0.75, 0}}, {7, [2]float64{1, 0}}, {9, [2]float64{1, 1}}, {10, [2]float64{1, 0}}} {
		if x := m.Shuffle(0, time.Duration(c.second)*time.Second, 1); x.Cells[0].Done != (c.want[0]+c.want[1])/2 {
			t.Errorf("after %d s %v is copied, want %v", c.second, x.Cells[0].Done, c.want)
		}
	}
}

// TestScripts dumps the model of event lines.
func TestScripts(t *testing.T) {
	datadriven.RunTest(t, "testdata/events.txt", func(t *testing.T, d *datadriven.TestData) string {
		m, err := view.Load(strings.NewReader(d.Input), nil)
		if m == nil {
			t.Fatal(err)
		}
		return dump(m)
	})
}

// dump writes a model as text.
func dump(m *view.Model) string {
	var b strings.Builder
	segments := make([]string, len(m.Bars))
	m.EachSegment(func(bar int, s trace.Segment) { segments[bar] += fmt.Sprintf(" %v %v", s.Phase, s.To-s.From) })
	for i := range m.Bars {
		bar := &m.Bars[i]
		fmt.Fprintf(&b, "slot %d %s/%d %v to %v %v", bar.Slot, m.TaskName(bar), bar.N, bar.From, m.Until(bar), bar.How)
		for _, word := range []struct {
			on   bool
			text string
		}{{bar.Lent, " lent"}, {bar.Speculative, " copy"}} {
			if word.on {
				b.WriteString(word.text)
			}
		}
		fmt.Fprintf(&b, " by %q:%s\n", m.Rules[bar.Rule], segments[i])
	}
	for i := range m.Jobs {
		j := &m.Jobs[i]
		fmt.Fprintf(&b, "job %s of %s: %v, maps %d of %d, reduces %d of %d\n", j.Name, m.Pools[j.Pool].Name, j.State, j.Finished[trace.Map], j.Maps, j.Finished[trace.Reduce], j.Reduces)
	}
	for _, s := range m.Spills {
		fmt.Fprintf(&b, "spill of bar %d from %v to %v: %d bytes\n", s.Bar, s.From, s.To, s.Bytes)
	}
	for _, s := range m.Buffers {
		fmt.Fprintf(&b, "kvbuffer of bar %d at %v: %v %d %d\n", s.Bar, s.At, s.Step, s.Bytes, s.ToBytes)
	}
	for _, f := range m.Fetches {
		fmt.Fprintf(&b, "bar %d copied %d maps from %d: %d bytes\n", f.Bar, f.Maps, f.Map, f.Bytes)
	}
	for _, u := range m.Usages {
		fmt.Fprintf(&b, "usage at %v: %v, %d, %d\n", u.At, u.CPU, u.MemoryBytes, u.TempBytes)
	}
	totals := m.Totals()
	fmt.Fprintf(&b, "%d bars, %d lent, busy %v, lent %v\n", totals.Bars, totals.Lent, totals.Busy, totals.LentTime)
	return b.String()
}

// bigRun returns an event file of about n events.
func bigRun(b *testing.B, n int) []byte {
	f := fmt.Sprintf("cluster: {trackers: 100, map_slots: 8, reduce_slots: 2}\njobs:\n  - {name: a, maps: %d, reduces: 100, map_time: {uniform: [5s, 15s]}, reduce_time: 20s}\n", n/4)
	return viewtest.Simulate(b, f, "pi-dhfs", "l0").Events
}

// BenchmarkLoad loads runs of many events, and reports bytes of heap for each event.
func BenchmarkLoad(b *testing.B) {
	file := bigRun(b, 1_000_000)
	events := bytes.Count(file, []byte("\n"))
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := view.Load(bytes.NewReader(file), nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(events), "events")
}
