//go:build !amd64 || safe

package dfa

// walkAll is walk for all streams: up to n bytes of each, as far as the states
// are known.
func (d *lines) walkAll(pieces *[streams][]byte, n int) (at, began int) {
	return d.walkBytes(pieces, n)
}
