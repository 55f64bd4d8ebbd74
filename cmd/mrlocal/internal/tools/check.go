package tools

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/errs"
	"mrlocal/jobs/sort"
)

// checkedBytes is how much of a file one worker checks at a time. A longer line makes its block
// longer.
const checkedBytes = 256 << 10

// check does -c and -C: it reads one file and reports the first line that is out of order.
// One goroutine cuts the file into blocks of whole lines, and as many as there are cores check
// them. Blocks are judged in the order of the file, so the answer is that of one reader.
// Memory: two blocks for each core.
func (s *sorter) check(ctx context.Context, order *sort.Order) (int, error) {
	delim := s.delimiter()
	f := &lineSource{name: s.files[0]}
	if err := f.open(s.Call); err != nil {
		return 0, err
	}
	workers := runtime.GOMAXPROCS(0)
	// With -u, equal lines are out of order as well: the key must grow from line to line.
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
		// The reader owns the file: a read may go on after the answer is known.
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
			// Both channels have room for all blocks.
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

// judge goes through the blocks of a file in its order and returns the exit code.
func (s *sorter) judge(ctx context.Context, order *sort.Order, f *lineSource, blocks <-chan *checkedBlock, free chan<- *checkedBlock, least int) (int, error) {
	var before sort.Line // the last one of the blocks before
	var text, key []byte // memory of before
	number := int64(0)
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
			if s.Line.Has("check") {
				s.complain(fmt.Errorf("%s:%d: disorder: %s", f.name, number+int64(out)+1, b.line(out, s.delimiter())))
			}
			return 1, nil
		case b.refused != nil:
			return 0, errs.Inputf(argv.Quote(f.name), "line %d: %w", number+int64(b.lines)+1, b.refused)
		}
		number += int64(b.lines)
		switch b.err {
		case nil:
		case io.EOF:
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

// checkedBlock is a block of lines, and what a worker found in it.
type checkedBlock struct {
	data []byte        // whole lines, each with its delimiter
	err  error         // of reading what follows the block; io.EOF: nothing does
	done chan struct{} // room for one: the block is checked

	first, last sort.Line // point into data or keys
	keys        [3][]byte
	lines       int   // that were checked
	out         int   // the first line that is out of order within the block, from 0; -1: none
	refused     error // what the order has against line number lines, from 0
}

// check goes through the lines of the block until one is out of order or refused.
func (b *checkedBlock) check(order *sort.Order, delim byte, least int) {
	b.lines, b.out, b.refused = 0, -1, nil
	for at := 0; at < len(b.data); b.lines++ {
		end := at + bytes.IndexByte(b.data[at:], delim)
		line := b.data[at:end]
		at = end + 1
		// Some orders refuse a line, such as the order by JSON keys a line that is no JSON.
		if b.refused = order.Check(line); b.refused != nil {
			return
		}
		// The first key is kept, and the other two take turns.
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

// line returns line number n of the block, from 0.
func (b *checkedBlock) line(n int, delim byte) []byte {
	rest := b.data
	for ; n > 0; n-- {
		rest = rest[bytes.IndexByte(rest, delim)+1:]
	}
	return rest[:bytes.IndexByte(rest, delim)]
}

// lineCutter cuts what a reader gives into blocks of whole lines.
type lineCutter struct {
	r     io.Reader
	delim byte
	size  int    // of a block, in bytes, unless a line is longer
	rest  []byte // the beginning of a line whose end was not read yet
}

// next returns the next block, in the memory of buf if it is large enough. It returns an error
// with the last block: io.EOF at the end. A last line without a delimiter gets one. Of a line in
// which reading fails nothing is returned.
func (c *lineCutter) next(buf []byte) ([]byte, error) {
	buf = append(slices.Grow(buf[:0], c.size), c.rest...)
	for {
		// A line that is longer than the block doubles it.
		if len(buf) == cap(buf) {
			buf = slices.Grow(buf, cap(buf))
		}
		// Not io.ReadFull: of a file cut short it says what it says of one that ends.
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
