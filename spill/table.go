package spill

import (
	"bytes"
	"encoding/binary"

	"mrlocal/internal/membudget"
)

// table is the hash-combining side of a buffer: extendible hashing over
// chunks. The directory says by the top bits of the hash which chunk a key is
// in; each chunk is an open-addressing table of its own, and one that is full
// is split into two. So the table grows by one chunk at a time, nothing else
// moves, and the transient is nothing but that chunk.
//
//	slot, 32 bytes   0        8        16       24
//	                +--------+--------+--------+--------+
//	                | key a  | key b  | acc    | meta   |
//	                +--------+--------+--------+--------+
//
// meta is the key's length + 1 (upper half) and hash (lower half); 0 is an
// empty slot. A key of up to 16 bytes lies in the slot, packed by words; of a
// longer one a holds the first 8 bytes and b the address. acc is the sum where
// the Folder is jobs.Sum, else the address of the accumulator:
// capacity and length, 4 bytes each, then the bytes.
type table struct {
	directory []*tableChunk
	depth     uint
	chunks    []*tableChunk
	keys      int64
	sums      bool // accumulators are sums
}

type tableChunk struct {
	slots *[membudget.ChunkBytes]byte
	keys  int
	depth uint
	base  uint64 // address
}

const (
	slotBytes  = 32
	chunkSlots = membudget.ChunkBytes / slotBytes
	slotMask   = chunkSlots - 1
	slotAcc    = 16
	slotMeta   = 24
	inlineKey  = 16

	// Two thirds full: then the entries of a chunk's slots fit into the rest
	// of it, and a table is drained without any memory. (drain.go)
	maxChunkKeys = chunkSlots * 2 / 3

	// The directory doubles at most so often: beyond it, keys share more of
	// their hash than chance allows, and the table is spilled as if it were full.
	maxDepth = 18

	accHeaderBytes = 8

	// deadSlot marks the length of a key that moved out. (Buffer.moveOut)
	deadSlot = 1 << 63
)

func slotMetaOf(n int, hash uint32) uint64 { return uint64(n+1)<<32 | uint64(hash) }

func (t *table) chunkOf(hash uint32) *tableChunk {
	return t.directory[uint64(hash)>>(32-t.depth)]
}

// find returns the slot of a short key, or an empty one for it.
//
// hot:
func (c *tableChunk) find(a, b, meta uint64) (slot []byte, found bool) {
	for i := uint32(meta); ; i++ {
		at := i & slotMask * slotBytes
		s := c.slots[at : at+slotBytes : at+slotBytes]
		switch m := binary.LittleEndian.Uint64(s[slotMeta:]); {
		case m == meta && binary.LittleEndian.Uint64(s) == a && binary.LittleEndian.Uint64(s[8:]) == b:
			return s, true
		case m == 0:
			return s, false
		}
	}
}

// findLong is find for a key longer than a slot holds.
func (c *tableChunk) findLong(ar *arena, key []byte, meta uint64) (slot []byte, found bool) {
	first := binary.LittleEndian.Uint64(key)
	for i := uint32(meta); ; i++ {
		at := i & slotMask * slotBytes
		s := c.slots[at : at+slotBytes : at+slotBytes]
		switch m := binary.LittleEndian.Uint64(s[slotMeta:]); {
		case m == meta && binary.LittleEndian.Uint64(s) == first &&
			bytes.Equal(ar.at(binary.LittleEndian.Uint64(s[8:]))[:len(key)], key):
			return s, true
		case m == 0:
			return s, false
		}
	}
}

// start makes c the only chunk.
func (t *table) start(c *membudget.Chunk, base uint64) {
	first := newTableChunk(c, base, 0)
	t.chunks = append(t.chunks[:0], first)
	t.directory = append(t.directory[:0], first)
	t.depth, t.keys = 0, 0
}

func newTableChunk(c *membudget.Chunk, base uint64, depth uint) *tableChunk {
	clear(c.Data)
	return &tableChunk{slots: (*[membudget.ChunkBytes]byte)(c.Data), depth: depth, base: base}
}

// splittable reports whether a split of c can part its keys.
func (c *tableChunk) splittable() bool { return c.depth < maxDepth }

// split moves the keys of c, where hash belongs, with the next bit of the hash
// set to a new chunk.
func (t *table) split(c *tableChunk, hash uint32, fresh *membudget.Chunk, base uint64) {
	if c.depth == t.depth {
		doubled := make([]*tableChunk, 2*len(t.directory))
		for i, c := range t.directory {
			doubled[2*i], doubled[2*i+1] = c, c
		}
		t.directory = doubled
		t.depth++
	}
	// The directory's places for c are neighbours; the upper half becomes the
	// sibling's.
	places := 1 << (t.depth - c.depth)
	first := int(uint64(hash)>>(32-t.depth)) &^ (places - 1)
	c.depth++
	sibling := newTableChunk(fresh, base, c.depth)
	t.chunks = append(t.chunks, sibling)
	c.part(sibling)
	for i := first + places/2; i < first+places; i++ {
		t.directory[i] = sibling
	}
}

// part empties c and puts every slot where it belongs, here or in sibling.
// A chunk is a circle: the slots from the first empty one on are put back in
// the order in which they were probed, so a slot never moves onto one that was
// not looked at yet.
func (c *tableChunk) part(sibling *tableChunk) {
	start := uint32(0)
	for c.meta(start) != 0 {
		start++
	}
	c.keys = 0
	var slot [slotBytes]byte
	for n := uint32(1); n <= chunkSlots; n++ {
		i := (start + n) & slotMask
		meta := c.meta(i)
		if meta == 0 {
			continue
		}
		s := c.slots[i*slotBytes : (i+1)*slotBytes]
		copy(slot[:], s)
		clear(s)
		to := c
		if uint32(meta)>>(32-sibling.depth)&1 == 1 {
			to = sibling
		}
		to.put(slot[:], uint32(meta))
	}
}

func (c *tableChunk) meta(i uint32) uint64 {
	return binary.LittleEndian.Uint64(c.slots[i*slotBytes+slotMeta:])
}

// vacant is the first empty slot for hash.
func (c *tableChunk) vacant(hash uint32) []byte {
	i := hash & slotMask
	for c.meta(i) != 0 {
		i = (i + 1) & slotMask
	}
	return c.slots[i*slotBytes : (i+1)*slotBytes : (i+1)*slotBytes]
}

// put copies slot to the first empty place for hash.
func (c *tableChunk) put(slot []byte, hash uint32) {
	i := hash & slotMask
	for c.meta(i) != 0 {
		i = (i + 1) & slotMask
	}
	copy(c.slots[i*slotBytes:], slot)
	c.keys++
}

// The slots below are those of a drained table: the key of up to 16 bytes
// stands in the first 16 as it is.

func (a *arena) slotKey(p []byte) []byte {
	n := binary.LittleEndian.Uint64(p[slotMeta:])>>32 - 1
	if n <= inlineKey {
		return p[:n:n]
	}
	return a.at(binary.LittleEndian.Uint64(p[8:]))[:n:n]
}

func (a *arena) slotValue(p []byte) []byte {
	if a.sums {
		return p[slotAcc : slotAcc+8 : slotAcc+8]
	}
	acc := a.at(binary.LittleEndian.Uint64(p[slotAcc:]))
	n := uint64(binary.LittleEndian.Uint32(acc[4:]))
	return acc[accHeaderBytes : accHeaderBytes+n : accHeaderBytes+n]
}

// compact makes the chunk's slots readable through an arena, in place: used
// slots move to the front and their keys are unpacked. It returns how many.
func (c *tableChunk) compact() int {
	n := 0
	for i := uint32(0); i < chunkSlots; i++ {
		meta := c.meta(i)
		if meta == 0 || meta&deadSlot != 0 {
			continue
		}
		s := c.slots[n*slotBytes : (n+1)*slotBytes : (n+1)*slotBytes]
		copy(s, c.slots[i*slotBytes:(i+1)*slotBytes])
		if size := int(meta>>32) - 1; size <= inlineKey {
			unpack(s[:inlineKey], binary.LittleEndian.Uint64(s), binary.LittleEndian.Uint64(s[8:]), size)
		}
		n++
	}
	return n
}
