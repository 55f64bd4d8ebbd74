//go:build amd64 && !safe

package spill

import "mrlocal/jobs"

// pack is packPortable with a prefetch of each slot. A prefetch instruction is better than a
// load here: a load occupies the reorder buffer of the processor until its data arrives.
//
//go:noescape
func pack(dst []keySum, data []byte, keys []jobs.Span, delta uint64, long []jobs.Span, bases []*slots, shift, seedA, seedB uint64) (used, sums, longs int)

// addSums is addSumsPortable in assembly.
//
//go:noescape
func addSums(sums []keySum, bases []*slots, shift uint64) int

// prefetch prefetches, for each of sums, the first slot that a search for its key reads.
//
//go:noescape
func prefetch(sums []keySum, bases []*slots, shift uint64)
