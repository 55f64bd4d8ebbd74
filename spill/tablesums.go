package spill

import (
	"encoding/binary"

	"mrlocal/jobs"
)

// Sum is a key of up to inlineKey bytes and what is to be added to its sum.
type keySum struct{ a, b, meta, delta uint64 }

// Pack makes sums that add delta to the keys of data which keys are, and asks
// for their slots, so that they are in the cache when AddSums comes to them. It
// passes longer keys on to long, which has room for all, and stops when keys or
// dst end, and before a key so near the end of data that two whole words do not
// fit: used says how many of keys it got through. The table must have been
// started.
func (t *table) pack(dst []keySum, data []byte, keys []jobs.Span, delta uint64, long []jobs.Span) (used, sums, longs int) {
	if len(dst) == 0 || len(keys) == 0 || len(data) < inlineKey {
		return 0, 0, 0
	}
	_ = long[:len(keys)]
	return pack(dst, data, keys, delta, long, t.bases, uint64(t.shift()))
}

// hot: what processors without an assembly of ours run.
func packPortable(dst []keySum, data []byte, keys []jobs.Span, delta uint64, long []jobs.Span) (used, sums, longs int) {
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
		dst[sums] = keySum{a, b, metaOf(int(s.Len), hashWords(a, b)), delta}
		sums++
	}
	return used, sums, longs
}

// AddSums adds to the sums of keys that the table has, up to the first that it
// has not, and returns how many those were.
func (t *table) addSums(sums []keySum) int {
	if len(sums) == 0 || len(t.bases) == 0 {
		return 0
	}
	return addSums(sums, t.bases, uint64(t.shift()))
}

// hot: what processors without an assembly of ours run.
func addSumsPortable(sums []keySum, bases []*slots, shift uint64) int {
	for i := range sums {
		if !addSum(&sums[i], bases[uint64(uint32(sums[i].meta))>>shift]) {
			return i
		}
	}
	return len(sums)
}

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

// Ahead asks for the slots of sums that are soon to be looked for.
func (t *table) ahead(sums []keySum) {
	if len(sums) > 0 && len(t.bases) > 0 {
		ahead(sums, t.bases, uint64(t.shift()))
	}
}
