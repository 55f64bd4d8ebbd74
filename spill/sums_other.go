//go:build !amd64 || safe

package spill

import "mrlocal/jobs"

func pack(dst []keySum, data []byte, keys []jobs.Span, delta uint64, long []jobs.Span, _ []*slots, _, seedA, seedB uint64) (used, sums, longs int) {
	return packPortable(dst, data, keys, delta, long, seed{seedA, seedB})
}

func addSums(sums []keySum, bases []*slots, shift uint64) int {
	return addSumsPortable(sums, bases, shift)
}

// prefetch does nothing, because Go has no prefetch.
func prefetch([]keySum, []*slots, uint64) {}
