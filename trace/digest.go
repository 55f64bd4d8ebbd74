package trace

import "math/bits"

// Digest is a hash of facts, in order. Each Assign records the digest of all facts
// before it, so that a replay notices if other facts led to the same decisions. The
// zero value is the digest of no facts.
type Digest uint64

// Sum returns 52 bits of the digest, which readers of JSON that know only doubles
// read exactly.
func (d Digest) Sum() int64 { return int64(d & (1<<52 - 1)) }

// Mix adds a fact. texts are the texts that its Ref refers to.
func (d *Digest) Mix(e *Event, texts []string) {
	h := uint64(*d)
	// Seq and Slot are left out. Seq counts details as well, which a replay does not have. The
	// slot of an attempt follows from the decision that started it.
	for _, v := range [...]uint64{
		uint64(e.At), uint64(e.Op) | uint64(e.Kind)<<8 | uint64(e.Phase)<<16 | uint64(e.Flags)<<24 | uint64(uint32(e.Job))<<32,
		uint64(uint32(e.Task)) | uint64(uint32(e.N))<<32, uint64(e.A), uint64(e.B), uint64(e.C), uint64(e.D), uint64(e.E), uint64(e.F),
	} {
		h = Hash(h, v)
	}
	// The length of each text separates it from the next one.
	for _, t := range texts {
		for i := range len(t) {
			h = Hash(h, uint64(t[i]))
		}
		h = Hash(h, uint64(len(t)))
	}
	*d = Digest(h)
}

// Hash adds v to the hash h, by multiplying and folding. It is not cryptographic,
// and the same on every machine.
func Hash(h, v uint64) uint64 {
	// The constants are those of splitmix64. Both halves of the product count, so that each bit of
	// v reaches the whole hash.
	hi, lo := bits.Mul64(h^v^0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9)
	return hi ^ lo
}
