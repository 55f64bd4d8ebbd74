package sim

import "time"

// what kind of thing happens.
type what uint8

const (
	submitJob  what = iota // id: a job of the file
	endAttempt             // id: a slot
	endCopy                // id: a slot
	endPeriod              // id: a slot
	strike                 // id: a fault of the file
	beat                   // id: a tracker
	wakePolicy
	look // id: a resource of a tracker, where something is due
	whats
)

// happening is something that will happen. One about a slot is void unless gen
// is still the slot's.
type happening struct {
	at  time.Duration
	key uint64 // sequence·whats + what
	gen uint32
	id  int32
}

func (h *happening) what() what { return what(h.key % uint64(whats)) }

func (h *happening) before(o *happening) bool {
	return h.at < o.at || h.at == o.at && h.key < o.key
}

// agenda is what will happen, as a 4-ary min-heap by (time, sequence): two
// levels of a binary heap are one here, and its four children share cache
// lines.
type agenda struct {
	heap []happening
	seq  uint64
}

// push adds a happening behind all that are there for the same time.
func (a *agenda) push(at time.Duration, w what, id int32, gen uint32) {
	a.insert(at, a.turn(), w, id, gen)
}

// turn is a place behind all that have been given out, for insert.
func (a *agenda) turn() uint64 {
	a.seq++
	return a.seq
}

// insert adds a happening at a place of its own among those for the same time.
// hot: once an attempt, or twice.
func (a *agenda) insert(at time.Duration, turn uint64, w what, id int32, gen uint32) {
	h := happening{at: at, key: turn*uint64(whats) + uint64(w), gen: gen, id: id}
	a.heap = append(a.heap, h)
	s := a.heap
	i := len(s) - 1
	for i > 0 {
		up := (i - 1) / 4
		if s[up].before(&h) {
			break
		}
		s[i] = s[up]
		i = up
	}
	s[i] = h
}

// pop takes the first one out; there must be one.
// hot: once an attempt, or twice.
func (a *agenda) pop() happening {
	s := a.heap
	first, last := s[0], s[len(s)-1]
	s = s[:len(s)-1]
	a.heap = s
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
