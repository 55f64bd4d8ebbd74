package input

import (
	"errors"
	"fmt"
	"io"

	"mrlocal/input/codec"
	"mrlocal/internal/membudget"
	"mrlocal/jobs"
)

// Reader reads the blocks of a split. Each file that is not skipped gives at least one block. An
// empty file gives one block without data. A Reader belongs to one goroutine.
//
//	for r.Next() {
//		use(r.Block()) // a borrower that needs the data for longer takes the chunk over
//	}
//	err := r.Close()
type Reader struct {
	// OnSkipped, if not nil, is called once, by Close, with the indices of the files
	// that gave nothing because they are binary. If a file has several splits,
	// only the first one reports it. The slice belongs to the reader.
	OnSkipped func(files []int32)

	plan   *Plan
	pieces []Piece // still to be opened; the slice belongs to the Plan
	file   int32   // index of the open file
	length int64   // of its piece, in bytes
	src    source  // nil: no file is open
	handle handle  // of src
	dir    openDir // directory of the last file
	// src points to cut if it is one. It lies here by value, so that 50,000 small files make no
	// garbage.
	cut      cut
	hold     hold
	decoders codec.Decoders
	block    jobs.Block
	consumed int64 // bytes of finished pieces
	skipped  []int32
	again    bool // the split may have been read before: Reopen
	err      error
}

// Open returns a reader of a split. The first call of Next opens the first
// file. The caller closes the reader.
func (p *Plan) Open(s Split, mem Memory) *Reader {
	return &Reader{plan: p, pieces: s.Pieces, hold: hold{mem: mem}, decoders: p.decoders(mem)}
}

// Reopen returns a reader of a split that may have been read before. The results of that first
// reading may be in use, so the content must be the same. Reopen therefore compares the inode
// number and the time of the last change of small files too. Open only compares their length.
func (p *Plan) Reopen(s Split, mem Memory) *Reader {
	r := p.Open(s, mem)
	r.again = true
	return r
}

// Text is a text that does not change while it is read. ReadAt fills its buffer if the text has enough
// bytes.
type Text interface {
	io.Reader
	io.ReaderAt
	io.Closer
}

// OpenText returns a reader of a text that is not an input file, with the given number of bytes. The records end as o
// says. Blocks have the given path and number of a file. The reader closes t.
func OpenText(path string, file int32, t Text, bytes int64, o Options, mem Memory) *Reader {
	o.NoDecode = true
	p := &Plan{o: o, first: file, Files: []File{{Path: path, Bytes: bytes, kind: ofText}}}
	r := &Reader{plan: p, length: bytes, handle: handle{path: path, remote: t}, hold: hold{mem: mem}}
	r.cut = newCut(p, Piece{End: bytes}, &r.handle)
	r.src = &r.cut
	return r
}

// Next moves to the next block and reports whether there is one. It ends the loan of the current
// block.
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
			r.block = jobs.Block{Path: r.plan.Files[r.file].Path, File: r.plan.first + r.file, Input: r.plan.Files[r.file].input, Offset: b.off, Data: b.data, Last: b.last, Paired: r.plan.o.Paired}
			r.hold.loan = membudget.Loan{Chunk: r.hold.chunk}
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

// open opens the next piece that is not skipped. It returns false if there is none, or after an
// error.
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
		// The piece with the first byte of the file reports it, so that it is reported once.
		if pc.Start == 0 && !missed {
			r.skipped = append(r.skipped, pc.File)
		}
	}
	return false
}

// openPiece opens the file of pc and chooses its source: a cut, or a sequential for a file that is
// decoded or has no size. skip reports that the file is binary. After an error or a skip nothing
// stays open.
func (r *Reader) openPiece(pc Piece) (skip bool, err error) {
	f := &r.plan.Files[pc.File]
	r.file, r.length = pc.File, pc.End-pc.Start
	h := &r.handle
	small := f.kind != inHDFS && f.Bytes > 0 && f.Bytes < chunkBytes && pc.End-pc.Start == f.Bytes
	if small { // cut.fill checks whether it has changed, after it has read it
		next := ""
		if len(r.pieces) > 0 {
			next = r.plan.Files[r.pieces[0].File].Path
		}
		if err := r.plan.openIn(f, h, &r.dir, next); err != nil {
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
	// If the piece is the whole file, cut.look judges the bytes that it reads anyway.
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

// sequential makes a sequential of h the source.
func (r *Reader) sequential(h *handle) error {
	s, err := r.plan.newSequential(r.file, h, &r.decoders)
	if err == nil {
		r.src = s
	}
	return err
}

// reopen makes a sequential of the open file the source, because its first bytes have shown that
// it is compressed. Its descriptor still stands at the start: a cut uses only pread.
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

// Close gives back memory and files, and calls OnSkipped. It returns the error that ended the
// reading; nil: the end of the split. It may be called at any time, and more than once.
func (r *Reader) Close() error {
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

// hold has the one chunk that a reader holds between two calls of Next.
type hold struct {
	mem   Memory
	chunk *membudget.Chunk // nil: none
	loan  membudget.Loan   // of chunk
	taken bool             // a borrower has taken a chunk over, and may do so again
}

// endLoan ends the loan. If the borrower took the chunk over, hold has none any more.
func (h *hold) endLoan() {
	if h.loan.Taken() {
		h.chunk, h.taken = nil, true
	}
	h.loan = membudget.Loan{}
}

// take returns a buffer of at least the given number of bytes: the chunk if it is large enough, else a new one.
// One standard chunk serves all small files until a borrower takes a chunk over. From then on
// each file gets a chunk of its size, because the borrower keeps it.
func (h *hold) take(bytes int) ([]byte, error) {
	if !h.taken {
		bytes = max(bytes, chunkBytes)
	}
	if h.chunk != nil {
		n := len(h.chunk.Data)
		// A chunk above the standard size is used again only for another long record. Otherwise
		// one long record would keep its memory to the end of the split.
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

// free gives the chunk back, if there is one. endLoan must come first.
func (h *hold) free() {
	if h.chunk != nil {
		h.mem.Put(h.chunk)
		h.chunk = nil
	}
}

// block is a sequence of whole records in the held chunk.
type block struct {
	data []byte
	off  int64 // offset of data[0] in the file, or in its decoded text
	last bool  // the file ends with it
}

// source yields the blocks of one piece, and then io.EOF. A borrower may take over the chunk of a
// block before the next call of next.
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
	sourceChecked                    // the same, and the file was found unchanged after that
)

func (s sourceState) String() string { return [...]string{"new", "reading", "read", "checked"}[s] }

// Next lists the states that may follow s, for checked builds.
func (s sourceState) Next() []sourceState {
	return [...][]sourceState{{sourceReading}, {sourceRead, sourceChecked}, {sourceChecked}, nil}[s]
}

// roomError returns the error of a record for which there is no memory.
func roomError(path string, off, bytes int64, err error) error {
	return fmt.Errorf("%s: record at offset %d of %d bytes: %w", shown(path), off, bytes, err)
}

// tooLong returns the error of a record above maxRecordBytes.
func tooLong(path string, off int64) error {
	return fmt.Errorf("%s: record at offset %d is longer than 4 GiB", shown(path), off)
}
