package jobs

import (
	"bytes"
	"iter"
)

// Lines ranges over the block's records that end with a newline, without it.
// A carriage return before it belongs to the record. Ranging allocates
// nothing.
func (b Block) Lines() iter.Seq[[]byte] { return b.Records(Newline) }

// Records ranges over the block's records, without the delimiter. They lie in
// Data and may not be appended to in place.
func (b Block) Records(delim Delim) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		rest, end := b.Data, delim.Byte()
		for len(rest) > 0 {
			n := bytes.IndexByte(rest, end)
			if n < 0 {
				yield(rest)
				return
			}
			if !yield(rest[:n:n]) {
				return
			}
			rest = rest[n+1:]
		}
	}
}
