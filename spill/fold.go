package spill

import (
	"encoding/binary"
	"fmt"

	"mrlocal/internal/membudget"
	"mrlocal/spill/record"
)

// fold folds a value into the accumulator of its key. A sum of a short key is only
// noted, and added with others (sums.go).
//
// hot: once a record that is combined.
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
		t.ahead(p.pending[p.filling][:])
		b.turnSums()
	}
}

// refuseValue fails for a value that is no sum. It is also called where there is
// no table because of an error. Then it only stops code whose attempt is killed.
func (b *Buffer) refuseValue(value []byte) {
	b.stop()
	if b.err == nil && !b.ended && len(b.load.table.directory) > 0 {
		b.fail(fmt.Errorf("kvbuffer: jobs.Sum: a value of %d bytes, want 8", len(value)))
	}
}

// first returns the accumulator of a key with one value.
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

// foldLong is fold for a key that does not fit a slot.
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

// insert adds a key that the table does not have. a and w are the words of a short
// key; of a long one a is its first 8 bytes. A key or accumulator longer than a
// chunk is written to a segment of its own. acc is copied.
func (b *Buffer) insert(key []byte, a, w, meta uint64, acc []byte) {
	stored := 0
	if len(key) > inlineKey {
		stored = len(key)
	}
	// The key is stored as a whole record, so that sorting need not copy it again.
	if len(key) > inlineKey && b.mode == sumMode {
		stored = record.EmittedBytes(key, acc)
	}
	if b.mode == foldMode {
		stored += record.AccHeaderBytes + accSpace(len(acc))
	}
	if stored > membudget.ChunkBytes {
		// spillAlone counts the record, which fold has counted already.
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

// slotCharge is how many bytes of the capacity a key takes: a slot, in a chunk of
// which two thirds are used, and an entry when it is sorted.
const slotCharge = slotBytes*3/2 + record.EntryBytes

// placeFor makes room for a new key that has stored bytes outside of its slot. It
// returns the chunk of the table that the key belongs to, with a vacant slot; nil
// when there is an error. The load may be another one afterwards.
func (b *Buffer) placeFor(hash uint32, stored int) *tableChunk {
	need := int64(slotCharge + stored)
	if need > b.room {
		b.atMark(need)
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
		// After a flush there may be another table, so the loop looks for the chunk again.
		if !b.splitTable(c, hash) {
			b.flush()
		}
	}
	return nil
}

// startTable gives an empty load a table of one chunk. It reports false when there
// is an error.
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

// splitTable splits the chunk c, where hash belongs. It reports false where there
// is no memory or splitting would not help; then the load is spilled.
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

// store copies p to the chunk being filled, which has room for it, and returns the
// address.
func (b *Buffer) store(p []byte) uint64 {
	addr := b.dataAddr + uint64(b.off)
	b.off += copy(b.data[b.off:], p)
	return addr
}

// storeSum stores a key as an emitted record with a sum, and returns the address of the
// key in it. The slot has the sum until the table is sorted (slotEntries).
func (b *Buffer) storeSum(key, sum []byte) uint64 {
	addr := b.dataAddr + uint64(b.off)
	size := record.PutEmitted(b.data[b.off:], key, sum)
	b.off += size
	return addr + uint64(size-len(key)-len(sum))
}

// accSpace is how many bytes an accumulator of n bytes gets, with room to grow.
func accSpace(n int) int { return n + n/2 + 8 }

// storeAcc stores an accumulator: its header, its bytes, and room to grow.
func (b *Buffer) storeAcc(acc []byte) uint64 {
	addr := b.dataAddr + uint64(b.off)
	p := b.data[b.off:]
	binary.LittleEndian.PutUint32(p, uint32(accSpace(len(acc))))
	binary.LittleEndian.PutUint32(p[4:], uint32(len(acc)))
	copy(p[record.AccHeaderBytes:], acc)
	b.off += record.AccHeaderBytes + accSpace(len(acc))
	return addr
}

// foldSlot folds value into the accumulator of a slot. An accumulator that outgrows
// its room moves to the chunk being filled. If there is no room there, moveOut
// spills the load.
func (b *Buffer) foldSlot(key, slot, value []byte) {
	p := b.load.arena.At(binary.LittleEndian.Uint64(slot[slotAcc:]))
	space, n := binary.LittleEndian.Uint32(p), binary.LittleEndian.Uint32(p[4:])
	// Fold may append to old within its capacity, and so grow the accumulator in place.
	old := p[record.AccHeaderBytes : record.AccHeaderBytes+n : record.AccHeaderBytes+space]
	acc := b.o.Folder.Fold(old, value)
	if len(acc) <= int(space) {
		// Fold has returned memory of its own, which is copied while it is still valid.
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

// moveOut handles a key whose accumulator has no room. It marks the slot of the
// key as dead, spills all else that was collected, and adds the key to the next
// load.
func (b *Buffer) moveOut(key, slot, acc []byte) {
	acc = append([]byte(nil), acc...) // it may lie in the load that is spilled
	binary.LittleEndian.PutUint64(slot[slotMeta:], binary.LittleEndian.Uint64(slot[slotMeta:])|deadSlot)
	b.load.table.keys--
	if b.note(); b.load.table.keys > 0 {
		b.rotate()
	} else {
		b.free(b.load)
		// The key was counted in the load that is gone, and goes on in the new one.
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
