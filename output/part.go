package output

import (
	"cmp"
	"errors"
	"io"
	"os"
	"slices"
	"sync"

	"mrlocal/internal/membudget"
)

// Part is the output of one attempt at a part: a part file, a region of a file, or a place in
// the queue. Each Write goes there at once, so a writer of records has to gather them first.
// Only one goroutine may use a Part; any goroutine may call Abort. Errors are sticky, and
// Commit returns them.
type Part struct {
	w      partWriter
	target *Target
	bytes  int64 // that Write has accepted
	err    error // after a successful Commit: ErrAborted
}

// besides is a partWriter whose attempt may have further files. Their names begin with name.
// They commit and abort with the part.
type besides interface {
	beside(name string) (partWriter, error)
}

// beside makes a further file of w's attempt, or fails if w cannot have one.
func beside(w partWriter, name string) (partWriter, error) {
	if b, ok := w.(besides); ok {
		return b.beside(name)
	}
	return nil, errors.New("output: named outputs need a directory of part files on this machine")
}

// Beside makes a further file of the attempt, for example NAME-r-00003 beside part-r-00003. It
// is whole and durable when Commit returns. Only part files in a directory on this machine can
// have such files. The caller checks the errors of the writer before it calls Commit.
func (p *Part) Beside(name string) (io.Writer, error) {
	w, err := beside(p.w, name)
	if err != nil {
		return nil, named(p.target.name, err)
	}
	return partBytes{w}, nil
}

// partWriter receives the bytes of a Part. write gets at least one byte and does not keep p.
// commit gets the number of bytes; it returns ErrLost if another attempt was first. Any
// goroutine may call abort, also during write; later calls then fail.
type partWriter interface {
	write(p []byte) error
	commit(bytes int64) error
	abort()
}

// newPart makes the Part of an attempt.
func (t *Target) newPart(w partWriter) *Part { return &Part{w: w, target: t} }

// Write appends data. It has copied or written data when it returns. After an error every call
// returns that error.
func (p *Part) Write(data []byte) (int, error) {
	if p.err == nil && len(data) > 0 {
		p.err = named(p.target.name, p.w.write(data))
	}
	if p.err != nil {
		return 0, p.err
	}
	p.bytes += int64(len(data))
	return len(data), nil
}

// namedError is an error of writing, with the name of the result before it.
type namedError struct {
	name string
	err  error
}

func (e *namedError) Error() string { return e.name + ": " + e.err.Error() }

func (e *namedError) Unwrap() error { return e.err }

// named puts the name of the result before an error of writing, but only once. ErrAborted and
// ErrClosedPipe stay as they are.
func named(name string, err error) error {
	if err == nil {
		return nil // before done is declared, which escapes to the heap
	}
	var done *namedError
	if errors.Is(err, ErrAborted) || errors.Is(err, ErrClosedPipe) || errors.As(err, &done) {
		return err
	}
	return &namedError{name, err}
}

// Commit ends the part: its attempt has succeeded. The first attempt at a part that commits
// wins, and Commit returns ErrLost for the others.
func (p *Part) Commit() error {
	if p.err != nil {
		p.Abort()
		return p.err
	}
	err := p.w.commit(p.bytes)
	if err != nil {
		p.w.abort()
	}
	p.err = cmp.Or(err, ErrAborted)
	return err
}

// Abort ends the attempt and drops what it has written. Any goroutine may call it at any time.
// After a successful Commit it does nothing.
func (p *Part) Abort() { p.w.abort() }

// packedPart compresses a part file on the thread of its attempt.
type packedPart struct {
	partWriter
	out   *Compressor
	lease *membudget.Lease // of the encoder; nil: the floor of the attempt covers the encoder

	format Format
	memory *membudget.Budget
	mu     struct {
		sync.Mutex
		besides []*packedPart
	}
}

// newPackedPart makes a packedPart that writes compressed bytes to w.
func newPackedPart(w partWriter, c Format, memory *membudget.Budget) (*packedPart, error) {
	out, err := NewCompressor(c, partBytes{w})
	if err != nil {
		return nil, err
	}
	p := &packedPart{partWriter: w, out: out, format: c, memory: memory}
	if memory != nil {
		p.lease, _ = memory.TryReserve(EncoderBytes)
	}
	return p, nil
}

func (p *packedPart) write(text []byte) error {
	_, err := p.out.Write(text)
	return err
}

// commit ends the compressed text of all files of the attempt and then commits them.
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

// beside implements besides. Each file is compressed by itself.
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

// leave gives back the memory of all encoders. Several goroutines may call it.
func (p *packedPart) leave() {
	for _, b := range p.others() {
		b.leave()
	}
	if p.lease != nil {
		p.lease.Close()
	}
}

// partBytes is an io.Writer that writes to a partWriter.
type partBytes struct{ partWriter }

func (w partBytes) Write(p []byte) (int, error) {
	if err := w.write(p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// packed returns a sink that compresses text and writes it to s.
func (s *sink) packed(c Format, p Parts) *sink {
	o := Options{Format: c, Workers: p.Compressors, Memory: p.Memory, CreateTemp: p.CreateTemp}
	return &sink{file: s.file, pack: NewQueue(o, packedSink{s})}
}

// packedSink is the destination of compressed bytes (Sink).
type packedSink struct{ *sink }

func (s packedSink) Offset() int64 { return s.offset }

func (s packedSink) Rewind(offset int64) error {
	_, err := s.rewind(offset) // never a stream: sink.rewind has checked that
	return err
}

// packError returns ErrAborted for the error of a file that an abort has closed.
func packError(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return ErrAborted
	}
	return err
}
