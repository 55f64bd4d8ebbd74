package spill

import (
	"encoding/binary"
	"math/bits"
)

// words packs a key of up to 16 bytes into two words, little-endian and padded with
// zeros. Together with its length they determine the key. Where 16 bytes can be
// read, which the capacity of key tells, that takes two loads and two masks. Else
// the loads overlap, so that no byte outside of the key is read.
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

// wordsAt is words of the n bytes of data from off on. It may read 16 bytes where
// data has them.
//
// hot: inlined, once for every word of a text.
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

// seed chooses a hash function. Each run has a seed of its own for its tables, so
// that nobody can make keys that collide in them. a is odd.
type seed struct{ a, b uint64 }

// partitionSeed consists of odd constants without a pattern. The hash for partitions
// is the same in every process, so partitions are.
func partitionSeed() seed { return seed{mixA, mixB} }

const (
	mixA = 0x9e37_79b9_7f4a_7c15
	mixB = 0xe703_7ed1_a0b4_28db
)

// newSeed makes a seed of any number. 0 makes partitionSeed.
func newSeed(n uint64) seed {
	p := partitionSeed()
	if n == 0 {
		return p
	}
	return seed{p.mix(n, 0) | 1, p.mix(n, 1)}
}

// mix spreads two words over 64 bits by one wide multiplication.
func (s seed) mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^s.a, b^s.b)
	return hi ^ lo
}

// words is the 32-bit hash of a key of up to 16 bytes.
func (s seed) words(a, b uint64) uint32 {
	h := s.mix(a, b)
	return uint32((h * s.a) >> 32)
}

// key is the 32-bit hash of a key of any length.
func (s seed) key(key []byte) uint32 {
	if len(key) <= inlineKey {
		a, b := words(key)
		return s.words(a, b)
	}
	return s.long(key)
}

// long is the hash of a key longer than 16 bytes. The last 16 bytes are mixed
// in at once, also those that were mixed in before.
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

// HashPartition is the partition of key where a job has no partitioner.
// It maps the range of the hash to 0 to parts-1, in order.
func HashPartition(key []byte, parts int) int {
	return int(uint64(partitionSeed().key(key)) * uint64(parts) >> 32)
}
