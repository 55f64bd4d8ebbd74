package source

import (
	"errors"
	"fmt"
	"io"

	"mrlocal/input"
	"mrlocal/internal/membudget"
	"mrlocal/jobs"
)

// Source is what a map task reads.
type Source interface {
	Open(mem Memory) (Blocks, error)
	StoredBytes() int64     // 0: unknown
	Again() (Source, error) // what another attempt reads; an error where there can be none
}

// Blocks yields a source's blocks in order.
type Blocks interface {
	Next() (Piece, error) // the next block, io.EOF after the last
	Keep()                // the chunk of the block at hand now belongs to the kvbuffer
	Close()
}

// Piece is a block, the chunk its data lies in, the lease that pays for the
// chunk, and how much of the source has been consumed with it.
type Piece struct {
	Block         jobs.Block
	Chunk         *membudget.Chunk
	Lease         *membudget.Lease
	ConsumedBytes int64
}

// File is a split of files on disk. Skipped hears, from any goroutine, which
// of them were left out as binary.
type File struct {
	Plan    *input.Plan
	Split   *input.Split
	Skipped func(files []int32)
	Reread  bool // it has been read before: see input.Plan.Reopen
}

// StoredBytes is the length of the split on disk.
func (s File) StoredBytes() int64 { return s.Split.Bytes }

// Again is the same split.
func (s File) Again() (Source, error) {
	s.Reread = true
	return s, nil
}

// Open begins to read.
func (s File) Open(mem Memory) (Blocks, error) {
	open := s.Plan.Open
	if s.Reread {
		open = s.Plan.Reopen
	}
	return &fileBlocks{open(*s.Split, mem), mem.Lease, s.Skipped}, nil
}

// fileBlocks adapts input.Reader.
type fileBlocks struct {
	r       *input.Reader
	lease   *membudget.Lease
	skipped func(files []int32) // hears which files were binary
}

func (b *fileBlocks) Next() (Piece, error) {
	if b.r.Next() {
		return Piece{b.r.Block(), b.r.Chunk(), b.lease, b.r.Consumed()}, nil
	}
	return Piece{}, endOf(b.r.Err())
}

func (b *fileBlocks) Keep() { b.r.Keep() }
func (b *fileBlocks) Close() {
	b.skipped(b.r.Skipped())
	b.r.Close()
}

// endOf is a finished reader's error: io.EOF when it just ended. Room is
// asked for again; anything else the next attempt would only meet again.
func endOf(err error) error {
	var room *RoomError
	switch {
	case err == nil:
		return io.EOF
	case errors.As(err, &room):
		return err
	}
	return InputError{err}
}

// Held is a piece of a stream that the Feeder has decoded: its blocks
// wait in leased memory.
type Held struct {
	plan   *input.Plan
	file   int32
	blocks []heldBlock
	lease  *membudget.Lease
	offset int64 // of the piece in the decoded stream
	bytes  int64
	taken  bool // a kvbuffer kept a block: the piece cannot be read again from memory
	free   func()
}

// Bytes is what the piece has leased.
func (s *Held) Bytes() int64 { return s.lease.Granted() }

type heldBlock struct {
	block jobs.Block
	chunk *membudget.Chunk
}

// StoredBytes is the length of the decoded piece.
func (s *Held) StoredBytes() int64 { return s.bytes }

// Again is the piece for another attempt: from memory while that is whole,
// else decoded from the file once more.
func (s *Held) Again() (Source, error) {
	if !s.taken && s.lease != nil {
		return s, nil
	}
	s.Release()
	if f := s.plan.Files[s.file]; !f.Rereadable {
		return nil, fmt.Errorf("%s cannot be read a second time", f.Path)
	}
	return decodedAgain{plan: s.plan, file: s.file, offset: s.offset, bytes: s.bytes}, nil
}

// Release gives the memory back; the map has committed or the job has ended.
func (s *Held) Release() {
	if s.lease != nil {
		s.lease.Close()
		s.lease = nil
		s.free()
	}
}

// Open hands out what waits in memory.
func (s *Held) Open(mem Memory) (Blocks, error) {
	return &heldBlocks{s: s, i: -1}, nil
}

// heldBlocks hands out the blocks of a Held; one that the kvbuffer keeps
// moves to its lease with the memory charged for it.
type heldBlocks struct {
	s    *Held
	i    int
	done int64
}

func (b *heldBlocks) Next() (Piece, error) {
	if b.i++; b.i >= len(b.s.blocks) {
		return Piece{}, io.EOF
	}
	h := b.s.blocks[b.i]
	b.done += int64(len(h.block.Data))
	return Piece{h.block, h.chunk, b.s.lease, b.done}, nil
}

func (b *heldBlocks) Keep()  { b.s.taken = true }
func (b *heldBlocks) Close() {}

// decodedAgain is a piece of a compressed file that is decoded once more.
type decodedAgain struct {
	plan          *input.Plan
	file          int32
	offset, bytes int64
}

func (s decodedAgain) StoredBytes() int64     { return s.bytes }
func (s decodedAgain) Again() (Source, error) { return s, nil }
func (s decodedAgain) Open(mem Memory) (Blocks, error) {
	st, err := s.plan.ReopenStream(s.file, s.offset, s.bytes, mem)
	if err != nil {
		return nil, InputError{err}
	}
	return &streamBlocks{st: st, lease: mem.Lease}, nil
}

// streamBlocks adapts input.Stream.
type streamBlocks struct {
	st    *input.Stream
	lease *membudget.Lease
	done  int64
}

func (b *streamBlocks) Next() (Piece, error) {
	if b.st.Next() {
		b.done += int64(len(b.st.Block().Data))
		return Piece{b.st.Block(), b.st.Chunk(), b.lease, b.done}, nil
	}
	return Piece{}, endOf(b.st.Err())
}

func (b *streamBlocks) Keep()  { b.st.Keep() }
func (b *streamBlocks) Close() { b.st.Close() }

// InputError marks a failure of the input itself.
type InputError struct{ error }

func (e InputError) Unwrap() error { return e.error }

// Input marks err as a failure of the input.
func Input(err error) error { return InputError{err} }

// Empty is a split of a job without input: one block without data.
type Empty struct{}

// StoredBytes: none.
func (Empty) StoredBytes() int64 { return 0 }

// Again: there is nothing that could be used up.
func (Empty) Again() (Source, error) { return Empty{}, nil }

// Open yields the block.
func (Empty) Open(Memory) (Blocks, error) { return &emptyBlocks{}, nil }

type emptyBlocks struct{ done bool }

func (b *emptyBlocks) Next() (Piece, error) {
	if b.done {
		return Piece{}, io.EOF
	}
	b.done = true
	return Piece{Block: jobs.Block{Last: true}}, nil
}

func (*emptyBlocks) Keep()  {}
func (*emptyBlocks) Close() {}
