package output

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"sort"
	"sync"

	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
	"mrlocal/internal/invariant"
	"mrlocal/internal/membudget"
)

// This file holds text between its writing and its reading. The text is in memory as long as
// the budget has room, and then in a temporary file. Package output keeps parts in spools until it
// is their turn. Package engine keeps parts in spools for the next job of a chain.

// leastPieceBytes is the length of the first piece of a spool in memory. Most texts are short.
// Later pieces are longer, up to a whole chunk.
const leastPieceBytes = 4 << 10

// Spool holds text that is written once. The text is in memory as long as the budget grants it,
// and then in a temporary file. The budget may evict it from memory at any time. One goroutine
// writes and calls Seal; then any number of goroutines read. Any goroutine may call Evict and
// Release at any moment.
type Spool struct {
	memory     *membudget.Budget
	createTemp func() (*disk.TempFile, error)

	mu struct {
		sync.RWMutex
		// The lease and the pieces are taken and freed together.
		lease  *membudget.Lease // nil: nothing in memory
		cancel func()           // ends the registration as evictable
		pieces []spoolPiece
		bytes  int64 // that are in use in the chunk

		file *disk.TempFile // nil: the text is in memory

		state spoolState
		// passing says that WriteTo is reading the pieces without the lock, so nothing may free
		// them. Meanwhile Evict does nothing, and Release leaves the freeing to WriteTo.
		// passing is not a state, because it may be set in each state.
		passing bool
		err     error // the first one of a Write or Seal
	}
}

// state is the state of a spool.
type spoolState uint8

const (
	writing  spoolState = iota // Write appends
	sealed                     // the text is complete; a file needs no descriptor until it is read
	released                   // the text is freed, or WriteTo will free it at its end
)

func (s spoolState) String() string { return [...]string{"writing", "sealed", "released"}[s] }

// Next returns the states that may follow s. A failed attempt releases a spool that is not
// sealed.
func (s spoolState) Next() []spoolState {
	return [...][]spoolState{writing: {sealed, released}, sealed: {released}, released: nil}[s]
}

// spoolPiece is a part of the text in memory.
type spoolPiece struct {
	chunk *membudget.Chunk
	start int64 // offset in the text
	bytes int   // of the chunk that are in use
}

// NewSpool makes an empty spool, which takes no resources until the first Write. If memory is nil,
// all text goes to a file. If createTemp is nil, text that does not fit in memory is an error.
func NewSpool(memory *membudget.Budget, createTemp func() (*disk.TempFile, error)) *Spool {
	return &Spool{memory: memory, createTemp: createTemp}
}

// Write appends p, which it copies. If the memory is used up, it moves the text to a file.
// Errors are sticky.
func (s *Spool) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.err == nil && s.mu.state != writing {
		s.mu.err = ErrAborted
	}
	if s.mu.err != nil {
		return 0, s.mu.err
	}
	n := 0
	if s.mu.file == nil {
		if n = s.keep(p); n == len(p) {
			return n, nil
		}
		if s.mu.err = s.spill(); s.mu.err != nil {
			return n, s.mu.err
		}
	}
	m, err := s.mu.file.Write(p[n:])
	s.mu.bytes += int64(m)
	s.mu.err = errs.About("spooled output", err)
	return n + m, s.mu.err
}

// keep copies as much of p to memory as the budget allows, and returns how many bytes it has
// copied.
func (s *Spool) keep(p []byte) (kept int) {
	for kept < len(p) {
		// Only the last piece has room left.
		i := len(s.mu.pieces) - 1
		if i < 0 || s.mu.pieces[i].bytes == len(s.mu.pieces[i].chunk.Data) {
			if !s.addPiece(len(p) - kept) {
				return kept
			}
			continue
		}
		last := &s.mu.pieces[i]
		n := copy(last.chunk.Data[last.bytes:], p[kept:])
		last.bytes += n
		s.mu.bytes += int64(n)
		kept += n
	}
	return kept
}

// addPiece takes the next piece. It is about as long as the text so far, or as wantBytes.
// addPiece returns false if there is no memory.
func (s *Spool) addPiece(wantBytes int) bool {
	// An empty spool has neither a lease nor a registration.
	if s.mu.lease == nil {
		lease, ok := s.memory.TryReserve(0)
		if !ok {
			return false
		}
		s.mu.lease, s.mu.cancel = lease, s.memory.Register(s)
	}
	// Pieces double, up to a chunk. So little memory is unused, and long texts have few pieces.
	bytes := int64(leastPieceBytes)
	for bytes < membudget.ChunkBytes && bytes < max(s.mu.bytes, int64(wantBytes)) {
		bytes *= 2
	}
	chunk, _, ok := s.mu.lease.Take(bytes)
	if !ok {
		return false
	}
	s.mu.pieces = append(s.mu.pieces, spoolPiece{chunk: chunk, start: s.mu.bytes})
	return true
}

// spill moves the text from memory to a temporary file. After an error the text stays in
// memory, and there is no file. The caller holds s.mu.
func (s *Spool) spill() error {
	if s.createTemp == nil {
		return fmt.Errorf("spooled output: %d bytes: %w", s.mu.bytes, membudget.ErrNoRoom)
	}
	f, err := s.createTemp()
	if err != nil {
		return fmt.Errorf("spooled output: %w", err)
	}
	for _, p := range s.mu.pieces {
		if _, err := f.Write(p.chunk.Data[:p.bytes]); err != nil {
			return errors.Join(fmt.Errorf("spooled output: %w", err), f.Remove())
		}
	}
	s.mu.file = f
	s.freeMemory()
	return nil
}

// freeMemory frees the pieces and ends the registration as evictable.
func (s *Spool) freeMemory() {
	s.mu.pieces = nil
	if s.mu.lease != nil {
		s.mu.cancel()
		s.mu.lease.Close()
		s.mu.lease = nil
	}
}

// Evict moves the text from memory to a file and returns the number of bytes that this frees.
// It does nothing if WriteTo is reading the memory.
func (s *Spool) Evict() (freedBytes int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.lease == nil || s.mu.passing {
		return 0, nil
	}
	// spill closes the lease.
	freedBytes = s.mu.lease.Granted()
	if err := s.spill(); err != nil {
		return 0, err
	}
	if s.mu.state == sealed {
		err = s.closeFile()
	}
	return freedBytes, err
}

// closeFile closes the descriptor of the file, because many spools may wait at once and
// descriptors are few.
func (s *Spool) closeFile() error {
	if s.mu.file != nil {
		s.mu.err = cmp.Or(s.mu.err, errs.About("spooled output", s.mu.file.Close()))
	}
	return s.mu.err
}

// Seal ends the writing. It returns the first error of a Write. After Release, and when it is
// called again, it changes nothing.
func (s *Spool) Seal() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	invariant.Reach(&s.mu.state, sealed)
	return s.closeFile()
}

// Bytes returns the length of the text.
func (s *Spool) Bytes() int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.mu.bytes
}

// Release frees memory and file. It does not wait: if WriteTo is running, WriteTo frees them at
// its end. It may be called again.
func (s *Spool) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	invariant.Reach(&s.mu.state, released)
	s.free()
}

// free frees everything, unless WriteTo is reading the memory. The caller holds s.mu.
func (s *Spool) free() {
	if s.mu.passing {
		return
	}
	s.freeMemory()
	if s.mu.file != nil {
		_ = s.mu.file.Remove() // the whole directory may be removed already
		s.mu.file = nil
	}
}

// WriteTo writes the whole text to w. From memory it needs no copy. One goroutine at a time may
// call it, before or after Seal.
func (s *Spool) WriteTo(w io.Writer) (written int64, err error) {
	s.mu.Lock()
	if s.mu.state == released {
		s.mu.Unlock()
		return 0, ErrAborted
	}
	if s.mu.file != nil {
		s.mu.Unlock()
		return s.copyFile(w)
	}
	s.mu.passing = true
	pieces := s.mu.pieces
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.mu.passing = false
		if s.mu.state == released {
			s.free()
		}
	}()
	for _, p := range pieces {
		n, err := w.Write(p.chunk.Data[:p.bytes])
		written += int64(n)
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// copyFile copies the temporary file to w. It lets w read from the file if it can, because a file copies from a file
// in the kernel.
func (s *Spool) copyFile(w io.Writer) (n int64, err error) {
	s.mu.RLock()
	file, bytes := s.mu.file, s.mu.bytes
	s.mu.RUnlock()
	f, err := file.Open()
	if err != nil {
		return 0, fmt.Errorf("spooled output: %w", err)
	}
	defer f.Close()
	if r, ok := w.(io.ReaderFrom); ok {
		n, err = r.ReadFrom(f)
	} else {
		n, err = io.CopyBuffer(w, struct{ io.Reader }{f}, make([]byte, copyBufferBytes))
	}
	if err == nil && n != bytes {
		err = fmt.Errorf("spooled output: %s has %d bytes where %d were written", file.Name(), n, bytes)
	}
	return n, err
}

// SpoolReader reads a spool. It continues if the text moves to disk meanwhile. Only one goroutine
// may use it.
type SpoolReader struct {
	spool  *Spool
	offset int64
	file   *disk.File
}

// NewReader makes a reader of a sealed spool. The caller closes it before Release; after
// Release, Read fails.
func (s *Spool) NewReader() *SpoolReader { return &SpoolReader{spool: s} }

// Read implements io.Reader.
func (r *SpoolReader) Read(p []byte) (int, error) {
	n, err := r.ReadAt(p, r.offset)
	r.offset += int64(n)
	// The next call reports the end.
	if n > 0 && errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// ReadAt implements io.ReaderAt. It does not change the position of Read.
func (r *SpoolReader) ReadAt(p []byte, offset int64) (int, error) {
	s := r.spool
	s.mu.RLock()
	if s.mu.state == released {
		s.mu.RUnlock()
		return 0, ErrAborted
	}
	if s.mu.file == nil {
		defer s.mu.RUnlock()
		n := s.copyOut(p, offset)
		if n < len(p) {
			return n, io.EOF
		}
		return n, nil
	}
	file := s.mu.file
	s.mu.RUnlock()
	if r.file == nil {
		f, err := file.Open()
		if err != nil {
			return 0, fmt.Errorf("spooled output: %w", err)
		}
		r.file = f
	}
	return r.file.ReadAt(p, offset)
}

// copyOut copies the text from offset on to p. It returns less than len(p) at the end of the
// text. The caller holds s.mu.
func (s *Spool) copyOut(p []byte, offset int64) (copied int) {
	pieces := s.mu.pieces
	// i is the first piece that ends behind offset.
	i := sort.Search(len(pieces), func(i int) bool { return pieces[i].start+int64(pieces[i].bytes) > offset })
	for ; i < len(pieces) && copied < len(p); i++ {
		data := pieces[i].chunk.Data[:pieces[i].bytes]
		copied += copy(p[copied:], data[offset-pieces[i].start:])
		offset = pieces[i].start + int64(pieces[i].bytes)
	}
	return copied
}

// Close closes the descriptor of the reader.
func (r *SpoolReader) Close() error {
	if r.file == nil {
		return nil
	}
	f := r.file
	r.file = nil
	return f.Close()
}

// Spools is a Sink that keeps each part for the next job of a chain. A part stays in memory
// if the budget allows it, else in a temporary file.
type Spools struct {
	memory     *membudget.Budget
	createTemp func() (*disk.TempFile, error)
	mu         sync.Mutex // guards parts while attempts run
	parts      []*Spool   // by task; set by the attempt that commits first
}

// NewSpools makes the sink of a job with the given number of parts. Release frees them.
func NewSpools(parts int, memory *membudget.Budget, createTemp func() (*disk.TempFile, error)) *Spools {
	return &Spools{memory: memory, createTemp: createTemp, parts: make([]*Spool, parts)}
}

// Part makes an empty spool.
func (s *Spools) Part(task, _ int) (Part, error) {
	return &spoolPart{Spool: NewSpool(s.memory, s.createTemp), sink: s, task: task}, nil
}

// Sizes does nothing: a spool grows.
func (s *Spools) Sizes([]int64) error { return nil }

// Parts returns the parts by task, nil for a task that has committed none. It is called when
// the job has ended. The sink still owns the parts.
func (s *Spools) Parts() []*Spool { return s.parts }

// Text returns all parts as one text, in their order. It is called when the job has ended. It
// fails if the parts have more than mostBytes. The caller owns the text.
func (s *Spools) Text(mostBytes int64) ([]byte, error) {
	var total int64
	for _, p := range s.parts {
		if p != nil {
			total += p.Bytes()
		}
	}
	if total > mostBytes {
		return nil, fmt.Errorf("wrote %d bytes of side data; at most %d are allowed", total, mostBytes)
	}
	var text bytes.Buffer
	text.Grow(int(total) + bytes.MinRead) // the room that ReadFrom wants behind the end
	for _, p := range s.parts {
		if p == nil {
			continue
		}
		if _, err := p.WriteTo(&text); err != nil {
			return nil, err
		}
	}
	return text.Bytes(), nil
}

// Release frees all parts. It may be called again.
func (s *Spools) Release() {
	for i, p := range s.parts {
		if p != nil {
			p.Release()
			s.parts[i] = nil
		}
	}
}

// spoolPart is the part of one attempt. Its spool belongs to the sink once it has committed.
type spoolPart struct {
	*Spool
	sink    *Spools
	task    int
	aborted bool // the sink's mu guards it
}

// Commit keeps the spool, if no other attempt of the task has committed. Otherwise it releases
// the spool and returns ErrLost.
func (p *spoolPart) Commit() error {
	// Seal may write to disk, so it comes before the lock.
	if err := p.Seal(); err != nil {
		p.Release()
		return err
	}
	p.sink.mu.Lock()
	defer p.sink.mu.Unlock()
	switch {
	case p.aborted:
		return ErrAborted
	case p.sink.parts[p.task] != nil:
		p.Release()
		return ErrLost
	}
	p.sink.parts[p.task] = p.Spool
	return nil
}

// Abort releases the spool, unless it has committed. It may follow a failed Commit: a second Release does
// nothing.
func (p *spoolPart) Abort() {
	p.sink.mu.Lock()
	defer p.sink.mu.Unlock()
	if p.sink.parts[p.task] != p.Spool {
		p.aborted = true
		p.Release()
	}
}

// Discard is a Sink that throws the output away. The zero value is ready.
type Discard struct {
	committed sync.Map // tasks
}

// Part returns a part that drops all bytes.
func (d *Discard) Part(task, _ int) (Part, error) { return discardedPart{d, task}, nil }

// Sizes does nothing: no bytes are kept.
func (*Discard) Sizes([]int64) error { return nil }

// discardedPart only remembers which attempt of a task commits first.
type discardedPart struct {
	sink *Discard
	task int
}

func (discardedPart) Write(p []byte) (int, error) { return len(p), nil }
func (discardedPart) Abort()                      {}

// Commit notes that the task is done, if no other attempt of it has committed.
func (p discardedPart) Commit() error {
	if _, lost := p.sink.committed.LoadOrStore(p.task, true); lost {
		return ErrLost
	}
	return nil
}

// Beside implements Besides. It returns a writer that drops the named output.
func (p discardedPart) Beside(string) (io.Writer, error) { return p, nil }
