package run

import (
	"bytes"
	"encoding/binary"

	"mrlocal/internal/membudget"
)

// Table is the hash-combining side of a buffer: extendible hashing over
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
// empty slot. A key of up to 16 bytes lies in the slot, padded with zeros; of a
// longer one a holds the first 8 bytes and b the address. acc is the sum where
// the Folder is jobs.Sum, else the address of the accumulator:
// capacity and length, 4 bytes each, then the bytes.
type Table struct {
	Directory []*TableChunk
	bases     []*slots // of the directory's chunks: one look less on the way to a slot
	depth     uint
	Chunks    []*TableChunk
	Keys      int64
	Sums      bool // accumulators are sums
}

type slots [membudget.ChunkBytes]byte

type TableChunk struct {
	Slots *slots
	Keys  int
	Depth uint
	Base  uint64 // address
}

const (
	SlotBytes  = 32
	chunkSlots = membudget.ChunkBytes / SlotBytes
	SlotMask   = chunkSlots - 1
	SlotAcc    = 16
	SlotMeta   = 24
	InlineKey  = 16

	// Two thirds full: then the entries of a chunk's slots fit into the rest
	// of it, and a table is drained without any memory. (Compact)
	MaxChunkKeys = chunkSlots * 2 / 3

	// The directory doubles at most so often: beyond it, keys share more of
	// their hash than chance allows, and the table is spilled as if it were full.
	MaxDepth = 18

	AccHeaderBytes = 8

	// deadSlot marks the length of a key that moved out. (spill.Buffer.moveOut)
	DeadSlot = 1 << 63
)

func SlotMetaOf(n int, hash uint32) uint64 { return uint64(n+1)<<32 | uint64(hash) }

// shift is how far a hash is shifted for its place in the directory.
func (t *Table) shift() uint32 { return uint32(32-t.depth) & 63 }

func (t *Table) ChunkOf(hash uint32) *TableChunk {
	return t.Directory[uint64(hash)>>(32-t.depth)]
}

// Find returns the slot of a short key, or an empty one for it.
//
// hot: once a record that is combined.
func (c *TableChunk) Find(a, b, meta uint64) (slot []byte, found bool) {
	for i := uint32(meta); ; i++ {
		at := i & SlotMask * SlotBytes
		s := c.Slots[at : at+SlotBytes : at+SlotBytes]
		switch m := binary.LittleEndian.Uint64(s[SlotMeta:]); {
		case m == meta && binary.LittleEndian.Uint64(s) == a && binary.LittleEndian.Uint64(s[8:]) == b:
			return s, true
		case m == 0:
			return s, false
		}
	}
}

// LookLong looks at the key that FindLong will compare a key with, and LookAcc
// at the accumulator of what is most likely the same key. What they return
// only keeps the look from being optimised away.
//
// hot: a cache miss for each long key.
func (c *TableChunk) LookLong(ar *Arena, k *Sum) byte {
	if s := c.like(k); s != nil {
		return ar.At(binary.LittleEndian.Uint64(s[8:]))[0]
	}
	return 0
}

// hot: a cache miss for each record.
func (c *TableChunk) LookAcc(ar *Arena, k *Sum) byte {
	if s := c.like(k); s != nil {
		return ar.At(binary.LittleEndian.Uint64(s[SlotAcc:]))[0]
	}
	return 0
}

// like is the first slot with the hash, the length and the first bytes of k.
func (c *TableChunk) like(k *Sum) *[SlotBytes]byte {
	for i := uint32(k.Meta); ; i++ {
		s := (*[SlotBytes]byte)(c.Slots[i&SlotMask*SlotBytes:])
		switch m := binary.LittleEndian.Uint64(s[SlotMeta:]); {
		case m == k.Meta && binary.LittleEndian.Uint64(s[:]) == k.A:
			return s
		case m == 0:
			return nil
		}
	}
}

// FindLong is find for a key longer than a slot holds.
func (c *TableChunk) FindLong(ar *Arena, key []byte, meta uint64) (slot []byte, found bool) {
	first := binary.LittleEndian.Uint64(key)
	for i := uint32(meta); ; i++ {
		at := i & SlotMask * SlotBytes
		s := c.Slots[at : at+SlotBytes : at+SlotBytes]
		switch m := binary.LittleEndian.Uint64(s[SlotMeta:]); {
		case m == meta && binary.LittleEndian.Uint64(s) == first &&
			bytes.Equal(ar.At(binary.LittleEndian.Uint64(s[8:]))[:len(key)], key):
			return s, true
		case m == 0:
			return s, false
		}
	}
}

// Start makes c the only chunk.
func (t *Table) Start(c *membudget.Chunk, base uint64) {
	first := newTableChunk(c, base, 0)
	t.Chunks = append(t.Chunks[:0], first)
	t.Directory = append(t.Directory[:0], first)
	t.bases = append(t.bases[:0], first.Slots)
	t.depth, t.Keys = 0, 0
}

func newTableChunk(c *membudget.Chunk, base uint64, depth uint) *TableChunk {
	clear(c.Data)
	return &TableChunk{Slots: (*slots)(c.Data), Depth: depth, Base: base}
}

// Divisible says that splits can divide the keys of a chunk that has some: their
// hashes differ in bits that the directory goes by. Keys made to have one hash
// would else be moved MaxDepth times, past one another each time.
func (c *TableChunk) Divisible() bool {
	var first, diff uint64
	for i := range uint32(chunkSlots) {
		if meta := c.Meta(i); meta != 0 {
			if first == 0 {
				first = meta
			}
			diff |= meta ^ first
		}
	}
	return uint32(diff)>>(32-MaxDepth) != 0
}

// Split moves the keys of c, where hash belongs, with the next bit of the hash
// set to a new chunk.
func (t *Table) Split(c *TableChunk, hash uint32, fresh *membudget.Chunk, base uint64) {
	if c.Depth == t.depth {
		doubled, bases := make([]*TableChunk, 2*len(t.Directory)), make([]*slots, 2*len(t.Directory))
		for i, c := range t.Directory {
			doubled[2*i], doubled[2*i+1] = c, c
			bases[2*i], bases[2*i+1] = c.Slots, c.Slots
		}
		t.Directory, t.bases = doubled, bases
		t.depth++
	}
	// The directory's places for c are neighbours; the upper half becomes the
	// sibling's.
	places := 1 << (t.depth - c.Depth)
	first := int(uint64(hash)>>(32-t.depth)) &^ (places - 1)
	c.Depth++
	sibling := newTableChunk(fresh, base, c.Depth)
	t.Chunks = append(t.Chunks, sibling)
	c.part(sibling)
	for i := first + places/2; i < first+places; i++ {
		t.Directory[i], t.bases[i] = sibling, sibling.Slots
	}
}

// part empties c and puts every slot where it belongs, here or in sibling.
// A chunk is a circle: the slots from the first empty one on are put back in
// the order in which they were probed, so a slot never moves onto one that was
// not looked at yet.
func (c *TableChunk) part(sibling *TableChunk) {
	start := uint32(0)
	for c.Meta(start) != 0 {
		start++
	}
	c.Keys = 0
	var slot [SlotBytes]byte
	for n := uint32(1); n <= chunkSlots; n++ {
		i := (start + n) & SlotMask
		meta := c.Meta(i)
		if meta == 0 {
			continue
		}
		s := c.Slots[i*SlotBytes : (i+1)*SlotBytes]
		copy(slot[:], s)
		clear(s)
		to := c
		if uint32(meta)>>(32-sibling.Depth)&1 == 1 {
			to = sibling
		}
		to.put(slot[:], uint32(meta))
	}
}

func (c *TableChunk) Meta(i uint32) uint64 {
	return binary.LittleEndian.Uint64(c.Slots[i*SlotBytes+SlotMeta:])
}

// Vacant is the first empty slot for hash.
func (c *TableChunk) Vacant(hash uint32) []byte {
	i := hash & SlotMask
	for c.Meta(i) != 0 {
		i = (i + 1) & SlotMask
	}
	return c.Slots[i*SlotBytes : (i+1)*SlotBytes : (i+1)*SlotBytes]
}

// put copies slot to the first empty place for hash.
func (c *TableChunk) put(slot []byte, hash uint32) {
	i := hash & SlotMask
	for c.Meta(i) != 0 {
		i = (i + 1) & SlotMask
	}
	copy(c.Slots[i*SlotBytes:], slot)
	c.Keys++
}

func (a *Arena) SlotKey(p []byte) []byte {
	n := binary.LittleEndian.Uint64(p[SlotMeta:])>>32 - 1
	if n <= InlineKey {
		return p[:n:n]
	}
	return a.At(binary.LittleEndian.Uint64(p[8:]))[:n:n]
}

func (a *Arena) SlotValue(p []byte) []byte {
	if a.Sums {
		return p[SlotAcc : SlotAcc+8 : SlotAcc+8]
	}
	acc := a.At(binary.LittleEndian.Uint64(p[SlotAcc:]))
	n := uint64(binary.LittleEndian.Uint32(acc[4:]))
	return acc[AccHeaderBytes : AccHeaderBytes+n : AccHeaderBytes+n]
}

// touchSlot looks at the key of the slot at ref where it lies elsewhere.
func (a *Arena) touchSlot(ref uint64) byte {
	p := a.At(ref >> CodeBits)
	if binary.LittleEndian.Uint64(p[SlotMeta:])>>32-1 <= InlineKey {
		return 0
	}
	return a.At(binary.LittleEndian.Uint64(p[8:]))[0]
}

// Compact moves used slots to the front and returns how many there are.
func (c *TableChunk) Compact() int {
	n := 0
	for i := uint32(0); i < chunkSlots; i++ {
		meta := c.Meta(i)
		if meta == 0 || meta&DeadSlot != 0 {
			continue
		}
		copy(c.Slots[n*SlotBytes:(n+1)*SlotBytes], c.Slots[i*SlotBytes:(i+1)*SlotBytes])
		n++
	}
	return n
}
