package trace

import "sync/atomic"

// Reader is a lossy reader of a Stream: a ring between the coordinator, which never
// waits, and one reading goroutine. An event that finds the ring full is lost to
// this reader; the reader sees a gap in Event.Seq.
type Reader struct {
	ring    []Event
	written atomic.Uint64 // events so far; only the coordinator changes it
	read    atomic.Uint64 // events so far; only the reader changes it
	ended   atomic.Bool
}

// Follow adds a lossy reader and returns it. The reader holds at most capacity
// unread events; capacity is rounded up to a power of two, at least 64.
func (s *Stream) Follow(capacity int) *Reader {
	n := 64
	for n < capacity {
		n *= 2
	}
	r := &Reader{ring: make([]Event, n)}
	s.follow = append(s.follow, r)
	return r
}

// offer adds e unless the ring is full. The coordinator calls it.
func (r *Reader) offer(e *Event) {
	w := r.written.Load()
	if w-r.read.Load() == uint64(len(r.ring)) {
		return
	}
	r.ring[w&uint64(len(r.ring)-1)] = *e
	r.written.Store(w + 1)
}

// Read copies the oldest unread events to dst and returns their number. It never
// waits.
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

// Ended reports whether the stream is closed. There may still be unread events.
func (r *Reader) Ended() bool { return r.ended.Load() }
