package task

import (
	"bytes"
	"fmt"
	"io"

	"mrlocal/engine/source"
	"mrlocal/jobs"
	"mrlocal/slots"
	"mrlocal/spill"
	"mrlocal/spill/runs"
)

// Map is the whole of a map attempt, on its slot's thread. The output is nil
// for a map-only job, else the caller's.
func (a *Attempt) Map(src source.Source) (out *runs.MapOutput, err error) {
	if held, ok := src.(*source.Held); ok {
		a.heldBytes = held.Bytes()
	}
	err = a.withRoom(func() (err error) {
		if a.Job.MapOnly() {
			return a.mapToOutput(src)
		}
		out, err = a.mapToBuffer(src)
		return err
	})
	return out, err
}

// mapToBuffer maps the source into a kvbuffer and closes it.
func (a *Attempt) mapToBuffer(src source.Source) (*runs.MapOutput, error) {
	buf, err := spill.NewBuffer(a.bufferOptions())
	if err != nil {
		return nil, err
	}
	a.phase(slots.PhaseCompute)
	mapper := a.Job.Spec.NewMapper()
	total := src.StoredBytes()
	err = a.feed(src, mapper, buf, func(p source.Piece) (bool, error) {
		buf.SetProgress(p.ConsumedBytes, total)
		buf.Lend(p.Chunk, p.Lease)
		err := source.Guard("map", func() error { return mapper.Map(p.Block, buf) })
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
	if !a.Env.Fits || a.spills || a.spilledBytes.Load() > 0 { // what stays in memory needs no disk
		a.phase(slots.PhaseIO) // the last sort and spill (Dynamic Split's I/O period)
	}
	out, err := buf.Close()
	if err == nil {
		a.written()
		if err = a.atEnd(); err != nil {
			out.Release()
			return nil, err
		}
	}
	if err != nil {
		buf.Discard()
		return nil, err
	}
	a.addBuffer(buf.Stats())
	if a.Env.Pace != nil {
		a.Job.makers.Store(out, a)
	}
	return out, nil
}

func (a *Attempt) bufferOptions() spill.Options {
	j, e := a.Job, a.Env
	o := spill.Options{
		Parts: j.Parts, Cuts: j.Cuts, Partition: j.Spec.Partition, AppendKey: j.Spec.AppendKey, Combiner: j.Spec.NewCombiner,
		SortLate:   e.Fits,
		StartBytes: min(e.SortBufferBytes, max(spill.LeastBytes, a.floorBytes-a.roomBytes-OverheadBytes)), SpillPercent: e.SpillPercent, Growth: !e.NoGrowth, GrowthThreshold: e.GrowthThreshold,
		Lease: a.lease, AfmBytes: e.AfmBytes, Codec: e.Codec, CreateTemp: e.CreateTemp("map"),
		Killed: a.Killed, Background: a.helper, Notify: a.notifySpill,
	}
	if j.Spread > 0 {
		o.Cuts = source.CutsOf(j.Cuts, int(a.ID.Task), j.Spread)
	}
	if j.Spec.Ordered && j.Spec.Partition == nil && j.Cuts == nil {
		o.Cuts = [][]byte{}
	}
	if j.Spec.NewFolder != nil {
		o.Folder = j.Spec.NewFolder()
	}
	return o
}

// feed drives a mapper over every block of a source. each maps one block and
// reports whether the block's chunk was kept.
func (a *Attempt) feed(src source.Source, mapper jobs.Mapper, out jobs.Emitter,
	each func(source.Piece) (kept bool, err error)) error {
	in, err := src.Open(source.Memory{Lease: a.lease})
	if err != nil {
		return err
	}
	defer in.Close()
	a.begin(mapper)
	delim := a.Job.Spec.Delim.Byte()
	total, read := src.StoredBytes(), int64(0)
	for {
		p, err := in.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if a.Env.Pace != nil {
			a.readFromDisk(p.ConsumedBytes - read)
			read = p.ConsumedBytes
		}
		a.Counters.MapInputRecords += countRecords(p.Block.Data, delim)
		a.Counters.MapInputBytes += int64(len(p.Block.Data))
		kept, err := each(p)
		if kept {
			in.Keep()
		}
		if err != nil {
			return inFile(err, p.Block)
		}
		a.tick(p.ConsumedBytes, total)
		a.drag(leastPause)
		if a.Killed() {
			return ErrKilled
		}
	}
	if f, ok := mapper.(jobs.Flusher); ok {
		return source.Guard("flush", func() error { return f.Flush(out) })
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
func (a *Attempt) mapToOutput(src source.Source) error {
	part, err := a.Job.openPart(a)
	if err != nil {
		return err
	}
	text, err := newTextOut(a, part)
	if err == nil {
		mapper := a.Job.Spec.NewMapper()
		err = a.feed(src, mapper, text, func(p source.Piece) (bool, error) {
			err := source.Guard("map", func() error { return mapper.Map(p.Block, text) })
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
func (a *Attempt) finishPart(part Part, text *textOut, err error) error {
	if err == nil {
		err = a.atEnd()
	}
	if err != nil {
		part.Abort()
		return err
	}
	a.Counters.OutputBytes += text.bytes
	a.Counters.ReduceOutputRecords += text.records
	return part.Commit()
}
