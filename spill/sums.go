package spill

import (
	"encoding/binary"

	"mrlocal/jobs"
)

// pendingSums is how many slots are prefetched at once. A slot of a table larger
// than the caches arrives while as many others are collected or added.
const pendingSums = 64

// spansAtOnce is how many keys sumSpans packs before it adds the long ones among
// them.
const spansAtOnce = 512

// sums holds short keys and what has to be added for each, in two halves: one is
// being filled, and the slots of the other one were prefetched. A sum does not depend
// on the order in which its parts are added, so they may wait here.
type sums struct {
	pending [2][pendingSums]keySum
	filling int
	n       int // in the half being filled
	asked   int // in the other half

	long [spansAtOnce]jobs.Span // keys that do not fit a slot
}

// EmitSpans emits each of keys, which are parts of data, with the same value.
//
// hot: a turn for some hundred words.
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
			b.Emit(data[s.Off:s.Off+s.Len:s.Off+s.Len], value)
		}
		return
	}
	for len(keys) > 0 {
		// The array of long keys bounds a turn.
		n := min(len(keys), spansAtOnce)
		b.sumSpans(data, keys[:n], value)
		keys = keys[n:]
	}
}

// sumSpans adds value to the sums of keys. It packs the short ones and adds the long
// ones together at the end.
//
// hot: every word passes.
func (b *Buffer) sumSpans(data []byte, keys []jobs.Span, value []byte) {
	if b.counted -= len(keys); b.counted <= 0 {
		b.counted = pollEmits
		b.alive()
	}
	if len(b.load.table.directory) == 0 && !b.startTable() {
		b.stop()
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
			b.turnSums()
		} else if len(rest) > 0 { // so near the end of data that two words cannot be read
			long = b.sumLast(data, rest[0], delta, long)
			rest = rest[1:]
		}
	}
	b.sumLong(data, p.long[:long], value)
}

// sumLast adds delta for a key near the end of data. It returns how many long keys
// there are then.
func (b *Buffer) sumLast(data []byte, s jobs.Span, delta uint64, long int) int {
	p := &b.sums
	if s.Len > inlineKey {
		p.long[long] = s
		return long + 1
	}
	x, w := words(data[s.Off : s.Off+s.Len : s.Off+s.Len])
	p.pending[p.filling][p.n] = keySum{a: x, b: w, meta: metaOf(int(s.Len), b.seed.words(x, w)), delta: delta}
	if p.n++; p.n == pendingSums {
		b.turnSums()
	}
	return long
}

// sumLong adds value for keys that do not fit a slot. It prefetches all slots, then
// touches the keys that those refer to, and then compares and adds.
//
// hot: every word that does not fit a slot.
func (b *Buffer) sumLong(data []byte, keys []jobs.Span, value []byte) {
	for len(keys) > 0 {
		var room [pendingSums]keySum
		sums := room[:min(len(keys), pendingSums)]
		for i, s := range keys[:len(sums)] {
			key := data[s.Off : s.Off+s.Len]
			sums[i] = keySum{a: binary.LittleEndian.Uint64(key), meta: metaOf(len(key), b.seed.long(key))}
		}
		t := &b.load.table
		t.ahead(sums)
		if len(t.directory) > 0 {
			for i := range sums {
				// The byte is of no use. Reading it brings the key into the cache for foldLong.
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

// foldSpans folds value into the accumulators of up to pendingSums keys. As sumLong
// does, it first prefetches all slots and then touches all accumulators.
//
// hot: every word passes.
func (b *Buffer) foldSpans(data []byte, keys []jobs.Span, value []byte) {
	if b.counted -= len(keys); b.counted <= 0 {
		b.counted = pollEmits
		b.alive()
	}
	if len(b.load.table.directory) == 0 && !b.startTable() {
		b.stop()
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
	t.ahead(found)
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

// turnSums adds the half whose slots were prefetched, which is filled next. The
// slots of the half that is full must have been prefetched.
func (b *Buffer) turnSums() {
	p := &b.sums
	other := p.pending[1-p.filling][:p.asked]
	p.filling, p.asked, p.n = 1-p.filling, p.n, 0
	b.addSums(other)
}

// addPending adds both halves.
func (b *Buffer) addPending() {
	b.turnSums()
	b.turnSums()
}

// addSums adds pending, and inserts the keys that the table does not have.
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

// keySum is a key of up to inlineKey bytes, as its words and meta, and what has to
// be added to its sum. The assembly knows its layout.
type keySum struct{ a, b, meta, delta uint64 }

// pack writes to dst a keySum of delta for each of keys, which are parts of data, and
// prefetches their slots for addSums. It writes keys longer than inlineKey to long,
// which must have room for all. It stops at the end of keys or dst, and before a key
// so near the end of data that 16 bytes cannot be read. It returns how many of keys
// it used, and how many sums and long keys it wrote. The table must have a chunk.
func (t *table) pack(dst []keySum, data []byte, keys []jobs.Span, delta uint64, long []jobs.Span) (used, sums, longs int) {
	if len(dst) == 0 || len(keys) == 0 || len(data) < inlineKey {
		return 0, 0, 0
	}
	_ = long[:len(keys)]
	return pack(dst, data, keys, delta, long, t.bases, uint64(t.shift()), t.seed.a, t.seed.b)
}

// packPortable is pack in plain Go, without the prefetch.
//
// hot: where there is no assembly.
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

// addSums adds sums up to the first one whose key the table does not have, and
// returns how many it added.
func (t *table) addSums(sums []keySum) int {
	if len(sums) == 0 || len(t.bases) == 0 {
		return 0
	}
	return addSums(sums, t.bases, uint64(t.shift()))
}

// addSumsPortable is addSums in plain Go.
//
// hot: where there is no assembly.
func addSumsPortable(sums []keySum, bases []*slots, shift uint64) int {
	for i := range sums {
		if !addSum(&sums[i], bases[uint64(uint32(sums[i].meta))>>shift]) {
			return i
		}
	}
	return len(sums)
}

// addSum adds p if c has its key, and reports whether it does.
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

// ahead prefetches the slots of sums.
func (t *table) ahead(sums []keySum) {
	if len(sums) > 0 && len(t.bases) > 0 {
		ahead(sums, t.bases, uint64(t.shift()))
	}
}
