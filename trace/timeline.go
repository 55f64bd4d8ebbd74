package trace

import (
	"iter"
	"time"
)

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
