//go:build !amd64 || safe

package run

// ahead is for processors with a prefetch that we know how to ask for.
func ahead([]Sum, []*slots, uint64) {}
