package lab

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"mrlocal/errs"
	"mrlocal/slots/explain"
	"mrlocal/trace"
	"mrlocal/view"
)

// Opener opens the events of a run from their first line. If wait is nil, reading ends with
// the last event so far. Otherwise reading waits for more, until the run has ended or wait
// is closed. The caller closes the reader.
type Opener func(wait <-chan struct{}) (io.ReadCloser, error)

// Run is a run that the page shows.
type Run struct {
	ID    string // set by Lab.Add
	Name  string // for people
	open  Opener
	tasks int // of a draft

	mu struct {
		sync.Mutex
		model *view.Model
		over  bool   // no more events come
		note  string // why the events ended early; "": they did not
	}
}

// NewRun returns a run without events. Follow reads its events.
func NewRun(name string, open Opener) *Run {
	r := &Run{Name: name, open: open}
	r.mu.model = view.New(view.Options{})
	return r
}

// Load reads an event file to its end. It fails with an error of kind errs.BadInput if the
// file cannot be read, is cut short, was changed, or is no event file. The file is read
// again for each question about reasons, so it must stay where it is.
func Load(path string) (*Run, error) {
	open := func(<-chan struct{}) (io.ReadCloser, error) {
		f, err := os.Open(path)
		if err != nil {
			return nil, errs.Inputf(path, "%v", errs.Cause(err))
		}
		return f, nil
	}
	// A pipe could be read once only.
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, errs.Inputf(path, "is not a regular file; name an event file")
	}
	return Recorded(path, open)
}

// Recorded reads the events of a run to their end. It fails as Load does. open is called
// again for each question about reasons.
func Recorded(name string, open Opener) (*Run, error) {
	in, err := open(nil)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	m, err := view.Load(in, view.Options{})
	if err != nil {
		return nil, errs.Inputf(name, "%s", strings.TrimPrefix(err.Error(), "read events: "))
	}
	r := &Run{Name: name, open: open}
	r.mu.model, r.mu.over = m, true
	return r, nil
}

// Open opens the events of the run, for readers that want them as they are recorded. See
// Opener.
func (r *Run) Open(wait <-chan struct{}) (io.ReadCloser, error) { return r.open(wait) }

// Follow reads events into the model until they end, or until done is closed. An error ends
// it too, and becomes a note on the page: a page that fails must not fail the run.
func (r *Run) Follow(done <-chan struct{}) {
	err := r.follow(done)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.over = true
	if err != nil && !errors.Is(err, io.EOF) {
		r.mu.note = err.Error()
	}
}

// follow reads events into the model, and takes the lock anew for each of them, so that questions
// come in between.
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
	if err := r.with(func(m *view.Model) error { return m.Open(d.Header()) }); err != nil {
		return err
	}
	for {
		e, err := d.Next()
		if errors.Is(err, io.EOF) {
			return r.with((*view.Model).Close)
		}
		if err != nil {
			return err
		}
		_ = r.with(func(m *view.Model) error {
			m.Add(&e, d.Texts(e.Ref))
			return nil
		})
	}
}

// with calls f with the model and the lock. f must not keep the model.
func (r *Run) with(f func(m *view.Model) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return f(r.mu.model)
}

// info returns the run as the list of runs has it.
func (r *Run) info() runInfo {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.mu.model
	return runInfo{ID: r.ID, Name: r.Name, Policy: m.Policy, Ended: r.mu.over, Seq: m.Seq, Note: r.mu.note}
}

// why answers with the reasons of the decision with a number.
func why(ctx context.Context, r *Run, p *params) ([]byte, error) {
	seq := p.number("seq", 1, 1<<62, 0)
	if p.err != nil {
		return nil, p.err
	}
	if seq == 0 {
		return nil, errs.Optionf("seq", "name a decision by its number")
	}
	in, err := r.open(nil)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	reason, err := explain.Why(stopping{ctx, in}, uint64(seq), explain.Options{Name: r.Name})
	if err != nil {
		return nil, err
	}
	return json.Marshal(reason)
}

// idle answers why nothing ran on a slot at a time.
func idle(ctx context.Context, r *Run, p *params) ([]byte, error) {
	slot := p.number("slot", 0, 1<<31-1, 0)
	at := p.instant("at", time.Duration(0))
	if p.err != nil {
		return nil, p.err
	}
	in, err := r.open(nil)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	text, err := explain.WhyIdle(stopping{ctx, in}, int(slot), at, explain.Options{Name: r.Name})
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{"slot": slot, "at": at, "text": text})
}

// stopping reads until ctx ends, so that a request that was given up costs nothing more.
type stopping struct {
	ctx context.Context
	in  io.Reader
}

func (s stopping) Read(p []byte) (int, error) {
	if s.ctx.Err() != nil {
		return 0, context.Cause(s.ctx)
	}
	return s.in.Read(p)
}
