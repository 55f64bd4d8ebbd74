// Package events is the event queue of the simulator, and the kinds of its events.
//
// The queue owns its events, and reads no clock.
package events

import "time"

// Kind says what a queued event is about, and what its id means.
type Kind uint8

const (
	SubmitJob   Kind = iota // a job's submit time has come; id: the job's index in the file
	EndAttempt              // an attempt has come to its end; id: a slot
	EndCopy                 // a reduce has copied all its input; id: a slot
	EndPeriod               // an attempt has come to the end of a period; id: a slot
	EndSpill                // a map has written a spill; id: a slot
	InjectFault             // id: a fault's index in the configuration
	Beat                    // id: a tracker
	WakePolicy              // the policy asked for a visit
	Look                    // a task may have ended its work on a resource; id: the resource, as the model numbers it
	Kinds                   // the number of kinds
)

// Handlers are the functions that handle events, by kind.
type Handlers [Kinds]func(now time.Duration, id int32, gen uint32)

// Event is a future change of the simulated state. An event for a slot is stale, and
// ignored, once the slot's generation differs from Gen.
type Event struct {
	At  time.Duration // when the change takes place, from the start of the run
	key uint64        // sequence·Kinds + kind
	Gen uint32        // the generation of the slot when the event was pushed; 0 for events of no slot
	ID  int32         // see Kind
}

// Kind returns what the event is about.
func (e *Event) Kind() Kind { return Kind(e.key % uint64(Kinds)) }

// before reports whether e comes before o. The key orders events for the same time.
func (e *Event) before(o *Event) bool {
	return e.At < o.At || e.At == o.At && e.key < o.key
}

// Queue holds events as a 4-ary min-heap by (time, sequence). One level of it is two
// levels of a binary heap, and the four children of a node share cache lines. Events for
// the same time come in a fixed order, so that the same run always gives the same results.
type Queue struct {
	// Coming is the number of events that change the state by themselves, which beats and
	// wake-ups do not. If it is 0, only the policy can make a run go on. The queue counts
	// all such kinds but Look. A model that inserts a Look adds it, and subtracts it when
	// the Look is handled or becomes stale.
	Coming int

	heap []Event
	seq  uint64
}

// Next returns the time of the first event; false if there is none.
func (q *Queue) Next() (at time.Duration, ok bool) {
	if len(q.heap) == 0 {
		return 0, false
	}
	return q.heap[0].At, true
}

// Len returns how many events are in the queue, stale ones included.
func (q *Queue) Len() int { return len(q.heap) }

// Push adds an event behind all events for the same time.
func (q *Queue) Push(at time.Duration, k Kind, id int32, gen uint32) {
	q.Insert(at, q.Turn(), k, id, gen)
}

// Turn returns a place for Insert, behind all places that it has returned before.
func (q *Queue) Turn() uint64 {
	q.seq++
	return q.seq
}

// Insert adds an event at place turn among the events for the same time. Place 0 is before all
// others. Equal places are ordered by kind.
// hot: once an attempt, or twice.
func (q *Queue) Insert(at time.Duration, turn uint64, k Kind, id int32, gen uint32) {
	if k <= InjectFault {
		q.Coming++
	}
	e := Event{At: at, key: turn*uint64(Kinds) + uint64(k), Gen: gen, ID: id}
	q.heap = append(q.heap, e)
	s := q.heap
	i := len(s) - 1
	for i > 0 {
		up := (i - 1) / 4
		if s[up].before(&e) {
			break
		}
		s[i] = s[up]
		i = up
	}
	s[i] = e
}

// Pop removes the first event and returns it. The queue must not be empty.
// hot: once an attempt, or twice.
func (q *Queue) Pop() Event {
	s := q.heap
	first, last := s[0], s[len(s)-1]
	if first.Kind() <= InjectFault {
		q.Coming--
	}
	s = s[:len(s)-1]
	q.heap = s
	if len(s) == 0 {
		return first
	}
	i := 0
	for {
		child := 4*i + 1
		if child >= len(s) {
			break
		}
		low := child
		for c := child + 1; c < min(child+4, len(s)); c++ {
			if s[c].before(&s[low]) {
				low = c
			}
		}
		if last.before(&s[low]) {
			break
		}
		s[i] = s[low]
		i = low
	}
	s[i] = last
	return first
}

// Pending is a Look that a model has in the queue, one for each resource. The event is stale
// once Gen has gone on.
type Pending struct {
	At  time.Duration
	Gen uint32
	On  bool
}

// Push adds the Look to the queue, before all other events for its time.
func (p *Pending) Push(q *Queue, at time.Duration, id int32) {
	p.At, p.On = at, true
	q.Coming++
	q.Insert(at, 0, Look, id, p.Gen)
}

// Drop makes the Look stale: it is not needed, or has come.
func (p *Pending) Drop(q *Queue) {
	p.On = false
	p.Gen++
	q.Coming--
}
