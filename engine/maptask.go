package engine

import (
	"bytes"
	"fmt"
	"io"

	"mrlocal/jobs"
	"mrlocal/spill"
)

// mapResult is what a map attempt hands to the coordinator.
type mapResult struct {
	output *spill.MapOutput // nil for a map-only job
}

// runMap is the whole of a map attempt, on its slot's thread.
func (a *attempt) runMap(src source) (res mapResult, err error) {
	if held, ok := src.(*heldSource); ok {
		a.heldBytes = held.lease.Granted()
	}
	err = a.withRoom(func() error {
		if a.job.mapOnly() {
			return a.mapToOutput(src)
		}
		out, err := a.mapToBuffer(src)
		res.output = out
		return err
	})
	return res, err
}

// mapToBuffer maps the source into a kvbuffer and closes it.
func (a *attempt) mapToBuffer(src source) (*spill.MapOutput, error) {
	buf, err := spill.NewBuffer(a.bufferOptions())
	if err != nil {
		return nil, err
	}
	mapper := a.job.job.NewMapper()
	total := src.storedBytes()
	err = a.feed(src, mapper, buf, func(p piece) (bool, error) {
		buf.SetProgress(p.consumedBytes, total)
		buf.Lend(p.chunk, p.lease)
		err := guard("map", func() error { return mapper.Map(p.block, buf) })
		kept := buf.Reclaim()
		if err == nil {
			err = buf.Err()
		}
		return kept, err
	})
	if err == nil {
		err = buf.Err()
	}
	if err != nil {
		buf.Discard()
		return nil, err
	}
	out, err := buf.Close()
	if err != nil {
		buf.Discard()
		return nil, err
	}
	addBuffer(&a.counters, buf.Stats())
	return out, nil
}

func (a *attempt) bufferOptions() spill.Options {
	j, r := a.job, a.run
	o := spill.Options{
		Parts: j.parts, Cuts: j.cuts, Partition: j.job.Partition, AppendKey: j.job.AppendKey, Combiner: j.job.NewCombiner,
		StartBytes: min(r.sortBufferBytes, max(spill.LeastBytes, a.floorBytes-a.roomBytes-taskOverheadBytes)), SpillPercent: r.o.SpillPercent, Growth: !r.o.NoGrowth, GrowthThreshold: r.o.GrowthThreshold,
		Lease: a.lease, AfmBytes: r.afmBytes, Codec: r.o.Codec, CreateTemp: r.createTemp("map"),
		Killed: a.killed, Background: r.helper(a.slot), Notify: a.notifySpill,
	}
	if j.job.Ordered && j.job.Partition == nil && j.cuts == nil {
		o.Cuts = [][]byte{}
	}
	if j.job.NewFolder != nil {
		o.Folder = j.job.NewFolder()
	}
	return o
}

// feed drives a mapper over every block of a source. each maps one block and
// reports whether the block's chunk was kept.
func (a *attempt) feed(src source, mapper jobs.Mapper, out jobs.Emitter,
	each func(piece) (kept bool, err error)) error {
	in, err := src.open(taskMemory{a.lease})
	if err != nil {
		return err
	}
	defer in.close()
	delim := a.job.job.Delim.Byte()
	total := src.storedBytes()
	for {
		p, err := in.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		a.counters.MapInputRecords += countRecords(p.block.Data, delim)
		a.counters.MapInputBytes += int64(len(p.block.Data))
		kept, err := each(p)
		if kept {
			in.keep()
		}
		if err != nil {
			return inFile(err, p.block)
		}
		a.tick(p.consumedBytes, total)
		if a.killed() {
			return errKilled
		}
	}
	if f, ok := mapper.(jobs.Flusher); ok {
		return guard("flush", func() error { return f.Flush(out) })
	}
	return nil
}

// inFile adds where in the input an error arose.
func inFile(err error, b jobs.Block) error {
	return fmt.Errorf("%s at byte %d: %w", b.Path, b.Offset, err)
}

func countRecords(data []byte, delim byte) int64 {
	n := int64(bytes.Count(data, []byte{delim}))
	if len(data) > 0 && data[len(data)-1] != delim {
		n++
	}
	return n
}

// mapToOutput maps the source of a map-only job straight to its part.
func (a *attempt) mapToOutput(src source) error {
	part, err := a.job.openPart(a)
	if err != nil {
		return err
	}
	text, err := newTextOut(a, part)
	if err == nil {
		mapper := a.job.job.NewMapper()
		err = a.feed(src, mapper, text, func(p piece) (bool, error) {
			err := guard("map", func() error { return mapper.Map(p.block, text) })
			if err == nil {
				err = text.err
			}
			return false, err
		})
	}
	if err == nil {
		err = text.flush()
	}
	return a.finishPart(part, text, err)
}

// finishPart commits a part that was written without error, and drops it
// otherwise.
func (a *attempt) finishPart(part part, text *textOut, err error) error {
	if err == nil && a.killed() {
		err = errKilled
	}
	if err != nil {
		part.Abort()
		return err
	}
	a.counters.OutputBytes += text.bytes
	a.counters.ReduceOutputRecords += text.records
	return part.Commit()
}
