package tools

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"slices"

	"golang.org/x/sync/errgroup"

	"mrlocal/internal/errs"
	"mrlocal/jobs/sort"
)

const (
	// mergeBytes is the size of the text in all blocks of a merge together. The keys and the places of
	// lines need memory beyond it.
	mergeBytes = 16 << 20
	// leastMergeBlock is the least size of a block, in bytes. With very many files it wins over
	// mergeBytes.
	leastMergeBlock = 4 << 10

	// mergeReads is the number of regular files that are read at the same moment. The runtime keeps a
	// thread for each such read.
	mergeReads = 8
)

// merge does the work of -m: it merges the files, which must be sorted, into the result. Equal lines
// come in the order of the files. Each file has a goroutine that reads ahead, finds the lines and
// makes their keys. All files are open at once, whatever --batch-size says.
func (s *sorter) merge(ctx context.Context, order *sort.Order) error {
	stop := make(chan struct{})
	defer close(stop)
	reads := make(chan struct{}, mergeReads)
	// Each file has two blocks, one for readAhead and one for the merge.
	size := min(max(mergeBytes/(2*len(s.files)), leastMergeBlock), lineBuffer)
	var heap []*mergeSource
	for i, name := range s.files {
		// Standard input can be read only once. The second time it would be empty.
		if name == "-" && slices.Contains(s.files[:i], name) {
			continue
		}
		m := &mergeSource{lineSource: lineSource{name: name}, order: order, unique: s.order.Unique, place: i, ctx: ctx, free: make(chan *mergeBlock, 2), read: make(chan *mergeBlock, 2)}
		if err := m.open(s.Call); err != nil {
			return err
		}
		defer m.leave(-1)
		m.free <- &mergeBlock{}
		m.free <- &mergeBlock{}
		go m.readAhead(cutLines(m, s.delimiter(), size), reads, stop)
		more, err := m.next()
		switch {
		case err != nil:
			return err
		case more:
			heap = append(heap, m)
		}
	}
	// The output may be one of the inputs. result.end replaces it after all inputs are read. Opening it
	// last means that a missing input leaves no temporary file.
	result, err := s.openResult()
	if err != nil {
		return err
	}
	w := newWriteBehind(result)
	err = mergeInto(ctx, heap, w, s.order.Unique)
	return result.end(cmp.Or(err, w.close()))
}

// mergeSource is a file of a merge. The heap orders the sources by their current lines, and sources
// with equal lines by place. The goroutine of readAhead reads the file, and that of merge calls next.
type mergeSource struct {
	lineSource
	order  *sort.Order
	unique bool            // readAhead drops a line that equals the line before it
	place  int             // of the file in the command line, from 0
	ctx    context.Context // ends a wait for a block

	// The blocks circulate. readAhead takes one from free, fills it and sends it to read. next returns
	// it to free after its last line.
	free, read chan *mergeBlock

	sort.Line // the current line, which is not written yet; valid until the next call of next
	block     *mergeBlock
	at        int // index of the current line in block.lines
}

// mergeBlock is a block of lines of a file, with their keys.
type mergeBlock struct {
	data  []byte      // whole lines, each with its delimiter
	keys  []byte      // the memory of the keys
	lines []sort.Line // point into data and keys
	err   error       // why no block follows; io.EOF: the file has ended; nil: one follows
	read  int         // the number of lines in data, which is more than len(lines) if some were dropped
}

// readAhead fills blocks until the file ends, a line is refused, or stop is closed. It owns the file
// and closes it. A send to reads waits until fewer than mergeReads regular files are being read.
func (m *mergeSource) readAhead(cut *lineCutter, reads chan struct{}, stop <-chan struct{}) {
	defer m.close()
	number := int64(0) // lines in the blocks before
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
		// Only regular files take a place in reads. A read of a pipe may never end before another pipe
		// has been read, and waiting for a place could then last for ever.
		if regular {
			reads <- struct{}{}
		}
		b.data, b.err = cut.next(b.data)
		if regular {
			<-reads
		}
		if err := b.index(m.order, cut.delim, m.unique); err != nil {
			b.err = errs.Inputf(errs.Quote(m.name), "line %d: %w", number+int64(b.read)+1, err)
		}
		number += int64(b.read)
		last := b.err != nil
		m.read <- b
		if last {
			return
		}
	}
}

// index finds the lines of the block and makes their keys. With unique, it drops a line that equals
// the line before it. If the order refuses a line, index returns the reason, and the block ends before
// this line.
func (b *mergeBlock) index(order *sort.Order, delim byte, unique bool) error {
	b.lines = b.lines[:0]
	b.keys = b.keys[:0]
	b.read = 0
	for at := 0; at < len(b.data); b.read++ {
		end := at + bytes.IndexByte(b.data[at:], delim)
		line := b.data[at:end]
		at = end + 1
		if err := order.Check(line); err != nil {
			return err
		}
		// If order.Key has to move b.keys to more memory, earlier keys still point to the old memory,
		// which stays valid.
		b.lines = append(b.lines, sort.Line{Text: line, Key: order.Key(&b.keys, line)})
		if n := len(b.lines); unique && n > 1 && order.Compare(&b.lines[n-2], &b.lines[n-1]) == 0 {
			b.lines = b.lines[:n-1]
		}
	}
	return nil
}

// next goes to the next line of the source, and waits for a block if needed. It returns false at the
// end of the file.
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

// less reports whether the current line of m comes before that of o. If lines are equal, the
// line of the earlier file comes first, as in GNU sort -m.
func (m *mergeSource) less(o *mergeSource) bool {
	c := m.order.Compare(&m.Line, &o.Line)
	return c < 0 || c == 0 && m.place < o.place
}

// mergeInto writes the lines of all sources to w in order. With unique, it writes only the first of
// equal lines. Each source of heap has a current line. The slice is used up.
func mergeInto(ctx context.Context, heap []*mergeSource, w *writeBehind, unique bool) error {
	for i := len(heap)/2 - 1; i >= 0; i-- {
		siftDown(heap, i)
	}
	// last is a copy of the last line that was written. Only -u needs it.
	var last sort.Line
	// second is the index of the child of the root that comes first, 1 or 2; 0: it must be found.
	// While the root keeps its place, second stays valid, and a line takes one comparison instead
	// of two.
	second := 0
	// n counts the lines that were taken from the heap, written or not.
	for n := 0; len(heap) > 0; n++ {
		top := heap[0]
		if !unique || n == 0 || top.order.Compare(&top.Line, &last) != 0 {
			// In the block, the delimiter follows the line, so the slice can take it too.
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
		// If the source at the root has ended, the last source of the heap takes its place. It sinks
		// below if its line is not the least.
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

// siftDown moves the source at i down until neither child is less than it. The children of i, at 2i+1
// and 2i+2, must be roots of correct heaps.
func siftDown(heap []*mergeSource, i int) {
	for {
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

// writeBehind passes lines to a writer on a goroutine of its own, a buffer at a time. So the merge goes
// on during a write. It has two buffers: one is filled while the other is written.
type writeBehind struct {
	w       io.Writer
	buf     []byte // the buffer that is being filled
	other   []byte // the one that is being written, or is free
	writing errgroup.Group
}

// newWriteBehind returns a writeBehind to w. The caller must call close.
func newWriteBehind(w io.Writer) *writeBehind {
	return &writeBehind{w: w, buf: make([]byte, 0, resultBuffer), other: make([]byte, 0, resultBuffer)}
}

// write copies line into the buffer. It returns the error of an earlier write. A line that is longer
// than the buffer makes the buffer grow.
func (b *writeBehind) write(line []byte) error {
	if len(b.buf)+len(line) > cap(b.buf) && len(b.buf) > 0 {
		if err := b.flush(); err != nil {
			return err
		}
	}
	b.buf = append(b.buf, line...)
	return nil
}

// flush waits for the write of the other buffer, and begins to write this one. It returns the error of
// an earlier write.
func (b *writeBehind) flush() error {
	if err := b.writing.Wait(); err != nil {
		return err
	}
	full := b.buf
	b.buf, b.other = b.other[:0], full
	b.writing.Go(func() error {
		_, err := b.w.Write(full)
		return err
	})
	return nil
}

// close writes the rest of the lines, waits until they are written, and returns the first error.
func (b *writeBehind) close() error {
	return cmp.Or(b.flush(), b.writing.Wait())
}
