package term

import (
	"bytes"
	"io"
	"sync"
	"time"

	"mrlocal/trace"
)

// display shows a model. Its kinds are plain, jsonLines and live. The goroutine
// of the follower calls draw, and other goroutines call note. follower.drawing orders the calls.
type display interface {
	// note shows whole lines.
	note(text string)
	// interval returns the time between two calls of draw.
	interval() time.Duration
	// draw shows the state of m, which it may read during the call. now is the time since the start of the run.
	draw(m *model, now time.Duration)
	// close ends the display with the last state; nil: the run has not begun.
	close(m *model, now time.Duration)
}

// follower is a trace.Sink that keeps the model of a run, and draws it on a goroutine of its own until stop. The
// goroutine of the run waits for a drawing in memory at most, never for the terminal.
type follower struct {
	display display
	out     *outbox    // to which display writes
	drawing sync.Mutex // orders calls of display, and writes
	begin   sync.Mutex // orders watch and stop, because a signal may come while a run begins
	started time.Time
	ended   chan struct{} // closed by stop
	once    sync.Once
	done    sync.WaitGroup // the goroutine

	mu struct {
		sync.Mutex
		model *model // nil: no header yet
		over  bool   // no event follows
	}
}

// outbox keeps what a display writes until flush.
type outbox struct {
	bytes.Buffer
	to io.Writer
}

// flush writes what is there. Errors of the terminal are ignored, as for all progress.
func (o *outbox) flush() {
	_, _ = o.WriteTo(o.to)
	o.Reset()
}

// follow returns a follower that draws on d, which writes to out. watch starts its goroutine.
func follow(d display, out *outbox) *follower {
	return &follower{display: d, out: out, ended: make(chan struct{})}
}

// watch starts the goroutine that follows s, unless stop was called. It is called before the first
// event, on the goroutine of the stream.
func (f *follower) watch(s *trace.Stream) {
	f.begin.Lock()
	defer f.begin.Unlock()
	if f.stopped() {
		return
	}
	f.started = time.Now()
	s.Attach(f)
	f.done.Add(1)
	go f.loop()
}

// Open begins the model.
func (f *follower) Open(h *trace.Header) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.model = newModel(h.Slots)
	f.mu.model.policy = h.Policy
	return nil
}

// Record applies an event to the model.
func (f *follower) Record(s *trace.Stream, e *trace.Event) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.model.apply(e, s.Texts)
	return nil
}

// Close keeps the last drawing until stop.
func (f *follower) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.over = true
	return nil
}

// loop draws until stop.
func (f *follower) loop() {
	defer f.done.Done()
	tick := time.NewTicker(f.display.interval())
	defer tick.Stop()
	for {
		select {
		case <-f.ended:
			return
		case <-tick.C:
		}
		f.change(func(m *model, over bool) {
			if m != nil && !over {
				f.display.draw(m, time.Since(f.started))
			}
		})
	}
}

// change calls a function that calls the display, and then writes what the display has written.
func (f *follower) change(draw func(m *model, over bool)) {
	f.drawing.Lock()
	defer f.drawing.Unlock()
	f.mu.Lock()
	draw(f.mu.model, f.mu.over)
	f.mu.Unlock()
	f.out.flush()
}

// note shows whole lines on the display.
func (f *follower) note(text string) {
	f.change(func(*model, bool) { f.display.note(text) })
}

// stop ends the goroutine, waits for it, and closes the display. It may be called again, and by any
// goroutine.
func (f *follower) stop() {
	f.once.Do(func() {
		f.begin.Lock()
		close(f.ended)
		f.begin.Unlock()
		f.done.Wait()
		f.change(func(m *model, _ bool) { f.display.close(m, time.Since(f.started)) })
	})
}

// stopped reports whether stop was called.
func (f *follower) stopped() bool {
	select {
	case <-f.ended:
		return true
	default:
		return false
	}
}
