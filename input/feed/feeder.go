package feed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"mrlocal/input"
	"mrlocal/internal/errs"
	"mrlocal/internal/membudget"
	"mrlocal/jobs"
)

// Pieces bounds how much the feeders of a run keep in memory together. Each piece that
// a feeder fills, or that waits for its map, holds a token.
//
// Feeders do not wait for each other for ever. A limited number of them decode at a
// time, a piece needs one token, and maps take the pieces that wait. Only a giant
// record takes more tokens. It takes them at once, and leaves the tokens that the
// other feeders need.
type Pieces struct {
	bytes  int64               // of decoded text in one piece
	count  int64               // of pieces
	most   int64               // tokens that a giant record takes
	tokens *semaphore.Weighted // one for each piece that may be in memory
	turns  *semaphore.Weighted // one for each feeder that may decode

	windowsBytes func(limitBytes int64) int64 // most bytes of decoders with large windows together (AllowWindows)
	windows      atomic.Int64                 // bytes that they have taken

	aheadBytes int64       // most bytes of decoding ahead
	shed       atomic.Bool // set: no feeder decodes ahead any more
}

// smallWindowBytes is the window that package input allows every decoder. Feeders do
// not lease it: such a lease would last as long as the stream, and maps need the memory
// for their floors until then.
const smallWindowBytes = 8 << 20

// mostFeeders is the largest number of streams that are decoded at a time. More feeders
// would take memory from the maps that read their pieces.
const mostFeeders = 4

// NewPieces makes the bounds for a run with the given numbers of slots and of jobs that read streams. It
// allows a piece for each slot and for each feeder that decodes. A piece has blockBytes, or less
// so that all pieces take at most an eighth of limitBytes. The only feeder of a run may take
// aheadBytes to decode ahead.
func NewPieces(limitBytes, blockBytes, aheadBytes int64, slots, streamJobs int) *Pieces {
	feeders := int64(min(streamJobs, mostFeeders))
	count := int64(slots) + feeders
	// pieceBytes adds two chunks to each piece. They too count in the eighth.
	bytes := max(membudget.ChunkBytes, min(blockBytes, limitBytes/8/count-2*membudget.ChunkBytes))
	return &Pieces{
		bytes: bytes, count: count, most: count - feeders + 1, aheadBytes: aheadBytes,
		tokens: semaphore.NewWeighted(count), turns: semaphore.NewWeighted(feeders),
	}
}

// TotalBytes returns the most bytes that all pieces lease together, until the run ends; 0 for nil.
func (p *Pieces) TotalBytes() int64 {
	if p == nil {
		return 0
	}
	return p.count * p.pieceBytes()
}

// AllowWindows sets how many bytes the decoders with windows above smallWindowBytes may take
// together. bytes returns that number for a budget of limitBytes. The rest of the budget must be
// enough for a map. AllowWindows is called once, before any feeder serves.
func (p *Pieces) AllowWindows(bytes func(limitBytes int64) int64) { p.windowsBytes = bytes }

// DecoderBytes returns the bytes that decoders hold, or may take to decode ahead, until their
// streams end; 0 for nil. A floor of an attempt must not wait for these bytes.
func (p *Pieces) DecoderBytes() int64 {
	if p == nil {
		return 0
	}
	return p.windows.Load() + p.mayAhead()
}

// mayAhead returns the most bytes of decoding ahead; 0 once it was shed.
func (p *Pieces) mayAhead() int64 {
	if p.shed.Load() {
		return 0
	}
	return p.aheadBytes
}

// takeWindow takes bytes for a large window, within the bound of AllowWindows. If too little is
// left, it fails with a *RoomError that names the least Options.MemoryBytes that suffices. what
// names the window in the message.
func (p *Pieces) takeWindow(bytes, limitBytes int64, what string) error {
	taken := p.windows.Add(bytes)
	if taken <= p.windowsBytes(limitBytes) {
		return nil
	}
	p.windows.Add(-bytes)
	// windowsBytes is not a simple function of the bound, so larger bounds are tried, by 1 MiB each.
	enough := limitBytes>>20<<20 + 1<<20
	for p.windowsBytes(enough) < taken {
		enough += 1 << 20
	}
	return fmt.Errorf("%w to %dMiB", &RoomError{Bytes: bytes, What: what}, enough>>20)
}

// pieceBytes is the lease of a piece: its bytes, the record that crosses its end, and
// a chunk that is not full.
func (p *Pieces) pieceBytes() int64 { return p.bytes + 2*membudget.ChunkBytes }

// Feeder announces the sources of a job in input order. It announces splits of files at once. It
// decodes a stream (standard input, a FIFO, a large compressed file) and announces each piece. The
// pieces wait in leased memory for their maps.
//
// Serve runs on one goroutine. Only EndFile and Stop may be called from others.
type Feeder struct {
	// Found, if not nil, yields one plan after the other. The plan of NewFeeder is nil then.
	Found iter.Seq2[*input.Plan, error]

	plan    *input.Plan
	budget  *membudget.Budget
	pieces  *Pieces
	skipped func(files []int32)
	sums    bool // of pieces
	cancel  context.CancelCauseFunc
	ctx     context.Context

	stream      *input.Stream    // being decoded; nil: none yet
	file        int32            // index of stream in the plan; -1: none was opened yet
	offset      int64            // where the next piece begins in the decoded text
	lease       *membudget.Lease // of the piece being filled
	tokensHeld  int64            // by the piece being filled
	besideBytes int64            // taken of Pieces.windows for giant records of the piece being filled
	unwanted    atomic.Pointer[streamOf]
	first       *Held // first piece, decoded before the job was submitted, for sampling
	ahead       int64 // bytes leased to decode ahead
}

// streamOf names a stream.
type streamOf struct {
	plan *input.Plan
	file int32
}

// EndFile notes that the job needs no more of the file of s. If the file is a stream, the feeder
// ends it after the current block. EndFile may be called from any goroutine.
func (f *Feeder) EndFile(s Source) {
	if h, ok := s.(*Held); ok {
		f.unwanted.Store(&streamOf{h.plan, h.file})
	}
}

// wanted reports whether the job still needs a file of the current plan (EndFile).
func (f *Feeder) wanted(file int32) bool {
	u := f.unwanted.Load()
	return u == nil || *u != streamOf{f.plan, file}
}

// NewFeeder makes the feeder of a plan. The feeder ends when ctx ends or Stop is called. skipped is
// called with the streams that are left out as binary. Unless the job is built in, the pieces have sums:
// a mapper may change a block in place, and the next attempt has to notice. Built-in mappers change
// letters to small ones only, and may do so again.
func NewFeeder(ctx context.Context, job *jobs.Job, plan *input.Plan, budget *membudget.Budget, pieces *Pieces, skipped func(files []int32)) *Feeder {
	f := &Feeder{plan: plan, budget: budget, pieces: pieces, skipped: skipped, sums: !job.BuiltIn, file: -1}
	f.ctx, f.cancel = context.WithCancelCause(ctx)
	return f
}

// Serve calls announce with every source, and then with nil: there are no more. announce owns
// the source. Serve waits while too many feeders decode or too many pieces are in memory. It fails
// if a stream cannot be decoded, or with the cause of Stop.
func (f *Feeder) Serve(announce func(s Source)) error {
	if f.pieces.turns.Acquire(f.ctx, 1) != nil {
		return context.Cause(f.ctx)
	}
	defer func() {
		if f.stream != nil {
			f.stream.Close() // after an error it may still decode ahead
		}
		f.pieces.turns.Release(1)
	}()
	plans := f.Found
	if plans == nil {
		plans = func(yield func(*input.Plan, error) bool) { yield(f.plan, nil) }
	}
	for plan, err := range plans {
		if err == nil {
			err = context.Cause(f.ctx) // a search does not check ctx
		}
		if err != nil {
			return err
		}
		if plan != f.plan {
			f.plan, f.file = plan, -1
		}
		if err := f.serve(announce); err != nil {
			return err
		}
	}
	announce(nil)
	return nil
}

// serve announces every source of the current plan, in input order.
func (f *Feeder) serve(announce func(s Source)) error {
	streams := f.plan.Streams
	for i := range f.plan.Splits {
		split := &f.plan.Splits[i]
		// Streams that stand before this split in the input come first.
		for len(streams) > 0 && streams[0] < split.Pieces[0].File {
			if err := f.decode(streams[0], announce); err != nil {
				return err
			}
			streams = streams[1:]
		}
		announce(File{Plan: f.plan, Split: split, Skipped: f.skipped})
	}
	for _, file := range streams {
		if err := f.decode(file, announce); err != nil {
			return err
		}
	}
	return nil
}

// decode announces the pieces of one stream.
func (f *Feeder) decode(file int32, announce func(Source)) error {
	for {
		piece, err := f.piece(file)
		if err != nil || piece == nil {
			return err
		}
		announce(piece)
	}
}

// DecodeFirst decodes the first piece of the first stream before the job is submitted, so that cut
// points can be sampled from it. It returns nil if the stream is empty. The feeder owns the piece.
// Serve announces it first.
func (f *Feeder) DecodeFirst() (*Held, error) {
	piece, err := f.piece(f.plan.Streams[0])
	f.first = piece
	if err != nil && f.stream != nil {
		f.stream.Close()
	}
	return piece, err
}

// ReleaseFirst gives back the piece that DecodeFirst has decoded, if there is one. The file of the piece must
// be readable again, unless Serve is not called. It is used where the piece would keep its token
// from jobs that run before. It does nothing for a nil Feeder.
func (f *Feeder) ReleaseFirst() {
	if f == nil || f.first == nil {
		return
	}
	f.first.Release()
	f.stream.Close()
	f.first, f.stream, f.file = nil, nil, -1
}

// piece decodes and returns the next piece of file; nil: the file has ended, or is skipped as
// binary.
func (f *Feeder) piece(file int32) (*Held, error) {
	if p := f.first; p != nil && p.file == file {
		f.first = nil
		return p, nil
	}
	if f.file != file {
		stream, err := f.plan.OpenStream(file, feedMemory{f})
		if err != nil && f.plan.Missed(file, err) {
			return nil, nil
		} else if err != nil {
			return nil, err
		}
		f.stream, f.file, f.offset = stream, file, 0
	}
	f.tokensHeld, f.besideBytes = 0, 0
	// The token comes before the lease, so that no memory is held while tokens are short.
	if err := f.takeTokens(1); err != nil {
		return nil, err
	}
	lease, err := f.budget.Reserve(f.ctx, f.pieces.pieceBytes())
	if err != nil {
		f.pieces.tokens.Release(f.tokensHeld)
		return nil, err
	}
	f.lease = lease
	p := &Held{plan: f.plan, file: file, lease: lease, offset: f.offset, sums: f.sums}
	// A piece ends when it is full, when EndFile was called, when the stream ends, or when the
	// writer of a pipe pauses.
	for paused := false; !paused && p.bytes < f.pieces.bytes && f.wanted(file) && f.stream.Next(); paused = f.stream.Paused() {
		b := f.stream.Block()
		p.blocks = append(p.blocks, heldBlock{block: b.Block, chunk: b.Loan.Chunk})
		b.Loan.Take(f.lease)
		p.bytes += int64(len(b.Data))
	}
	f.offset += p.bytes
	// free runs later, and on another goroutine. The fields belong to a later piece by then.
	held, beside := f.tokensHeld, f.besideBytes
	p.free = func() { f.pieces.tokens.Release(held); f.pieces.windows.Add(-beside) }
	if err := f.stream.Err(); err != nil {
		p.Release()
		if f.plan.Missed(file, err) {
			f.stream.Close() // Missed has reported the error
			return nil, nil
		}
		return nil, InputError{err}
	}
	if len(p.blocks) == 0 {
		if f.stream.Skipped() {
			f.skipped([]int32{file})
		}
		f.stream.Close()
		p.Release()
		return nil, nil
	}
	return p, nil
}

// takeTokens waits until the piece being filled holds n tokens.
func (f *Feeder) takeTokens(n int64) error {
	if f.tokensHeld == n {
		return nil // even Acquire of nothing would wait behind another feeder
	}
	if f.pieces.tokens.Acquire(f.ctx, n-f.tokensHeld) != nil {
		return context.Cause(f.ctx)
	}
	f.tokensHeld = n
	return nil
}

// takeGiant waits until the piece being filled is the only one in memory, except those that other
// feeders are filling. The piece keeps the tokens until its map has committed. So there is room
// for the floor of the map next to a giant record.
func (f *Feeder) takeGiant() error {
	// The memory of decoding ahead goes to the record and its map.
	f.pieces.shed.Store(true)
	f.stream.Shed()
	return f.takeTokens(f.pieces.most)
}

// Stop ends the feeder with cause. It does not wait for the end, because the feeder may hang in a
// read that cannot be interrupted. An example is the read of a FIFO without writer. It may be
// called from any goroutine. It does nothing for a nil Feeder.
func (f *Feeder) Stop(cause error) {
	if f != nil {
		f.cancel(cmp.Or(cause, errEnded))
	}
}

// errEnded ends a feeder whose job needs no more of its input.
var errEnded = errors.New("job ended")

// feedMemory is the input.Memory of the stream being decoded: the lease of the piece being
// filled. It is an input.Sparer and an input.Charger too.
type feedMemory struct{ f *Feeder }

// Get returns a chunk of at least n bytes. If the piece's lease is too small for it, the record
// is a giant. Get then waits for many tokens, and for more memory.
func (m feedMemory) Get(n int) (*membudget.Chunk, error) {
	f := m.f
	extraBytes := int64(max(n+bigSlackBytes, membudget.ChunkBytes))
	if int64(n) > membudget.ChunkBytes || f.lease.Available() < membudget.ChunkBytes {
		if err := f.takeGiant(); err != nil {
			return nil, err
		}
		if f.pieces.windows.Load() > 0 {
			// The decoder keeps its window while the map of this record waits for its floor. So
			// both count against the bound of large windows.
			what := fmt.Sprintf("a record of %d bytes next to a decoder's window", n)
			if err := f.pieces.takeWindow(extraBytes, f.budget.Limit(), what); err != nil {
				return nil, err
			}
			f.besideBytes += extraBytes
		}
	}
	// If the lease cannot grow, the record gets a lease of its own below, for which it waits.
	c, err := Memory{f.lease}.Get(n)
	room, ok := errors.AsType[*RoomError](err)
	if !ok {
		return c, err
	}
	extra, err := f.budget.Reserve(f.ctx, extraBytes)
	if err != nil {
		return nil, err
	}
	if n <= membudget.ChunkBytes {
		c, _ = extra.Chunk()
	} else {
		c, _ = extra.Big(int64(n))
	}
	if c == nil {
		extra.Close()
		return nil, room
	}
	// The chunk and what was charged for it now belong to the piece, and leave with it.
	extra.Transfer(f.lease, c)
	extra.Close()
	return c, nil
}

// Spare leases bytes for decoding ahead, if they are free and within the bound. release gives them
// back.
func (m feedMemory) Spare(bytes int64) (release func(), ok bool) {
	f := m.f
	if f.ahead+bytes > f.pieces.mayAhead() {
		return nil, false
	}
	lease, ok := f.budget.TryReserve(bytes)
	if !ok {
		return nil, false
	}
	f.ahead += bytes
	return func() { lease.Close(); f.ahead -= bytes }, true
}

// Put gives a chunk back.
func (m feedMemory) Put(c *membudget.Chunk) { m.f.lease.Free(c) }

// Charge leases the window of the decoder of a stream until release is called. A window of up to
// smallWindowBytes is free. For a larger one it waits until attempts end or their outputs are
// evicted.
func (m feedMemory) Charge(bytes int64) (release func(), err error) {
	if bytes <= smallWindowBytes {
		return func() {}, nil
	}
	p := m.f.pieces
	p.shed.Store(true) // nothing is decoded ahead with a large window; the helpers of this file have ended
	if err := p.takeWindow(bytes, m.f.budget.Limit(), "a decoder's window"); err != nil {
		return nil, err
	}
	lease, err := m.f.budget.Reserve(m.f.ctx, bytes)
	if err != nil {
		p.windows.Add(-bytes)
		return nil, err
	}
	return func() { lease.Close(); p.windows.Add(-bytes) }, nil
}

// RoomError is the error of a record, or of several records that must be in memory together, for
// which the attempt's lease is too small. The attempt starts again with a larger floor, and holds
// no lease while it waits for the floor.
type RoomError struct {
	Bytes int64  // needed at once
	What  string // what needs them, for the message
	held  int64  // bytes of all else in the lease, such as a kvbuffer
}

func (e *RoomError) Error() string { return e.Unwrap().Error() }

// Unwrap returns the text.
func (e *RoomError) Unwrap() error {
	return errs.Errorf("%s needs %d bytes of memory at once; raise %s", e.What, e.Bytes, errs.Field("Options.MemoryBytes"))
}

// Enough adds to err, which wraps e, the bound of memory that would be enough. A bound of
// limitBytes leaves roomBytes for such a record. The room grows at least in proportion to the
// bound, because floors and buffers of tasks grow more slowly. If roomBytes seem to be enough
// already, Enough counts all else that was in the lease too.
func (e *RoomError) Enough(err error, limitBytes, roomBytes int64) error {
	if roomBytes <= 0 {
		return err
	}
	share := float64(limitBytes) / float64(roomBytes)
	bytes := int64(share * float64(e.Bytes))
	if bytes <= limitBytes {
		bytes = max(int64(share*float64(e.Bytes+e.held)), limitBytes)
	}
	return fmt.Errorf("%w to %dMiB", err, bytes>>20+1)
}

// Memory is the leased memory of an attempt, for input blocks.
type Memory struct{ Lease *membudget.Lease }

// Get returns a chunk of at least n bytes, which the caller gives back with Put. It grows the
// lease if it must. It fails with a *RoomError. Up to half a chunk it returns a part of one,
// because a kvbuffer may hold the blocks of very many small files.
func (m Memory) Get(n int) (*membudget.Chunk, error) {
	if c, _, ok := m.Lease.Take(int64(n)); ok {
		return c, nil
	}
	charged := int64(membudget.ChunkBytes)
	if n > membudget.ChunkBytes {
		charged = int64(n) + bigSlackBytes
	}
	// The next attempt needs the window of a decoder (Charge) at the same time as the chunk. All
	// else in the lease may need less by then.
	window := m.Lease.Charged()
	room := &RoomError{Bytes: charged + window, What: "an input block", held: m.Lease.Granted() - m.Lease.Available() - window}
	if n > membudget.ChunkBytes {
		room.Bytes, room.What = room.Bytes+membudget.ChunkBytes, fmt.Sprintf("a record of %d bytes", n)
	}
	return nil, room
}

// bigSlackBytes is the most that rounding to pages adds to a large chunk.
const bigSlackBytes = 64 << 10

// Charge counts the window that a decoder keeps on the Go heap against the lease. It fails with a
// *RoomError. The attempt then starts again with a floor that has room for the window. release
// counts the window off again.
func (m Memory) Charge(bytes int64) (release func(), err error) {
	grown := int64(0)
	if m.Lease.Grow(bytes) {
		grown = bytes
	}
	if !m.Lease.Charge(bytes) {
		m.Lease.Shrink(grown)
		return nil, &RoomError{Bytes: bytes, What: "a decoder's window"}
	}
	return func() { m.Lease.Discharge(bytes); m.Lease.Shrink(grown) }, nil
}

// Put gives a chunk back.
func (m Memory) Put(c *membudget.Chunk) { m.Lease.Free(c) }
