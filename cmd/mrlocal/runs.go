package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/dustin/go-humanize"

	"mrlocal"
	"mrlocal/internal/datagen"
	"mrlocal/internal/errs"
	"mrlocal/internal/term"
	"mrlocal/jobs/grep"
	"mrlocal/jobs/sort"
	"mrlocal/trace"
	"mrlocal/view"
	"mrlocal/view/web/lab"
	"mrlocal/workload"
)

// lessonRun is a trace.Sink that records a run of a lesson. The goroutine of the run owns it until
// the run has ended.
type lessonRun struct {
	*view.Model
	file   bytes.Buffer // the event file, whole after the run
	result []*digest    // of a lesson with an input, by job
	after  func()       // is called after each event, on the goroutine of the run; may be nil
}

// newLessonRun returns the record of a run that has not begun.
func newLessonRun() *lessonRun { return &lessonRun{Model: view.New()} }

// Record passes the event to the model.
func (t *lessonRun) Record(s *trace.Stream, e *trace.Event) error {
	err := t.Model.Record(s, e)
	if t.after != nil {
		t.after()
	}
	return err
}

// timeline returns a timeline of those events of a run that has ended whose sequence numbers are below before.
func (t *lessonRun) timeline(before uint64) *trace.Timeline {
	line := &trace.Timeline{}
	d, err := trace.NewDecoder(bytes.NewReader(t.file.Bytes()))
	if err != nil { // the run was refused
		return line
	}
	_ = line.Open(d.Header())
	for e, err := range d.All() {
		if err != nil || e.Seq >= before {
			break
		}
		line.Add(e, d.Texts(e.Ref))
	}
	return line
}

// atOnce makes run i as fast as possible: in virtual time or, if the lesson reads files, for real.
func (c *session) atOnce(ctx context.Context, i int) (*lessonRun, error) {
	t := newLessonRun()
	if c.lesson.Input != nil {
		return t, c.forReal(ctx, i, t, nil)
	}
	return t, c.lesson.Simulate(ctx, i, &t.file, func(s *trace.Stream) { s.Attach(t) })
}

// forReal makes run i for real, records it in t, and shows its progress on screen. It returns when
// the run has ended. screen may be nil. Then the run is only recorded, and its disk is not slowed
// down.
func (c *session) forReal(ctx context.Context, i int, t *lessonRun, screen *term.Screen) error {
	f, err := c.lesson.File()
	if err != nil {
		return err
	}
	var o mrlocal.Options
	run, err := c.lesson.Options(i, f, o.Fields()...)
	if err != nil {
		return err
	}
	o.Config, o.Policy = run.Config, run.Policy
	in := c.lesson.Input
	if in != nil && in.HalfOfCores {
		o.MapSlots = max(1, runtime.NumCPU()/2)
		o.ReduceSlots = o.MapSlots
	}
	// Lower is also what the simulator calls, so both have the same jobs and configuration.
	config, submissions := f.Lower(o.Config)
	o.Config = config
	o.Events = &t.file
	watch := func(s *trace.Stream) { s.Attach(t) }
	if in != nil {
		// With a small kvbuffer the maps spill. With a slow disk the user can see the effect of spills.
		o.SortBufferBytes = in.SortBufferBytes
		if screen != nil {
			o.DiskBytesPerSecond = in.DiskBytesPerSecond
		}
	}
	batch := make([]mrlocal.BatchJob, len(f.Jobs))
	for j := range f.Jobs {
		batch[j].Submission = submissions[j]
		if err := c.job(&batch[j], t, f, j); err != nil {
			return err
		}
	}
	if screen == nil {
		o.Watch = watch
	} else {
		defer screen.Stop()
		screen.Also = watch
		attach(ctx, screen, &o)
	}
	_, err = runBatch(ctx, batch, o)
	return err
}

// job sets the chain and the options of job j of f, of the run t. The job searches or sorts the input of the
// lesson, or its tasks sleep. They sleep for the times that the simulator draws, so that real and simulated runs
// of a lesson have the same times.
func (c *session) job(b *mrlocal.BatchJob, t *lessonRun, f *workload.File, j int) (err error) {
	listed := &f.Jobs[j]
	if in := c.lesson.Input; in != nil {
		out := &digest{hash: sha256.New()}
		t.result = append(t.result, out)
		b.JobOptions = mrlocal.JobOptions{Inputs: []string{c.input}, Stdout: out, Reducers: listed.Reduces, BlockBytes: in.BlockBytes[listed.Name]}
		if in.Wiki {
			b.Chain, err = grep.New(grep.Options{})
		} else {
			b.Chain, err = sort.New(sort.Options{})
		}
		return err
	}
	b.Stdout = io.Discard
	b.Chain, err = sleepChain(listed, j, 1) // all lessons use the seed 1
	return err
}

// onPage makes all runs, then shows them on a page until ctx ends. It returns the error of a run or
// the cause of ctx.
func (c *session) onPage(ctx context.Context, p *pageOptions) error {
	for i := range c.lesson.Runs {
		var t *lessonRun
		var err error
		if c.fast {
			t, err = c.atOnce(ctx, i)
		} else {
			fmt.Fprintf(c.Stderr, "mrlocal: demo: %s runs for real\n", c.lesson.Runs[i].Title())
			t = newLessonRun()
			err = c.forReal(ctx, i, t, new(shown).Screen(c.Env, nil))
		}
		if err != nil {
			return err
		}
		c.runs = append(c.runs, t)
	}
	var runs []*lab.Run
	for i, t := range c.runs {
		// The run has ended, so the bytes do not change, and several readers may share them.
		open := func(<-chan struct{}) (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(t.file.Bytes())), nil
		}
		run := lab.NewRun(c.lesson.Runs[i].Title(), open)
		run.Follow(nil)
		runs = append(runs, run)
	}
	return p.Show(ctx, c.Stderr, runs, c.lesson)
}

const (
	wikiDir   = "wiki"  // the articles of a lesson, in the working directory
	warmBytes = 1 << 30 // at most this many bytes of an existing wiki are read before the runs
)

// prepare makes the input of the lesson and sets c.input: wiki/, or a file in a temporary directory. A lesson whose
// tasks sleep needs no input. If there is no error, the caller must call cleanUp, which removes the temporary
// directory.
func (c *session) prepare(ctx context.Context) (cleanUp func(), err error) {
	in := c.lesson.Input
	switch {
	case in == nil:
		return func() {}, nil
	case in.Wiki:
		c.input = wikiDir
		return func() {}, c.makeWiki(ctx, in.Bytes)
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

// makeWiki makes wiki/ of that size unless it exists. If it exists, makeWiki reads its files into the page cache.
// Otherwise the first run alone would wait for the disk, and the comparison would be wrong.
func (c *session) makeWiki(ctx context.Context, bytes int64) error {
	info, err := os.Stat(wikiDir)
	switch {
	case err == nil && !info.IsDir():
		return errs.Optionf(wikiDir, "is not a directory; the demo needs that name for its input")
	case err == nil:
		c.say("%s/ exists already: the demo uses it\n", wikiDir)
		return warm(ctx, wikiDir)
	// For any other error, such as a missing permission, this message is clearer than that of the
	// generator.
	case !errors.Is(err, fs.ErrNotExist):
		return errs.Optionf(wikiDir, "%v", errs.Cause(err))
	}
	started := time.Now()
	if err := datagen.Generate(ctx, datagen.Wiki, wikiDir, bytes, 1); err != nil {
		return err
	}
	c.say("made %s/: %s of wiki articles in %.1fs\n", wikiDir, humanize.IBytes(uint64(bytes)), time.Since(started).Seconds())
	return nil
}

// warm reads up to warmBytes of the files below dir into the page cache. It fails only if ctx ends.
func warm(ctx context.Context, dir string) error {
	// The bound keeps a very large directory from delaying the demo.
	left := int64(warmBytes)
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || left <= 0 {
			return nil // the run itself reports files that it cannot read
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		f, err := os.Open(path)
		if err != nil {
			return nil
		}
		defer f.Close()
		// The run reports a read error.
		n, _ := io.Copy(io.Discard, io.LimitReader(f, left))
		left -= n
		return nil
	})
}

// digest is a writer that keeps the hash and the number of lines of a result, to compare the runs of a lesson.
type digest struct {
	hash  hash.Hash
	lines int
}

// Write takes the next bytes. It never fails.
func (d *digest) Write(p []byte) (int, error) {
	d.lines += bytes.Count(p, []byte{'\n'})
	return d.hash.Write(p)
}

// equal reports whether both results are the same.
func (d *digest) equal(o *digest) bool {
	return d.lines == o.lines && bytes.Equal(d.hash.Sum(nil), o.hash.Sum(nil))
}
