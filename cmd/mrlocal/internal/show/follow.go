package show

import (
	"sync"
	"sync/atomic"
	"time"

	"mrlocal/trace"
)

// display draws a model: plain, line, lines or live.
type display interface {
	note(text string) // whole lines
	interval() time.Duration
	// draw shows the state; now is the time since the start of the run.
	draw(m *model, now time.Duration)
	// close ends the display with the last state; nil: there is none.
	close(m *model, now time.Duration)
}

// follower reads the events of a run on a goroutine of its own and draws them
// until stop. The reader is lossy, so a slow terminal does not slow the run.
type follower struct {
	display display
	begin   sync.Mutex // orders watch and stop: an interrupt may come while a run begins
	started time.Time
	header  atomic.Pointer[trace.Header] // set by the goroutine of the stream
	ended   chan struct{}                // closed by stop
	model   *model                       // of the goroutine until it is done; nil: no header yet
	events  []trace.Event                // of one read
	once    sync.Once
	done    sync.WaitGroup
}

const (
	eventsPerRead = 256      // events that one read takes at most
	ringEvents    = 16 << 10 // events that may wait between two reads; later ones are lost
	readInterval  = 100 * time.Millisecond
)

// follow returns a follower that draws on d.
func follow(d display) *follower {
	return &follower{display: d, ended: make(chan struct{})}
}

// watch starts the goroutine that follows s, unless stop was called. The goroutine of the
// stream calls it before the run starts.
func (f *follower) watch(s *trace.Stream) {
	f.begin.Lock()
	defer f.begin.Unlock()
	if f.stopped() {
		return
	}
	f.started = time.Now()
	// The reader exists before the first event, so it misses none at the start.
	r := s.Follow(ringEvents)
	s.Attach(headerSink{f})
	f.done.Add(1)
	go f.loop(s, r)
}

// loop reads events and draws until stop. It reads more often than most displays draw, so
// that the ring does not fill up.
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
		// The last picture stays until stop. The table follows it.
		if f.read(s, r); f.model != nil && !r.Ended() && now >= next {
			f.display.draw(f.model, now)
			next = now + every - min(every, readInterval)/2
		}
	}
}

// read takes in all events that wait. Before the stream has sent its header, the slots are
// not known and the events wait.
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

// stop ends the display and removes it from the screen. It returns when nothing
// is drawn any more. It may be called more than once and from any goroutine.
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

// headerSink keeps the header of a stream, which the lossy reader does not see.
type headerSink struct{ f *follower }

func (k headerSink) Open(h *trace.Header) error {
	k.f.header.Store(h)
	return nil
}

func (k headerSink) Record(*trace.Stream, *trace.Event) error { return nil }
