//go:build !amd64 || safe

package dfa

// walkAll is walk for all streams. It walks up to n bytes of each, and stops at an unknown
// transition.
func (d *lines) walkAll(pieces *[streams][]byte, n int) (at, began int) {
	return d.walkBytes(pieces, n)
}
