package engine

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"

	"mrlocal/input"
	"mrlocal/input/feed"
	"mrlocal/internal/errs"
	"mrlocal/internal/guard"
	"mrlocal/jobs"
	"mrlocal/output"
	"mrlocal/shuffle"
	"mrlocal/shuffle/record"
	"mrlocal/slots"
	"mrlocal/spill"
)

// mapAttempt is an attempt of a map task.
type mapAttempt struct {
	attempt
	source   feed.Source      // what it reads
	handOver chan feed.Source // brings source to an attempt that waits for it; nil: it does not wait

	// ---- of the slot's thread
	buf    *spill.Buffer // the kvbuffer that it emits to; nil: it is map-only, and emits to text
	out    jobs.Emitter  // buf or text
	spills bool          // buf has begun to spill

	record    int64 // where the mapper stands in its block (jobs.Block.Watched); -1: it does not say
	readBytes int64 // of the source, for which it has waited at the tracker's slowed-down disk
}

// awaitSource waits until the attempt that still reads the source hands it over, if there is one. It returns
// jobs.ErrKilled if this attempt is killed meanwhile.
func (a *mapAttempt) awaitSource() error {
	if a.handOver != nil {
		a.waiting.Store(true)
		defer a.waiting.Store(false)
		select {
		case a.source = <-a.handOver:
		case <-a.ctx.Done():
			return jobs.ErrKilled
		}
	}
	// A piece of a stream has a lease of its own already. The floor must fit next to it.
	if held, ok := a.source.(*feed.Held); ok {
		a.floorBytes = min(a.floorBytes, a.run.budget.Limit()-held.Bytes())
	}
	return nil
}

// runMap is the life of a map attempt. It returns the map output, which the caller owns; nil: the job is
// map-only, and the attempt has committed its part. If the error is that a record did not fit, the slot's
// thread calls runMap again, with a larger floor (needsMore).
//
// The way of a record from its file to the kvbuffer, and who owns its chunk, stand in the comment of
// package input.
func (a *mapAttempt) runMap() (*shuffle.MapOutput, error) {
	// Get room. What is not committed in the end is dropped.
	if err := a.getRoom(); err != nil {
		return nil, err
	}
	defer a.leaveRoom()

	// Open the output and the input.
	mapper := a.job.spec.NewMapper() // first, because it may panic
	if err := a.openOut(); err != nil {
		return nil, err
	}
	if a.buf != nil {
		// A spill under way calls the combiner, which leaveRoom closes. Once Close has succeeded, this does nothing.
		defer a.buf.Discard()
	}
	a.readBytes = 0
	in, err := a.source.Open(feed.Memory{Lease: a.lease})
	if err != nil {
		return nil, err
	}
	defer func() { _ = a.closeIn(in) }() // an attempt that has failed keeps its error
	if err := a.begin(mapper); err != nil {
		return nil, err
	}

	// Map the blocks.
	totalBytes := a.source.StoredBytes()
	for a.next(in) {
		b := in.Block()
		a.lend(b, totalBytes)
		a.record = -1
		err := guard.Run("map", func() error { return mapper.Map(b.Watched(&a.record), a.out) })
		if err := cmp.Or(err, a.reclaim()); err != nil {
			return nil, a.inFile(err, b.Block)
		}
		// This happens once per block: once per record would be too slow. Emit notices a kill within a long
		// block.
		a.tick(b.ConsumedBytes, totalBytes)
		if a.stretch(leastPause); a.killed() {
			return nil, jobs.ErrKilled
		}
	}
	if err := a.closeIn(in); err != nil {
		return nil, err
	}
	if f, ok := mapper.(jobs.Flusher); ok {
		if err := guard.Run("flush", func() error { return f.Flush(a.out) }); err != nil {
			return nil, err
		}
	}

	// Finish, and commit.
	out, err := a.closeOut()
	if err == nil {
		err = a.finish(func() error { return a.commit(out) })
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// openOut makes the kvbuffer or, in a map-only job, opens the part.
func (a *mapAttempt) openOut() (err error) {
	if a.job.mapOnly() {
		err = a.openPart()
		a.out = a.emitter(a.text)
		return err
	}
	if a.buf, err = spill.NewBuffer(a.bufferOptions()); err != nil {
		return err
	}
	a.out = a.buf
	a.phase(slots.PhaseCompute)
	return nil
}

// next moves to the next block of in, and counts its records and bytes.
func (a *mapAttempt) next(in feed.Blocks) bool {
	if !in.Next() {
		return false
	}
	b, spec := in.Block(), &a.job.spec
	a.readFromDisk(b.ConsumedBytes - a.readBytes)
	a.readBytes = b.ConsumedBytes
	// Records are counted by their delimiters, in one pass over the block. The mapper does not report
	// how many it finds.
	if !a.job.chain.job.Uncounted {
		a.counters.MapInputRecords += countRecords(b.Block, spec.Delim.Byte(), spec.RecordBytes)
	}
	a.counters.MapInputBytes += int64(len(b.Data))
	return true
}

// lend lets the kvbuffer take over the chunk of the block that is mapped next, until reclaim.
func (a *mapAttempt) lend(b input.LentBlock, totalBytes int64) {
	if a.buf != nil {
		// The rule of growth needs to know how much of the split made the buffer full.
		a.buf.SetProgress(b.ConsumedBytes, totalBytes)
		a.buf.Lend(b.Loan, b.Data)
	}
}

// reclaim ends what lend began. It returns the first error of what the mapper has emitted to: Emit
// returns none.
func (a *mapAttempt) reclaim() error {
	if a.buf == nil {
		return a.text.err
	}
	a.buf.Reclaim()
	return a.buf.Err()
}

// closeIn closes the source, and returns the error that has ended the reading. A second call does nothing
// but to return the error again.
func (a *mapAttempt) closeIn(in feed.Blocks) error {
	// If the mapper has ended the goroutine, the kvbuffer may still have the block.
	if a.buf != nil {
		a.buf.Reclaim()
	}
	err := in.Close()
	// A failure of the input is permanent. A part of a job before is a temporary file: another attempt may
	// be able to read it.
	if _, part := a.source.(feed.Part); err != nil && !part {
		err = feed.Input(err)
	}
	return err
}

// closeOut ends the part or the kvbuffer. It returns the map output of the kvbuffer.
func (a *mapAttempt) closeOut() (*shuffle.MapOutput, error) {
	if a.buf == nil {
		return nil, a.closePart()
	}
	if err := errors.Join(a.buf.Err(), a.endOutputs()); err != nil {
		return nil, err
	}
	// The last sort and spill are the I/O period of [Split11]. A map whose output stays in memory has no
	// I/O period.
	if !a.run.fits || a.spills {
		a.phase(slots.PhaseIO)
	}
	out, err := a.buf.Close()
	if err != nil {
		return nil, err
	}
	a.undo = append(a.undo, out.Release)
	s, c := a.buf.Stats(), &a.counters
	c.MapOutputRecords += s.Records
	c.MapOutputBytes += s.Bytes
	c.CombineInputRecords += s.CombineIn
	c.CombineOutputRecords += s.CombineOut
	c.SpilledRecords += s.SpilledRecords
	c.SpilledBytes += s.SpilledBytes
	c.Spills += s.Spills
	c.KVBufferExpansions += s.Expansions
	a.awaitDisk()
	return out, nil
}

// commit commits the part or, if a later run may need it, the map output.
func (a *mapAttempt) commit(out *shuffle.MapOutput) error {
	if a.buf == nil {
		return a.part.Commit()
	}
	if a.bare != nil {
		// If an earlier attempt has succeeded, and its map output is lost, its files are those of the task.
		if err := a.bare.Commit(); err != nil && !errors.Is(err, output.ErrLost) {
			return err
		}
	}
	if a.job.keeper != nil {
		err := out.Store(func(s shuffle.Stored) error { return a.job.keeper.Commit(int(a.id.Task), s, &a.counters) })
		if err != nil {
			return err
		}
	}
	// A reduce waits as long as its disk takes to read what this attempt has spilled (readSpills).
	if a.run.disks != nil {
		a.job.makers.Store(out, &a.attempt)
	}
	return nil
}

// notify is notifySpill of the kvbuffer.
func (a *mapAttempt) notify(e shuffle.Event) {
	if e.Kind == shuffle.SpillStart { // on the attempt's thread
		a.spills = true
	}
	a.notifySpill(e)
}

// bufferOptions returns the options of the attempt's kvbuffer.
func (a *mapAttempt) bufferOptions() spill.Options {
	j, r := a.job, a.run
	o := spill.Options{
		Parts: j.Parts, Cuts: j.Cuts, Partition: j.spec.Partition, AppendKey: j.spec.AppendKey,
		SortLate:   r.fits,
		StartBytes: min(r.sortBufferBytes, max(spill.LeastBytes, a.floorBytes-a.roomBytes-overheadBytes)), KVBuffer: r.o.KVBuffer,
		Lease: a.lease, Seed: r.hashSeed, AfmBytes: r.afmBytes, CreateTemp: r.createTemp("map"),
		Killed: a.killed, Late: a.user.emittedLate, Guard: guard.Own, Notify: a.notify,
		// A helper thread of the slot spills, so that this does not use another core.
		Background: func(f func()) { r.pool.Helper(a.slot, a.labelled("spill", f)) },
	}
	if j.spec.NewCombiner != nil {
		o.Combiner = func() jobs.Reducer {
			c := j.spec.NewCombiner()
			if err := a.begin(c); err != nil {
				panic(err)
			}
			return c
		}
	}
	if j.keeper != nil {
		o.OnDisk, o.CreateTemp = true, j.keeper.Create
	}
	// A frequent key may have several parts. Each map sends it to one of them.
	if j.Spread > 0 {
		o.Cuts = record.OwnCuts(j.Cuts, int(a.id.Task), j.Spread)
	}
	if j.Parts == 1 {
		o.Ranges = &j.ranges
	}
	if group := j.spec.GroupBytes; group != nil && o.Partition == nil {
		o.Partition = func(key []byte, parts int) int { return spill.HashPartition(jobs.GroupOf(key, group), parts) }
	} else if group != nil {
		o.Partition = jobs.OneReduce(o.Partition, group)
	}
	// A total order without cut points has one part. An empty list, unlike nil, keeps the
	// kvbuffer from dividing keys by their hashes.
	if j.spec.Ordered && j.spec.Partition == nil && j.Cuts == nil {
		o.Cuts = [][]byte{}
	}
	if j.spec.NewFolder != nil {
		o.Folder = j.spec.NewFolder()
	}
	return o
}

// inFile adds the place of the block in the input to an error. An error of the side data gets the name of
// its file instead.
func (a *mapAttempt) inFile(err error, b jobs.Block) error {
	if side, ok := errors.AsType[*jobs.SideError](err); ok {
		return errs.Inputf(cmp.Or(a.job.sidePath, "side data"), "%w", side.Err)
	}
	if b.Path == "" { // the job has no input
		return err
	}
	if a.record < 0 { // the mapper divides the block itself
		return fmt.Errorf("%s in the block at byte %d: %w", b.Path, b.Offset, err)
	}
	return fmt.Errorf("%s at byte %d: %w", b.Path, b.Offset+a.record, err)
}

// countRecords returns how many records a block has. The last one may lack its delimiter.
// recordBytes is the size of records of fixed size; 0: records are pairs, or end with delim.
func countRecords(b jobs.Block, delim byte, recordBytes int) (n int64) {
	data := b.Data
	switch {
	case b.Paired:
		for range b.Pairs() {
			n++
		}
		return n
	case recordBytes > 0:
		return int64(len(data) / recordBytes)
	}
	n = int64(bytes.Count(data, []byte{delim}))
	if len(data) > 0 && data[len(data)-1] != delim {
		n++
	}
	return n
}
