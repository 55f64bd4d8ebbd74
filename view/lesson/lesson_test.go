package lesson_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/slots/explain"
	"mrlocal/slots/policy/registry"
	"mrlocal/trace"
	"mrlocal/view"
	"mrlocal/view/lesson"
)

// simulate returns the models of all runs of a lesson, and their events.
func simulate(t *testing.T, l *lesson.Lesson) (models []*view.Model, events []*bytes.Buffer) {
	t.Helper()
	for i := range l.Runs {
		text := &bytes.Buffer{}
		m := view.New()
		if err := l.Simulate(t.Context(), i, text, func(s *trace.Stream) { s.Attach(m) }); err != nil {
			t.Fatalf("%s: %v", l.Name, err)
		}
		models, events = append(models, m), append(events, text)
	}
	return models, events
}

// simulated returns the lessons without an Input. Package measure tests the one that has real
// runs only.
func simulated(t *testing.T) (all []*lesson.Lesson) {
	t.Helper()
	for _, name := range lesson.Names() {
		if l := load(t, name); l.Input == nil {
			all = append(all, l)
		} else if err := l.Simulate(t.Context(), 0, nil, nil); !errs.IsUsage(err) {
			t.Errorf("%s is simulated: %v", name, err)
		}
	}
	if len(all) != 8 {
		t.Errorf("%d lessons are simulated", len(all))
	}
	return all
}

func load(t *testing.T, name string) *lesson.Lesson {
	t.Helper()
	l, err := lesson.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestEveryClaimHolds checks that the claims of each lesson hold. Real runs of one lesson take 20 to
// 40 s together.
func TestEveryClaimHolds(t *testing.T) {
	for _, l := range simulated(t) {
		name := l.Name
		models, _ := simulate(t, l)
		outcomes, err := l.Outcomes(models)
		if err != nil || len(outcomes) < 3 {
			t.Errorf("%s: %d claims, %v", name, len(outcomes), err)
		}
		for _, o := range outcomes {
			t.Logf("%s: %s: %.3f · %v < %.3f", name, o.Text, o.Left, o.By, o.Right)
			if !o.Holds {
				t.Errorf("%s: %s: %s = %.3f, times %v, is not less than %s = %.3f", name, o.Text, o.Less, o.Left, o.By, o.Than, o.Right)
			}
		}
		var total time.Duration
		for _, m := range models {
			total += m.Last
		}
		if total < 20*time.Second || total > 40*time.Second {
			t.Errorf("%s takes %v for real", name, total)
		}
	}
}

// If every run of a lesson has the policy of the first one, some claim does not hold.
func TestClaimsCanFail(t *testing.T) {
	for _, l := range simulated(t) {
		name := l.Name
		for i := range l.Runs {
			l.Runs[i] = l.Runs[0]
		}
		models, _ := simulate(t, l)
		outcomes, err := l.Outcomes(models)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(outcomes, func(o lesson.Outcome) bool { return !o.Holds }) {
			t.Errorf("%s: all claims hold when every run is the first one", name)
		}
	}
}

// Every note has its moment. Every question has a wrong answer, and its decision has a reason.
func TestEveryNoteHasItsMoment(t *testing.T) {
	asked := map[string]int{}
	right := map[string]string{"borrow": "1", "pools": "2", "straggler": "2", "deadlines": "3", "overlap": "large"} // of the first question
	for _, l := range simulated(t) {
		name := l.Name
		models, events := simulate(t, l)
		items := l.Items(models)
		if len(items) != len(l.Notes) {
			t.Errorf("%s: %d of %d notes have their moment: %+v", name, len(items), len(l.Notes), items)
		}
		questions := 0
		for _, x := range items {
			if x.Text == "" || x.At < 0 || x.Seq == 0 {
				t.Errorf("%s: %+v", name, x)
			}
			t.Logf("%s run %d at %v: slots %v: %.60s", name, x.Run, x.At, x.Slots, x.Ask)
			if x.Ask == "" {
				continue
			}
			questions++
			// The page shows the time just before a question.
			for _, job := range models[x.Run].Jobs {
				if all := "maps of " + job.Name + " are done"; job.MapsDone >= x.At && (strings.Contains(x.Ask, all) || strings.Contains(x.Ask, "maps are done")) {
					t.Errorf("%s: %q, but the maps of %s end at %v", name, x.Ask, job.Name, job.MapsDone)
				}
			}
			asked[x.Answer]++
			if n := len(x.Right); n == 0 || n >= len(x.Choices) || slices.ContainsFunc(x.Right, func(r string) bool { return !slices.Contains(x.Choices, r) }) {
				t.Errorf("%s: %q: any answer is right, or none: %v of %v", name, x.Ask, x.Right, x.Choices)
			}
			if want := right[name]; questions == 1 && want != "" && strings.Join(x.Right, " ") != want {
				t.Errorf("%s: %q: %v is right, want %s", name, x.Ask, x.Right, want)
			}
			if l.Notes[x.Note].When.Op == "start" {
				if _, err := explain.Why(bytes.NewReader(events[x.Run].Bytes()), x.Seq, explain.Options{Policy: registry.ForReplay}); err != nil {
					t.Errorf("%s: no reason of event %d: %v", name, x.Seq, err)
				}
			}
		}
		if questions == 0 {
			t.Errorf("%s asks nothing", name)
		}
	}
	for _, kind := range []string{"slot", "tracker", "job", "count"} {
		if asked[kind] == 0 {
			t.Errorf("no question asks for a %s", kind)
		}
	}
}

// TestNoDivisionOfSlotsSuitsTheOrderBetter: a note of the lesson says so. In the better order both jobs take 4 s
// with 3 + 3 slots. Their 34 tasks take 17 of the 24 slot-seconds.
func TestNoDivisionOfSlotsSuitsTheOrderBetter(t *testing.T) {
	l := load(t, "order")
	best := 1e9
	for m := 1; m <= 5; m++ {
		l.Runs[1].Settings = map[string]string{"map-slots": strconv.Itoa(m), "reduce-slots": strconv.Itoa(6 - m)}
		models, _ := simulate(t, l)
		for _, jobs := range [][2]string{{"maps-1", "reduces-1"}, {"maps-2", "reduces-2"}} {
			both := 0.0
			for _, j := range jobs {
				l.Claims = []lesson.Claim{{Less: "took " + j + " @1", Than: "0"}}
				o, err := l.Outcomes(models)
				if err != nil {
					t.Fatal(err)
				}
				both = max(both, o[0].Left)
			}
			best = min(best, both)
		}
	}
	if best != 4 {
		t.Errorf("the best of FIFO takes %v s", best)
	}
}

// Items has no note before its moment. So a live run does not show the future.
func TestNotesComeWithTheirEvents(t *testing.T) {
	l := load(t, "borrow")
	_, events := simulate(t, l)
	d, err := trace.NewDecoder(bytes.NewReader(events[1].Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	m := view.New()
	if err := m.Open(d.Header()); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for {
		e, err := d.Next()
		if err != nil {
			break
		}
		m.Add(&e, d.Texts(e.Ref))
		items := l.Items([]*view.Model{nil, m})
		if len(items) < seen {
			t.Fatalf("a note went at %v", e.At)
		}
		if len(items) > seen {
			seen = len(items)
			if x := items[seen-1]; x.At != e.At || x.Run != 1 {
				t.Errorf("%+v came at %v", x, e.At)
			}
		}
	}
	if seen != 2 {
		t.Errorf("%d notes", seen)
	}
}

// The first spill is the one that starts first, also if another one ends before it.
func TestSpillsComeInTheOrderOfTheirStarts(t *testing.T) {
	m := &view.Model{
		Jobs: []view.DrawnJob{{Name: "a"}}, Bars: []view.Bar{{Span: trace.Span{Slot: 5}}, {Span: trace.Span{Slot: 7}}},
		Spills: []view.Spill{{Seq: 8, From: 2 * time.Second, To: 3 * time.Second, Bar: 1}, {Seq: 9, From: time.Second, To: 10 * time.Second}},
	}
	l := &lesson.Lesson{Notes: []lesson.Note{{When: lesson.Moment{Op: "spill"}}, {When: lesson.Moment{Op: "spill", Nth: 2}}}}
	items := l.Items([]*view.Model{m})
	if len(items) != 2 || items[0].Note != 0 || items[0].At != time.Second || items[0].Slots[0] != 5 || items[1].At != 2*time.Second || items[1].Slots[0] != 7 {
		t.Errorf("%+v", items)
	}
}

func TestLessonsAreListed(t *testing.T) {
	files, err := filepath.Glob("data/*.json")
	if err != nil || len(files) != len(lesson.Names()) {
		t.Errorf("%d files, %d names, %v", len(files), len(lesson.Names()), err)
	}
	if _, err := lesson.Load("borow"); !errs.IsUsage(err) || !strings.Contains(err.Error(), "did you mean borrow?") {
		t.Error(err)
	}
	for _, name := range lesson.Names() {
		l := load(t, name)
		if l.Title == "" || l.About == "" || len(l.Runs) < 2 || len(l.Papers) == 0 {
			t.Errorf("%s: %+v", name, l)
		}
		for _, p := range l.Papers {
			pages, _ := filepath.Glob("../../docs/papers/*.md")
			if !slices.ContainsFunc(pages, func(page string) bool {
				text, _ := os.ReadFile(page)
				return bytes.Contains(text, []byte(p))
			}) {
				t.Errorf("%s: no page of %s", name, p)
			}
		}
	}
}

func TestClaimsThatNameNothingAreErrors(t *testing.T) {
	for _, text := range []string{"", "makespan", "makespan @7", "speed @0", "finish nobody @0"} {
		l := &lesson.Lesson{Claims: []lesson.Claim{{Less: text, Than: "1"}}}
		if _, err := l.Outcomes([]*view.Model{view.New()}); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}
