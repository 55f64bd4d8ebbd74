package sort

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync"

	"mrlocal/internal/inorder"
)

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
func (o *Order) FirstDisorder(ctx context.Context, s *Source, delim byte, unique bool) (*Disorder, error) {
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
	var found *Disorder
	var before Line // the last line of the block before; a copy, because that block is reused
	lines, end := int64(0), int64(0)
	workers := runtime.GOMAXPROCS(0)
	check := func(_ context.Context, b *block) { b.check(o, delim, least) }
	err := inorder.Each(ctx, workers, 2*workers, blocks, check, func(b *block) error {
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
