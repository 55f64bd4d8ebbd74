package spill

import (
	"errors"
	"fmt"

	"mrlocal/internal/membudget"
)

// rotate hands what is collected to a spill and starts an empty load. At most
// one spill is under way.
func (b *Buffer) rotate() {
	if b.wait(); b.err != nil {
		return
	}
	l := b.load
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
	return b.segment(func(w *segmentWriter) error {
		if combine == nil {
			return writeSorted(w, &l.arena, slices, b.o.Parts, nil)
		}
		return writeSorted(w, &l.arena, slices, b.o.Parts, func(m *merger) error { return combine(m, w.add) })
	})
}

// combineWith returns what runs the combiner over one partition; nil where
// there is none. It counts what hash-combining did.
func (b *Buffer) combineWith(l *load, slices []sortedSlice) func(*merger, func(key, value []byte)) error {
	if b.mode != sortMode {
		distinct := int64(0)
		for _, s := range slices {
			distinct += int64(len(s.entries))
		}
		b.countCombined(l.records, distinct)
		return nil
	}
	if b.o.Combiner == nil {
		return nil
	}
	combiner := b.o.Combiner()
	return func(m *merger, add func(key, value []byte)) error {
		in := int64(0)
		for _, c := range m.tree.cursors {
			in += int64(len(c.entries))
		}
		out := combined{add: add}
		err := combineInto(m, combiner, &out)
		b.countCombined(in, out.records)
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
func (b *Buffer) segment(write func(w *segmentWriter) error) (err error) {
	o := b.out
	if b.writer == nil {
		if b.writer, err = newSegmentWriter(b.room2.Data, b.o.Codec); err != nil {
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
		o.mu.file.path = b.file.Name()
	}
	w := b.writer
	w.begin(b.file, o.mu.file.bytes, o.stats)
	if err := write(w); err != nil {
		return err
	}
	s, end, err := w.end()
	if err != nil {
		return err
	}
	o.mu.file.bytes = end
	o.mu.segments = append(o.mu.segments, s)
	b.combineMu.Lock()
	b.stats.Spills++
	b.stats.SpilledRecords += w.totalRecords
	b.stats.SpilledBytes += w.totalBytes
	b.combineMu.Unlock()
	b.o.Notify(Event{Kind: SpillEnd, Bytes: w.totalBytes, Records: w.totalRecords})
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
	slices, err := b.sorting.sort(l)
	if err != nil {
		return err
	}
	b.combineWith(l, slices)
	if small, run, ok := b.shrunk(l, slices); ok {
		b.free(l)
		l, slices = small, run
	}
	b.adopt(l, slices)
	addStats(b.out.stats, &l.arena, slices)
	return nil
}

// adopt makes a sorted load the run in memory; its chunks go over to a lease
// of the output's own.
func (b *Buffer) adopt(l *load, slices []sortedSlice) {
	lease, _ := b.lease.Budget().TryReserve(0)
	b.lease.Transfer(lease, l.chunks...)
	b.lease.Transfer(lease, l.index...)
	b.out.mu.memory = &memoryRun{arena: l.arena, slices: slices, lease: lease}
	b.load = &load{}
}

// addStats counts what each partition holds.
func addStats(stats []partStat, a *arena, slices []sortedSlice) {
	for p := range stats {
		s := &stats[p]
		for _, slice := range slices {
			e := slice.part(p)
			s.records += int64(len(e))
			for i := range e {
				if code := e[i].ref & codeMask; code < codeLongTaken {
					s.keyBytes += int64(code)
					continue
				}
				key, value := a.record(e[i].ref)
				s.keyBytes += int64(len(key))
				s.valueBytes += int64(len(value))
			}
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
	c := compact{lease: b.lease, stats: make([]partStat, b.o.Parts)}
	in, out := b.combining.in, b.combining.out
	for p := range b.o.Parts {
		var m merger
		m.overSlices(&l.arena, slices, p)
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
		return b.segment(func(w *segmentWriter) error {
			return writeSorted(w, &l.arena, slices, b.o.Parts, func(m *merger) error { return combine(m, w.add) })
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
	stats []partStat
	full  bool // there was no memory
}

func (c *compact) add(key, value []byte) {
	need := len(key) + len(value) + maxHeaderBytes
	if c.full || !c.room(need) {
		c.full = true
		return
	}
	l := &c.load
	at := l.entries % chunkEntries
	l.full[len(l.full)-1][at] = entry{prefixOf(key), (c.addr+uint64(c.off))<<codeBits | codeEmitted}
	l.entries++
	c.off += putEmitted(c.data[c.off:], key, value)
	s := &c.stats[len(c.ends)]
	s.records++
	s.keyBytes += int64(len(key))
	s.valueBytes += int64(len(value))
}

func (c *compact) room(need int) bool {
	l := &c.load
	if l.entries == len(l.full)*chunkEntries {
		chunk, ok := c.chunk(membudget.ChunkBytes)
		if !ok {
			return false
		}
		l.index = append(l.index, chunk)
		l.full = append(l.full, entriesOf(chunk, chunkEntries))
	}
	if need > len(c.data)-c.off {
		chunk, ok := c.chunk(max(need, membudget.ChunkBytes))
		if !ok {
			return false
		}
		l.chunks = append(l.chunks, chunk)
		c.data, c.off, c.addr = chunk.Data, 0, l.arena.add(chunk.Data)
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
	slices := make([]sortedSlice, len(l.full))
	for i := range slices {
		begin := i * chunkEntries
		slices[i].entries = l.indexed(i)
		for _, end := range c.ends {
			slices[i].ends = append(slices[i].ends, min(max(end-begin, 0), len(slices[i].entries)))
		}
	}
	for p := range c.stats {
		s := &b.out.stats[p]
		s.records += c.stats[p].records
		s.keyBytes += c.stats[p].keyBytes
		s.valueBytes += c.stats[p].valueBytes
	}
	old := b.load
	b.adopt(l, slices)
	b.load = old
}
