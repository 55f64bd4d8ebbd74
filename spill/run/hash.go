package run

import (
	"encoding/binary"
	"math/bits"
)

// Words packs a key of up to 16 bytes into two words which, with its length,
// determine it: the first and the last 8 bytes, which overlap, or for less
// than 8 the first and the last 4, or three single bytes. Two loads instead of
// a loop.
func Words(key []byte) (a, b uint64) {
	n := len(key)
	switch {
	case n >= 8:
		return binary.LittleEndian.Uint64(key), binary.LittleEndian.Uint64(key[n-8:])
	case n >= 4:
		return uint64(binary.LittleEndian.Uint32(key)) | uint64(binary.LittleEndian.Uint32(key[n-4:]))<<32, 0
	case n > 0:
		return uint64(key[0]) | uint64(key[n>>1])<<8 | uint64(key[n-1])<<16, 0
	}
	return 0, 0
}

// unpack writes the key of n bytes that words made a and b from to dst, which
// holds 16.
func unpack(dst []byte, a, b uint64, n int) {
	switch {
	case n >= 8:
		binary.LittleEndian.PutUint64(dst, a)
		binary.LittleEndian.PutUint64(dst[n-8:], b)
	case n >= 4:
		binary.LittleEndian.PutUint32(dst, uint32(a))
		binary.LittleEndian.PutUint32(dst[n-4:], uint32(a>>32))
	case n > 0:
		dst[0] = byte(a)
		dst[n>>1] = byte(a >> 8)
		dst[n-1] = byte(a >> 16)
	}
}

const (
	mixA = 0x9e37_79b9_7f4a_7c15
	mixB = 0xe703_7ed1_a0b4_28db
)

// mix spreads two words over 64 bits by one wide multiplication.
func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^mixA, b^mixB)
	return hi ^ lo
}

// HashWords is the 32-bit hash of a key of up to 16 bytes.
func HashWords(a, b uint64, n int) uint32 {
	h := mix(a, b^uint64(n)*mixB)
	return uint32((h * mixA) >> 32)
}

// hashKey is the 32-bit hash of any key, the same in every process.
func hashKey(key []byte) uint32 {
	if len(key) <= 16 {
		a, b := Words(key)
		return HashWords(a, b, len(key))
	}
	return HashLong(key)
}

func HashLong(key []byte) uint32 {
	h := uint64(len(key)) * mixA
	p := key
	for ; len(p) > 16; p = p[16:] {
		h = mix(h^binary.LittleEndian.Uint64(p), binary.LittleEndian.Uint64(p[8:])+h)
	}
	p = key[len(key)-16:]
	h = mix(h^binary.LittleEndian.Uint64(p), binary.LittleEndian.Uint64(p[8:])+h)
	return uint32((h * mixA) >> 32)
}

// HashPartition is the partition of key where a job says nothing else.
func HashPartition(key []byte, parts int) int { return PartOfHash(hashKey(key), parts) }

func PartOfHash(h uint32, parts int) int { return int(uint64(h) * uint64(parts) >> 32) }
