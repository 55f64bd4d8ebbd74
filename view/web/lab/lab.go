// Package lab answers the questions of the page about runs: their model, the reasons for
// their decisions, and the curves of their pools. It also simulates workload files that the
// page sends. Every answer is JSON.
//
// A Run is a recorded run, a live run, or a draft: a simulation of the playground. A draft
// keeps its model and its settings, but no events. If a question needs the events, the draft
// is simulated again: the same settings give the same events.
//
// Concurrency: a Lab may be used from any goroutine. Each Run guards its model with its own
// lock. The goroutine of a real run never takes that lock. Memory: a Lab holds the models of
// all runs (mostRows of package view) and of the last drafts.
//
// The package uses no network, and no request can choose a file name.
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
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"mrlocal/internal/errs"
	"mrlocal/slots"
	"mrlocal/slots/policy/registry"
	"mrlocal/view"
	"mrlocal/view/export"
	"mrlocal/view/lesson"
	"mrlocal/view/svg"
)

// Lab holds runs and answers questions about them. The zero value has no runs and can be used.
type Lab struct {
	mu struct {
		sync.Mutex
		runs    []*Run            // in the order of Add
		drafts  []*Run            // the newest last
		made    int               // number of drafts so far, for their ids
		started int               // number of simulations so far, for ids of cancels
		cancels map[string]cancel // by client: its running simulation
		lesson  *lesson.Lesson    // the lesson of the runs; nil: none

		turns *semaphore.Weighted // a running simulation holds one of mostAtOnce places; nil: none has run
	}
}

// These bounds limit the memory of drafts: a model takes some 300 bytes per task. The drafts of
// one request always fit.
const (
	mostDrafts     = 32
	mostDraftTasks = mostPolicies * mostTasks
)

// Add adds a run, sets its ID, and returns it.
func (l *Lab) Add(r *Run) *Run {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.ID = strconv.Itoa(len(l.mu.runs))
	l.mu.runs = append(l.mu.runs, r)
	return r
}

// draft adds a draft, sets its ID, and drops the oldest drafts if there are too many.
func (l *Lab) draft(r *Run) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.made++
	r.ID = "d" + strconv.Itoa(l.mu.made)
	l.mu.drafts = append(l.mu.drafts, r)
	tasks := 0
	// The memory of a draft grows with its tasks, so the sum of all tasks is bounded too.
	for _, d := range l.mu.drafts {
		tasks += d.tasks
	}
	for len(l.mu.drafts) > mostDrafts || tasks > mostDraftTasks {
		tasks -= l.mu.drafts[0].tasks
		l.mu.drafts = slices.Delete(l.mu.drafts, 0, 1)
	}
}

// Run returns the run or draft with an id. It fails with Gone if there is none.
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

// list returns the runs that were added, without drafts. The slice belongs to the caller.
func (l *Lab) list() []*Run {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.mu.runs)
}

// Gone is the kind of an error about a run, question or lesson that does not exist, or a draft
// that was dropped.
const Gone errs.Kind = "no such run"

// errNoLesson is the answer to the question lesson if Teach was not called.
var errNoLesson = &errs.Error{Kind: Gone, Object: "lesson", Cause: errs.Kind("the runs belong to none")}

const errNoRun = errs.Kind("there is no such run; a draft is dropped after a while")

// Answer answers the question of that name: runs, model, curves, below, path, shuffle, why, idle, headline, picture,
// lesson, policies or examples. q has the parameters of the question. The answer is JSON and belongs to
// the caller. Answer fails with errs.BadOptions for a wrong parameter, and with Gone if there
// is no such run or question. It fails with errs.BadInput if the events cannot be read.
func (l *Lab) Answer(ctx context.Context, name string, q url.Values) ([]byte, error) {
	switch name {
	case "runs":
		return l.runsJSON()
	case "lesson":
		return l.lessonJSON(ctx, q.Get("name"))
	case "headline":
		return l.together(q["run"], func(runs []view.Named) ([]byte, error) {
			return json.Marshal(map[string]string{"text": view.Headline(runs)})
		})
	case "picture":
		return l.picture(q)
	case "policies":
		return json.Marshal(map[string]any{"policies": registry.All()})
	case "examples":
		all, err := examples()
		if err != nil {
			return nil, err
		}
		return json.Marshal(map[string]any{"examples": all, "lessons": lesson.Titles()})
	}
	look := map[string]func(*view.Model, *params) []byte{"model": model, "curves": curves, "below": below, "path": path, "shuffle": shuffle}[name]
	ask := map[string]func(context.Context, *Run, *params) ([]byte, error){"why": why, "idle": idle}[name]
	if look == nil && ask == nil {
		return nil, &errs.Error{Kind: Gone, Object: name, Cause: errs.Kind("there is no such question")}
	}
	r, err := l.Run(q.Get("run"))
	if err != nil {
		return nil, err
	}
	p := &params{values: q}
	if look == nil {
		return ask(ctx, r, p)
	}
	var text []byte
	err = r.with(func(m *view.Model) error {
		text = look(m, p)
		return p.err
	})
	return text, err
}

// Metrics returns a run in the text format of Prometheus. The id "" stands for the run that was
// added last: if several policies run one after the other, the one that runs now. Metrics fails
// with Gone if there is no such run.
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

// problem is the JSON of an error. Line and Column are the place in the workload file of a draft,
// from 1; 0: none.
type problem struct {
	Error  string `json:"error"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

// These are status codes of HTTP.
const (
	statusMistake  = 400 // the request is wrong
	statusGone     = 404 // there is no such run
	statusReplaced = 409 // a newer simulation of the client has cancelled this one
	statusBroken   = 500 // a defect of mrlocal, or of the machine
)

// Problem returns the answer to a question that failed with err: a status code of HTTP, and JSON
// with the message. If the mistake is in the workload file of a draft, the JSON has its line and
// column.
func Problem(err error) (status int, text []byte) {
	var p problem
	p.Line, p.Column, p.Error = place(err)
	p.Error = errs.OneLine(p.Error)
	text, _ = json.Marshal(p) // never fails: a struct of texts and numbers
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

// runInfo is a run in the answer to the question runs.
type runInfo struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Policy string `json:"policy"`
	Ended  bool   `json:"ended"`          // no more events follow
	Seq    uint64 `json:"seq"`            // number of the last event
	Note   string `json:"note,omitempty"` // the error that ended the events early
}

// runsJSON answers with the runs that were added. It does not list drafts: only the page that made
// a draft uses it, and has its id.
func (l *Lab) runsJSON() ([]byte, error) {
	all := []runInfo{} // an empty list, not null
	for _, r := range l.list() {
		all = append(all, r.info())
	}
	return json.Marshal(map[string]any{"runs": all, "lesson": l.lesson() != nil})
}

// params reads the parameters of a question. It keeps the first error.
type params struct {
	values url.Values
	err    error
}

// number returns a parameter that is a whole number from least to most. It returns otherwise if the
// parameter is missing. After an error the result is still from least to most.
func (p *params) number(name string, least, most, otherwise int64) int64 {
	text := p.values.Get(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least || n > most {
		p.fail(name, "%q is not a whole number from %d to %d", text, least, most)
	}
	return min(max(n, least), most)
}

// fail keeps an error about a parameter, unless there is one already.
func (p *params) fail(name, format string, args ...any) {
	if p.err == nil {
		p.err = errs.Optionf(name, format, args...)
	}
}

// choice returns a parameter that is one of these words. It returns the first if the parameter is missing.
func (p *params) choice(name string, words ...string) string {
	text := cmp.Or(p.values.Get(name), words[0])
	if !slices.Contains(words, text) {
		p.fail(name, "%q is none of %s", text, strings.Join(words, ", "))
	}
	return text
}

// instant returns a parameter that is a time in nanoseconds from the start of the run. It returns
// otherwise if the parameter is missing.
func (p *params) instant(name string, otherwise time.Duration) time.Duration {
	return time.Duration(p.number(name, 0, 1<<62, int64(otherwise)))
}

// mostSteps bounds the points of a curve, and mostCells the rows and columns of a matrix. A screen
// cannot show more.
const (
	mostSteps = 4000
	mostCells = 400
)

// model answers with the rows of the model after event number from; 0: all rows.
func model(m *view.Model, p *params) []byte {
	return m.AppendJSON(nil, uint64(p.number("from", 0, 1<<62, 0)))
}

// curves answers with use, fair share and demand of each pool, in steps from one time to another. The fair
// share is that of the policy, unless sharing names another definition.
func curves(m *view.Model, p *params) []byte {
	from, to := p.instant("from", 0), p.instant("to", m.Last)
	// Curves needs a time span above 0.
	return m.Curves(from, max(to, from+1), int(p.number("steps", 1, mostSteps, 300)), p.sharing(m)).AppendJSON(nil)
}

// together calls answer with the runs of these ids. A run that was added has the name of its policy, unless another
// one has the same policy. All others have their own names.
func (l *Lab) together(ids []string, answer func(runs []view.Named) ([]byte, error)) ([]byte, error) {
	locked, policies := map[string]*Run{}, map[string][]*Run{} // the runs that were added, by policy
	for _, r := range l.list() {
		policy := r.info().Policy
		policies[policy] = append(policies[policy], r)
	}
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) { // in one order, because the runs stay locked
		r, err := l.Run(id)
		if err != nil {
			return nil, err
		}
		r.mu.Lock()
		defer r.mu.Unlock() // of all runs, until the answer is made
		locked[id] = r
	}
	var named []view.Named
	for _, id := range ids {
		r := locked[id]
		name := r.Name
		if policy := r.mu.model.Policy; slices.Equal(policies[policy], []*Run{r}) {
			name = policy
		}
		named = append(named, view.Named{Name: name, Model: r.mu.model})
	}
	return answer(named)
}

// picture answers with a picture of runs as SVG. The parameters are shape (wide or square), theme (light or dark), hue
// (job or pool), title, and link: the address of the page.
func (l *Lab) picture(q url.Values) ([]byte, error) {
	p := &params{values: q}
	o := svg.Options{Title: q.Get("title"), Link: q.Get("link"), Square: p.choice("shape", "wide", "square") == "square", Dark: p.choice("theme", "light", "dark") == "dark", Pools: p.choice("hue", "job", "pool") == "pool"}
	switch n := len(q["run"]); {
	case n == 0 || n > svg.MostRuns:
		p.fail("run", "%d runs; name 1 to %d", n, svg.MostRuns)
	case o.Link != "" && !strings.HasPrefix(o.Link, "http://") && !strings.HasPrefix(o.Link, "https://"):
		p.fail("link", "is no address of http or https")
	}
	if p.err != nil {
		return nil, p.err
	}
	return l.together(q["run"], func(runs []view.Named) ([]byte, error) {
		var b bytes.Buffer
		_ = svg.Write(&b, runs, o) // never fails: into memory
		return json.Marshal(map[string]string{"svg": b.String()})
	})
}

// path answers with the critical path of a run.
func path(m *view.Model, _ *params) []byte { return m.AppendPath(nil) }

// below answers with the times in which pools were below their fair shares.
func below(m *view.Model, p *params) []byte { return m.AppendShortfalls(nil, p.sharing(m)) }

// sharing returns the definition of fair shares: that of the policy, unless the parameter names another one.
func (p *params) sharing(m *view.Model) slots.Sharing {
	text := p.choice("sharing", "", slots.PerKind.String(), slots.Together.String())
	for _, s := range []slots.Sharing{slots.PerKind, slots.Together} {
		if s.String() == text {
			return s
		}
	}
	return m.Sharing
}

// shuffle answers with the matrix of copies of a job at a time, with most rows and columns at most.
func shuffle(m *view.Model, p *params) []byte {
	job := p.number("job", 0, 1<<31-1, 0)
	at := p.instant("at", m.Last)
	most := p.number("most", 1, mostCells, 100)
	if int(job) >= len(m.Jobs) {
		p.fail("job", "the run has no job %d", job)
		return nil
	}
	return m.Shuffle(int32(job), at, int(most)).AppendJSON(nil)
}

// cancel cancels a running simulation of a client.
type cancel struct {
	id   int // number of the simulation
	stop context.CancelCauseFunc
}

// begin registers a simulation of a client, and cancels the one before it. The simulation runs
// under the returned context. The caller must call done at its end. If client is empty, begin
// registers and cancels nothing.
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
		// A newer simulation of the client may have replaced the entry.
		if l.mu.cancels[client].id == id {
			delete(l.mu.cancels, client)
		}
	}
}

// errReplaced is the error of a simulation that a newer one of the same client has cancelled.
var errReplaced = &errs.Error{Kind: errs.Interrupted, Object: "simulation", Cause: errs.Kind("a newer one has replaced it")}

// awaitTurn waits until fewer than mostAtOnce simulations run. The caller must call release at the end
// of its simulation. awaitTurn fails if ctx ends first.
func (l *Lab) awaitTurn(ctx context.Context) (release func(), err error) {
	l.mu.Lock()
	if l.mu.turns == nil {
		l.mu.turns = semaphore.NewWeighted(mostAtOnce)
	}
	turns := l.mu.turns
	l.mu.Unlock()
	if turns.Acquire(ctx, 1) != nil {
		return nil, context.Cause(ctx)
	}
	return func() { turns.Release(1) }, nil
}
