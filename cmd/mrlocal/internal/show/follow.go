package show

import (
	"sync"
	"sync/atomic"
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
	// draw shows the state of m. now is the time since the start of the run.
	draw(m *model, now time.Duration)
	// close ends the display with the last state; nil: the run has not begun.
	close(m *model, now time.Duration)
}

// follower reads the events of a run on a goroutine of its own, and draws until stop. Its reader
// loses events rather than slow the run down.
type follower struct {
	display display
	drawing sync.Mutex // orders calls of display
	begin   sync.Mutex // orders watch and stop, because a signal may come while a run begins
	started time.Time
	header  atomic.Pointer[trace.Header] // set by the goroutine of the stream
	ended   chan struct{}                // closed by stop
	model   *model                       // owned by the goroutine until done; nil: no header yet
	events  []trace.Event                // the memory of one read
	once    sync.Once
	done    sync.WaitGroup // the goroutine
}

const (
	eventsPerRead = 256      // the largest number of events of one read
	ringEvents    = 16 << 10 // the largest number of events that wait between two reads; further ones are lost
	readInterval  = 100 * time.Millisecond
)

// follow returns a follower that draws on d. watch starts its goroutine.
func follow(d display) *follower {
	return &follower{display: d, ended: make(chan struct{})}
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
	// The reader is attached here and not in loop, so that it gets the first event.
	r := s.Follow(ringEvents)
	s.Attach(headerSink{f})
	f.done.Add(1)
	go f.loop(s, r)
}

// loop reads events and draws until stop. It reads more often than most displays draw, so that the
// ring of waiting events does not fill up.
func (f *follower) loop(s *trace.Stream, r *trace.Reader) {
	defer f.done.Done()
	every := f.display.interval()
	tick := time.NewTicker(min(every, readInterval))
	defer tick.Stop()
	f.events = make([]trace.Event, eventsPerRead)
	for next := every; ; {
		select {
		case <-f.ended:
			f.read(s, r)
			return
		case <-tick.C:
		}
		now := time.Since(f.started)
		// After the last event, the last drawing stays until stop.
		if f.read(s, r); f.model != nil && !r.Ended() && now >= next {
			f.drawing.Lock()
			f.display.draw(f.model, now)
			f.drawing.Unlock()
			// Ticks are not exact. Half a tick less keeps the next drawing from slipping to a later
			// tick.
			next = now + every - min(every, readInterval)/2
		}
	}
}

// note shows whole lines on the display.
func (f *follower) note(text string) {
	f.drawing.Lock()
	defer f.drawing.Unlock()
	f.display.note(text)
}

// read applies all waiting events to the model. Until the stream has a header, the slots are
// unknown, and the events wait.
func (f *follower) read(s *trace.Stream, r *trace.Reader) {
	if f.model == nil {
		h := f.header.Load()
		if h == nil {
			return
		}
		f.model = newModel(h.Slots)
		f.model.policy = h.Policy
	}
	for n := r.Read(f.events); n > 0; n = r.Read(f.events) {
		for i := range f.events[:n] {
			f.model.apply(&f.events[i], s.Texts)
		}
	}
}

// stop ends the goroutine, waits for it, and closes the display. It may be called again, and by any
// goroutine.
func (f *follower) stop() {
	f.once.Do(func() {
		f.begin.Lock()
		close(f.ended)
		f.begin.Unlock()
		f.done.Wait()
		f.display.close(f.model, time.Since(f.started))
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

// headerSink is a trace.Sink that keeps the header of a stream, which the lossy reader does not get.
type headerSink struct{ f *follower }

// Open keeps the header for read.
func (k headerSink) Open(h *trace.Header) error {
	k.f.header.Store(h)
	return nil
}

// Record ignores events, since the lossy reader gets them.
func (k headerSink) Record(*trace.Stream, *trace.Event) error { return nil }
