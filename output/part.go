package output

import (
	"errors"
	"fmt"
)

// partBufferBytes is how many bytes a Part gathers before it writes them: so many that a
// system call costs little beside the copy, and so few that they stay in the cache of a core.
const partBufferBytes = 256 << 10

type partBuffer [partBufferBytes]byte

// Part is what one attempt at a part writes: a buffer in front of a part file, a region of a
// file, or a place in the queue. One goroutine uses it; only Abort may be called from
// others. Errors are sticky, and Commit returns them.
type Part struct {
	buf     []byte // of partBufferBytes, once there is one
	w       partWriter
	target  *Target
	err     error
	flushed int64 // bytes passed to w
	ended   bool  // by Commit
}

// partWriter takes the bytes of a Part, mostly partBufferBytes at once. commit gets how many
// there were. abort may be called from any goroutine, also during write, and makes later
// calls fail.
type partWriter interface {
	write(p []byte) error
	commit(bytes int64) error
	abort()
}

func (t *Target) newPart(w partWriter) *Part { return &Part{w: w, target: t} }

// Write appends data. It copies it, or writes it before it returns.
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

// ready gives the part a buffer: one of a part that has committed, if there is one. A part
// that was aborted keeps its buffer, because its thread may still write to it.
func (p *Part) ready() {
	if cap(p.buf) > 0 {
		return
	}
	b, ok := p.target.buffers.Get().(*partBuffer)
	if !ok {
		b = new(partBuffer)
	}
	p.buf = b[:0]
}

// flush writes what the buffer holds.
func (p *Part) flush() {
	p.pass(p.buf)
	p.buf = p.buf[:0]
}

// pass writes data, unless there was an error.
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

// named puts the name of the result before an error of writing.
func (t *Target) named(err error) error {
	if err == nil || errors.Is(err, ErrAborted) || errors.Is(err, ErrClosedPipe) {
		return err
	}
	return fmt.Errorf("%s: %w", t.name, err)
}

// Commit ends the part: its attempt has succeeded. Of several attempts the first one wins,
// and the others get ErrLost.
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
	if cap(p.buf) > 0 {
		p.target.buffers.Put((*partBuffer)(p.buf[:partBufferBytes]))
		p.buf = nil
	}
	if err := p.w.commit(p.flushed); err != nil {
		p.err = err
		p.w.abort()
	}
	return p.err
}

// Abort gives up the attempt. It may be called from any goroutine at any time. After Commit
// it does nothing.
func (p *Part) Abort() { p.w.abort() }
