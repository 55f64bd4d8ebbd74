package dynsplit

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func near(a, b, within float64) bool { return math.Abs(a-b) <= within }

// TestReduceWeight works [Split11, "late weight"]: w_r in percent, and the slots of 108.
func TestReduceWeight(t *testing.T) {
	for _, c := range []struct {
		finished       int32 // of 100
		percent, slots float64
	}{
		{0, 0, 0}, {50, 4.74, 5.12}, {70, 16.3, 17.63}, {80, 29.9, 32.34}, {90, 54.8, 59.15}, {95, 74.0, 79.94}, {100, 100, 108},
	} {
		w := reduceWeight(c.finished, 100)
		if !near(100*w, c.percent, 0.05) || !near(108*w, c.slots, 0.02) || mapWeight(w)+w != 1 {
			t.Errorf("x = 0.%02d: w_r %.4f, %.3f of 108 slots; want %v %% and %v", c.finished, w, 108*w, c.percent, c.slots)
		}
		if want := (math.Exp(0.06*float64(c.finished)) - 1) / (math.Exp(6) - 1); !near(w, want, 1e-13) {
			t.Errorf("x = 0.%02d: %v, by math.Exp %v", c.finished, w, want)
		}
	}
	for _, c := range []struct {
		x     int32 // in 10,000ths
		slots float64
	}{{8849, 54}, {2589, 1}, {7034, 18}} { // maps and reduces alike; the first reduce slot; as many as 90 + 18 has
		if got := 108 * reduceWeight(c.x, 10_000); !near(got, c.slots, 0.04) {
			t.Errorf("x = 0.%04d: %v of 108 slots, want %v", c.x, got, c.slots)
		}
	}
}

// shares are fill's, of jobs that want w.
func shares(all float64, w ...want) []share { return fill(nil, w, all) }

// job is a want: weight, maps finished of all, pending maps and reduces.
func job(weight float64, finished, maps int32, demand ...float64) want {
	return want{weight, reduceWeight(finished, maps), [2]float64(demand)}
}

// TestShares works [Split11, "redistribution"].
func TestShares(t *testing.T) {
	r := 108 * reduceWeight(50, 100)
	for name, c := range map[string]struct {
		got  []share
		want []share
	}{
		"one job divides all slots by w_m and w_r":             {shares(108, job(1, 50, 100, 200, 50)), []share{{108 - r, r}}},
		"jobs get R_i by weight":                               {shares(108, job(2, 0, 9, 200, 50), job(1, 0, 9, 200, 50)), []share{{72, 0}, {36, 0}}},
		"a job in its reduce phase next to one in its map one": {shares(10, job(1, 9, 9, 0, 50), job(1, 0, 9, 20, 5)), []share{{0, 5}, {5, 0}}},
		"what maps leave goes to the job's reduces first":      {shares(10, job(1, 0, 9, 2, 50), job(1, 0, 9, 20, 5)), []share{{2, 3}, {5, 0}}},
		"and the other way":                                    {shares(10, job(1, 9, 9, 4, 1)), []share{{4, 1}}},
		"then to the other jobs by weight":                     {shares(12, job(1, 0, 9, 3, 0), job(2, 0, 9, 20, 0), job(1, 0, 9, 20, 0)), []share{{3, 0}, {6, 0}, {3, 0}}},
		"nobody gets more than it wants":                       {shares(100, job(1, 0, 9, 3, 0), job(2, 0, 9, 4, 1)), []share{{3, 0}, {4, 1}}},
		"no job, no share":                                     {shares(100), nil},
	} {
		if !slices.EqualFunc(c.got, c.want, func(a, b share) bool { return near(a[0], b[0], 1e-9) && near(a[1], b[1], 1e-9) }) {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
}

func drawWants(t *rapid.T) (wants []want) {
	for range rapid.IntRange(1, 12).Draw(t, "jobs") {
		maps := rapid.Int32Range(0, 50).Draw(t, "maps")
		w := job(float64(rapid.IntRange(1, 5).Draw(t, "weight")), rapid.Int32Range(0, maps).Draw(t, "finished"), maps,
			float64(rapid.IntRange(0, 40).Draw(t, "map demand")), float64(rapid.IntRange(0, 40).Draw(t, "reduce demand")))
		wants = append(wants, w)
	}
	return wants
}

// TestSharesAddUp: shares add up to all slots, or to the demand if that is less. No job has more
// than its demand. A job with less has at least as much for its weight as any other.
func TestSharesAddUp(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		wants, all := drawWants(rt), float64(rapid.IntRange(1, 200).Draw(rt, "slots"))
		got := fill(nil, wants, all)
		var wanted, most float64
		for i, w := range wants {
			wanted += w.demand[0] + w.demand[1]
			most = max(most, (got[i][0]+got[i][1])/w.weight)
		}
		if r := totals(got); !near(r[0]+r[1], min(all, wanted), 1e-9) {
			rt.Fatalf("R_M %v + R_R %v of %v slots, %v are wanted", r[0], r[1], all, wanted)
		}
		for i, w := range wants {
			both := got[i][0] + got[i][1]
			if got[i][0] > w.demand[0]+1e-9 || got[i][1] > w.demand[1]+1e-9 || min(got[i][0], got[i][1]) < 0 ||
				both < w.demand[0]+w.demand[1]-1e-9 && both/w.weight < most-1e-9 {
				rt.Fatalf("job %d of %v has %v: %v", i, wants, got[i], got)
			}
		}
	})
}

// handOut gives slots one by one to the job that is farthest below its share.
func handOut(shares, carried []float64, slots int) []int32 {
	given := make([]int32, len(shares))
	for range slots {
		best := 0
		for i := range shares {
			if below(shares[i], carried[i], given[i]) > below(shares[best], carried[best], given[best]) {
				best = i
			}
		}
		given[best]++
	}
	return given
}

// TestSlotsAreRoundedByLargestRemainder: the one that is farthest below its share gets
// the next slot. So each gets the whole slots of its share, and the largest fractions
// get the rest [Split11, "largest remainder"].
func TestSlotsAreRoundedByLargestRemainder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		parts := rapid.SliceOfN(rapid.IntRange(0, 100), 1, 20).Draw(rt, "parts")
		all := rapid.IntRange(1, 60).Draw(rt, "slots")
		sum := 0
		for _, p := range parts {
			sum += p
		}
		if sum == 0 {
			return
		}
		shares, rest := make([]float64, len(parts)), all
		var fractions []float64
		for i, p := range parts {
			shares[i] = float64(p*all) / float64(sum)
			rest -= p * all / sum
			fractions = append(fractions, float64(p*all%sum)/float64(sum))
		}
		slices.Sort(fractions)
		given := handOut(shares, make([]float64, len(parts)), all)
		for i, p := range parts {
			fraction := float64(p*all%sum) / float64(sum)
			up := int(given[i]) - p*all/sum
			least := 2.0 // the least fraction that may be rounded up
			if rest > 0 {
				least = fractions[len(fractions)-rest]
			}
			if up < 0 || up > 1 || up == 1 && fraction < least-1e-9 || up == 0 && fraction > least+1e-9 {
				rt.Fatalf("share %v of %v gets %d: %v of %v", shares[i], all, given[i], given, shares)
			}
		}
	})
}

// TestEveryDemanderGetsASlotInTime has more jobs with demand than slots. By carried remainders
// each job gets a slot within as many allocations as there are jobs. If each share were at least
// one slot, some job would starve.
func TestEveryDemanderGetsASlotInTime(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n, all := rapid.IntRange(1, 30).Draw(rt, "demanders"), rapid.IntRange(1, 10).Draw(rt, "slots")
		shares, carried, had := make([]float64, n), make([]float64, n), make([]bool, n)
		for i := range shares {
			shares[i] = float64(all) / float64(n)
		}
		for range n {
			for i, g := range handOut(shares, carried, all) {
				had[i] = had[i] || g > 0
				carried[i] = carry(shares[i], carried[i], g)
			}
		}
		if i := slices.Index(had, false); i >= 0 {
			rt.Fatalf("demander %d of %d never had one of %d slots", i, n, all)
		}
	})
}

func TestEarlyReducesAreFew(t *testing.T) {
	for _, c := range []struct {
		x, share float64
		reduces  int32
		want     int32
	}{{0, 60, 50, 0}, {0.5, 10, 100, 4}, {0.5, 100, 10, 4}, {0.9, 10, 100, 54}, {1, 1, 7, 7}} {
		if got := earlyReduces(reduceWeight(int32(100*c.x), 100), c.share, c.reduces, false); got != float64(c.want) {
			t.Errorf("x = %v, %v slots, %d reduces: %v, want %d", c.x, c.share, c.reduces, got, c.want)
		}
	}
	// As printed, R_ir = w_r R_i = 0.0474 · 100 [Split11, "floors and the bound"].
	if got := earlyReduces(reduceWeight(50, 100), 100, 10, true); !near(got, 4.7426, 1e-4) {
		t.Errorf("as printed: %v", got)
	}
}

// TestGuideline is [Split11, guideline]: Gain_m > Lose_m exactly where Avg_n/n > Avg_m/m.
func TestGuideline(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := rapid.IntRange(1, 15).Draw(rt, "m")
		n := rapid.IntRange(m+1, 16).Draw(rt, "n")
		avgM, avgN, tasks := rapid.IntRange(1, 1000).Draw(rt, "Avg_m"), rapid.IntRange(1, 1000).Draw(rt, "Avg_n"), rapid.IntRange(1, 500).Draw(rt, "P")
		if avgN*m == avgM*n {
			return // equal, but for rounding
		}
		a, b := float64(avgM), float64(avgN)
		if gains := Gain(a, b, n, tasks) > Lose(a, m, n, tasks); gains != Fewer(a, b, m, n) || gains != (avgN*m > avgM*n) {
			rt.Fatalf("gain %v, lose %v, fewer %v", Gain(a, b, n, tasks), Lose(a, m, n, tasks), Fewer(a, b, m, n))
		}
	})
	if Fewer(10, 20, 1, 2) {
		t.Error("with an equal gain and loss fewer slots are not better")
	}
	for want, avg := range map[int][]float64{1: {10, 20, 31}, 2: {10, 15, 23, 31}, 4: {10, 10.5, 11, 12, 20, 30}} {
		if got := Best(avg); got != want {
			t.Errorf("%v: %d slots, want %d", avg, got, want)
		}
	}
}

// TestMeasures: I = 1457/1197 - 1, and the CPU deltas of [Split11, Table 8].
func TestMeasures(t *testing.T) {
	if i := ThroughputGain(1457, 1197); !near(i, 0.21721, 5e-6) {
		t.Errorf("I = %v", i)
	}
	if r := MeanWallReduction([]float64{100, 200}, []float64{50, 150}); r != 0.375 {
		t.Errorf("r_ave = %v", r)
	}
	for _, d := range [][3]float64{{70.82, 83.75, 12.93}, {10.87, 4.26, -6.61}, {8.15, 1.42, -6.73}} {
		if !near(d[1]-d[0], d[2], 1e-9) {
			t.Errorf("%v", d)
		}
	}
}
