package tools

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/internal/errs"
	"mrlocal/jobs/sort"
)

// checkedBytes is the size of the blocks that workers check, in bytes. A block with a longer line is
// longer.
const checkedBytes = 256 << 10

// check does the work of -c and -C: it reads one file and looks for the first line that is out of
// order. It returns the exit code, 0 or 1.
//
// One goroutine cuts the file into blocks of whole lines, and one worker for each core checks blocks.
// judge takes the blocks in the order of the file, so the answer does not depend on the number of
// workers. There are two blocks for each worker. They circulate: free, todo and inOrder, judge, free.
func (s *sorter) check(ctx context.Context, order *sort.Order) (int, error) {
	delim := s.delimiter()
	f := &lineSource{name: s.files[0]}
	if err := f.open(s.Call); err != nil {
		return 0, err
	}
	workers := runtime.GOMAXPROCS(0)
	// least is the smallest result of Compare(line, line before) that is in order. With -u, equal
	// lines are out of order as well.
	least := 0
	if s.order.Unique {
		least = 1
	}
	free, todo, inOrder := make(chan *checkedBlock, 2*workers), make(chan *checkedBlock, 2*workers), make(chan *checkedBlock, 2*workers)
	for range 2 * workers {
		free <- &checkedBlock{done: make(chan struct{}, 1)}
	}
	stop := make(chan struct{})
	go func() {
		// This goroutine owns the file, because its last read may end after check has returned.
		defer f.close()
		defer close(todo)
		defer close(inOrder)
		cut := lineCutter{r: f, delim: delim, size: checkedBytes}
		for {
			var b *checkedBlock
			select {
			case b = <-free:
			case <-stop:
				return
			}
			b.data, b.err = cut.next(b.data)
			// Both channels have room for all blocks, so these sends never wait.
			todo <- b
			inOrder <- b
			if b.err != nil {
				return
			}
		}
	}()
	defer close(stop)
	for range workers {
		go func() {
			for b := range todo {
				b.check(order, delim, least)
				b.done <- struct{}{}
			}
		}()
	}
	return s.judge(ctx, order, f, inOrder, free, least)
}

// judge returns the exit code: 1 if a line of f is out of order, else 0. With -c it also reports that
// line. It takes the blocks in the order of the file, waits until each is checked, and returns it to
// free.
func (s *sorter) judge(ctx context.Context, order *sort.Order, f *lineSource, blocks <-chan *checkedBlock, free chan<- *checkedBlock, least int) (int, error) {
	var before sort.Line // the last line of the block before; a copy, because that block is reused
	var text, key []byte // the memory of before
	number := int64(0)   // lines in the blocks before
	used := int64(0)     // bytes of these blocks
	for {
		var b *checkedBlock
		select {
		case b = <-blocks:
			<-b.done
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
		out := b.out
		// The first line of a block is compared with the last one of the block before.
		if number > 0 && b.lines > 0 && order.Compare(&b.first, &before) < least {
			out = 0
		}
		switch {
		case out >= 0:
			f.leave(used + int64(b.end(out, s.delimiter())))
			if s.Line.Has("check") {
				s.complain(fmt.Errorf("%s:%d: disorder: %s", f.name, number+int64(out)+1, b.data[b.end(out-1, s.delimiter()):b.end(out, s.delimiter())-1]))
			}
			return 1, nil
		case b.refused != nil:
			return 0, errs.Inputf(argv.Quote(f.name), "line %d: %w", number+int64(b.lines)+1, b.refused)
		}
		number, used = number+int64(b.lines), used+int64(len(b.data))
		switch b.err {
		case nil:
		case io.EOF:
			f.leave(-1)
			return 0, nil
		default:
			return 0, b.err
		}
		if b.lines > 0 {
			text, key = append(text[:0], b.last.Text...), append(key[:0], b.last.Key...)
			before = sort.Line{Text: text, Key: key}
		}
		free <- b
	}
}

// checkedBlock is a block of lines with the result of its check.
type checkedBlock struct {
	data []byte        // whole lines, each with its delimiter
	err  error         // of the read after the block; io.EOF: the block is the last one
	done chan struct{} // room for one value, which says that the block is checked

	first, last sort.Line // of the block; they point into data and keys
	keys        [3][]byte // the memory of the keys of the first line and of the last two
	lines       int       // the number of checked lines
	out         int       // the first line that is out of order within the block, from 0; -1: none
	refused     error     // why the order refuses the line after the checked ones; nil: it refuses none
}

// check goes through the lines of the block until one is out of order or refused. least is as in
// sorter.check.
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
		// The key of the first line is kept for judge. The other lines use the other two in turn.
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
	r     io.Reader
	delim byte
	size  int    // of a block, in bytes; a block with a longer line is longer
	rest  []byte // the part of a line that was read with the block before
}

// next returns the next block, in the memory of buf if it is large enough. With the last block it
// also returns an error: io.EOF at the end of the text. It adds the delimiter to a last line that has
// none. If reading fails within a line, the block ends before that line.
func (c *lineCutter) next(buf []byte) ([]byte, error) {
	buf = append(slices.Grow(buf[:0], c.size), c.rest...)
	for {
		// No line has ended in the whole block, so the block grows to twice its size.
		if len(buf) == cap(buf) {
			buf = slices.Grow(buf, cap(buf))
		}
		// io.ReadFull would turn io.EOF and a decoder's io.ErrUnexpectedEOF into the same error. The
		// first is the end, the second is a file that was cut short.
		var err error
		for err == nil && len(buf) < cap(buf) {
			var n int
			n, err = c.r.Read(buf[len(buf):cap(buf)])
			buf = buf[:len(buf)+n]
		}
		if err == io.EOF {
			if len(buf) > 0 && buf[len(buf)-1] != c.delim {
				buf = append(buf, c.delim)
			}
			return buf, io.EOF
		}
		whole := bytes.LastIndexByte(buf, c.delim) + 1
		if err != nil {
			return buf[:whole], err
		}
		if whole > 0 {
			c.rest = append(c.rest[:0], buf[whole:]...)
			return buf[:whole], nil
		}
	}
}
