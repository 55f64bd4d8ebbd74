package spill

import (
	"encoding/binary"

	"mrlocal/internal/membudget"
	"mrlocal/jobs"
	"mrlocal/shuffle/record"
)

// fold folds value into the accumulator of key. For a sum of a short key it only queues the
// value; addSums adds queued values together (table.go).
//
// hot: runs once for each record that is combined.
func (b *Buffer) fold(key, value []byte) {
	if b.counted--; b.counted == 0 {
		b.counted = pollEmits
		b.alive()
	}
	t := &b.load.table
	if len(t.directory) == 0 && !b.startTable() || b.mode == sumMode && len(value) != 8 {
		b.refuseValue(value)
		return
	}
	b.load.records++
	b.stats.Bytes += int64(len(key) + len(value))
	if len(key) > inlineKey {
		b.foldLong(key, value, metaOf(len(key), b.seed.long(key)))
		return
	}
	a, w := words(key)
	meta := metaOf(len(key), b.seed.words(a, w))
	if b.mode != sumMode {
		b.foldShort(key, value, &keySum{a: a, b: w, meta: meta})
		return
	}
	p := &b.sums
	p.pending[p.filling][p.n&(pendingSums-1)] = keySum{a: a, b: w, meta: meta, delta: binary.LittleEndian.Uint64(value)}
	if p.n++; p.n == pendingSums {
		t.prefetch(p.pending[p.filling][:])
		b.swapSums()
	}
}

// refuseValue fails for a value that is not a sum, that is, has not 8 bytes. fold also calls it
// if there is no table because of an error. Then it only stops user code whose attempt is
// killed.
func (b *Buffer) refuseValue(value []byte) {
	b.stopIfKilled()
	if b.err == nil && b.out != nil && len(b.load.table.directory) > 0 {
		b.fail(jobs.Mistakef("kvbuffer: jobs.Sum: a value of %d bytes, want 8", len(value)))
	}
}

// first returns the accumulator of a key that has only this value. The result may be value
// itself, or memory of the Folder.
func (b *Buffer) first(value []byte) []byte {
	if b.mode == sumMode {
		return value
	}
	return b.o.Folder.Fold(nil, value)
}

// foldShort folds value into the accumulator of a key that fits a slot; k holds the
// words and the meta of the key.
func (b *Buffer) foldShort(key, value []byte, k *keySum) {
	if slot, found := b.load.table.chunkOf(uint32(k.meta)).find(k.a, k.b, k.meta); found {
		b.foldSlot(key, slot, value)
	} else {
		b.insert(key, k.a, k.b, k.meta, b.first(value))
	}
}

// foldLong is foldShort for a key that does not fit in a slot.
func (b *Buffer) foldLong(key, value []byte, meta uint64) {
	slot, found := b.load.table.chunkOf(uint32(meta)).findLong(&b.load.arena, key, meta)
	switch {
	case found && b.mode == sumMode:
		binary.LittleEndian.PutUint64(slot[slotAcc:], binary.LittleEndian.Uint64(slot[slotAcc:])+binary.LittleEndian.Uint64(value))
	case found:
		b.foldSlot(key, slot, value)
	default:
		b.insert(key, binary.LittleEndian.Uint64(key), 0, meta, b.first(value))
	}
}

// insert adds a key that is not in the table, with the accumulator acc. a and w are the words
// of a short key. For a long key, a is its first 8 bytes, and w is ignored. If key and
// accumulator are longer than a chunk, they are written to a segment of their own. insert
// copies key and acc.
func (b *Buffer) insert(key []byte, a, w, meta uint64, acc []byte) {
	stored := 0
	if len(key) > inlineKey {
		stored = len(key)
	}
	// A long key of a sum is stored as a whole record, so that sorting need not copy it again.
	if len(key) > inlineKey && b.mode == sumMode {
		stored = record.EmittedBytes(key, acc)
	}
	if b.mode == foldMode {
		stored += record.AccHeaderBytes + accSpace(len(acc))
	}
	if stored > membudget.ChunkBytes {
		// spillAlone counts the record, but fold has counted it already.
		b.load.records--
		b.stats.Bytes -= int64(len(key) + len(acc))
		b.countCombined(1, 1)
		b.spillAlone(key, acc)
		return
	}
	c := b.placeFor(uint32(meta), stored)
	if c == nil {
		return
	}
	slot := c.vacant(uint32(meta))
	switch {
	case len(key) <= inlineKey:
	case b.mode == sumMode:
		w = b.storeSum(key, acc)
	default:
		w = b.store(key)
	}
	binary.LittleEndian.PutUint64(slot, a)
	binary.LittleEndian.PutUint64(slot[8:], w)
	if b.mode == sumMode {
		copy(slot[slotAcc:slotMeta], acc)
	} else {
		binary.LittleEndian.PutUint64(slot[slotAcc:], b.storeAcc(acc))
	}
	binary.LittleEndian.PutUint64(slot[slotMeta:], meta)
	c.keys++
	b.load.table.keys++
}

// slotCharge is the number of bytes of the capacity that a key takes, without its stored bytes.
// It covers a slot in a chunk that is at most two thirds full, and an entry for sorting.
const slotCharge = slotBytes*3/2 + record.EntryBytes

// placeFor makes room for a new key of the given hash that needs stored bytes outside of its
// slot. It returns the chunk of the table for the key, with a vacant slot, or nil after an
// error. It may spill, so that b.load is a different load afterwards.
func (b *Buffer) placeFor(hash uint32, stored int) *tableChunk {
	need := int64(slotCharge + stored)
	if need > b.room {
		b.atMark(need, nil, nil)
	}
	for b.err == nil {
		t := &b.load.table
		if len(t.directory) == 0 && !b.startTable() {
			return nil
		}
		if stored > len(b.data)-b.off {
			if !b.nextData() {
				b.flush()
			}
			continue
		}
		c := t.chunkOf(hash)
		if c.keys < maxChunkKeys {
			b.room -= need
			return c
		}
		// flush may begin a new table, so the loop looks up the chunk again.
		if !b.splitTable(c, hash) {
			b.flush()
		}
	}
	return nil
}

// startTable gives an empty load a table of one chunk. It returns false after an error.
func (b *Buffer) startTable() bool {
	if !b.alive() {
		return false
	}
	for b.err == nil {
		if c, ok := b.chunk(); ok {
			b.load.chunks = append(b.load.chunks, c)
			b.load.table.start(c, b.load.arena.Add(c.Data))
			return true
		}
		b.flush()
	}
	return false
}

// splitTable splits c, the chunk for hash. It returns false if there is no memory, or if no
// split can divide the keys of c. The caller then spills the load.
func (b *Buffer) splitTable(c *tableChunk, hash uint32) bool {
	if c.depth == maxDepth || !c.divisible() {
		return false
	}
	fresh, ok := b.chunk()
	if ok {
		b.load.chunks = append(b.load.chunks, fresh)
		b.load.table.split(c, hash, fresh, b.load.arena.Add(fresh.Data))
	}
	return ok
}

// store copies p to the chunk being filled, which must have room for it. It returns the address
// of the copy.
func (b *Buffer) store(p []byte) uint64 {
	addr := b.dataAddr + uint64(b.off)
	b.off += copy(b.data[b.off:], p)
	return addr
}

// storeSum stores a key and its sum as an emitted record, and returns the address of the key in
// it. The slot holds the current sum; slotEntries writes it to the record.
func (b *Buffer) storeSum(key, sum []byte) uint64 {
	addr := b.dataAddr + uint64(b.off)
	size := record.PutEmitted(b.data[b.off:], key, sum)
	b.off += size
	return addr + uint64(size-len(key)-len(sum))
}

// accSpace returns the bytes that are reserved for an accumulator of n bytes. It adds half
// as much and 8 bytes, so that the accumulator can grow in place.
func accSpace(n int) int { return n + n/2 + 8 }

// storeAcc stores an accumulator and returns its address. The layout is: reserved bytes and
// used bytes, 4 bytes each, then the accumulator, then room to grow.
func (b *Buffer) storeAcc(acc []byte) uint64 {
	addr := b.dataAddr + uint64(b.off)
	p := b.data[b.off:]
	binary.LittleEndian.PutUint32(p, uint32(accSpace(len(acc))))
	binary.LittleEndian.PutUint32(p[4:], uint32(len(acc)))
	copy(p[record.AccHeaderBytes:], acc)
	b.off += record.AccHeaderBytes + accSpace(len(acc))
	return addr
}

// foldSlot folds value into the accumulator of slot. If the accumulator outgrows its reserved
// bytes, it moves to the chunk being filled. If there is no room there, moveOut spills the
// load.
func (b *Buffer) foldSlot(key, slot, value []byte) {
	p := b.load.arena.At(binary.LittleEndian.Uint64(slot[slotAcc:]))
	space, n := binary.LittleEndian.Uint32(p), binary.LittleEndian.Uint32(p[4:])
	// The capacity of old ends at the reserved bytes, so Fold may append in place up to there.
	old := p[record.AccHeaderBytes : record.AccHeaderBytes+n : record.AccHeaderBytes+space]
	acc := b.o.Folder.Fold(old, value)
	if len(acc) <= int(space) {
		// Fold has returned memory of its own. It is valid only until the next Fold, so copy
		// it.
		if len(acc) > 0 && (len(old) == 0 || &acc[0] != &old[0]) {
			copy(p[record.AccHeaderBytes:record.AccHeaderBytes+space], acc)
		}
		binary.LittleEndian.PutUint32(p[4:], uint32(len(acc)))
		return
	}
	need := record.AccHeaderBytes + accSpace(len(acc))
	if need <= membudget.ChunkBytes && int64(need) <= b.room && (need <= len(b.data)-b.off || b.nextData()) {
		b.room -= int64(need)
		binary.LittleEndian.PutUint64(slot[slotAcc:], b.storeAcc(acc))
		return
	}
	b.moveOut(key, slot, acc)
}

// moveOut handles a key whose accumulator acc has no room in the load. It marks the slot of the
// key as dead, spills the rest of the load, and adds the key to the next load.
func (b *Buffer) moveOut(key, slot, acc []byte) {
	acc = append([]byte(nil), acc...) // acc may lie in the load that is spilled
	binary.LittleEndian.PutUint64(slot[slotMeta:], binary.LittleEndian.Uint64(slot[slotMeta:])|deadSlot)
	b.load.table.keys--
	if b.countEntries(); b.load.table.keys > 0 {
		b.rotate()
	} else {
		b.free(b.load)
		// rotate did not count the records of this load. The new load carries them on.
		records := b.load.records
		b.begin()
		b.load.records = records
	}
	if b.err != nil || !b.startTable() {
		return
	}
	var a, w uint64
	var hash uint32
	if len(key) <= inlineKey {
		a, w = words(key)
		hash = b.seed.words(a, w)
	} else {
		a, hash = binary.LittleEndian.Uint64(key), b.seed.long(key)
	}
	if record.AccHeaderBytes+accSpace(len(acc))+len(key) > membudget.ChunkBytes {
		b.countCombined(0, 1)
		b.spillFolded(key, acc)
		return
	}
	b.insert(key, a, w, metaOf(len(key), hash), acc)
}
