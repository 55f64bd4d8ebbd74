package term

import (
	"bytes"
	"io"
	"sync"
	"time"

	"mrlocal/trace"
)

// display shows a model. Its kinds are plain, jsonLines and live. Screen.mu orders the calls.
type display interface {
	// note shows whole lines.
	note(text string)
	// draw shows the state of m, which it may read during the call. now is the time since the start of the run.
	draw(m *model, now time.Duration)
	// close ends the display with the last state; nil: the run has not begun.
	close(m *model, now time.Duration)
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

// follower is a trace.Sink that keeps the model of a run. The goroutine of the run waits for a drawing in memory at
// most, never for the terminal.
type follower struct {
	sync.Mutex
	model *model // nil: no header yet
	over  bool   // no event follows
}

// Open begins the model.
func (f *follower) Open(h *trace.Header) error {
	f.Lock()
	defer f.Unlock()
	f.model = newModel(h.Slots)
	f.model.policy = h.Policy
	return nil
}

// Record applies an event to the model.
func (f *follower) Record(s *trace.Stream, e *trace.Event) error {
	f.Lock()
	defer f.Unlock()
	f.model.apply(e, s.Texts)
	return nil
}

// Close keeps the last drawing until the end of the display.
func (f *follower) Close() error {
	f.Lock()
	defer f.Unlock()
	f.over = true
	return nil
}

// show makes s draw on d, which writes to s.out. Watch starts the goroutine that draws.
func (s *Screen) show(d display, every time.Duration) {
	s.display, s.every, s.ended = d, every, make(chan struct{})
}

// follow starts the goroutine that draws the run of the stream, unless Stop was called. It is called before the
// first event, on the goroutine of the stream. A signal may call Stop while a run begins.
func (s *Screen) follow(stream *trace.Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return
	}
	s.started = time.Now()
	stream.Attach(&s.follower)
	s.done.Add(1)
	go s.loop()
}

// loop draws until Stop.
func (s *Screen) loop() {
	defer s.done.Done()
	tick := time.NewTicker(s.every)
	defer tick.Stop()
	for {
		select {
		case <-s.ended:
			return
		case <-tick.C:
		}
		s.mu.Lock()
		s.change(func(m *model, now time.Duration) {
			if m != nil && !s.follower.over {
				s.display.draw(m, now)
			}
		})
		s.mu.Unlock()
	}
}

// change calls a function that calls the display, and then writes what the display has written. The caller holds mu.
func (s *Screen) change(draw func(m *model, now time.Duration)) {
	s.follower.Lock()
	draw(s.follower.model, time.Since(s.started))
	s.follower.Unlock()
	s.out.flush()
}

// Stop ends the goroutine, waits for it, and removes a block or line from the terminal. It may be called again, and
// by any goroutine.
func (s *Screen) Stop() {
	if s.display == nil {
		return
	}
	s.once.Do(func() {
		s.mu.Lock()
		s.stopping = true
		s.mu.Unlock()
		close(s.ended)
		s.done.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.change(s.display.close)
		s.stopped = true
	})
}
