package record

import "encoding/binary"

// A slot of the hash table of package spill holds one key and the accumulator
// of its values:
//
//	byte  0        8        16       24       32
//	     +--------+--------+--------+--------+
//	     | key a  | key b  | acc    | meta   |     all little-endian
//	     +--------+--------+--------+--------+
//
// meta is the length of the key + 1 (upper half) and its hash (lower half); a
// meta of 0 marks an empty slot. A key of up to InlineKey bytes lies in the
// slot, padded with zeros. Of a longer key, a holds the first 8 bytes and b the
// address of the whole key. acc is the sum itself where the folder is jobs.Sum
// (Arena.Sums). Else acc is the address of the accumulator: its capacity and its
// length, 4 bytes each, then its bytes.
//
// The key of a sum that does not fit its slot lies in an emitted record, which
// gets the sum when the table is sorted (EndSum). To read such a record takes one
// cache miss, where a slot and its key take two.
const (
	SlotBytes = 32
	SlotAcc   = 16 // offset of acc
	SlotMeta  = 24 // offset of meta
	InlineKey = 16

	AccHeaderBytes = 8
)

// SlotKey returns the key of the slot that p begins with. It lies in the slot
// or elsewhere in the arena.
func (a *Arena) SlotKey(p []byte) []byte {
	n := binary.LittleEndian.Uint64(p[SlotMeta:])>>32 - 1
	if n <= InlineKey {
		return p[:n:n]
	}
	return a.At(binary.LittleEndian.Uint64(p[8:]))[:n:n]
}

// SlotValue returns the accumulator of the slot that p begins with. It lies in
// the slot or elsewhere in the arena.
func (a *Arena) SlotValue(p []byte) []byte {
	if a.Sums {
		return p[SlotAcc : SlotAcc+8 : SlotAcc+8]
	}
	acc := a.At(binary.LittleEndian.Uint64(p[SlotAcc:]))
	n := uint64(binary.LittleEndian.Uint32(acc[4:]))
	return acc[AccHeaderBytes : AccHeaderBytes+n : AccHeaderBytes+n]
}

// EndSum writes the sum in a slot to the record that has the long key of the slot, and
// returns the address of that record, which takes n bytes.
func (a *Arena) EndSum(slot []byte, n int) (addr uint64) {
	key := a.SlotKey(slot)
	addr = binary.LittleEndian.Uint64(slot[8:])
	copy(a.At(addr)[len(key):], slot[SlotAcc:SlotMeta])
	return addr - uint64(n-len(key)-8)
}

// TouchSlotKey reads a byte of the key of the slot that p begins with, if the key lies
// outside of the slot. The key is then in the cache when it is needed. The caller has
// to use what TouchSlotKey returns, or the compiler removes the read.
func (a *Arena) TouchSlotKey(p []byte) byte {
	if binary.LittleEndian.Uint64(p[SlotMeta:])>>32-1 <= InlineKey {
		return 0
	}
	return a.At(binary.LittleEndian.Uint64(p[8:]))[0]
}

// touchSlotKey is TouchSlotKey of the slot at ref.
func (a *Arena) touchSlotKey(ref uint64) byte { return a.TouchSlotKey(a.At(ref >> CodeBits)) }
