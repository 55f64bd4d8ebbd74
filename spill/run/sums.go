package run

import (
	"encoding/binary"

	"mrlocal/jobs"
)

// Sum is a key of up to InlineKey bytes and what is to be added to its sum.
type Sum struct{ A, B, Meta, Delta uint64 }

// Pack makes sums that add delta to the keys of data which keys are, and asks
// for their slots, so that they are in the cache when AddSums comes to them. It
// passes longer keys on to long, which has room for all, and stops when keys or
// dst end, and before a key so near the end of data that two whole words do not
// fit: used says how many of keys it got through. The table must have been
// started.
func (t *Table) Pack(dst []Sum, data []byte, keys []jobs.Span, delta uint64, long []jobs.Span) (used, sums, longs int) {
	if len(dst) == 0 || len(keys) == 0 || len(data) < InlineKey {
		return 0, 0, 0
	}
	_ = long[:len(keys)]
	return pack(dst, data, keys, delta, long, t.bases, uint64(t.shift()))
}

// hot: what processors without an assembly of ours run.
func packPortable(dst []Sum, data []byte, keys []jobs.Span, delta uint64, long []jobs.Span) (used, sums, longs int) {
	for _, s := range keys {
		if sums == len(dst) || uint64(s.Off)+InlineKey > uint64(len(data)) {
			break
		}
		used++
		if s.Len > InlineKey {
			long[longs] = s
			longs++
			continue
		}
		a, b := Words(data[s.Off : s.Off+s.Len])
		dst[sums] = Sum{a, b, SlotMetaOf(int(s.Len), HashWords(a, b)), delta}
		sums++
	}
	return used, sums, longs
}

// AddSums adds to the sums of keys that the table has, up to the first that it
// has not, and returns how many those were.
func (t *Table) AddSums(sums []Sum) int {
	if len(sums) == 0 || len(t.bases) == 0 {
		return 0
	}
	return addSums(sums, t.bases, uint64(t.shift()))
}

// hot: what processors without an assembly of ours run.
func addSumsPortable(sums []Sum, bases []*slots, shift uint64) int {
	for i := range sums {
		if !addSum(&sums[i], bases[uint64(uint32(sums[i].Meta))>>shift]) {
			return i
		}
	}
	return len(sums)
}

func addSum(p *Sum, c *slots) bool {
	for i := uint32(p.Meta); ; i++ {
		s := (*[SlotBytes]byte)(c[i&SlotMask*SlotBytes:])
		meta := binary.LittleEndian.Uint64(s[SlotMeta:])
		if (meta^p.Meta)|(binary.LittleEndian.Uint64(s[:])^p.A)|(binary.LittleEndian.Uint64(s[8:])^p.B) == 0 {
			binary.LittleEndian.PutUint64(s[SlotAcc:], binary.LittleEndian.Uint64(s[SlotAcc:])+p.Delta)
			return true
		}
		if meta == 0 {
			return false
		}
	}
}

// Ahead asks for the slots of sums that are soon to be looked for.
func (t *Table) Ahead(sums []Sum) {
	if len(sums) > 0 && len(t.bases) > 0 {
		ahead(sums, t.bases, uint64(t.shift()))
	}
}
