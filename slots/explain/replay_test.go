package explain_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"mrlocal/internal/invariant"
	"mrlocal/internal/testkit"
	"mrlocal/slots"
	"mrlocal/slots/explain"
	"mrlocal/slots/policy/policytest"
	"mrlocal/slots/policy/registry"
	"mrlocal/trace"
)

// sleepy starts all it can, but only every ten seconds, and asks for wake-ups.
type sleepy struct{}

func (*sleepy) Traits() slots.Traits { return slots.Traits{Name: "sleepy"} }

func (*sleepy) Reset() {}

func (p *sleepy) Decide(v *slots.View, d *slots.Decision) {
	const every = 10 * time.Second
	if next := (v.Now() + every - 1) / every * every; next > v.Now() {
		d.WakeAt(next)
		return
	}
	for k := range slots.Kind(trace.Kinds) {
		for id := slots.JobID(0); v.Pending(k) > 0 && v.FreeHome(v.Tracker(), k) > 0; id++ {
			for v.Job(id).Pending(k) > 0 && d.Grant(slots.Grant{Slot: slots.NoSlot, Job: id, Kind: k, Task: slots.NoTask, Rule: "fifo"}) {
				if v.FreeHome(v.Tracker(), k) == 0 {
					break
				}
			}
		}
	}
}

func newPolicy(c slots.Config) (slots.Policy, error) {
	if c.PolicyName == "sleepy" {
		return &sleepy{}, nil
	}
	return registry.ForReplay(c)
}

// names are the policies of the replayed runs: all policies, and sleepy.
func names() []string {
	all := []string{"sleepy"}
	for _, info := range registry.All() {
		all = append(all, info.Name)
	}
	return all
}

// recordRun drives a workload and returns its event file. The workload has everything that is
// recorded:
//
//   - a failure, a lost output and a drop,
//   - waits for local slots,
//   - a job with an unknown number of maps, and one with a deadline,
//   - jobs with and without places for their input,
//   - a job beyond the limit of a user.
func recordRun(t testing.TB, name string) []byte {
	t.Helper()
	c := slots.Config{
		Slots: policytest.Typed(2, 2, 1), Slowstart: slots.One / 2, Seed: 7, PolicyName: name,
		BorrowMap: slots.One, BorrowReduce: slots.One / 2, Pools: []slots.Pool{{Name: "prod", MinMaps: 2}},
		Users: []slots.User{{Name: "ann", MaxRunning: 1}}, Replicas: 1, LocalityDelay: new(1500 * time.Millisecond),
	}
	p, err := newPolicy(c)
	if err != nil {
		t.Fatal(err)
	}
	fail := func(k slots.Kind, task slots.TaskID) int32 {
		if k == slots.Map && task == 3 {
			return 1
		}
		return 0
	}
	const s = time.Second
	jobs := []policytest.ScriptJob{
		{Spec: slots.JobSpec{Name: `a "name"`, Maps: 9, MapsSealed: true, Reduces: 4, Deadline: 40 * s}, MapTime: policytest.Const(3 * s), ReduceTime: policytest.Const(2 * s), Fail: fail},
		{Spec: slots.JobSpec{Name: "b", Pool: "prod", Maps: 5, Reduces: 2, Unplaced: true}, Submit: 4 * s, MapTime: policytest.Const(2 * s), ReduceTime: policytest.Const(s)},
		{Spec: slots.JobSpec{Name: "c", User: "ann", Maps: 2, MapsSealed: true}, Submit: 5 * s, MapTime: policytest.Const(s)},
		{Spec: slots.JobSpec{Name: "d", User: "ann", Maps: 3, MapsSealed: true}, Submit: 5 * s, MapTime: policytest.Const(s)},
	}
	var file bytes.Buffer
	o := policytest.Options{Sinks: []trace.Sink{trace.NewJSONL(&file)}, Faults: []policytest.ScriptFault{
		{At: 8 * s, Do: func(now time.Duration, l *slots.Ledger) {
			l.Ready(now, 1, slots.Readiness{Maps: 5, Total: 6, Sealed: true})
		}},
		{At: 9 * s, Do: func(now time.Duration, l *slots.Ledger) { l.LostOutput(now, 0, 1) }},
		{At: 9 * s, Do: func(now time.Duration, l *slots.Ledger) { l.Drop(now, 1, slots.Map, 5) }},
	}}
	if _, err := policytest.Drive(c, p, jobs, o); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func unchanged(events []trace.Event) []trace.Event { return events }

func TestReplayDecidesTheSame(t *testing.T) {
	for _, name := range names() {
		file := recordRun(t, name)
		if again := policytest.Edit(t, file, unchanged); !bytes.Equal(again, file) {
			t.Fatalf("%s: decoding and writing the file again changes it", name)
		}
		if diff, err := explain.Replay(bytes.NewReader(file), newPolicy, explain.ReplayOptions{}); diff != nil || err != nil {
			t.Errorf("%s: %v, %v", name, diff, err)
		}
	}
}

// TestReplayFailsWhenAFactIsWrong drops, swaps and delays each fact of a run in turn. The
// replay must always fail. If a decision depends on the fact, the replay must name a
// decision; that is so for at least a quarter of the facts. Progress does not count there,
// because one report of progress seldom changes which attempt is slow.
func TestReplayFailsWhenAFactIsWrong(t *testing.T) {
	every := 4
	if testkit.Long() && !invariant.Enabled { // a checked replay counts the whole state anew at every step
		every = 1
	}
	for _, name := range names() {
		file := recordRun(t, name)
		var facts []int
		progress := map[int]bool{}
		policytest.Edit(t, file, func(events []trace.Event) []trace.Event {
			for i := range events {
				if events[i].Op.Class() == trace.Fact {
					facts = append(facts, i)
				}
				progress[i] = events[i].Op == trace.OpProgress
			}
			return events
		})
		for how, change := range map[string]func(events []trace.Event, i int) []trace.Event{
			"dropped": func(events []trace.Event, i int) []trace.Event { return append(events[:i:i], events[i+1:]...) },
			"swapped": func(events []trace.Event, i int) []trace.Event {
				for j := i + 1; j < len(events); j++ {
					if events[j].Op.Class() == trace.Fact {
						events[i], events[j] = events[j], events[i]
						break
					}
				}
				return events
			},
			"delayed": func(events []trace.Event, i int) []trace.Event {
				events[i].At++
				return events
			},
		} {
			named, tried := 0, 0
			for n, i := range facts {
				if how == "swapped" && n == len(facts)-1 || n%every != 0 {
					continue
				}
				if !progress[i] {
					tried++
				}
				bad := policytest.Edit(t, file, func(events []trace.Event) []trace.Event { return change(events, i) })
				diff, err := explain.Replay(bytes.NewReader(bad), newPolicy, explain.ReplayOptions{})
				if diff == nil && err == nil {
					t.Errorf("%s: fact %d %s: the replay says that all is well", name, i, how)
				}
				if diff != nil {
					if !progress[i] {
						named++
					}
					if diff.Recorded == "nothing" && diff.Replayed == "nothing" || diff.Line == 0 {
						t.Errorf("%s: fact %d %s: %+v names nothing", name, i, how, diff)
					}
				}
			}
			if named < tried/4 {
				t.Errorf("%s: of %d facts %s, progress aside, only %d led to another decision", name, tried, how, named)
			}
		}
	}
}

// TestReplayFailsWhenAFactComesAfterTheWakeUp moves the last end of an attempt before a
// wake-up, and what followed from it, to 1 ns after the wake-up.
func TestReplayFailsWhenAFactComesAfterTheWakeUp(t *testing.T) {
	for _, name := range []string{"sleepy", "fair"} { // fair waits for local slots
		named := 0
		file := recordRun(t, name)
		for n := range 100 {
			late := policytest.Edit(t, file, func(events []trace.Event) []trace.Event { return pastWakeUp(events, n) })
			if bytes.Equal(late, file) {
				break // there is no such wake-up
			}
			diff, err := explain.Replay(bytes.NewReader(late), newPolicy, explain.ReplayOptions{})
			if err == nil && diff == nil {
				t.Errorf("%s, wake-up %d: the replay says that all is well", name, n)
			}
			if diff == nil {
				continue
			}
			if diff.FactsLine > 0 {
				named++
			}
			if !strings.Contains(diff.String(), "decision") || diff.Recorded == diff.Replayed {
				t.Errorf("%s, wake-up %d: %v", name, n, diff)
			}
		}
		if named == 0 {
			t.Errorf("%s: no decision at a wake-up was named as resting on other facts", name)
		}
	}
}

// pastWakeUp moves the last end of an attempt before wake-up n to 1 ns after it.
// A wake-up is an Assign at the time that the one before it asked for, with no
// fact at that time.
func pastWakeUp(events []trace.Event, n int) []trace.Event {
	wake, finish := -1, -1
	for i, wanted, last := 0, int64(-1), time.Duration(-1); i < len(events) && wake < 0; i++ {
		switch e := &events[i]; {
		case e.Op == trace.OpAssign:
			if int64(e.At) == wanted && last < e.At && finish >= 0 {
				if n == 0 {
					wake = i
				}
				n--
			}
			wanted = e.C
		case e.Op.Class() == trace.Fact:
			last = e.At
			if e.Op == trace.OpFinish {
				finish = i
			}
		}
	}
	if wake < 0 {
		return events
	}
	follow := finish + 1 // what followed from the fact
	for events[follow].Op.Class() == trace.Decision {
		follow++
	}
	after := wake
	for after < len(events) && events[after].At == events[wake].At {
		after++
	}
	moved := append([]trace.Event(nil), events[finish:follow]...)
	for i := range moved {
		moved[i].At = events[wake].At + 1
	}
	return slices.Concat(events[:finish], events[follow:after], moved, events[after:])
}

// TestReplayComparesWhatIsDecidedBesideStarts: the locality of a map, and the admission of
// a job.
func TestReplayComparesWhatIsDecidedBesideStarts(t *testing.T) {
	file := recordRun(t, "fair")
	for name, change := range map[string]func(e *trace.Event) bool{
		"locality": func(e *trace.Event) bool {
			if e.Op != trace.OpStart || e.A != int64(slots.LevelTracker) {
				return false
			}
			e.A = int64(slots.LevelAny)
			return true
		},
		"admission": func(e *trace.Event) bool {
			if e.Op != trace.OpAdmit {
				return false
			}
			e.Job = 1
			return true
		},
	} {
		changed := false
		bad := policytest.Edit(t, file, func(events []trace.Event) []trace.Event {
			for i := range events {
				if changed = change(&events[i]); changed {
					break
				}
			}
			return events
		})
		diff, err := explain.Replay(bytes.NewReader(bad), newPolicy, explain.ReplayOptions{})
		if !changed || err != nil || diff == nil || diff.FactsLine != 0 || diff.Recorded == "nothing" || diff.Replayed == "nothing" {
			t.Errorf("%s: changed %v: %v, %v", name, changed, diff, err)
		}
	}
}

// TestReplayKnowsAllOfASubmission: the digest of facts detects a changed deadline or placement,
// even if no decision differs.
func TestReplayKnowsAllOfASubmission(t *testing.T) {
	file := recordRun(t, "fifo")
	for name, change := range map[string]func(e *trace.Event){
		"deadline": func(e *trace.Event) { e.F++ },
		"place":    func(e *trace.Event) { e.Flags ^= trace.Unplaced },
	} {
		bad := policytest.Edit(t, file, func(events []trace.Event) []trace.Event {
			change(&events[0])
			return events
		})
		diff, err := explain.Replay(bytes.NewReader(bad), newPolicy, explain.ReplayOptions{})
		if err == nil && (diff == nil || diff.FactsLine == 0) {
			t.Errorf("%s: %v, %v", name, diff, err)
		}
	}
}

// TestOnlyReasonsThatAreWantedAreGiven. Ahead gets the starts of an Assign before they are made.
func TestOnlyReasonsThatAreWantedAreGiven(t *testing.T) {
	for _, name := range names() {
		file := recordRun(t, name)
		reasons := func(all bool) (n int) {
			ahead, granted := 0, 0
			o := explain.ReplayOptions{
				Explain: func(e *slots.Explanation) {
					if n += len(e.Why.Numbers) + len(e.Why.Beaten) + len(e.Declined); !e.EndOfVisit() && e.Reclaimed == slots.NoSlot && e.Refused == slots.Granted {
						granted++
					}
				},
				Ahead: func(decisions []trace.Event, _ time.Duration) {
					if granted != ahead {
						t.Errorf("%s: %d of %d starts were made", name, granted, ahead)
					}
					for i := range decisions {
						if decisions[i].Op == trace.OpStart {
							ahead++
						}
					}
				},
				Wants: func(int) bool { return all },
			}
			if diff, err := explain.Replay(bytes.NewReader(file), newPolicy, o); diff != nil || err != nil {
				t.Errorf("%s: %v, %v", name, diff, err)
			}
			return n
		}
		if n := reasons(false); n > 0 {
			t.Errorf("%s: %d reasons that nobody wants", name, n)
		}
		if name != "sleepy" && reasons(true) == 0 {
			t.Errorf("%s: no reasons", name)
		}
	}
}

// TestReplayReportsWhatItReplays: explanations change no decision. Each start is explained before
// Event gets it. If Event returns false, the replay ends.
func TestReplayReportsWhatItReplays(t *testing.T) {
	for _, name := range names() {
		file := recordRun(t, name)
		var ledger *slots.Ledger
		var granted, visits, starts, submits int
		o := explain.ReplayOptions{
			Begin: func(l *slots.Ledger) { ledger = l },
			Explain: func(e *slots.Explanation) {
				switch {
				case e.EndOfVisit():
					visits++
				case e.Refused == slots.Granted:
					granted++
				}
			},
			Event: func(e *trace.Event, texts []string) bool {
				switch e.Op {
				case trace.OpSubmit:
					if submits++; ledger.Jobs() != submits-1 || len(texts) != 3 {
						t.Errorf("%s: %d jobs at submit %d, texts %q", name, ledger.Jobs(), submits, texts)
					}
				case trace.OpStart:
					if starts++; granted < starts {
						t.Errorf("%s: start %d was not explained", name, starts)
					}
				}
				return true
			},
		}
		if diff, err := explain.Replay(bytes.NewReader(file), newPolicy, o); diff != nil || err != nil {
			t.Errorf("%s: %v, %v", name, diff, err)
		}
		if starts == 0 || granted != starts || visits == 0 || submits != 4 {
			t.Errorf("%s: %d starts, %d granted, %d visits, %d submits", name, starts, granted, visits, submits)
		}
		const until = 7 * time.Second
		o.Event = func(e *trace.Event, _ []string) bool { return e.At <= until }
		if diff, err := explain.Replay(bytes.NewReader(file), newPolicy, o); diff != nil || err != nil || ledger.Now() > until || ledger.Active() == 0 {
			t.Errorf("%s: stopped at %v with %d jobs: %v, %v", name, ledger.Now(), ledger.Active(), diff, err)
		}
	}
}

func TestReplayComparesWakeUps(t *testing.T) {
	file := policytest.Edit(t, recordRun(t, "sleepy"), func(events []trace.Event) []trace.Event {
		for i := range events {
			if events[i].Op == trace.OpAssign && events[i].C > 0 {
				events[i].C++
				break
			}
		}
		return events
	})
	if diff, err := explain.Replay(bytes.NewReader(file), newPolicy, explain.ReplayOptions{}); err != nil || diff == nil || diff.FactsLine != 0 {
		t.Errorf("%v, %v", diff, err)
	}
}

func TestReplayNamesTheDecisionOfAnotherPolicy(t *testing.T) {
	file := bytes.Replace(recordRun(t, "pi-dhfs"), []byte(`"policy":"pi-dhfs"`), []byte(`"policy":"fair"`), 1)
	diff, err := explain.Replay(bytes.NewReader(file), newPolicy, explain.ReplayOptions{})
	if err != nil || diff == nil || diff.FactsLine != 0 || !strings.Contains(diff.Recorded, `"op":"start"`) {
		t.Errorf("%v, %v", diff, err)
	}
}

func TestReplayOfAFileThatIsNotWhole(t *testing.T) {
	file := recordRun(t, "pi-dhfs")
	lines := bytes.SplitAfter(file, []byte("\n"))
	for name, c := range map[string]struct {
		file []byte
		want error
	}{
		"last line missing":       {bytes.Join(lines[:len(lines)-2], nil), trace.ErrCut},
		"cut among decisions":     {bytes.Join(lines[:4], nil), trace.ErrCut},
		"cut inside a line":       {file[:len(file)-60], trace.ErrCut},
		"a number changed":        {bytes.Replace(file, []byte(`"core":5`), []byte(`"core":9`), 1), trace.ErrChanged},
		"another file altogether": {[]byte("hello\n"), nil},
		"nothing":                 {nil, nil},
	} {
		diff, err := explain.Replay(bytes.NewReader(c.file), newPolicy, explain.ReplayOptions{})
		if err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v, %v", name, diff, err)
		}
	}
}

// A compressed file that is cut short gives the events before the cut, and then an error. The decisions
// behind the cut are missing, which is not a difference.
func TestReplayOfAFileThatCannotBeReadToItsEnd(t *testing.T) {
	file := recordRun(t, "pi-dhfs")
	for n := 0; n <= len(file); n += 97 {
		in := io.MultiReader(bytes.NewReader(file[:n]), iotest.ErrReader(io.ErrUnexpectedEOF))
		if diff, err := explain.Replay(in, newPolicy, explain.ReplayOptions{}); diff != nil || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("cut at byte %d of %d: %v, %v", n, len(file), diff, err)
		}
	}
	in := io.MultiReader(bytes.NewReader(file), iotest.ErrReader(io.ErrUnexpectedEOF))
	if diff, err := explain.Replay(in, newPolicy, explain.ReplayOptions{}); diff != nil || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("cut behind the last line: %v, %v", diff, err)
	}
}

// FuzzReplay: no file makes a replay panic or never end.
func FuzzReplay(f *testing.F) {
	for _, name := range []string{"fifo", "pi-dhfs"} {
		file := recordRun(f, name)
		f.Add(file)
		f.Add(bytes.Replace(file, []byte(`"task":3`), []byte(`"task":99`), -1))
		f.Add(bytes.Replace(file, []byte(`"job":0`), []byte(`"job":-1`), -1))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		_, _ = explain.Replay(bytes.NewReader(file), newPolicy, explain.ReplayOptions{})
	})
}
