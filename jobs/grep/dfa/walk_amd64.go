//go:build amd64 && !safe

package dfa

// walkers are the arguments of walkBlocks, in assembly: the streams, and the
// number n of bytes to walk in each, which is above 0 and a multiple of
// blockBytes. It walks whole blocks, up to one in which something is unknown.
// It sets at to the beginning of that block, and began as walk does.
//
// Compared with the loop in Go, it saves the bounds checks, and one comparison
// for each byte.
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

// walkAll is walk for all streams: up to n bytes of each, as far as the states
// are known.
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
