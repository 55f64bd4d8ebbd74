package task

import (
	"io"

	"mrlocal/engine/source"
	"mrlocal/internal/membudget"
)

// textOut is the Emitter of reducers and of map-only mappers. It gathers records
// as text in a chunk of leased memory and writes full chunks to a part.
type textOut struct {
	w       io.Writer
	buf     []byte // of chunk
	chunk   *membudget.Chunk
	delim   byte
	err     error // the first one
	records int64
	bytes   int64 // written to w
}

// bareOut is the Emitter of a job whose output is binary (jobs.Job.Bare). It writes to a
// textOut.
type bareOut struct{ *textOut }

// Emit writes key and value side by side.
func (b bareOut) Emit(key, value []byte) {
	b.records++
	b.put(key)
	b.put(value)
}

// newTextOut takes a chunk of the attempt's lease, which goes back with the lease.
func newTextOut(a *SlotAttempt, w io.Writer) (*textOut, error) {
	c, err := source.Memory{Lease: a.lease}.Get(membudget.ChunkBytes)
	if err != nil {
		return nil, err
	}
	return &textOut{w: w, buf: c.Data[:0], chunk: c, delim: a.Job.Spec.Delim.Byte()}, nil
}

// Emit writes key, TAB, value and delimiter. It leaves out a nil key or value, and
// the TAB with it.
func (t *textOut) Emit(key, value []byte) {
	t.records++
	// Two bytes are for TAB and delimiter. A record longer than the buffer goes through put in
	// parts.
	if cap(t.buf)-len(t.buf) < len(key)+len(value)+2 {
		t.put(key)
		if key != nil && value != nil {
			t.put([]byte{'\t'})
		}
		t.put(value)
		t.put([]byte{t.delim})
		return
	}
	t.buf = append(t.buf, key...)
	if key != nil && value != nil {
		t.buf = append(t.buf, '\t')
	}
	t.buf = append(append(t.buf, value...), t.delim)
}

// line writes one record and its delimiter. Loops over very many records call it
// instead of Emit.
func (t *textOut) line(record []byte) {
	t.records++
	if cap(t.buf)-len(t.buf) < len(record)+1 {
		t.put(record)
		t.put([]byte{t.delim})
		return
	}
	t.buf = append(append(t.buf, record...), t.delim)
}

// WriteRaw writes p without a delimiter.
func (t *textOut) WriteRaw(p []byte) { t.put(p) }

// put appends p. It writes the buffer whenever that is full.
func (t *textOut) put(p []byte) {
	for {
		n := copy(t.buf[len(t.buf):cap(t.buf)], p)
		t.buf = t.buf[:len(t.buf)+n]
		if p = p[n:]; len(p) == 0 {
			return
		}
		t.flush()
	}
}

// flush writes what the buffer holds.
func (t *textOut) flush() error {
	if t.err == nil && len(t.buf) > 0 {
		var n int
		n, t.err = t.w.Write(t.buf)
		t.bytes += int64(n)
	}
	// After an error the text is dropped: the attempt fails with t.err, and its part goes.
	t.buf = t.buf[:0]
	return t.err
}
