package tools

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"slices"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/errs"
	"mrlocal/jobs/sort"
)

const (
	// Of all blocks of a merge, in bytes. Keys and places of lines come on top.
	mergeBytes      = 16 << 20
	leastMergeBlock = 4 << 10

	// Each read of a file keeps a thread while it lasts, so not all files are read at once.
	mergeReads = 8
)

// merge does -m: it reads all files at once. Lines that compare equal come in the order of the
// files. Each file has a goroutine that reads ahead, finds the lines and makes their keys.
// All files are open at once; --batch-size does not apply here.
func (s *sorter) merge(ctx context.Context, order *sort.Order) error {
	stop := make(chan struct{})
	defer close(stop)
	reads := make(chan struct{}, mergeReads)
	size := min(max(mergeBytes/(2*len(s.files)), leastMergeBlock), lineBuffer)
	var heap []*mergeSource
	for i, name := range s.files {
		// Standard input is read once, as cat reads it.
		if name == "-" && slices.Contains(s.files[:i], name) {
			continue
		}
		m := &mergeSource{lineSource: lineSource{name: name}, order: order, unique: s.order.Unique, place: i, ctx: ctx, free: make(chan *mergeBlock, 2), read: make(chan *mergeBlock, 2)}
		if err := m.open(s.Call); err != nil {
			return err
		}
		m.free <- &mergeBlock{}
		m.free <- &mergeBlock{}
		go m.readAhead(lineCutter{r: m, delim: s.delimiter(), size: size}, reads, stop)
		more, err := m.next()
		switch {
		case err != nil:
			return err
		case more:
			heap = append(heap, m)
		}
	}
	// The output is opened after all inputs. It may be one of them, and is replaced only at the
	// end.
	result, err := s.openResult()
	if err != nil {
		return err
	}
	w := newWriteBehind(result)
	err = mergeInto(ctx, heap, w, s.order.Unique)
	return result.end(cmp.Or(err, w.close()))
}

// mergeSource is a file in the heap; its place orders equal lines.
type mergeSource struct {
	lineSource
	order  *sort.Order
	unique bool // of equal lines that follow one another the first is enough
	place  int
	ctx    context.Context // ends a wait for a block

	// Blocks go around: the goroutine of readAhead fills those that the merge has done with.
	free, read chan *mergeBlock

	sort.Line // the first one that was not written; valid until the next call of next
	block     *mergeBlock
	at        int // of Line in the block
}

// mergeBlock is a block of a file.
type mergeBlock struct {
	data  []byte // whole lines, each with its delimiter
	keys  []byte
	lines []sort.Line // point into data and keys
	err   error       // of what follows the lines; io.EOF: nothing does
	read  int         // lines in data
}

// readAhead fills blocks until the file ends or stop is closed. It owns the file.
func (m *mergeSource) readAhead(cut lineCutter, reads chan struct{}, stop <-chan struct{}) {
	defer m.close()
	number := int64(0) // of the blocks before
	regular := false
	if m.file != nil {
		info, err := m.file.Stat()
		regular = err == nil && info.Mode().IsRegular()
	}
	for {
		var b *mergeBlock
		select {
		case b = <-m.free:
		case <-stop:
			return
		}
		// A pipe may wait for what another one brings, so pipes do not wait for one another.
		if regular {
			reads <- struct{}{}
		}
		b.data, b.err = cut.next(b.data)
		if regular {
			<-reads
		}
		if err := b.index(m.order, cut.delim, m.unique); err != nil {
			b.err = errs.Inputf(argv.Quote(m.name), "line %d: %w", number+int64(b.read)+1, err)
		}
		number += int64(b.read)
		last := b.err != nil
		m.read <- b
		if last {
			return
		}
	}
}

// index finds the lines of a block and makes their keys. If the order refuses a line, that is an
// error, and the block ends before it. With unique, a line that equals the one before is left out.
func (b *mergeBlock) index(order *sort.Order, delim byte, unique bool) error {
	b.lines, b.keys, b.read = b.lines[:0], b.keys[:0], 0
	for at := 0; at < len(b.data); b.read++ {
		end := at + bytes.IndexByte(b.data[at:], delim)
		line := b.data[at:end]
		at = end + 1
		if err := order.Check(line); err != nil {
			return err
		}
		// Keys that were made before stay where they are if keys moves.
		b.lines = append(b.lines, sort.Line{Text: line, Key: order.Key(&b.keys, line)})
		if n := len(b.lines); unique && n > 1 && order.Compare(&b.lines[n-2], &b.lines[n-1]) == 0 {
			b.lines = b.lines[:n-1]
		}
	}
	return nil
}

// next goes to the next line. It returns false at the end.
func (m *mergeSource) next() (bool, error) {
	m.at++
	for m.block == nil || m.at == len(m.block.lines) {
		if m.block != nil {
			switch m.block.err {
			case nil:
			case io.EOF:
				return false, nil
			default:
				return false, m.block.err
			}
			m.free <- m.block
		}
		select {
		case m.block = <-m.read:
		case <-m.ctx.Done():
			return false, context.Cause(m.ctx)
		}
		m.at = 0
	}
	m.Line = m.block.lines[m.at]
	return true, nil
}

func (m *mergeSource) less(o *mergeSource) bool {
	// The place makes the merge stable, as GNU sort -m is.
	c := m.order.Compare(&m.Line, &o.Line)
	return c < 0 || c == 0 && m.place < o.place
}

// mergeInto writes the lines of all sources in order. With unique, only the first of equal lines
// is written.
func mergeInto(ctx context.Context, heap []*mergeSource, w *writeBehind, unique bool) error {
	for i := len(heap)/2 - 1; i >= 0; i-- {
		siftDown(heap, i)
	}
	// last is the last line that was written. Only -u needs it.
	var last sort.Line
	// second is the source below the root that comes first; 0: not known. It stays so while the
	// root does, and then a line costs one comparison.
	second := 0
	// n counts the lines that were read from the heap, not those that were written.
	for n := 0; len(heap) > 0; n++ {
		top := heap[0]
		if !unique || n == 0 || top.order.Compare(&top.Line, &last) != 0 {
			// The delimiter follows the line in its block.
			if err := w.write(top.Text[:len(top.Text)+1]); err != nil {
				return err
			}
			if unique {
				last.Text, last.Key = append(last.Text[:0], top.Text...), append(last.Key[:0], top.Key...)
			}
		}
		more, err := top.next()
		if err != nil {
			return err
		}
		// The last source takes the place of the one that has ended. Its line may be too large
		// for the root, so it sinks.
		if !more {
			heap[0] = heap[len(heap)-1]
			heap = heap[:len(heap)-1]
			second = 0
		}
		if second == 0 && len(heap) > 1 {
			second = 1
			if len(heap) > 2 && heap[2].less(heap[1]) {
				second = 2
			}
		}
		if len(heap) > 1 && heap[second].less(heap[0]) {
			heap[0], heap[second] = heap[second], heap[0]
			siftDown(heap, second)
			second = 0
		}
		if n%linesPerLookup == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// siftDown restores the order of the heap below i.
func siftDown(heap []*mergeSource, i int) {
	for {
		// The sources below i are at 2i+1 and 2i+2; each is not less than the one at i.
		least := 2*i + 1
		if least >= len(heap) {
			return
		}
		if least+1 < len(heap) && heap[least+1].less(heap[least]) {
			least++
		}
		if !heap[least].less(heap[i]) {
			return
		}
		heap[i], heap[least] = heap[least], heap[i]
		i = least
	}
}

// writeBehind writes to w on a goroutine of its own, a buffer at a time.
type writeBehind struct {
	buf        []byte
	full, free chan []byte
	failed     chan error // room for one: the first error of w; closed when all is written
}

func newWriteBehind(w io.Writer) *writeBehind {
	b := &writeBehind{buf: make([]byte, 0, resultBuffer), full: make(chan []byte, 1), free: make(chan []byte, 2), failed: make(chan error, 1)}
	b.free <- make([]byte, 0, resultBuffer)
	go func() {
		defer close(b.failed)
		for p := range b.full {
			if _, err := w.Write(p); err != nil {
				b.failed <- err
				return
			}
			b.free <- p[:0]
		}
	}()
	return b
}

// write adds a line. It returns an error of a write before.
func (b *writeBehind) write(line []byte) error {
	if len(b.buf)+len(line) > cap(b.buf) && len(b.buf) > 0 {
		if err := b.flush(); err != nil {
			return err
		}
	}
	b.buf = append(b.buf, line...)
	return nil
}

// flush hands the buffer over and takes another one.
func (b *writeBehind) flush() error {
	select {
	case b.full <- b.buf:
	case err := <-b.failed:
		return err
	}
	select {
	case b.buf = <-b.free:
		return nil
	case err := <-b.failed:
		return err
	}
}

// close writes what is left and waits for it.
func (b *writeBehind) close() error {
	err := b.flush()
	close(b.full)
	return cmp.Or(err, <-b.failed)
}
