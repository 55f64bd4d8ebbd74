package trace

import "math/bits"

// Digest is of all facts that were mixed into it, in order: a decision that
// carries it tells what it rested on.
type Digest uint64

// Sum is the digest, as exact in readers that know only doubles.
func (d Digest) Sum() int64 { return int64(d & (1<<52 - 1)) }

// Mix takes in a fact; texts are what its Ref names.
func (d *Digest) Mix(e *Event, texts []string) {
	h := uint64(*d)
	for _, v := range [...]uint64{
		uint64(e.At), uint64(e.Op) | uint64(e.Kind)<<8 | uint64(e.Phase)<<16 | uint64(e.Flags)<<24 | uint64(uint32(e.Job))<<32,
		uint64(uint32(e.Task)) | uint64(uint32(e.N))<<32, uint64(e.A), uint64(e.B), uint64(e.C), uint64(e.D), uint64(e.E), uint64(e.F),
	} {
		h = mix(h, v)
	}
	for _, t := range texts {
		for i := range len(t) {
			h = mix(h, uint64(t[i]))
		}
		h = mix(h, uint64(len(t)))
	}
	*d = Digest(h)
}

// mix is a step of a multiply-and-fold hash.
func mix(h, v uint64) uint64 {
	hi, lo := bits.Mul64(h^v^0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9)
	return hi ^ lo
}
