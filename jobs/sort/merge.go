package sort

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync"

	"mrlocal/internal/inorder"
)

const (
	mergeBytes      = 16 << 20  // of the text in all blocks of a merge together; keys and the places of lines need memory beyond it
	mostMergeBlock  = 64 << 10  // bytes
	leastMergeBlock = 4 << 10   // bytes; with very many files it wins over mergeBytes
	writeBytes      = 256 << 10 // of a write of the result
	linesPerLookup  = 4096      // a merge looks at its context once in this number of lines
	mergeReads      = 8         // the number of sources with Few that are read at the same moment
)

// MergeBlockBytes returns the size of the blocks that Source.Next should return in a merge of this number
// of files.
func MergeBlockBytes(files int) int {
	return min(max(mergeBytes/(2*files), leastMergeBlock), mostMergeBlock) // each file has two blocks
}

// Merger merges sorted sources.
type Merger struct {
	order  *Order
	delim  byte
	unique bool // of equal lines, only the first one is written

	all, heap []*merged
	reads     chan struct{} // a source with Few sends to it before each read
}

// NewMerger returns a Merger of sorted sources, and reads their first blocks. delim ends lines. The caller
// must call Close.
func (o *Order) NewMerger(ctx context.Context, sources []*Source, delim byte, unique bool) (*Merger, error) {
	m := &Merger{order: o, delim: delim, unique: unique, reads: make(chan struct{}, mergeReads)}
	for i, s := range sources {
		f := &merged{merger: m, source: s, place: i}
		f.begin(new(block))
		m.all = append(m.all, f)
	}
	for _, f := range m.all {
		more, err := f.next(ctx)
		switch {
		case err != nil:
			m.Close()
			return nil, err
		case more:
			m.heap = append(m.heap, f)
		}
	}
	return m, nil
}

// Merge writes the lines of all sources to w, in order. Equal lines come in the order of the sources. It
// may be called once.
func (m *Merger) Merge(ctx context.Context, w io.Writer) error {
	b := &writeBehind{w: w, buf: make([]byte, 0, writeBytes)}
	defer b.writes.Wait()
	if err := mergeInto(ctx, m.heap, b, m.unique); err != nil {
		return err
	}
	return b.close()
}

// Close closes the sources that are not read to their end. It leaves those whose read goes on.
func (m *Merger) Close() {
	for _, f := range m.all {
		select {
		case <-f.blocks.Done():
			if f.blocks.Take().err == nil {
				f.source.Close()
			}
		default:
		}
	}
}

// merged is a source of a merge. The heap orders the sources by their current lines, and sources with equal
// lines by place. One block is read ahead.
type merged struct {
	merger *Merger
	source *Source
	place  int   // of the source, from 0
	count  int64 // lines in the blocks that were read
	blocks inorder.Queue[*block]

	Line  // the current line, which is not written yet; valid until the next call of next
	block *block
	at    int // index of the current line in block.lines
}

// begin reads the next block into b, on a goroutine of its own.
func (f *merged) begin(b *block) {
	f.blocks.Go(b, func(b *block) {
		// A read of a pipe may never end before another pipe has been read, so pipes do not wait.
		if f.source.Few {
			f.merger.reads <- struct{}{}
		}
		b.fill(f.source, f.merger.delim)
		if f.source.Few {
			<-f.merger.reads
		}
		if b.index(f.merger.order, f.merger.delim, f.merger.unique); b.refused != nil {
			b.err = b.refusal(f.source, f.count)
		}
		f.count += int64(b.read)
		if b.err != nil {
			f.source.Close()
		}
	})
}

// next goes to the next line of the source, and waits for a block if needed. It returns false at the end.
func (f *merged) next(ctx context.Context) (bool, error) {
	f.at++
	for f.block == nil || f.at == len(f.block.lines) {
		spare := f.block
		switch {
		case spare == nil:
			spare = new(block)
		case spare.err == io.EOF:
			return false, nil
		case spare.err != nil:
			return false, spare.err
		}
		select {
		case <-f.blocks.Done():
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
		f.block, f.at = f.blocks.Take(), 0
		if f.block.err == nil {
			f.begin(spare)
		}
	}
	f.Line = f.block.lines[f.at]
	return true, nil
}

// less reports whether the current line of m comes before that of o. If lines are equal, the
// line of the earlier file comes first, as in GNU sort -m.
func (m *merged) less(o *merged) bool {
	c := m.merger.order.Compare(&m.Line, &o.Line)
	return c < 0 || c == 0 && m.place < o.place
}

// mergeInto writes the lines of all sources to w in order. With unique, it writes only the first of
// equal lines. Each source of heap has a current line. The slice is used up.
func mergeInto(ctx context.Context, heap []*merged, w *writeBehind, unique bool) error {
	for i := len(heap)/2 - 1; i >= 0; i-- {
		siftDown(heap, i)
	}
	// last is a copy of the last line that was written. Only -u needs it.
	var last Line
	// second is the index of the child of the root that comes first, 1 or 2; 0: it must be found.
	// While the root keeps its place, second stays valid, and a line takes one comparison instead
	// of two.
	second := 0
	// n counts the lines that were taken from the heap, written or not.
	for n := 0; len(heap) > 0; n++ {
		top := heap[0]
		if !unique || n == 0 || top.merger.order.Compare(&top.Line, &last) != 0 {
			// In the block, the delimiter follows the line, so the slice can take it too.
			if err := w.write(top.Text[:len(top.Text)+1]); err != nil {
				return err
			}
			if unique {
				last.set(&top.Line)
			}
		}
		more, err := top.next(ctx)
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
func siftDown(heap []*merged, i int) {
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

// writeBehind passes lines to a writer, a buffer at a time. The merge fills one buffer while a goroutine
// writes the other one.
type writeBehind struct {
	w      io.Writer
	buf    []byte // the buffer that is being filled
	writes inorder.Queue[*written]
}

// written is a buffer that is being written.
type written struct {
	data []byte
	err  error
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
	var other *written
	if b.writes.Len() == 0 { // the first time
		other = &written{data: make([]byte, 0, writeBytes)}
	} else if other = b.writes.Take(); other.err != nil {
		return other.err
	}
	b.buf, other.data = other.data[:0], b.buf
	b.writes.Go(other, func(full *written) { _, full.err = b.w.Write(full.data) })
	return nil
}

// close writes the rest of the lines, waits until they are written, and returns the first error.
func (b *writeBehind) close() error {
	if err := b.flush(); err != nil {
		return err
	}
	return b.writes.Take().err
}

// Disorder is the first line of a file that is out of order.
type Disorder struct {
	Number int64 // of the line, from 1
	Text   []byte
	End    int64 // the offset behind the line
}

// FirstDisorder returns the first line of s that is out of order; nil: there is none. delim ends lines.
// With unique, a line that equals the one before it is out of order too.
//
// One goroutine reads blocks, and one worker for each core checks blocks. Their answers are taken in the
// order of the file, so the result does not depend on the number of workers.
func (o *Order) FirstDisorder(ctx context.Context, s *Source, delim byte, unique bool) (found *Disorder, err error) {
	least := 0 // the smallest result of Compare(line, line before) that is in order
	if unique {
		least = 1
	}
	var free sync.Pool
	blocks := func(yield func(*block) bool) {
		// This goroutine closes s, because its last read may end after FirstDisorder has returned.
		defer s.Close()
		for more := true; more; {
			b, ok := free.Get().(*block)
			if !ok {
				b = new(block)
			}
			b.fill(s, delim)
			last := b.err != nil // b belongs to a worker after yield
			more = yield(b) && !last
		}
	}
	var before Line // the last line of the block before; a copy, because that block is reused
	lines, end := int64(0), int64(0)
	workers := runtime.GOMAXPROCS(0)
	check := func(_ context.Context, b *block) { b.check(o, delim, least) }
	err = inorder.Each(ctx, workers, 2*workers, blocks, check, func(b *block) error {
		if lines > 0 && len(b.lines) > 0 && o.Compare(&b.lines[0], &before) < least {
			b.out = 0
		}
		if b.out >= 0 {
			found = &Disorder{Number: lines + int64(b.out) + 1, Text: b.lines[b.out].Text, End: end}
			for _, l := range b.lines[:b.out+1] {
				found.End += int64(len(l.Text)) + 1
			}
			return errDisorder
		}
		if b.refused != nil {
			return b.refusal(s, lines)
		}
		lines, end = lines+int64(b.read), end+int64(len(b.data))
		if n := len(b.lines); n > 0 {
			before.set(&b.lines[n-1])
		}
		err := b.err
		free.Put(b)
		return err
	})
	if err == io.EOF || err == errDisorder {
		err = nil
	}
	return found, err
}

// errDisorder ends the search for the first disorder.
var errDisorder = errors.New("disorder")

// check finds the lines of the block, and the first one that is out of order. least is as in
// FirstDisorder.
func (b *block) check(order *Order, delim byte, least int) {
	b.index(order, delim, false)
	b.out = -1
	for i := 1; i < len(b.lines); i++ {
		if order.Compare(&b.lines[i], &b.lines[i-1]) < least {
			b.out = i
			return
		}
	}
}

// set makes l a copy of o, in the memory of l.
func (l *Line) set(o *Line) {
	l.Text, l.Key = append(l.Text[:0], o.Text...), append(l.Key[:0], o.Key...)
}
