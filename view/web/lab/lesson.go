package lab

import (
	"embed"

	"bytes"
	"context"
	"encoding/json"
	"io"
	"slices"

	"mrlocal/view"
	"mrlocal/view/lesson"
)

// Teach sets the lesson of the runs. Run i of x must be the i-th run that was added, and all runs
// must have ended. Teach is called once, after Add.
func (l *Lab) Teach(x *lesson.Lesson) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.lesson = x
}

// lesson returns the lesson that Teach has set, or nil.
func (l *Lab) lesson() *lesson.Lesson {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.lesson
}

// lessonInfo is the answer to the question lesson.
type lessonInfo struct {
	Name     string           `json:"name"`
	Title    string           `json:"title"`
	About    string           `json:"about"`
	Papers   []string         `json:"papers"`
	Runs     []lessonRun      `json:"runs"`
	Items    []lesson.Item    `json:"items"`
	Outcomes []lesson.Outcome `json:"outcomes"`
	Next     *lesson.Title    `json:"following"` // the next lesson that can be simulated; nil: this is the last one
}

// lessonRun is a run of the lesson.
type lessonRun struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

// lessonJSON answers with the notes of a lesson, each with its event, and with the outcomes of its
// claims. It simulates the runs of the lesson of that name. The name "" stands for the lesson that Teach has set, and
// lessonJSON fails with Gone if there is none.
func (l *Lab) lessonJSON(ctx context.Context, name string) ([]byte, error) {
	x, runs := l.lesson(), l.list()
	if name != "" {
		var err error
		if x, err = lesson.Load(name); err != nil {
			return nil, err
		}
		if runs, err = l.learn(ctx, x); err != nil {
			return nil, err
		}
	}
	if x == nil {
		return nil, errNoLesson
	}
	info := lessonInfo{Name: x.Name, Title: x.Title, About: x.About, Papers: x.Papers}
	after := lesson.Names()
	after = after[slices.Index(after, x.Name)+1:]
	for _, next := range lesson.Simulated() {
		if info.Next == nil && slices.Contains(after, next.Name) {
			info.Next = &next
		}
	}
	var models []*view.Model
	for i, r := range runs[:len(x.Runs)] {
		info.Runs = append(info.Runs, lessonRun{r.ID, x.Runs[i].Title()})
		// The runs have ended, so their models do not change without the lock.
		_ = r.with(func(m *view.Model) error { models = append(models, m); return nil })
	}
	info.Items = x.Items(models)
	var err error
	if info.Outcomes, err = x.Outcomes(models); err != nil {
		return nil, err
	}
	return json.Marshal(info)
}

//go:embed examples
var exampleFiles embed.FS

// Example is a workload file that the playground offers.
type Example struct {
	Name     string   `json:"name"` // also the name of the embedded file
	Title    string   `json:"title"`
	About    string   `json:"about"` // a hint what to look at
	Policies []string `json:"policies"`
	Cost     string   `json:"cost,omitempty"` // cost level; "": l0
	Workload string   `json:"workload"`       // the text of the file
}

// examples returns the examples, the smallest first. A simulation of one takes milliseconds.
func examples() ([]Example, error) {
	all := []Example{
		{"borrow", "One job, an idle slot",
			"Under fair the reduce slot waits for the maps. Under pi-dhfs it is lent to them: look for the hatch.",
			[]string{"fair", "pi-dhfs"}, "", ""},
		{"fig5", "Fig. 5a and 5b: PI against PD",
			"Fig. 5a, pi-dhfs, shares each phase between the pools. Fig. 5b, pd-dhfs, shares all slots between the pools. Compare the curves of both.",
			[]string{"pi-dhfs", "pd-dhfs"}, "", ""},
		{"table1", "Table I: five jobs on nine nodes",
			"The first five jobs of Table I of the DHFS paper. fair takes 1020 s, pi-dhfs and pd-dhfs 520 s.",
			[]string{"fair", "pi-dhfs", "pd-dhfs"}, "", ""},
		{"starving", "A starving pool",
			"prod is promised two map slots and gets them back after 10 s: batch's newest maps are killed (hollow, with a cross).",
			[]string{"fair", "fifo"}, "", ""},
		{"deadline", "A deadline",
			"Under fair urgent is done at 260 s and misses its deadline of 230 s. ras gives it just as many slots as it needs, and first has time to spare.",
			[]string{"fair", "ras"}, "", ""},
		{"straggler", "A straggler",
			"Tracker 2 works at a fifth of the speed. late and dynamicmr start copies of its tasks (dashed outline); the loser is killed.",
			[]string{"fair", "late", "dynamicmr"}, "", ""},
		{"overlap", "Overlap of map and reduce phases",
			"omo starts reduces late enough that they do not hold slots idle, and gives the last maps of a job priority.",
			[]string{"fair", "omo"}, "l1", ""},
		{"spill", "Spills of a kvbuffer",
			"Strips at the foot of maps are spills; the tab kvbuffers shows them, too. A kvbuffer of 120MB needs none: change start.",
			[]string{"fair", "pi-dhfs"}, "l2", ""},
	}
	for i := range all {
		text, err := exampleFiles.ReadFile("examples/" + all[i].Name + ".yaml")
		if err != nil {
			return nil, err
		}
		all[i].Workload = string(text)
	}
	return all, nil
}

// learn simulates the runs of a lesson, and adds them as drafts.
func (l *Lab) learn(ctx context.Context, x *lesson.Lesson) (runs []*Run, err error) {
	release, err := l.awaitTurn(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	for i := range x.Runs {
		var events bytes.Buffer
		if err := x.Simulate(ctx, i, &events, nil); err != nil {
			return nil, err
		}
		r, err := Recorded(x.Runs[i].Title(), func(<-chan struct{}) (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(events.Bytes())), nil
		})
		if err != nil {
			return nil, err
		}
		l.draft(r)
		runs = append(runs, r)
	}
	return runs, nil
}
