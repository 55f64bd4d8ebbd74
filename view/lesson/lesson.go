// Package lesson has the lessons of mrlocal demo. A lesson is a workload with the policies to
// compare. It has notes for important moments, questions that come before a decision is shown, and
// claims about the result. All of it is data, in data/NAME.json and data/NAME.yaml. A lesson
// that reads files also has recorded runs.
//
// A Moment ties a note to an event. Items finds the moments in the models of runs, simulated or
// real, ended or live. A claim compares two figures of the models. Outcomes says whether it holds.
//
// The package is pure: it reads only embedded files, and simulates in virtual time. It keeps no
// state.
package lesson

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"mrlocal/internal/errs"
	"mrlocal/internal/setting"
	"mrlocal/sim"
	"mrlocal/trace"
	"mrlocal/view"
	"mrlocal/workload"
)

//go:embed data
var data embed.FS

// Names returns the names of all lessons, the simplest first.
func Names() []string {
	return []string{"grep", "borrow", "motive", "order", "percentages", "pools", "spill", "straggler", "deadlines", "overlap"}
}

// Title is the name of a lesson, and its title.
type Title struct {
	Name  string `json:"name"`
	Title string `json:"title"`
}

// Titles returns the titles of all lessons, in the order of Names.
func Titles() (all []Title) {
	for _, name := range Names() {
		if l, err := Load(name); err == nil { // a test loads all lessons
			all = append(all, Title{name, l.Title})
		}
	}
	return all
}

// Lesson is a lesson as its file has it. The caller of Load owns it.
type Lesson struct {
	Name     string `json:"name"`
	Workload string `json:"-"` // the text of the workload file

	Title  string   `json:"title"`
	About  string   `json:"about"`
	Runs   []Run    `json:"runs"`
	Notes  []Note   `json:"notes"`
	Claims []Claim  `json:"claims"`
	Input  *Input   `json:"input"`  // nil: the tasks of a real run sleep
	Papers []string `json:"papers"` // keys of docs/papers
	Next   string   `json:"next"`   // a command of a shell to try after the lesson; "": its page
}

// Run is a run of a lesson.
type Run struct {
	Name     string            `json:"name"` // "": the name of the policy
	Policy   string            `json:"policy"`
	Settings map[string]string `json:"settings"` // by the names of flags; nil: none
}

// Title returns the name of the run for users. No other run of the lesson has it.
func (r *Run) Title() string { return cmp.Or(r.Name, r.Policy) }

// Input is the input of real runs: articles that a grep searches, or records of TeraGen, which the jobs
// sort. A lesson about kvbuffers needs it, because its simulation would have no events of kvbuffers. A lesson
// with an Input can only run for real.
type Input struct {
	Wiki               bool             `json:"wiki"`          // the articles are wiki/ of the working directory, which stays
	HalfOfCores        bool             `json:"half_of_cores"` // there are half as many slots of each kind as cores
	Bytes              int64            `json:"bytes"`
	BlockBytes         map[string]int64 `json:"block_bytes"` // bytes of a split, by job
	SortBufferBytes    int64            `json:"sort_buffer_bytes"`
	DiskBytesPerSecond int64            `json:"disk_bytes_per_second"` // bound on what the run writes, as by a slow disk; 0: none
}

// Note is a text for a moment of a run. If Ask is set, it is a question first: the user answers, and only then sees
// the decision and Text. The answer is a "slot", a "tracker", a "job", or a "count" of attempts. "" is a slot.
type Note struct {
	Run  int    `json:"run"` // index into Lesson.Runs
	When Moment `json:"when"`
	Ask  string `json:"ask"` // "": no question
	Text string `json:"text"`

	Answer string `json:"answer"`
}

// Claim says that the figure Less, multiplied by By, is less than the figure Than. The function
// figure lists the figures.
type Claim struct {
	Text string  `json:"text"`
	Less string  `json:"less"`
	Than string  `json:"than"`
	By   float64 `json:"by"` // 0: 1
}

// Duration is a time.Duration that is a text in JSON, such as "500ms".
type Duration time.Duration

// UnmarshalText reads a duration. It fails as time.ParseDuration does.
func (d *Duration) UnmarshalText(text []byte) error {
	t, err := time.ParseDuration(string(text))
	*d = Duration(t)
	return err
}

// Load returns the lesson of that name. It fails with errs.BadOptions if there is none.
func Load(name string) (*Lesson, error) {
	text, err := data.ReadFile("data/" + name + ".json")
	if err != nil {
		return nil, errs.Optionf(name, "no such lesson%s", errs.Suggest(name, Names()))
	}
	l := &Lesson{Name: name}
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	if err := in.Decode(l); err != nil {
		return nil, fmt.Errorf("lesson %s: %w", name, err)
	}
	file, err := data.ReadFile("data/" + name + ".yaml")
	l.Workload = string(file)
	return l, err
}

// File parses the workload file of the lesson, anew at each call.
func (l *Lesson) File() (*workload.File, error) {
	return workload.Parse(l.Name+".yaml", []byte(l.Workload))
}

// Options returns the options of run i of f, with a new policy. The seed is always 1. A real run takes Config
// and Policy of them. It passes its own settings as real, which go before those of a simulation.
func (l *Lesson) Options(i int, f *workload.File, real ...setting.Setting) (sim.Options, error) {
	r, s := &l.Runs[i], sim.NewSettings()
	s.Seed = 1
	all := append(real, s.Fields()...)
	for _, name := range slices.Sorted(maps.Keys(r.Settings)) {
		if err := setting.Set(all, name, r.Settings[name]); err != nil {
			return sim.Options{}, fmt.Errorf("lesson %s: %w", l.Name, err)
		}
	}
	return s.For(f, r.Policy)
}

// Simulate simulates run i. It writes the event file to events, and passes the stream of events to
// watch. Both may be nil. It fails for a lesson with an Input, and if ctx ends first.
func (l *Lesson) Simulate(ctx context.Context, i int, events io.Writer, watch func(*trace.Stream)) error {
	if l.Input != nil {
		return errs.Optionf(l.Name, "can only run for real")
	}
	f, err := l.File()
	if err != nil {
		return err
	}
	o, err := l.Options(i, f)
	if err != nil {
		return err
	}
	o.Events, o.Watch = events, watch
	_, err = sim.Run(ctx, f, o)
	return err
}

// Play writes the event file of run i to events. It simulates the run. A lesson with an Input has recorded runs.
func (l *Lesson) Play(ctx context.Context, i int, events io.Writer) error {
	if l.Input == nil {
		return l.Simulate(ctx, i, events, nil)
	}
	packed, err := data.ReadFile(l.Recording(i))
	if err != nil {
		return err
	}
	in, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	_, err = io.Copy(events, in)
	return err
}

// Recording returns the name of the file with the events of run i, below the directory of this package.
func (l *Lesson) Recording(i int) string { return fmt.Sprintf("data/%s-%d.jsonl.gz", l.Name, i) }

// Outcome is a claim with the values of its figures. Times are in seconds.
type Outcome struct {
	Claim
	Left  float64 `json:"left"`  // the value of Less
	Right float64 `json:"right"` // the value of Than
	Holds bool    `json:"holds"`
}

// Outcomes returns the outcomes of all claims. models has a model for each run. Outcomes fails with
// errs.BadInput if a claim names a figure or run that does not exist.
func (l *Lesson) Outcomes(models []*view.Model) ([]Outcome, error) {
	all := make([]Outcome, 0, len(l.Claims))
	for _, c := range l.Claims {
		o := Outcome{Claim: c}
		o.By = cmp.Or(o.By, 1)
		var err error
		if o.Left, err = figure(c.Less, models); err != nil {
			return nil, err
		}
		if o.Right, err = figure(c.Than, models); err != nil {
			return nil, err
		}
		o.Holds = o.Left*o.By < o.Right
		all = append(all, o)
	}
	return all, nil
}

// figure returns the value of a figure. text is a number, or "NAME [ARGUMENT] @RUN", where RUN is the
// index of a run:
//
//	makespan       seconds until the last job has ended
//	maps JOB       seconds of the map phase of the job
//	finish JOB     seconds until the job has ended
//	took JOB       seconds from the submission of the job to its end
//	deadline JOB   the job's deadline, in seconds
//	lent           slot-seconds of loans
//	copies         number of speculative attempts
//	spills         number of spills of all maps
//	growth         number of times that a kvbuffer grew
//	slots JOB      slots that the job uses on average while all jobs run
//	waiting        slot-seconds in which reduces wait for maps
func figure(text string, models []*view.Model) (float64, error) {
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		return n, nil
	}
	words := strings.Fields(text)
	run := -1
	if len(words) > 0 {
		if n, err := strconv.Atoi(strings.TrimPrefix(words[len(words)-1], "@")); err == nil && n < len(models) {
			run = n
		}
	}
	if run < 0 {
		return 0, errs.Inputf("claim", "%q names no run", text)
	}
	m := models[run]
	if value := figures()[words[0]]; value != nil && len(words) == 2 {
		return value(m), nil
	}
	if value := figuresOfJobs()[words[0]]; value != nil && len(words) == 3 {
		if job := slices.IndexFunc(m.Jobs, func(j view.DrawnJob) bool { return j.Name == words[1] }); job >= 0 {
			return value(m, job), nil
		}
	}
	return 0, errs.Inputf("claim", "%q is not a figure", text)
}

// figures returns the figures of a run by name.
func figures() map[string]func(m *view.Model) float64 {
	return map[string]func(m *view.Model) float64{
		"makespan": func(m *view.Model) float64 { return m.Makespan().Seconds() },
		"lent":     func(m *view.Model) float64 { return m.Totals().LentTime.Seconds() },
		"copies":   func(m *view.Model) float64 { return float64(m.Totals().Speculative) },
		"spills":   func(m *view.Model) float64 { return float64(len(m.Spills)) },
		"growth":   growth,
		"waiting":  waiting,
	}
}

// figuresOfJobs returns the figures of a job by name.
func figuresOfJobs() map[string]func(m *view.Model, job int) float64 {
	return map[string]func(m *view.Model, job int) float64{
		"maps":     func(m *view.Model, job int) float64 { return (m.Jobs[job].MapsDone - m.Jobs[job].Start).Seconds() },
		"finish":   func(m *view.Model, job int) float64 { return m.Jobs[job].Finish.Seconds() },
		"took":     func(m *view.Model, job int) float64 { return (m.Jobs[job].Finish - m.Jobs[job].Submit).Seconds() },
		"deadline": func(m *view.Model, job int) float64 { return m.Jobs[job].Deadline.Seconds() },
		"slots":    slotsOf,
	}
}

// growth returns the number of times that a kvbuffer grew.
func growth(m *view.Model) (steps float64) {
	for i := range m.Buffers {
		if m.Buffers[i].Step == view.BufferGrow {
			steps++
		}
	}
	return steps
}

// slotsOf returns the slots that a job uses on average in the time in which all jobs run; 0: there is
// no such time.
func slotsOf(m *view.Model, job int) float64 {
	from, to := time.Duration(0), m.Makespan()
	for i := range m.Jobs {
		from, to = max(from, m.Jobs[i].Start), min(to, m.Jobs[i].Finish)
	}
	if to <= from {
		return 0
	}
	var used time.Duration
	for i := range m.Bars {
		if b := &m.Bars[i]; int(b.Job) == job {
			used += max(0, min(m.Until(b), to)-max(b.From, from))
		}
	}
	return float64(used) / float64(to-from)
}

// waiting returns the slot-seconds of reduces before the last map of their job is done.
func waiting(m *view.Model) float64 {
	var sum time.Duration
	for i := range m.Bars {
		b := &m.Bars[i]
		if done := m.Jobs[b.Job].MapsDone; b.Kind == trace.Reduce && done >= 0 {
			sum += max(0, min(done, m.Until(b))-b.From)
		}
	}
	return sum.Seconds()
}
