package inorder_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"mrlocal/internal/inorder"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Pieces that take less and less time still come in order, with the bounds of Each.
func TestEachTakesInOrder(t *testing.T) {
	const pieces = 100
	for _, bounds := range [][2]int{{1, 1}, {1, 5}, {3, 3}, {4, 16}} {
		synctest.Test(t, func(t *testing.T) {
			workers, ahead := bounds[0], bounds[1]
			var working, begun atomic.Int64
			taken := 0
			numbers := func(yield func(int) bool) {
				for i := range pieces {
					if !yield(i) {
						return
					}
				}
			}
			err := inorder.Each(t.Context(), workers, ahead, numbers, func(_ context.Context, i int) {
				if n := working.Add(1); int(n) > workers {
					t.Errorf("%d pieces in work, want at most %d", n, workers)
				}
				begun.Add(1)
				time.Sleep(time.Duration(pieces-i) * time.Second)
				working.Add(-1)
			}, func(i int) error {
				if i != taken {
					t.Errorf("took %d, want %d", i, taken)
				}
				if n := int(begun.Load()) - taken; n > ahead {
					t.Errorf("%d pieces begun and not taken, want at most %d", n, ahead)
				}
				taken++
				return nil
			})
			if err != nil || taken != pieces {
				t.Errorf("%d pieces taken with error %v", taken, err)
			}
		})
	}
}

// After an error of take, or the end of the context, the work in progress ends and no further piece begins.
// Pieces that hang do not hold Each up.
func TestEachEnds(t *testing.T) {
	failed := errors.New("failed")
	hang := make(chan struct{})
	defer close(hang)
	for _, cancelled := range []bool{false, true} {
		ctx, cancel := context.WithCancelCause(t.Context())
		pieces := func(yield func(int) bool) {
			if yield(0) && yield(1) {
				<-hang
			}
		}
		begun, ended := false, false
		err := inorder.Each(ctx, 2, 4, pieces, func(ctx context.Context, i int) {
			if i == 1 {
				begun = true
				<-ctx.Done()
				ended = true
			}
		}, func(int) error {
			if cancelled {
				cancel(failed)
				return nil
			}
			return failed
		})
		cancel(nil)
		if err != failed {
			t.Errorf("cancelled %v: error %v, want %v", cancelled, err, failed)
		}
		if begun != ended {
			t.Errorf("cancelled %v: Each has not waited for a piece in work", cancelled)
		}
	}
}

func TestQueue(t *testing.T) {
	var q inorder.Queue[*int]
	if q.Done() != nil {
		t.Error("an empty queue has an oldest piece")
	}
	release := make(chan struct{})
	for i := range 3 {
		q.Go(new(int), func(p *int) {
			if i == 0 {
				<-release
			}
			*p = i
		})
	}
	select {
	case <-q.Done():
		t.Error("the oldest piece is done too early")
	default:
	}
	first := q.First()
	close(release)
	var got []int
	for q.Len() > 0 {
		p := q.Take()
		if got = append(got, *p); *p == 0 && p != first {
			t.Error("First is not the piece of Take")
		}
	}
	q.Wait()
	if !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("took %v", got)
	}
}
