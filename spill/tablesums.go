package spill

import (
	"encoding/binary"

	"mrlocal/jobs"
)

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
