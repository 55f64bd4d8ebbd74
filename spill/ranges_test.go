package spill

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"mrlocal/internal/testkit"
	"mrlocal/shuffle"
	"mrlocal/shuffle/record"
)

// idleCores runs the helpers of a merge, as idle cores do.
type idleCores struct {
	most            int32
	working, helped atomic.Int32
	busy            func() bool // reports that another task has taken the core; nil: never
	ended           sync.WaitGroup
}

func (c *idleCores) start(f func(idle func() bool)) bool {
	if c.working.Add(1) > c.most {
		c.working.Add(-1)
		return false
	}
	c.helped.Add(1)
	c.ended.Go(func() {
		defer c.working.Add(-1)
		f(func() bool { return c.busy == nil || !c.busy() })
	})
	return true
}

// Several goroutines sort a partition range by range. A merge reads it in the same order as if
// it was sorted at once. That holds with runs that were sorted at once or spilled, with too
// little memory for ranges, and after an eviction.
func TestRangesGiveTheStableSort(t *testing.T) {
	eachLateKind(t, testkit.Rounds(5), sortRanges)
}

func sortRanges(t *testing.T, r *rand.Rand, seed uint64, makeKey func(*rand.Rand) string) {
	k := newKit(t, 96<<20)
	var ranges record.Ranges
	var outs []*shuffle.MapOutput
	want := make([][]pair, 1)
	for m := range 1 + r.IntN(4) {
		o, done := k.options(20 << 20)
		o.SortLate, o.lateLeastBytes, o.Ranges = true, 1, &ranges
		switch r.IntN(10) {
		case 0:
			o.lateLeastBytes = 1 << 40 // sorted at once
		case 1:
			o.StartBytes = 2 << 20 // so that it spills after it has divided chunks of its index
		}
		if n := 20_000 + r.IntN(20_000); r.IntN(2) == 0 {
			outs = append(outs, k.takeKeys(o, r, n, m, makeKey, false, want))
		} else {
			outs = append(outs, k.emitKeys(o, r, n, makeKey, &want[0]))
		}
		done()
	}
	sorted := stableSort(want[0])
	cores := &idleCores{most: int32(r.IntN(4))}
	if r.IntN(3) == 0 {
		cores.busy = func() bool { return true }
	}
	event := [...]string{"nothing", "tight", "evicted before", "evicted while it is read", "evicted while it is read"}[r.IntN(5)]
	what := fmt.Sprintf("seed %d, %d maps, %d cores, %s", seed, len(outs), cores.most, event)
	evict := func() {
		if _, err := outs[len(outs)/2].Evict(); err != nil { // sorts the output
			t.Fatal(err)
		}
	}
	switch event {
	case "evicted before":
		evict()
	case "tight":
		l := k.mergeLease(outs)
		rest, _ := k.budget.TryReserve(k.budget.Free())
		same(t, what+", tight", k.readRecords(outs, 0, l), sorted)
		rest.Close()
	}
	l := k.mergeLease(outs)
	at := r.IntN(3000)
	got := k.merged(shuffle.MergeOptions{Inputs: outs, Lease: l, CreateTemp: k.createTemp, OnIdleCore: cores.start}, func(n int) {
		if n == at && event == "evicted while it is read" {
			evict()
		}
	})
	l.Close()
	same(t, what, got, sorted)
	same(t, what+", groups", k.readGroups(outs, 0, func(o *shuffle.MergeOptions) { o.OnIdleCore = cores.start }), sorted)
	release(t, k, outs)
	cores.ended.Wait()
}

// emitKeys makes a map output of n records, which are copied one by one. Some are long.
func (k *kit) emitKeys(o Options, r *rand.Rand, n int, makeKey func(*rand.Rand) string, want *[]pair) *shuffle.MapOutput {
	b, err := NewBuffer(o)
	if err != nil {
		k.t.Fatal(err)
	}
	long := r.IntN(3) * n / 2 // index of a long record; 0 and n: none
	for i := range n {
		key, value := makeKey(r), fmt.Sprint(i)
		switch {
		case i == long && i > 0:
			value = string(make([]byte, 300<<10)) // so long that it gets memory of its own
		case i%1000 == 999:
			value = string(make([]byte, 3000))
		}
		b.Emit([]byte(key), []byte(value))
		*want = append(*want, pair{key, value})
	}
	out, err := b.Close()
	if err != nil {
		k.t.Fatal(err)
	}
	return out
}

// Other cores sort ranges. They have stopped when a merge is closed, even if it was not read to
// its end. The entries that are sorted ahead take only a part of the memory of all entries.
func TestOtherCoresSortRanges(t *testing.T) {
	k := newKit(t, 96<<20)
	r := rand.New(rand.NewPCG(1, 22))
	var ranges record.Ranges
	o, done := k.options(40 << 20)
	o.SortLate, o.Ranges = true, &ranges
	const records = 200_000
	out := k.takeKeys(o, r, records, 0, lateKinds[0].make, false, make([][]pair, 1))
	done()
	l := k.lease(4 << 20)
	defer l.Close()
	var closed atomic.Bool
	cores := &idleCores{most: 2, busy: func() bool {
		if closed.Load() {
			t.Error("another core sorted when the merge was closed")
		}
		return false
	}}
	for _, read := range []int{0, 1, 50_000} {
		closed.Store(false)
		before := cores.helped.Load()
		m, err := shuffle.NewMerge(context.Background(), shuffle.MergeOptions{Inputs: []*shuffle.MapOutput{out}, Lease: l, OnIdleCore: cores.start})
		if err != nil {
			t.Fatal(err)
		}
		for range read {
			if !m.Next() {
				t.Fatal("the merge ends early")
			}
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		closed.Store(true)
		cores.ended.Wait()
		if cores.helped.Load() == before {
			t.Errorf("%d records read: no other core was asked", read)
		}
		if peak := l.Peak(); peak == 0 || peak > records*record.EntryBytes/2 {
			t.Errorf("%d records read: a peak of %d bytes for %d entries", read, peak, records)
		}
	}
	out.Release()
}
