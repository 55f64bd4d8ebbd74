package spill

import (
	"encoding/binary"
	"math/bits"
)

// HashPartition returns the partition of key, 0 to parts-1, for a job without a partitioner. It
// scales a 32-bit hash to that range. It returns the same partition in every process.
func HashPartition(key []byte, parts int) int {
	return int(uint64(partitionSeed().key(key)) * uint64(parts) >> 32)
}

// seed chooses a hash function. Each run draws a seed for its tables, so that no input can be
// made whose keys all collide. a is odd.
type seed struct{ a, b uint64 }

// partitionSeed returns the seed of HashPartition. It is constant, because all processes of a
// job have to agree on the partition of a key.
func partitionSeed() seed { return seed{mixA, mixB} }

// mixA and mixB are odd numbers whose bits have no pattern.
const (
	mixA = 0x9e37_79b9_7f4a_7c15
	mixB = 0xe703_7ed1_a0b4_28db
)

// newSeed derives a seed from n. It returns partitionSeed if n is 0.
func newSeed(n uint64) seed {
	p := partitionSeed()
	if n == 0 {
		return p
	}
	return seed{p.mix(n, 0) | 1, p.mix(n, 1)}
}

// mix hashes two words to 64 bits with one multiplication of 128 bits.
func (s seed) mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^s.a, b^s.b)
	return hi ^ lo
}

// words returns the 32-bit hash of a key of up to 16 bytes, given as its two words.
func (s seed) words(a, b uint64) uint32 {
	h := s.mix(a, b)
	return uint32((h * s.a) >> 32)
}

// key returns the 32-bit hash of a key of any length.
func (s seed) key(key []byte) uint32 {
	if len(key) <= inlineKey {
		a, b := words(key)
		return s.words(a, b)
	}
	return s.long(key)
}

// long returns the 32-bit hash of a key longer than 16 bytes. The last step mixes the last 16
// bytes of the key. They may overlap the bytes of the step before, so no length needs padding.
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
