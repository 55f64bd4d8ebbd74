package slots_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/policytest"
	"mrlocal/trace"
)

// sleepy starts what it can, but only every ten seconds: it asks to be woken.
type sleepy struct{ anySlot }

func (*sleepy) Name() string { return "sleepy" }

func (p *sleepy) Decide(v *slots.View, d *slots.Decision) {
	const every = 10 * time.Second
	if next := (v.Now() + every - 1) / every * every; next > v.Now() {
		d.WakeAt(next)
		return
	}
	p.anySlot.Decide(v, d)
}

func newPolicy(c slots.Config) (slots.Policy, error) {
	if c.PolicyName == "sleepy" {
		return &sleepy{}, nil
	}
	return policy.ForReplay(c)
}

// record drives a workload with a failure, a lost output and a drop, and
// returns its event file.
func record(t testing.TB, name string) []byte {
	t.Helper()
	c := slots.Config{
		Slots: policytest.Typed(2, 2, 1), Slowstart: slots.One / 2, Seed: 7, PolicyName: name,
		BorrowMap: slots.One, BorrowReduce: slots.One / 2, Pools: []slots.Pool{{Name: "prod", MinMaps: 2}},
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
	jobs := []policytest.Job{
		{Spec: slots.JobSpec{Name: `a "name"`, Maps: 9, MapsSealed: true, Reduces: 4}, MapTime: policytest.Const(3 * time.Second), ReduceTime: policytest.Const(2 * time.Second), Fail: fail},
		{Spec: slots.JobSpec{Name: "b", Pool: "prod", Maps: 5, Reduces: 2}, Submit: 4 * time.Second, MapTime: policytest.Const(2 * time.Second), ReduceTime: policytest.Const(time.Second)},
	}
	var file bytes.Buffer
	o := policytest.Options{Sinks: []trace.Sink{trace.NewJSONL(&file)}, Faults: []policytest.Fault{
		{At: 8 * time.Second, Do: func(now time.Duration, l *slots.Ledger) {
			l.Ready(now, 1, slots.Readiness{Maps: 5, Total: 6, Sealed: true})
		}},
		{At: 9 * time.Second, Do: func(now time.Duration, l *slots.Ledger) { l.LostOutput(now, 0, 1) }},
		{At: 9 * time.Second, Do: func(now time.Duration, l *slots.Ledger) { l.Drop(now, 1, slots.Map, 5) }},
	}}
	if _, err := policytest.Drive(c, p, jobs, o); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// edit decodes an event file, lets change have its way with the events, and
// writes a file whose numbers and hash are right again.
func edit(t *testing.T, file []byte, change func(events []trace.Event) []trace.Event) []byte {
	t.Helper()
	d, err := trace.NewDecoder(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	s := trace.NewStream()
	var out bytes.Buffer
	s.AddWriter(&out)
	s.Open(*d.Header())
	var events []trace.Event
	for {
		e, err := d.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e.Ref != 0 {
			e.Ref = s.Refer(d.Texts(e.Ref)...)
		}
		events = append(events, e)
	}
	for _, e := range change(events) {
		s.Append(e)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func unchanged(events []trace.Event) []trace.Event { return events }

func TestReplayDecidesTheSame(t *testing.T) {
	for _, name := range []string{"fifo", "fair", "pi-dhfs", "sleepy"} {
		file := record(t, name)
		if again := edit(t, file, unchanged); !bytes.Equal(again, file) {
			t.Fatalf("%s: decoding and writing the file again changes it", name)
		}
		if diff, err := slots.Replay(bytes.NewReader(file), newPolicy); diff != nil || err != nil {
			t.Errorf("%s: %v, %v", name, diff, err)
		}
	}
}

// TestReplayFailsWhenAFactIsWrong drops, swaps and delays each fact of a run in
// turn. Every time the replay must fail, and where a decision rests on the fact
// it must name one.
func TestReplayFailsWhenAFactIsWrong(t *testing.T) {
	for _, name := range []string{"fifo", "fair", "pi-dhfs", "sleepy"} {
		file := record(t, name)
		var facts []int
		edit(t, file, func(events []trace.Event) []trace.Event {
			for i := range events {
				if events[i].Op.Class() == trace.Fact {
					facts = append(facts, i)
				}
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
			named := 0
			for n, i := range facts {
				if how == "swapped" && n == len(facts)-1 {
					continue
				}
				bad := edit(t, file, func(events []trace.Event) []trace.Event { return change(events, i) })
				diff, err := slots.Replay(bytes.NewReader(bad), newPolicy)
				if diff == nil && err == nil {
					t.Errorf("%s: fact %d %s: the replay says that all is well", name, i, how)
				}
				if diff != nil {
					named++
					if diff.Recorded == "" && diff.Replayed == "" || diff.Line == 0 {
						t.Errorf("%s: fact %d %s: %+v names nothing", name, i, how, diff)
					}
				}
			}
			if named < len(facts)/3 {
				t.Errorf("%s: of %d facts %s only %d led to another decision", name, len(facts), how, named)
			}
		}
	}
}

// TestReplayFailsWhenAFactComesAfterTheWakeUp: the last end of an attempt before a
// wake-up at 10 s, told 1 ns after the wake-up instead.
func TestReplayFailsWhenAFactComesAfterTheWakeUp(t *testing.T) {
	file := record(t, "sleepy")
	late := edit(t, file, func(events []trace.Event) []trace.Event {
		wake := -1
		for i := range events {
			if events[i].Op == trace.OpAssign && events[i].At == 10*time.Second {
				wake = i
				break
			}
		}
		fact := wake
		for events[fact].Op != trace.OpFinish {
			fact--
		}
		moved := events[fact]
		moved.At = 10*time.Second + 1
		events = append(events[:fact], events[fact+1:]...) // the wake-up is at wake-1 now
		after := wake
		for after < len(events) && events[after].At <= 10*time.Second {
			after++
		}
		return append(events[:after:after], append([]trace.Event{moved}, events[after:]...)...)
	})
	diff, err := slots.Replay(bytes.NewReader(late), newPolicy)
	if err != nil || diff == nil {
		t.Fatalf("%v, %v", diff, err)
	}
	if !strings.Contains(diff.String(), "decision") || diff.Recorded == diff.Replayed {
		t.Errorf("%v", diff)
	}
}

func TestReplayComparesWakeUps(t *testing.T) {
	file := edit(t, record(t, "sleepy"), func(events []trace.Event) []trace.Event {
		for i := range events {
			if events[i].Op == trace.OpAssign && events[i].C > 0 {
				events[i].C++
				break
			}
		}
		return events
	})
	if diff, err := slots.Replay(bytes.NewReader(file), newPolicy); err != nil || diff == nil || diff.FactsLine != 0 {
		t.Errorf("%v, %v", diff, err)
	}
}

func TestReplayNamesTheDecisionOfAnotherPolicy(t *testing.T) {
	file := bytes.Replace(record(t, "pi-dhfs"), []byte(`"policy":"pi-dhfs"`), []byte(`"policy":"fair"`), 1)
	diff, err := slots.Replay(bytes.NewReader(file), newPolicy)
	if err != nil || diff == nil || diff.FactsLine != 0 || !strings.Contains(diff.Recorded, `"op":"start"`) {
		t.Errorf("%v, %v", diff, err)
	}
}

func TestReplayOfAFileThatIsNotWhole(t *testing.T) {
	file := record(t, "pi-dhfs")
	lines := bytes.SplitAfter(file, []byte("\n"))
	for name, c := range map[string]struct {
		file []byte
		want error
	}{
		"last line missing":       {bytes.Join(lines[:len(lines)-2], nil), trace.ErrCut},
		"cut inside a line":       {file[:len(file)-60], trace.ErrCut},
		"a number changed":        {bytes.Replace(file, []byte(`"seed":7`), []byte(`"seed":8`), 1), trace.ErrChanged},
		"another file altogether": {[]byte("hello\n"), nil},
		"nothing":                 {nil, nil},
	} {
		diff, err := slots.Replay(bytes.NewReader(c.file), newPolicy)
		if err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v, %v", name, diff, err)
		}
	}
}

// FuzzReplay: no file makes a replay panic or go on for ever.
func FuzzReplay(f *testing.F) {
	for _, name := range []string{"fifo", "pi-dhfs"} {
		file := record(f, name)
		f.Add(file)
		f.Add(bytes.Replace(file, []byte(`"task":3`), []byte(`"task":99`), -1))
		f.Add(bytes.Replace(file, []byte(`"job":0`), []byte(`"job":-1`), -1))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		_, _ = slots.Replay(bytes.NewReader(file), newPolicy)
	})
}
