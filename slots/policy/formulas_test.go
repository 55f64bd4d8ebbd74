package policy

import (
	"math"
	"slices"
	"testing"
	"time"

	"mrlocal/internal/ppm"
	"mrlocal/slots"
	"mrlocal/trace"
)

const s = time.Second

func share(text string) slots.PPM {
	p, err := ppm.Parse(text)
	if err != nil {
		panic(err)
	}
	return p
}

func TestTimeLeftIsWhatIsToDoAtTheRateSoFar(t *testing.T) {
	for _, c := range []struct {
		elapsed time.Duration
		score   string
		left    time.Duration
	}{
		{60 * s, "0.5", 60 * s}, {10 * s, "0.25", 30 * s}, {30 * s, "0.75", 10 * s}, {5 * s, "1", 0}, {0, "0.3", 0},
		{time.Millisecond, "0.000001", 1000*s - time.Millisecond}, {time.Hour * 1000, "0.1", 9000 * time.Hour},
	} {
		if got := timeLeft(c.elapsed, ofShare(c.score)); got != c.left {
			t.Errorf("%v at %s: %v, want %v", c.elapsed, c.score, got, c.left)
		}
	}
	if timeLeft(s, 0) < 100*time.Hour || total(math.MaxInt64, 1) != math.MaxInt64 {
		t.Error("nothing done is nearly for ever")
	}
}

// B is the moving average of what reduces copy a second [OMO21, "shuffle estimate"].
func TestTheBandwidthOfCopiesIsSmoothed(t *testing.T) {
	var m Measures
	m.Start(0, 0)
	reduce := func(bytes int64, took time.Duration) {
		m.Finish(&slots.Fact{Op: trace.OpFinish, Kind: slots.Reduce, Flags: trace.OK, At: s, D: bytes, E: int64(took)})
	}
	for _, c := range []struct {
		bytes int64
		took  time.Duration
		want  float64
	}{{400, 4 * s, 100}, {600, 2 * s, 200}, {1000, 100 * s, 105}, {0, 0, 105}} {
		if reduce(c.bytes, c.took); m.CopyBandwidth(nil) != c.want {
			t.Errorf("%d bytes in %v: B = %v, want %v", c.bytes, c.took, m.CopyBandwidth(nil), c.want)
		}
	}
	if reduce(1, 0); m.CopyBandwidth(nil) != 0 {
		t.Error("copies that take no time have no B")
	}
}

func TestACapOfATenthOfTheSlotsLetsOneCopyRunAtLeast(t *testing.T) {
	for places, want := range map[int32]int32{1: 1, 10: 1, 19: 1, 20: 2, 108: 10, 10_000: 1000} {
		if got := mostCopies(places); got != want {
			t.Errorf("%d slots: %d copies, want %d", places, got, want)
		}
	}
}

func TestOfFewTasksHalfSayWhatIsUsual(t *testing.T) {
	for all, want := range map[int32]int{1: 1, 2: 1, 3: 2, 4: 2, 5: 3, 6: 3, 1000: 3} {
		for n := range 5 {
			if got := enough(n, all); got != (n >= want) {
				t.Errorf("%d of %d tasks: %v", n, all, got)
			}
		}
	}
}

func TestSlowIsTheLowestQuarterOfRates(t *testing.T) {
	for _, c := range []struct {
		totals []time.Duration
		want   time.Duration
	}{
		{[]time.Duration{4 * s}, 4 * s},
		{[]time.Duration{4 * s, 1 * s, 3 * s, 2 * s}, 4 * s},
		{[]time.Duration{1 * s, 1 * s, 1 * s, 1 * s, 5 * s}, 1 * s},                      // two of five: the fifth, and one like the others
		{[]time.Duration{1 * s, 1 * s, 1 * s, 1 * s, 1 * s, 1 * s, 5 * s, 5 * s}, 5 * s}, // just a quarter
	} {
		for finished := range len(c.totals) + 1 { // the others run
			k := &sample{order: slices.Sorted(slices.Values(c.totals[:finished])), to: len(c.totals) - finished}
			var of speculation
			for _, total := range c.totals[finished:] {
				of.rates = append(of.rates, rate{total, slots.AllDone})
			}
			if got := of.slowestOf(k); got != c.want {
				t.Errorf("%v, %d of them finished: %v, want %v", c.totals, finished, got, c.want)
			}
		}
	}
	if got := slowNodeBelow([]int64{9, 1, 5, 7, 8}); got != 5 {
		t.Errorf("of five trackers the second least progress: %d", got)
	}
	if got := slowNodeBelow([]int64{7, 3}); got != 3 {
		t.Errorf("of two trackers none is below the least: %d", got)
	}
}

func TestAnAttemptMustHaveRunForHalfOfWhatIsUsual(t *testing.T) {
	for _, c := range []struct {
		elapsed, usual time.Duration
		want           bool
	}{
		{10 * s, 20 * s, true}, {9 * s, 20 * s, false}, {99 * time.Millisecond, 10 * time.Millisecond, false}, {100 * time.Millisecond, 200 * time.Millisecond, true},
	} {
		if got := c.elapsed >= leastTime(c.usual, leastRun); got != c.want {
			t.Errorf("%v of usually %v: %v", c.elapsed, c.usual, got)
		}
	}
	if pays(20*s, 20*s) || !pays(21*s, 20*s) {
		t.Error("a copy pays where it ends first")
	}
}
