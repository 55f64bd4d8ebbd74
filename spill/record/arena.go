package record

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"mrlocal/internal/membudget"
)

// Entry stands for one record while it is sorted and merged: the first 8 bytes
// of its key, big-endian and padded with zeros, so that comparing prefixes
// compares keys as far as they go; and where the record is.
//
//	ref   63            24 23       0
//	     +----------------+----------+
//	     |   address      |   code   |
//	     +----------------+----------+
//
// Addresses ascend in the order of arrival: comparing the refs of equal keys
// keeps the order stable. The code is the length of a taken record, or says
// how the record at the address is written:
//
//	taken     key bytes, as long as the code says
//	longTaken address and length of the key, 8 bytes each
//	slot+p    a slot of the hash table (table.go)
//	keyed+p   uvarint length, key; address and length of the value, 8 bytes each
//	emitted+p uvarint length of key and of value, key, value
//
// p is the partition, where that is known when the record arrives.
type Entry struct{ Prefix, Ref uint64 }

const (
	EntryBytes   = 16
	ChunkEntries = membudget.ChunkBytes / EntryBytes

	CodeBits = 24
	CodeMask = 1<<CodeBits - 1

	CodeEmitted   = 0xE0_0000
	CodeKeyed     = 0xD0_0000
	CodeSlot      = 0xC0_0000
	CodeLongTaken = 0xBF_FFFF
	KindMask      = 0xF0_0000

	segBits  = 18 // of an address: the place in a piece of ChunkBytes
	SegMask  = 1<<segBits - 1
	SegBytes = 1 << segBits

	MaxHeaderBytes = 2 * binary.MaxVarintLen64
)

// Arena maps addresses to the chunks that a buffer collected into. What is
// longer than a chunk has several neighbouring pieces, each of which reaches to
// its end, so that a record is always one slice.
type Arena struct {
	pieces  [][]byte
	bases   []uint32 // of an arena made of several: the first piece of its own arena, for each piece
	touched byte     // only keeps looks ahead from being optimised away
	Sums    bool     // the accumulators of slots are sums, in place
}

// Add gives data the next addresses and returns the first.
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

// Append gives what b has the next addresses and returns what to add to refs
// of b. Addresses within records stay as they are.
func (a *Arena) Append(b *Arena) (shift uint64) {
	base := len(a.pieces)
	a.pieces = append(a.pieces, b.pieces...)
	for range b.pieces {
		a.bases = append(a.bases, uint32(base))
	}
	return uint64(base) << (segBits + CodeBits)
}

// within is what an address in the record at ref means.
func (a *Arena) within(ref, addr uint64) []byte {
	if a.bases != nil {
		addr += uint64(a.bases[ref>>(CodeBits+segBits)]) << segBits
	}
	return a.At(addr)
}

func (a *Arena) At(addr uint64) []byte { return a.pieces[addr>>segBits][addr&SegMask:] }

// touch looks at the first bytes of the record at ref, so that they are in the
// cache when it is its turn. A slot never reaches into a second line.
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

// Key is the key of the record at ref. It lives as long as the arena's chunks.
func (a *Arena) Key(ref uint64) []byte {
	p := a.At(ref >> CodeBits)
	n := ref & CodeMask
	if n < CodeLongTaken {
		return p[:n:n]
	}
	return a.codedKey(p, ref)
}

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

// SameShortKey reports, without a look at them, that two records of equal
// prefix have the same key: both are taken, and as long, and no longer than
// the prefix.
func SameShortKey(x, y uint64) bool {
	return (x^y)&CodeMask == 0 && x&CodeMask <= 8
}

// SameKey reports whether two records of equal prefix have the same key.
func (a *Arena) SameKey(x, y uint64) bool {
	return SameShortKey(x, y) || bytes.Equal(a.Key(x), a.Key(y))
}

// Record is key and value of the record at ref.
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

// keyBytes is the length of the key at ref, without a look at the record where
// the ref tells.
func (a *Arena) keyBytes(ref uint64) int {
	if n := ref & CodeMask; n < CodeLongTaken {
		return int(n)
	}
	return len(a.Key(ref))
}

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

func PutEmitted(dst, key, value []byte) int {
	n := binary.PutUvarint(dst, uint64(len(key)))
	n += binary.PutUvarint(dst[n:], uint64(len(value)))
	n += copy(dst[n:], key)
	return n + copy(dst[n:], value)
}

// EmittedBytes is what putEmitted writes.
func EmittedBytes(key, value []byte) int {
	return uvarintBytes(len(key)) + uvarintBytes(len(value)) + len(key) + len(value)
}

func uvarintBytes(n int) int { return (bits.Len(uint(n)|1) + 6) / 7 }

func splitKeyed(p []byte) (key, rest []byte) {
	k, n := binary.Uvarint(p)
	end := uint64(n) + k
	return p[n:end:end], p[end:]
}

// PrefixOf is the first 8 bytes of key, big-endian, padded with zeros.
func PrefixOf(key []byte) uint64 {
	if len(key) >= 8 {
		return binary.BigEndian.Uint64(key)
	}
	return ShortPrefix(key)
}

func ShortPrefix(key []byte) uint64 {
	var x uint64
	for i, c := range key {
		x |= uint64(c) << (56 - 8*i)
	}
	return x
}
