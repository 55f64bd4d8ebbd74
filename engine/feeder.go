package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"mrlocal/input"
	"mrlocal/internal/affinity"
	"mrlocal/internal/membudget"
)

// feeder announces the map tasks of a job in input order. Splits of files are
// announced at once; a stream (standard input, a FIFO, a large compressed
// file) is decoded here, by one goroutine, into pieces that wait in leased
// memory for their maps. At most `held` pieces exist at a time.
type feeder struct {
	run        *run
	job        *jobRun
	plan       *input.Plan
	cancel     context.CancelCauseFunc
	ctx        context.Context
	tokens     chan struct{} // one for each piece that may be in memory
	stream     *input.Stream // the one being decoded
	file       int32
	offset     int64
	lease      *membudget.Lease // of the piece being filled
	tokensHeld int              // by the piece being filled
	primed     *heldSource      // decoded before the job was submitted, for sampling
	done       chan struct{}
}

func newFeeder(r *run, j *jobRun, plan *input.Plan) *feeder {
	f := &feeder{run: r, job: j, plan: plan, tokens: make(chan struct{}, r.heldPieces), done: make(chan struct{}), file: -1}
	f.ctx, f.cancel = context.WithCancelCause(r.ctx)
	return f
}

// serve announces everything, then says that the total is final.
func (f *feeder) serve(post func(func())) {
	defer close(f.done)
	defer f.run.leaveMemory()
	if !f.run.o.NoPin {
		// One stream's decoder shares the core of the first slot, so that one
		// map slot never quietly uses two cores.
		runtime.LockOSThread()
		_ = affinity.Bind(f.run.cores[0])
	}
	announce := func(s source, last bool) {
		post(func() { f.job.announce(s, last) })
	}
	streams := f.plan.Streams
	for i := range f.plan.Splits {
		split := &f.plan.Splits[i]
		for len(streams) > 0 && streams[0] < split.Order.File {
			if err := f.decode(streams[0], announce); err != nil {
				post(func() { f.job.feederFailed(err) })
				return
			}
			streams = streams[1:]
		}
		announce(fileSource{f.plan, split, f.job.skippedBinary}, false)
	}
	for _, file := range streams {
		if err := f.decode(file, announce); err != nil {
			post(func() { f.job.feederFailed(err) })
			return
		}
	}
	announce(nil, true)
}

// decode announces the pieces of one stream.
func (f *feeder) decode(file int32, announce func(source, bool)) error {
	for {
		piece, err := f.piece(file)
		if err != nil || piece == nil {
			return err
		}
		announce(piece, false)
	}
}

// prime decodes the first piece of the first stream ahead of the job, so that
// cut points can be sampled from it.
func (f *feeder) prime() (*heldSource, error) {
	piece, err := f.piece(f.plan.Streams[0])
	f.primed = piece
	return piece, err
}

// piece decodes the next piece of file; nil at its end.
func (f *feeder) piece(file int32) (*heldSource, error) {
	if p := f.primed; p != nil && p.file == file {
		f.primed = nil
		return p, nil
	}
	if f.file != file {
		stream, err := f.plan.OpenStream(file, feedMemory{f})
		if err != nil {
			return nil, err
		}
		f.stream, f.file, f.offset = stream, file, 0
	}
	f.tokensHeld = 0
	if err := f.takeTokens(1); err != nil {
		return nil, err
	}
	lease, err := f.run.budget.Reserve(f.ctx, f.run.heldBytes+2*membudget.ChunkBytes)
	if err != nil {
		return nil, err
	}
	f.lease = lease
	p := &heldSource{plan: f.plan, file: file, lease: lease, offset: f.offset}
	for p.bytes < f.run.heldBytes && f.stream.Next() {
		b := f.stream.Block()
		p.blocks = append(p.blocks, heldBlock{b, f.stream.Chunk()})
		f.stream.Keep()
		p.bytes += int64(len(b.Data))
	}
	f.offset += p.bytes
	held := f.tokensHeld
	p.free = func() {
		for range held {
			<-f.tokens
		}
	}
	if err := f.stream.Err(); err != nil {
		p.release()
		return nil, inputError{err}
	}
	if len(p.blocks) == 0 {
		if f.stream.Skipped() {
			f.job.skippedBinary([]int32{file})
		}
		f.stream.Close()
		p.release()
		return nil, nil
	}
	return p, nil
}

// takeTokens waits until the piece being filled holds n tokens.
func (f *feeder) takeTokens(n int) error {
	for f.tokensHeld < n {
		select {
		case f.tokens <- struct{}{}:
			f.tokensHeld++
		case <-f.ctx.Done():
			return context.Cause(f.ctx)
		}
	}
	return nil
}

// stop ends the feeder. It is not waited for: it may hang in a read that
// cannot be interrupted (a FIFO nobody writes to).
func (f *feeder) stop(cause error) {
	if cause == nil {
		cause = errors.New("job ended")
	}
	f.cancel(cause)
}

// feedMemory leases what a stream reads into from the piece being filled.
type feedMemory struct{ f *feeder }

func (m feedMemory) Get(n int) (*membudget.Chunk, error) {
	f := m.f
	if int64(n) > membudget.ChunkBytes || f.lease.Available() < membudget.ChunkBytes {
		// A giant record. Its piece is the only one in memory until its map has
		// committed, so that this map finds room for its floor beside it.
		if err := f.takeTokens(f.run.heldPieces); err != nil {
			return nil, err
		}
	}
	c, err := taskMemory{f.lease}.Get(n)
	var room *roomError
	if !errors.As(err, &room) {
		return c, err
	}
	extra, err := f.run.budget.Reserve(f.ctx, int64(max(n, membudget.ChunkBytes)))
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
	extra.Transfer(f.lease, c)
	extra.Close()
	return c, nil
}

func (m feedMemory) Put(c *membudget.Chunk) { m.f.lease.Free(c) }

// Charge accounts for a stream's decoder, which outlives the pieces.
func (m feedMemory) Charge(bytes int64) (release func(), err error) {
	lease, ok := m.f.run.budget.TryReserve(bytes)
	if !ok {
		return nil, &roomError{bytes, fmt.Sprintf("a decoder's window of %d bytes", bytes)}
	}
	return lease.Close, nil
}
