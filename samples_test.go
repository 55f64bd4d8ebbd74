package mrlocal_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"mrlocal"
	"mrlocal/jobs"
)

// begunMappers counts the mappers of a job that are a jobs.Attempter and an io.Closer.
type begunMappers struct {
	mu                  sync.Mutex // maps may run on reduce slots too
	made, begun, closed int
	side                string // of the mapper that was begun last
	contexts            []context.Context
	fails               error // of Map
}

func (c *begunMappers) job() jobs.Job {
	return jobs.Job{
		Name: "begun", Ordered: true,
		NewMapper: func() jobs.Mapper {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.made++
			return &begunMapper{all: c}
		},
		NewReducer: func() jobs.Reducer { return jobs.Identity{Out: jobs.KeyColumn} },
	}
}

type begunMapper struct {
	all *begunMappers
	own jobs.OwnAttempt
}

func (m *begunMapper) Begin(a jobs.OwnAttempt) {
	m.all.mu.Lock()
	defer m.all.mu.Unlock()
	m.all.begun++
	m.all.side = string(a.Side)
	m.all.contexts = append(m.all.contexts, a.Context)
	m.own = a
}

func (m *begunMapper) Map(b jobs.Block, out jobs.Emitter) error {
	m.own.Progress(1, 2)
	if err := m.own.Context.Err(); err != nil {
		return err
	}
	for line := range b.Lines() {
		out.Emit(line, nil)
	}
	return m.all.fails
}

func (m *begunMapper) Close() error {
	m.all.mu.Lock()
	defer m.all.mu.Unlock()
	m.all.closed++
	return nil
}

// check fails the test if a mapper was not begun, not closed, or may still go on.
func (c *begunMappers) check(t *testing.T) {
	t.Helper()
	if c.made == 0 || c.begun != c.made || c.closed != c.made {
		t.Errorf("%d mappers made, %d begun, %d closed", c.made, c.begun, c.closed)
	}
	for _, ctx := range c.contexts {
		if ctx.Err() == nil {
			t.Error("the context of a mapper that is closed goes on")
		}
	}
}

func numbered(lines int) string {
	var text strings.Builder
	for i := range lines {
		fmt.Fprintf(&text, "line %d\n", i*7919%lines)
	}
	return text.String()
}

// A sample treats a mapper as an attempt does: it calls Begin before Map, and Close at the end.
func TestASampleBeginsAndClosesItsMappers(t *testing.T) {
	boom := errors.New("boom")
	side := filepath.Join(t.TempDir(), "side")
	if err := os.WriteFile(side, []byte("aside"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		side  string
		fails error
	}{"without side data": {}, "with side data": {side: side}, "a mapper that fails": {side: side, fails: boom}} {
		t.Run(name, func(t *testing.T) {
			o := mrlocal.Options{JobOptions: input(t, numbered(20_000)), MemoryBytes: 64 << 20, Config: mrlocal.Config{MapSlots: 1, ReduceSlots: 1}}
			o.Side, o.BlockBytes, o.Reducers, o.Stdout = c.side, 8<<10, 3, io.Discard
			all := &begunMappers{fails: c.fails}
			_, err := mrlocal.Run(t.Context(), all.job(), o)
			if !errors.Is(err, c.fails) {
				t.Errorf("Run: %v", err)
			}
			if c.side != "" && all.side != "aside" {
				t.Errorf("side data %q", all.side)
			}
			all.check(t)

			all = &begunMappers{fails: c.fails}
			cuts, err := mrlocal.Cuts(t.Context(), all.job(), 3, o.JobOptions)
			if !errors.Is(err, c.fails) || err == nil && len(cuts) != 2 {
				t.Errorf("Cuts: %q, %v", cuts, err)
			}
			all.check(t)
		})
	}
}

// The attempts of such a job fail with a message, because a map of a job with reducers has no named
// outputs. The sample must not fail before them without one.
func TestAMapperMayAskForANamedOutputInASample(t *testing.T) {
	job := (&begunMappers{}).job()
	job.Outputs = []string{"others"}
	job.NewMapper = func() jobs.Mapper { return &asking{} }
	o := mrlocal.Options{JobOptions: input(t, numbered(1000)), Config: mrlocal.Config{Attempts: 1}}
	o.OutputDir, o.Reducers, o.Stderr = filepath.Join(t.TempDir(), "out"), 2, io.Discard
	_, err := mrlocal.Run(t.Context(), job, o)
	if err == nil || !strings.Contains(err.Error(), `output "others": this attempt writes no part of the result`) {
		t.Error(err)
	}
}

type asking struct{ other jobs.Emitter }

func (m *asking) Begin(a jobs.OwnAttempt) { m.other = a.Output("others") }
func (m *asking) Map(b jobs.Block, out jobs.Emitter) error {
	for line := range b.Lines() {
		out.Emit(line, nil)
		m.other.Emit(line, nil)
	}
	return nil
}

func TestCutsEndsWithItsContext(t *testing.T) {
	stop, release := errors.New("stop"), make(chan struct{})
	defer close(release)
	hangs := mapOnly(func(jobs.Block, jobs.Emitter) error { <-release; return nil })
	begins := hangs
	begins.Begin = func(int) (jobs.Job, error) { <-release; return hangs, nil }
	for name, job := range map[string]jobs.Job{"a mapper that hangs": hangs, "a Begin that hangs": begins} {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(50*time.Millisecond, func() { cancel(stop) })
		done := make(chan error, 1)
		go func() {
			_, err := mrlocal.Cuts(ctx, job, 3, input(t, "a\n"))
			done <- err
		}()
		select {
		case err := <-done:
			if !errors.Is(err, mrlocal.ErrInterrupted) || !errors.Is(err, stop) {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(10 * time.Second):
			t.Errorf("%s: Cuts does not return", name)
		}
	}
}

// The sample takes no further place once the context has ended, even if Cuts has returned before.
func TestASampleTakesNoPlaceAfterItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	calls := make(chan struct{}, 100)
	job := mapOnly(func(jobs.Block, jobs.Emitter) error { calls <- struct{}{}; cancel(); return nil })
	if _, err := mrlocal.Cuts(ctx, job, 3, input(t, strings.Repeat("a line of text\n", 200_000))); !errors.Is(err, mrlocal.ErrInterrupted) {
		t.Error(err)
	}
	time.Sleep(100 * time.Millisecond)
	if len(calls) != 1 {
		t.Errorf("%d calls of the mapper", len(calls))
	}
}

func TestUserCodeThatFailsACutsEndsOnlyTheCuts(t *testing.T) {
	fine := func(jobs.Block, jobs.Emitter) error { return nil }
	for name, c := range map[string]struct {
		job  jobs.Job
		text string
	}{
		"NewMapper that panics":       {jobs.Job{NewMapper: func() jobs.Mapper { panic("boo") }}, "new mapper: panic: boo"},
		"NewMapper that returns nil":  {jobs.Job{NewMapper: func() jobs.Mapper { return nil }}, "new mapper: returned nil"},
		"a mapper that panics":        {mapOnly(func(jobs.Block, jobs.Emitter) error { panic("boo") }), "map of a sample: panic: boo"},
		"a mapper that ends":          {mapOnly(func(jobs.Block, jobs.Emitter) error { runtime.Goexit(); return nil }), "user code: has ended its goroutine by runtime.Goexit"},
		"AppendKey that panics":       {jobs.Job{NewMapper: func() jobs.Mapper { return takesBlocks{} }, AppendKey: func([]byte, []byte) []byte { panic("boo") }}, "map of a sample: panic: boo"},
		"Begin that fails":            {jobs.Job{NewMapper: mapOnly(fine).NewMapper, Begin: func(int) (jobs.Job, error) { return jobs.Job{}, errors.New("boo") }}, "begin: boo"},
		"Begin that panics":           {jobs.Job{NewMapper: mapOnly(fine).NewMapper, Begin: func(int) (jobs.Job, error) { panic("boo") }}, "begin: panic: boo"},
		"Begin of a mapper, a panic":  {jobs.Job{NewMapper: func() jobs.Mapper { return panicking{} }}, "begin of a sample: panic: boo"},
		"Close of a mapper, a panic":  {jobs.Job{NewMapper: func() jobs.Mapper { return panicsInClose{} }}, "close of a sample: panic: boo"},
		"GroupBytes that is too long": {jobs.Job{NewMapper: emitting, GroupBytes: func([]byte) int { return 1 << 20 }}, "map of a sample: GroupBytes: returned 1048576 for a key of 2 bytes"},
	} {
		_, err := mrlocal.Cuts(t.Context(), c.job, 3, input(t, "a\n"))
		var typed *mrlocal.Error
		if !errors.As(err, &typed) || typed.Kind != mrlocal.ErrJobFailed || !strings.HasPrefix(err.Error(), c.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func emitting() jobs.Mapper {
	return jobs.MapperFunc(func(b jobs.Block, out jobs.Emitter) error { out.Emit(b.Data, nil); return nil })
}

type takesBlocks struct{}

func (takesBlocks) Map(b jobs.Block, out jobs.Emitter) error {
	out.(jobs.Taker).Take(b, []jobs.Span{{Len: uint32(len(b.Data))}})
	return nil
}

type panicsInClose struct{}

func (panicsInClose) Begin(jobs.OwnAttempt)              {}
func (panicsInClose) Map(jobs.Block, jobs.Emitter) error { return nil }
func (panicsInClose) Close() error                       { panic("boo") }

// Cuts samples with the job that Begin returns for the number of files, as a run does.
func TestCutsSamplesTheJobOfBegin(t *testing.T) {
	job := mapOnly(func(jobs.Block, jobs.Emitter) error { return errors.New("not this one") })
	job.Begin = func(files int) (jobs.Job, error) {
		return mapOnly(func(_ jobs.Block, out jobs.Emitter) error {
			for i := range 10 {
				out.Emit(fmt.Appendf(nil, "%d files, key %d", files, i), nil)
			}
			return nil
		}), nil
	}
	cuts, err := mrlocal.Cuts(t.Context(), job, 2, input(t, "a\n"))
	if err != nil || len(cuts) != 1 || !strings.HasPrefix(string(cuts[0]), "1 files, key ") {
		t.Errorf("%q, %v", cuts, err)
	}
}
