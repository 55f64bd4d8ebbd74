package sim

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestAgendaIsOrderedByTimeThenSequence against a sorted slice, with pushes and
// pops mixed.
func TestAgendaIsOrderedByTimeThenSequence(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var a agenda
		var want []happening
		for range rapid.IntRange(1, 200).Draw(rt, "steps") {
			if len(want) > 0 && rapid.IntRange(0, 2).Draw(rt, "pop") == 0 {
				slices.SortStableFunc(want, func(x, y happening) int { return int(x.at - y.at) })
				if got := a.pop(); got.at != want[0].at || got.id != want[0].id || got.what() != endAttempt || got.gen != want[0].gen {
					rt.Fatalf("got %+v, want %+v", got, want[0])
				}
				want = want[1:]
				continue
			}
			h := happening{at: time.Duration(rapid.IntRange(0, 9).Draw(rt, "at")), id: int32(a.seq), gen: uint32(a.seq) + 7}
			a.push(h.at, endAttempt, h.id, h.gen)
			want = append(want, h)
		}
	})
}

func BenchmarkAgenda(b *testing.B) {
	var a agenda
	for i := range int32(10_000) {
		a.push(time.Duration(i*7919%10_007), endAttempt, i, 0)
	}
	b.ReportAllocs()
	for b.Loop() {
		h := a.pop()
		a.push(h.at+time.Duration(h.id%97), endAttempt, h.id, 0)
	}
}

func TestTheAgendaAllocatesNothing(t *testing.T) {
	var a agenda
	for i := range int32(1000) {
		a.push(time.Duration(i%13), endAttempt, i, 0)
	}
	if n := testing.AllocsPerRun(1000, func() {
		h := a.pop()
		a.push(h.at+5, endAttempt, h.id, 0)
	}); n > 0 {
		t.Errorf("%v allocations a step", n)
	}
}
