package rule

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestTheBufferNeedsInProportion is the worked example of [Split11, "buffer terms"]: abs
// 100, pfs 32 and tfs 64 give x = 200, in MB.
func TestTheBufferNeedsInProportion(t *testing.T) {
	for name, c := range map[string]struct {
		g    Growth
		want int64
	}{
		"pfs : tfs = abs : x":            {Growth{AbsBytes: 100, PfsBytes: 32, TfsBytes: 64}, 200},
		"a table doubles":                {Growth{AbsBytes: 100, PfsBytes: 8, TfsBytes: 64, Doubles: true}, 200},
		"by the proportion it would not": {Growth{AbsBytes: 100, PfsBytes: 8, TfsBytes: 64}, 800},
		"at least a sixteenth more":      {Growth{AbsBytes: 160, PfsBytes: 64, TfsBytes: 64}, 170},
		"the next record has to fit":     {Growth{AbsBytes: 100, PfsBytes: 32, TfsBytes: 64, LeastBytes: 300}, 300},
		"nothing read yet":               {Growth{AbsBytes: 100, TfsBytes: 64}, 0},
		"no end in sight":                {Growth{AbsBytes: 100, PfsBytes: 8}, 0},
	} {
		if got := c.g.NeedsBytes(); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	if !MayGrow(200, 251, 0.8) || MayGrow(200, 250, 0.8) {
		t.Error("x < afm * threshold: 200 of 250.1 at 0.8, and not of 250")
	}
}

// TestTheMarkIsTheExactShareOfTheCapacity compares it with whole numbers, for capacities up to
// 1 TB.
func TestTheMarkIsTheExactShareOfTheCapacity(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		capacity, thousandths := rapid.Int64Range(1, 1_000_000_000_000).Draw(rt, "capacity"), rapid.Int64Range(1, 1000).Draw(rt, "percent in tenths")
		if got, want := MarkBytes(capacity, float64(thousandths)/1000), max(1, capacity*thousandths/1000); got != want {
			rt.Fatalf("%d, want %d", got, want)
		}
	})
	if got := MarkBytes(3_000_000, 0.58); got != 1_740_000 {
		t.Errorf("%d", got)
	}
}

// TestPassesAreHadoops: the first pass reads the number of runs with which all later passes read fanIn
// (Hadoop 1.0.3, Merger).
func TestPassesAreHadoops(t *testing.T) {
	for n, want := range map[int][]int{10: {10}, 11: {2, 10}, 19: {10, 10}, 20: {2, 10, 10}, 28: {10, 10, 10}, 40: {4, 10, 10, 10, 10}, 50: {5, 10, 10, 10, 10, 10}} {
		var got []int
		for left := n; left > 1; {
			take := FirstPass(left, 10)
			got = append(got, take)
			left -= take - 1
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d runs: %v, want %v", n, got, want)
		}
	}
	left, read := Passes([]int64{5, 1, 1, 5, 5}, 4)
	if !slices.Equal(left, []int64{5, 2, 5, 5}) || read != 2 {
		t.Errorf("%v left, %d bytes read", left, read)
	}
}

// TestAReduceMergesAtItsThresholds uses Hadoop's default thresholds, a shuffle memory of 100
// bytes and factor 3.
func TestAReduceMergesAtItsThresholds(t *testing.T) {
	c := ReduceMerges{MemoryBytes: 100, Factor: 3}
	for name, x := range map[string]struct {
		copies   ReduceMerges
		segments int
		bytes    int64
		want     Merged
	}{
		"what fits is written once, at the end":           {c, 6, 10, Merged{60, 60, 1, 0, 1}},
		"two thirds of the memory are merged to a file":   {c, 14, 10, Merged{140, 140, 2, 0, 2}},
		"a segment of a quarter goes straight to disk":    {c, 3, 25, Merged{75, 75, 0, 0, 3}},
		"2F-1 files: the lightest F become one":           {c, 5, 25, Merged{125 + 75, 125 + 75, 0, 1, 3}},
		"four files are too many for one pass of three":   {c, 4, 25, Merged{100 + 50, 100 + 50, 0, 1, 3}},
		"a merge at the number of segments":               {ReduceMerges{Segments: 4, Factor: 3}, 8, 1, Merged{8, 8, 2, 0, 2}},
		"unbounded memory, fewer segments: one in memory": {ReduceMerges{}, 999, 1 << 30, Merged{999 << 30, 999 << 30, 1, 0, 1}},
		"nothing": {c, 0, 10, Merged{}},
	} {
		if got := x.copies.Merge(x.segments, x.bytes); got != x.want {
			t.Errorf("%s: %+v, want %+v", name, got, x.want)
		}
	}
}

// TestMergesLoseNothing: every byte is written at least once and read at least once. The last
// pass reads at most Factor files.
func TestMergesLoseNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := ReduceMerges{
			MemoryBytes: rapid.Int64Range(0, 1000).Draw(rt, "memory"), Factor: rapid.IntRange(2, 12).Draw(rt, "factor"),
			Segments: rapid.IntRange(0, 50).Draw(rt, "segments at most"),
		}
		n, bytes := rapid.IntRange(0, 300).Draw(rt, "segments"), rapid.Int64Range(1, 400).Draw(rt, "bytes")
		m, all := c.Merge(n, bytes), int64(n)*bytes
		if m.WrittenBytes < all || m.ReadBytes != m.WrittenBytes || m.Files > c.Factor || (n > 0) != (m.Files > 0) {
			rt.Fatalf("%+v of %d segments of %d bytes under %+v", m, n, bytes, c)
		}
	})
}
