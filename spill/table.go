package spill

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"mrlocal/internal/membudget"
	"mrlocal/jobs"
	"mrlocal/shuffle/record"
)

// table is the hash table of a kvbuffer that combines by hash. It uses extendible hashing over
// chunks. The directory maps the top bits of a hash to the chunk of the key. Each chunk is an
// open-addressing table of its own. A chunk that is full is split into two. So the table grows
// by one chunk at a time, and no other chunk moves (docs/adr/0004).
//
// The load owns the chunks and frees them. record/arena.go has a drawing of a slot.
type table struct {
	directory []*tableChunk // by the upper depth bits of the hash; a chunk of lesser depth has several neighbouring places
	bases     []*slots      // of the directory's chunks; saves one load on the way to a slot
	depth     uint
	chunks    []*tableChunk // each chunk once, in the order of their addresses
	keys      int64
	sums      bool // accumulators are sums and lie in the slots
	seed      seed
}

// slots is the memory of a chunk: chunkSlots slots of slotBytes each.
type slots [membudget.ChunkBytes]byte

// tableChunk is a chunk of a table. At most maxChunkKeys of its slots are in use.
type tableChunk struct {
	slots *slots
	keys  int    // slots in use
	depth uint   // number of upper bits of the hash that all its keys have in common
	base  uint64 // address of its first slot in the arena of the load
}

// The layout of a slot, under names that the assembly can use.
const (
	slotBytes = record.SlotBytes
	slotAcc   = record.SlotAcc
	slotMeta  = record.SlotMeta
	inlineKey = record.InlineKey
)

const (
	chunkSlots = membudget.ChunkBytes / slotBytes
	slotMask   = chunkSlots - 1

	// maxChunkKeys is two thirds of a chunk. The entries of as many slots fit in the rest of
	// the chunk, so a table is sorted without other memory (sortTable).
	maxChunkKeys = chunkSlots * 2 / 3

	// maxDepth is the greatest depth of the directory. Keys that would need a deeper one share
	// more bits of their hash than chance explains. The table is then spilled as if it were
	// full.
	maxDepth = 18

	// deadSlot, set in the meta of a slot, marks a key that moved out
	// (Buffer.moveOut).
	deadSlot = 1 << 63
)

// metaOf returns the meta word of a key of n bytes: its length plus 1 above its hash. So it is
// never 0, which marks an empty slot.
func metaOf(n int, hash uint32) uint64 { return uint64(n+1)<<32 | uint64(hash) }

// shift returns the number of bits by which a hash is shifted right to index the directory. The
// mask spares the compiler a test for shifts of 64 and more.
func (t *table) shift() uint32 { return uint32(32-t.depth) & 63 }

// chunkOf returns the chunk that a key of this hash belongs to.
func (t *table) chunkOf(hash uint32) *tableChunk {
	return t.directory[uint64(hash)>>(32-t.depth)]
}

// find returns the slot of a short key and true, or an empty slot for it and false. The loop
// ends, because at least a third of a chunk is empty.
//
// hot: runs once for each record that is combined.
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

// lookLong reads a byte of the key with which findLong will compare k, so that the key is in
// the cache by then. The caller has to use the result, or the compiler removes the read.
//
// hot: one cache miss for each long key.
func (c *tableChunk) lookLong(ar *record.Arena, k *keySum) byte {
	if s := c.like(k); s != nil {
		return ar.At(binary.LittleEndian.Uint64(s[8:]))[0]
	}
	return 0
}

// lookAcc is lookLong for the accumulator of k. It may read another accumulator if keys
// collide.
//
// hot: one cache miss for each record.
func (c *tableChunk) lookAcc(ar *record.Arena, k *keySum) byte {
	if s := c.like(k); s != nil {
		return ar.At(binary.LittleEndian.Uint64(s[slotAcc:]))[0]
	}
	return 0
}

// like returns the first slot with the hash, the length and the first 8 bytes of k, or nil.
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

// findLong is find for a key that does not fit in a slot.
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

// newTableChunk makes c a chunk of empty slots. It clears the memory of c.
func newTableChunk(c *membudget.Chunk, base uint64, depth uint) *tableChunk {
	// A slot whose meta word is 0 is empty.
	clear(c.Data)
	return &tableChunk{slots: (*slots)(c.Data), depth: depth, base: base}
}

// divisible reports whether splits can divide the keys of c: their hashes differ in the bits
// that the directory may use. c has at least one key. The test stops an input whose keys were
// made to have one hash. Without the test, maxDepth splits would each move all of its keys.
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

// split splits c, the chunk of hash, into c and fresh, whose address is base. It moves the keys
// with a set next bit of the hash to fresh. The directory doubles if c is as deep as the
// directory.
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
	// The places of c in the directory are neighbours. The upper half of them now belongs to
	// the sibling.
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

// part moves every slot of c to where it belongs, in c or in sibling. Probing wraps around the
// end of a chunk. So part starts behind an empty slot and puts slots back in the order of
// probing. No slot is then overwritten before it was read.
func (c *tableChunk) part(sibling *tableChunk) {
	start := uint32(0)
	for c.meta(start) != 0 {
		start++
	}
	// put counts the keys that stay in c.
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
		copy(to.vacant(uint32(meta)), slot[:])
		to.keys++
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

// compact moves the slots in use to the front, without dead ones, and returns their number.
// Keys cannot be looked up in the chunk afterwards.
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

// words packs a key of up to 16 bytes into two words, little-endian and padded with zeros. The
// words and the length together determine the key. If the capacity of key allows reading 16
// bytes, words uses two loads and two masks. Otherwise the loads overlap, so that none reads
// outside of the key.
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

// wordsAt is words for the n bytes of data from off on. It reads 16 bytes if data has them.
//
// hot: inlined; runs once for each word of a text.
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

// HashPartition returns the partition of key, 0 to parts-1, for a job without a partitioner. It
// scales a 32-bit hash to that range. It returns the same partition in every process.
func HashPartition(key []byte, parts int) int {
	return int(uint64(partitionSeed().key(key)) * uint64(parts) >> 32)
}

// seed chooses a hash function. Each run draws a seed for its tables, so that no input can be
// made whose keys all collide. a is odd.
type seed struct{ a, b uint64 }

// partitionSeed returns the seed of HashPartition. It is constant, because all processes of a
// job have to agree on the partition of a key.
func partitionSeed() seed { return seed{mixA, mixB} }

// mixA and mixB are odd numbers whose bits have no pattern.
const (
	mixA = 0x9e37_79b9_7f4a_7c15
	mixB = 0xe703_7ed1_a0b4_28db
)

// newSeed derives a seed from n. It returns partitionSeed if n is 0.
func newSeed(n uint64) seed {
	p := partitionSeed()
	if n == 0 {
		return p
	}
	return seed{p.mix(n, 0) | 1, p.mix(n, 1)}
}

// mix hashes two words to 64 bits with one multiplication of 128 bits.
func (s seed) mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^s.a, b^s.b)
	return hi ^ lo
}

// words returns the 32-bit hash of a key of up to 16 bytes, given as its two words.
func (s seed) words(a, b uint64) uint32 {
	h := s.mix(a, b)
	return uint32((h * s.a) >> 32)
}

// key returns the 32-bit hash of a key of any length.
func (s seed) key(key []byte) uint32 {
	if len(key) <= inlineKey {
		a, b := words(key)
		return s.words(a, b)
	}
	return s.long(key)
}

// long returns the 32-bit hash of a key longer than 16 bytes. The last step mixes the last 16
// bytes of the key. They may overlap the bytes of the step before, so no length needs padding.
func (s seed) long(key []byte) uint32 {
	h := uint64(len(key)) * s.a
	p := key
	for ; len(p) > 16; p = p[16:] {
		h = s.mix(h^binary.LittleEndian.Uint64(p), binary.LittleEndian.Uint64(p[8:])+h)
	}
	p = key[len(key)-16:]
	h = s.mix(h^binary.LittleEndian.Uint64(p), binary.LittleEndian.Uint64(p[8:])+h)
	return uint32((h * s.a) >> 32)
}

// pendingSums is the number of slots that are prefetched together. The slots of a table larger
// than the caches arrive while the buffer collects or adds as many other keys.
const pendingSums = 64

// spansAtOnce is the number of keys that sumSpans packs before it adds the long keys among
// them.
const spansAtOnce = 512

// sums queues short keys and the number to add for each. It has two halves: one is being
// filled, and the slots of the other one are being prefetched. A sum does not depend on the
// order of its parts, so the parts may wait here.
type sums struct {
	pending    [2][pendingSums]keySum
	filling    int // index of the half being filled
	n          int // in the half being filled
	prefetched int // in the other half

	long [spansAtOnce]jobs.Span // keys that do not fit a slot
}

// EmitSpans emits each of keys with the same value. keys are parts of data. It copies keys and
// value, or folds value. Errors are sticky (Err). Like Emit, it panics with jobs.ErrKilled if
// the attempt is killed.
//
// hot: runs once for several hundred words.
func (b *Buffer) EmitSpans(data []byte, keys []jobs.Span, value []byte) {
	if b.mode == foldMode {
		for len(keys) > 0 {
			n := min(len(keys), pendingSums)
			b.foldSpans(data, keys[:n], value)
			keys = keys[n:]
		}
		return
	}
	if b.mode != sumMode || len(value) != 8 {
		for _, s := range keys {
			b.Emit(data[s.Off:s.Off+s.Len], value)
		}
		return
	}
	for len(keys) > 0 {
		// sums.long has room for as many long keys.
		n := min(len(keys), spansAtOnce)
		b.sumSpans(data, keys[:n], value)
		keys = keys[n:]
	}
}

// sumSpans adds value to the sums of keys. It packs the short keys first, and adds the long
// ones together at the end.
//
// hot: one iteration for each word.
func (b *Buffer) sumSpans(data []byte, keys []jobs.Span, value []byte) {
	if b.counted -= len(keys); b.counted <= 0 {
		b.counted = pollEmits
		b.alive()
	}
	if len(b.load.table.directory) == 0 && !b.startTable() {
		b.stopIfKilled()
		return
	}
	delta := binary.LittleEndian.Uint64(value)
	bytes, long := 0, 0
	p := &b.sums
	for i := range keys {
		bytes += int(keys[i].Len)
	}
	b.load.records += int64(len(keys))
	b.stats.Bytes += int64(bytes + 8*len(keys))
	for rest := keys; len(rest) > 0; {
		if len(b.load.table.directory) == 0 && !b.startTable() {
			return
		}
		used, n, longs := b.load.table.pack(p.pending[p.filling][p.n:], data, rest, delta, p.long[long:])
		rest = rest[used:]
		long += longs
		if p.n += n; p.n == pendingSums {
			b.swapSums()
		} else if len(rest) > 0 {
			// pack stopped before a key that is so near the end of data that 16 bytes cannot be
			// read.
			long = b.sumLast(data, rest[0], delta, long)
			rest = rest[1:]
		}
	}
	b.sumLong(data, p.long[:long], value)
}

// sumLast adds delta for s, a key near the end of data. A long key goes to sums.long, which has
// long keys so far. It returns their new number.
func (b *Buffer) sumLast(data []byte, s jobs.Span, delta uint64, long int) int {
	p := &b.sums
	if s.Len > inlineKey {
		p.long[long] = s
		return long + 1
	}
	x, w := words(data[s.Off : s.Off+s.Len : s.Off+s.Len])
	p.pending[p.filling][p.n] = keySum{a: x, b: w, meta: metaOf(int(s.Len), b.seed.words(x, w)), delta: delta}
	if p.n++; p.n == pendingSums {
		b.swapSums()
	}
	return long
}

// sumLong adds value for keys that do not fit in a slot. It first prefetches all slots, then
// reads a byte of the keys to which the slots refer, and then compares and adds. So the cache
// misses of each step overlap.
//
// hot: one iteration for each word that does not fit in a slot.
func (b *Buffer) sumLong(data []byte, keys []jobs.Span, value []byte) {
	for len(keys) > 0 {
		var room [pendingSums]keySum
		sums := room[:min(len(keys), pendingSums)]
		for i, s := range keys[:len(sums)] {
			key := data[s.Off : s.Off+s.Len]
			sums[i] = keySum{a: binary.LittleEndian.Uint64(key), meta: metaOf(len(key), b.seed.long(key))}
		}
		t := &b.load.table
		t.prefetch(sums)
		if len(t.directory) > 0 {
			for i := range sums {
				// The value of the byte does not matter. Reading it brings the key into the
				// cache for foldLong.
				b.touched += t.chunkOf(uint32(sums[i].meta)).lookLong(&b.load.arena, &sums[i])
			}
		}
		for i, s := range keys[:len(sums)] {
			if len(b.load.table.directory) == 0 && !b.startTable() {
				return
			}
			b.foldLong(data[s.Off:s.Off+s.Len:s.Off+s.Len], value, sums[i].meta)
		}
		keys = keys[len(sums):]
	}
}

// foldSpans folds value into the accumulators of up to pendingSums keys. Like sumLong, it first
// prefetches all slots and then reads a byte of all accumulators.
//
// hot: one iteration for each word.
func (b *Buffer) foldSpans(data []byte, keys []jobs.Span, value []byte) {
	if b.counted -= len(keys); b.counted <= 0 {
		b.counted = pollEmits
		b.alive()
	}
	if len(b.load.table.directory) == 0 && !b.startTable() {
		b.stopIfKilled()
		return
	}
	var room [pendingSums]keySum
	found := room[:len(keys)]
	bytes := 0
	for i, s := range keys {
		bytes += int(s.Len) + len(value)
		if s.Len > inlineKey {
			key := data[s.Off : s.Off+s.Len]
			found[i] = keySum{a: binary.LittleEndian.Uint64(key), meta: metaOf(len(key), b.seed.long(key))}
			continue
		}
		a, w := wordsAt(data, s.Off, s.Len)
		found[i] = keySum{a: a, b: w, meta: metaOf(int(s.Len), b.seed.words(a, w))}
	}
	b.load.records += int64(len(keys))
	b.stats.Bytes += int64(bytes)
	t := &b.load.table
	t.prefetch(found)
	for i := range found {
		b.touched += t.chunkOf(uint32(found[i].meta)).lookAcc(&b.load.arena, &found[i])
	}
	for i, s := range keys {
		if len(b.load.table.directory) == 0 && !b.startTable() {
			return
		}
		key := data[s.Off : s.Off+s.Len : s.Off+s.Len]
		if s.Len > inlineKey {
			b.foldLong(key, value, found[i].meta)
		} else {
			b.foldShort(key, value, &found[i])
		}
	}
}

// swapSums exchanges the halves: it adds the half whose slots were prefetched, which is filled
// next. The caller has begun to prefetch the slots of the half that is full.
func (b *Buffer) swapSums() {
	p := &b.sums
	other := p.pending[1-p.filling][:p.prefetched]
	p.filling = 1 - p.filling
	p.prefetched = p.n
	p.n = 0
	b.addSums(other)
}

// addPending adds the sums of both halves. Close calls it, so that no sum is left in the queue.
func (b *Buffer) addPending() {
	b.swapSums()
	b.swapSums()
}

// addSums adds pending to the table. It inserts the keys that are not in the table.
func (b *Buffer) addSums(pending []keySum) {
	for {
		pending = pending[b.load.table.addSums(pending):]
		if len(pending) == 0 || len(b.load.table.directory) == 0 && !b.startTable() {
			return
		}
		p := &pending[0]
		// insert copies the accumulator, so one room serves all keys.
		binary.LittleEndian.PutUint64(b.deltaRoom[:], p.delta)
		b.insert(nil, p.a, p.b, p.meta, b.deltaRoom[:])
		pending = pending[1:]
	}
}

// keySum is a key of up to inlineKey bytes, as its two words and its meta word, and the number
// to add to its sum. The assembly depends on its layout.
type keySum struct{ a, b, meta, delta uint64 }

// pack writes a keySum of delta to dst for each of keys, which are parts of data, and
// prefetches its slot for addSums. It writes keys longer than inlineKey to long, which must
// have room for all. It stops at the end of keys or dst. It also stops before a key so near the
// end of data that 16 bytes cannot be read. The table must have a chunk.
//
// It returns how many of keys it used, and how many sums and long keys it wrote.
func (t *table) pack(dst []keySum, data []byte, keys []jobs.Span, delta uint64, long []jobs.Span) (used, sums, longs int) {
	if len(dst) == 0 || len(keys) == 0 || len(data) < inlineKey {
		return 0, 0, 0
	}
	_ = long[:len(keys)]
	return pack(dst, data, keys, delta, long, t.bases, uint64(t.shift()), t.seed.a, t.seed.b)
}

// packPortable is pack in plain Go, without the prefetch.
//
// hot: replaces the assembly on other processors.
func packPortable(dst []keySum, data []byte, keys []jobs.Span, delta uint64, long []jobs.Span, hash seed) (used, sums, longs int) {
	for _, s := range keys {
		if sums == len(dst) || uint64(s.Off)+inlineKey > uint64(len(data)) {
			break
		}
		used++
		if s.Len > inlineKey {
			long[longs] = s
			longs++
			continue
		}
		a, b := words(data[s.Off : s.Off+s.Len])
		dst[sums] = keySum{a, b, metaOf(int(s.Len), hash.words(a, b)), delta}
		sums++
	}
	return used, sums, longs
}

// addSums adds sums, up to the first one whose key is not in the table. It returns how many it
// added.
func (t *table) addSums(sums []keySum) int {
	if len(sums) == 0 || len(t.bases) == 0 {
		return 0
	}
	return addSums(sums, t.bases, uint64(t.shift()))
}

// addSumsPortable is addSums in plain Go.
//
// hot: replaces the assembly on other processors.
func addSumsPortable(sums []keySum, bases []*slots, shift uint64) int {
	for i := range sums {
		if !addSum(&sums[i], bases[uint64(uint32(sums[i].meta))>>shift]) {
			return i
		}
	}
	return len(sums)
}

// addSum adds p to its slot if c has its key. It returns false if c does not have the key.
func addSum(p *keySum, c *slots) bool {
	for i := uint32(p.meta); ; i++ {
		s := (*[slotBytes]byte)(c[i&slotMask*slotBytes:])
		meta := binary.LittleEndian.Uint64(s[slotMeta:])
		if (meta^p.meta)|(binary.LittleEndian.Uint64(s[:])^p.a)|(binary.LittleEndian.Uint64(s[8:])^p.b) == 0 {
			binary.LittleEndian.PutUint64(s[slotAcc:], binary.LittleEndian.Uint64(s[slotAcc:])+p.delta)
			return true
		}
		if meta == 0 {
			return false
		}
	}
}

// prefetch prefetches the slots of sums.
func (t *table) prefetch(sums []keySum) {
	if len(sums) > 0 && len(t.bases) > 0 {
		prefetch(sums, t.bases, uint64(t.shift()))
	}
}
