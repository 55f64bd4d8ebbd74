package explain_test

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"mrlocal/internal/errs"
	"mrlocal/internal/testkit"
	"mrlocal/slots"
	"mrlocal/slots/explain"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/policytest"
	"mrlocal/slots/policy/registry"
	"mrlocal/trace"
)

// run is a small workload on a small cluster, in virtual time.
type run struct {
	config  slots.Config
	borrow  slots.PPM // both percentages; 0: all
	jobs    []policytest.ScriptJob
	options policytest.Options
}

func job(name string, submit time.Duration, maps, reduces int32, mapTime, reduceTime time.Duration) policytest.ScriptJob {
	return policytest.ScriptJob{
		Spec:    slots.JobSpec{Name: name, Maps: maps, MapsSealed: true, Reduces: reduces},
		Submit:  submit,
		MapTime: policytest.Const(mapTime), ReduceTime: policytest.Const(reduceTime),
	}
}

// runs are the workloads that the golden files name.
func runs() map[string]run {
	const s = time.Second
	failing := job("J01", 0, 5, 2, 2*s, 3*s)
	failing.Fail = func(k slots.Kind, t slots.TaskID) int32 {
		if k == slots.Map && t == 1 {
			return 2
		}
		return 0
	}
	urgent := job("J03", 3*s, 2, 1, 2*s, s)
	urgent.Spec.Priority = slots.High
	pooled := func(j policytest.ScriptJob, pool string) policytest.ScriptJob {
		j.Spec.Pool = pool
		return j
	}
	failsOnce := func(j policytest.ScriptJob) policytest.ScriptJob {
		j.Fail = func(k slots.Kind, t slots.TaskID) int32 {
			if k == slots.Map && t == 0 {
				return 1
			}
			return 0
		}
		return j
	}
	uneven := func(j policytest.ScriptJob) policytest.ScriptJob {
		j.MapTime = func(t slots.TaskID) time.Duration {
			if t == 1 {
				return 5 * s
			}
			return 2 * s
		}
		return j
	}
	owned := func(j policytest.ScriptJob) policytest.ScriptJob {
		j.Spec.User, j.Spec.Deadline = "ann", 12*s
		return j
	}
	all := map[string]run{
		// One job, more maps than map slots, then more reduces than reduce slots.
		"one": {config: slots.Config{Slots: policytest.Typed(1, 3, 1)}, jobs: []policytest.ScriptJob{job("J01", 0, 8, 4, 2*s, 3*s)}},
		// Jobs of two pools, one with a min share, the other with a limit.
		"pools": {
			config: slots.Config{
				Slots: policytest.Typed(2, 2, 1),
				Pools: []slots.Pool{{Name: "prod", Weight: 2 * slots.One, MinMaps: 2}, {Name: "batch", MaxMaps: 1}},
			},
			jobs: []policytest.ScriptJob{pooled(job("J01", 0, 6, 2, 2*s, 3*s), "batch"), pooled(job("J02", s, 6, 3, 2*s, 2*s), "prod"), urgent},
		},
		// Two jobs of a pool that may run one map at a time.
		"limited": {
			config: slots.Config{Slots: policytest.Typed(1, 2, 1), Pools: []slots.Pool{{Name: "batch", MaxMaps: 1}}},
			jobs:   []policytest.ScriptJob{pooled(job("J01", 0, 3, 0, 2*s, 3*s), "batch"), pooled(job("J02", 0, 3, 0, 2*s, 3*s), "batch")},
		},
		// A map fails twice, a map output and a tracker are lost, a job is cancelled.
		"faults": {
			config: slots.Config{Slots: policytest.Typed(2, 2, 1), Slowstart: slots.One / 2},
			jobs:   []policytest.ScriptJob{failing, job("J02", 2*s, 3, 1, 2*s, 2*s)},
			options: policytest.Options{Faults: []policytest.ScriptFault{
				{At: 7 * s, Do: func(now time.Duration, l *slots.Ledger) { l.LostOutput(now, 0, 0) }},
				{At: 8 * s, Do: func(now time.Duration, l *slots.Ledger) { l.LostTracker(now, 1) }},
				{At: 9 * s, Do: func(now time.Duration, l *slots.Ledger) { l.Abort(now, 1) }},
			}},
		},
		// Reduces may start at once, so that the deadlock guard has work.
		"guard": {
			config: slots.Config{Slots: policytest.Typed(1, 2, 0)},
			jobs:   []policytest.ScriptJob{job("J01", 0, 1, 3, 2*s, 3*s)},
			options: policytest.Options{Faults: []policytest.ScriptFault{
				{At: 3 * s, Do: func(now time.Duration, l *slots.Ledger) { l.LostOutput(now, 0, 0) }},
			}},
		},
		// Each input is on one of three trackers; ann may run one job at a time.
		"places": {
			config: slots.Config{
				Slots: policytest.Typed(3, 1, 1), Replicas: 1, GroupTrackers: 2, LocalityDelay: new(1500 * time.Millisecond),
				Users: []slots.User{{Name: "ann", MaxRunning: 1}},
			},
			jobs: []policytest.ScriptJob{owned(job("J01", 0, 5, 1, 2*s, s)), owned(job("J02", s, 2, 0, 2*s, s))},
		},
		// prod may have tasks of others killed to get its min share.
		"preempt": {
			config: slots.Config{Slots: policytest.Typed(1, 3, 1), Pools: []slots.Pool{{Name: "prod", MinMaps: 2, PreemptAfter: 2 * s}}},
			jobs:   []policytest.ScriptJob{job("J01", 0, 6, 0, 20*s, s), pooled(job("J02", 3*s, 2, 0, 2*s, s), "prod")},
		},
		// The second map takes long, so that the map slot is free before the reduce slot.
		"apart": {config: slots.Config{Slots: policytest.Typed(1, 1, 1)}, jobs: []policytest.ScriptJob{uneven(job("J01", 0, 4, 1, 2*s, s))}},
		// Half of each kind of slots may be lent.
		"half": {config: slots.Config{Slots: policytest.Typed(1, 2, 2)}, borrow: slots.One / 2, jobs: []policytest.ScriptJob{job("J01", 0, 6, 2, 2*s, 3*s)}},
		// The same on two trackers, where one of two map slots stays idle.
		"two": {config: slots.Config{Slots: policytest.Typed(2, 1, 1)}, borrow: slots.One / 2, jobs: []policytest.ScriptJob{
			job("J01", 0, 2, 9, 2*s, 3*s), job("J02", s, 0, 0, s, s), job("J03", 4*s, 0, 0, s, s),
		}},
		// A failure on one of five trackers is enough for a job to avoid it.
		"flaky": {
			config: slots.Config{Slots: policytest.Typed(5, 1, 1), MaxTrackerFailures: 1},
			jobs:   []policytest.ScriptJob{failsOnce(job("J01", 0, 12, 1, 2*s, s))},
		},
		// Of two trackers that report every second, one is busy; a map failed on the other.
		"beats apart": {
			config:  slots.Config{Slots: policytest.Typed(2, 1, 1)},
			jobs:    []policytest.ScriptJob{failsOnce(job("J01", 0, 1, 0, 2*s, s)), job("J02", 0, 1, 0, 20*s, s)},
			options: policytest.Options{Heartbeat: s},
		},
		// Trackers report every three seconds.
		"beats": {
			config:  slots.Config{Slots: policytest.Typed(2, 1, 1)},
			jobs:    []policytest.ScriptJob{job("J01", 0, 4, 1, 2*s, s)},
			options: policytest.Options{Heartbeat: 3 * s},
		},
	}
	for name, r := range all {
		if name != "guard" && r.config.Slowstart == 0 {
			r.config.Slowstart = slots.One
		}
		all[name] = r
	}
	return all
}

// record drives a run under a policy and returns its event file.
func record(t testing.TB, policyName, runName string) []byte {
	t.Helper()
	r, ok := runs()[runName]
	if !ok {
		t.Fatalf("no run %q", runName)
	}
	if r.borrow == 0 {
		r.borrow = slots.One
	}
	o := policy.DefaultOptions()
	o.BorrowMap, o.BorrowReduce, o.LocalityDelay = r.borrow, r.borrow, r.config.LocalityDelay
	p, err := registry.New(policyName, o)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	r.options.Sinks = []trace.Sink{trace.NewJSONL(&file)}
	if _, err := policytest.Drive(r.config, p, r.jobs, r.options); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// question reads the words of a case: all, first-lent, at 3s, task J01/m/2,
// why-idle 3; limit 5.
func question(words []string) (explain.Options, error) {
	o := explain.Options{Policy: registry.ForReplay, WhyIdle: -1}
	for i := 0; i < len(words); i++ {
		var err error
		switch words[i] {
		case "all":
			continue
		case "first-lent":
			o.FirstLent = true
			continue
		case "lent":
			o.Lent = true
			continue
		}
		if i+1 == len(words) {
			return o, fmt.Errorf("%s what?", words[i])
		}
		value := words[i+1]
		switch words[i] {
		case "at":
			o.HasAt = true
			o.At, err = time.ParseDuration(value)
		case "task":
			o.Task = value
		case "slot":
			o.HasSlot = true
			o.Slot, err = strconv.Atoi(value)
			if err == nil && o.Slot < 0 {
				err = fmt.Errorf("slot %d", o.Slot)
			}
		case "job":
			o.Job = value
		case "why-idle":
			o.WhyIdle, err = strconv.Atoi(value)
		case "limit":
			o.Limit, err = strconv.Atoi(value)
		default:
			err = fmt.Errorf("unknown word %s", words[i])
		}
		if err != nil {
			return o, err
		}
		i++
	}
	return o, nil
}

// TestSentences runs testdata/*.txt. A case is a line: policy, run, question.
func TestSentences(t *testing.T) {
	testkit.Scripts(t, filepath.Join("testdata", "*.txt"), func(t *testing.T, d *datadriven.TestData) string {
		words := strings.Fields(d.FullCmd())
		o, err := question(words[2:])
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		var out bytes.Buffer
		if err := explain.Sentences(&out, bytes.NewReader(record(t, words[0], words[1])), o); err != nil {
			fmt.Fprintf(&out, "error: %v\n", err)
		}
		return out.String()
	})
}

// TestALimitKeepsBackWhoWasNotBeaten: a job counts as passed over only if it was a candidate, so
// only if no limit of its pool held it back. A policy without pools has no such limits.
func TestALimitKeepsBackWhoWasNotBeaten(t *testing.T) {
	for _, info := range registry.All() {
		var b bytes.Buffer
		if err := explain.Sentences(&b, bytes.NewReader(record(t, info.Name, "limited")), explain.Options{Policy: registry.ForReplay, WhyIdle: -1}); err != nil {
			t.Fatal(err)
		}
		if text := b.String(); !strings.Contains(text, "It was chosen before J0") || strings.Contains(text, "Not allowed to start") {
			t.Errorf("%s: one job is beaten for the one map that the pool may run, so no limit kept it back:\n%s", info.Name, text)
		}
	}
}

// TestAnIdleSlotHasNoReasonOfAnotherTracker: a reason that the policy gave at the heartbeat of
// one tracker is not a reason for slots of another.
func TestAnIdleSlotHasNoReasonOfAnotherTracker(t *testing.T) {
	for _, name := range []string{"fifo", "fair"} {
		var b bytes.Buffer
		if err := explain.Sentences(&b, bytes.NewReader(record(t, name, "beats apart")), explain.Options{Policy: registry.ForReplay, WhyIdle: 0, HasAt: true, At: 10 * time.Second}); err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(strings.Fields(b.String()), " "); !strings.Contains(text, "1 map was pending") || !strings.Contains(text, "failed on this tracker") || strings.Contains(text, "no map slot of the tracker is free") {
			t.Errorf("%s: slot 0 is free, and the map failed there:\n%s", name, b.String())
		}
	}
}

// TestAFullTrackerIsNoReasonForAnother: if nothing can be granted anywhere, only one
// tracker is visited. Its lack of free slots is not a reason for slots of other trackers.
func TestAFullTrackerIsNoReasonForAnother(t *testing.T) {
	for _, name := range []string{"pi-dhfs", "pd-dhfs", "pi-fifo"} {
		answers := ""
		for slot := range 4 {
			var b bytes.Buffer
			if err := explain.Sentences(&b, bytes.NewReader(record(t, name, "two")), explain.Options{Policy: registry.ForReplay, WhyIdle: slot}); err != nil {
				t.Fatal(err)
			}
			answers += strings.Join(strings.Fields(b.String()), " ") + "\n"
		}
		if strings.Contains(answers, "no slot of the tracker is free") || !strings.Contains(answers, "declined: the one map slot that may be lent is lent") {
			t.Errorf("%s: one of the map slots is idle, because the other one is all that may be lent:\n%s", name, answers)
		}
	}
}

func TestWrongInputIsAnErrorAboutTheInput(t *testing.T) {
	file := record(t, "fair", "one")
	lines := bytes.SplitAfter(file, []byte("\n"))
	asked := func(words string) explain.Options {
		o, err := question(strings.Fields(words))
		if err != nil {
			t.Fatal(err)
		}
		o.Name = "run.jsonl"
		return o
	}
	for name, c := range map[string]struct {
		file []byte
		ask  string
		want string
	}{
		"a job that is not there":          {file, "task J09/m/0", "task J09/m/0: there is no job J09; the run has J01"},
		"a task that is not there":         {file, "task J01/m/8", "task J01/m/8: J01 has 8 maps, m/0 to m/7"},
		"a task by the number of its job":  {file, "task 0/r/4", "task 0/r/4: J01 has 4 reduces, r/0 to r/3"},
		"no task at all":                   {file, "task J01", "task J01: write a task as J01/m/7: job, m or r, number"},
		"a negative number":                {file, "task J01/m/-1", "task J01/m/-1: write a task"},
		"a slot that is not there":         {file, "why-idle 4", "slot 4: the run has 4 slots: 0 to 2 (map), 3 (reduce)"},
		"decisions about such a slot":      {file, "slot 4 at 1s", "slot 4: the run has 4 slots: 0 to 2 (map), 3 (reduce)"},
		"decisions about no job":           {file, "job J09", "job J09: there is no such job; the run has J01"},
		"a time before the run":            {file, "at -1s", "time -1.0s: this is before the start of the run"},
		"a file without its last line":     {bytes.Join(lines[:len(lines)-2], nil), "all", "run.jsonl: cut short"},
		"a file cut inside a line":         {file[:len(file)-60], "task J01/m/0", "run.jsonl: cut short"},
		"a file cut among decisions":       {bytes.Join(lines[:5], nil), "all", "run.jsonl: cut short"},
		"a file that was changed":          {bytes.Replace(file, []byte(`"seed":0`), []byte(`"seed":1`), 1), "at 100s", "run.jsonl: changed after it was written"},
		"two files in one":                 {append(bytes.Clone(file), file...), "all", fmt.Sprintf("run.jsonl: line %d: something comes after the run's last line", len(lines))},
		"a fact that decided nothing":      {bytes.Replace(file, []byte(`"cpu_ns":0`), []byte(`"cpu_ns":1`), 1), "all", "run.jsonl: the facts before line "},
		"a file of somebody else":          {[]byte("hello\n"), "all", "run.jsonl: line 1: not an event file of mrlocal"},
		"nothing":                          {nil, "all", "run.jsonl: empty"},
		"a run of a policy that is gone":   {bytes.Replace(file, []byte(`"policy":"fair"`), []byte(`"policy":"dwim"`), 1), "all", "run.jsonl: policy: dwim: no such policy"},
		"a run that decided otherwise":     {bytes.Replace(file, []byte(`"policy":"fair"`), []byte(`"policy":"pi-dhfs"`), 1), "all", "run.jsonl: line "},
		"a line that says nothing we know": {bytes.Replace(file, []byte(`"op":"submit"`), []byte(`"op":"sumbit"`), 1), "all", "run.jsonl: line 2: unknown op"},
	} {
		var out bytes.Buffer
		err := explain.Sentences(&out, bytes.NewReader(c.file), asked(c.ask))
		if err == nil || !errs.IsUsage(err) || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
		if c.ask != "all" && out.Len() > 0 {
			t.Errorf("%s: something was written all the same: %s", name, out.String())
		}
	}
}

// TestATimeInsideACutFileIsExplained: lines after the time in the question do not matter.
func TestATimeInsideACutFileIsExplained(t *testing.T) {
	file := record(t, "pi-dhfs", "one")
	var whole, cut bytes.Buffer
	o := explain.Options{Policy: registry.ForReplay, WhyIdle: -1, HasAt: true, At: time.Second}
	if err := explain.Sentences(&whole, bytes.NewReader(file), o); err != nil {
		t.Fatal(err)
	}
	if err := explain.Sentences(&cut, bytes.NewReader(file[:len(file)-100]), o); err != nil || cut.String() != whole.String() {
		t.Errorf("%v\n%s", err, cut.String())
	}
}

// TestSpillsBelongToTheStory: a story has details of an attempt that the Ledger does not
// know.
func TestSpillsBelongToTheStory(t *testing.T) {
	d, err := trace.NewDecoder(bytes.NewReader(record(t, "fair", "faults")))
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	s := trace.NewStream()
	s.Attach(trace.NewJSONL(&file))
	s.Open(*d.Header())
	for e, err := d.Next(); err == nil; e, err = d.Next() {
		e.Ref = s.Refer(d.Texts(e.Ref)...)
		s.Append(e)
		if e.Op == trace.OpStart && e.Job == 0 && e.Kind == slots.Map && e.Task == 1 && e.N == 0 {
			for range 2 {
				s.Append(trace.Event{At: e.At, Op: trace.OpSpillEnd, Task: 1, Slot: e.Slot, A: 3 << 19, B: 10})
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := explain.Sentences(&out, &file, explain.Options{Policy: registry.ForReplay, WhyIdle: -1, Task: "J01/m/1", Width: 120}); err != nil {
		t.Fatal(err)
	}
	if want := "attempt 0 failed after 2.0s, having spilled 2 times (3.0 MiB). This is failure 1;"; !strings.Contains(out.String(), want) || strings.Count(out.String(), "spilled") != 1 {
		t.Errorf("no %q in\n%s", want, out.String())
	}
}

// broken is a writer that fails after some bytes.
type broken struct{ left int }

func (b *broken) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, fmt.Errorf("gone")
	}
	return len(p), nil
}

func TestAReaderThatGoesAwayEndsIt(t *testing.T) {
	file := record(t, "fair", "pools")
	for _, left := range []int{0, 5000} {
		err := explain.Sentences(&broken{left}, bytes.NewReader(file), explain.Options{Policy: registry.ForReplay, WhyIdle: -1})
		if err == nil || !strings.Contains(err.Error(), "gone") || errs.IsUsage(err) {
			t.Errorf("%d bytes: %v", left, err)
		}
	}
}

// TestEveryQuestionHasAnAnswer asks all questions about small runs of every policy. No
// answer is empty, too wide or badly formatted.
func TestEveryQuestionHasAnAnswer(t *testing.T) {
	names := slices.Sorted(maps.Keys(runs()))
	for i, info := range registry.All() {
		for k, runName := range names {
			if (i+k)%8 > 0 && !testkit.Long() || runName == "guard" && !info.New(policy.DefaultOptions()).Traits().Lends {
				continue // there is no slot for a reduce
			}
			file := record(t, info.Name, runName)
			for _, q := range questions(t, file) {
				o, err := question(strings.Fields(q))
				if err != nil {
					t.Fatal(err)
				}
				var out bytes.Buffer
				if err := explain.Sentences(&out, bytes.NewReader(file), o); err != nil {
					t.Errorf("%s %s %s: %v", info.Name, runName, q, err)
				}
				for line := range strings.SplitSeq(strings.TrimSuffix(out.String(), "\n"), "\n") {
					if line == "" || len(line) > 120 || strings.Contains(line, "%!") || strings.Contains(line, "  .") || strings.Contains(line, "()") {
						t.Errorf("%s %s %s: line %q", info.Name, runName, q, line)
					}
				}
			}
		}
	}
}

// questions returns all questions about a run, at a few times.
func questions(t *testing.T, file []byte) []string {
	t.Helper()
	d, err := trace.NewDecoder(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	all := []string{"all", "first-lent", "limit 3", "lent", "job 0", "job J01 at 2s"}
	end := time.Duration(0)
	for e, err := d.Next(); err == nil; e, err = d.Next() {
		end = e.At
		if e.Op == trace.OpSubmit {
			for m := range e.A {
				all = append(all, fmt.Sprintf("task %d/m/%d", e.Job, m))
			}
			for r := range e.B {
				all = append(all, fmt.Sprintf("task %d/r/%d", e.Job, r))
			}
		}
	}
	for i := range d.Header().Slots {
		all = append(all, fmt.Sprintf("why-idle %d", i), fmt.Sprintf("slot %d", i), fmt.Sprintf("slot %d lent", i))
		for at := time.Duration(i) * time.Second / 2; at <= end+time.Second; at += 4 * time.Second {
			all = append(all, fmt.Sprintf("why-idle %d at %v", i, at), fmt.Sprintf("slot %d at %v", i, at))
		}
	}
	for at := time.Duration(0); at <= end+time.Second; at += 3 * time.Second / 2 {
		all = append(all, fmt.Sprintf("at %v", at))
	}
	return all
}

// FuzzSentences: no file and no question makes Sentences panic or never end.
func FuzzSentences(f *testing.F) {
	for _, name := range []string{"fair", "pi-dhfs"} {
		file := record(f, name, "faults")
		for i, q := range []string{"all", "task J01/m/1", "why-idle 3", "at 8s", "slot 2 at 8s", "job J02", "lent"} {
			f.Add(file, q)
			f.Add(bytes.ReplaceAll(file, []byte(`"job":1`), []byte(`"job":9`)), q)
			f.Add(bytes.ReplaceAll(file, []byte(`"slot":2`), fmt.Appendf(nil, `"slot":%d`, 99*i-1)), q)
			f.Add(bytes.ReplaceAll(file, []byte(`"tracker":1`), []byte(`"tracker":99`)), q)
		}
	}
	f.Fuzz(func(t *testing.T, file []byte, words string) {
		o, err := question(strings.Fields(words))
		if err != nil {
			return
		}
		var out bytes.Buffer
		_ = explain.Sentences(&out, bytes.NewReader(file), o)
	})
}

// TestTheEndsOnASlotHaveThatOfItsTracker: each attempt on a slot ends in the list of the slot, also by the loss of its
// tracker.
func TestTheEndsOnASlotHaveThatOfItsTracker(t *testing.T) {
	file, lost := record(t, "fair", "faults"), 0
	for slot := range 6 {
		var out bytes.Buffer
		if err := explain.Sentences(&out, bytes.NewReader(file), explain.Options{Policy: registry.ForReplay, WhyIdle: -1, HasSlot: true, Slot: slot}); err != nil {
			t.Fatal(err)
		}
		started, ended := strings.Count(out.String(), " started on "), strings.Count(out.String(), " ended.\n")+strings.Count(out.String(), " ended: ")
		ended -= strings.Count(out.String(), "Its job has ended.\n")
		if lost += strings.Count(out.String(), "its tracker was lost"); started != ended {
			t.Errorf("slot %d: %d attempts started and %d ended\n%s", slot, started, ended, out.String())
		}
	}
	if lost != 2 {
		t.Errorf("%d attempts ended with their tracker", lost)
	}
}
