package output

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"sync"

	"mrlocal/internal/membudget"
)

// Pieces of a spool in memory begin small, because most of what waits is
// little, and double up to whole chunks.
const leastPieceBytes = 4 << 10

// Spool holds text that is written once, until it is wanted: in memory while
// the budget grants it, then in a temporary file. What is in memory is
// evictable at any time. One goroutine writes, then Seal, then any number of
// readers; Evict and Release may come from any goroutine at any moment.
type Spool struct {
	memory     *membudget.Budget
	createTemp func() (*os.File, error)

	mu struct {
		sync.RWMutex
		lease  *membudget.Lease
		cancel func() // of the registration as evictable
		pieces []piece
		bytes  int64

		file *os.File // nil: in memory, or sealed
		name string   // of the temporary file; "": in memory

		sealed, released bool
		draining         bool // pieces are being read without the lock
		err              error
	}
}

// piece is a run of the text in memory, from start.
type piece struct {
	chunk *membudget.Chunk
	start int64
	bytes int
}

// NewSpool makes an empty spool; it holds nothing until the first Write.
// Without memory all goes to a file; without createTemp nothing does, and what
// does not fit is an error.
func NewSpool(memory *membudget.Budget, createTemp func() (*os.File, error)) *Spool {
	return &Spool{memory: memory, createTemp: createTemp}
}

// Write appends p. Errors are sticky.
func (s *Spool) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.err == nil && (s.mu.released || s.mu.sealed) {
		s.mu.err = fmt.Errorf("output: spool: %w", os.ErrClosed)
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
	if err != nil {
		s.mu.err = fmt.Errorf("output: spool: %w", err)
	}
	return n + m, s.mu.err
}

// keep copies as much of p into memory as the budget has room for.
func (s *Spool) keep(p []byte) (kept int) {
	for kept < len(p) {
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

// addPiece takes the next piece, about as large as what is there already, or
// as what is wanted.
func (s *Spool) addPiece(wantBytes int) bool {
	if s.memory == nil {
		return false
	}
	if s.mu.lease == nil {
		lease, ok := s.memory.TryReserve(0)
		if !ok {
			return false
		}
		s.mu.lease, s.mu.cancel = lease, s.memory.Register(s)
	}
	bytes := int64(leastPieceBytes)
	for bytes < membudget.ChunkBytes && bytes < max(s.mu.bytes, int64(wantBytes)) {
		bytes *= 2
	}
	if !s.mu.lease.Grow(bytes) {
		return false
	}
	take := func() (*membudget.Chunk, bool) { return s.mu.lease.Piece(int(bytes)) }
	if bytes > membudget.ChunkBytes/2 {
		take = s.mu.lease.Chunk
	}
	chunk, ok := take()
	if !ok {
		s.mu.lease.Shrink(bytes)
		return false
	}
	s.mu.pieces = append(s.mu.pieces, piece{chunk: chunk, start: s.mu.bytes})
	return true
}

// spill moves what is in memory to a temporary file. On an error the memory is
// kept and no file is left.
func (s *Spool) spill() error {
	if s.createTemp == nil {
		return fmt.Errorf("output: spool: %d bytes: %w", s.mu.bytes, membudget.ErrNoRoom)
	}
	f, err := s.createTemp()
	if err != nil {
		return fmt.Errorf("output: spool: %w", err)
	}
	for _, p := range s.mu.pieces {
		if _, err := f.Write(p.chunk.Data[:p.bytes]); err != nil {
			return errors.Join(fmt.Errorf("output: spool: %w", err), f.Close(), os.Remove(f.Name()))
		}
	}
	s.mu.file, s.mu.name = f, f.Name()
	s.freeMemory()
	return nil
}

func (s *Spool) freeMemory() {
	s.mu.pieces = nil
	if s.mu.lease != nil {
		s.mu.cancel()
		s.mu.lease.Close()
		s.mu.lease = nil
	}
}

// Evict moves what is in memory to a file, unless it is just being passed on.
func (s *Spool) Evict() (freedBytes int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.lease == nil || s.mu.draining || s.mu.released {
		return 0, nil
	}
	freedBytes = s.mu.lease.Granted()
	if err := s.spill(); err != nil {
		return 0, err
	}
	if s.mu.sealed {
		err = s.closeFile()
	}
	return freedBytes, err
}

// closeFile gives the descriptor back: many spools may wait at once, and
// descriptors are few.
func (s *Spool) closeFile() error {
	if s.mu.file == nil {
		return nil
	}
	err := s.mu.file.Close()
	s.mu.file = nil
	if err != nil {
		s.mu.err = fmt.Errorf("output: spool: %w", err)
	}
	return s.mu.err
}

// Seal ends the writing.
func (s *Spool) Seal() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.sealed = true
	if s.mu.err != nil {
		return s.mu.err
	}
	return s.closeFile()
}

// Bytes is how much has been written.
func (s *Spool) Bytes() int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.mu.bytes
}

// OnDisk reports whether the text lies in a temporary file.
func (s *Spool) OnDisk() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.mu.name != ""
}

// Release gives memory and file back. It does not wait: what is just being
// passed on is given back when that ends. It is idempotent.
func (s *Spool) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.released = true
	s.free()
}

func (s *Spool) free() {
	if s.mu.draining {
		return
	}
	s.freeMemory()
	if s.mu.file != nil {
		_ = s.mu.file.Close() // nobody wants what was in it
		s.mu.file = nil
	}
	if s.mu.name != "" {
		_ = os.Remove(s.mu.name) // it may be gone with its directory
		s.mu.name = ""
	}
}

// WriteTo passes the whole text on, memory without a copy. It is for one
// goroutine at a time, sealed or not.
func (s *Spool) WriteTo(w io.Writer) (int64, error) {
	s.mu.Lock()
	if s.mu.released {
		s.mu.Unlock()
		return 0, fmt.Errorf("output: spool: %w", os.ErrClosed)
	}
	if s.mu.name != "" {
		s.mu.Unlock()
		return s.copyFile(w)
	}
	s.mu.draining = true
	pieces := s.mu.pieces
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.mu.draining = false
		if s.mu.released {
			s.free()
		}
	}()
	written := int64(0)
	for _, p := range pieces {
		n, err := w.Write(p.chunk.Data[:p.bytes])
		written += int64(n)
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// copyFile passes a temporary file on: inside the kernel, where w is a file.
func (s *Spool) copyFile(w io.Writer) (int64, error) {
	s.mu.RLock()
	name, bytes := s.mu.name, s.mu.bytes
	s.mu.RUnlock()
	f, err := os.Open(name)
	if err != nil {
		return 0, fmt.Errorf("output: spool: %w", err)
	}
	defer f.Close()
	n, err := copyAll(w, f)
	if err == nil && n != bytes {
		err = fmt.Errorf("output: spool: %s has %d bytes where %d were written", name, n, bytes)
	}
	return n, err
}

func copyAll(w io.Writer, f *os.File) (int64, error) {
	if r, ok := w.(io.ReaderFrom); ok {
		return r.ReadFrom(f)
	}
	return io.CopyBuffer(w, struct{ io.Reader }{f}, make([]byte, partBufferBytes))
}

// Reader reads a spool. It belongs to one goroutine, and sees the whole text
// also when it moves to disk meanwhile.
type Reader struct {
	spool  *Spool
	offset int64
	file   *os.File
}

// NewReader makes a reader of a sealed spool. Close it before Release, or
// reads fail.
func (s *Spool) NewReader() *Reader { return &Reader{spool: s} }

// Read reads on.
func (r *Reader) Read(p []byte) (int, error) {
	n, err := r.ReadAt(p, r.offset)
	r.offset += int64(n)
	if n > 0 && errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// ReadAt reads from offset.
func (r *Reader) ReadAt(p []byte, offset int64) (int, error) {
	s := r.spool
	s.mu.RLock()
	if s.mu.released {
		s.mu.RUnlock()
		return 0, fmt.Errorf("output: spool: %w", os.ErrClosed)
	}
	if s.mu.name == "" {
		defer s.mu.RUnlock()
		n := s.copyOut(p, offset)
		if n < len(p) {
			return n, io.EOF
		}
		return n, nil
	}
	name := s.mu.name
	s.mu.RUnlock()
	if r.file == nil {
		f, err := os.Open(name)
		if err != nil {
			return 0, fmt.Errorf("output: spool: %w", err)
		}
		r.file = f
	}
	return r.file.ReadAt(p, offset)
}

func (s *Spool) copyOut(p []byte, offset int64) (copied int) {
	pieces := s.mu.pieces
	i := sort.Search(len(pieces), func(i int) bool { return pieces[i].start+int64(pieces[i].bytes) > offset })
	for ; i < len(pieces) && copied < len(p); i++ {
		data := pieces[i].chunk.Data[:pieces[i].bytes]
		copied += copy(p[copied:], data[offset-pieces[i].start:])
		offset = pieces[i].start + int64(pieces[i].bytes)
	}
	return copied
}

// Close gives the reader's descriptor back.
func (r *Reader) Close() error {
	if r.file == nil {
		return nil
	}
	f := r.file
	r.file = nil
	return f.Close()
}
