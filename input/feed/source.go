// Package feed has the sources of map tasks. A source is a split of a file, a decoded piece of
// a stream, a part of the job before, or no input. It also samples an input for the cut points
// of a total order. Guard runs user code so that a panic becomes an error. Trackers finds the
// trackers that have the blocks of a split.
//
// Memory: a block of a file or part lies in a chunk of the reading attempt's lease (Memory). A
// block of a stream lies in the lease of a piece that a Feeder has decoded. A membudget.Loan
// says who owns the chunk. Pieces bounds how many pieces all feeders of a run keep in memory.
//
// Package input finds and reads files. Package engine decides which attempt reads which
// source, and runs each Feeder on a goroutine.
package feed

import (
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"
	"sync/atomic"

	"mrlocal/input"
	"mrlocal/input/codec"
	"mrlocal/internal/errs"
	"mrlocal/internal/guard"
	"mrlocal/internal/membudget"
	"mrlocal/jobs"
	"mrlocal/output"
)

// Source is the input of a map task.
type Source interface {
	// Open begins to read. The blocks take their memory from mem.
	Open(mem Memory) (Blocks, error)
	// StoredBytes returns the length of the source; 0: it is not known.
	StoredBytes() int64
	// NextAttempt returns the source that the next attempt of the task reads. It fails if the input
	// cannot be read a second time.
	NextAttempt() (Source, error)
}

// Blocks yields the blocks of a source in order. input.Reader and input.Stream
// are Blocks.
type Blocks interface {
	Next() bool             // moves to the next block; false: there is none
	Block() input.LentBlock // the current block, borrowed until the next call of Next or Close
	Close() error           // gives back memory and files; returns the error that ended the reading, nil at its end
}

// File is a split of files that can be read at any offset. Skipped is called, on any goroutine,
// with the files that were left out as binary. It must not keep the slice.
type File struct {
	Plan    *input.Plan
	Split   *input.Split
	Skipped func(files []int32)
	Reread  bool // an attempt has read it before: see input.Plan.Reopen
}

// StoredBytes returns the length of the split on disk.
func (s File) StoredBytes() int64 { return s.Split.Bytes }

// NextAttempt returns the same split.
func (s File) NextAttempt() (Source, error) {
	s.Reread = true
	return s, nil
}

// Open begins to read.
func (s File) Open(mem Memory) (Blocks, error) {
	open := s.Plan.Open
	if s.Reread {
		open = s.Plan.Reopen
	}
	r := open(*s.Split, mem)
	r.OnSkipped = s.Skipped
	return r, nil
}

// Held is a piece of a stream that the Feeder has decoded. Its blocks wait in
// leased memory for an attempt.
type Held struct {
	plan   *input.Plan
	file   int32
	blocks []heldBlock
	lease  *membudget.Lease // nil: released
	offset int64            // of the piece in the decoded stream
	bytes  int64            // decoded
	sums   bool             // blocks get sums, because mappers may change them
	summed int              // blocks that have a sum
	taken  bool             // a kvbuffer has taken a chunk over: the piece is not whole any more
	free   func()           // gives the tokens of the piece back; Release calls it
}

// Len returns the number of its blocks, and Block one of them.
func (s *Held) Len() int { return len(s.blocks) }

// Block returns block i.
func (s *Held) Block(i int) jobs.Block { return s.blocks[i].block }

// Bytes returns the bytes that the piece has leased.
func (s *Held) Bytes() int64 { return s.lease.Granted() }

// heldBlock is a block of a piece, in a chunk of the piece's lease.
type heldBlock struct {
	block jobs.Block
	chunk *membudget.Chunk
	sum   uint32 // CRC-32C of the data, if the piece was opened (Held.sums)
}

// changed reports whether a mapper has changed a block that it has read.
func (s *Held) changed() bool {
	return slices.ContainsFunc(s.blocks[:s.summed], func(b heldBlock) bool { return crc32.Checksum(b.block.Data, castagnoli()) != b.sum })
}

// castagnoli returns the table of CRC-32C.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// StoredBytes returns the length of the decoded piece.
func (s *Held) StoredBytes() int64 { return s.bytes }

// NextAttempt returns the piece itself while it is whole in memory, and else a source that decodes it
// from the file once more. It fails if the file can be read only once.
func (s *Held) NextAttempt() (Source, error) {
	changed := s.lease != nil && !s.taken && s.changed()
	if !s.taken && s.lease != nil && !changed {
		return s, nil
	}
	s.Release()
	if f := s.plan.Files[s.file]; !f.Rereadable && changed {
		return nil, fmt.Errorf("%s cannot be read a second time, and the mapper has changed what it has read", f.Path)
	} else if !f.Rereadable {
		return nil, fmt.Errorf("%s cannot be read a second time", f.Path)
	}
	return decodedAgain{plan: s.plan, file: s.file, offset: s.offset, bytes: s.bytes}, nil
}

// Release gives memory and tokens of the piece back. It is called when the map has committed or
// the job has ended. It may be called again.
func (s *Held) Release() {
	if s.lease != nil {
		s.lease.Close()
		s.lease = nil
		s.free()
	}
}

// Open returns the blocks that wait in memory. It needs no memory of the attempt.
func (s *Held) Open(mem Memory) (Blocks, error) {
	return &heldBlocks{s: s, i: -1}, nil
}

// heldBlocks are the blocks of a Held. A chunk that the kvbuffer takes over moves to the lease of
// the kvbuffer, with the memory that is charged for it.
type heldBlocks struct {
	s         *Held
	i         int            // index of the current block
	loan      membudget.Loan // of its chunk
	doneBytes int64          // up to its end
}

// Next moves to the next block. It also notes whether the kvbuffer has taken the current one over,
// because the piece is not whole in memory then.
func (b *heldBlocks) Next() bool {
	b.s.taken = b.s.taken || b.loan.Taken()
	b.loan = membudget.Loan{}
	if b.i++; b.i >= len(b.s.blocks) {
		return false
	}
	h := &b.s.blocks[b.i]
	if b.s.sums && b.i == b.s.summed {
		h.sum = crc32.Checksum(h.block.Data, castagnoli())
		b.s.summed++
	}
	b.loan = membudget.Loan{Chunk: h.chunk, Lease: b.s.lease}
	b.doneBytes += int64(len(h.block.Data))
	return true
}

func (b *heldBlocks) Block() input.LentBlock {
	return input.LentBlock{Block: b.s.blocks[b.i].block, Loan: &b.loan, ConsumedBytes: b.doneBytes}
}

func (b *heldBlocks) Close() error {
	b.s.taken = b.s.taken || b.loan.Taken()
	return nil
}

// decodedAgain is a piece of a stream that is decoded once more, because it is no longer whole in
// memory.
type decodedAgain struct {
	plan          *input.Plan
	file          int32
	offset, bytes int64
}

func (s decodedAgain) StoredBytes() int64           { return s.bytes }
func (s decodedAgain) NextAttempt() (Source, error) { return s, nil }

// Open decodes the file from its start, and skips the records before the piece.
func (s decodedAgain) Open(mem Memory) (Blocks, error) {
	st, err := s.plan.ReopenStream(s.file, s.offset, s.bytes, mem)
	if err != nil {
		return nil, InputError{err}
	}
	return st, nil
}

// InputError marks a failure of the input itself. Another attempt would fail with it too.
type InputError struct{ error }

func (e InputError) Unwrap() error { return e.error }

// Input returns err as an InputError.
func Input(err error) error { return InputError{err} }

// Empty is a split of a job without input. It has one block without data.
type Empty struct{}

// StoredBytes returns 0.
func (Empty) StoredBytes() int64 { return 0 }

// NextAttempt returns an Empty.
func (Empty) NextAttempt() (Source, error) { return Empty{}, nil }

// Open returns one block without data. A mapper is called once with it.
func (Empty) Open(Memory) (Blocks, error) {
	return &heldBlocks{s: &Held{blocks: []heldBlock{{block: jobs.Block{Last: true}}}}, i: -1}, nil
}

// Part is the part of the output that one task of the job before in a chain has written. The spool
// belongs to the sink of that job (output.Spools).
type Part struct {
	Name  string // of the job before
	File  int32  // its place in the input order
	Spool *output.Spool
	Delim byte // ends a record

	RecordBytes int  // of binary records, which have no delimiter; else 0
	Paired      bool // the records are pairs (jobs.Block.Pairs)
}

// StoredBytes returns the length of the text.
func (s Part) StoredBytes() int64 { return s.Spool.Bytes() }

// NextAttempt returns the same part.
func (s Part) NextAttempt() (Source, error) { return s, nil }

// Open begins to read.
func (s Part) Open(mem Memory) (Blocks, error) {
	bytes := s.Spool.Bytes()
	if r := int64(s.RecordBytes); r > 0 && bytes%r != 0 {
		return nil, fmt.Errorf("%s: its size, %s, is not a whole number of records of %s", s.Name, errs.Counted(bytes, "byte"), errs.Counted(r, "byte"))
	}
	return input.OpenText(s.Name, s.File, s.Spool.NewReader(), bytes, input.Options{Delim: s.Delim, RecordBytes: s.RecordBytes, Paired: s.Paired}, mem), nil
}

// SharedStdin is standard input, if it is among the inputs and a regular file. Other processes may
// share its offset. The zero value is another standard input.
type SharedStdin struct {
	user    jobs.PartUser // nil: the job uses all of the file
	ran     bool          // a job of the chain has run
	planned atomic.Pointer[sharedStdin]
}

// sharedStdin has the arguments of input.Options.OnStdin.
type sharedStdin struct {
	f         *os.File
	at, bytes int64
	file      int32
}

// Planned is input.Options.OnStdin.
func (s *SharedStdin) Planned(f *os.File, at, bytes int64, file int32) {
	s.planned.Store(&sharedStdin{f, at, bytes, file})
}

// Keep notes that a job has run, and keeps its Releaser for Leave if it may need only a part of the file.
func (s *SharedStdin) Keep(r jobs.Releaser) {
	s.ran = true
	if user, ok := r.(jobs.PartUser); ok {
		s.user = user
	}
}

// Leave sets the offset behind what the job has used, also if it has failed. A process that shares the
// file reads on from there (POSIX.1-2017, XCU 1.4). The result is complete, so errors do not matter.
func (s *SharedStdin) Leave(noDecode, utf16 bool) {
	in := s.planned.Load()
	if in == nil || !s.ran {
		return
	}
	file, used := io.NewSectionReader(in.f, in.at, in.bytes), int64(-1)
	// The text of a compressed file has other offsets than the file.
	if s.user != nil && (noDecode || !codec.Compressed(file)) {
		_ = guard.Own("used", func() (err error) {
			if !utf16 {
				used, err = s.user.Used(in.file, file)
				return err
			}
			var text codec.UTF16Reader
			text.Reset(file)
			if used, err = s.user.Used(in.file, &text); used <= 0 || err != nil {
				return err
			}
			// Used may have read more than it has used. The used text is decoded again to learn its length in the file.
			text.Reset(io.NewSectionReader(in.f, in.at, in.bytes))
			_, err = io.CopyN(io.Discard, &text, used)
			used = text.Stored()
			return err
		})
	}
	if used < 0 || used > in.bytes {
		used = in.bytes
	}
	_, _ = in.f.Seek(in.at+used, io.SeekStart)
}
