package trace

import (
	"slices"
	"time"
)

// Timeline is a Sink that keeps the slot, start and end of each attempt, for gantts and counts.
// The zero value is ready for Attach. An attempt takes 32 bytes, far less than its events; a
// phase that is kept takes 16.
type Timeline struct {
	End        time.Duration // time of the last event
	KeepPhases bool          // keep the starts of phases, for Gantt; set before Attach

	slots     []Slot       // by id
	spans     []span       // in the order of starts
	phases    []phaseStart // in the order of times; empty without KeepPhases
	away      []bool       // by slot: its home kind differs from that in the header
	open      []int32      // by slot: index into spans of the running attempt; -1: none
	jobs      int32        // the largest job number, plus one
	names     []string     // by job
	pool      []int32      // by job: index into pools
	pools     []string     // in the order of their first jobs
	poolIndex map[string]int32
}

// span is an attempt's time on a slot, from the start of the run.
type span struct {
	from, to  time.Duration // to < 0: the attempt has not ended
	slot, job int32
	kind      Kind
	lent      bool
}

// phaseStart says that the attempt of a span has entered a phase.
type phaseStart struct {
	at    time.Duration
	span  int32
	phase Phase
}

// Open takes the slots of the run.
func (t *Timeline) Open(h *Header) error {
	t.slots = h.Slots
	t.away = make([]bool, len(h.Slots))
	t.open = slices.Repeat([]int32{-1}, len(h.Slots))
	t.poolIndex = map[string]int32{}
	return nil
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
	t.add(e)
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
		i = int32(len(t.pools))
		t.pools, t.poolIndex[pool] = append(t.pools, pool), i
	}
	t.pool[job] = i
}

// add starts or ends the span of a slot. It also notes phases and changes of home kinds. It ignores
// events that name a slot which the header lacks, as in a damaged file.
func (t *Timeline) add(e *Event) {
	t.End = max(t.End, e.At)
	if e.Op == OpHome && e.Slot >= 0 && int(e.Slot) < len(t.away) {
		t.away[e.Slot] = e.Kind != t.slots[e.Slot].Home
	}
	if e.Op == OpPhase && t.KeepPhases && e.Slot >= 0 && int(e.Slot) < len(t.open) && t.open[e.Slot] >= 0 && int(e.Phase) < len(phaseLetters) {
		t.phases = append(t.phases, phaseStart{at: e.At, span: t.open[e.Slot], phase: e.Phase})
	}
	if e.Op != OpStart && e.Op != OpFinish && e.Op != OpClose || e.Slot < 0 || int(e.Slot) >= len(t.open) {
		return
	}
	// OpClose ends an attempt only if the tracker is lost. A draining slot closes after its attempt
	// has ended.
	if at := t.open[e.Slot]; at >= 0 {
		t.spans[at].to = e.At
		t.open[e.Slot] = -1
	}
	if e.Op == OpStart {
		t.jobs = max(t.jobs, e.Job+1)
		t.open[e.Slot] = int32(len(t.spans))
		// An attempt on a slot that has changed its home kind counts as lent. The label of the row
		// has the kind from the header.
		t.spans = append(t.spans, span{from: e.At, to: -1, slot: e.Slot, job: e.Job, kind: e.Kind, lent: e.Has(Lent) || t.away[e.Slot]})
	}
}

// until returns the end of a span, or the time of the last event if the attempt has not ended.
func (t *Timeline) until(s *span) time.Duration {
	if s.to < 0 {
		return t.End
	}
	return s.to
}

// Name returns the name of a job, "" if there is no such job.
func (t *Timeline) Name(job int32) string {
	if int(job) < len(t.names) {
		return t.names[job]
	}
	return ""
}
