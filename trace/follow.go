package trace

import "sync/atomic"

// Reader is a lossy reader of a Stream: a bounded ring between the
// coordinator, which never waits, and one reading goroutine. An event that
// finds the ring full is lost to this reader and counted.
type Reader struct {
	ring    []Event
	written atomic.Uint64 // by the coordinator only
	read    atomic.Uint64 // by the reader only
	dropped atomic.Uint64
	ended   atomic.Bool
}

// Follow adds a lossy reader that holds up to capacity unread events, rounded
// up to a power of two, at least 64.
func (s *Stream) Follow(capacity int) *Reader {
	n := 64
	for n < capacity {
		n *= 2
	}
	r := &Reader{ring: make([]Event, n)}
	s.follow = append(s.follow, r)
	return r
}

// offer is called by the coordinator.
func (r *Reader) offer(e *Event) {
	w := r.written.Load()
	if w-r.read.Load() == uint64(len(r.ring)) {
		r.dropped.Add(1)
		return
	}
	r.ring[w&uint64(len(r.ring)-1)] = *e
	r.written.Store(w + 1)
}

// Read copies unread events to dst and returns how many; it never waits.
func (r *Reader) Read(dst []Event) int {
	at, end := r.read.Load(), r.written.Load()
	n := 0
	for ; at < end && n < len(dst); at++ {
		dst[n] = r.ring[at&uint64(len(r.ring)-1)]
		n++
	}
	r.read.Store(at)
	return n
}

// Dropped is how many events this reader has lost so far.
func (r *Reader) Dropped() uint64 { return r.dropped.Load() }

// Ended reports whether the stream is closed; unread events may remain.
func (r *Reader) Ended() bool { return r.ended.Load() }
