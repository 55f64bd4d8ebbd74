package output

import (
	"errors"
	"fmt"
	"sync"
)

// partBufferBytes is what a Part gathers before it writes: large enough that
// system calls cost nothing beside the copy, small enough for a core's cache.
const partBufferBytes = 256 << 10

// Part is what one attempt writes: a buffer in front of a part file, a region
// of a file, or a place in the queue. It belongs to one goroutine, except
// Abort. Errors are sticky and fail Commit.
type Part struct {
	buf     []byte
	w       partWriter
	target  *Target
	err     error
	flushed int64
	ended   bool
}

// partWriter takes a Part's bytes in large pieces. abort may come from another
// goroutine, also during write, and makes later calls fail.
type partWriter interface {
	write(p []byte) error
	commit(bytes int64) error
	abort()
}

func (t *Target) newPart(w partWriter) *Part { return &Part{w: w, target: t} }

// Write appends p.
func (p *Part) Write(data []byte) (int, error) {
	written := 0
	for len(data) > 0 {
		if p.err != nil {
			return written, p.err
		}
		if len(p.buf) == 0 && len(data) >= partBufferBytes {
			p.pass(data)
			if p.err != nil {
				return written, p.err
			}
			return written + len(data), nil
		}
		p.ready()
		n := copy(p.buf[len(p.buf):cap(p.buf)], data)
		p.buf = p.buf[:len(p.buf)+n]
		data = data[n:]
		written += n
		if len(p.buf) == cap(p.buf) {
			p.flush()
		}
	}
	return written, p.err
}

// ready gives the part a buffer.
func (p *Part) ready() {
	if cap(p.buf) == 0 {
		p.buf = p.target.buffers.take()
	}
}

func (p *Part) flush() {
	p.pass(p.buf)
	p.buf = p.buf[:0]
}

func (p *Part) pass(data []byte) {
	if p.err != nil || len(data) == 0 {
		return
	}
	if p.ended {
		p.err = ErrAborted
		return
	}
	if p.err = p.target.named(p.w.write(data)); p.err == nil {
		p.flushed += int64(len(data))
	}
}

// named gives a write error the name of the place.
func (t *Target) named(err error) error {
	if err == nil || errors.Is(err, ErrAborted) || errors.Is(err, ErrClosedPipe) {
		return err
	}
	return fmt.Errorf("%s: %w", t.name, err)
}

// Bytes is how much has been written.
func (p *Part) Bytes() int64 { return p.flushed + int64(len(p.buf)) }

// Err is the first error of any write.
func (p *Part) Err() error { return p.err }

// Commit ends the part: its attempt has succeeded. Of several attempts the
// first wins, the others get ErrLost.
func (p *Part) Commit() error {
	p.flush()
	if p.err != nil {
		p.Abort()
		return p.err
	}
	if p.ended {
		return ErrAborted
	}
	p.ended = true
	p.target.buffers.give(p.buf)
	p.buf = nil
	if err := p.w.commit(p.flushed); err != nil {
		p.err = err
		p.w.abort()
	}
	return p.err
}

// Abort gives the attempt up. It may be called from any goroutine and at any
// time, also after Commit, when it does nothing.
func (p *Part) Abort() { p.w.abort() }

// bufferList keeps the buffers of parts that have ended for those to come:
// there are never more than parts were written at once. An aborted part's
// buffer is not kept: its thread may still be writing to it.
type bufferList struct {
	mu struct {
		sync.Mutex
		free [][]byte
	}
}

func (l *bufferList) take() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.mu.free); n > 0 {
		b := l.mu.free[n-1]
		l.mu.free = l.mu.free[:n-1]
		return b
	}
	return make([]byte, 0, partBufferBytes)
}

func (l *bufferList) give(b []byte) {
	if cap(b) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.free = append(l.mu.free, b[:0])
}
