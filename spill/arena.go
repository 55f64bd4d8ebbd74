package spill

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"mrlocal/internal/membudget"
)

// entry stands for one record while it is sorted and merged: the first 8 bytes
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
type entry struct{ prefix, ref uint64 }

const (
	entryBytes   = 16
	chunkEntries = membudget.ChunkBytes / entryBytes

	codeBits = 24
	codeMask = 1<<codeBits - 1

	codeEmitted   = 0xE0_0000
	codeKeyed     = 0xD0_0000
	codeSlot      = 0xC0_0000
	codeLongTaken = 0xBF_FFFF
	kindMask      = 0xF0_0000

	segBits  = 18 // of an address: the place in a piece of ChunkBytes
	segMask  = 1<<segBits - 1
	segBytes = 1 << segBits

	maxHeaderBytes = 2 * binary.MaxVarintLen64
)

// arena maps addresses to the chunks that a buffer collected into. What is
// longer than a chunk has several neighbouring pieces, each of which reaches to
// its end, so that a record is always one slice.
type arena struct {
	pieces [][]byte
	sums   bool // the accumulators of slots are sums, in place
}

// add gives data the next addresses and returns the first.
func (a *arena) add(data []byte) uint64 {
	addr := uint64(len(a.pieces)) << segBits
	for {
		a.pieces = append(a.pieces, data)
		if len(data) <= segBytes {
			return addr
		}
		data = data[segBytes:]
	}
}

func (a *arena) at(addr uint64) []byte { return a.pieces[addr>>segBits][addr&segMask:] }

// key is the key of the record at ref. It lives as long as the arena's chunks.
func (a *arena) key(ref uint64) []byte {
	p := a.at(ref >> codeBits)
	n := ref & codeMask
	if n < codeLongTaken {
		return p[:n:n]
	}
	return a.codedKey(p, n)
}

func (a *arena) codedKey(p []byte, code uint64) []byte {
	switch code & kindMask {
	case codeEmitted:
		if p[0] < 0x80 && p[1] < 0x80 {
			end := 2 + int(p[0])
			return p[2:end:end]
		}
		key, _ := emitted(p)
		return key
	case codeKeyed:
		key, _ := keyed(p)
		return key
	case codeSlot:
		return a.slotKey(p)
	}
	n := binary.LittleEndian.Uint64(p[8:])
	return a.at(binary.LittleEndian.Uint64(p))[:n:n]
}

// equalShort reports, without a look at them, that two records of equal
// prefix have the same key: both are taken, and as long, and no longer than
// the prefix.
func equalShort(x, y uint64) bool {
	return (x^y)&codeMask == 0 && x&codeMask <= 8
}

// equal reports whether two records of equal prefix have the same key.
func (a *arena) equal(x, y uint64) bool {
	return equalShort(x, y) || bytes.Equal(a.key(x), a.key(y))
}

// record is key and value of the record at ref.
func (a *arena) record(ref uint64) (key, value []byte) {
	p := a.at(ref >> codeBits)
	n := ref & codeMask
	switch {
	case n < codeLongTaken:
		return p[:n:n], nil
	case n&kindMask == codeEmitted:
		return emitted(p)
	case n&kindMask == codeKeyed:
		key, rest := keyed(p)
		size := binary.LittleEndian.Uint64(rest[8:])
		return key, a.at(binary.LittleEndian.Uint64(rest))[:size:size]
	case n&kindMask == codeSlot:
		return a.slotKey(p), a.slotValue(p)
	}
	return a.codedKey(p, n), nil
}

// keyBytes is the length of the key at ref, without a look at the record where
// the ref tells.
func (a *arena) keyBytes(ref uint64) int {
	if n := ref & codeMask; n < codeLongTaken {
		return int(n)
	}
	return len(a.key(ref))
}

func emitted(p []byte) (key, value []byte) {
	k, n := binary.Uvarint(p)
	v, m := binary.Uvarint(p[n:])
	at := uint64(n + m)
	return p[at : at+k : at+k], p[at+k : at+k+v : at+k+v]
}

func putEmitted(dst, key, value []byte) int {
	n := binary.PutUvarint(dst, uint64(len(key)))
	n += binary.PutUvarint(dst[n:], uint64(len(value)))
	n += copy(dst[n:], key)
	return n + copy(dst[n:], value)
}

// emittedBytes is what putEmitted writes.
func emittedBytes(key, value []byte) int {
	return uvarintBytes(len(key)) + uvarintBytes(len(value)) + len(key) + len(value)
}

func uvarintBytes(n int) int { return (bits.Len(uint(n)|1) + 6) / 7 }

func keyed(p []byte) (key, rest []byte) {
	k, n := binary.Uvarint(p)
	end := uint64(n) + k
	return p[n:end:end], p[end:]
}

// prefixOf is the first 8 bytes of key, big-endian, padded with zeros.
func prefixOf(key []byte) uint64 {
	if len(key) >= 8 {
		return binary.BigEndian.Uint64(key)
	}
	return shortPrefix(key)
}

func shortPrefix(key []byte) uint64 {
	var x uint64
	for i, c := range key {
		x |= uint64(c) << (56 - 8*i)
	}
	return x
}
