package engine

import (
	"errors"
	"fmt"
	"io"

	"mrlocal/input"
	"mrlocal/internal/membudget"
	"mrlocal/jobs"
	"mrlocal/output"
)

// source is what a map task reads.
type source interface {
	open(mem taskMemory) (blocks, error)
	storedBytes() int64     // 0: unknown
	again() (source, error) // what another attempt reads; an error where there can be none
}

// blocks yields a source's blocks in order.
type blocks interface {
	next() (piece, error) // the next block, io.EOF after the last
	keep()                // the chunk of the block at hand now belongs to the kvbuffer
	close()
}

// piece is a block, the chunk its data lies in, the lease that pays for the
// chunk, and how much of the source has been consumed with it.
type piece struct {
	block         jobs.Block
	chunk         *membudget.Chunk
	lease         *membudget.Lease
	consumedBytes int64
}

// fileSource is a split of files on disk.
type fileSource struct {
	plan    *input.Plan
	split   *input.Split
	skipped func(files []int32)
}

func (s fileSource) storedBytes() int64     { return s.split.Bytes }
func (s fileSource) again() (source, error) { return s, nil }
func (s fileSource) open(mem taskMemory) (blocks, error) {
	return &fileBlocks{s.plan.Open(*s.split, mem), mem.lease, s.skipped}, nil
}

// fileBlocks adapts input.Reader.
type fileBlocks struct {
	r       *input.Reader
	lease   *membudget.Lease
	skipped func(files []int32) // hears which files were binary
}

func (b *fileBlocks) next() (piece, error) {
	if b.r.Next() {
		return piece{b.r.Block(), b.r.Chunk(), b.lease, b.r.Consumed()}, nil
	}
	return piece{}, endOf(b.r.Err())
}

func (b *fileBlocks) keep() { b.r.Keep() }
func (b *fileBlocks) close() {
	b.skipped(b.r.Skipped())
	b.r.Close()
}

// endOf is a finished reader's error: io.EOF when it just ended. Room is
// asked for again; anything else the next attempt would only meet again.
func endOf(err error) error {
	var room *roomError
	switch {
	case err == nil:
		return io.EOF
	case errors.As(err, &room):
		return err
	}
	return inputError{err}
}

// heldSource is a piece of a stream that the feeder has decoded: its blocks
// wait in leased memory.
type heldSource struct {
	plan   *input.Plan
	file   int32
	blocks []heldBlock
	lease  *membudget.Lease
	offset int64 // of the piece in the decoded stream
	bytes  int64
	taken  bool // a kvbuffer kept a block: the piece cannot be read again from memory
	free   func()
}

type heldBlock struct {
	block jobs.Block
	chunk *membudget.Chunk
}

func (s *heldSource) storedBytes() int64 { return s.bytes }

// again is the piece for another attempt: from memory while that is whole,
// else decoded from the file once more.
func (s *heldSource) again() (source, error) {
	if !s.taken && s.lease != nil {
		return s, nil
	}
	s.release()
	if f := s.plan.Files[s.file]; !f.Rereadable {
		return nil, fmt.Errorf("%s cannot be read a second time", f.Path)
	}
	return streamSource{plan: s.plan, file: s.file, offset: s.offset, bytes: s.bytes}, nil
}

// release gives the memory back; the map has committed or the job has ended.
func (s *heldSource) release() {
	if s.lease != nil {
		s.lease.Close()
		s.lease = nil
		s.free()
	}
}

func (s *heldSource) open(mem taskMemory) (blocks, error) {
	return &heldBlocks{s: s, i: -1}, nil
}

// heldBlocks hands out the blocks of a heldSource; one that the kvbuffer keeps
// moves to its lease with the memory charged for it.
type heldBlocks struct {
	s    *heldSource
	i    int
	done int64
}

func (b *heldBlocks) next() (piece, error) {
	if b.i++; b.i >= len(b.s.blocks) {
		return piece{}, io.EOF
	}
	h := b.s.blocks[b.i]
	b.done += int64(len(h.block.Data))
	return piece{h.block, h.chunk, b.s.lease, b.done}, nil
}

func (b *heldBlocks) keep()  { b.s.taken = true }
func (b *heldBlocks) close() {}

// streamSource is a piece of a compressed file that is decoded again.
type streamSource struct {
	plan          *input.Plan
	file          int32
	offset, bytes int64
}

func (s streamSource) storedBytes() int64     { return s.bytes }
func (s streamSource) again() (source, error) { return s, nil }
func (s streamSource) open(mem taskMemory) (blocks, error) {
	st, err := s.plan.ReopenStream(s.file, s.offset, s.bytes, mem)
	if err != nil {
		return nil, inputError{err}
	}
	return &streamBlocks{st: st, lease: mem.lease}, nil
}

// streamBlocks adapts input.Stream.
type streamBlocks struct {
	st    *input.Stream
	lease *membudget.Lease
	done  int64
}

func (b *streamBlocks) next() (piece, error) {
	if b.st.Next() {
		b.done += int64(len(b.st.Block().Data))
		return piece{b.st.Block(), b.st.Chunk(), b.lease, b.done}, nil
	}
	return piece{}, endOf(b.st.Err())
}

func (b *streamBlocks) keep()  { b.st.Keep() }
func (b *streamBlocks) close() { b.st.Close() }

// inputError marks a failure of the input itself.
type inputError struct{ error }

func (e inputError) Unwrap() error { return e.error }

// permanent reports whether another attempt could only meet the same failure.
func permanent(err error) bool {
	var in inputError
	var room *roomError
	var internal *internalError
	return errors.As(err, &in) || errors.As(err, &internal) || errors.As(err, &room) || errors.Is(err, membudget.ErrNoRoom) || errors.Is(err, output.ErrClosedPipe)
}
