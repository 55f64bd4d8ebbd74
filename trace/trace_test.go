package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"mrlocal/internal/invariant"
)

// drawEvent returns a random event, with only the fields set that its Op uses.
func drawEvent(t *rapid.T, s *Stream) Event {
	e := Event{Op: Op(rapid.IntRange(1, int(numOps)-1).Draw(t, "op")), At: time.Duration(rapid.Int64Range(0, int64(maxTime)).Draw(t, "at"))}
	sh := e.Op.shape()
	number := func(has parts, to *int32) {
		if sh.parts&has != 0 {
			*to = rapid.Int32Range(0, maxJobs-1).Draw(t, "number")
		}
	}
	number(hasJob, &e.Job)
	number(hasTask, &e.Task)
	number(hasN, &e.N)
	number(hasSlot, &e.Slot)
	e.Slot %= 2
	e.Task &= 1<<17 - 1 // 20 events stay below MaxTasks
	if sh.parts&hasKind != 0 {
		e.Kind = Kind(rapid.IntRange(0, Kinds-1).Draw(t, "kind"))
	}
	if sh.parts&hasPhase != 0 {
		e.Phase = Phase(rapid.IntRange(0, len(phaseNames)-1).Draw(t, "phase"))
	}
	if sh.parts&hasRule != 0 {
		if rule := rapid.String().Draw(t, "rule"); rule != "" && rule != noRule {
			e.Ref = s.Refer(rule)
		}
	}
	e.Flags = sh.flags & Flags(rapid.Uint8().Draw(t, "flags"))
	for i, to := range []*int64{&e.A, &e.B, &e.C, &e.D, &e.E} {
		if i < len(sh.values) {
			*to = rapid.Int64().Draw(t, "value")
		}
		if e.Op == OpSubmit || e.Op == OpReady {
			*to &= 1<<17 - 1 // numbers of tasks
		}
	}
	if sh.words != nil {
		e.A = int64(rapid.IntRange(0, len(sh.words)-1).Draw(t, "word"))
	}
	if len(sh.texts) > 0 {
		var texts []string
		for range sh.texts {
			texts = append(texts, rapid.String().Draw(t, "text"))
		}
		e.Ref = s.Refer(texts...)
	}
	return e
}

// kept is a Sink that keeps all events. policytest.Log, which does more, imports this package.
type kept []Event

func (k *kept) Record(_ *Stream, e *Event) error {
	*k = append(*k, *e)
	return nil
}

func TestAnEventFileHoldsEverything(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := NewStream()
		var file bytes.Buffer
		var all kept
		s.Attach(NewJSONL(&file))
		s.Attach(&all)
		h := Header{Policy: "fair", Seed: rapid.Uint64().Draw(rt, "seed"), Config: json.RawMessage(`{"a":1}`), Slots: []Slot{{ID: 0, Core: -1, Home: Reduce}, {ID: 1}}}
		s.Open(h)
		for range rapid.IntRange(0, 20).Draw(rt, "events") {
			s.Append(drawEvent(rt, s))
		}
		if err := s.Close(); err != nil {
			rt.Fatal(err)
		}
		for i, line := range bytes.Split(bytes.TrimSpace(file.Bytes()), []byte("\n")) {
			if !json.Valid(line) {
				rt.Fatalf("line %d is not JSON: %s", i+1, line)
			}
		}
		d, err := NewDecoder(&file)
		if err != nil {
			rt.Fatal(err)
		}
		if got := fmt.Sprint(*d.Header()); got != fmt.Sprint(h) {
			rt.Fatalf("header %s, want %v", got, h)
		}
		for i := range all {
			want := all[i]
			got, err := d.Next()
			if err != nil {
				rt.Fatal(err)
			}
			if want.Ref != 0 {
				if a, b := fmt.Sprintf("%q", d.Texts(got.Ref)), fmt.Sprintf("%q", s.Texts(want.Ref)); a != b {
					rt.Fatalf("texts %s, want %s", a, b)
				}
				got.Ref, want.Ref = 0, 0
			}
			if got != want {
				rt.Fatalf("event %d is %+v, want %+v", i, got, want)
			}
		}
		if _, err := d.Next(); err != io.EOF {
			rt.Fatalf("at the end: %v", err)
		}
	})
}

func TestOpsHaveNamesOfTheirOwn(t *testing.T) {
	seen := map[string]Op{"end": 0}
	for op := range numOps {
		if other, ok := seen[op.String()]; ok || op.String() == "" {
			t.Errorf("ops %d and %d are both %q", other, op, op)
		}
		seen[op.String()] = op
	}
	if Op(250).String() != "none" || Kind(9).String() != "?" {
		t.Error("values out of range are not caught")
	}
}

// TestTheFormatsPageNamesEveryField: docs/formats.md has a row for each op.
func TestTheFormatsPageNamesEveryField(t *testing.T) {
	page, err := os.ReadFile("../docs/formats.md")
	if err != nil {
		t.Fatal(err)
	}
	for op := OpSubmit; op < numOps; op++ {
		s := op.shape()
		for _, name := range slices.Concat([]string{s.name}, s.values, s.words, s.texts) {
			if name != "running" && !bytes.Contains(page, []byte("`"+name+"`")) { // no job ends as running
				t.Errorf("docs/formats.md does not mention `%s` of %v", name, op)
			}
		}
	}
}

func TestAFileCutShortOrChangedAtAnyByteIsKnownAsSuch(t *testing.T) {
	s := NewStream()
	var file bytes.Buffer
	s.Attach(NewJSONL(&file))
	s.Open(Header{Policy: "fifo"})
	for i := range 5 {
		s.Append(Event{Op: OpStart, Job: int32(i)})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole := file.Bytes()
	for n := range len(whole) - 1 { // without the last newline it is still whole
		d, err := NewDecoder(bytes.NewReader(whole[:n]))
		for err == nil {
			_, err = d.Next()
		}
		if err == io.EOF {
			t.Fatalf("cut at byte %d of %d: taken for whole", n, len(whole))
		}
	}
	for i := range whole {
		changed := append([]byte(nil), whole...)
		changed[i] ^= 1
		d, err := NewDecoder(bytes.NewReader(changed))
		for err == nil {
			_, err = d.Next()
		}
		if err == io.EOF {
			t.Fatalf("byte %d changed: taken for whole", i)
		}
	}
}

// failing is a writer that fails from the n-th write on.
type failing struct{ n int }

var errDisk = errors.New("disk full")

func (f *failing) Write(p []byte) (int, error) {
	if f.n--; f.n < 0 {
		return 0, errDisk
	}
	return len(p), nil
}

func TestAnEventFileThatCannotBeWrittenIsReported(t *testing.T) {
	for n := range 3 {
		s := NewStream()
		s.Attach(NewJSONL(&failing{n}))
		var all kept
		s.Attach(&all)
		s.Open(Header{})
		for range 2000 {
			s.Append(Event{Op: OpStart})
		}
		if err := s.Close(); !errors.Is(err, errDisk) {
			t.Errorf("after %d writes: %v", n, err)
		}
		if len(all) != 2000 {
			t.Errorf("the other reader got %d events", len(all))
		}
	}
}

func TestAppendAllocatesNothing(t *testing.T) {
	s := NewStream()
	if n := testing.AllocsPerRun(100, func() { s.Append(Event{Op: OpStart}) }); n != 0 && !invariant.Enabled {
		t.Errorf("%v allocations an event", n)
	}
	line := make([]byte, 0, 512)
	e := Event{Op: OpFinish, Job: 1, A: 1 << 40}
	if n := testing.AllocsPerRun(100, func() { line = AppendJSON(line[:0], &e, nil) }); n != 0 {
		t.Errorf("%v allocations per line", n)
	}
}

func BenchmarkAppend(b *testing.B) {
	s := NewStream()
	b.ReportAllocs()
	for b.Loop() {
		s.Append(Event{Op: OpStart})
	}
}

func BenchmarkAppendJSON(b *testing.B) {
	e := Event{Op: OpFinish, Seq: 12345, At: time.Minute, Job: 1, Task: 77, Slot: 3, Flags: OK, A: 1 << 26, B: 1 << 25, C: 1 << 30}
	line := AppendJSON(nil, &e, nil)
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		line = AppendJSON(line[:0], &e, nil)
	}
}

// TestADamagedFileIsAnError: a number that no run writes is an error, with the line. Timelines would
// panic on it, or take all memory.
func TestADamagedFileIsAnError(t *testing.T) {
	start := Event{Op: OpStart, At: time.Second}
	submit := func(job int32) func(e *Event, h *Header) {
		return func(e *Event, _ *Header) { *e = Event{Op: OpSubmit, Job: job} }
	}
	for want, damage := range map[string]func(e *Event, h *Header){
		"line 1: slot 0 has the number 7":                                                    func(_ *Event, h *Header) { h.Slots[0].ID = 7 },
		"line 2: the time -1 of start is not from 0 to 1152921504606846976":                  func(e *Event, _ *Header) { e.At = -1 },
		"line 2: the time 9223372036854775807 of start is not from 0 to 1152921504606846976": func(e *Event, _ *Header) { e.At = 1<<63 - 1 },
		"line 2: the job -1 of start is not from 0 to 4194303":                               func(e *Event, _ *Header) { e.Job = -1 },
		"line 2: the job 2147483647 of start is not from 0 to 4194303":                       func(e *Event, _ *Header) { e.Job = 1<<31 - 1 },
		"line 2: the job -1 of submit is not from 0 to 4194303":                              submit(-1),
		"line 2: the job 2147483647 of submit is not from 0 to 4194303":                      submit(1<<31 - 1),
		"line 2: start has a negative number: task -1, n 0, slot 0":                          func(e *Event, _ *Header) { e.Task = -1 },
		"line 2: start has a negative number: task 0, n 0, slot -2":                          func(e *Event, _ *Header) { e.Slot = -2 },
	} {
		e, h := start, Header{Policy: "fair", Config: json.RawMessage(`{}`), Slots: []Slot{{}}}
		damage(&e, &h)
		var file bytes.Buffer
		s := NewStream()
		s.Attach(NewJSONL(&file))
		s.Open(h)
		if e.Op == OpSubmit {
			e.Ref = s.Refer("a", "b", "c")
		}
		s.Append(e)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		got := gantt(t, file.Bytes())
		if !strings.HasSuffix(got, want) {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// gantt draws an event file. It returns the error of the decoder, or the panic of the timeline.
func gantt(t *testing.T, file []byte) (got string) {
	defer func() {
		if r := recover(); r != nil {
			got = fmt.Sprint("panic: ", r)
		}
	}()
	d, err := NewDecoder(bytes.NewReader(file))
	if err != nil {
		return err.Error()
	}
	var line Timeline
	line.Open(d.Header())
	for {
		e, err := d.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err.Error()
		}
		line.Add(&e, d.Texts(e.Ref))
	}
	var b strings.Builder
	if err := line.Gantt(&b, GanttOptions{Names: line.Name}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// eventLines returns an event file of n events without texts.
func eventLines(t testing.TB, n int) []byte {
	s := NewStream()
	var file bytes.Buffer
	s.Attach(NewJSONL(&file))
	s.Open(Header{Policy: "fair", Config: json.RawMessage(`{}`), Slots: []Slot{{}}})
	for i := range n {
		s.Append(Event{Op: OpFinish, At: time.Duration(i) * time.Second, Job: 3, Kind: Reduce, Task: int32(i), Flags: OK, A: 1 << 40, D: 20_000_000})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// TestEventsAreReadWithoutAllocations measures the steady state.
func TestEventsAreReadWithoutAllocations(t *testing.T) {
	d, err := NewDecoder(bytes.NewReader(eventLines(t, 1000)))
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(900, func() {
		if _, err := d.Next(); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations an event", n)
	}
}

func BenchmarkDecoder(b *testing.B) {
	const events = 10_000
	file := eventLines(b, events)
	b.SetBytes(int64(len(file)) / events)
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; {
		d, err := NewDecoder(bytes.NewReader(file))
		for n < b.N && err == nil {
			_, err = d.Next()
			n++
		}
	}
}

// FuzzFields: splitPlain finds the fields that encoding/json finds.
func FuzzFields(f *testing.F) {
	for _, line := range []string{
		`{"seq":1,"at":-20,"op":"start","ok":true,"a":0}`, `{"op":"x","op":"y"}`, `{}`, `{"a":01}`, `{"a":-}`, `{"a":1 }`, `{"a":"\u0041"}`, `{"a":"é"}`,
		`{"a":nul}`, `{"a":truely}`, `{"a":1,}`, `{"a":1}}`, `{"a":[1]}`, `{"":""}`, `{"a`, `{"a":`, `{"a":"b`, `{"a":1.5}`, `null`, `{"a":1}{`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		got, ok := fields(nil).splitPlain(line)
		if !ok {
			return
		}
		var want map[string]json.RawMessage
		if err := json.Unmarshal(line, &want); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		have := map[string]json.RawMessage{}
		for _, f := range got {
			have[string(f.name)], _ = got.get(string(f.name))
		}
		if !maps.EqualFunc(have, want, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
			t.Fatalf("%q: %q, want %q", line, have, want)
		}
	})
}

func FuzzDecoder(f *testing.F) {
	s := NewStream()
	var file bytes.Buffer
	s.Attach(NewJSONL(&file))
	s.Open(Header{Policy: "fair", Config: json.RawMessage(`{}`), Slots: []Slot{{}}})
	for op := OpSubmit; op < numOps; op++ {
		s.Append(Event{Op: op, Ref: s.Refer("a", "b", "c")})
	}
	if err := s.Close(); err != nil {
		f.Fatal(err)
	}
	f.Add(file.Bytes())
	f.Fuzz(func(t *testing.T, file []byte) {
		d, err := NewDecoder(bytes.NewReader(file))
		for err == nil {
			_, err = d.Next()
		}
	})
}

// TestGantt draws slots from lines of "slot job from to [lent]", in seconds.
func TestGantt(t *testing.T) {
	datadriven.RunTest(t, "testdata/gantt.txt", func(t *testing.T, d *datadriven.TestData) string {
		h := Header{Slots: []Slot{{ID: 0, Home: Map}, {ID: 1, Home: Reduce}, {ID: 2, Home: Map, Extra: true}}}
		var line Timeline
		_ = line.Open(&h) // never fails
		o := GanttOptions{Width: 30}
		for text := range strings.SplitSeq(strings.TrimSpace(d.String()), "\n") {
			if cell, ok := strings.CutPrefix(text, "cell "); ok {
				o.Cell, _ = time.ParseDuration(cell)
				continue
			}
			if text == "names" {
				o.Names = func(job int32) string { return fmt.Sprintf("job-%d", job) }
				continue
			}
			var slot, job int32
			var from, to float64
			n, err := fmt.Sscan(text, &slot, &job, &from, &to)
			if n < 3 {
				t.Fatalf("%q: %v", text, err)
			}
			e := Event{Op: OpStart, Slot: slot, Job: job, At: time.Duration(from * float64(time.Second))}
			if strings.HasSuffix(text, "lent") {
				e.Flags = Lent
			}
			line.Add(&e, nil)
			if n == 4 {
				line.Add(&Event{Op: OpFinish, Slot: slot, Job: job, At: time.Duration(to * float64(time.Second))}, nil)
			}
		}
		var b strings.Builder
		if err := line.Gantt(&b, o); err != nil {
			t.Fatal(err)
		}
		return b.String()
	})
}

// TestALongLine: a header may be longer than other lines, because it grows with the
// cluster. A long line that is not a header is an error. A long line behind the header is
// an error too.
func TestALongLine(t *testing.T) {
	long := strings.Repeat("x", 60<<20)
	header := fmt.Sprintf(`{"schema":%d,"kind":"mrlocal-events","policy":"fifo","config":"%s","slots":[]}`, schema, long)
	d, err := NewDecoder(strings.NewReader(header + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Header().Config) < len(long) {
		t.Fatal("the header is not whole")
	}
	if _, err := d.Next(); !errors.Is(err, ErrCut) {
		t.Errorf("got %v, want that the file is cut short", err)
	}
	short := strings.Replace(header, long, "", 1) + "\n"
	if d, err = NewDecoder(strings.NewReader(short + long + "\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Next(); err == nil || err.Error() != "line 2: longer than 16 MiB" {
		t.Errorf("got %v, want that line 2 is too long", err)
	}
	if _, err := NewDecoder(strings.NewReader(long)); err == nil || err.Error() != "line 1: not an event file of mrlocal" {
		t.Errorf("got %v, want that it is none of ours", err)
	}
}

// TestNothingComesAfterTheEnd: a second file behind a whole one is an error.
func TestNothingComesAfterTheEnd(t *testing.T) {
	var file bytes.Buffer
	s := NewStream()
	s.Attach(NewJSONL(&file))
	s.Open(Header{Policy: "fifo"})
	_ = s.Close()
	d, err := NewDecoder(io.MultiReader(bytes.NewReader(file.Bytes()), &file))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Next(); err == nil || !strings.Contains(err.Error(), "comes after the run's last line") {
		t.Errorf("got %v, want an error", err)
	}
}

// A file of another schema, older or newer, is refused in one line that names both.
func TestOneSchemaIsRead(t *testing.T) {
	for _, other := range []int{-1, 0, 1, schema - 1, schema + 1, 1 << 40} {
		_, err := NewDecoder(strings.NewReader(fmt.Sprintf(`{"schema":%d,"kind":"mrlocal-events","policy":"fifo","seed":1,"config":{},"slots":[]}`+"\n", other)))
		if want := fmt.Sprintf("line 1: schema %d; this version of mrlocal reads schema %d only", other, schema); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
