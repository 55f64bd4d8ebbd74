package lab

import (
	"context"
	"encoding/json"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/slots/explain"
	"mrlocal/slots/policy/registry"
	"mrlocal/trace"
	"mrlocal/view"
)

// Opener opens the events of a run from their first line. If wait is nil, the reader ends after
// the last event so far. Otherwise the reader waits for more events, until the run has ended or
// wait is closed. The caller closes the reader.
type Opener func(wait <-chan struct{}) (io.ReadCloser, error)

// Run is a run that the page shows. It may be used from any goroutine.
type Run struct {
	ID    string // set when the run is added to a Lab
	Name  string // shown to users
	open  Opener
	tasks int // of a draft: its number of tasks; 0 for other runs

	mu struct {
		sync.Mutex
		model *view.Model
		over  bool   // no more events follow
		note  string // the error that ended the events early; "": none
	}
}

// NewRun returns a run without events. open opens its events for Follow and for questions.
func NewRun(name string, open Opener) *Run {
	r := &Run{Name: name, open: open}
	r.mu.model = view.New()
	return r
}

// Recorded returns the run of the events that open opens. name is shown to users and stands in
// errors. Recorded reads all events. It fails with errs.BadInput if they cannot be read, are cut short, were
// changed, or are not events. It calls open again for each question about reasons.
func Recorded(name string, open Opener) (*Run, error) {
	r := NewRun(name, open)
	if err := r.follow(nil); errs.IsUsage(err) { // of open
		return nil, err
	} else if err != nil {
		return nil, errs.Inputf(name, "%v", err)
	}
	r.mu.over = true
	return r, nil
}

// Shorten names runs of event files by the shortest ends of their paths that tell them apart.
func Shorten(runs []*Run) {
	paths := make([]string, len(runs))
	for i, r := range runs {
		paths[i] = filepath.ToSlash(filepath.Clean(r.Name))
	}
	for i, r := range runs {
		r.Name = paths[i]
		for at := strings.LastIndex(paths[i], "/"); at >= 0; at = strings.LastIndex(paths[i][:at], "/") {
			end := paths[i][at:]
			if !slices.ContainsFunc(paths, func(p string) bool { return p != paths[i] && strings.HasSuffix("/"+p, end) }) {
				r.Name = end[1:]
				break
			}
		}
	}
}

// Open opens the events of the run as its event file has them. Opener describes wait and the
// result.
func (r *Run) Open(wait <-chan struct{}) (io.ReadCloser, error) { return r.open(wait) }

// Follow reads events into the model until they end, done is closed, or an error happens. The page
// shows the error as a note. Follow does not return the error, because a page must not fail a run.
func (r *Run) Follow(done <-chan struct{}) {
	err := r.follow(done)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.over = true
	if err != nil {
		r.mu.note = err.Error()
	}
}

// follow reads events into the model. It takes the lock for one event at a time, so that questions
// can be answered in between.
func (r *Run) follow(done <-chan struct{}) error {
	in, err := r.open(done)
	if err != nil {
		return err
	}
	defer in.Close()
	d, err := trace.NewDecoder(in)
	if err != nil {
		return err
	}
	d.Share(view.MostBytes)
	if err := r.with(func(m *view.Model) error { return m.Open(d.Header()) }); err != nil {
		return err
	}
	for e, err := range d.All() {
		if err != nil {
			return err
		}
		_ = r.with(func(m *view.Model) error {
			m.Add(e, d.Texts(e.Ref))
			return nil
		})
	}
	return r.with((*view.Model).Close)
}

// with calls f with the model while it holds the lock. f must not keep the model.
func (r *Run) with(f func(m *view.Model) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return f(r.mu.model)
}

// info returns the run for the answer to the question runs.
func (r *Run) info() runInfo {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.mu.model
	return runInfo{ID: r.ID, Name: r.Name, Policy: m.Policy, Ended: r.mu.over, Seq: m.Seq, Note: r.mu.note}
}

// why answers with the reasons for the decision with event number seq.
func why(ctx context.Context, r *Run, p *params) ([]byte, error) {
	seq := p.number("seq", 1, 1<<62, 0)
	if seq == 0 {
		return nil, errs.Optionf("seq", "name a decision by its number")
	}
	return r.explained(ctx, p, func(in io.Reader, o explain.Options) (any, error) {
		reason, err := explain.Why(in, uint64(seq), o)
		if err != nil {
			return nil, err
		}
		answer := &decided{Reason: reason}
		return answer, r.with(func(m *view.Model) error {
			answer.Wanted = m.WantedBefore(reason.Seq)
			answer.Sentence = m.Sentence(reason.Seq, answer.Wanted)
			return nil
		})
	})
}

// decided is the answer to the question why: the reason, the decision as a sentence, and what was wanted then, by kind.
type decided struct {
	*explain.Reason
	Sentence string                   `json:"sentence"`
	Wanted   [trace.Kinds]view.Wanted `json:"wanted"`
}

// idle answers with the reason why nothing ran on a slot at a time.
func idle(ctx context.Context, r *Run, p *params) ([]byte, error) {
	slot := p.number("slot", 0, 1<<31-1, 0)
	at := p.instant("at", time.Duration(0))
	return r.explained(ctx, p, func(in io.Reader, o explain.Options) (any, error) {
		text, err := explain.WhyIdle(in, int(slot), at, o)
		return map[string]any{"slot": slot, "at": at, "text": text}, err
	})
}

// explained answers with what f makes of the events of the run. It fails if a parameter was wrong.
func (r *Run) explained(ctx context.Context, p *params, f func(in io.Reader, o explain.Options) (any, error)) ([]byte, error) {
	if p.err != nil {
		return nil, p.err
	}
	in, err := r.open(nil)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	answer, err := f(stopping{ctx, in}, explain.Options{Policy: registry.ForReplay, Name: r.Name})
	if err != nil {
		return nil, err
	}
	return json.Marshal(answer)
}

// stopping is a reader that fails once ctx ends. So a cancelled request stops reading events.
type stopping struct {
	ctx context.Context
	in  io.Reader
}

// Read reads from in, or returns the cause of ctx.
func (s stopping) Read(p []byte) (int, error) {
	if s.ctx.Err() != nil {
		return 0, context.Cause(s.ctx)
	}
	return s.in.Read(p)
}
