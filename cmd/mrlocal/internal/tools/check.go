package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"mrlocal/input"
	"mrlocal/internal/errs"
	"mrlocal/internal/inorder"
	"mrlocal/jobs/sort"
)

// checkedBytes is the size of the blocks that workers check, in bytes. A block with a longer line is
// longer.
const checkedBytes = 256 << 10

// check does the work of -c and -C: it reads one file and looks for the first line that is out of
// order. It returns the exit code, 0 or 1.
//
// One goroutine cuts the file into blocks of whole lines, and one worker for each core checks blocks.
// The judge takes the blocks in the order of the file, so the answer does not depend on the number of
// workers. There are two blocks for each worker.
func (s *sorter) check(ctx context.Context, order *sort.Order) (int, error) {
	delim := s.delimiter()
	f := &lineSource{name: s.files[0]}
	if err := f.open(s.Call); err != nil {
		return 0, err
	}
	workers := runtime.GOMAXPROCS(0)
	j := judge{sorter: s, order: order, file: f}
	if s.order.Unique {
		j.least = 1
	}
	var free sync.Pool
	blocks := func(yield func(*checkedBlock) bool) {
		// This goroutine owns the file, because its last read may end after check has returned.
		defer f.close()
		cut := cutLines(f, delim, checkedBytes)
		for more := true; more; {
			b, ok := free.Get().(*checkedBlock)
			if !ok {
				b = new(checkedBlock)
			}
			b.data, b.err = cut.next(b.data)
			last := b.err != nil // b belongs to a worker after yield
			more = yield(b) && !last
		}
	}
	check := func(_ context.Context, b *checkedBlock) { b.check(order, delim, j.least) }
	err := inorder.Each(ctx, workers, 2*workers, blocks, check, func(b *checkedBlock) error {
		err := j.judge(b)
		free.Put(b)
		return err
	})
	switch err {
	case io.EOF:
		return 0, nil
	case errDisorder:
		return 1, nil
	}
	return 0, err
}

// errDisorder is the judge's answer that a line is out of order.
var errDisorder = errors.New("disorder")

// judge looks at the checked blocks in the order of the file.
type judge struct {
	*sorter
	order *sort.Order
	file  *lineSource
	// least is the smallest result of Compare(line, line before) that is in order. With -u, equal
	// lines are out of order as well.
	least     int
	before    sort.Line // the last line of the block before; a copy, because that block is reused
	text, key []byte    // the memory of before
	number    int64     // lines in the blocks before
	used      int64     // bytes of these blocks
}

// judge looks at the next block. It returns errDisorder if a line is out of order, after it has reported
// that line with -c. It returns io.EOF if all lines are in order and no block follows.
func (j *judge) judge(b *checkedBlock) error {
	out := b.out
	// The first line of a block is compared with the last one of the block before.
	if j.number > 0 && b.lines > 0 && j.order.Compare(&b.first, &j.before) < j.least {
		out = 0
	}
	switch delim := j.delimiter(); {
	case out >= 0:
		j.file.leave(j.used + int64(b.end(out, delim)))
		if j.Line.Has("check") {
			j.complain(fmt.Errorf("%s:%d: disorder: %s", j.file.name, j.number+int64(out)+1, b.data[b.end(out-1, delim):b.end(out, delim)-1]))
		}
		return errDisorder
	case b.refused != nil:
		return errs.Inputf(errs.Quote(j.file.name), "line %d: %w", j.number+int64(b.lines)+1, b.refused)
	}
	j.number += int64(b.lines)
	j.used += int64(len(b.data))
	if b.err == io.EOF {
		j.file.leave(-1)
	}
	if b.lines > 0 {
		j.text, j.key = append(j.text[:0], b.last.Text...), append(j.key[:0], b.last.Key...)
		j.before = sort.Line{Text: j.text, Key: j.key}
	}
	return b.err
}

// checkedBlock is a block of lines with the result of its check.
type checkedBlock struct {
	data []byte // whole lines, each with its delimiter
	err  error  // of the read after the block; io.EOF: the block is the last one

	first, last sort.Line // of the block; they point into data and keys
	keys        [3][]byte // the memory of the keys of the first line and of the last two
	lines       int       // the number of checked lines
	out         int       // the first line that is out of order within the block, from 0; -1: none
	refused     error     // why the order refuses the line after the checked ones; nil: it refuses none
}

// check goes through the lines of the block until one is out of order or refused. least is as in
// judge.
func (b *checkedBlock) check(order *sort.Order, delim byte, least int) {
	b.lines, b.out, b.refused = 0, -1, nil
	for at := 0; at < len(b.data); b.lines++ {
		end := at + bytes.IndexByte(b.data[at:], delim)
		line := b.data[at:end]
		at = end + 1
		// An order may refuse a line: an order by JSON keys refuses text that is not JSON.
		if b.refused = order.Check(line); b.refused != nil {
			return
		}
		// The key of the first line is kept for the judge. The other lines use the other two in turn.
		memory := &b.keys[0]
		if b.lines > 0 {
			memory = &b.keys[1+b.lines%2]
		}
		*memory = (*memory)[:0]
		l := sort.Line{Text: line, Key: order.Key(memory, line)}
		if b.lines == 0 {
			b.first = l
		} else if order.Compare(&l, &b.last) < least {
			b.out = b.lines
			return
		}
		b.last = l
	}
}

// end returns the offset behind line number n of the block, from 0; -1 is the line before the block.
func (b *checkedBlock) end(n int, delim byte) int {
	at := 0
	for ; n >= 0; n-- {
		at += bytes.IndexByte(b.data[at:], delim) + 1
	}
	return at
}

// lineCutter cuts the text of a reader into blocks of whole lines.
type lineCutter struct {
	input.Cutter
	delim byte
}

// cutLines returns a lineCutter with blocks of the given number of bytes. A block with a longer line is longer.
func cutLines(r io.Reader, delim byte, blockBytes int) *lineCutter {
	return &lineCutter{input.Cutter{R: r, LastEnd: input.LastEnd(delim), Bytes: blockBytes}, delim}
}

// next returns the next block as Cutter.Next does. It adds the delimiter to a last line that has none.
func (c *lineCutter) next(buf []byte) ([]byte, error) {
	buf, err := c.Next(buf)
	if err == io.EOF && len(buf) > 0 && buf[len(buf)-1] != c.delim {
		buf = append(buf, c.delim)
	}
	return buf, err
}
