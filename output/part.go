package output

import (
	"cmp"
	"errors"
	"io"
	"slices"
	"sync"

	"mrlocal/internal/membudget"
)

// Sink takes the parts of a job's output: a Target, Spools or Discard. Any goroutine may call its
// methods.
type Sink interface {
	// Part begins the part that an attempt of a task writes.
	Part(task, attempt int) (Part, error)
	// Sizes sets the bytes of every part. The caller calls it before the first Part, and only if it
	// knows the sizes by then.
	Sizes(bytes []int64) error
}

// Part is the output of one attempt at a part: a part file, a region of a file, a place in the queue,
// or a spool. Each Write goes there at once, so a writer of records has to gather them first. A
// Write has copied or written its bytes when it returns. Only one goroutine may use a Part; any
// goroutine may call Abort, also during a Write. Later calls then return ErrAborted.
type Part interface {
	io.Writer
	// Commit ends the part: its attempt has succeeded. The first attempt at a part that commits
	// wins, and Commit returns ErrLost for the others. A part that does not win is dropped.
	Commit() error
	// Abort drops what the attempt has written. After Commit it does nothing.
	Abort()
}

// Besides is a Part whose attempt may have further files.
type Besides interface {
	// Beside makes a further file of the attempt, for example NAME-r-00003 next to part-r-00003. It
	// commits and aborts with the part. The caller checks the errors of the writer before Commit.
	Beside(name string) (io.Writer, error)
}

// targetPart is a Part of a Target. Its errors have the name of the result, and are sticky.
type targetPart struct {
	Part
	name string // of the result
	err  error  // after a successful Commit: ErrAborted
}

// Write implements Part. After an error every call returns that error.
func (p *targetPart) Write(data []byte) (int, error) {
	if p.err == nil && len(data) > 0 {
		_, err := p.Part.Write(data)
		p.err = named(p.name, err)
	}
	if p.err != nil {
		return 0, p.err
	}
	return len(data), nil
}

// Commit implements Part.
func (p *targetPart) Commit() error {
	err := p.err
	if err == nil {
		err = named(p.name, p.Part.Commit())
		p.err = cmp.Or(err, ErrAborted)
	}
	if err != nil {
		p.Abort()
	}
	return err
}

// Beside implements Besides. It fails if the place of the part has no further files.
func (p *targetPart) Beside(name string) (io.Writer, error) {
	b, ok := p.Part.(Besides)
	if !ok {
		return nil, named(p.name, errors.New("output: named outputs need a directory of part files"))
	}
	w, err := b.Beside(name)
	return w, named(p.name, err)
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

// packedPart compresses a part file on the thread of its attempt.
type packedPart struct {
	*fileAttempt
	format Format
	lease  *membudget.Lease // of the encoders, as far as there is memory: the floor of the attempt covers one; nil: no budget

	mu struct {
		sync.Mutex
		files []*Compressor // of the part file, and of the files of named outputs
	}
}

// packed returns a Part that compresses the files of a.
func (a *fileAttempt) packed(c Format, memory *membudget.Budget) (Part, error) {
	p := &packedPart{fileAttempt: a, format: c}
	if memory != nil {
		p.lease, _ = memory.TryReserve(0) // 0 bytes are always granted
	}
	_, err := p.add(a.part)
	if err != nil {
		a.Abort()
	}
	return p, err
}

// add begins to compress a file.
func (p *packedPart) add(w io.Writer) (*Compressor, error) {
	c, err := NewCompressor(p.format, w)
	if err != nil {
		return nil, err
	}
	if p.lease != nil {
		p.lease.Grow(EncoderBytes)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.files = append(p.mu.files, c)
	return c, nil
}

// Write implements Part.
func (p *packedPart) Write(text []byte) (int, error) { return p.mu.files[0].Write(text) }

// Beside implements Besides.
func (p *packedPart) Beside(name string) (io.Writer, error) {
	w, err := p.fileAttempt.Beside(name)
	if err != nil {
		return nil, err
	}
	return p.add(w)
}

// Commit ends the compressed text of all files of the attempt, and then commits them.
func (p *packedPart) Commit() error {
	defer p.leave()
	p.mu.Lock()
	files := slices.Clone(p.mu.files)
	p.mu.Unlock()
	for _, c := range files {
		if p.of.style.OmitEmpty && !c.some {
			continue // the end of an empty text would not be empty
		}
		if err := c.Close(); err != nil {
			return err
		}
	}
	return p.fileAttempt.Commit()
}

// Abort implements Part.
func (p *packedPart) Abort() {
	p.leave()
	p.fileAttempt.Abort()
}

// leave gives back the memory of all encoders. Several goroutines may call it.
func (p *packedPart) leave() {
	if p.lease != nil {
		p.lease.Close()
	}
}
