package stream

import (
	"bytes"
	"cmp"
	"fmt"
	"io"

	"mrlocal/shuffle"
	"mrlocal/spill"
)

// For Spark, a map writes blocks: a line with the number of a reduce and a length, and records of the wire with that
// many bytes together. The driver passes blocks on and knows no record, because each would cost Python more than the
// work of a child. So a reduce gets its records in any order, and sorts them.

// A map keeps a block for each reduce. All blocks together have at most mostBlocks bytes, if each has a record.
const (
	mostBlock  = 64 << 10
	mostBlocks = 16 << 20
)

// put writes a record of the wire, which belongs to a reduce. c.out keeps the first error.
func (c *child) put(record []byte, reduce int) {
	if !c.o.Spark {
		_, _ = c.out.Write(record)
		return
	}
	if c.blocks == nil {
		c.blocks = make([][]byte, c.o.Reduces)
	}
	b := append(c.blocks[reduce], record...)
	if len(b) >= min(mostBlock, mostBlocks/len(c.blocks)) {
		b = c.putBlock(reduce, b)
	}
	c.blocks[reduce] = b
}

// putBlock writes a block, and returns it without its records.
func (c *child) putBlock(reduce int, b []byte) []byte {
	if len(b) > 0 {
		fmt.Fprintf(c.out, "%d %d\n", reduce, len(b))
		_, _ = c.out.Write(b)
	}
	return b[:0]
}

// lines are those of a bufio.Scanner, or sorted ones.
type lines interface {
	Scan() bool
	Bytes() []byte // borrowed until the next Scan
	Err() error
}

// records returns the records of the wire that a reduce gets, in the order of their keys.
func (c *child) records(stdin io.Reader) (records lines, release func(), err error) {
	in := scanLines(stdin)
	if !c.o.Spark {
		return in, func() {}, nil
	}
	b, free, err := c.newBuffer(spill.Options{Parts: 1})
	if err != nil {
		return nil, nil, err
	}
	for in.Scan() && b.Err() == nil {
		key, value, _ := bytes.Cut(in.Bytes(), []byte{'\t'})
		b.Emit(key, value)
	}
	err = in.Err()
	out, err2 := b.Close()
	if err == nil && err2 == nil {
		s := &sortedLines{}
		if s.Merge, err = shuffle.NewMerge(c.ctx, shuffle.MergeOptions{Inputs: []*shuffle.MapOutput{out}, Lease: b.merge, CreateTemp: b.createTemp}); err == nil {
			return s, func() { s.Close(); out.Release(); free() }, nil
		}
	}
	if err2 == nil {
		out.Release()
	}
	free()
	return nil, nil, fmt.Errorf("sort the records of a reduce: %w", cmp.Or(err, err2))
}

// sortedLines are the records of a merge as lines.
type sortedLines struct {
	*shuffle.Merge
	line []byte
}

// Scan implements lines.
func (s *sortedLines) Scan() bool { return s.Next() }

// Bytes implements lines.
func (s *sortedLines) Bytes() []byte {
	s.line = append(append(append(s.line[:0], s.Key()...), '\t'), s.Value()...)
	return s.line
}
