package jobs

import (
	"bytes"
	"iter"
)

// Lines yields the lines of the block without their newlines. A carriage return
// before the newline belongs to the line. The lines lie in b.Data, and are
// borrowed as it is. Nothing is allocated.
func (b Block) Lines() iter.Seq[[]byte] { return b.Records(Newline) }

// Records yields the records of the block without their delimiter. They lie in
// b.Data, and are borrowed as it is; their capacity is their length, so that
// append copies them.
func (b Block) Records(delim Delim) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		rest, end := b.Data, delim.Byte()
		for len(rest) > 0 {
			n := bytes.IndexByte(rest, end)
			if n < 0 {
				yield(rest[:len(rest):len(rest)])
				return
			}
			if !yield(rest[:n:n]) {
				return
			}
			rest = rest[n+1:]
		}
	}
}
