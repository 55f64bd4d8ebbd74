package export_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mrlocal/view/export"
	"mrlocal/view/viewtest"
)

// event is one object of the format.
type event struct {
	Ph   string          `json:"ph"`
	Name string          `json:"name"`
	Cat  string          `json:"cat"`
	Pid  *int            `json:"pid"`
	Tid  *int            `json:"tid"`
	Ts   *float64        `json:"ts"`
	Dur  *float64        `json:"dur"`
	ID   any             `json:"id"`
	Bp   string          `json:"bp"`
	Args json.RawMessage `json:"args"`
}

type track struct{ pid, tid int }

// slice is a complete event, in whole nanoseconds.
type slice struct{ from, to int64 }

// file is a checked trace.
type file struct {
	slices  map[track][]slice
	named   map[track]bool
	process map[int]bool
}

func nanos(us float64) int64 { return int64(us*1000 + 0.5) }

// check returns the mistakes in a trace:
//
//	events without a field that they need
//	tracks without a name
//	slices that overlap without one containing the other
//	arrows without an end, or with an end outside of slices
func check(text []byte) error {
	var trace struct {
		TraceEvents []event `json:"traceEvents"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&trace); err != nil {
		return err
	}
	f := file{map[track][]slice{}, map[track]bool{}, map[int]bool{}}
	for i, e := range trace.TraceEvents {
		if err := f.add(&e); err != nil {
			return fmt.Errorf("event %d, %s %q: %w", i, e.Ph, e.Name, err)
		}
	}
	for t, all := range f.slices {
		if !f.named[t] || !f.process[t.pid] {
			return fmt.Errorf("track %v has no name", t)
		}
		if err := nested(all); err != nil {
			return fmt.Errorf("track %v: %w", t, err)
		}
	}
	return f.pairs(trace.TraceEvents)
}

func (f *file) add(e *event) error {
	if e.Pid == nil || e.Tid == nil || e.Ts == nil || *e.Ts < 0 || e.Name == "" {
		return fmt.Errorf("pid, tid, ts or name is missing")
	}
	t := track{*e.Pid, *e.Tid}
	switch e.Ph {
	case "M":
		var args struct {
			Name  *string `json:"name"`
			Index *int    `json:"sort_index"`
		}
		if err := json.Unmarshal(e.Args, &args); err != nil || args.Name == nil && args.Index == nil {
			return fmt.Errorf("metadata without a name or an index")
		}
		f.named[t] = f.named[t] || e.Name == "thread_name"
		f.process[t.pid] = f.process[t.pid] || e.Name == "process_name"
	case "X":
		if e.Dur == nil || *e.Dur < 0 {
			return fmt.Errorf("no duration")
		}
		from := nanos(*e.Ts)
		f.slices[t] = append(f.slices[t], slice{from, from + nanos(*e.Dur)})
	case "b", "e", "s", "f":
		if e.ID == nil || e.Cat == "" {
			return fmt.Errorf("no id or category")
		}
	case "i":
	case "C":
		var args map[string]float64
		if err := json.Unmarshal(e.Args, &args); err != nil || len(args) == 0 {
			return fmt.Errorf("a counter without numbers")
		}
	default:
		return fmt.Errorf("unknown sort")
	}
	return nil
}

// nested reports slices of a track that overlap without one containing the other.
func nested(all []slice) error {
	slices.SortFunc(all, func(a, b slice) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to)) })
	var open []slice
	for _, s := range all {
		for len(open) > 0 && open[len(open)-1].to <= s.from {
			open = open[:len(open)-1]
		}
		if len(open) > 0 && open[len(open)-1].to < s.to {
			return fmt.Errorf("slices %v and %v overlap", open[len(open)-1], s)
		}
		open = append(open, s)
	}
	return nil
}

// pairs checks that each flow and each asynchronous slice has a start and then an end, and
// that flows end in slices.
func (f *file) pairs(events []event) error {
	begun := map[string]float64{}
	for i, e := range events {
		key := fmt.Sprint(e.Cat, e.ID)
		switch e.Ph {
		case "b", "s":
			if _, twice := begun[key]; twice {
				return fmt.Errorf("event %d: %s begins twice", i, key)
			}
			begun[key] = *e.Ts
		case "e", "f":
			from, ok := begun[key]
			if !ok || from > *e.Ts {
				return fmt.Errorf("event %d: %s ends before it begins", i, key)
			}
			delete(begun, key)
		}
		if e.Ph == "s" || e.Ph == "f" {
			at := nanos(*e.Ts)
			if e.Ph == "f" && e.Bp != "e" || !slices.ContainsFunc(f.slices[track{*e.Pid, *e.Tid}], func(s slice) bool { return s.from <= at && at < s.to }) {
				return fmt.Errorf("event %d: the arrow is not bound to a slice", i)
			}
		}
	}
	if len(begun) > 0 {
		return fmt.Errorf("%d flows or spills have no end", len(begun))
	}
	return nil
}

func TestTracesPassTheChecker(t *testing.T) {
	write := func(t *testing.T, name string, b *bytes.Buffer, arrows bool) {
		if err := check(b.Bytes()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := bytes.Contains(b.Bytes(), []byte(`"ph":"s"`)); got != arrows {
			t.Errorf("%s: arrows %v", name, got)
		}
	}
	for _, run := range viewtest.Runs() {
		t.Run(run.Name, func(t *testing.T) {
			var b bytes.Buffer
			if err := export.Chrome(&b, run.Model(t)); err != nil {
				t.Fatal(err)
			}
			write(t, run.Name, &b, true)
		})
	}
	var b bytes.Buffer
	if err := export.Chrome(&b, viewtest.AllSigns()); err != nil {
		t.Fatal(err)
	}
	write(t, "signs", &b, true)
	for _, want := range []string{`"ph":"b"`, `"ph":"i"`, `"name":"memory"`, `"ph":"C"`, `process_name`} {
		if !bytes.Contains(b.Bytes(), []byte(want)) {
			t.Errorf("the trace of all signs has no %s", want)
		}
	}
}

// TestCountersChange checks that a counter has a new value in each event, and whole numbers of slots.
func TestCountersChange(t *testing.T) {
	for _, run := range viewtest.Runs() {
		var b bytes.Buffer
		if err := export.Chrome(&b, run.Model(t)); err != nil {
			t.Fatal(err)
		}
		var f struct {
			TraceEvents []struct {
				Ph, Name string
				Args     json.RawMessage
			}
		}
		if err := json.Unmarshal(b.Bytes(), &f); err != nil {
			t.Fatal(err)
		}
		last, counters := map[string]string{}, 0
		for _, e := range f.TraceEvents {
			if e.Ph != "C" {
				continue
			}
			counters++
			if last[e.Name] == string(e.Args) {
				t.Errorf("%s: %s is %s twice", run.Name, e.Name, e.Args)
			}
			if last[e.Name] = string(e.Args); strings.HasPrefix(e.Name, "slots of") && strings.Contains(last[e.Name], ".") {
				t.Errorf("%s: %s is %s", run.Name, e.Name, e.Args)
			}
		}
		if counters == 0 {
			t.Errorf("%s has no counters", run.Name)
		}
	}
}

// TestNamesDifferWithoutDigits, because Perfetto colours slices by their names without digits.
func TestNamesDifferWithoutDigits(t *testing.T) {
	var jobs strings.Builder
	for i := range 40 {
		fmt.Fprintf(&jobs, "  - {name: J%02d, maps: 1, reduces: 0, map_time: 5s}\n", i)
	}
	s := viewtest.Simulate(t, "cluster: {trackers: 1, map_slots: 2, reduce_slots: 1}\njobs:\n"+jobs.String(), "fair", "l0")
	var b bytes.Buffer
	if err := export.Chrome(&b, s.Model); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, m := range regexp.MustCompile(`"ph":"X","name":"([^"]*/m/[^"]*)"`).FindAllStringSubmatch(b.String(), -1) {
		names[regexp.MustCompile(`[0-9]`).ReplaceAllString(m[1], "")] = true
	}
	if len(names) != 40 {
		t.Errorf("%d names: %v", len(names), names)
	}
}

// TestTheCheckerFindsMistakes checks that check finds each kind of mistake.
func TestTheCheckerFindsMistakes(t *testing.T) {
	const names = `{"ph":"M","name":"process_name","pid":1,"tid":0,"ts":0,"args":{"name":"p"}},{"ph":"M","name":"thread_name","pid":1,"tid":1,"ts":0,"args":{"name":"t"}}`
	for name, text := range map[string]string{
		"overlap":        names + `,{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":10},{"ph":"X","name":"b","pid":1,"tid":1,"ts":5,"dur":10}`,
		"no name":        `{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":10}`,
		"no duration":    names + `,{"ph":"X","name":"a","pid":1,"tid":1,"ts":0}`,
		"no end of flow": names + `,{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":10},{"ph":"s","name":"f","cat":"c","id":1,"pid":1,"tid":1,"ts":5}`,
		"unbound flow":   names + `,{"ph":"s","name":"f","cat":"c","id":1,"pid":1,"tid":1,"ts":5},{"ph":"f","bp":"e","name":"f","cat":"c","id":1,"pid":1,"tid":1,"ts":5}`,
		"counter":        `{"ph":"C","name":"c","pid":1,"tid":1,"ts":0,"args":{}}`,
		"unknown":        `{"ph":"Z","name":"c","pid":1,"tid":1,"ts":0}`,
		"not JSON":       `{`,
	} {
		if err := check([]byte(`{"traceEvents":[` + text + `]}`)); err == nil {
			t.Errorf("%s: the checker finds nothing", name)
		}
	}
}
