package source

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"

	"mrlocal/input"
	"mrlocal/internal/membudget"
)

// Pieces bounds what the feeders of a run keep in memory together. Each piece that
// a feeder fills, or that waits for its map, holds a token.
//
// Feeders do not wait for each other for ever. A limited number of them decode at a
// time, a piece needs one token, and maps take the pieces that wait. Only a giant
// record takes more tokens: one record at a time, and never those that the other
// feeders need.
type Pieces struct {
	bytes  int64 // of one piece
	count  int
	most   int           // tokens that a giant record takes
	tokens chan struct{} // one for each piece that may be in memory
	turns  chan struct{} // one for each feeder that may decode
	giants chan struct{} // one for the piece that may take many tokens

	windowsBytes func(limitBytes int64) int64 // what decoders with large windows may take together
	windows      atomic.Int64                 // what they have taken

	aheadBytes int64       // what decoding ahead may take
	shed       atomic.Bool // nothing is decoded ahead any more
}

// smallWindowBytes is what package input lets every decoder keep. The budget does
// not count it for feeders: it would be leased as long as the stream lasts, and
// maps need room for their floors until then.
const smallWindowBytes = 8 << 20

// mostFeeders is how many streams are decoded at a time. More feeders would take
// memory from the maps that read their pieces.
const mostFeeders = 4

// NewPieces allows a piece for each slot and for each feeder that decodes. A piece has
// blockBytes, or less where the pieces would take an eighth of limitBytes. The only
// feeder of a run may take aheadBytes to decode ahead.
func NewPieces(limitBytes, blockBytes, aheadBytes int64, slots, streamJobs int) *Pieces {
	feeders := min(streamJobs, mostFeeders)
	count := slots + feeders
	// The two chunks are those of pieceBytes. They too count in the eighth.
	bytes := max(membudget.ChunkBytes, min(blockBytes, limitBytes/8/int64(count)-2*membudget.ChunkBytes))
	return &Pieces{
		bytes: bytes, count: count, most: count - feeders + 1, aheadBytes: aheadBytes,
		tokens: make(chan struct{}, count), turns: make(chan struct{}, feeders), giants: make(chan struct{}, 1),
	}
}

// TotalBytes returns what all pieces may take together.
func (p *Pieces) TotalBytes() int64 { return int64(p.count) * p.pieceBytes() }

// AllowWindows sets how many bytes decoders with larger windows than usual may take
// together, of a budget of limitBytes. It is called once, before any feeder serves.
// The bytes that are left must be enough for a map.
func (p *Pieces) AllowWindows(bytes func(limitBytes int64) int64) { p.windowsBytes = bytes }

// DecoderBytes returns what decoders hold, or may take to decode ahead, as long as
// their streams last. A floor must not wait for it.
func (p *Pieces) DecoderBytes() int64 { return p.windows.Load() + p.mayAhead() }

// mayAhead returns what decoding ahead may still take.
func (p *Pieces) mayAhead() int64 {
	if p.shed.Load() {
		return 0
	}
	return p.aheadBytes
}

// takeWindow takes bytes of what AllowWindows allows. Where too little is left, the
// error names the least bound that would do.
func (p *Pieces) takeWindow(bytes, limitBytes int64, what string) error {
	taken := p.windows.Add(bytes)
	if taken <= p.windowsBytes(limitBytes) {
		return nil
	}
	p.windows.Add(-bytes)
	// What windows may take is no simple function of the bound, so larger bounds are tried.
	enough := limitBytes>>20<<20 + 1<<20
	for p.windowsBytes(enough) < taken {
		enough += 1 << 20
	}
	return fmt.Errorf("%w to %dMiB", &RoomError{Bytes: bytes, What: what}, enough>>20)
}

// pieceBytes is the lease of a piece: its bytes, the record that crosses its end, and
// a chunk that is not full.
func (p *Pieces) pieceBytes() int64 { return p.bytes + 2*membudget.ChunkBytes }

// take waits until it can send a token to c.
func take(ctx context.Context, c chan struct{}) error {
	select {
	case c <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Feeder finds the sources of a job in input order. Splits of files are announced at once. A
// stream (standard input, a FIFO, a large compressed file) is decoded here, by one goroutine.
// Its pieces wait in leased memory for their maps.
type Feeder struct {
	// Found, if not nil, yields one plan after the other. NewFeeder then gets none.
	Found iter.Seq2[*input.Plan, error]

	plan    *input.Plan
	budget  *membudget.Budget
	pieces  *Pieces
	skipped func(files []int32)
	cancel  context.CancelCauseFunc
	ctx     context.Context

	stream *input.Stream // the one being decoded
	// The index of that stream in the plan; -1: none was opened yet.
	file int32
	// Where the next piece begins in the decoded text.
	offset      int64
	lease       *membudget.Lease // of the piece being filled
	tokensHeld  int              // by the piece being filled
	giant       bool             // the piece being filled may take many tokens
	besideBytes int64            // of the records of that piece, taken beside a window
	unwanted    atomic.Pointer[streamOf]
	primed      *Held // decoded before the job was submitted, for sampling
	ahead       int64 // leased to decode ahead
}

// streamOf names a stream.
type streamOf struct {
	plan *input.Plan
	file int32
}

// EndFile says that nothing more of the file of s is of use. A stream is then read no
// further than to the end of the block at hand. It may be called from any goroutine.
func (f *Feeder) EndFile(s Source) {
	if h, ok := s.(*Held); ok {
		f.unwanted.Store(&streamOf{h.plan, h.file})
	}
}

// wanted reports whether EndFile has left a file of the plan at hand.
func (f *Feeder) wanted(file int32) bool {
	u := f.unwanted.Load()
	return u == nil || *u != streamOf{f.plan, file}
}

// NewFeeder makes the feeder of a plan. It ends with ctx. skipped is called with the
// streams that are left out as binary.
func NewFeeder(ctx context.Context, plan *input.Plan, budget *membudget.Budget, pieces *Pieces, skipped func(files []int32)) *Feeder {
	f := &Feeder{plan: plan, budget: budget, pieces: pieces, skipped: skipped, file: -1}
	f.ctx, f.cancel = context.WithCancelCause(ctx)
	return f
}

// Serve announces every source, and then nil, which says that there are no more.
func (f *Feeder) Serve(announce func(s Source)) error {
	if err := take(f.ctx, f.pieces.turns); err != nil {
		return err
	}
	defer func() {
		if f.stream != nil {
			f.stream.Close() // it may still decode ahead
		}
		<-f.pieces.turns
	}()
	if f.Found == nil {
		if err := f.serve(announce); err != nil {
			return err
		}
		announce(nil)
		return nil
	}
	for plan, err := range f.Found {
		if err == nil {
			err = context.Cause(f.ctx) // nothing else would stop a walk
		}
		if err != nil {
			return err
		}
		f.plan, f.file = plan, -1
		if err := f.serve(announce); err != nil {
			return err
		}
	}
	announce(nil)
	return nil
}

// serve announces every source of the plan at hand.
func (f *Feeder) serve(announce func(s Source)) error {
	streams := f.plan.Streams
	for i := range f.plan.Splits {
		split := &f.plan.Splits[i]
		// Streams that stand before this split in the input come first.
		for len(streams) > 0 && streams[0] < split.Order.File {
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

// Prime decodes the first piece of the first stream before the job is submitted, so that cut
// points can be sampled from it. It is nil if the stream is empty. Serve announces that piece
// first.
func (f *Feeder) Prime() (*Held, error) {
	piece, err := f.piece(f.plan.Streams[0])
	f.primed = piece
	if err != nil && f.stream != nil {
		f.stream.Close()
	}
	return piece, err
}

// Forget gives back the piece that Prime has decoded, whose file can be read again.
// A piece that no map may read yet must not keep its token from others.
func (f *Feeder) Forget() {
	if f.primed == nil {
		return
	}
	f.primed.Release()
	f.stream.Close()
	f.primed, f.stream, f.file = nil, nil, -1
}

// piece decodes the next piece of file; nil: the file has ended.
func (f *Feeder) piece(file int32) (*Held, error) {
	if p := f.primed; p != nil && p.file == file {
		f.primed = nil
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
	defer f.endGiant()
	lease, err := f.budget.Reserve(f.ctx, f.pieces.pieceBytes())
	if err != nil {
		f.giveTokens(f.tokensHeld)
		return nil, err
	}
	f.lease = lease
	p := &Held{plan: f.plan, file: file, lease: lease, offset: f.offset}
	for paused := false; !paused && p.bytes < f.pieces.bytes && f.wanted(file) && f.stream.Next(); paused = f.stream.Paused() {
		b := f.stream.Block()
		p.blocks = append(p.blocks, heldBlock{b.Block, b.Loan.Chunk})
		b.Loan.Take(f.lease)
		p.bytes += int64(len(b.Data))
	}
	f.offset += p.bytes
	// The closure may run on another goroutine, when these fields are those of a later piece.
	held, beside := f.tokensHeld, f.besideBytes
	p.free = func() { f.giveTokens(held); f.pieces.windows.Add(-beside) }
	if err := f.stream.Err(); err != nil {
		p.Release()
		if f.plan.Missed(file, err) {
			f.stream.Close() // it is known already
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
func (f *Feeder) takeTokens(n int) error {
	for ; f.tokensHeld < n; f.tokensHeld++ {
		// Two feeders could each hold half of the tokens and wait for the rest. Only one at a time
		// may want many (giants).
		if err := take(f.ctx, f.pieces.tokens); err != nil {
			f.giveTokens(f.tokensHeld)
			f.tokensHeld = 0
			return err
		}
	}
	return nil
}

// giveTokens gives n tokens back.
func (f *Feeder) giveTokens(n int) {
	for range n {
		<-f.pieces.tokens
	}
}

// takeGiant makes the piece being filled the only one in memory until its map has
// committed, except those that other feeders are filling. So the map finds room for
// its floor beside it.
func (f *Feeder) takeGiant() error {
	if !f.giant {
		if err := take(f.ctx, f.pieces.giants); err != nil {
			return err
		}
		f.giant = true
		// Nothing but the record and its map needs memory now.
		f.pieces.shed.Store(true)
		f.stream.Shed()
	}
	return f.takeTokens(f.pieces.most)
}

// endGiant lets other pieces take many tokens.
func (f *Feeder) endGiant() {
	if f.giant {
		f.giant = false
		<-f.pieces.giants
	}
}

// Stop ends the feeder and does not wait for that: the feeder may hang in a read
// that cannot be interrupted, of a FIFO without writer.
func (f *Feeder) Stop(cause error) {
	if cause == nil {
		cause = errors.New("job ended")
	}
	f.cancel(cause)
}

// feedMemory is the memory that a stream reads into: the lease of the piece being
// filled.
type feedMemory struct{ f *Feeder }

// Get returns a chunk of at least n bytes. Where the piece's lease is too small, the
// record in it is a giant: it gets tokens and memory of its own.
func (m feedMemory) Get(n int) (*membudget.Chunk, error) {
	f := m.f
	extraBytes := int64(max(n+bigSlackBytes, membudget.ChunkBytes))
	if int64(n) > membudget.ChunkBytes || f.lease.Available() < membudget.ChunkBytes {
		if err := f.takeGiant(); err != nil {
			return nil, err
		}
		if f.pieces.windows.Load() > 0 {
			// The window stays while the map of this record waits for its floor.
			what := fmt.Sprintf("a record of %d bytes beside a decoder's window", n)
			if err := f.pieces.takeWindow(extraBytes, f.budget.Limit(), what); err != nil {
				return nil, err
			}
			f.besideBytes += extraBytes
		}
	}
	// Where the lease cannot grow, the record gets memory of its own below.
	c, err := Memory{f.lease}.Get(n)
	var room *RoomError
	if !errors.As(err, &room) {
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

// Spare gives memory for decoding ahead, if that is free.
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

// Charge accounts for the decoder of a stream, which lives longer than pieces. It
// waits for a large window: attempts end, and their outputs can be evicted.
func (m feedMemory) Charge(bytes int64) (release func(), err error) {
	if bytes <= smallWindowBytes {
		return func() {}, nil
	}
	p := m.f.pieces
	p.shed.Store(true) // the helpers of this file have ended
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
