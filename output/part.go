package output

import (
	"errors"
	"io"
	"os"
	"slices"
	"sync"

	"mrlocal/internal/membudget"
	"mrlocal/output/compress"
)

// Part is what one attempt at a part writes: a part file, a region of a file, or
// a place in the queue. Each Write goes there at once, so a writer of records
// has to gather them first. One goroutine uses a Part; only Abort may be called from
// others. Errors are sticky, and Commit returns them.
type Part struct {
	w      partWriter
	target *Target
	bytes  int64 // written
	err    error
	ended  bool
}

// besides is a partWriter whose attempt may have further files. They are committed and aborted
// with the part. The names of the files begin with name.
type besides interface {
	beside(name string) (partWriter, error)
}

func beside(w partWriter, name string) (partWriter, error) {
	if b, ok := w.(besides); ok {
		return b.beside(name)
	}
	return nil, errors.New("output: named outputs need a directory of part files on this machine")
}

// Beside makes a further file of the attempt, NAME-r-00003 beside part-r-00003, which is whole
// and durable when Commit returns. Only part files of a
// directory can have such files. The caller of Commit looks at the errors of the writer first.
func (p *Part) Beside(name string) (io.Writer, error) {
	w, err := beside(p.w, name)
	if err != nil {
		return nil, named(p.target.name, err)
	}
	return partBytes{w}, nil
}

// partWriter takes the bytes of a Part. commit gets how many there were. abort may
// be called from any goroutine, also during write, and makes later calls fail.
// ErrLost from commit means that another attempt was first. write gets at least one
// byte.
type partWriter interface {
	write(p []byte) error
	commit(bytes int64) error
	abort()
}

// newPart makes the Part of an attempt.
func (t *Target) newPart(w partWriter) *Part { return &Part{w: w, target: t} }

// Write appends data. It copies it, or writes it before it returns.
func (p *Part) Write(data []byte) (int, error) {
	switch {
	case p.err != nil:
		return 0, p.err
	case p.ended:
		p.err = ErrAborted
	case len(data) > 0:
		p.err = named(p.target.name, p.w.write(data))
	}
	if p.err != nil {
		return 0, p.err
	}
	p.bytes += int64(len(data))
	return len(data), nil
}

// namedError is an error of writing behind the name of the result.
type namedError struct {
	name string
	err  error
}

func (e *namedError) Error() string { return e.name + ": " + e.err.Error() }

func (e *namedError) Unwrap() error { return e.err }

// named puts the name of the result before an error of writing, once.
// The two errors that callers look for stay as they are.
func named(name string, err error) error {
	if err == nil {
		return nil // before done, which goes to the heap
	}
	var done *namedError
	if errors.Is(err, ErrAborted) || errors.Is(err, ErrClosedPipe) || errors.As(err, &done) {
		return err
	}
	return &namedError{name, err}
}

// Commit ends the part: its attempt has succeeded. Of several attempts the first
// one wins, and the others get ErrLost.
func (p *Part) Commit() error {
	if p.err != nil {
		p.Abort()
		return p.err
	}
	if p.ended {
		return ErrAborted
	}
	p.ended = true
	if err := p.w.commit(p.bytes); err != nil {
		p.err = err
		p.w.abort()
	}
	return p.err
}

// Abort gives the attempt up. It may be called from any goroutine and at any
// time, also after Commit, when it does nothing.
func (p *Part) Abort() { p.w.abort() }

// packedPart compresses a part file on the thread of its attempt.
type packedPart struct {
	partWriter
	out   *compress.Writer
	lease *membudget.Lease // of the encoder; nil: the encoder counts as part of the attempt's floor

	format compress.Format
	memory *membudget.Budget
	mu     struct {
		sync.Mutex
		besides []*packedPart
	}
}

// newPackedPart makes a packedPart whose bytes go to w.
func newPackedPart(w partWriter, c compress.Format, memory *membudget.Budget) (*packedPart, error) {
	out, err := compress.NewWriter(c, partBytes{w})
	if err != nil {
		return nil, err
	}
	p := &packedPart{partWriter: w, out: out, format: c, memory: memory}
	if memory != nil {
		p.lease, _ = memory.TryReserve(compress.EncoderBytes)
	}
	return p, nil
}

func (p *packedPart) write(text []byte) error {
	_, err := p.out.Write(text)
	return err
}

// commit ends the last member before the part file is closed.
func (p *packedPart) commit(textBytes int64) error {
	defer p.leave()
	for _, b := range append(p.others(), p) {
		if err := b.out.Close(); err != nil {
			return err
		}
	}
	return p.partWriter.commit(textBytes)
}

func (p *packedPart) abort() {
	p.leave()
	p.partWriter.abort()
}

// beside implements besides: each file is compressed by itself.
func (p *packedPart) beside(name string) (partWriter, error) {
	w, err := beside(p.partWriter, name)
	if err != nil {
		return nil, err
	}
	packed, err := newPackedPart(w, p.format, p.memory)
	if err == nil {
		p.mu.Lock()
		p.mu.besides = append(p.mu.besides, packed)
		p.mu.Unlock()
	}
	return packed, err
}

func (p *packedPart) others() []*packedPart {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.mu.besides)
}

// leave gives the memory back. It may be called by several goroutines.
func (p *packedPart) leave() {
	for _, b := range p.others() {
		b.leave()
	}
	if p.lease != nil {
		p.lease.Close()
	}
}

// partBytes is a partWriter as an io.Writer.
type partBytes struct{ partWriter }

func (w partBytes) Write(p []byte) (int, error) {
	if err := w.write(p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// packed returns a sink whose text is compressed and then written to s.
func (s *sink) packed(c compress.Format, p Parts) *sink {
	o := compress.Options{Format: c, Workers: p.Compressors, Memory: p.Memory, CreateTemp: p.CreateTemp}
	return &sink{file: s.file, pack: compress.NewQueue(o, packedSink{s})}
}

// packedSink is the sink of compressed bytes.
type packedSink struct{ *sink }

func (s packedSink) Offset() int64 { return s.offset }

func (s packedSink) Rewind(offset int64) error {
	_, err := s.rewind(offset) // only a file is rewound
	return err
}

// packError makes the error of what an abort has closed an ErrAborted.
func packError(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return ErrAborted
	}
	return err
}
