package sort

import (
	"bytes"
	"io"

	"mrlocal/internal/errs"
)

// Source is a file of lines, for Merge and FirstDisorder.
type Source struct {
	// Next returns the next lines. It reuses buf if buf is large enough. It returns the last lines together
	// with io.EOF; only the last one may lack its end.
	Next  func(buf []byte) ([]byte, error)
	Close func() // called once no read follows, on any goroutine
	Name  string // for errors about lines
	Few   bool   // a read needs a thread, so only a few such sources are read at the same moment
}

// block is a block of lines of a Source, with their keys.
type block struct {
	data    []byte // whole lines, each with its delimiter
	keys    []byte // the memory of the keys
	lines   []Line // point into data and keys
	err     error  // why no block follows; io.EOF: the source has ended; nil: one follows
	read    int    // the number of lines that index has found, which is more than len(lines) if some were dropped
	refused error  // why the order refuses the line after these; nil: it refuses none
	out     int    // of FirstDisorder: the first line that is out of order within the block; -1: none
}

// fill reads the next lines of s. It adds the delimiter to a last line that has none.
func (b *block) fill(s *Source, delim byte) {
	b.data, b.err = s.Next(b.data)
	if n := len(b.data); b.err == io.EOF && n > 0 && b.data[n-1] != delim {
		b.data = append(b.data, delim)
	}
}

// index finds the lines of the block and makes their keys. With unique, it drops a line that equals the
// line before it. It ends before a line that the order refuses: an order by JSON keys refuses text that is
// not JSON.
func (b *block) index(order *Order, delim byte, unique bool) {
	b.lines, b.keys, b.read, b.refused = b.lines[:0], b.keys[:0], 0, nil
	for at := 0; at < len(b.data); b.read++ {
		end := at + bytes.IndexByte(b.data[at:], delim)
		line := b.data[at:end]
		at = end + 1
		if b.refused = order.Check(line); b.refused != nil {
			return
		}
		// If order.Key has to move b.keys to more memory, earlier keys still point to the old memory,
		// which stays valid.
		b.lines = append(b.lines, Line{Text: line, Key: order.Key(&b.keys, line)})
		if n := len(b.lines); unique && n > 1 && order.Compare(&b.lines[n-2], &b.lines[n-1]) == 0 {
			b.lines = b.lines[:n-1]
		}
	}
}

// refusal returns the error of the line that the order refuses. before is the number of lines in the blocks
// before.
func (b *block) refusal(s *Source, before int64) error {
	return errs.Inputf(errs.Quote(s.Name), "line %d: %w", before+int64(b.read)+1, b.refused)
}
