// Package lab answers the questions of the page about runs: their model, the reasons of
// their decisions, the curves of their pools. It also simulates workload files that the
// page sends. Every answer is JSON.
//
// A Run is a recorded run, a run that still goes on, or a draft: a simulation of the
// playground. A draft keeps its model and its settings. Its events are made again
// when a question needs them, since the same settings give the same events.
//
// Ownership: a Lab may be used from any goroutine. A Run guards its model with a lock
// of its own; the goroutine of a real run never takes that lock. Memory: the models of
// the runs (view.Options.MostRows), and those of the last drafts.
//
// The package knows no network, no page and no file names that a request could choose.
// Neighbours: view has the model, slots/explain the reasons, sim the simulator; package
// web serves the answers.
package lab

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"mrlocal/errs"
	"mrlocal/lesson"
	"mrlocal/slots/policy/registry"
	"mrlocal/view"
	"mrlocal/view/export"
)

// Lab holds runs and answers questions about them. The zero value is an empty one.
type Lab struct {
	mu struct {
		sync.Mutex
		runs    []*Run // in the order of Add
		drafts  []*Run // the newest last
		made    int    // drafts so far
		started int    // simulations so far, for ids of cancels
		cancels map[string]cancel
		lesson  *lesson.Lesson // of the runs; nil: they belong to none
	}
	once sync.Once
	turn chan struct{} // simulations that run at the same time
}

// Drafts keep their models, which take some 300 bytes a task, until newer ones come. All
// policies of one request fit.
const (
	mostDrafts     = 32
	mostDraftTasks = mostPolicies * mostTasks
)

// Add adds a run and returns it with its id.
func (l *Lab) Add(r *Run) *Run {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.ID = strconv.Itoa(len(l.mu.runs))
	l.mu.runs = append(l.mu.runs, r)
	return r
}

// draft adds a draft and drops the oldest ones if there are too many.
func (l *Lab) draft(r *Run) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.made++
	r.ID = "d" + strconv.Itoa(l.mu.made)
	l.mu.drafts = append(l.mu.drafts, r)
	tasks := 0
	// The memory of a draft grows with its tasks, so both numbers are bounded.
	for _, d := range l.mu.drafts {
		tasks += d.tasks
	}
	for len(l.mu.drafts) > mostDrafts || tasks > mostDraftTasks {
		tasks -= l.mu.drafts[0].tasks
		l.mu.drafts = slices.Delete(l.mu.drafts, 0, 1)
	}
}

// Run returns the run with an id, or an error of kind errs.BadInput.
func (l *Lab) Run(id string) (*Run, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range slices.Concat(l.mu.runs, l.mu.drafts) {
		if r.ID == id {
			return r, nil
		}
	}
	return nil, &errs.Error{Kind: Gone, Object: "run " + strconv.Quote(id), Cause: errNoRun}
}

// list returns the runs that were added.
func (l *Lab) list() []*Run {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.mu.runs)
}

// Gone is the kind of an error about a run that is not there, or not any more.
const Gone errs.Kind = "no such run"

// errNoLesson is the answer where Teach was not called.
var errNoLesson = &errs.Error{Kind: Gone, Object: "lesson", Cause: errs.Kind("the runs belong to none")}

const errNoRun = errs.Kind("there is no such run; a draft is dropped after a while")

// Answer answers a question by its name: runs, model, curves, shuffle, why, idle, lesson,
// policies or examples. q has its parameters. The answer is JSON. An error of kind errs.BadInput
// or errs.BadOptions is a mistake of the caller; Gone means that the run is not there.
func (l *Lab) Answer(ctx context.Context, name string, q url.Values) ([]byte, error) {
	switch name {
	case "runs":
		return l.runsJSON()
	case "lesson":
		return l.lessonJSON()
	case "policies":
		return policiesJSON()
	case "examples":
		all, err := examples()
		if err != nil {
			return nil, err
		}
		return json.Marshal(map[string]any{"examples": all})
	}
	ask, ok := map[string]func(context.Context, *Run, *params) ([]byte, error){
		"model": model, "curves": curves, "shuffle": shuffle, "why": why, "idle": idle,
	}[name]
	if !ok {
		return nil, &errs.Error{Kind: Gone, Object: name, Cause: errs.Kind("there is no such question")}
	}
	r, err := l.Run(q.Get("run"))
	if err != nil {
		return nil, err
	}
	return ask(ctx, r, &params{values: q})
}

// Metrics returns a run in the text format of Prometheus. The id "" is that of the run that
// was added last: of several policies, the one that runs now.
func (l *Lab) Metrics(id string) ([]byte, error) {
	if all := l.list(); id == "" && len(all) > 0 {
		id = all[len(all)-1].ID
	}
	r, err := l.Run(id)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	err = r.with(func(m *view.Model) error { return export.Metrics(&text, m) })
	return text.Bytes(), err
}

// problem is the JSON of an error. Line and Column are places in a workload file.
type problem struct {
	Error  string `json:"error"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

// Statuses of answers, as HTTP numbers them.
const (
	statusMistake  = 400
	statusGone     = 404
	statusReplaced = 409
	statusBroken   = 500
)

// Problem returns the answer to a question that ended with err: a status as HTTP has them,
// and JSON that says what is wrong, with its line if it is a mistake in a draft.
func Problem(err error) (status int, text []byte) {
	var p problem
	p.Line, p.Column, p.Error = place(err)
	p.Error = errs.OneLine(p.Error)
	text, _ = json.Marshal(p) // a struct of texts and numbers
	switch {
	case errors.Is(err, Gone):
		return statusGone, text
	case errors.Is(err, errs.Interrupted), errors.Is(err, context.Canceled):
		return statusReplaced, text
	case errs.IsUsage(err):
		return statusMistake, text
	}
	return statusBroken, text
}

// runInfo is a run in the list of runs.
type runInfo struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Policy string `json:"policy"`
	Ended  bool   `json:"ended"`
	Seq    uint64 `json:"seq"`
	Note   string `json:"note,omitempty"`
}

// runsJSON lists the runs that were added. Drafts are not listed: the page that made one knows
// its id.
func (l *Lab) runsJSON() ([]byte, error) {
	all := []runInfo{} // an empty list, not null
	for _, r := range l.list() {
		all = append(all, r.info())
	}
	return json.Marshal(map[string]any{"runs": all, "lesson": l.lesson() != nil})
}

// policyInfo is a policy in the list of policies.
type policyInfo struct {
	Name  string `json:"name"`
	Line  string `json:"line"`
	Paper string `json:"paper"`
}

// policiesJSON lists the policies in the order of the registry, simplest first.
func policiesJSON() ([]byte, error) {
	var all []policyInfo
	for _, p := range registry.All() {
		all = append(all, policyInfo{p.Name, p.Line, p.Paper})
	}
	return json.Marshal(map[string]any{"policies": all})
}

// params reads the parameters of a question and keeps the first mistake.
type params struct {
	values url.Values
	err    error
}

// number reads a whole number from least to most. A parameter that is missing is otherwise.
func (p *params) number(name string, least, most, otherwise int64) int64 {
	text := p.values.Get(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if (err != nil || n < least || n > most) && p.err == nil {
		p.err = errs.Optionf(name, "%q is not a whole number from %d to %d", text, least, most)
	}
	return min(max(n, least), most)
}

// instant reads a time in nanoseconds from the start of the run.
func (p *params) instant(name string, otherwise time.Duration) time.Duration {
	return time.Duration(p.number(name, 0, 1<<62, int64(otherwise)))
}

// mostSteps bounds the points of a curve, and mostCells the rows and columns of a matrix:
// more than a screen has pixels.
const (
	mostSteps = 4000
	mostCells = 400
)

// model answers with all rows of the model whose number is above from.
func model(_ context.Context, r *Run, p *params) ([]byte, error) {
	from := p.number("from", 0, 1<<62, 0)
	if p.err != nil {
		return nil, p.err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.model.AppendJSON(nil, uint64(from)), nil
}

// curves answers with the use and the fair share of each pool.
func curves(_ context.Context, r *Run, p *params) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	from, to := p.instant("from", 0), p.instant("to", r.mu.model.Last)
	steps := p.number("steps", 1, mostSteps, 300)
	if p.err != nil {
		return nil, p.err
	}
	return r.mu.model.Curves(from, max(to, from+1), int(steps)).AppendJSON(nil), nil
}

// shuffle answers with the matrix of maps by reduces of a job, at a time.
func shuffle(_ context.Context, r *Run, p *params) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	job := p.number("job", 0, 1<<31-1, 0)
	at := p.instant("at", r.mu.model.Last)
	most := p.number("most", 1, mostCells, 100)
	if int(job) >= len(r.mu.model.Jobs) && p.err == nil {
		p.err = errs.Optionf("job", "the run has no job %d", job)
	}
	if p.err != nil {
		return nil, p.err
	}
	return r.mu.model.Shuffle(int32(job), at, int(most)).AppendJSON(nil), nil
}

// cancel ends the simulation that a client has started last.
type cancel struct {
	id   int
	stop context.CancelCauseFunc
}

// begin registers a simulation of a client and cancels the one before it. done removes it.
// Without a name of a client nothing is registered.
func (l *Lab) begin(ctx context.Context, client string) (_ context.Context, done func()) {
	ctx, stop := context.WithCancelCause(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.cancels == nil {
		l.mu.cancels = map[string]cancel{}
	}
	if before, ok := l.mu.cancels[client]; ok {
		before.stop(errReplaced)
	}
	l.mu.started++
	id := l.mu.started
	if client != "" {
		l.mu.cancels[client] = cancel{id, stop}
	}
	return ctx, func() {
		stop(nil)
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.mu.cancels[client].id == id {
			delete(l.mu.cancels, client)
		}
	}
}

// errReplaced is the cause of a simulation that a newer one replaces.
var errReplaced = &errs.Error{Kind: errs.Interrupted, Object: "simulation", Cause: errs.Kind("a newer one has replaced it")}

// taken waits until a simulation may run, and returns what ends its turn.
func (l *Lab) taken(ctx context.Context) (release func(), err error) {
	l.once.Do(func() { l.turn = make(chan struct{}, mostAtOnce) })
	select {
	case l.turn <- struct{}{}:
		return func() { <-l.turn }, nil
	case <-ctx.Done():
		return nil, cmp.Or(context.Cause(ctx), ctx.Err())
	}
}
