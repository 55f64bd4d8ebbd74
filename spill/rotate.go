package spill

import (
	"errors"
	"fmt"

	"mrlocal/internal/membudget"
	"mrlocal/spill/run"
)

// rotate hands what is collected to a spill and starts an empty load. At most
// one spill is under way.
func (b *Buffer) rotate() {
	if b.wait(); b.err != nil {
		return
	}
	l := b.load
	b.sortNow(l)
	b.begin()
	b.stats.Records += l.records
	b.o.Notify(Event{Kind: SpillStart, Bytes: b.markBytes, Records: l.records})
	done := make(chan struct{})
	b.spill.done = done
	b.o.Background(func() {
		defer close(done)
		b.spill.err = b.spillLoad(l)
	})
}

// wait waits for the spill under way and takes its error over.
func (b *Buffer) wait() {
	if b.spill.done == nil {
		return
	}
	<-b.spill.done
	b.spill.done = nil
	if err := b.spill.err; err != nil {
		b.fail(err)
	}
}

// spillLoad sorts a load and appends it to the file as a segment.
func (b *Buffer) spillLoad(l *load) error {
	defer b.sorting.giveBack()
	defer b.free(l)
	slices, err := b.sorting.sort(l)
	if err != nil {
		return err
	}
	combine := b.combineWith(l, slices)
	return b.segment(func(w *run.Writer) error {
		if combine == nil {
			return run.WriteSorted(w, &l.arena, slices, b.o.Parts, nil)
		}
		return run.WriteSorted(w, &l.arena, slices, b.o.Parts, func(m *run.Merger) error { return combine(m, w.Add) })
	})
}

// combineWith returns what runs the combiner over one partition; nil where
// there is none. It counts what hash-combining did.
func (b *Buffer) combineWith(l *load, slices []run.Slice) func(*run.Merger, func(key, value []byte)) error {
	if b.mode != sortMode {
		distinct := int64(0)
		for _, s := range slices {
			distinct += int64(len(s.Entries))
		}
		b.countCombined(l.records, distinct)
		return nil
	}
	if b.o.Combiner == nil {
		return nil
	}
	combiner := b.o.Combiner()
	return func(m *run.Merger, add func(key, value []byte)) error {
		in := int64(0)
		for _, c := range m.Tree.Cursors {
			in += int64(len(c.Entries))
		}
		out, err := run.Combine(m, combiner, add)
		b.countCombined(in, out)
		return err
	}
}

func (b *Buffer) countCombined(in, out int64) {
	b.combineMu.Lock()
	defer b.combineMu.Unlock()
	b.combining.in += in
	b.combining.out += out
}

// segment appends one to the file, which the first of them makes.
func (b *Buffer) segment(write func(w *run.Writer) error) (err error) {
	o := b.out
	if b.writer == nil {
		if b.writer, err = run.NewWriter(b.room2.Data, b.o.Codec); err != nil {
			return err
		}
	}
	if b.file == nil {
		if b.o.CreateTemp == nil {
			return errors.New("spill: there is no temporary directory")
		}
		if b.file, err = b.o.CreateTemp(); err != nil {
			return fmt.Errorf("spill: %w", err)
		}
		o.mu.file.Path = b.file.Name()
	}
	w := b.writer
	w.Begin(b.file, o.mu.file.Bytes, o.stats)
	if err := write(w); err != nil {
		return err
	}
	s, end, err := w.End()
	if err != nil {
		return err
	}
	o.mu.file.Bytes = end
	o.mu.segments = append(o.mu.segments, s)
	b.combineMu.Lock()
	b.stats.Spills++
	b.stats.SpilledRecords += w.TotalRecords
	b.stats.SpilledBytes += w.TotalBytes
	b.combineMu.Unlock()
	b.o.Notify(Event{Kind: SpillEnd, Bytes: w.TotalBytes, Records: w.TotalRecords})
	return nil
}

// keep sorts what was collected last and makes it the output's run in memory.
func (b *Buffer) keep() error {
	l := b.load
	b.stats.Records += l.records
	if l.empty() {
		b.free(l)
		return nil
	}
	if b.o.Combiner != nil {
		return b.keepCombined(l)
	}
	if b.keepDivided(l) {
		return nil
	}
	b.sortNow(l)
	slices, err := b.sorting.sort(l)
	if err != nil {
		return err
	}
	b.combineWith(l, slices)
	if small, sorted, ok := b.shrunk(l, slices); ok {
		b.free(l)
		b.adopt(small, sorted)
		return nil
	}
	addStats(b.out.stats, &l.arena, slices)
	b.adopt(l, slices)
	return nil
}

// adopt makes a sorted load the run in memory; its chunks go over to a lease
// of the output's own.
func (b *Buffer) adopt(l *load, slices []run.Slice) {
	lease, _ := b.lease.Budget().TryReserve(0)
	b.lease.Transfer(lease, l.chunks...)
	b.lease.Transfer(lease, l.index...)
	b.out.mu.memory = &memoryRun{arena: l.arena, slices: slices, lease: lease, slots: l.table.Keys > 0}
	b.load = &load{}
}

// addStats counts what each partition holds.
func addStats(stats []run.PartStat, a *run.Arena, slices []run.Slice) {
	for p := range stats {
		for _, slice := range slices {
			stats[p].CountAll(a, slice.Part(p))
		}
	}
}

// keepCombined runs the combiner over the last load, in memory where there is
// room for the result beside it, else into a segment.
func (b *Buffer) keepCombined(l *load) error {
	defer b.free(l)
	slices, err := b.sorting.sort(l)
	if err != nil {
		return err
	}
	combine := b.combineWith(l, slices)
	c := compact{lease: b.lease, stats: make([]run.PartStat, b.o.Parts)}
	in, out := b.combining.in, b.combining.out
	for p := range b.o.Parts {
		var m run.Merger
		m.OverSlices(&l.arena, slices, p)
		if err := combine(&m, c.add); err != nil {
			c.free()
			return err
		}
		if c.full {
			break
		}
		c.endPart()
	}
	if c.full { // again, to disk
		c.free()
		b.combining.in, b.combining.out = in, out
		return b.segment(func(w *run.Writer) error {
			return run.WriteSorted(w, &l.arena, slices, b.o.Parts, func(m *run.Merger) error { return combine(m, w.Add) })
		})
	}
	c.finish(b)
	return nil
}

// compact is a run in memory as it is written, record by record in order.
type compact struct {
	lease *membudget.Lease
	load  load
	data  []byte
	off   int
	addr  uint64
	ends  []int // entries at the end of each partition
	stats []run.PartStat
	full  bool // there was no memory
}

func (c *compact) add(key, value []byte) {
	need := len(key) + len(value) + run.MaxHeaderBytes
	if c.full || !c.room(need) {
		c.full = true
		return
	}
	l := &c.load
	at := l.entries % run.ChunkEntries
	l.full[len(l.full)-1][at] = run.Entry{Prefix: run.PrefixOf(key), Ref: (c.addr+uint64(c.off))<<run.CodeBits | run.CodeEmitted}
	l.entries++
	c.off += run.PutEmitted(c.data[c.off:], key, value)
	c.stats[len(c.ends)].Count(key, value)
}

func (c *compact) room(need int) bool {
	l := &c.load
	if l.entries == len(l.full)*run.ChunkEntries {
		chunk, ok := c.chunk(membudget.ChunkBytes)
		if !ok {
			return false
		}
		l.index = append(l.index, chunk)
		l.full = append(l.full, run.EntriesOf(chunk, run.ChunkEntries))
	}
	if need > len(c.data)-c.off {
		chunk, ok := c.chunk(max(need, membudget.ChunkBytes))
		if !ok {
			return false
		}
		l.chunks = append(l.chunks, chunk)
		c.data, c.off, c.addr = chunk.Data, 0, l.arena.Add(chunk.Data)
	}
	return true
}

func (c *compact) chunk(bytes int) (*membudget.Chunk, bool) {
	if c.lease.Available() < int64(bytes) && !c.lease.Grow(int64(bytes)) {
		return nil, false
	}
	if bytes == membudget.ChunkBytes {
		return c.lease.Chunk()
	}
	return c.lease.Big(int64(bytes))
}

func (c *compact) endPart() { c.ends = append(c.ends, c.load.entries) }

func (c *compact) free() {
	for _, chunk := range append(c.load.chunks, c.load.index...) {
		c.lease.Free(chunk)
	}
}

// finish makes the run the output's. Each index chunk is a slice, with the
// part of every partition that lies in it.
func (c *compact) finish(b *Buffer) {
	l := &c.load
	slices := make([]run.Slice, len(l.full))
	for i := range slices {
		begin := i * run.ChunkEntries
		slices[i].Entries = l.indexed(i)
		for _, end := range c.ends {
			slices[i].Ends = append(slices[i].Ends, min(max(end-begin, 0), len(slices[i].Entries)))
		}
	}
	for p := range c.stats {
		b.out.stats[p].Add(c.stats[p])
	}
	old := b.load
	b.adopt(l, slices)
	b.load = old
}
