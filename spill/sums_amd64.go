//go:build amd64 && !safe

package spill

import "mrlocal/jobs"

// pack is packPortable with a prefetch of each slot. A prefetch is better than a load
// here: a load keeps its place among the instructions under way until it is done.
//
//go:noescape
func pack(dst []keySum, data []byte, keys []jobs.Span, delta uint64, long []jobs.Span, bases []*slots, shift, seedA, seedB uint64) (used, sums, longs int)

// addSums is addSumsPortable.
//
//go:noescape
func addSums(sums []keySum, bases []*slots, shift uint64) int

// ahead prefetches the first slot that a search for each sum reads.
//
//go:noescape
func ahead(sums []keySum, bases []*slots, shift uint64)
