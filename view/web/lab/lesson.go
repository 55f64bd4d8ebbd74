package lab

import (
	"encoding/json"
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
	Next     string           `json:"following"` // the name of the next lesson; "": this is the last one
}

// lessonRun is a run of the lesson.
type lessonRun struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

// lessonJSON answers with the notes of the lesson, each with its event, and with the outcomes of its
// claims. It fails with Gone if there is no lesson.
func (l *Lab) lessonJSON() ([]byte, error) {
	x := l.lesson()
	if x == nil {
		return nil, errNoLesson
	}
	info := lessonInfo{Name: x.Name, Title: x.Title, About: x.About, Papers: x.Papers}
	if names := lesson.Names(); x.Name != names[len(names)-1] {
		info.Next = names[slices.Index(names, x.Name)+1]
	}
	runs := l.list()[:len(x.Runs)]
	var models []*view.Model
	for i, r := range runs {
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
