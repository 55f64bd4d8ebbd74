package engine

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"time"

	"mrlocal/input"
	"mrlocal/input/feed"
	"mrlocal/internal/errs"
	"mrlocal/internal/guard"
	"mrlocal/jobs"
	"mrlocal/shuffle"
	"mrlocal/slots"
	"mrlocal/spill"
	"mrlocal/trace"
)

// Map runs a map attempt on its slot's thread. It returns the map output, which the caller
// owns. The output is nil in a map-only job, which writes a part instead.
func (a *SlotAttempt) Map(src feed.Source) (out *shuffle.MapOutput, err error) {
	// The piece has a lease of its own already. The floor must fit beside it.
	if held, ok := src.(*feed.Held); ok {
		a.heldBytes = held.Bytes()
	}
	err = a.withRoom(func() (err error) {
		if a.Job.MapOnly() {
			return a.mapToOutput(src)
		}
		out, err = a.mapToBuffer(src)
		return err
	})
	if err == nil {
		a.detail(trace.OpTimes, int64(a.readTime), int64(a.sortTime), int64(a.spillTime))
	}
	return out, err
}

// mapToBuffer maps the source into a kvbuffer and returns what the kvbuffer leaves: the map
// output.
func (a *SlotAttempt) mapToBuffer(src feed.Source) (*shuffle.MapOutput, error) {
	mapper := a.Job.Spec.NewMapper() // first, because it may panic
	buf, err := spill.NewBuffer(a.bufferOptions())
	if err != nil {
		return nil, err
	}
	defer buf.Discard() // it does nothing once Close has succeeded
	a.phase(slots.PhaseCompute)
	total := src.StoredBytes()
	err = a.feed(src, mapper, buf, func(b input.LentBlock) error {
		// The rule of growth needs to know how much of the split made the buffer full.
		buf.SetProgress(b.ConsumedBytes, total)
		// The kvbuffer may take the block's chunk over between Lend and Reclaim only, while the
		// mapper passes spans of that block.
		err := lent(buf, b, func() error {
			return guard.Run("map", func() error { return mapper.Map(b.Block, buf) })
		})
		// Emit returns no error; the buffer keeps the first one.
		if err == nil {
			err = buf.Err()
		}
		return err
	})
	if err == nil {
		err = errors.Join(buf.Err(), a.endOutputs())
	}
	if err != nil {
		return nil, err
	}
	// The last sort and spill are the I/O period of [Split11]. A map whose output stays in
	// memory has no I/O period.
	if !a.Env.Fits || a.spills || a.spilledBytes.Load() > 0 {
		a.phase(slots.PhaseIO)
	}
	out, err := buf.Close()
	if err != nil {
		return nil, err
	}
	kept := false
	defer func() {
		if !kept {
			out.Release()
		}
	}()
	began := time.Now()
	a.awaitDisk()
	a.spillTime += time.Since(began)
	a.addBuffer(buf.Stats())
	if err = a.closeUser(); err == nil {
		err = a.atEnd()
	}
	if err == nil {
		err = a.keep(out)
	}
	if err != nil {
		return nil, err
	}
	kept = true
	a.user.commit()
	// A reduce waits as long as its disk takes to read what this attempt has spilled
	// (readSpills).
	if a.Env.Pace != nil {
		a.Job.makers.Store(out, a)
	}
	return out, nil
}

// lent calls work while the buffer may take the chunk of a block over. The loan ends even if work ends
// the goroutine, because a spill may still read the chunk.
func lent(buf *spill.Buffer, b input.LentBlock, work func() error) error {
	buf.Lend(b.Loan, b.Data)
	defer buf.Reclaim()
	return work()
}

// keep commits the map output to the Keeper, if a later run may need it.
func (a *SlotAttempt) keep(out *shuffle.MapOutput) error {
	if a.Job.Keeper == nil {
		return nil
	}
	return out.Store(func(s shuffle.Stored) error { return a.Job.Keeper.Commit(int(a.ID.Task), s, &a.Counters) })
}

// bufferOptions returns the options of the attempt's kvbuffer.
func (a *SlotAttempt) bufferOptions() spill.Options {
	j, e := a.Job, a.Env
	o := spill.Options{
		Parts: j.Parts, Cuts: j.Cuts, Partition: j.Spec.Partition, AppendKey: j.Spec.AppendKey,
		SortLate:   e.Fits,
		StartBytes: min(e.SortBufferBytes, max(spill.LeastBytes, a.floorBytes-a.roomBytes-overheadBytes)), KVBuffer: e.KVBuffer,
		Lease: a.lease, Seed: e.HashSeed, AfmBytes: e.AfmBytes, CreateTemp: e.CreateTemp("map"),
		Killed: a.Killed, Late: a.user.emittedLate, Guard: guard.Own, Background: a.helper, Notify: a.notifySpill,
	}
	if j.Spec.NewCombiner != nil {
		o.Combiner = func() jobs.Reducer {
			c := j.Spec.NewCombiner()
			if err := a.begin(c); err != nil {
				panic(err)
			}
			return c
		}
	}
	if j.Keeper != nil {
		o.OnDisk, o.CreateTemp = true, j.Keeper.Create
	}
	// A frequent key may have several parts. Each map sends it to one of them.
	if j.Spread > 0 {
		o.Cuts = CutsOf(j.Cuts, int(a.ID.Task), j.Spread)
	}
	if j.Parts == 1 {
		o.Ranges = &j.ranges
	}
	if group := j.Spec.GroupBytes; group != nil && o.Partition == nil {
		o.Partition = func(key []byte, parts int) int { return spill.HashPartition(key[:group(key):len(key)], parts) }
	}
	// A total order without cut points has one part. An empty list, unlike nil, keeps the
	// kvbuffer from dividing keys by their hashes.
	if j.Spec.Ordered && j.Spec.Partition == nil && j.Cuts == nil {
		o.Cuts = [][]byte{}
	}
	if j.Spec.NewFolder != nil {
		o.Folder = j.Spec.NewFolder()
	}
	return o
}

// feed calls each for every block of the source, and flushes the mapper at the end. each passes
// the block to the mapper, and the mapper emits to out.
//
// The way of a record from its file to the kvbuffer, and who owns its chunk, stand in the
// comment of package input.
func (a *SlotAttempt) feed(src feed.Source, mapper jobs.Mapper, out jobs.Emitter, each func(input.LentBlock) error) error {
	if err := a.readAll(src, mapper, each); err != nil {
		return err
	}
	if f, ok := mapper.(jobs.Flusher); ok {
		return guard.Run("flush", func() error { return f.Flush(out) })
	}
	return nil
}

// readAll calls Begin of the mapper, and each for every block of the source. It closes the source
// even if user code ends the goroutine.
func (a *SlotAttempt) readAll(src feed.Source, mapper jobs.Mapper, each func(input.LentBlock) error) (err error) {
	began := time.Now()
	in, err := src.Open(feed.Memory{Lease: a.lease})
	a.readTime += time.Since(began)
	if err != nil {
		return err
	}
	defer func() {
		ended := in.Close()
		// A failure of the input is permanent. A part of a job before is a temporary file: another
		// attempt may be able to read it.
		if _, part := src.(feed.Part); ended != nil && !part {
			ended = feed.Input(ended)
		}
		err = cmp.Or(err, ended)
	}()
	// The mapper may charge memory of its own to the attempt (jobs.Attempter).
	if err := a.begin(mapper); err != nil {
		return err
	}
	return a.mapBlocks(in, src.StoredBytes(), each)
}

// mapBlocks calls each for every block. It counts records and bytes, and notes progress after
// each block. totalBytes is the length of the source; 0: it is not known. It returns jobs.ErrKilled
// when the attempt is killed.
func (a *SlotAttempt) mapBlocks(in feed.Blocks, totalBytes int64, each func(input.LentBlock) error) error {
	// readBytes are the bytes for which the attempt has waited at the tracker's slowed-down disk.
	spec, readBytes := &a.Job.Spec, int64(0)
	for {
		began := time.Now()
		if !in.Next() {
			a.readTime += time.Since(began)
			return nil
		}
		b := in.Block()
		if a.Env.Pace != nil {
			a.readFromDisk(b.ConsumedBytes - readBytes)
			readBytes = b.ConsumedBytes
		}
		a.readTime += time.Since(began)
		// Records are counted by their delimiters, in one pass over the block. The mapper does
		// not report how many it finds.
		if !a.Job.Uncounted {
			a.Counters.MapInputRecords += countRecords(b.Data, spec.Delim.Byte(), spec.RecordBytes)
		}
		a.Counters.MapInputBytes += int64(len(b.Data))
		if err := each(b); err != nil {
			return a.inFile(err, b.Block)
		}
		// This happens once a block: once a record would be too slow. Emit notices a kill
		// within a long block.
		a.tick(b.ConsumedBytes, totalBytes)
		a.stretch(leastPause)
		if a.Killed() {
			return jobs.ErrKilled
		}
	}
}

// inFile adds the place of the block in the input to an error. An error of the side data gets the name of
// its file instead.
func (a *SlotAttempt) inFile(err error, b jobs.Block) error {
	if side := new(jobs.SideError); errors.As(err, &side) {
		return errs.Inputf(cmp.Or(a.Job.SidePath, "side data"), "%w", side.Err)
	}
	if b.Path == "" { // the job has no input
		return err
	}
	return fmt.Errorf("%s at byte %d: %w", b.Path, b.Offset, err)
}

// countRecords returns how many records data has. The last one may lack its delimiter.
// recordBytes is the size of records of fixed size; 0: records end with delim.
func countRecords(data []byte, delim byte, recordBytes int) int64 {
	if recordBytes > 0 {
		return int64(len(data) / recordBytes)
	}
	n := int64(bytes.Count(data, []byte{delim}))
	if len(data) > 0 && data[len(data)-1] != delim {
		n++
	}
	return n
}

// mapToOutput maps the source of a map-only job straight to its part.
func (a *SlotAttempt) mapToOutput(src feed.Source) error {
	mapper := a.Job.Spec.NewMapper() // first, because it may panic
	return a.writePart(func(text *textOut) error {
		out := a.emitter(text)
		err := a.feed(src, mapper, out, func(b input.LentBlock) error {
			err := guard.Run("map", func() error { return mapper.Map(b.Block, out) })
			if err == nil {
				err = text.err
			}
			return err
		})
		if err == nil {
			err = text.end()
		}
		return err
	})
}

// emitter returns the Emitter by which user code writes to text.
func (a *SlotAttempt) emitter(text *textOut) jobs.Emitter {
	if a.Job.Spec.Bare {
		return bareOut{text}
	}
	return text
}

// writePart opens the part of the attempt, calls write to fill it, and commits it. If anything
// fails before the commit, or ends the goroutine, it drops the part.
func (a *SlotAttempt) writePart(write func(*textOut) error) error {
	part, err := a.Job.Sink.Part(int(a.ID.Task), int(a.ID.N))
	if err != nil {
		return err
	}
	a.part = part
	whole := false
	defer func() {
		if !whole {
			part.Abort()
		}
	}()
	text, err := newTextOut(a, part)
	if err != nil {
		return err
	}
	err = write(text)
	bytes, records := text.bytes, text.records // user code that emits too late may change text
	// All this comes before the commit, because it may fail the attempt, and a commit cannot be
	// undone.
	for _, step := range []func() error{a.endOutputs, a.closeUser, a.atEnd} {
		if err == nil {
			err = step()
		}
	}
	if err != nil {
		return err
	}
	a.Counters.OutputBytes += bytes
	a.Counters.ReduceOutputRecords += records
	whole = true
	if err = part.Commit(); err == nil {
		a.user.commit()
	}
	return err
}
