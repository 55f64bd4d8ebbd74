package events

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"mrlocal/internal/testkit"
)

// TestAQueueIsOrderedByTimeThenSequence against a sorted slice, with pushes and
// pops mixed.
func TestAQueueIsOrderedByTimeThenSequence(t *testing.T) {
	testkit.Check(t, func(rt *rapid.T) {
		var q Queue
		var want []Event
		for range rapid.IntRange(1, 200).Draw(rt, "steps") {
			if len(want) > 0 && rapid.IntRange(0, 2).Draw(rt, "pop") == 0 {
				slices.SortStableFunc(want, func(x, y Event) int { return int(x.At - y.At) })
				if got := q.Pop(); got.At != want[0].At || got.ID != want[0].ID || got.Kind() != EndAttempt || got.Gen != want[0].Gen {
					rt.Fatalf("got %+v, want %+v", got, want[0])
				}
				want = want[1:]
				continue
			}
			e := Event{At: time.Duration(rapid.IntRange(0, 9).Draw(rt, "at")), ID: int32(q.seq), Gen: uint32(q.seq) + 7}
			q.Push(e.At, EndAttempt, e.ID, e.Gen)
			want = append(want, e)
		}
	})
}

func BenchmarkQueue(b *testing.B) {
	var q Queue
	for i := range int32(10_000) {
		q.Push(time.Duration(i*7919%10_007), EndAttempt, i, 0)
	}
	b.ReportAllocs()
	for b.Loop() {
		e := q.Pop()
		q.Push(e.At+time.Duration(e.ID%97), EndAttempt, e.ID, 0)
	}
}

func TestAQueueAllocatesNothing(t *testing.T) {
	var q Queue
	for i := range int32(1000) {
		q.Push(time.Duration(i%13), EndAttempt, i, 0)
	}
	if n := testing.AllocsPerRun(1000, func() {
		e := q.Pop()
		q.Push(e.At+5, EndAttempt, e.ID, 0)
	}); n > 0 {
		t.Errorf("%v allocations per step", n)
	}
}
