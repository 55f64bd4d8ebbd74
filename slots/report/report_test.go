package report_test

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mrlocal/slots"
	"mrlocal/slots/policy/fifo"
	"mrlocal/slots/report"
)

// ledger returns a Ledger that has run one job of two maps and a reduce, on one map slot
// and one reduce slot. Each task takes a second, and the first map fails once.
func ledger(t *testing.T) *slots.Ledger {
	t.Helper()
	l, err := slots.New(slots.Config{
		Slots:     []slots.Slot{{ID: 0, Home: slots.Map}, {ID: 1, Home: slots.Reduce}},
		Slowstart: slots.One,
	}, fifo.New())
	if err != nil {
		t.Fatal(err)
	}
	l.Submit(0, slots.JobSpec{Name: "J00", Maps: 2, MapsSealed: true, Reduces: 1})
	now := time.Duration(0)
	for i := range 4 {
		starts := l.AssignAll(now).Starts
		if len(starts) != 1 {
			t.Fatalf("step %d: %d starts, want 1", i, len(starts))
		}
		a := starts[0].Attempt
		now += time.Second
		l.Finish(now, a, slots.Outcome{OK: i > 0})
	}
	return l
}

func TestAReportHoldsWhatTheLedgerKnows(t *testing.T) {
	r := report.FromLedger("sim", ledger(t))
	r.Describe(0, &slots.JobSpec{Name: "J00", User: "ann", Deadline: 5 * time.Second})
	deadline := 5.0
	want := &report.Report{
		Schema: 1, Kind: "sim", Policy: "fifo", MakespanSeconds: 4, Utilisation: 0.5, Jain: 1, JainInTime: 1,
		SlotTime: report.SlotTime{Compute: 3, Copy: 1, Idle: 4}, Wasted: report.Wasted{Failed: 1},
		Config: report.Config{Trackers: 1, MapSlots: 1, ReduceSlots: 1, MaxSlots: 2, Slowstart: 1, Attempts: 4},
		Slots:  []report.Slot{{ID: 0, Home: "map", BusyS: 3}, {ID: 1, Home: "reduce", BusyS: 1}},
		Jobs: []report.JobReport{{
			Name: "J00", Pool: "J00", User: "ann", State: "succeeded", Maps: 2, Reduces: 1, MapsDoneS: 3, FinishS: 4, DeadlineS: &deadline,
			Counters: report.Counters{LaunchedMaps: 3, LaunchedReduces: 1, FailedMaps: 1, SlotsMillisMaps: 3000, SlotsMillisReduces: 1000},
		}},
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTheMakespanEndsWithTheLastJob: what happens later, such as the end of a copy that was killed, does not count.
func TestTheMakespanEndsWithTheLastJob(t *testing.T) {
	l := ledger(t)
	l.AssignAll(9 * time.Second)
	if got := report.FromLedger("sim", l).MakespanSeconds; l.Now() != 9*time.Second || got != 4 {
		t.Errorf("the makespan is %v s and the latest fact at %v, want 4 s and 9 s", got, l.Now())
	}
	l.Submit(9*time.Second, slots.JobSpec{Name: "J01", Maps: 1, MapsSealed: true})
	if got := report.FromLedger("sim", l).MakespanSeconds; got != 9 {
		t.Errorf("the makespan of a run that goes on is %v s, want 9 s", got)
	}
}

func TestTheMeanIsOverJobsThatSucceeded(t *testing.T) {
	r := &report.Report{Jobs: []report.JobReport{
		{State: "succeeded", SubmitS: 1, FinishS: 4}, {State: "failed", SubmitS: 0, FinishS: 100}, {State: "succeeded", SubmitS: 2, FinishS: 3},
	}}
	if got := r.MeanJobSeconds(); got != 2 {
		t.Errorf("mean %v s, want 2", got)
	}
	r.Jobs = r.Jobs[1:2]
	var b bytes.Buffer
	if err := report.WriteJSON(&b, []*report.Report{r}); err != nil || !math.IsNaN(r.MeanJobSeconds()) || strings.Contains(b.String(), "mean_job_s") {
		t.Errorf("mean of no job: %v s, %v, in the file %s", r.MeanJobSeconds(), err, b.String())
	}
	if text := report.MetricsTable([]string{"a", "b"}, []*report.Report{r, {Jobs: []report.JobReport{{State: "succeeded", FinishS: 4}}}}); !strings.Contains(text, "mean job time (s)\t-\t4\n") {
		t.Errorf("mean of no job, in the figures\n%s", text)
	}
}

func TestOneReportIsAnObjectAndSeveralAreAnArray(t *testing.T) {
	r := report.FromLedger("sim", ledger(t))
	for n, first := range map[int]string{1: "{", 2: "["} {
		var b bytes.Buffer
		reports := []*report.Report{r, r}[:n]
		if err := report.WriteJSON(&b, reports); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(b.String(), first) || !json.Valid(b.Bytes()) {
			t.Errorf("%d reports: %.40q", n, b.String())
		}
	}
}

func TestASimulatedRunHasNoSettingsOfTheDataPlane(t *testing.T) {
	text := func(r *report.Report) string {
		var b bytes.Buffer
		if err := report.WriteJSON(&b, []*report.Report{r}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	r := report.FromLedger("sim", ledger(t))
	if strings.Contains(text(r), "merge_factor") {
		t.Error("a simulated run's report names the merge factor")
	}
	r.Config.DataPlane = &report.DataPlane{MergeFactor: 64}
	if !strings.Contains(text(r), `"merge_factor": 64`) {
		t.Error("a real run's report lacks the merge factor")
	}
}

func TestTheTableHasARowForEachPolicy(t *testing.T) {
	r := report.FromLedger("sim", ledger(t))
	want := strings.Join([]string{
		"policy   makespan  mean job time  utilisation  moves  fairness (Jain)  lent  hoarding",
		"fifo         4.0s             4s        50.0%      0            1.000    0s        0s",
		"pi-dhfs   1234.6s              -         0.0%      7            0.000    0s        0s",
		"",
	}, "\n")
	if diff := cmp.Diff(want, report.Table([]*report.Report{r, {Policy: "pi-dhfs", MakespanSeconds: 1234.56, Moves: 7}}, 90)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The counters of attempts and of the data plane are summed over jobs, in the order of the
// report file. Those that are 0 are left out.
func TestCountersAreSummedOverJobs(t *testing.T) {
	r := &report.Report{Jobs: []report.JobReport{
		{Counters: report.Counters{MapInputRecords: 5, LaunchedMaps: 2, SlotsMillisMaps: 1500, BorrowedReduceSlotMillis: 20}},
		{Counters: report.Counters{MapInputRecords: 7, SpeculativeReduces: 1, PreScheduledMaps: 3, SlotsMillisMaps: 500, BorrowedReduceSlotMillis: 1}},
	}}
	text := report.Figures(r)
	text = text[strings.Index(text, "MAP_INPUT"):] // behind the metrics
	want := strings.Join([]string{
		"MAP_INPUT_RECORDS\t12",
		"SPECULATIVE_REDUCES\t1",
		"PRESCHEDULED_MAPS\t3",
		"TOTAL_LAUNCHED_MAPS\t2",
		"SLOTS_MILLIS_MAPS\t2000",
		"BORROWED_REDUCE_SLOT_MILLIS\t21",
		"",
	}, "\n")
	if diff := cmp.Diff(want, text); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Each counter of a job is counted over all jobs: a field that is forgotten would show.
func TestEveryCounterIsSummed(t *testing.T) {
	var names map[string]int64
	text, err := json.Marshal(report.Counters{ResumedMaps: 1, GroupLocalMaps: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &names); err != nil {
		t.Fatal(err)
	}
	for name := range names {
		names[name] = 1
	}
	text, _ = json.Marshal(names)
	var c report.Counters
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	figures := report.Figures(&report.Report{Jobs: []report.JobReport{{Counters: c}, {Counters: c}}})
	for name := range names {
		if !strings.Contains(figures, "\n"+name+"\t2\n") {
			t.Errorf("%s is not summed:\n%s", name, figures)
		}
	}
}
