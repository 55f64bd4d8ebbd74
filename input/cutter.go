package input

import (
	"bytes"
	"io"
	"slices"
)

// Cutter cuts the text of any reader into blocks of whole records, for programs that have no Plan. Only
// one goroutine may use it.
type Cutter struct {
	R io.Reader
	// LastEnd returns the index in data behind the last whole record; 0: there is no whole record.
	// data begins with a record.
	LastEnd func(data []byte) int
	Bytes   int // size of a block; a block with a longer record is longer
	// Next calls Grow before a block becomes longer, with the number of additional bytes. An error ends
	// the reading. nil: no bound.
	Grow func(bytes int) error

	rest []byte // read behind the block before
}

// LastEnd returns a Cutter's LastEnd for records that end with delim.
func LastEnd(delim byte) func(data []byte) int {
	return func(data []byte) int { return bytes.LastIndexByte(data, delim) + 1 }
}

// Next returns the next block. It reuses buf if buf is large enough. It returns the last block together
// with io.EOF; only its last record may lack an end. With any other error, the block ends before the
// record in which the error occurred.
func (c *Cutter) Next(buf []byte) ([]byte, error) {
	buf = append(slices.Grow(buf[:0], c.Bytes), c.rest...)
	c.rest = c.rest[:0]
	for {
		// io.ReadFull would turn io.EOF and a decoder's io.ErrUnexpectedEOF into the same error. The
		// first is the end, the second is a file that was cut short.
		var err error
		for n := 0; err == nil && len(buf) < cap(buf); buf = buf[:len(buf)+n] {
			n, err = c.R.Read(buf[len(buf):cap(buf)])
		}
		if err == io.EOF {
			return buf, err
		}
		whole := c.LastEnd(buf)
		switch {
		case err != nil:
			return buf[:whole], err
		case whole > 0 && whole == len(buf):
			// One more byte shows whether the text ends here.
			c.rest = append(c.rest, 0)
			n, err := io.ReadFull(c.R, c.rest)
			c.rest = c.rest[:n]
			return buf, err
		case whole > 0:
			c.rest = append(c.rest, buf[whole:]...)
			return buf[:whole], nil
		case c.Grow != nil:
			if err := c.Grow(cap(buf)); err != nil {
				return buf[:0], err
			}
		}
		buf = slices.Grow(buf, cap(buf)) // a record is longer than the block
	}
}
