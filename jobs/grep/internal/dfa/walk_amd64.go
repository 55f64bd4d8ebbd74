//go:build amd64 && !safe

package dfa

// walkers has the arguments and results of walkBlocks, in assembly. For each stream, walkBlocks
// walks n bytes of text. n is above 0 and a multiple of blockBytes. It stops before a block
// with an unknown transition. It sets at to the offset of that block, or to n, and began as
// walk does.
//
// The assembly saves the bounds checks, and one comparison for each byte.
type walkers struct {
	text  [streams]*byte  // first byte of each piece
	state [streams]uint32 // of each stream; updated
	table *uint32
	class *[256]uint8
	n     int
	at    int
	began int
}

// blockBytes is the number of bytes that walkBlocks walks between two checks for unknown
// transitions.
const blockBytes = 8

// walkBlocks walks whole blocks of all streams (walkers).
//
//go:noescape
func walkBlocks(w *walkers)

// walkAll is walk for all streams. It walks up to n bytes of each, and stops at an unknown
// transition.
func (d *lines) walkAll(pieces *[streams][]byte, n int) (at, began int) {
	if n < blockBytes {
		return d.walkBytes(pieces, n)
	}
	w := walkers{state: d.live, table: &d.table[0], class: &d.class, n: n &^ (blockBytes - 1)}
	for i, p := range pieces {
		w.text[i] = &p[0]
	}
	walkBlocks(&w)
	d.live = w.state
	if w.at == n {
		return n, w.began
	}
	var rest [streams][]byte
	for i, p := range pieces {
		rest[i] = p[w.at:]
	}
	at, began = d.walkBytes(&rest, min(n-w.at, blockBytes))
	return w.at + at, w.began + began
}
