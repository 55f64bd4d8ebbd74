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
