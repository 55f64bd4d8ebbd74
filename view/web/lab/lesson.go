package lab

import (
	"embed"

	"bytes"
	"context"
	"encoding/json"
	"errors"
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
	Next     *lesson.Title    `json:"following"` // the next lesson; nil: this is the last one
}

// lessonRun is a run of the lesson.
type lessonRun struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

// lessonJSON answers with the notes of a lesson, each with its event, and with the outcomes of its
// claims. It plays the runs of the lesson of that name. The name "" stands for the lesson that Teach has set, and
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
	if all := lesson.Titles(); x.Name != all[len(all)-1].Name {
		info.Next = &all[slices.Index(lesson.Names(), x.Name)+1]
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
func examples() (all []Example, err error) {
	list, err := exampleFiles.ReadFile("examples/list.json")
	if err == nil {
		err = json.Unmarshal(list, &all)
	}
	for i := range all {
		text, missing := exampleFiles.ReadFile("examples/" + all[i].Name + ".yaml")
		all[i].Workload, err = string(text), errors.Join(err, missing)
	}
	return all, err
}

// learn plays the runs of a lesson, and adds them as drafts.
func (l *Lab) learn(ctx context.Context, x *lesson.Lesson) (runs []*Run, err error) {
	release, err := l.awaitTurn(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	for i := range x.Runs {
		var events bytes.Buffer
		if err := x.Play(ctx, i, &events); err != nil {
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
