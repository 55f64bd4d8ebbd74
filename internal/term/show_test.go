package term

import (
	"bytes"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mrlocal/slots/report"
	"mrlocal/trace"
)

var twoSlots = []trace.Slot{{ID: 0, Home: trace.Map}, {ID: 1, Home: trace.Reduce}, {ID: 2, Home: trace.Map, Extra: true}}

func texts(int32) []string { return []string{"wordcount"} }

func modelAfter(events ...trace.Event) *model {
	m := newModel(twoSlots)
	for i := range events {
		m.apply(&events[i], texts)
	}
	return m
}

func submit() trace.Event {
	return trace.Event{Op: trace.OpSubmit, Job: 1, Ref: 1, A: 4, B: 1, Flags: trace.Sealed}
}

func start(kind trace.Kind, task, slot int32, f trace.Flags) trace.Event {
	return trace.Event{Op: trace.OpStart, Job: 1, Kind: kind, Task: task, Slot: slot, Flags: f}
}

func finish(kind trace.Kind, task, slot int32, f trace.Flags, inBytes int64) trace.Event {
	return trace.Event{Op: trace.OpFinish, Job: 1, Kind: kind, Task: task, Slot: slot, Flags: f, A: inBytes}
}

func TestTheStripShowsOneCellASlot(t *testing.T) {
	for name, c := range map[string]struct {
		events []trace.Event
		want   string
	}{
		"idle, extra slots closed":         {nil, ".."},
		"a map at home, a map on loan":     {[]trace.Event{submit(), start(trace.Map, 0, 0, 0), start(trace.Map, 1, 1, trace.Lent)}, "Mm"},
		"a reduce at home and on loan":     {[]trace.Event{submit(), start(trace.Reduce, 0, 1, 0), start(trace.Reduce, 1, 0, trace.Lent)}, "sS"},
		"a reduce that reduces":            {[]trace.Event{submit(), start(trace.Reduce, 0, 1, 0), {Op: trace.OpPhase, Job: 1, Kind: trace.Reduce, Slot: 1, Phase: trace.PhaseReduce}}, ".R"},
		"a failed attempt":                 {[]trace.Event{submit(), start(trace.Map, 0, 0, 0), finish(trace.Map, 0, 0, 0, 0)}, "x."},
		"and another one":                  {[]trace.Event{submit(), start(trace.Map, 0, 0, 0), finish(trace.Map, 0, 0, trace.Killed, 0), start(trace.Map, 0, 0, 0)}, "M."},
		"idle again":                       {[]trace.Event{submit(), start(trace.Map, 0, 0, 0), finish(trace.Map, 0, 0, trace.OK, 9)}, ".."},
		"an extra slot opens":              {[]trace.Event{submit(), {Op: trace.OpOpen, Slot: 2}}, "..."},
		"and drains while it is busy":      {[]trace.Event{submit(), {Op: trace.OpOpen, Slot: 2}, start(trace.Map, 0, 2, 0), {Op: trace.OpDrain, Slot: 2}}, "..M"},
		"a slot that is not in the header": {[]trace.Event{submit(), start(trace.Map, 0, 4, 0)}, ".."},
	} {
		if got := modelAfter(c.events...).strip(0); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestTheLineShowsSharesRateAndTimeToGo(t *testing.T) {
	second := time.Second
	for name, c := range map[string]struct {
		events []trace.Event
		want   string
	}{
		"before the first job": {nil, "starting"},
		"half of the maps done": {
			[]trace.Event{submit(), start(trace.Map, 0, 0, 0), finish(trace.Map, 0, 0, trace.OK, 1<<20), start(trace.Map, 1, 0, 0), finish(trace.Map, 1, 0, trace.OK, 1<<20)},
			"wordcount: map 50% (2/4) 1.0 MiB/s 2s to go, reduce 0% (0/1), slots ..",
		},
		"a failed attempt counts for nothing": {
			[]trace.Event{submit(), start(trace.Map, 0, 0, 0), finish(trace.Map, 0, 0, 0, 1<<20)},
			"wordcount: map 0% (0/4), reduce 0% (0/1), slots ..",
		},
		"a running attempt counts by its progress": {
			[]trace.Event{submit(), start(trace.Map, 0, 0, 0), {Op: trace.OpProgress, Job: 1, Slot: 0, A: 500_000}},
			"wordcount: map 12% (0/4) 14s to go, reduce 0% (0/1), slots M.",
		},
		"a copy of a running task counts for nothing": {
			[]trace.Event{submit(), start(trace.Map, 0, 0, 0), {Op: trace.OpProgress, Job: 1, Slot: 0, A: 500_000},
				{Op: trace.OpStart, Job: 1, Slot: 1, N: 1, Flags: trace.Speculative}, {Op: trace.OpProgress, Job: 1, Slot: 1, N: 1, A: 500_000}},
			"wordcount: map 12% (0/4) 14s to go, reduce 0% (0/1), slots MM",
		},
		"a stream whose end is not known": {
			[]trace.Event{{Op: trace.OpSubmit, Job: 1, Ref: 1, A: 1}, {Op: trace.OpReady, Job: 1, A: 1, B: 3}},
			"wordcount: map 0% (0/3+), slots ..",
		},
		"two jobs at a time are shown together": {
			[]trace.Event{{Op: trace.OpSubmit, Job: 0, Ref: 1, A: 2, B: 1, Flags: trace.Sealed}, submit(),
				start(trace.Map, 0, 0, 0), {Op: trace.OpProgress, Job: 1, Slot: 0, A: 500_000}, {Op: trace.OpStart, Job: 0, Slot: 1, Flags: trace.Lent},
				{Op: trace.OpFinish, Job: 0, Slot: 1, Flags: trace.OK}, {Op: trace.OpJobEnd, Job: 0, A: 1}},
			"1 of 2 jobs ended: map 25% (1/6), reduce 0% (0/2), slots M.",
		},
		"jobs one after the other are shown one by one": {
			[]trace.Event{{Op: trace.OpSubmit, Job: 0, Ref: 1, A: 1, Flags: trace.Sealed}, {Op: trace.OpJobEnd, Job: 0, A: 1}, submit()},
			"wordcount: map 0% (0/4), reduce 0% (0/1), slots ..",
		},
		"lost output is done again": {
			[]trace.Event{submit(), start(trace.Map, 0, 0, 0), finish(trace.Map, 0, 0, trace.OK, 1), {Op: trace.OpLostOutput, Job: 1}},
			"wordcount: map 0% (0/4), reduce 0% (0/1), slots ..",
		},
	} {
		if got := modelAfter(c.events...).line(2 * second); got != c.want {
			t.Errorf("%s:\n got  %s\n want %s", name, got, c.want)
		}
	}
}

// A name may have any bytes, such as that of a streaming job. A line feed in it would break the line
// in two, and an escape could reach a terminal.
func TestNamesOfJobsAreEscaped(t *testing.T) {
	const name, escaped = "count\n\x1b[31m\twords", `count\n\x1b[31m\twords`
	m := newModel(twoSlots)
	e := submit()
	m.apply(&e, func(int32) []string { return []string{name} })
	var lines bytes.Buffer
	plain{&lines}.draw(m, time.Second)
	if got, want := lines.String(), "mrlocal: "+escaped+": map 0% (0/4), reduce 0% (0/1), slots ..\n"; got != want {
		t.Errorf("a line\n got  %q\n want %q", got, want)
	}
	if got, want := string(oneLine(m, quietTime, 80, 24)), escaped+"  map 0/4  reduce 0/1"; got != want {
		t.Errorf("the line of a tool\n got  %q\n want %q", got, want)
	}
	r := &report.Report{Policy: "fair", Jobs: []report.JobReport{{Name: name}}}
	if text := table(r, 120); !strings.Contains(text, escaped+" ") {
		t.Errorf("the table: %q", text)
	}
	if all := Failures(r); len(all) != 1 || !strings.HasSuffix(all[0], ": "+escaped) {
		t.Errorf("the failures: %q", all)
	}
}

// recorder is a display that keeps what it draws.
type recorder struct {
	plain
	buf bytes.Buffer
}

func TestAFollowerDrawsWhatTheStreamHasAndStops(t *testing.T) {
	r := &recorder{}
	r.w = &r.buf
	f := &Screen{out: outbox{to: io.Discard}}
	f.show(r, time.Millisecond)
	s := trace.NewStream()
	f.Watch(s)
	s.Open(trace.Header{Slots: twoSlots})
	e := submit()
	e.Ref = s.Refer("wordcount", "pool", "user")
	s.Append(e)
	s.Append(start(trace.Map, 0, 0, 0))
	time.Sleep(50 * time.Millisecond)
	f.Stop()
	f.Stop()
	if !f.stopped || !strings.Contains(r.buf.String(), "mrlocal: wordcount: map 0% (0/4), reduce 0% (0/1), slots M.\n") {
		t.Errorf("drew %q", r.buf.String())
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// stuck is a terminal whose first write takes until it is closed.
type stuck struct{ closed chan struct{} }

func (s stuck) Write(p []byte) (int, error) {
	<-s.closed
	return len(p), nil
}

// A follower has every event, and the run does not wait for the terminal.
func TestAFollowerLosesNothing(t *testing.T) {
	const maps = 100_000
	terminal, r := stuck{make(chan struct{})}, &recorder{}
	f := &Screen{out: outbox{to: terminal}}
	r.w = &f.out
	f.show(r, time.Millisecond)
	s := trace.NewStream()
	f.Watch(s)
	s.Open(trace.Header{Slots: twoSlots})
	e := submit()
	e.Job, e.A = 0, maps
	e.Ref = s.Refer("wordcount", "pool", "user")
	s.Append(e)
	time.Sleep(20 * time.Millisecond) // the terminal is stuck by now
	for i := range int32(maps) {
		begun, done := start(trace.Map, i, 0, 0), finish(trace.Map, i, 0, trace.OK, 1)
		begun.Job, done.Job = 0, 0
		s.Append(begun)
		s.Append(done)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	close(terminal.closed)
	f.Stop()
	if got := f.follower.model.line(0); !strings.Contains(got, "map 100% (100000/100000)") {
		t.Error(got)
	}
}

// slow is a display whose drawings and notes take a while. It counts those that begin during another.
type slow struct {
	plain
	inside, overlaps, draws atomic.Int32
}

func (d *slow) draw(*model, time.Duration) {
	d.draws.Add(1)
	d.note("")
}

func (d *slow) note(string) {
	if d.inside.Add(1) > 1 {
		d.overlaps.Add(1)
	}
	time.Sleep(time.Millisecond)
	d.inside.Add(-1)
}

// TestNotesAndDrawingsTakeTurns: a note that comes while the follower draws would join the line.
func TestNotesAndDrawingsTakeTurns(t *testing.T) {
	d := &slow{}
	screen := &Screen{out: outbox{to: io.Discard}}
	screen.show(d, time.Millisecond)
	s := trace.NewStream()
	screen.Watch(s)
	s.Open(trace.Header{Slots: twoSlots})
	for deadline := time.Now().Add(10 * time.Second); d.draws.Load() < 20 && time.Now().Before(deadline); {
		screen.Write("a note\n")
	}
	screen.Stop()
	if d.draws.Load() < 20 || d.overlaps.Load() > 0 {
		t.Errorf("%d drawings, %d overlaps", d.draws.Load(), d.overlaps.Load())
	}
}

// TestALostTrackerRunsNothing: its attempts end, its slots have no cell, and its map outputs are to be made again.
func TestALostTrackerRunsNothing(t *testing.T) {
	m := newModel([]trace.Slot{{ID: 0}, {ID: 1, Tracker: 1}, {ID: 2, Tracker: 1}})
	for _, e := range []trace.Event{submit(), start(trace.Map, 0, 1, 0), finish(trace.Map, 0, 1, trace.OK, 9), start(trace.Map, 1, 0, 0), start(trace.Map, 2, 1, 0), start(trace.Reduce, 0, 2, trace.Lent),
		{Op: trace.OpFetch, Job: 1, Kind: trace.Reduce, Slot: 2, C: 7}, {Op: trace.OpLostTracker, A: 1}, {Op: trace.OpClose, Slot: 1}, {Op: trace.OpClose, Slot: 2}} {
		m.apply(&e, texts)
	}
	s := m.state(time.Second)
	if s.Slots != "M" || s.Jobs[0].Maps.Running != 1 || s.Jobs[0].Reduces.Running != 0 || s.Jobs[0].Maps.Done != 0 || s.Jobs[0].Reduces.Bytes != 0 {
		t.Errorf("%+v", s)
	}
}
