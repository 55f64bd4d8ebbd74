package teach

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"mrlocal"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/pictures"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/cmd/mrlocal/internal/show"
	"mrlocal/datagen"
	"mrlocal/jobs/sleep"
	"mrlocal/jobs/sort"
	"mrlocal/trace"
	"mrlocal/view"
	"mrlocal/web/lab"
	"mrlocal/workload"
)

// taught is a run of a lesson: its events, and the model that they make. It is a sink of the
// stream of the run. The goroutine of the run owns it until the run has ended.
type taught struct {
	header *trace.Header
	stream *trace.Stream
	events []trace.Event
	model  *view.Model
	file   bytes.Buffer // the event file, which the page reads after the run
	after  func()       // is called after each event, on the goroutine of the run; nil: nothing
}

// newTaught returns a run without events.
func newTaught() *taught { return &taught{model: view.New(view.Options{})} }

// Open keeps the header, and opens the model.
func (t *taught) Open(h *trace.Header) error {
	t.header = h
	return t.model.Open(h)
}

// Record keeps a copy of an event. Lessons have some hundreds of them.
func (t *taught) Record(s *trace.Stream, e *trace.Event) error {
	t.stream, t.events = s, append(t.events, *e)
	err := t.model.Record(s, e)
	if t.after != nil {
		t.after()
	}
	return err
}

// Close ends the model.
func (t *taught) Close() error { return t.model.Close() }

// timeline returns a drawing of the events whose sequence number is below before. A run without a
// header gives an empty one.
func (t *taught) timeline(before uint64) *trace.Timeline {
	line := &trace.Timeline{}
	if t.header == nil {
		return line
	}
	_ = line.Open(t.header)
	for i := range t.events {
		if t.events[i].Seq < before {
			_ = line.Record(t.stream, &t.events[i])
		}
	}
	return line
}

// prepare makes the input of real runs in a temporary directory, which cleanUp removes. A lesson that
// only sleeps needs none. The caller calls cleanUp unless there is an error.
func (c *class) prepare(ctx context.Context) (cleanUp func(), err error) {
	in := c.lesson.Input
	if in == nil {
		return func() {}, nil
	}
	dir, err := os.MkdirTemp("", "mrlocal-lesson-")
	if err != nil {
		return nil, err
	}
	c.input = filepath.Join(dir, "records")
	cleanUp = func() { _ = os.RemoveAll(dir) }
	if err := datagen.Generate(ctx, datagen.Records, c.input, in.Bytes, 1); err != nil {
		cleanUp()
		return nil, err
	}
	return cleanUp, nil
}

// atOnce makes run i as fast as it goes: in virtual time, or for real where files are read.
func (c *class) atOnce(ctx context.Context, i int) (*taught, error) {
	t := newTaught()
	if c.lesson.Input != nil {
		return t, c.forReal(ctx, i, t, nil)
	}
	return t, c.lesson.Simulate(ctx, i, &t.file, func(s *trace.Stream) { s.Attach(t) })
}

// forReal makes run i for real and shows its progress on the screen. Without a screen the disk
// is not slowed down, since nobody watches. It records the run in t, and returns when the run has
// ended.
func (c *class) forReal(ctx context.Context, i int, t *taught, screen *show.Screen) error {
	f, err := c.lesson.File()
	if err != nil {
		return err
	}
	var o mrlocal.Options
	if o.Config, o.Policy, err = c.lesson.Setup(i); err != nil {
		return err
	}
	config, submissions := f.Lower(o.Config)
	o.Config, o.Events, o.NoGrowth = config, &t.file, c.lesson.Runs[i].NoGrowth
	watch := func(s *trace.Stream) { s.Attach(t) }
	if in := c.lesson.Input; in != nil {
		// A small kvbuffer spills, and a slow disk makes the spills visible.
		o.SortBufferBytes = in.SortBufferBytes
		if screen != nil {
			o.DiskBytesPerSecond = in.DiskBytesPerSecond
		}
	}
	batch := make([]mrlocal.BatchJob, len(f.Jobs))
	for j := range f.Jobs {
		batch[j].Submission = submissions[j]
		if err := c.job(&batch[j], f, j); err != nil {
			return err
		}
	}
	if screen == nil {
		o.Watch = watch
	} else {
		defer screen.Stop()
		screen.Also = watch
		screen.Attach(ctx, &o)
	}
	_, err = process.RunBatch(ctx, batch, o)
	return err
}

// job fills in what job j does: it sorts the input, or sleeps as long as the simulator says.
// So a real run and a simulated one of the same lesson have the same times.
func (c *class) job(b *mrlocal.BatchJob, f *workload.File, j int) (err error) {
	listed := &f.Jobs[j]
	if c.lesson.Input != nil {
		b.Chain, err = sort.New(sort.Options{})
		b.JobOptions = mrlocal.JobOptions{Inputs: []string{c.input}, Stdout: io.Discard, Reducers: cmp.Or(listed.Reduces, 1), BlockBytes: c.lesson.Input.BlockBytes[listed.Name]}
		return err
	}
	times := func(t *workload.Times, reduce bool) func(int) time.Duration {
		return func(task int) time.Duration { return t.At(1, j, reduce, task) }
	}
	b.Stdout = io.Discard
	b.Chain, err = sleep.New(sleep.Options{Maps: listed.Maps, Reduces: listed.Reduces, MapTime: times(&listed.MapTime, false), ReduceTime: times(&listed.ReduceTime, true)})
	return err
}

// onPage makes all runs and shows them on the page until ctx ends. The page opens when
// all have ended. Nothing changes the runs from then on.
func (c *class) onPage(ctx context.Context, line argv.Line) error {
	for i := range c.lesson.Runs {
		var t *taught
		var err error
		if c.fast {
			t, err = c.atOnce(ctx, i)
		} else {
			fmt.Fprintf(c.Stderr, "mrlocal: demo: %s runs for real\n", c.lesson.Runs[i].Title())
			t = newTaught()
			err = c.forReal(ctx, i, t, c.Screen("auto", nil))
		}
		if err != nil {
			return err
		}
		c.runs = append(c.runs, t)
	}
	var runs []*lab.Run
	for i, t := range c.runs {
		// Each reader of the page gets the file from its beginning; the bytes change no more.
		open := func(<-chan struct{}) (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(t.file.Bytes())), nil
		}
		run := lab.NewRun(c.lesson.Runs[i].Title(), open)
		run.Follow(nil)
		runs = append(runs, run)
	}
	return pictures.ShowLesson(ctx, c.Stderr, line, c.lesson, runs)
}
