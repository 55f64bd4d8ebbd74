//go:build amd64 && !safe

package run

// ahead prefetches the first slot to look at of each sum. Nothing waits for it:
// a load would keep its place among the instructions under way until it is
// done.
//
//go:noescape
func ahead(sums []Sum, bases []*slots, shift uint64)
