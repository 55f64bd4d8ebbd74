package show

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"mrlocal/trace"
)

const (
	liveInterval = 100 * time.Millisecond // between two drawings
	barTotal     = 10_000                 // steps of a bar
	barWidth     = 72                     // columns
	mostLiveJobs = 6                      // of a batch, each with two bars
	nameWidth    = len("grep-search reduce")
)

// live draws a block of lines on a terminal again and again. The block has a
// bar for each phase of each job, with its rate and the time to go, and the
// strip of slots. close removes the block.
type live struct {
	progress *mpb.Progress
	strip    *mpb.Bar
	// Only draw and close use the map, never at the same time.
	bars map[barKey]*mpb.Bar

	mu struct { // shared with the goroutine of mpb
		sync.Mutex
		strip    string            // as last drawn
		captions map[barKey]string // right of the bars
	}
}

// barKey identifies a bar: a phase of a job.
type barKey struct {
	job  int32
	kind trace.Kind
}

// newLive draws on w, a terminal.
func newLive(w io.Writer) *live {
	l := &live{
		progress: mpb.New(mpb.WithOutput(w), mpb.WithWidth(barWidth), mpb.WithRefreshRate(liveInterval)),
		bars:     map[barKey]*mpb.Bar{},
	}
	l.mu.captions = map[barKey]string{}
	// The high priority number puts the strip below all bars.
	l.strip = l.progress.MustAdd(1, mpb.BarFillerFunc(l.drawStrip), mpb.BarPriority(1<<20), mpb.BarFillerTrim())
	return l
}

// drawStrip writes the strip of slots. mpb calls it on a goroutine of its own.
func (l *live) drawStrip(w io.Writer, _ decor.Statistics) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := fmt.Fprintf(w, "%-*s %s", nameWidth, "slots", l.mu.strip)
	return err
}

func (l *live) interval() time.Duration { return liveInterval }

// draw brings all bars up to date, and removes those of jobs that have ended.
func (l *live) draw(m *model, now time.Duration) {
	// A batch shows only some of its jobs, and counts the others.
	strip, jobs := m.strip(), m.jobs
	if m.several {
		ended, _ := m.all()
		strip, jobs = fmt.Sprintf("%s  %d of %d jobs ended", strip, ended, len(m.jobs)), m.active(mostLiveJobs)
	}
	// mpb reads the strip on a goroutine of its own.
	l.mu.Lock()
	l.mu.strip = strip
	l.mu.Unlock()
	// The bars of this drawing.
	drawn := map[barKey]bool{}
	for _, j := range jobs {
		for k := range j.kinds {
			if j.kinds[k].total > 0 {
				l.drawBar(j, trace.Kind(k), now)
				drawn[barKey{j.id, trace.Kind(k)}] = true
			}
		}
	}
	// A bar without a job to show is removed, so that the block keeps to the jobs that run.
	for key, bar := range l.bars {
		if !drawn[key] {
			bar.Abort(true)
			delete(l.bars, key)
		}
	}
}

// drawBar brings one bar up to date, and makes it first if necessary.
func (l *live) drawBar(j *jobState, k trace.Kind, now time.Duration) {
	key := barKey{j.id, k}
	caption := fmt.Sprintf("%d/%d", j.kinds[k].done, j.kinds[k].total)
	// Only maps read input of a known size. For reduces a rate or a time to go would be a guess.
	if k == trace.Map {
		if rate := j.bytesPerSecond(now); rate > 0 {
			caption += " " + humanize.IBytes(uint64(rate)) + "/s"
		}
		if left := j.remaining(now); left > 0 {
			caption += " " + roundTime(left).String()
		}
	}
	l.mu.Lock()
	l.mu.captions[key] = caption
	l.mu.Unlock()
	bar := l.bars[key]
	if bar == nil {
		name := barName(j.name, k)
		bar = l.progress.New(barTotal, mpb.BarStyle(), mpb.BarPriority(int(j.id)*trace.Kinds+int(k)),
			mpb.PrependDecorators(decor.Name(name)),
			mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return l.caption(key) })))
		l.bars[key] = bar
	}
	// A bar that reaches its total is final to mpb, so stay one short of it.
	bar.SetCurrent(min(barTotal-1, int64(j.kinds[k].share()*barTotal)))
}

// barName returns the name of the job, cut to the room there is, and the phase.
func barName(job string, k trace.Kind) string {
	// All names have the same width, so that the bars stand in one column.
	room := nameWidth - len(" reduce")
	return fmt.Sprintf("%-*s", nameWidth, fmt.Sprintf("%.*s %s", room, job, k))
}

// caption returns the text right of a bar. mpb calls it on a goroutine of its own.
func (l *live) caption(key barKey) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.captions[key]
}

// note writes a message of the run above the block.
func (l *live) note(text string) { _, _ = l.progress.Write([]byte(text)) }

// close removes the block and waits until mpb has stopped drawing.
func (l *live) close() {
	for _, bar := range l.bars {
		// Wait returns only after all bars are complete or aborted.
		bar.Abort(true)
	}
	l.strip.Abort(true)
	l.progress.Wait()
}
