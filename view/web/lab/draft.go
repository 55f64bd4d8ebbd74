package lab

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/internal/setting"
	"mrlocal/sim"
	"mrlocal/slots"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/report"
	"mrlocal/trace"
	"mrlocal/view"
	"mrlocal/workload"
)

// These limits bound the cost of one request. A larger file needs mrlocal sim.
const (
	mostTextBytes = 256 << 10
	mostTasks     = 50_000
	mostJobs      = 2000
	mostSlots     = 20_000
	mostTrackers  = 2000
	mostPolicies  = 6
	mostChanges   = 32              // each one reads the text again
	mostAtOnce    = 2               // simulations at the same time
	mostTime      = 5 * time.Second // real time for all policies of one request together
)

// Draft is a simulation that the playground asks for.
type Draft struct {
	Client   string            `json:"client"` // names the page: a new draft of a client cancels the one before
	Workload string            `json:"workload"`
	Policies []string          `json:"policies"`
	Settings map[string]string `json:"settings"` // by the names of flags of mrlocal sim; they go before the file
	Changes  []Change          `json:"changes"`  // of numbers in the workload file, which become part of its text
	sim      sim.Settings      // Settings as they are read
}

// Change is a change of a number in a workload file, as workload.Edit makes it.
type Change struct {
	Path  []string `json:"path"`
	Value float64  `json:"value"`
}

// Result has numbers of the report of a draft under one policy. Times are in seconds of virtual
// time.
type Result struct {
	Run             string   `json:"run"` // the id of the run
	Policy          string   `json:"policy"`
	MakespanSeconds float64  `json:"makespan_s"`
	MeanJobSeconds  *float64 `json:"mean_job_s,omitempty"` // nil: no job succeeded
	Jain            float64  `json:"jain"`
	Utilisation     float64  `json:"utilisation"`
	Moves           int64    `json:"moves"`
	LentSeconds     float64  `json:"lent_slot_s"`
	Error           string   `json:"error,omitempty"` // why the simulation stopped early; the numbers are those until then
	Notes           []string `json:"notes,omitempty"` // notes of the simulator
}

// Simulated is the answer to a draft.
type Simulated struct {
	Workload string     `json:"workload"`     // the text with the changes
	Results  []Result   `json:"results"`      // in the order of Draft.Policies
	Pools    []poolInfo `json:"pools"`        // pools of jobs, for the sliders of weights
	Millis   float64    `json:"simulated_ms"` // real time for all policies together
	Tasks    int        `json:"tasks"`
	Slots    slotsInfo  `json:"slots"`
}

// poolInfo is a pool with its weight.
type poolInfo struct {
	Name   string  `json:"name"`
	Weight float64 `json:"weight"`
}

// slotsInfo is the cluster that was simulated.
type slotsInfo struct {
	Trackers    int `json:"trackers"`
	MapSlots    int `json:"map_slots"`
	ReduceSlots int `json:"reduce_slots"`
}

// Simulate simulates a draft once for each of its policies. body is the JSON of a Draft, and the
// answer is the JSON of a Simulated. A mistake in the draft is an error of kind errs.BadInput or
// errs.BadOptions. Simulate also fails with errs.BadOptions after 5 s, and with errs.Interrupted if
// the same client sends another draft.
func (l *Lab) Simulate(ctx context.Context, body []byte) ([]byte, error) {
	d, err := readDraft(body)
	if err != nil {
		return nil, err
	}
	// This cancels an older draft of the client before it waits for a turn: the older draft may
	// hold one.
	ctx, done := l.begin(ctx, d.Client)
	defer done()
	release, err := l.awaitTurn(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	ctx, stop := context.WithTimeoutCause(ctx, mostTime, errs.Optionf("simulation", "takes longer than %v; use mrlocal sim", mostTime))
	defer stop()
	begun := time.Now()
	out := Simulated{Workload: d.Workload, Results: []Result{}, Pools: []poolInfo{}}
	for _, name := range d.Policies {
		r, f, err := l.simulate(ctx, d, name)
		if err != nil {
			return nil, err
		}
		out.Results = append(out.Results, *r)
		out.describe(f, d)
	}
	out.Millis = float64(time.Since(begun).Microseconds()) / 1000
	return json.Marshal(out)
}

// readDraft reads the JSON of a draft. It checks everything except the workload file.
func readDraft(body []byte) (*Draft, error) {
	var d Draft
	in := json.NewDecoder(bytes.NewReader(body))
	// Without this, a misspelt field would be ignored silently.
	in.DisallowUnknownFields()
	if err := in.Decode(&d); err != nil {
		return nil, errs.Inputf("request", "%s", errs.OfJSON(err))
	}
	// From here on, the checks bound what a hostile page can ask for.
	for _, name := range d.Policies {
		if err := registry.Check(name); err != nil {
			return nil, errs.Optionf("policies", "%w", err)
		}
	}
	switch {
	case len(d.Policies) == 0:
		return nil, errs.Optionf("policies", "choose at least one")
	case len(d.Policies) > mostPolicies:
		return nil, errs.Optionf("policies", "%d of them; at most %d at a time", len(d.Policies), mostPolicies)
	case len(d.Workload) > mostTextBytes:
		return nil, errs.Optionf("workload", "longer than %d KiB; use mrlocal sim", mostTextBytes>>10)
	case len(d.Changes) > mostChanges:
		return nil, errs.Optionf("changes", "%d of them; at most %d", len(d.Changes), mostChanges)
	case len(d.Client) > 64:
		return nil, errs.Optionf("client", "the name is too long")
	}
	d.sim = sim.NewSettings()
	all := d.sim.Fields()
	for _, name := range slices.Sorted(maps.Keys(d.Settings)) {
		if err := setting.Set(all, name, d.Settings[name]); err != nil {
			return nil, err
		}
	}
	for _, c := range d.Changes {
		text, err := workload.Edit(d.Workload, c.Path, strconv.FormatFloat(c.Value, 'f', -1, 64))
		if err != nil {
			_, mistake := workload.Parse(fileName, []byte(d.Workload)) // which says where the text is wrong
			return nil, cmp.Or(mistake, err)
		}
		d.Workload = text
	}
	return &d, nil
}

// file parses the workload file of a draft. It fails if the file has more jobs or tasks than a draft may have.
func (d *Draft) file() (*workload.File, error) {
	f, err := workload.Parse(fileName, []byte(d.Workload))
	if err != nil {
		return nil, err
	}
	if len(f.Jobs) > mostJobs {
		return nil, errs.Optionf("workload", "%d jobs; at most %d here, use mrlocal sim", len(f.Jobs), mostJobs)
	}
	tasks := 0
	for i := range f.Jobs {
		// The minimum keeps the sum from overflowing in a hostile file.
		tasks += min(f.Jobs[i].Maps, mostTasks+1) + min(f.Jobs[i].Reduces, mostTasks+1)
		if tasks > mostTasks {
			return nil, errs.Optionf("workload", "more than %d tasks; use mrlocal sim", mostTasks)
		}
	}
	return f, nil
}

// fileName is the name of a draft's workload file in messages.
const fileName = "workload"

// options returns the options for simulating f under the policy of that name. It fails if the cluster is too
// large for a draft.
func (d *Draft) options(f *workload.File, name string) (sim.Options, error) {
	c := d.sim.Cluster(f)
	if n := c.Trackers * c.MaxSlots; c.Trackers > mostTrackers || c.MaxSlots > mostSlots || n > mostSlots {
		return sim.Options{}, errs.Optionf("slots", "%d slots with extra ones; at most %d here, use mrlocal sim", n, mostSlots)
	}
	return d.sim.For(f, name)
}

// simulate simulates a draft under one policy. It adds the run to the Lab, and returns its result
// and the parsed file. Each policy parses the file anew, because simulations may not share a File.
func (l *Lab) simulate(ctx context.Context, d *Draft, name string) (*Result, *workload.File, error) {
	f, err := d.file()
	if err != nil {
		return nil, nil, err
	}
	o, err := d.options(f, name)
	if err != nil {
		return nil, nil, err
	}
	result := &Result{Policy: name}
	m := view.New()
	o.Watch = func(s *trace.Stream) { s.Attach(m) }
	o.Note = func(text string) { result.Notes = append(result.Notes, text) }
	done, err := sim.Run(ctx, f, o)
	// A stalled simulation has both a report and an error. A cancelled one must not become a run.
	if done == nil || ctx.Err() != nil {
		return nil, nil, err
	}
	if err != nil { // the simulation stalled; the page shows the run until then
		result.Error = err.Error()
	}
	result.fill(done)
	run := &Run{Name: name, open: func(<-chan struct{}) (io.ReadCloser, error) { return d.events(name) }}
	run.mu.model = m
	run.mu.over = true
	run.mu.note = result.Error
	for i := range f.Jobs {
		run.tasks += f.Jobs[i].Maps + f.Jobs[i].Reduces
	}
	l.draft(run)
	result.Run = run.ID
	return result, f, nil
}

// events simulates the draft again under the policy of that name, and returns its event file. The
// limits of a draft bound the size of that file.
func (d *Draft) events(name string) (io.ReadCloser, error) {
	f, err := d.file()
	if err != nil {
		return nil, err
	}
	o, err := d.options(f, name)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	o.Events = &text
	// The context of the request that made the draft has ended, so this one is new.
	// It may take longer than before, because the simulator now writes all events.
	ctx, stop := context.WithTimeout(context.Background(), 2*mostTime)
	defer stop()
	if done, err := sim.Run(ctx, f, o); done == nil || ctx.Err() != nil {
		return nil, fmt.Errorf("simulate again: %w", errors.Join(err, ctx.Err()))
	}
	return io.NopCloser(&text), nil
}

// fill sets the numbers of r to those of a report.
func (r *Result) fill(done *report.Report) {
	r.MakespanSeconds = done.MakespanSeconds
	if mean := done.MeanJobSeconds(); !math.IsNaN(mean) {
		r.MeanJobSeconds = &mean
	}
	r.Jain, r.Utilisation = done.Jain, done.Utilisation
	r.Moves, r.LentSeconds = done.Moves, done.LentSlotSeconds
}

// describe sets the fields of s that are the same for every policy: cluster, pools and number of
// tasks.
func (s *Simulated) describe(f *workload.File, d *Draft) {
	c := d.sim.Cluster(f)
	s.Slots = slotsInfo{c.Trackers, c.MapSlots, c.ReduceSlots}
	s.Tasks = 0
	weights := map[string]float64{}
	for _, p := range f.Pools {
		weights[p.Name] = float64(p.Weight) / float64(slots.One)
	}
	s.Pools = s.Pools[:0]
	seen := map[string]bool{}
	for i := range f.Jobs {
		j := &f.Jobs[i]
		s.Tasks += j.Maps + j.Reduces
		if !seen[j.Pool] {
			seen[j.Pool] = true
			s.Pools = append(s.Pools, poolInfo{j.Pool, cmp.Or(weights[j.Pool], 1)})
		}
	}
}

// place returns the line and column of an error in the file of a draft; 0: the error has no place.
// text is the message without the place.
func place(err error) (line, column int, text string) {
	s := sim.NewSettings()
	name := setting.Fields(s.Fields(), (*setting.Setting).Word)
	e, ok := err.(*errs.Error)
	if !ok || e.Place.Line == 0 {
		return 0, 0, errs.Word(err, name)
	}
	said := *e
	said.Place = errs.Place{}
	return e.Place.Line, e.Place.Column, errs.Word(&said, name)
}
