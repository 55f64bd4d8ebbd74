package show

import (
	"sync"
	"sync/atomic"
	"time"

	"mrlocal/trace"
)

// Display draws a Model. The two that exist are Plain and Live.
type Display interface {
	Note(text string) // whole lines
	interval() time.Duration
	draw(m *Model, now time.Duration)
	close()
}

// Follower reads a run's events and draws them until it is stopped.
type Follower struct {
	display Display
	started time.Time
	header  atomic.Pointer[trace.Header]
	stop    chan struct{}
	once    sync.Once
	done    sync.WaitGroup
}

// eventsPerRead is how many events a reader takes at a time, and ringEvents
// how many may wait between two drawings.
const (
	eventsPerRead = 256
	ringEvents    = 16 << 10
)

// Follow draws on d what happens on streams given to Watch. Stop ends it.
func Follow(d Display) *Follower {
	return &Follower{display: d, stop: make(chan struct{})}
}

// Watch starts following s; it is called on the stream's own goroutine before
// the run starts.
func (f *Follower) Watch(s *trace.Stream) {
	f.started = time.Now()
	r := s.Follow(ringEvents)
	s.Attach(headerSink{f})
	f.done.Add(1)
	go f.loop(s, r)
}

func (f *Follower) loop(s *trace.Stream, r *trace.Reader) {
	defer f.done.Done()
	tick := time.NewTicker(f.display.interval())
	defer tick.Stop()
	var m *Model
	events := make([]trace.Event, eventsPerRead)
	for {
		select {
		case <-f.stop:
			return
		case <-tick.C:
		}
		if m == nil {
			h := f.header.Load()
			if h == nil {
				continue
			}
			m = NewModel(h.Slots)
		}
		for n := r.Read(events); n > 0; n = r.Read(events) {
			for i := range events[:n] {
				m.Apply(&events[i], s.Texts)
			}
		}
		if r.Ended() {
			return
		}
		f.display.draw(m, time.Since(f.started))
	}
}

// Stop ends the display and removes it from the screen. It may be called more
// than once and from any goroutine; it returns when nothing is drawn any more.
func (f *Follower) Stop() {
	f.once.Do(func() {
		close(f.stop)
		f.done.Wait()
		f.display.close()
	})
}

// Stopped reports whether Stop was called.
func (f *Follower) Stopped() bool {
	select {
	case <-f.stop:
		return true
	default:
		return false
	}
}

// headerSink only keeps the header.
type headerSink struct{ f *Follower }

func (k headerSink) Open(h *trace.Header) error {
	k.f.header.Store(h)
	return nil
}

func (k headerSink) Record(*trace.Stream, *trace.Event) error { return nil }
