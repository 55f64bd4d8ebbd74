// Package inorder has goroutines work on pieces, and hands the pieces back in the order in which they
// were begun.
//
//	Go ──► | piece | piece | piece | ──► Take
//	          │       │       └ in work
//	          │       └ done
//	          └ the oldest: Take waits for it
//
// Queue is for an owner that begins and takes pieces by turns. Each is for a sequence of pieces.
package inorder

import (
	"context"
	"iter"

	"golang.org/x/sync/errgroup"
)

// Queue is a queue of pieces of work. The zero value is empty and can be used. Only one goroutine at a
// time may use it; Wait may be called by any.
type Queue[T any] struct {
	group  errgroup.Group
	pieces []piece[T]
}

// piece is a piece of work. The worker owns value until it closes done.
type piece[T any] struct {
	value T
	done  chan struct{}
}

// Go adds a piece and calls work with it on a goroutine of its own.
func (q *Queue[T]) Go(value T, work func(T)) {
	done := make(chan struct{})
	q.pieces = append(q.pieces, piece[T]{value, done})
	q.group.Go(func() error {
		defer close(done)
		work(value)
		return nil
	})
}

// Len returns the number of pieces that were begun and not taken.
func (q *Queue[T]) Len() int { return len(q.pieces) }

// First returns the oldest piece, which may still be in work. The queue must not be empty.
func (q *Queue[T]) First() T { return q.pieces[0].value }

// Done returns a channel that is closed when the oldest piece is done; nil: the queue is empty.
func (q *Queue[T]) Done() <-chan struct{} {
	if len(q.pieces) == 0 {
		return nil
	}
	return q.pieces[0].done
}

// Take waits until the oldest piece is done, and removes it. The queue must not be empty.
func (q *Queue[T]) Take() T {
	p := q.pieces[0]
	q.pieces = q.pieces[1:]
	<-p.done
	return p.value
}

// All returns the pieces that were begun and not taken, the oldest first. They may still be in work.
func (q *Queue[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, p := range q.pieces {
			if !yield(p.value) {
				return
			}
		}
	}
}

// Wait waits for the goroutines of all pieces. It must not be called at the same time as Go.
func (q *Queue[T]) Wait() { _ = q.group.Wait() }

// Each calls work for each of pieces, on the given number of goroutines, and then take, in the order of pieces and
// on the goroutine of the caller. At most ahead pieces are begun and not taken. Each returns the first
// error of take, or the cause of ctx. Then no further piece begins, and the context of work ends.
//
// Each returns when no goroutine works any more. It does not wait for pieces, which runs on a goroutine
// of its own and may hang in a read. That goroutine ends before the next piece.
func Each[T any](ctx context.Context, workers, ahead int, pieces iter.Seq[T], work func(context.Context, T), take func(T) error) error {
	var q Queue[T]
	q.group.SetLimit(workers)
	defer q.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	found := make(chan T)
	go func() {
		defer close(found)
		for p := range pieces {
			select {
			case found <- p:
			case <-ctx.Done():
				return
			}
		}
	}()
	for next := found; next != nil || q.Len() > 0; {
		more := next
		if q.Len() == ahead {
			more = nil
		}
		select {
		case p, ok := <-more:
			if !ok {
				next = nil
				continue
			}
			q.Go(p, func(p T) { work(ctx, p) })
		case <-q.Done():
			if err := take(q.Take()); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return context.Cause(ctx)
}
