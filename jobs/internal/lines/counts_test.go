package lines

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

func TestLowerChangesOnlyCapitals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "text")
		want := bytes.Clone(p)
		for i, c := range want {
			if 'A' <= c && c <= 'Z' {
				want[i] = c + 32
			}
		}
		if Lower(p); !bytes.Equal(p, want) {
			t.Fatalf("%q, want %q", p, want)
		}
	})
}

func TestBestKeepsTheLargest(t *testing.T) {
	for _, c := range []struct {
		n      int64
		ties   bool
		counts []uint64
		beaten []bool
	}{
		{2, false, []uint64{3, 1, 1, 2, 1, 2}, []bool{false, false, false, false, true, false}},
		{2, true, []uint64{3, 1, 1, 2, 1, 2}, []bool{false, false, true, false, true, true}},
		{maxHeap + 1, true, []uint64{1, 1, 1}, []bool{false, false, false}},
	} {
		b := best{n: c.n}
		for i, count := range c.counts {
			if got := b.beats(count, c.ties); got != c.beaten[i] {
				t.Errorf("the best %d, ties %v: count %d, the %d-th: %v", c.n, c.ties, count, i, got)
			}
		}
	}
}

func TestLowerDoesNotAllocate(t *testing.T) {
	p := []byte("Some Text")
	if n := testing.AllocsPerRun(10, func() { Lower(p) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkLower(b *testing.B) {
	p := bytes.Repeat([]byte("Some Text. "), 1000)
	b.SetBytes(int64(len(p)))
	b.ReportAllocs()
	for b.Loop() {
		Lower(p)
	}
}
