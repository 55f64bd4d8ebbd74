// Package lesson holds the lessons of mrlocal demo: a workload and the policies to compare. It
// has notes for the moments that matter, questions to answer before a decision is shown, and
// claims about the result. All of it is data, in data/NAME.json and data/NAME.yaml.
//
// A note is tied to an event by a Moment. Items finds the moments in the models of runs,
// whether these were simulated or took place, have ended or go on. A claim compares two
// figures of the models, so that each run of a lesson says whether it holds.
//
// The package is pure: it reads no file but its own, and simulates in virtual time. It keeps
// nothing. Neighbours: view has the models, sim simulates; mrlocal demo runs lessons for
// real, and web/lab shows them on the page.
package lesson

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"mrlocal/errs"
	"mrlocal/sim"
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/setup"
	"mrlocal/trace"
	"mrlocal/workload"
)

//go:embed data
var data embed.FS

// Names lists the lessons, the simplest first.
func Names() []string {
	return []string{"borrow", "pools", "spill", "straggler", "deadlines", "overlap"}
}

// Lesson is one lesson, as its file has it.
type Lesson struct {
	Name     string `json:"name"`
	Workload string `json:"-"` // the text of its workload file

	Title  string   `json:"title"`
	About  string   `json:"about"`
	Runs   []Run    `json:"runs"`
	Notes  []Note   `json:"notes"`
	Claims []Claim  `json:"claims"`
	Input  *Input   `json:"input"` // nil: the tasks sleep
	Papers []string `json:"papers"`
}

// Run is one run of the lesson.
type Run struct {
	Name         string   `json:"name"` // unique among the runs of a lesson; "": the policy
	Policy       string   `json:"policy"`
	ControlCycle Duration `json:"control_cycle"` // of ras; 0: the default
	MaxSlots     int      `json:"max_slots"`     // per tracker; 0: the default
	NoGrowth     bool     `json:"no_growth"`     // kvbuffers keep their size
}

// Title returns the name of the run, unique in its lesson.
func (r *Run) Title() string {
	if r.Name != "" {
		return r.Name
	}
	return r.Policy
}

// Input is what the jobs of a real run sort: so many bytes of TeraGen's records. DiskBytesPerSecond makes the run as slow as a
// slow disk does. Simulations have no events of kvbuffers, so a lesson with an Input has real
// runs only.
type Input struct {
	Bytes              int64            `json:"bytes"`
	BlockBytes         map[string]int64 `json:"block_bytes"` // of a split, by job
	SortBufferBytes    int64            `json:"sort_buffer_bytes"`
	DiskBytesPerSecond int64            `json:"disk_bytes_per_second"`
}

// Note is what is said at a moment of a run. With Ask it is a question first: the reader picks
// the slot before the decision is shown, and Text follows.
type Note struct {
	Run  int    `json:"run"`
	When Moment `json:"when"`
	Ask  string `json:"ask"`
	Text string `json:"text"`
}

// Claim says that a figure, multiplied by By, is less than another one. figures.go lists them.
type Claim struct {
	Text string  `json:"text"`
	Less string  `json:"less"`
	Than string  `json:"than"`
	By   float64 `json:"by"` // 0: 1
}

// Duration is a time.Duration that JSON has as text, such as "500ms".
type Duration time.Duration

// UnmarshalText reads a duration.
func (d *Duration) UnmarshalText(text []byte) error {
	t, err := time.ParseDuration(string(text))
	*d = Duration(t)
	return err
}

// Load returns the lesson of that name, or an error of kind errs.BadOptions.
func Load(name string) (*Lesson, error) {
	text, err := data.ReadFile("data/" + name + ".json")
	if err != nil {
		help := "there are " + strings.Join(Names(), ", ")
		if near := errs.Nearest(name, Names()); near != "" {
			help = "did you mean " + near + "?"
		}
		return nil, errs.Optionf(name, "no such lesson; %s", help)
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

// File parses the workload.
func (l *Lesson) File() (*workload.File, error) {
	return workload.Parse(l.Name+".yaml", []byte(l.Workload))
}

// Setup returns the configuration and the policy of run i.
func (l *Lesson) Setup(i int) (setup.Config, slots.Policy, error) {
	r := &l.Runs[i]
	o := policy.DefaultOptions()
	if r.ControlCycle > 0 {
		o.Cycle = time.Duration(r.ControlCycle)
	}
	p, err := registry.New(r.Policy, o)
	return setup.Config{MaxSlots: r.MaxSlots, Seed: 1}, p, err
}

// Simulate runs run i in virtual time. The events go to events; watch sees the stream. Both may
// be nil. It fails for a lesson with an Input.
func (l *Lesson) Simulate(ctx context.Context, i int, events io.Writer, watch func(*trace.Stream)) error {
	if l.Input != nil {
		return errs.Optionf(l.Name, "has real runs only")
	}
	f, err := l.File()
	if err != nil {
		return err
	}
	c, p, err := l.Setup(i)
	if err != nil {
		return err
	}
	_, err = sim.Run(ctx, f, sim.Options{Config: c, Policy: p, Events: events, Watch: watch})
	return err
}
