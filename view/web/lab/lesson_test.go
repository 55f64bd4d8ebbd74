package lab_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"testing"

	"mrlocal/internal/errs"
	"mrlocal/view/lesson"
	"mrlocal/view/web/lab"
)

// Each note in the answer has the number of an event in its run.
func TestALessonTiesItsNotesToEvents(t *testing.T) {
	x, err := lesson.Load("borrow")
	if err != nil {
		t.Fatal(err)
	}
	var l lab.Lab
	if _, err := l.Answer(t.Context(), "lesson", nil); !errors.Is(err, lab.Gone) {
		t.Errorf("without a lesson: %v", err)
	}
	for i := range x.Runs {
		var events bytes.Buffer
		if err := x.Simulate(t.Context(), i, &events, nil); err != nil {
			t.Fatal(err)
		}
		run := lab.NewRun(x.Runs[i].Title(), func(<-chan struct{}) (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(events.Bytes())), nil
		})
		run.Follow(nil)
		l.Add(run)
	}
	l.Teach(x)
	text, err := l.Answer(t.Context(), "lesson", nil)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Runs  []struct{ ID, Title string }
		Items []struct {
			Run   int
			At    int64
			Seq   uint64
			Slots []int32
			Ask   string
		}
		Outcomes []struct{ Holds bool }
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Runs) != 2 || got.Runs[1].ID != "1" || got.Runs[1].Title != "pi-dhfs" || len(got.Items) != 4 || len(got.Outcomes) != 3 {
		t.Fatalf("%s", text)
	}
	if q := got.Items[0]; q.Run != 1 || q.At != 0 || q.Seq == 0 || len(q.Slots) != 1 || q.Slots[0] != 1 || q.Ask == "" {
		t.Errorf("the first question: %+v", q)
	}
	for _, o := range got.Outcomes {
		if !o.Holds {
			t.Errorf("%s", text)
		}
	}
	if text, _ := l.Answer(t.Context(), "runs", nil); !bytes.Contains(text, []byte(`"lesson":true`)) {
		t.Errorf("%s", text)
	}
}

// Runs of one policy have their own names in headlines, the first one too, and also if it is alone.
func TestRunsOfALessonHaveTheirOwnNames(t *testing.T) {
	var l lab.Lab
	text, err := l.Answer(t.Context(), "lesson", url.Values{"name": {"spill"}})
	var got struct{ Runs []struct{ ID string } }
	if err = errors.Join(err, json.Unmarshal(text, &got)); err != nil {
		t.Fatal(err)
	}
	fixed, growing := got.Runs[0].ID, got.Runs[1].ID
	for _, c := range []struct {
		ids  []string
		want []string
	}{{[]string{fixed, growing}, []string{"fixed ", "growing "}}, {[]string{growing, fixed}, []string{"fixed ", "growing "}}, {[]string{fixed}, []string{"fixed ends after"}}} {
		text, err := l.Answer(t.Context(), "headline", url.Values{"run": c.ids})
		if err != nil || bytes.Contains(text, []byte("fair")) {
			t.Errorf("%v: %s, %v", c.ids, text, err)
		}
		for _, want := range c.want {
			if !bytes.Contains(text, []byte(want)) {
				t.Errorf("%v: %s does not say %q", c.ids, text, want)
			}
		}
	}
}

// A page plays each lesson: it is simulated, or its runs are recorded. All claims hold, each question has its moment.
func TestALessonByNameIsPlayed(t *testing.T) {
	var l lab.Lab
	for _, x := range lesson.Titles() {
		text, err := l.Answer(t.Context(), "lesson", url.Values{"name": {x.Name}})
		var got struct {
			Runs      []struct{ ID string }
			Items     []json.RawMessage
			Outcomes  []struct{ Holds bool }
			Following struct{ Name string }
		}
		notes, loadErr := lesson.Load(x.Name)
		if err != nil || loadErr != nil || json.Unmarshal(text, &got) != nil || len(got.Runs) < 2 || len(got.Items) != len(notes.Notes) || (got.Following.Name == "") != (x.Name == "overlap") {
			t.Fatalf("%s: %v, %v, %s", x.Name, err, loadErr, text)
		}
		for i, o := range got.Outcomes {
			if !o.Holds {
				t.Errorf("%s: claim %d does not hold: %s", x.Name, i, text)
			}
		}
		if _, err := l.Answer(t.Context(), "model", url.Values{"run": {got.Runs[0].ID}}); err != nil {
			t.Error(err)
		}
	}
	if _, err := l.Answer(t.Context(), "lesson", url.Values{"name": {"../borrow"}}); !errs.IsUsage(err) {
		t.Error(err)
	}
}

// TestHeadlinesOfExamplesAndLessons has the words of each example and lesson of the page. They name what the example is
// about: copies, reduces that wait, spills, the shares of pools, a deadline, a kill, loans.
func TestHeadlinesOfExamplesAndLessons(t *testing.T) {
	want := map[string]string{
		"example borrow":     "pi-dhfs ends first, after 80 s; fair 80 s later (twice the time). The reduce slot was idle for 120 s of 160 s under fair; pi-dhfs lent it 6 times.",
		"example fig5":       "pi-dhfs ends first, after 179 s; pd-dhfs 6.4 s later. But pd-dhfs ends job J1 30.8 s earlier: pool1 was below its share of all slots for 23.9 s, not 74.5 s.",
		"example table1":     "pi-dhfs ends first, after 520 s; pd-dhfs at the same time, fair 500 s later. Map slots were 55 % idle under fair; pi-dhfs lent them 404 times.",
		"example starving":   "fifo ends first, after 210 s; fair 40 s later. But fair ends job short 130 s earlier: it waited 10 s for a slot, not 160 s, as fair killed 2 attempts.",
		"example deadline":   "Both runs end after 520 s. Job urgent misses its deadline by 30 s under fair, and meets it under ras: its maps had 7.06, not 6 slots on average.",
		"example straggler":  "dynamicmr ends first, after 120 s; late 30 s later, fair 130 s later. Map 4 of A took 100 s under fair, 20 s under dynamicmr; 2 others' copies won.",
		"example overlap":    "omo ends first, after 153 s; fair 131 s later. Waiting reduces held slots for 1800 s of slot time under fair while tasks waited, 98.2 s under omo.",
		"example spill":      "Both runs end after 140 s. pi-dhfs lent the reduce slot 2 times, but maps took 1.5 times as long: 3 ran at a time, 2 under fair.",
		"lesson grep":        "pi-dhfs ends first, after 2.43 s; fair 1.9 s later. The reduce slot was idle for 3.4 s of 4.33 s under fair; pi-dhfs lent it 10 times.",
		"lesson borrow":      "pi-dhfs ends first, after 8 s; fair 8 s later (twice the time). The reduce slot was idle for 12 s of 16 s under fair; pi-dhfs lent it 6 times.",
		"lesson motive":      "pi-dhfs ends first, after 6 s; fifo 3.5 s later, but its job A 1 s earlier, fair 7 s later. Map slots were 62 % idle under fair; pi-dhfs lent them 5 times.",
		"lesson order":       "pi-dhfs ends first, after 10 s; fifo 1 s later, fifo, 3 + 3 slots 1 s later. Reduce slots were 58 % idle under fifo, 3 + 3 slots; pi-dhfs lent them 8 times.",
		"lesson percentages": "all lent ends first, after 10.5 s; half lent 5 s later, but its job late 1.5 s earlier. Map slots were 47 % idle under half lent; all lent lent them 11 times.",
		"lesson pools":       "pi-dhfs ends first, after 13 s; pd-dhfs 500 ms later. But pd-dhfs ends job reports 4 s earlier: reports was below its share of all slots for 0 s, not 10 s.",
		"lesson spill":       "growing ends first, after 8.36 s; fixed 4.34 s later. Maps of large took 1.8 times as long under fixed: 10 spills (kvbuffer 4 MiB), not 0 (25 MiB).",
		"lesson straggler":   "late ends first, after 10.1 s; fair 4.93 s later. Map 4 of search took 10 s under fair, 1 s under late, where 3 copies won.",
		"lesson deadlines":   "Both runs end after 17.6 s. Job late misses its deadline by 1.9 s under fair, and meets it under ras: its maps had 2.62, not 1.91 slots on average.",
		"lesson overlap":     "omo ends first, after 9.6 s; yarn 4.4 s later. Waiting reduces held slots for 34 s of slot time under yarn while tasks waited, 2.4 s under omo.",
	}
	var l lab.Lab
	said := 0
	says := func(name string, ids []string) {
		t.Helper()
		text, err := l.Answer(t.Context(), "headline", url.Values{"run": ids})
		var got struct{ Text string }
		if err = errors.Join(err, json.Unmarshal(text, &got)); err != nil || got.Text != want[name] {
			t.Errorf("%s: %v\n got %s\nwant %s", name, err, got.Text, want[name])
		}
		said++
	}
	text, err := l.Answer(t.Context(), "examples", nil)
	var all struct{ Examples []lab.Example }
	if err = errors.Join(err, json.Unmarshal(text, &all)); err != nil {
		t.Fatal(err)
	}
	for _, e := range all.Examples {
		d := lab.Draft{Workload: e.Workload, Policies: e.Policies}
		if e.Cost != "" {
			d.Settings = map[string]string{"cost": e.Cost}
		}
		text, err := l.Simulate(t.Context(), draft(t, d))
		var got lab.Simulated
		if err = errors.Join(err, json.Unmarshal(text, &got)); err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, r := range got.Results {
			ids = append(ids, r.Run)
		}
		says("example "+e.Name, ids)
	}
	for _, name := range lesson.Names() {
		text, err := l.Answer(t.Context(), "lesson", url.Values{"name": {name}})
		var got struct{ Runs []struct{ ID string } }
		if err = errors.Join(err, json.Unmarshal(text, &got)); err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, r := range got.Runs {
			ids = append(ids, r.ID)
		}
		says("lesson "+name, ids)
	}
	if said != len(want) {
		t.Errorf("%d examples and lessons, %d headlines", said, len(want))
	}
}
