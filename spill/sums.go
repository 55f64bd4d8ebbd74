package spill

import (
	"encoding/binary"

	"mrlocal/jobs"
)

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
