package trace

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/bits"
	"sync"
	"time"
)

// Slot describes a slot in the header of a stream.
type Slot struct {
	ID      int32 `json:"id"`
	Tracker int32 `json:"tracker"`
	Core    int32 `json:"core"` // the core to which its thread is bound; -1: none
	Home    Kind  `json:"home"`
	Extra   bool  `json:"extra,omitempty"`  // closed until a policy opens it
	Weight  int64 `json:"weight,omitempty"` // in parts per million; 0: 1.0
}

// Header has the facts that a reader needs before the first event.
type Header struct {
	Policy string          `json:"policy"`
	Seed   uint64          `json:"seed"`
	Config json.RawMessage `json:"config"` // the whole configuration of the Ledger
	Slots  []Slot          `json:"slots"`
}

// Sink is a reader. It gets every event on the coordinator's goroutine,
// which waits for it. e is borrowed until Record returns. After an error the stream
// gives the sink no more events; Err and Close return the error.
type Sink interface {
	Record(s *Stream, e *Event) error
}

// opener and closer are optional methods of a Sink. Open gets the header before the first
// event. Close is called after the last event.
type (
	opener interface{ Open(h *Header) error }
	closer interface{ Close() error }
)

// Stream numbers events and gives them to its readers. Texts may be called from any
// goroutine. All other methods may only be called by the owner.
type Stream struct {
	seq    uint64         // number of the last event
	header *Header        // nil before Open
	sinks  []Sink         // nil: the sink has failed
	err    error          // errors of sinks, joined
	rules  map[Rule]int32 // numbers of texts, by rule

	mu struct {
		sync.Mutex
		texts [][]string // by number
	}
}

// NewStream returns a stream that has no readers.
func NewStream() *Stream {
	s := &Stream{rules: map[Rule]int32{}}
	s.mu.texts = [][]string{nil} // 0 refers to no texts
	return s
}

// Attach adds a reader. After Open the sink is opened at once; it does not
// get the events that were appended before.
func (s *Stream) Attach(k Sink) {
	s.sinks = append(s.sinks, k)
	if s.header != nil {
		s.openSink(len(s.sinks) - 1)
	}
}

// Open gives h to all readers. The Ledger calls it once, before the first event.
func (s *Stream) Open(h Header) {
	s.header = &h
	for i := range s.sinks {
		s.openSink(i)
	}
}

// openSink gives the header to sink i, if it has an Open method.
func (s *Stream) openSink(i int) {
	if o, ok := s.sinks[i].(opener); ok {
		s.fail(i, guard(func() error { return o.Open(s.header) }))
	}
}

// Append numbers e and gives it to every reader. It allocates nothing, and waits for
// sinks only.
// hot: runs once per fact and decision.
func (s *Stream) Append(e Event) {
	s.seq++
	e.Seq = s.seq
	for i, k := range s.sinks {
		if k != nil {
			s.record(i, k, e)
		}
	}
}

// record gives e to sink i. It takes e by value, so that e of Append escapes to the heap only if
// there are sinks.
func (s *Stream) record(i int, k Sink, e Event) {
	if err := guard(func() error { return k.Record(s, &e) }); err != nil {
		s.fail(i, err)
	}
}

// guard calls a sink. It returns an error if the sink panics.
func guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return f()
}

// fail drops sink i and keeps err, if err is not nil.
func (s *Stream) fail(i int, err error) {
	if err != nil {
		s.sinks[i] = nil
		s.err = errors.Join(s.err, err)
	}
}

// Err returns the errors of sinks so far, joined.
func (s *Stream) Err() error { return s.err }

// Close closes the sinks and returns the errors of all of them, joined.
func (s *Stream) Close() error {
	for i, k := range s.sinks {
		if c, ok := k.(closer); ok {
			s.err = errors.Join(s.err, guard(c.Close))
		}
		s.sinks[i] = nil
	}
	s.sinks = nil
	return s.err
}

// Refer adds texts to the stream's table and returns their number, for Event.Ref.
// The stream keeps the slice, which the caller must not change.
func (s *Stream) Refer(texts ...string) int32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.texts = append(s.mu.texts, texts)
	return int32(len(s.mu.texts) - 1)
}

// ReferRule adds a rule to the stream's table, unless it is there, and returns its number, 0
// for RuleNone. It allocates only for a new rule. A run has a few dozen rules and millions of
// decisions.
func (s *Stream) ReferRule(rule Rule) int32 {
	ref, ok := s.rules[rule]
	if !ok && rule != RuleNone {
		ref = s.Refer(string(rule))
		s.rules[rule] = ref
	}
	return ref
}

// Texts returns the texts that ref refers to, nil if there are none. The caller
// must not change them.
func (s *Stream) Texts(ref int32) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ref < 0 || int(ref) >= len(s.mu.texts) {
		return nil
	}
	return s.mu.texts[ref]
}

// Digest is a hash of a sequence of facts. Each Assign records the digest of all facts
// before it. So a replay also finds changed facts that lead to the same decisions. The zero
// value is the digest of no facts.
type Digest uint64

// Sum returns 52 bits of the digest. A JSON reader that has only floating-point numbers reads
// these exactly.
func (d Digest) Sum() int64 { return int64(d & (1<<52 - 1)) }

// Mix adds a fact. texts are the texts that its Ref refers to.
func (d *Digest) Mix(e *Event, texts []string) {
	h := uint64(*d)
	// Seq and Slot are left out. Seq also numbers details, which a replay does not have. The slot
	// of an attempt follows from the decision that started it.
	for _, v := range [...]uint64{
		uint64(e.At), uint64(e.Op) | uint64(e.Kind)<<8 | uint64(e.Phase)<<16 | uint64(e.Flags)<<24 | uint64(uint32(e.Job))<<32,
		uint64(uint32(e.Task)) | uint64(uint32(e.N))<<32, uint64(e.A), uint64(e.B), uint64(e.C), uint64(e.D), uint64(e.E), uint64(e.F),
	} {
		h = Hash(h, v)
	}
	// The length of each text separates it from the next one.
	for _, t := range texts {
		for i := range len(t) {
			h = Hash(h, uint64(t[i]))
		}
		h = Hash(h, uint64(len(t)))
	}
	*d = Digest(h)
}

// Hash returns the hash h with v added, by multiplying and folding. It is the same on every
// machine, and not cryptographic.
func Hash(h, v uint64) uint64 {
	// The constants are those of splitmix64. Both halves of the product count, so that each bit of
	// v affects the whole hash.
	hi, lo := bits.Mul64(h^v^0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9)
	return hi ^ lo
}

// Timeline is a Sink that keeps the span of each attempt, for gantts and counts. The zero value is ready for
// Attach. An attempt takes 48 bytes, far less than its events; a phase that is kept takes 16.
type Timeline struct {
	End        time.Duration // time of the last event
	Spans      []Span        // in the order of starts
	Phases     []PhaseStart  // in the order of times; empty without KeepPhases
	Pools      []string      // in the order of their first jobs
	KeepPhases bool          // keep the starts of phases, for Gantt; set before Attach

	attempts  Attempts
	lost      map[int32]time.Duration // when each lost tracker was lost first
	jobs      int32                   // the largest job number of an attempt, plus one
	names     []string                // by job
	pool      []int32                 // by job: index into Pools
	poolIndex map[string]int32
}

// PhaseStart says that the attempt of a span has entered a phase.
type PhaseStart struct {
	At    time.Duration
	Span  int32 // index into Timeline.Spans
	Phase Phase
}

// Open takes the slots of the run.
func (t *Timeline) Open(h *Header) error {
	t.poolIndex, t.lost = map[string]int32{}, map[int32]time.Duration{}
	return t.attempts.Open(h)
}

// Record adds an event.
func (t *Timeline) Record(s *Stream, e *Event) error {
	t.Add(e, s.Texts(e.Ref))
	return nil
}

// Add adds an event whose Ref refers to texts, for a caller without a Stream. It keeps the strings
// of texts, not the slice.
func (t *Timeline) Add(e *Event, texts []string) {
	if e.Op == OpSubmit && len(texts) > 1 {
		t.submit(e.Job, texts[0], texts[1])
	}
	if _, again := t.lost[int32(e.A)]; e.Op == OpLostTracker && !again {
		t.lost[int32(e.A)] = e.At
	}
	t.End = max(t.End, e.At)
	for _, a := range t.attempts.Apply(e) {
		t.Spans = a.Keep(t.Spans)
		t.jobs = max(t.jobs, a.Job+1)
		if e.Op == OpPhase && t.KeepPhases && int(e.Phase) < len(phaseLetters) {
			t.Phases = append(t.Phases, PhaseStart{At: e.At, Span: a.Row, Phase: e.Phase})
		}
	}
}

// submit keeps the name and the pool of a job.
func (t *Timeline) submit(job int32, name, pool string) {
	// A damaged file may skip numbers of jobs.
	for int32(len(t.names)) <= job {
		t.names, t.pool = append(t.names, ""), append(t.pool, -1)
	}
	t.names[job] = name
	i, ok := t.poolIndex[pool]
	if !ok {
		i = int32(len(t.Pools))
		t.Pools, t.poolIndex[pool] = append(t.Pools, pool), i
	}
	t.pool[job] = i
}

// Until returns the end of a span, or last if the attempt has not ended.
func (s *Span) Until(last time.Duration) time.Duration {
	if s.To < 0 {
		return last
	}
	return s.To
}

// Segment is the part of an attempt in one phase. It does not include the moment To.
type Segment struct {
	From, To time.Duration
	Phase    Phase
}

// EachSegment calls yield with each segment of n attempts that has a length. An attempt is a number below n.
// span returns its span. phases has the starts of phases of all attempts, in the order of times. last is the time
// of the last event. The segments of one attempt come in order and cover its span. The segments of different
// attempts may come in any order.
func EachSegment(n int, span func(i int) *Span, phases iter.Seq[PhaseStart], last time.Duration, yield func(i int, s Segment)) {
	in := make([]PhaseStart, n) // the current phase of each attempt
	for i := range in {
		in[i] = PhaseStart{At: span(i).From, Phase: span(i).Kind.FirstPhase()}
	}
	end := func(i int, to time.Duration) {
		if to > in[i].At {
			yield(i, Segment{in[i].At, to, in[i].Phase})
		}
	}
	for p := range phases {
		end(int(p.Span), p.At)
		in[p.Span] = p
	}
	for i := range in {
		end(i, span(i).Until(last))
	}
}

// Name returns the name of a job, "" if there is no such job.
func (t *Timeline) Name(job int32) string {
	if int(job) < len(t.names) {
		return t.names[job]
	}
	return ""
}
