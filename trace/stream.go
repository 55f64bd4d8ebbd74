package trace

import (
	"encoding/json"
	"errors"
	"sync"
)

// Slot is a slot as readers of a stream know it.
type Slot struct {
	ID      int32 `json:"id"`
	Tracker int32 `json:"tracker"`
	Core    int32 `json:"core"` // -1: not bound
	Home    Kind  `json:"home"`
	Extra   bool  `json:"extra,omitempty"`  // closed until a policy opens it
	Weight  int64 `json:"weight,omitempty"` // of the tracker's resources, in parts per million; 0: 1.0
}

// Header is what a reader must know before the first event.
type Header struct {
	Policy string
	Seed   uint64
	Slots  []Slot
	Config json.RawMessage // the Ledger's configuration, whole
}

// Sink is an exact reader: it gets every event, on the coordinator's
// goroutine, which waits. e is borrowed until Record returns. An error makes
// the stream drop the sink and report it in Err and Close.
type Sink interface {
	Record(s *Stream, e *Event) error
}

// opener and closer are optional abilities of a Sink.
type (
	opener interface{ Open(h *Header) error }
	closer interface{ Close() error }
)

// Stream numbers events and hands them to its readers. All methods but Texts
// and a Reader's are for the owning goroutine.
type Stream struct {
	seq    uint64
	header *Header
	sinks  []Sink
	follow []*Reader
	err    error

	mu struct {
		sync.Mutex
		texts [][]string
	}
}

// NewStream returns a stream without readers.
func NewStream() *Stream {
	s := &Stream{}
	s.mu.texts = [][]string{nil}
	return s
}

// Attach adds an exact reader. A sink that is attached after Open is opened at
// once and misses what was appended before.
func (s *Stream) Attach(k Sink) {
	s.sinks = append(s.sinks, k)
	if s.header != nil {
		s.openSink(len(s.sinks) - 1)
	}
}

// Open gives the readers the header. The Ledger calls it once, before the
// first event.
func (s *Stream) Open(h Header) {
	s.header = &h
	for i := range s.sinks {
		s.openSink(i)
	}
}

// Header is what Open was given, or nil before that.
func (s *Stream) Header() *Header { return s.header }

func (s *Stream) openSink(i int) {
	if o, ok := s.sinks[i].(opener); ok {
		s.fail(i, o.Open(s.header))
	}
}

// Append numbers e and hands it to every reader. It allocates nothing and
// waits for sinks only.
// hot: once per fact and decision.
func (s *Stream) Append(e Event) {
	s.seq++
	e.Seq = s.seq
	for _, r := range s.follow {
		r.offer(&e)
	}
	for i, k := range s.sinks {
		if k != nil {
			s.record(i, k, e)
		}
	}
}

// record takes e by value so that only a stream with sinks makes it escape.
func (s *Stream) record(i int, k Sink, e Event) {
	if err := k.Record(s, &e); err != nil {
		s.fail(i, err)
	}
}

func (s *Stream) fail(i int, err error) {
	if err != nil {
		s.sinks[i] = nil
		s.err = errors.Join(s.err, err)
	}
}

// Len is how many events were appended.
func (s *Stream) Len() uint64 { return s.seq }

// Err is what sinks have reported so far.
func (s *Stream) Err() error { return s.err }

// Close closes the sinks that can be closed, ends the lossy readers and
// returns every error that sinks have reported.
func (s *Stream) Close() error {
	for i, k := range s.sinks {
		if c, ok := k.(closer); ok {
			s.err = errors.Join(s.err, c.Close())
		}
		s.sinks[i] = nil
	}
	for _, r := range s.follow {
		r.ended.Store(true)
	}
	s.sinks, s.follow = nil, nil
	return s.err
}

// Refer keeps texts and returns the number for Event.Ref.
func (s *Stream) Refer(texts ...string) int32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.texts = append(s.mu.texts, texts)
	return int32(len(s.mu.texts) - 1)
}

// Texts are what ref refers to, to be read only. It may be called from any
// goroutine.
func (s *Stream) Texts(ref int32) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ref < 0 || int(ref) >= len(s.mu.texts) {
		return nil
	}
	return s.mu.texts[ref]
}

// Log is a Sink that keeps every event, for tests and gantts.
type Log struct {
	Events []Event
}

// Record implements Sink.
func (l *Log) Record(_ *Stream, e *Event) error {
	l.Events = append(l.Events, *e)
	return nil
}
