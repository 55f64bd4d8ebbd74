package show

import (
	"sync"
	"sync/atomic"
	"time"

	"mrlocal/trace"
)

// display draws a model: plain or live.
type display interface {
	note(text string) // whole lines
	interval() time.Duration
	// draw shows the state; now is the time since the start of the run.
	draw(m *model, now time.Duration)
	close()
}

// follower reads the events of a run on a goroutine of its own and draws them
// until stop. The reader is lossy, so a slow terminal does not slow the run.
type follower struct {
	display display
	started time.Time
	header  atomic.Pointer[trace.Header] // set by the goroutine of the stream
	ended   chan struct{}                // closed by stop
	once    sync.Once
	done    sync.WaitGroup
}

const (
	eventsPerRead = 256      // events that one read takes at most
	ringEvents    = 16 << 10 // events that may wait between two drawings; older ones are lost
)

// follow returns a follower that draws on d.
func follow(d display) *follower {
	return &follower{display: d, ended: make(chan struct{})}
}

// watch starts the goroutine that follows s. The goroutine of the stream calls
// it before the run starts.
func (f *follower) watch(s *trace.Stream) {
	f.started = time.Now()
	// The reader exists before the first event, so it misses none at the start.
	r := s.Follow(ringEvents)
	s.Attach(headerSink{f})
	f.done.Add(1)
	go f.loop(s, r)
}

// loop reads events and draws at each tick until stop, or until the stream ends.
func (f *follower) loop(s *trace.Stream, r *trace.Reader) {
	defer f.done.Done()
	tick := time.NewTicker(f.display.interval())
	defer tick.Stop()
	// The goroutine alone uses the model and the events, so neither needs a lock.
	var m *model
	events := make([]trace.Event, eventsPerRead)
	for {
		select {
		case <-f.ended:
			return
		case <-tick.C:
		}
		if m == nil {
			h := f.header.Load()
			// The stream has not sent its header yet; the slots are not known.
			if h == nil {
				continue
			}
			m = newModel(h.Slots)
		}
		// All that waits is taken in before the picture is drawn.
		for n := r.Read(events); n > 0; n = r.Read(events) {
			for i := range events[:n] {
				m.apply(&events[i], s.Texts)
			}
		}
		// The last picture stays until stop. The table follows it.
		if r.Ended() {
			return
		}
		f.display.draw(m, time.Since(f.started))
	}
}

// stop ends the display and removes it from the screen. It returns when nothing
// is drawn any more. It may be called more than once and from any goroutine.
func (f *follower) stop() {
	f.once.Do(func() {
		close(f.ended)
		f.done.Wait()
		f.display.close()
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

// headerSink keeps the header of a stream, which the lossy reader does not see.
type headerSink struct{ f *follower }

func (k headerSink) Open(h *trace.Header) error {
	k.f.header.Store(h)
	return nil
}

func (k headerSink) Record(*trace.Stream, *trace.Event) error { return nil }
