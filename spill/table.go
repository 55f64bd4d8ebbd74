package spill

import (
	"bytes"
	"encoding/binary"

	"mrlocal/internal/membudget"
	"mrlocal/spill/record"
)

// table is the hash-combining side of a kvbuffer: extendible hashing over
// chunks. The directory says by the top bits of the hash which chunk a key is
// in. Each chunk is an open-addressing table of its own, and a chunk that is
// full is split into two. So the table grows by one chunk at a time, no other
// chunk moves, and growing needs no memory but that chunk (docs/adr/0004).
//
// The chunks are the load's, which frees them. Slots are drawn in
// record/arena.go.
type table struct {
	directory []*tableChunk // by the upper depth bits of the hash; a chunk of a lesser depth has several neighbouring places
	bases     []*slots      // of the directory's chunks: one load less on the way to a slot
	depth     uint
	chunks    []*tableChunk // each once, in the order of their addresses
	keys      int64
	sums      bool // accumulators are sums
	seed      seed
}

type slots [membudget.ChunkBytes]byte

type tableChunk struct {
	slots *slots
	keys  int    // slots in use
	depth uint   // bits of the hash that all keys have in common
	base  uint64 // address
}

// The layout of a slot by names that the assembly can refer to.
const (
	slotBytes = record.SlotBytes
	slotAcc   = record.SlotAcc
	slotMeta  = record.SlotMeta
	inlineKey = record.InlineKey
)

const (
	chunkSlots = membudget.ChunkBytes / slotBytes
	slotMask   = chunkSlots - 1

	// maxChunkKeys is two thirds of a chunk. The entries of its slots then fit
	// into the rest of the chunk, and a table is sorted without other memory
	// (compact).
	maxChunkKeys = chunkSlots * 2 / 3

	// maxDepth is how often the directory doubles at most. Keys that need more
	// share more of their hash than chance allows: the table is spilled as if it
	// were full.
	maxDepth = 18

	// deadSlot, set in the meta of a slot, marks a key that moved out
	// (Buffer.moveOut).
	deadSlot = 1 << 63
)

// metaOf is the meta word of a key of n bytes.
func metaOf(n int, hash uint32) uint64 { return uint64(n+1)<<32 | uint64(hash) }

// shift is how far a hash is shifted for its place in the directory.
func (t *table) shift() uint32 { return uint32(32-t.depth) & 63 }

// chunkOf returns the chunk that a key of this hash belongs to.
func (t *table) chunkOf(hash uint32) *tableChunk {
	return t.directory[uint64(hash)>>(32-t.depth)]
}

// find returns the slot of a short key, or, with found false, an empty one for it.
// It ends, because a third of a chunk is always empty.
//
// hot: once a record that is combined.
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

// lookLong reads a byte of the key that findLong will compare k with, so that it is
// in the cache by then. The caller has to use what it returns, or the compiler
// removes the read.
//
// hot: a cache miss for each long key.
func (c *tableChunk) lookLong(ar *record.Arena, k *keySum) byte {
	if s := c.like(k); s != nil {
		return ar.At(binary.LittleEndian.Uint64(s[8:]))[0]
	}
	return 0
}

// lookAcc is lookLong for the accumulator of the key that is most likely k.
//
// hot: a cache miss for each record.
func (c *tableChunk) lookAcc(ar *record.Arena, k *keySum) byte {
	if s := c.like(k); s != nil {
		return ar.At(binary.LittleEndian.Uint64(s[slotAcc:]))[0]
	}
	return 0
}

// like returns the first slot with the hash, the length and the first 8 bytes of k;
// nil: there is none.
func (c *tableChunk) like(k *keySum) *[slotBytes]byte {
	for i := uint32(k.meta); ; i++ {
		s := (*[slotBytes]byte)(c.slots[i&slotMask*slotBytes:])
		switch m := binary.LittleEndian.Uint64(s[slotMeta:]); {
		case m == k.meta && binary.LittleEndian.Uint64(s[:]) == k.a:
			return s
		case m == 0:
			return nil
		}
	}
}

// findLong is find for a key that does not fit a slot.
func (c *tableChunk) findLong(ar *record.Arena, key []byte, meta uint64) (slot []byte, found bool) {
	first := binary.LittleEndian.Uint64(key)
	for i := uint32(meta); ; i++ {
		at := i & slotMask * slotBytes
		s := c.slots[at : at+slotBytes : at+slotBytes]
		switch m := binary.LittleEndian.Uint64(s[slotMeta:]); {
		case m == meta && binary.LittleEndian.Uint64(s) == first &&
			bytes.Equal(ar.At(binary.LittleEndian.Uint64(s[8:]))[:len(key)], key):
			return s, true
		case m == 0:
			return s, false
		}
	}
}

// start empties the table and makes c, whose address is base, its only chunk.
func (t *table) start(c *membudget.Chunk, base uint64) {
	first := newTableChunk(c, base, 0)
	t.chunks = append(t.chunks[:0], first)
	t.directory = append(t.directory[:0], first)
	t.bases = append(t.bases[:0], first.slots)
	t.depth, t.keys = 0, 0
}

// newTableChunk makes c, which may hold anything, a chunk of empty slots.
func newTableChunk(c *membudget.Chunk, base uint64, depth uint) *tableChunk {
	// A meta of 0 is an empty slot.
	clear(c.Data)
	return &tableChunk{slots: (*slots)(c.Data), depth: depth, base: base}
}

// divisible reports whether splits can divide the keys of c, which has some: their
// hashes differ in the bits that the directory uses. Otherwise keys that were made to
// have one hash would be moved maxDepth times, past one another each time.
func (c *tableChunk) divisible() bool {
	var first, diff uint64
	for i := range uint32(chunkSlots) {
		if meta := c.meta(i); meta != 0 {
			if first == 0 {
				first = meta
			}
			diff |= meta ^ first
		}
	}
	return uint32(diff)>>(32-maxDepth) != 0
}

// split moves the keys of c in whose hash the next bit is set to fresh, whose address
// is base. hash is any hash that belongs to c. The directory doubles if c was its
// deepest chunk.
func (t *table) split(c *tableChunk, hash uint32, fresh *membudget.Chunk, base uint64) {
	if c.depth == t.depth {
		doubled, bases := make([]*tableChunk, 2*len(t.directory)), make([]*slots, 2*len(t.directory))
		for i, c := range t.directory {
			doubled[2*i], doubled[2*i+1] = c, c
			bases[2*i], bases[2*i+1] = c.slots, c.slots
		}
		t.directory, t.bases = doubled, bases
		t.depth++
	}
	// The places of c in the directory are neighbours. Their upper half goes to the
	// sibling.
	places := 1 << (t.depth - c.depth)
	first := int(uint64(hash)>>(32-t.depth)) &^ (places - 1)
	c.depth++
	sibling := newTableChunk(fresh, base, c.depth)
	t.chunks = append(t.chunks, sibling)
	c.part(sibling)
	for i := first + places/2; i < first+places; i++ {
		t.directory[i], t.bases[i] = sibling, sibling.slots
	}
}

// part empties c and puts every slot where it belongs, in c or in sibling. A chunk is
// a circle. Starting behind an empty slot, slots are put back in the order in which
// probing meets them. So none is written over before it was read.
func (c *tableChunk) part(sibling *tableChunk) {
	start := uint32(0)
	for c.meta(start) != 0 {
		start++
	}
	// put counts the keys that stay.
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

// meta returns the meta word of the i-th slot; 0: it is empty.
func (c *tableChunk) meta(i uint32) uint64 {
	return binary.LittleEndian.Uint64(c.slots[i*slotBytes+slotMeta:])
}

// vacant returns the first empty slot for a key of this hash.
func (c *tableChunk) vacant(hash uint32) []byte {
	i := hash & slotMask
	for c.meta(i) != 0 {
		i = (i + 1) & slotMask
	}
	return c.slots[i*slotBytes : (i+1)*slotBytes : (i+1)*slotBytes]
}

// put copies slot to the first empty slot for hash.
func (c *tableChunk) put(slot []byte, hash uint32) {
	i := hash & slotMask
	for c.meta(i) != 0 {
		i = (i + 1) & slotMask
	}
	copy(c.slots[i*slotBytes:], slot)
	c.keys++
}

// compact moves the slots in use, without dead ones, to the front and returns how
// many there are. The chunk cannot be searched any more.
func (c *tableChunk) compact() int {
	n := 0
	for i := range uint32(chunkSlots) {
		meta := c.meta(i)
		if meta == 0 || meta&deadSlot != 0 {
			continue
		}
		copy(c.slots[n*slotBytes:(n+1)*slotBytes], c.slots[i*slotBytes:(i+1)*slotBytes])
		n++
	}
	return n
}

// words packs a key of up to 16 bytes into two words, little-endian and padded with
// zeros. Together with its length they determine the key. Where 16 bytes can be
// read, which the capacity of key shows, that takes two loads and two masks. Else
// the loads overlap, so that no byte outside of the key is read.
func words(key []byte) (a, b uint64) {
	n := len(key)
	if cap(key) >= inlineKey {
		p, m := key[:inlineKey], &masks[n&31]
		return binary.LittleEndian.Uint64(p) & m[0], binary.LittleEndian.Uint64(p[8:]) & m[1]
	}
	switch {
	case n >= 8:
		return binary.LittleEndian.Uint64(key), binary.LittleEndian.Uint64(key[n-8:]) >> (8 * (16 - n))
	case n >= 4:
		return uint64(binary.LittleEndian.Uint32(key)) | uint64(binary.LittleEndian.Uint32(key[n-4:]))<<(8*(n-4)), 0
	case n > 0:
		return uint64(key[0]) | uint64(key[n>>1])<<(8*(n>>1)) | uint64(key[n-1])<<(8*(n-1)), 0
	}
	return 0, 0
}

// wordsAt is words of the n bytes of data from off on. It may read 16 bytes where
// data has them.
//
// hot: inlined, once for every word of a text.
func wordsAt(data []byte, off, n uint32) (a, b uint64) {
	if p := data[off:]; len(p) >= inlineKey {
		m := &masks[n&31]
		return binary.LittleEndian.Uint64(p) & m[0], binary.LittleEndian.Uint64(p[8:]) & m[1]
	}
	return words(data[off : off+n : off+n])
}

// masks[n] keeps the first n bytes of two words. The assembly reads it too.
var masks = func() (m [32][2]uint64) {
	for n := range inlineKey + 1 {
		m[n] = [2]uint64{1<<(8*min(n, 8)) - 1, 1<<(8*max(n-8, 0)) - 1}
	}
	return m
}()
