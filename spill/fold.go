package spill

import (
	"encoding/binary"
	"fmt"

	"mrlocal/internal/membudget"
	"mrlocal/spill/record"
)

// fold combines a value into its key's accumulator.
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
		b.foldLong(key, value, metaOf(len(key), hashLong(key)))
		return
	}
	a, w := words(key)
	meta := metaOf(len(key), hashWords(a, w))
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

func (b *Buffer) refuseValue(value []byte) {
	if b.err == nil && !b.ended && len(b.load.table.directory) > 0 {
		b.fail(fmt.Errorf("kvbuffer: jobs.Sum: a value of %d bytes, want 8", len(value)))
	}
}

// first is the accumulator of a key's first value.
func (b *Buffer) first(value []byte) []byte {
	if b.mode == sumMode {
		return value
	}
	return b.o.Folder.Fold(nil, value)
}

// foldShort folds value into the accumulator of a key that a slot holds.
func (b *Buffer) foldShort(key, value []byte, k *keySum) {
	if slot, found := b.load.table.chunkOf(uint32(k.meta)).find(k.a, k.b, k.meta); found {
		b.foldSlot(key, slot, value)
	} else {
		b.insert(key, k.a, k.b, k.meta, b.first(value))
	}
}

// foldLong is fold for a key longer than a slot holds.
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

// insert adds a key that the table does not have; a and w are the words of a
// short one. What is longer than a chunk is spilled alone.
func (b *Buffer) insert(key []byte, a, w, meta uint64, acc []byte) {
	stored := 0
	if len(key) > inlineKey {
		stored = len(key)
	}
	if b.mode == foldMode {
		stored += record.AccHeaderBytes + accSpace(len(acc))
	}
	if stored > membudget.ChunkBytes {
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
	if len(key) > inlineKey {
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

// slotCharge is what a key takes of the capacity: a slot two thirds used, and
// an entry when it is sorted.
const slotCharge = slotBytes*3/2 + record.EntryBytes

// placeFor makes room for a new key with so many bytes outside its slot and
// returns its chunk; nil when there is an error.
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
		if !b.splitTable(c, hash) {
			b.flush()
		}
	}
	return nil
}

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

// store copies p, for which there is room, and returns its address.
func (b *Buffer) store(p []byte) uint64 {
	addr := b.dataAddr + uint64(b.off)
	b.off += copy(b.data[b.off:], p)
	return addr
}

// accSpace is the room that an accumulator of n bytes is given to grow.
func accSpace(n int) int { return n + n/2 + 8 }

// storeAcc is store for an accumulator, with its header and room.
func (b *Buffer) storeAcc(acc []byte) uint64 {
	addr := b.dataAddr + uint64(b.off)
	p := b.data[b.off:]
	binary.LittleEndian.PutUint32(p, uint32(accSpace(len(acc))))
	binary.LittleEndian.PutUint32(p[4:], uint32(len(acc)))
	copy(p[record.AccHeaderBytes:], acc)
	b.off += record.AccHeaderBytes + accSpace(len(acc))
	return addr
}

// foldSlot folds value into the slot's accumulator. One that outgrows its room
// moves; where there is no room at all for it, the slot dies, what else was
// collected is spilled, and the key begins anew.
func (b *Buffer) foldSlot(key, slot, value []byte) {
	p := b.load.arena.At(binary.LittleEndian.Uint64(slot[slotAcc:]))
	space, n := binary.LittleEndian.Uint32(p), binary.LittleEndian.Uint32(p[4:])
	old := p[record.AccHeaderBytes : record.AccHeaderBytes+n : record.AccHeaderBytes+space]
	acc := b.o.Folder.Fold(old, value)
	if len(acc) <= int(space) {
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

// moveOut empties the slot of a key whose accumulator has no room, and adds
// the key again.
func (b *Buffer) moveOut(key, slot, acc []byte) {
	acc = append([]byte(nil), acc...) // may lie in what is spilled
	binary.LittleEndian.PutUint64(slot[slotMeta:], binary.LittleEndian.Uint64(slot[slotMeta:])|deadSlot)
	b.load.table.keys--
	if b.note(); b.load.table.keys > 0 {
		b.rotate()
	} else {
		b.free(b.load)
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
		hash = hashWords(a, w)
	} else {
		a, hash = binary.LittleEndian.Uint64(key), hashLong(key)
	}
	if record.AccHeaderBytes+accSpace(len(acc))+len(key) > membudget.ChunkBytes {
		b.countCombined(0, 1)
		b.spillFolded(key, acc)
		return
	}
	b.insert(key, a, w, metaOf(len(key), hash), acc)
}
