package spill

import (
	"encoding/binary"

	"mrlocal/internal/invariant"
	"mrlocal/internal/membudget"
	"mrlocal/jobs"
	"mrlocal/shuffle/record"
)

// Lend says that the next block, with these data, lies in the chunk of l. The engine calls Lend before
// each call of Map, and Reclaim after it. In between, l stays valid.
func (b *Buffer) Lend(l *membudget.Loan, data []byte) {
	b.lent.loan = l
	b.lent.data = data
	b.lent.wanted = false
	b.lent.seal = invariant.Seal{}
}

// isLent reports whether data are those of the block that is lent. A mapper may pass a block that it has
// kept, or made itself: the buffer copies its records.
func (b *Buffer) isLent(data []byte) bool {
	return b.lent.loan != nil && len(data) > 0 && len(data) <= len(b.lent.data) && &data[0] == &b.lent.data[0]
}

// Reclaim ends the loan that Lend began. If entries refer to the block, the buffer takes
// ownership of the chunk. Otherwise the chunk stays with the reader.
func (b *Buffer) Reclaim() {
	loan, wanted := b.lent.loan, b.lent.wanted
	b.lent.loan, b.lent.data = nil, nil
	b.lent.wanted = false
	if !wanted {
		return
	}
	if b.lent.seal.Broken() && b.err == nil {
		b.fail(jobs.Mistakef("kvbuffer: the mapper has changed a block that Take has passed on"))
	}
	// If the load with the entries was spilled and the spill has ended, no entry refers to the
	// block.
	if b.countEntries(); b.err == nil && b.load.empty() && b.spill.done == nil {
		b.drop()
		return
	}
	loan.Take(b.lease)
	b.load.chunks = append(b.load.chunks, loan.Chunk)
	b.hold(loan.Chunk)
	for b.err == nil && !b.reserve(reserveChunks) {
		b.countEntries()
		if b.load.empty() && b.spill.done == nil {
			break
		}
		b.flush()
	}
}

// Take adds the records of blk that spans lists. If the block was lent and its records are long
// enough (copyBlockBytes), the buffer keeps the block, and entries refer to it. Otherwise it
// emits each record, which copies it. Errors are sticky (Err).
func (b *Buffer) Take(blk jobs.Block, spans []jobs.Span) {
	if len(spans) == 0 || !b.alive() {
		b.stopIfKilled()
		return
	}
	if b.mode != sortMode || !b.isLent(blk.Data) || len(blk.Data) <= copyBlockBytes || areFew(spans) {
		b.emitSpans(blk, spans)
		return
	}
	b.lent.wanted, b.lent.seal = true, invariant.NewSeal(blk.Data)
	b.data, b.off = nil, 0 // addresses ascend with arrival, so the chunk with lower addresses must not be filled further
	for len(spans) > 0 && b.err == nil {
		if b.room < 0 {
			b.atMark(record.EntryBytes, blk.Data[spans[0].Off:], nil)
		}
		base := b.load.arena.Add(blk.Data)
		if b.o.AppendKey != nil {
			spans = b.takeKeyed(blk.Data, base, spans)
		} else {
			spans = b.takeSpans(blk.Data, base, spans)
		}
	}
}

// areFew reports whether copies of the records take no more than copyBlockBytes.
func areFew(spans []jobs.Span) bool {
	bytes := 0
	for _, s := range spans {
		// An emitted record usually has a header of three bytes.
		if bytes += int(s.Len) + 3; bytes > copyBlockBytes {
			return false
		}
	}
	return true
}

// takeSpans adds records that are their own keys. base is the address of data in the arena. If
// the load was spilled meanwhile, it returns the records that are left, which need a new base.
//
// hot: one iteration for each chunk of the index.
func (b *Buffer) takeSpans(data []byte, base uint64, spans []jobs.Span) []jobs.Span {
	for load := b.load; len(spans) > 0; {
		if b.n == len(b.cur) && !b.nextIndex() {
			b.flush()
		}
		if b.err != nil || b.load != load {
			return spans
		}
		n := b.index(data, base, spans[:min(len(spans), len(b.cur)-b.n)])
		// The first span is too long for an entry.
		if n == 0 {
			b.takeLong(data, base, spans[0])
			n = 1
		}
		b.load.records += int64(n)
		// The last record of n has passed the mark.
		passed := data[spans[n-1].Off:]
		if spans = spans[n:]; b.room < 0 && len(spans) > 0 {
			b.atMark(record.EntryBytes, passed, nil)
		}
	}
	return nil
}

// index makes entries for spans, at most as many as cur has room for, and returns how many it
// made. It stops at the spill mark, and at a record whose length does not fit in an entry. A
// record counts against the mark with one byte more than it has, for its newline.
//
// hot: one iteration for each record that is taken.
func (b *Buffer) index(data []byte, base uint64, spans []jobs.Span) int {
	cur := b.cur[b.n:]
	room, bytes := b.room, b.stats.Bytes
	n := 0
	for i, s := range spans {
		if s.Len >= record.CodeLongTaken || room < 0 {
			break
		}
		if s.Len == 0 {
			s.Off = 0 // the address behind the last byte belongs to the next piece of the arena
		}
		cur[i] = record.Entry{Prefix: prefixAt(data, s), Ref: (base+uint64(s.Off))<<record.CodeBits | uint64(s.Len)}
		room -= int64(s.Len) + 1 + record.EntryBytes
		bytes += int64(s.Len)
		n++
	}
	b.n += n
	b.room, b.stats.Bytes = room, bytes
	return n
}

// takeLong adds a record whose length does not fit in an entry. The entry refers to a
// description of 16 bytes in the chunk being filled: the address and the length of the record.
func (b *Buffer) takeLong(data []byte, base uint64, s jobs.Span) {
	load := b.load
	if !b.makeRoom(record.MaxHeaderBytes, data[s.Off:], nil) {
		return
	}
	if b.load != load { // makeRoom has spilled the load
		base = b.load.arena.Add(data)
	}
	p := b.data[b.off:]
	binary.LittleEndian.PutUint64(p, base+uint64(s.Off))
	binary.LittleEndian.PutUint64(p[8:], uint64(s.Len))
	b.cur[b.n] = record.Entry{Prefix: prefixAt(data, s), Ref: (b.dataAddr+uint64(b.off))<<record.CodeBits | record.CodeLongTaken}
	b.n++
	b.off += 16
	b.room -= 16 + record.EntryBytes + int64(s.Len) + 1
	b.stats.Bytes += int64(s.Len)
	b.data, b.off = nil, 0 // as in Take: later addresses of the block must be higher
}

// prefixAt returns record.PrefixOf for s, a span of data. It reads 8 bytes of data at once,
// except at the end of data.
func prefixAt(data []byte, s jobs.Span) uint64 {
	at := int(s.Off)
	if at+8 > len(data) {
		return record.ShortPrefix(data[at:min(len(data), at+int(s.Len))])
	}
	x := binary.BigEndian.Uint64(data[at:])
	if s.Len < 8 {
		x &= ^(^uint64(0) >> (8 * s.Len))
	}
	return x
}

// takeKeyed adds records whose keys AppendKey makes. It copies the keys. The values, which are
// the records, stay in the block. If the load was spilled meanwhile, it returns the records
// that are left.
//
// hot: one iteration for each record whose key AppendKey makes.
func (b *Buffer) takeKeyed(data []byte, base uint64, spans []jobs.Span) []jobs.Span {
	load := b.load
	for i, s := range spans {
		key := b.o.AppendKey(b.keyRoom[:0], data[s.Off:s.Off+s.Len])
		b.keyRoom = key
		need := len(key) + record.MaxHeaderBytes + 16
		if b.n == len(b.cur) || need > len(b.data)-b.off || int64(need) > b.room {
			if !b.makeRoom(need, key, data[s.Off:s.Off+s.Len]) {
				if b.err != nil {
					return nil
				}
				b.emitAlone(key, data[s.Off:s.Off+s.Len])
				return spans[i+1:]
			}
			// The caller calls again with this record, and its key is made again.
			if b.load != load {
				return spans[i:]
			}
		}
		code := uint64(record.CodeKeyed)
		if b.part != nil {
			p := b.part(key, b.o.Parts)
			if uint(p) >= uint(b.o.Parts) {
				b.fail(partError(p, b.o.Parts))
				return nil
			}
			code += uint64(p)
		}
		p := b.data[b.off:]
		n := binary.PutUvarint(p, uint64(len(key)))
		n += copy(p[n:], key)
		if s.Len == 0 {
			s.Off = 0
		}
		binary.LittleEndian.PutUint64(p[n:], base+uint64(s.Off))
		binary.LittleEndian.PutUint64(p[n+8:], uint64(s.Len))
		b.cur[b.n] = record.Entry{Prefix: record.PrefixOf(key), Ref: (b.dataAddr+uint64(b.off))<<record.CodeBits | code}
		b.n++
		b.off += n + 16
		b.room -= int64(n) + 16 + record.EntryBytes + int64(s.Len) + 1
		b.load.records++
		b.stats.Bytes += int64(len(key)) + int64(s.Len)
	}
	return nil
}

// emitSpans copies the records of a block, with keys that AppendKey makes.
func (b *Buffer) emitSpans(blk jobs.Block, spans []jobs.Span) {
	for _, s := range spans {
		record := blk.Data[s.Off : s.Off+s.Len]
		if b.o.AppendKey == nil {
			b.Emit(record, nil)
			continue
		}
		b.keyRoom = b.o.AppendKey(b.keyRoom[:0], record)
		b.Emit(b.keyRoom, record)
	}
}

// partition returns the partition of a key, also if cuts divide the keys. It fails if the
// partitioner returns a number out of range.
func (b *Buffer) partition(key []byte) (p int, err error) {
	if b.part != nil {
		p := b.part(key, b.o.Parts)
		if p < 0 || p >= b.o.Parts {
			return 0, partError(p, b.o.Parts)
		}
		return p, nil
	}
	for p < len(b.o.Cuts) && string(key) >= string(b.o.Cuts[p]) {
		p++
	}
	return p, nil
}
