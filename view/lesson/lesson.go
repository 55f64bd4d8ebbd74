// Package lesson has the lessons of mrlocal demo. A lesson is a workload with the policies to
// compare. It has notes for important moments, questions that come before a decision is shown, and
// claims about the result. All of it is data, in data/NAME.json and data/NAME.yaml.
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
	"time"

	"mrlocal/internal/errs"
	"mrlocal/internal/setting"
	"mrlocal/sim"
	"mrlocal/trace"
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

// Simulated returns the lessons that Simulate can run, in the order of Names.
func Simulated() (all []Title) {
	for _, name := range Names() {
		if l, err := Load(name); err == nil && l.Input == nil { // a test loads all lessons
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
	Next   string   `json:"next"`   // commands to try after the lesson; "": its page
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
