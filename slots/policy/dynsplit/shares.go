package dynsplit

import (
	"mrlocal/slots"
	"mrlocal/trace"
)

// The formulas of seed 002. Every product and quotient is rounded by itself
// (float64), so that all processors agree.

// reduceWeight is w_r(x) = (e^{6x} - 1) / (e^6 - 1), of x = finished maps / maps
// (S1). It is nearly 0 until late: 4.7 % at x = 0.5, 54.8 % at 0.9 (A26).
func reduceWeight(finished, maps int32) float64 {
	if maps == 0 {
		return 1 // nothing is to be waited for
	}
	x := float64(finished) / float64(maps)
	return (exp(float64(6*x)) - 1) / (exp(6) - 1)
}

// mapWeight is w_m = 1 - w_r.
func mapWeight(reduceWeight float64) float64 { return 1 - reduceWeight }

// exp is e^y for y from 0 to 6 by its series, to the last digits; math.Exp is not
// the same on all processors.
func exp(y float64) float64 {
	sum, term := 1.0, 1.0
	for n := 1.0; n <= 48; n++ {
		term = float64(term*y) / n
		sum += term
	}
	return sum
}

// want is what a job brings to an allocation.
type want struct {
	weight       float64 // w_i
	reduceWeight float64 // w_r
	demand       [trace.Kinds]float64
}

// share is R_im and R_ir, in slots.
type share [trace.Kinds]float64

// jobShare is R_i = w_i / Σ_j w_j · R (S3; the slides write Σ over i, A23).
func jobShare(weight, all, slots float64) float64 { return float64(weight*slots) / all }

// split is R_im = w_m · R_i and R_ir = w_r · R_i (S2, S3), each capped by its
// demand; what one of them leaves goes to the other first (A28).
func split(r float64, w *want) share {
	reduces := float64(w.reduceWeight * r)
	s := share{slots.Map: r - reduces, slots.Reduce: reduces}
	for k := range slots.Kind(trace.Kinds) {
		if spare := s[k] - w.demand[k]; spare > 0 {
			s[k] = w.demand[k]
			s[k.Other()] += spare
		}
	}
	for k := range s { // what both leave is nobody's here
		s[k] = min(s[k], w.demand[k])
	}
	return s
}

// fill appends to dst the shares of all jobs in so many slots: by weight, but
// none gets more than it wants; what it leaves goes to its other phase first,
// then to the other jobs by weight, until all is used or all have enough (A28).
func fill(dst []share, wants []want, slots float64) []share {
	first := len(dst)
	var weights float64
	for i := range wants {
		weights += wants[i].weight
		dst = append(dst, share{-1, -1})
	}
	left := dst[first:]
	for again := true; again; { // who has enough leaves: what is left grows for the others
		again = false
		rest, all := slots, weights
		for i := range wants {
			w := &wants[i]
			both := w.demand[0] + w.demand[1]
			if left[i][0] < 0 && both <= jobShare(w.weight, all, rest) {
				left[i] = share(w.demand)
				slots -= both
				weights -= w.weight
				again = true
			}
		}
	}
	for i := range wants {
		if left[i][0] < 0 {
			left[i] = split(jobShare(wants[i].weight, weights, slots), &wants[i])
		}
	}
	return dst
}

// totals are R_M = Σ R_im and R_R = Σ R_ir (S3).
func totals(shares []share) (r share) {
	for _, s := range shares {
		r[slots.Map] += s[slots.Map]
		r[slots.Reduce] += s[slots.Reduce]
	}
	return r
}

// below is how far a kind of a job is below its share and what it carries. To
// give each slot to the one farthest below is largest-remainder rounding over
// all of them together (A27): whole slots first, then the largest fractions.
func below(share, carried float64, running int32) float64 { return share + carried - float64(running) }

// carry is what is left of a share after an allocation, for the next one: so
// that a share below one slot has a slot now and then, and in time every demander
// gets one (A27). It is a remainder, so between -1 and 1.
func carry(share, carried float64, running int32) float64 {
	return min(max(below(share, carried, running), -1), 1)
}

// earlyReduces is how many reduces of a job want a slot while its maps are not
// all done: as many as its share has room for, or w_r of them. So what maps leave
// unused (A28) does not bring back the reduces that hold slots and wait, which
// w_r is there to prevent (S4).
func earlyReduces(reduceWeight, jobShare float64, reduces int32) int32 {
	return int32(max(float64(reduceWeight*jobShare), float64(reduceWeight*float64(reduces))))
}
