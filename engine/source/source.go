// Package source is what map tasks read: splits of files, decoded pieces of streams, parts of
// the job before in a chain, or nothing. It also samples an input for the cut points of a total
// order. It runs user code so that a panic becomes an error (Guard). And it finds which trackers
// have the blocks of a split (Trackers).
//
// Memory: a block lies in a chunk of the reading attempt's lease (Memory). A
// block of a stream lies in the lease of a piece that a Feeder has decoded ahead.
// A membudget.Loan says who owns the chunk. Pieces bounds how many pieces exist,
// of all feeders of a run together.
//
// Package input finds and reads files. Package engine decides which attempt reads
// what, and owns the goroutine of a Feeder.
package source

import (
	"fmt"
	"runtime/debug"

	"mrlocal/input"
	"mrlocal/internal/membudget"
	"mrlocal/jobs"
	"mrlocal/spill/runs"
)

// Source is what a map task reads.
type Source interface {
	Open(mem Memory) (Blocks, error)
	StoredBytes() int64     // 0: not known
	Again() (Source, error) // what the next attempt reads; it fails where the source cannot be read again
}

// Blocks yields the blocks of a source in order. input.Reader and input.Stream
// are Blocks.
type Blocks interface {
	Next() bool             // moves to the next block; false: there is none
	Block() input.LentBlock // the current one, on loan until the next call of Next or Close
	Close() error           // gives back what is held, and returns what ended the reading; nil: its end
}

// File is a split of files on disk. Skipped is called, on any goroutine, with the
// files that were left out as binary.
type File struct {
	Plan    *input.Plan
	Split   *input.Split
	Skipped func(files []int32)
	Reread  bool // an attempt has read it before: see input.Plan.Reopen
}

// StoredBytes returns the length of the split on disk.
func (s File) StoredBytes() int64 { return s.Split.Bytes }

// Again returns the same split.
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
	lease  *membudget.Lease
	offset int64 // of the piece in the decoded stream
	bytes  int64
	taken  bool // a kvbuffer has taken a chunk over: the piece is not whole any more
	free   func()
}

// Bytes returns what the piece has leased.
func (s *Held) Bytes() int64 { return s.lease.Granted() }

type heldBlock struct {
	block jobs.Block
	chunk *membudget.Chunk
}

// StoredBytes returns the length of the decoded piece.
func (s *Held) StoredBytes() int64 { return s.bytes }

// Again returns the piece for the next attempt: from memory while it is whole
// there, else decoded from the file once more.
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

// Release gives the memory back when the map has committed or the job has ended.
func (s *Held) Release() {
	if s.lease != nil {
		s.lease.Close()
		s.lease = nil
		s.free()
	}
}

// Open hands out the blocks that wait in memory.
func (s *Held) Open(mem Memory) (Blocks, error) {
	return &heldBlocks{s: s, i: -1}, nil
}

// heldBlocks hands out the blocks of a Held. A chunk that the kvbuffer takes
// over moves to its lease, with the memory charged for it.
type heldBlocks struct {
	s         *Held
	i         int // of the block at hand
	loan      membudget.Loan
	doneBytes int64
}

// Next moves to the next block that waits. It notes whether the mapper took the last one over,
// because the piece is then no longer whole in memory.
func (b *heldBlocks) Next() bool {
	b.s.taken = b.s.taken || b.loan.Taken()
	b.loan = membudget.Loan{}
	if b.i++; b.i >= len(b.s.blocks) {
		return false
	}
	h := b.s.blocks[b.i]
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

// decodedAgain is a piece of a compressed file that is decoded once more.
type decodedAgain struct {
	plan          *input.Plan
	file          int32
	offset, bytes int64
}

func (s decodedAgain) StoredBytes() int64     { return s.bytes }
func (s decodedAgain) Again() (Source, error) { return s, nil }

// Open decodes the file from its start, up to the records of the piece.
func (s decodedAgain) Open(mem Memory) (Blocks, error) {
	st, err := s.plan.ReopenStream(s.file, s.offset, s.bytes, mem)
	if err != nil {
		return nil, InputError{err}
	}
	return st, nil
}

// InputError marks a failure of the input itself.
type InputError struct{ error }

func (e InputError) Unwrap() error { return e.error }

// Input marks err as a failure of the input.
func Input(err error) error { return InputError{err} }

// Empty is a split of a job without input. It has one block without data.
type Empty struct{}

// StoredBytes returns 0.
func (Empty) StoredBytes() int64 { return 0 }

// Again returns another one.
func (Empty) Again() (Source, error) { return Empty{}, nil }

// Open yields the block.
func (Empty) Open(Memory) (Blocks, error) { return &emptyBlocks{}, nil }

type emptyBlocks struct {
	begun bool
	loan  membudget.Loan // of no chunk
}

func (b *emptyBlocks) Next() bool {
	first := !b.begun
	b.begun = true
	return first
}

func (b *emptyBlocks) Block() input.LentBlock {
	return input.LentBlock{Block: jobs.Block{Last: true}, Loan: &b.loan}
}

func (*emptyBlocks) Close() error { return nil }

// UserError is a failure of user code: an error it returned, or a panic.
type UserError struct {
	What  string // "map", "reduce", …
	Cause error
	Stack []byte
}

func (e *UserError) Error() string { return e.What + ": " + e.Cause.Error() }
func (e *UserError) Unwrap() error { return e.Cause }

// Guard runs user code. It returns a *UserError with the stack, for an error of f
// and for a panic. what names the code in messages. Of an attempt that is killed it returns
// runs.ErrKilled.
func Guard(what string, f func() error) (err error) {
	defer func() {
		p := recover()
		if user, is := p.(*UserError); is { // of user code that f calls
			err = user
		} else if p == any(runs.ErrKilled) { // an Emitter ended the code
			err = runs.ErrKilled
		} else if p != nil {
			cause, isErr := p.(error)
			if isErr {
				cause = fmt.Errorf("panic: %w", cause)
			} else {
				cause = fmt.Errorf("panic: %v", p)
			}
			err = &UserError{What: what, Cause: cause, Stack: debug.Stack()}
		}
	}()
	if err := f(); err != nil {
		return &UserError{What: what, Cause: err, Stack: debug.Stack()}
	}
	return nil
}

// GuardNew returns the job with guarded constructors: one that panics still panics, with a
// *UserError that names it.
func GuardNew(j jobs.Job) jobs.Job {
	j.NewMapper = guardNew("new mapper", j.NewMapper)
	j.NewReducer = guardNew("new reducer", j.NewReducer)
	j.NewCombiner = guardNew("new combiner", j.NewCombiner)
	j.NewFolder = guardNew("new folder", j.NewFolder)
	j.NewReleaser = guardNew("new releaser", j.NewReleaser)
	return j
}

func guardNew[T any](what string, create func() T) func() T {
	if create == nil {
		return nil // what a job does not have means something
	}
	return func() (made T) {
		if err := Guard(what, func() error { made = create(); return nil }); err != nil {
			panic(err)
		}
		return made
	}
}
