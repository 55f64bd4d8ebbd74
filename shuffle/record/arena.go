// Package record handles records in memory: their addresses, their entries, and the sorting of
// entries.
//
//	Arena    addresses of the chunks that records lie in
//	Entry    16 bytes that stand for one record: a prefix of its key and a reference
//	Sorter   sorts entries by key
//	Slice    sorted entries, divided by partition
//	Divider  divides entries by partition without sorting them
//	Gather   copies divided entries of many runs together, to be sorted at once
//
// # Dividing now and sorting later
//
//	map 0   [ 0 | 1 | 2 ][ 0 | 1 | 2 ]      an index chunk at a time
//	map 1   [ 0 | 1 | 2 ]                   --reduce 1-->   [ 1 1 1 ] sorted
//	map 2   [ 0 | 1 | 2 ][ 0 | 1 | 2 ]
//
// If a whole job fits in memory, its maps only divide entries by partition. Each reduce then sorts
// its partition once. The sort costs the reduce as much as it would cost the maps, and no merge is
// needed. For text a merge costs more than a sort (docs/adr/0010). A run that is evicted, or merged
// with runs on disk, is sorted at that moment, partition by partition.
//
// A Divider works while the records are in the cache. So it also skips the bytes that all keys
// between two cuts have in common, such as blanks at the start of lines. The prefixes then hold the
// 8 bytes behind the common ones. These bytes mostly decide a comparison, so the record itself need
// not be read.
//
// # Memory
//
// This package owns no memory. Entries move within memory of the caller, and chunks must outlive
// the entries that refer to them. Keys and values are parts of the chunks, never copies.
package record

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"mrlocal/internal/membudget"
)

// Entry stands for one record while it is sorted and merged. Prefix is the first 8 bytes of its
// key, big-endian and padded with zeros. So comparing prefixes compares the first 8 bytes of
// the keys. Ref says where the record is:
//
//	ref   63            24 23       0
//	     +----------------+----------+
//	     |    address     |   code   |
//	     +----------------+----------+
//
// Addresses ascend in the order of arrival. So comparing the refs of equal keys keeps a sort
// stable. The code is the length of a taken record, or the format of the record at the address:
//
//	code                 at the address
//	0 to 0xBF_FFFE       taken: the key, as many bytes as the code; no value
//	CodeLongTaken        address and length of a longer taken record, 8 bytes each
//	CodeSlot + p         a slot of the hash table (SlotKey)
//	CodeKeyed + p        uvarint length of the key, key; address and length of the
//	                     value, 8 bytes each
//	CodeEmitted + p      uvarint length of key and of value, key, value
//
// p is the partition. It is known when a record of these formats arrives; that of a taken
// record is computed later.
type Entry struct{ Prefix, Ref uint64 }

const (
	EntryBytes   = 16
	ChunkEntries = membudget.ChunkBytes / EntryBytes // 16,384

	CodeBits = 24
	CodeMask = 1<<CodeBits - 1

	CodeEmitted   = 0xE0_0000
	CodeKeyed     = 0xD0_0000
	CodeSlot      = 0xC0_0000
	CodeLongTaken = 0xBF_FFFF
	KindMask      = 0xF0_0000 // of a code, without the partition

	segBits  = 18 // bits of an address that are the offset in a piece of the arena
	SegMask  = 1<<segBits - 1
	SegBytes = 1 << segBits // bytes of a piece, as many as a chunk has

	// MaxHeaderBytes is the most bytes that the two lengths of an emitted record take.
	MaxHeaderBytes = 2 * binary.MaxVarintLen64
)

// Arena maps addresses to memory: the chunks into which a buffer collects. An address is the
// number of a piece and an offset in that piece. Memory longer than a piece gets several
// neighbouring pieces. Each of them reaches to the end of the memory, so that a record is
// always one slice.
//
// An Arena owns no memory. Several goroutines may read records at the same time. Only one at a
// time may call Walk and CountParts, which write touched.
type Arena struct {
	pieces  [][]byte
	bases   []uint32 // only after Append: for each piece, the first piece of the arena that it came from
	touched byte     // keeps the compiler from removing the reads that warm the cache
	Sums    bool     // accumulators are sums and lie in their slots
}

// Add assigns the next addresses to data and returns the first one. The caller keeps data alive
// as long as the arena is used.
func (a *Arena) Add(data []byte) uint64 {
	addr := uint64(len(a.pieces)) << segBits
	for {
		a.pieces = append(a.pieces, data)
		if len(data) <= SegBytes {
			return addr
		}
		data = data[SegBytes:]
	}
}

// Append assigns the next addresses to the memory of b. It returns the number to add to the
// refs of b's entries. Addresses that are stored in records (CodeKeyed, CodeLongTaken) remain
// those of b; within translates them.
func (a *Arena) Append(b *Arena) (shift uint64) {
	base := len(a.pieces)
	a.pieces = append(a.pieces, b.pieces...)
	for range b.pieces {
		a.bases = append(a.bases, uint32(base))
	}
	return uint64(base) << (segBits + CodeBits)
}

// within returns the memory at an address that is stored in the record at ref.
func (a *Arena) within(ref, addr uint64) []byte {
	if a.bases != nil {
		addr += uint64(a.bases[ref>>(CodeBits+segBits)]) << segBits
	}
	return a.At(addr)
}

// At returns the memory from addr to the end of the memory that Add got.
func (a *Arena) At(addr uint64) []byte { return a.pieces[addr>>segBits][addr&SegMask:] }

// Touch reads two bytes of the record at ref, so that its first two cache lines arrive while
// the caller touches other records. A slot lies in one cache line. The caller has to use the
// result, or the compiler removes the reads.
func (a *Arena) Touch(ref uint64) (sum byte) {
	p := a.At(ref >> CodeBits)
	if len(p) > 0 {
		sum = p[0]
	}
	if len(p) > 64 && ref&KindMask != CodeSlot {
		sum += p[64]
	}
	return sum
}

// Key returns the key of the record at ref. It lies in the memory of the arena.
func (a *Arena) Key(ref uint64) []byte {
	p := a.At(ref >> CodeBits)
	n := ref & CodeMask
	if n < CodeLongTaken {
		return p[:n:n]
	}
	return a.codedKey(p, ref)
}

// codedKey returns the key of the record at ref, which is at the start of p. The code of ref is
// not a length.
func (a *Arena) codedKey(p []byte, ref uint64) []byte {
	switch ref & CodeMask & KindMask {
	case CodeEmitted:
		if p[0] < 0x80 && p[1] < 0x80 {
			end := 2 + int(p[0])
			return p[2:end:end]
		}
		key, _ := splitEmitted(p)
		return key
	case CodeKeyed:
		key, _ := splitKeyed(p)
		return key
	case CodeSlot:
		return a.SlotKey(p)
	}
	n := binary.LittleEndian.Uint64(p[8:])
	return a.within(ref, binary.LittleEndian.Uint64(p))[:n:n]
}

// SameShortKey reports whether two records of equal prefix are sure to have the same key. It
// does not read them: both are taken, equally long, and not longer than the prefix. If it
// returns false, the keys have to be compared.
func SameShortKey(x, y uint64) bool {
	return (x^y)&CodeMask == 0 && x&CodeMask <= 8
}

// SameKey reports whether two records of equal prefix have the same key.
func (a *Arena) SameKey(x, y uint64) bool {
	return SameShortKey(x, y) || bytes.Equal(a.Key(x), a.Key(y))
}

// Record returns key and value of the record at ref. They lie in the memory of the arena.
func (a *Arena) Record(ref uint64) (key, value []byte) {
	p := a.At(ref >> CodeBits)
	n := ref & CodeMask
	switch {
	case n < CodeLongTaken:
		return p[:n:n], nil
	case n&KindMask == CodeEmitted:
		return splitEmitted(p)
	case n&KindMask == CodeKeyed:
		key, rest := splitKeyed(p)
		size := binary.LittleEndian.Uint64(rest[8:])
		return key, a.within(ref, binary.LittleEndian.Uint64(rest))[:size:size]
	case n&KindMask == CodeSlot:
		return a.SlotKey(p), a.SlotValue(p)
	}
	return a.codedKey(p, ref), nil
}

// keyBytes returns the length of the key at ref. It does not read the record if ref holds the
// length.
func (a *Arena) keyBytes(ref uint64) int {
	if n := ref & CodeMask; n < CodeLongTaken {
		return int(n)
	}
	return len(a.Key(ref))
}

// splitEmitted returns key and value of the emitted record at the start of p.
func splitEmitted(p []byte) (key, value []byte) {
	if p[0]|p[1] < 0x80 {
		k, v := 2+uint64(p[0]), uint64(p[1])
		return p[2:k:k], p[k : k+v : k+v]
	}
	k, n := binary.Uvarint(p)
	v, m := binary.Uvarint(p[n:])
	at := uint64(n + m)
	return p[at : at+k : at+k], p[at+k : at+k+v : at+k+v]
}

// emittedLength returns the length in bytes of the emitted record at the start of p.
func emittedLength(p []byte) int {
	if p[0]|p[1] < 0x80 {
		return 2 + int(p[0]) + int(p[1])
	}
	k, n := binary.Uvarint(p)
	v, m := binary.Uvarint(p[n:])
	return n + m + int(k+v)
}

// PutEmitted writes an emitted record to dst, which must have room for it, and returns its
// length in bytes. It copies key and value.
func PutEmitted(dst, key, value []byte) int {
	if len(key)|len(value) < 0x80 {
		dst[0], dst[1] = byte(len(key)), byte(len(value))
		n := 2 + copy(dst[2:], key)
		return n + copy(dst[n:], value)
	}
	n := binary.PutUvarint(dst, uint64(len(key)))
	n += binary.PutUvarint(dst[n:], uint64(len(value)))
	n += copy(dst[n:], key)
	return n + copy(dst[n:], value)
}

// EmittedBytes returns the number of bytes that PutEmitted writes.
func EmittedBytes(key, value []byte) int {
	return uvarintBytes(len(key)) + uvarintBytes(len(value)) + len(key) + len(value)
}

func uvarintBytes(n int) int { return (bits.Len(uint(n)|1) + 6) / 7 }

// splitKeyed returns the key of the keyed record at the start of p, and the bytes behind the
// key.
func splitKeyed(p []byte) (key, rest []byte) {
	k, n := binary.Uvarint(p)
	end := uint64(n) + k
	return p[n:end:end], p[end:]
}

// PrefixOf returns the first 8 bytes of key, big-endian, padded with zeros.
func PrefixOf(key []byte) uint64 {
	if len(key) >= 8 {
		return binary.BigEndian.Uint64(key)
	}
	return ShortPrefix(key)
}

// ShortPrefix is PrefixOf for a key of less than 8 bytes.
func ShortPrefix(key []byte) uint64 {
	var x uint64
	for i, c := range key {
		x |= uint64(c) << (56 - 8*i)
	}
	return x
}

// A slot of the hash table of package spill holds one key and the accumulator
// of its values:
//
//	byte  0        8        16       24       32
//	     +--------+--------+--------+--------+
//	     | key a  | key b  | acc    | meta   |     all little-endian
//	     +--------+--------+--------+--------+
//
// meta is the length of the key + 1 (upper half) and the hash of the key (lower half). A meta of 0
// marks an empty slot. A key of up to InlineKey bytes lies in the slot, padded with zeros. For a
// longer key, a holds its first 8 bytes and b the address of the whole key. acc is the sum itself if
// Arena.Sums is set. Otherwise acc is the address of the accumulator: its capacity and its length, 4
// bytes each, then its bytes.
//
// If the key of a sum does not fit in its slot, it lies in an emitted record. That record gets the
// sum when the table is sorted (EndSum). Reading the record then costs one cache miss; reading a
// slot and its key would cost two.
const (
	SlotBytes = 32
	SlotAcc   = 16 // offset of acc
	SlotMeta  = 24 // offset of meta
	InlineKey = 16

	AccHeaderBytes = 8
)

// SlotKey returns the key of the slot at the start of p. It lies in the slot or elsewhere in
// the arena.
func (a *Arena) SlotKey(p []byte) []byte {
	n := binary.LittleEndian.Uint64(p[SlotMeta:])>>32 - 1
	if n <= InlineKey {
		return p[:n:n]
	}
	return a.At(binary.LittleEndian.Uint64(p[8:]))[:n:n]
}

// SlotValue returns the accumulator of the slot at the start of p. It lies in the slot or
// elsewhere in the arena.
func (a *Arena) SlotValue(p []byte) []byte {
	if a.Sums {
		return p[SlotAcc : SlotAcc+8 : SlotAcc+8]
	}
	acc := a.At(binary.LittleEndian.Uint64(p[SlotAcc:]))
	n := uint64(binary.LittleEndian.Uint32(acc[4:]))
	return acc[AccHeaderBytes : AccHeaderBytes+n : AccHeaderBytes+n]
}

// EndSum writes the sum of a slot with a long key to the emitted record of that key. n is the
// length of the record in bytes. EndSum returns the address of the record.
func (a *Arena) EndSum(slot []byte, n int) (addr uint64) {
	key := a.SlotKey(slot)
	addr = binary.LittleEndian.Uint64(slot[8:])
	copy(a.At(addr)[len(key):], slot[SlotAcc:SlotMeta])
	return addr - uint64(n-len(key)-8)
}

// TouchSlotKey reads a byte of the key of the slot at the start of p, if the key lies outside
// of the slot. So the key is in the cache when it is needed. The caller has to use the result,
// or the compiler removes the read.
func (a *Arena) TouchSlotKey(p []byte) byte {
	if binary.LittleEndian.Uint64(p[SlotMeta:])>>32-1 <= InlineKey {
		return 0
	}
	return a.At(binary.LittleEndian.Uint64(p[8:]))[0]
}

// LookAhead is the number of records that a loop touches before it reads them, so that their
// cache misses overlap.
const LookAhead = 32

// Slice is a list of entries, divided by partition and mostly sorted. Partition p is
// Entries[Ends[p-1]:Ends[p]]. The maker of the Slice owns the memory of the entries.
type Slice struct {
	Entries []Entry
	Ends    []int
}

// Part returns the entries of partition p, without a copy.
func (s Slice) Part(p int) []Entry {
	if p == 0 {
		return s.Entries[:s.Ends[0]]
	}
	return s.Entries[s.Ends[p-1]:s.Ends[p]]
}

// Walk calls visit with the key and value of each entry, in order, until visit returns false.
// It reports whether visit always returned true. Key and value lie in the arena.
//
// Walk touches LookAhead records before it visits them. It touches the records first, including
// slots of a table. Then it touches the keys that lie outside of their slots.
//
// hot: one iteration for each record that leaves memory.
func Walk(a *Arena, entries []Entry, visit func(key, value []byte) bool) bool {
	touched := byte(0)
	for len(entries) > 0 {
		batch := entries[:min(len(entries), LookAhead)]
		entries = entries[len(batch):]
		for _, e := range batch {
			touched += a.Touch(e.Ref)
		}
		for _, e := range batch {
			if e.Ref&KindMask == CodeSlot {
				touched += a.TouchSlotKey(a.At(e.Ref >> CodeBits))
			}
		}
		for _, e := range batch {
			if !visit(a.Record(e.Ref)) {
				return false
			}
		}
	}
	a.touched = touched
	return true
}

// CopiedBytes returns the bytes that the records of slices take if PutEmitted writes them: all
// of them, and the longest one.
func CopiedBytes(a *Arena, slices []Slice) (total, longest int) {
	for _, s := range slices {
		for i := range s.Entries {
			n := EmittedBytes(a.Record(s.Entries[i].Ref))
			total += n
			longest = max(longest, n)
		}
	}
	return total, longest
}

// PartStat counts the records of one partition and the bytes of their keys and values.
type PartStat struct{ Records, KeyBytes, ValueBytes int64 }

// Bytes returns the bytes of keys and values.
func (s PartStat) Bytes() int64 { return s.KeyBytes + s.ValueBytes }

// Count adds one record.
func (s *PartStat) Count(key, value []byte) {
	s.Records++
	s.KeyBytes += int64(len(key))
	s.ValueBytes += int64(len(value))
}

// Add adds the counts of t.
func (s *PartStat) Add(t PartStat) {
	s.Records += t.Records
	s.KeyBytes += t.KeyBytes
	s.ValueBytes += t.ValueBytes
}

// CountParts returns the counts of each of the parts partitions of slices.
func CountParts(a *Arena, slices []Slice, parts int) []PartStat {
	stats := make([]PartStat, parts)
	for p := range stats {
		for _, slice := range slices {
			stats[p].countAll(a, slice.Part(p))
		}
	}
	return stats
}

// countAll adds the records of entries. The ref of a taken record holds its length. So only the
// other records are read, after LookAhead of them were touched.
//
// hot: one iteration for each record of a run.
func (s *PartStat) countAll(a *Arena, entries []Entry) {
	s.Records += int64(len(entries))
	touched := byte(0)
	for len(entries) > 0 {
		batch := entries[:min(len(entries), LookAhead)]
		entries = entries[len(batch):]
		for i := range batch {
			if ref := batch[i].Ref; ref&CodeMask >= CodeLongTaken {
				touched += a.Touch(ref)
			}
		}
		for i := range batch {
			if code := batch[i].Ref & CodeMask; code < CodeLongTaken {
				s.KeyBytes += int64(code)
				continue
			}
			key, value := a.Record(batch[i].Ref)
			s.KeyBytes += int64(len(key))
			s.ValueBytes += int64(len(value))
		}
	}
	a.touched = touched
}
