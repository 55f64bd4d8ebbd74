//go:build amd64 && !safe

package dfa

// walkers are what walkBlocks, in assembly, is called with: the streams, and
// n, above 0 and a multiple of blockBytes, of bytes to walk in each. It walks
// whole blocks, up to the one in which something is unknown, and sets at to
// where that begins, and began as walk does.
//
// Against the loop in Go it saves the checks of bounds, and a compare a byte.
type walkers struct {
	text  [streams]*byte
	state [streams]uint32
	table *uint32
	class *[256]uint8
	n     int
	at    int
	began int
}

const blockBytes = 8

//go:noescape
func walkBlocks(w *walkers)

// walkAll is walk for all streams: n bytes of each, as far as they are known.
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
