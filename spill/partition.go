package spill

import (
	"encoding/binary"
	"math/bits"
)

// HashPartition is the partition of key where a job has no partitioner.
// It maps the range of the hash to 0 to parts-1, in order.
func HashPartition(key []byte, parts int) int {
	return int(uint64(partitionSeed().key(key)) * uint64(parts) >> 32)
}

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
