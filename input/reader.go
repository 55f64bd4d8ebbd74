package input

import (
	"errors"
	"fmt"
	"io"

	"mrlocal/input/codec"
	"mrlocal/internal/membudget"
	"mrlocal/jobs"
)

// Reader reads the blocks of a split. Each file gives at least one block; an
// empty file gives one without data.
//
//	for r.Next() {
//		use(r.Block()) // a borrower that needs the data for longer takes the chunk over
//	}
//	err := r.Close()
type Reader struct {
	// OnSkipped, if not nil, is called once by Close with the indices of files
	// that gave nothing because they are binary. If a file has several splits,
	// only the first one reports it.
	OnSkipped func(files []int32)

	plan *Plan
	// The slice belongs to the Plan. The reader only moves its own slice header forward.
	pieces []Piece // still to be opened
	file   int32   // index of the open one
	length int64   // of its piece, in bytes
	src    source  // nil if no file is open
	handle handle  // of src
	dir    near    // of the last files
	// It lies here by value, so that 50,000 small files make no garbage.
	cut      cut // src, if it is one
	hold     hold
	decoders codec.Decoders
	block    jobs.Block
	consumed int64 // bytes of finished pieces
	skipped  []int32
	again    bool // the split may have been read before
	err      error
}

// Open returns a reader of a split. The first call of Next opens the first
// file.
func (p *Plan) Open(s Split, mem Memory) *Reader {
	return &Reader{plan: p, pieces: s.Pieces, hold: hold{mem: mem}, decoders: p.decoders(mem)}
}

// Reopen returns a reader of a split that may have been read before. Results of
// that reading may be in use. So it also compares the inode number and the time
// of last change of small files, of which Open only compares the length.
func (p *Plan) Reopen(s Split, mem Memory) *Reader {
	r := p.Open(s, mem)
	r.again = true
	return r
}

// Next moves to the next block and reports whether there is one. It ends the
// loan of the last block.
func (r *Reader) Next() bool {
	r.hold.endLoan()
	for r.err == nil {
		if r.src == nil && !r.open() {
			break
		}
		b, err := r.src.next(&r.hold)
		switch {
		case err == nil:
			// Offset counts stored bytes of plain files, and decoded bytes of compressed ones.
			r.block = jobs.Block{Path: r.plan.Files[r.file].Path, File: r.plan.first + r.file, Input: r.plan.Files[r.file].input, Offset: b.off, Data: b.data, Last: b.last}
			r.hold.lend()
			return true
		case err == io.EOF:
			s, ok := r.src.(*sequential)
			r.finish(ok && s.skipped)
		case err == errBinary:
			r.finish(true)
		case err == errCompressed:
			r.reopen()
		case r.plan.Missed(r.file, err):
			r.finish(false)
		default:
			r.err = err
		}
	}
	r.block = jobs.Block{}
	r.hold.free()
	return false
}

// open opens the next piece that is not skipped.
func (r *Reader) open() bool {
	for len(r.pieces) > 0 {
		pc := r.pieces[0]
		r.pieces = r.pieces[1:]
		skip, err := r.openPiece(pc)
		missed := err != nil && r.plan.Missed(pc.File, err)
		if err != nil && !missed {
			r.err = err
			return false
		}
		if !skip && !missed {
			return true
		}
		r.consumed += pc.End - pc.Start
		// Only the piece with the first byte reports the file, so that no file is reported twice.
		if pc.Start == 0 && !missed {
			r.skipped = append(r.skipped, pc.File)
		}
	}
	return false
}

// openPiece opens the file of pc and chooses how it is read: by offset (cut), or from its
// start to its end (sequential). skip says that the file is binary. After an error or a
// skip nothing stays open.
func (r *Reader) openPiece(pc Piece) (skip bool, err error) {
	f := &r.plan.Files[pc.File]
	r.file, r.length = pc.File, pc.End-pc.Start
	h := &r.handle
	small := f.kind != inHDFS && f.Bytes > 0 && f.Bytes < chunkBytes && pc.End-pc.Start == f.Bytes
	if small { // cut.fill checks it when it has read it
		next := ""
		if len(r.pieces) > 0 {
			next = r.plan.Files[r.pieces[0].File].Path
		}
		if err := r.plan.openNear(f, h, &r.dir, next); err != nil {
			return false, err
		}
	} else if err := r.plan.openPlanned(pc.File, h); err != nil {
		return false, err
	}
	// A file of size 0 may be one of /proc, which has content all the same.
	if f.Bytes == 0 || f.Codec != codec.None {
		return false, r.sequential(h)
	}
	r.cut = newCut(r.plan, pc, h)
	c := &r.cut
	c.atOnce = small && f.kind == regular && !r.again
	// A piece that is the whole file is judged by the bytes that it reads anyway.
	if r.plan.o.SkipBinary && !c.probe {
		var buf []byte
		if buf, err = r.hold.take(int(min(f.Bytes, binaryHeadBytes))); err == nil {
			skip, err = r.plan.isBinary(pc.File, h, buf)
		}
		if skip || err != nil {
			return skip, errors.Join(err, h.Close())
		}
	}
	r.src = c
	return false, nil
}

// sequential reads the whole of h from its start.
func (r *Reader) sequential(h *handle) error {
	s, err := r.plan.newSequential(r.file, h, &r.decoders)
	if err == nil {
		r.src = s
	}
	return err
}

// reopen reads a file through its decoder, after its first bytes have shown
// that it is compressed.
// The descriptor stays open; only pread was used so far, so it still stands at the start.
func (r *Reader) reopen() {
	h := r.src.(*cut).h
	r.src = nil
	if err := r.sequential(h); err != nil && !r.plan.Missed(r.file, err) {
		r.err = err
	}
}

// finish closes a piece that has been read to its end.
func (r *Reader) finish(skipped bool) {
	if skipped {
		r.skipped = append(r.skipped, r.file)
	}
	r.consumed += r.length
	r.err = r.src.Close()
	r.src = nil
}

// Block returns the current block.
func (r *Reader) Block() LentBlock { return LentBlock{r.block, &r.hold.loan, r.consumedBytes()} }

// consumedBytes returns how many stored bytes of the split have been read.
func (r *Reader) consumedBytes() int64 {
	if r.src == nil {
		return r.consumed
	}
	return r.consumed + min(r.src.consumedBytes(), r.length)
}

// Close gives back what the reader holds. It returns the error that ended the reading, nil at the
// end of the split. It may be called at any time, and more than once.
func (r *Reader) Close() error {
	// A second call of Close must report nothing.
	if r.OnSkipped != nil {
		r.OnSkipped(r.skipped)
		r.OnSkipped = nil
	}
	if r.src != nil {
		r.src.Close()
		r.src = nil
	}
	r.pieces = nil
	r.dir.close()
	r.hold.endLoan()
	r.hold.free()
	r.decoders.Close()
	return r.err
}

const (
	chunkBytes = membudget.ChunkBytes
	// maxRecordBytes is the largest length that a jobs.Span can hold.
	maxRecordBytes = 1<<32 - 1
)

// LentBlock is a block of whole records, with the loan of the chunk in which
// its data lies. It is valid until the next call of Next or Close. A borrower
// that needs the data for longer takes the chunk over (membudget.Loan).
type LentBlock struct {
	jobs.Block
	Loan          *membudget.Loan
	ConsumedBytes int64 // how much of the source has been read, up to the end of this block
}

// hold is the one chunk that a reader holds between two calls of Next.
type hold struct {
	mem   Memory
	chunk *membudget.Chunk
	loan  membudget.Loan // of chunk
	taken bool           // a borrower has taken a chunk over, and may do it again
}

// lend lends the chunk at hand.
func (h *hold) lend() { h.loan = membudget.Loan{Chunk: h.chunk} }

// endLoan ends the loan. A chunk that was taken over is not held any more.
func (h *hold) endLoan() {
	if h.loan.Taken() {
		h.chunk, h.taken = nil, true
	}
	h.loan = membudget.Loan{}
}

// take returns a buffer of at least bytes: the chunk at hand if it is large
// enough. One standard chunk serves all small files until a borrower takes a
// chunk over. From then on, each file gets a chunk of its size.
func (h *hold) take(bytes int) ([]byte, error) {
	if !h.taken {
		bytes = max(bytes, chunkBytes)
	}
	if h.chunk != nil {
		n := len(h.chunk.Data)
		// A large chunk is kept only for another large record. Otherwise one long record would
		// keep its memory to the end of the split.
		if n >= bytes && (n <= chunkBytes || bytes > chunkBytes) {
			return h.chunk.Data, nil
		}
		h.free()
	}
	c, err := h.mem.Get(bytes)
	if err != nil {
		return nil, err
	}
	h.chunk = c
	return c.Data, nil
}

// free gives the chunk back. It does nothing if a borrower has taken the chunk over.
func (h *hold) free() {
	if h.chunk != nil {
		h.mem.Put(h.chunk)
		h.chunk = nil
	}
}

// block is a sequence of whole records in the held chunk.
type block struct {
	data []byte
	off  int64 // place of data[0] in the file
	last bool  // the file ends with it
}

// source yields the blocks of one piece, then io.EOF. Before each call of next,
// the chunk of the last block may have been taken over.
type source interface {
	next(h *hold) (block, error)
	consumedBytes() int64
	io.Closer
}

// sourceState is how far a source has come. It never goes back to an earlier state.
type sourceState uint8

const (
	sourceNew     sourceState = iota // next was not called yet
	sourceReading                    // records may be left
	sourceRead                       // the last block was given out, or there was none
)

func (s sourceState) String() string { return [...]string{"new", "reading", "read"}[s] }

// Next lists the states that may follow s, for checked builds.
func (s sourceState) Next() []sourceState {
	return [...][]sourceState{{sourceReading}, {sourceRead}, nil}[s]
}

// roomError is the error of a record for which there is no memory.
func roomError(path string, off, bytes int64, err error) error {
	return fmt.Errorf("%s: record at offset %d of %d bytes: %w", shown(path), off, bytes, err)
}

func tooLong(path string, off int64) error {
	return fmt.Errorf("%s: record at offset %d is longer than 4 GiB", shown(path), off)
}
