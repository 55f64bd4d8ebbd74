package lab_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/view/web/lab"
)

// draft returns the JSON of a draft.
func draft(t *testing.T, d lab.Draft) []byte {
	t.Helper()
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestEveryExampleSimulates(t *testing.T) {
	var l lab.Lab
	text, err := l.Answer(t.Context(), "examples", nil)
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Examples []lab.Example }
	if err := json.Unmarshal(text, &list); err != nil || len(list.Examples) < 8 {
		t.Fatalf("%d examples, %v", len(list.Examples), err)
	}
	for _, e := range list.Examples {
		text, err := l.Simulate(t.Context(), draft(t, lab.Draft{Workload: e.Workload, Policies: e.Policies, Settings: map[string]string{"cost": cmp.Or(e.Cost, "l0")}}))
		var out lab.Simulated
		if err == nil {
			err = json.Unmarshal(text, &out)
		}
		if err != nil || len(out.Results) != len(e.Policies) {
			t.Errorf("%s: %v: %s", e.Name, err, text)
			continue
		}
		for _, r := range out.Results {
			if r.Error != "" || r.MakespanSeconds <= 0 {
				t.Errorf("%s under %s: %+v", e.Name, r.Policy, r)
			}
		}
	}
}

// TestTheExampleOfADeadline checks that the text of this example is true.
func TestTheExampleOfADeadline(t *testing.T) {
	var l lab.Lab
	var list struct{ Examples []lab.Example }
	text, err := l.Answer(t.Context(), "examples", nil)
	if err != nil || json.Unmarshal(text, &list) != nil {
		t.Fatal(err)
	}
	e := list.Examples[slices.IndexFunc(list.Examples, func(e lab.Example) bool { return e.Name == "deadline" })]
	for policy, want := range map[string]int64{"fair": 260, "ras": 230} {
		var out lab.Simulated
		text, err := l.Simulate(t.Context(), draft(t, lab.Draft{Workload: e.Workload, Policies: []string{policy}}))
		if err != nil || json.Unmarshal(text, &out) != nil {
			t.Fatal(err)
		}
		var m struct {
			Jobs []struct {
				Name             string
				Finish, Deadline int64
			}
		}
		text, err = l.Answer(t.Context(), "model", url.Values{"run": {out.Results[0].Run}})
		if err != nil || json.Unmarshal(text, &m) != nil || len(m.Jobs) != 2 || m.Jobs[1].Finish != want*1e9 || m.Jobs[1].Deadline != 230e9 {
			t.Errorf("%s: %v, %+v; urgent should end at %d s", policy, err, m.Jobs, want)
		}
	}
}

// The figures of J1 to J5 are those of docs/performance.md.
func TestTableOneIsThatOfThePaper(t *testing.T) {
	var l lab.Lab
	var list struct{ Examples []lab.Example }
	text, _ := l.Answer(t.Context(), "examples", nil)
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	for _, e := range list.Examples {
		if e.Name != "table1" {
			continue
		}
		text, err := l.Simulate(t.Context(), draft(t, lab.Draft{Workload: e.Workload, Policies: []string{"fair", "pi-dhfs", "pd-dhfs"}}))
		var out lab.Simulated
		if err != nil || json.Unmarshal(text, &out) != nil {
			t.Fatal(err)
		}
		for i, want := range []float64{1020, 520, 520} {
			if got := out.Results[i].MakespanSeconds; got != want {
				t.Errorf("%s takes %v s, want %v", out.Results[i].Policy, got, want)
			}
		}
		return
	}
	t.Error("there is no example table1")
}

func TestADraftAnswersQuestionsLikeARun(t *testing.T) {
	var l lab.Lab
	text, err := l.Simulate(t.Context(), draft(t, lab.Draft{Workload: oneJob, Policies: []string{"pi-dhfs"}}))
	var out lab.Simulated
	if err != nil || json.Unmarshal(text, &out) != nil {
		t.Fatal(err)
	}
	id := out.Results[0].Run
	var m struct {
		Bars struct {
			Seq  []uint64
			Lent []int
		}
	}
	text, err = l.Answer(t.Context(), "model", url.Values{"run": {id}})
	if err != nil || json.Unmarshal(text, &m) != nil || len(m.Bars.Seq) != 16 {
		t.Fatalf("%d attempts, %v", len(m.Bars.Seq), err)
	}
	text, err = l.Answer(t.Context(), "why", url.Values{"run": {id}, "seq": {fmt.Sprint(m.Bars.Seq[1])}})
	if err != nil || !strings.Contains(string(text), `"rule":"map-borrows"`) {
		t.Errorf("%s, %v", text, err)
	}
}

func TestRunsHaveTheShortestNamesThatDiffer(t *testing.T) {
	var runs []*lab.Run
	for _, path := range []string{"/a/b/run.jsonl", "/a/c/run.jsonl", "./half.jsonl", "other/a/c/run.jsonl", "half.jsonl", "pi.jsonl.zst"} {
		runs = append(runs, lab.NewRun(path, nil))
	}
	for range 2 { // names that are short stay
		lab.Shorten(runs)
		var got []string
		for _, r := range runs {
			got = append(got, r.Name)
		}
		if want := "b/run.jsonl /a/c/run.jsonl half.jsonl other/a/c/run.jsonl half.jsonl pi.jsonl.zst"; strings.Join(got, " ") != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestAPictureOfDrafts asks for pictures of two drafts, in the order of the question, and with mistakes.
func TestAPictureOfDrafts(t *testing.T) {
	var l lab.Lab
	text, err := l.Simulate(t.Context(), draft(t, lab.Draft{Workload: oneJob, Policies: []string{"pi-dhfs", "fair"}}))
	var out lab.Simulated
	if err != nil || json.Unmarshal(text, &out) != nil {
		t.Fatal(err)
	}
	runs := []string{out.Results[1].Run, out.Results[0].Run}
	var picture struct{ SVG string }
	text, err = l.Answer(t.Context(), "picture", url.Values{"run": runs, "shape": {"square"}, "title": {"<b>"}, "link": {"https://host/?a&b"}})
	if err != nil || json.Unmarshal(text, &picture) != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`width="1080" height="1080"`, ">pi-dhfs ends first, after 80 s; fair 80 s later", ">&lt;b&gt;</text>", `<a href="https://host/?a&amp;b">`} {
		if !strings.Contains(picture.SVG, want) {
			t.Errorf("no %s", want)
		}
	}
	if strings.Index(picture.SVG, ">fair</text>") > strings.Index(picture.SVG, ">pi-dhfs</text>") {
		t.Error("the runs are in another order than in the question")
	}
	for want, q := range map[string]url.Values{
		"0 runs; name 1 to 24": {}, "25 runs; name 1 to 24": {"run": slices.Repeat(runs[:1], 25)},
		`"round" is none of wide, square`: {"run": runs, "shape": {"round"}}, `"blue" is none of light, dark`: {"run": runs, "theme": {"blue"}},
		"is no address of http or https": {"run": runs, "link": {"javascript:alert(1)"}}, "there is no such run": {"run": {"none"}},
	} {
		if _, err := l.Answer(t.Context(), "picture", q); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", q, err, want)
		}
	}
}

const oneJob = `cluster: {trackers: 1, map_slots: 1, reduce_slots: 1}
defaults: {map_time: 10s, reduce_time: 10s}
jobs:
  - {name: A, maps: 12, reduces: 4}
`

func TestSettingsGoBeforeTheFile(t *testing.T) {
	var l lab.Lab
	for name, c := range map[string]struct {
		d    lab.Draft
		want float64
	}{
		"as the file says":      {lab.Draft{}, 80},
		"four map slots":        {lab.Draft{Settings: map[string]string{"map-slots": "4"}}, 40},
		"nothing to be lent":    {lab.Draft{Settings: map[string]string{"borrow-map": "0", "borrow-reduce": "0"}}, 160},
		"two trackers of three": {lab.Draft{Settings: map[string]string{"trackers": "2", "map-slots": "2"}}, 30},
	} {
		c.d.Workload, c.d.Policies = oneJob, []string{"pi-dhfs"}
		text, err := l.Simulate(t.Context(), draft(t, c.d))
		var out lab.Simulated
		if err != nil || json.Unmarshal(text, &out) != nil {
			t.Fatal(err)
		}
		if got := out.Results[0].MakespanSeconds; got != c.want {
			t.Errorf("%s: %v s, want %v", name, got, c.want)
		}
	}
}

// TestARunWhoseJobsAllFailHasNoMeanJobTime: 0 would be the best of all.
func TestARunWhoseJobsAllFailHasNoMeanJobTime(t *testing.T) {
	var l lab.Lab
	text, err := l.Simulate(t.Context(), draft(t, lab.Draft{Workload: "faults: [{task: A/m/0, fail: 4}]\n" + oneJob, Policies: []string{"fair"}}))
	if err != nil || !strings.Contains(string(text), `"makespan_s":40,"jain"`) {
		t.Errorf("%v: %s", err, text)
	}
}

func TestMistakesHaveTheirLine(t *testing.T) {
	var l lab.Lab
	for text, want := range map[string][2]int{
		"jobs:\n  - {name: A, maps: 2, map_tim: 3s}\n":            {2, 0},
		"jobs:\n  - {name: A, maps: -2, map_time: 3s}\n":          {2, 0},
		"jobs:\n  - {name: A\n":                                   {2, 0},
		"cluster: {trackers: 1}\njobs:\n  - {name: A, maps: 1}\n": {3, 0},
	} {
		_, err := l.Simulate(t.Context(), draft(t, lab.Draft{Workload: text, Policies: []string{"fair"}}))
		if !errs.IsUsage(err) {
			t.Errorf("%q: %v", text, err)
			continue
		}
		var problem struct {
			Error        string
			Line, Column int
		}
		if status, words := lab.Problem(err); json.Unmarshal(words, &problem) != nil || status != 400 || problem.Line != want[0] || problem.Column < 1 || problem.Error == "" {
			t.Errorf("%q: status %d: %s", text, status, words)
		}
	}
}

func TestADraftIsBounded(t *testing.T) {
	var l lab.Lab
	big := strings.ReplaceAll(oneJob, "maps: 12", "maps: 1000000000")
	many := "defaults: {map_time: 1s}\njobs:\n" + strings.Repeat("  - {name: A, maps: 1}\n", 3000)
	for i := range 3000 {
		many = strings.Replace(many, "name: A,", fmt.Sprintf("name: J%d,", i), 1)
	}
	for name, d := range map[string]lab.Draft{
		"tasks":         {Workload: big, Policies: []string{"fair"}},
		"jobs":          {Workload: many, Policies: []string{"fair"}},
		"slots":         {Workload: oneJob, Policies: []string{"fair"}, Settings: map[string]string{"map-slots": "1099511627776"}},
		"slots in all":  {Workload: oneJob, Policies: []string{"fair"}, Settings: map[string]string{"map-slots": "20000", "trackers": "2000"}},
		"trackers":      {Workload: strings.Replace(oneJob, "trackers: 1", "trackers: 90000000", 1), Policies: []string{"fair"}},
		"text":          {Workload: strings.Repeat("#", 300<<10), Policies: []string{"fair"}},
		"policies":      {Workload: oneJob, Policies: []string{"fair", "fair", "fair", "fair", "fair", "fair", "fair"}},
		"no policy":     {Workload: oneJob},
		"not a policy":  {Workload: oneJob, Policies: []string{"best"}},
		"a weight of 0": {Workload: oneJob, Policies: []string{"fair"}, Changes: []lab.Change{{Path: []string{"pools", "A", "weight"}}}},
	} {
		if _, err := l.Simulate(t.Context(), draft(t, d)); !errs.IsUsage(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := l.Simulate(t.Context(), []byte(`{"file":"/etc/passwd"}`)); !errs.IsUsage(err) {
		t.Errorf("a field that is unknown: %v", err)
	}
}

// slow takes long: heartbeats of many trackers while one task runs.
const slow = `cluster: {trackers: 60, map_slots: 100, reduce_slots: 1}
defaults: {map_time: {uniform: [1ms, 10s]}, reduce_time: 1s}
jobs:
  - {name: A, maps: 49000, reduces: 10}
`

func TestANewDraftCancelsTheOneBefore(t *testing.T) {
	var l lab.Lab
	first := make(chan error, 1)
	all := []string{"fair", "pi-dhfs", "pd-dhfs", "late", "dynamicmr", "delay"}
	go func() {
		_, err := l.Simulate(context.Background(), draft(t, lab.Draft{Client: "c", Workload: slow, Policies: all}))
		first <- err
	}()
	time.Sleep(30 * time.Millisecond)
	begun := time.Now()
	if _, err := l.Simulate(t.Context(), draft(t, lab.Draft{Client: "c", Workload: oneJob, Policies: []string{"fair"}})); err != nil {
		t.Error(err)
	}
	if err := <-first; !errors.Is(err, errs.Interrupted) {
		t.Errorf("after %v the first draft ends with %v", time.Since(begun), err)
	}
}

func TestADraftThatNobodyWantsEnds(t *testing.T) {
	var l lab.Lab
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Simulate(ctx, draft(t, lab.Draft{Workload: slow, Policies: []string{"fair"}})); err == nil {
		t.Error("it was simulated")
	}
}

func TestOldDraftsAreDropped(t *testing.T) {
	var l lab.Lab
	for range 40 {
		if _, err := l.Simulate(t.Context(), draft(t, lab.Draft{Workload: oneJob, Policies: []string{"fair"}})); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Run("d1"); !errors.Is(err, lab.Gone) {
		t.Errorf("the first draft: %v", err)
	}
	if _, err := l.Run("d40"); err != nil {
		t.Errorf("the last draft: %v", err)
	}
}
