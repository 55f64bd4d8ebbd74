package policy_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"mrlocal/slots"
	"mrlocal/slots/policy"
)

// TestSharesAreHadoops has ten cases worked by hand [Hadoop, "share vectors"].
func TestSharesAreHadoops(t *testing.T) {
	type D = policy.ShareDemand
	half, two := slots.One/2, 2*slots.One
	for name, c := range map[string]struct {
		total int32
		pools []D
		want  []float64
	}{
		"T1: equal shares below every demand":     {40, []D{{Demand: 100}, {Demand: 50}, {Demand: 30}, {Demand: 20}}, []float64{10, 10, 10, 10}},
		"T2: what small pools leave goes to all":  {40, []D{{Demand: 100}, {Demand: 50}, {Demand: 11}, {Demand: 3}}, []float64{13, 13, 11, 3}},
		"T3: min shares first, capped by demand":  {40, []D{{100, 20, 0}, {10, 20, 0}, {10, 0, 0}, {3, 2, 0}}, []float64{20, 10, 7, 3}},
		"T4: shares by weight":                    {45, []D{{100, 0, two}, {Demand: 50}, {Demand: 30}, {20, 0, half}}, []float64{20, 10, 10, 5}},
		"T5: weights and small demands":           {45, []D{{10, 0, two}, {Demand: 11}, {Demand: 30}, {20, 0, half}}, []float64{10, 11, 16, 8}},
		"T6: weights, min shares, small demands":  {45, []D{{10, 20, two}, {Demand: 11}, {30, 5, 0}, {20, 15, half}}, []float64{10, 10, 10, 15}},
		"T7: one slot is shared in parts":         {1, []D{{Demand: 10}, {Demand: 5}, {Demand: 3}, {Demand: 2}}, []float64{.25, .25, .25, .25}},
		"T8: forty million slots":                 {40e6, []D{{Demand: 100e6}, {Demand: 50e6}, {Demand: 30e6}, {Demand: 20e6}}, []float64{10e6, 10e6, 10e6, 10e6}},
		"T9: nothing wanted, nothing given":       {30, []D{{Demand: 100}, {Demand: 50}, {Demand: 30}, {}}, []float64{10, 10, 10, 0}},
		"T10: no pools":                           {30, nil, nil},
		"more slots than demand: demands":         {30, []D{{Demand: 3}, {Demand: 4, Min: 9}}, []float64{3, 4}},
		"min shares above the slots: scaled down": {30, []D{{50, 40, 0}, {50, 20, 0}, {Demand: 5}}, []float64{20, 10, 0}},
		"no slots": {0, []D{{Demand: 3}, {Demand: 4, Min: 1}}, []float64{0, 0}},
		"only what is wanted of a min share binds": {10, []D{{4, 100, 0}, {Demand: 50}}, []float64{4, 6}},
	} {
		got := shares(c.pools, c.total)
		for i, want := range c.want {
			if math.Abs(got[i]-want) > 1e-9 {
				t.Errorf("%s: %v, want %v", name, got, c.want)
				break
			}
		}
		if len(got) != len(c.want) {
			t.Errorf("%s: %d shares, want %d", name, len(got), len(c.want))
		}
	}
}

// bisected is computeFairShares of Hadoop 1.x: r is doubled until it is enough,
// then 25 steps of bisection; the right end counts.
func bisected(pools []policy.ShareDemand, total int32) []float64 {
	shares := make([]float64, len(pools))
	fill := func(r float64) (sum float64) {
		for i, p := range pools {
			weight := float64(max(p.Weight, 0)) / float64(slots.One)
			if p.Weight == 0 {
				weight = 1
			}
			shares[i] = min(float64(p.Demand), max(weight*r, float64(p.Min)))
			sum += shares[i]
		}
		return sum
	}
	want := 0.0
	for _, p := range pools {
		want += float64(p.Demand)
	}
	enough, right, left := min(want, float64(total)), 1.0, 0.0
	for fill(right) < enough {
		right *= 2
	}
	for range 25 {
		if middle := (left + right) / 2; fill(middle) < enough {
			left = middle
		} else {
			right = middle
		}
	}
	fill(right)
	return shares
}

func drawDemands(t *rapid.T) []policy.ShareDemand {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) policy.ShareDemand {
		return policy.ShareDemand{
			Demand: rapid.Int32Range(0, 200).Draw(t, "demand"),
			Min:    max(0, rapid.Int32Range(-40, 40).Draw(t, "min")),
			Weight: rapid.SampledFrom([]slots.PPM{0, slots.One / 4, slots.One / 3, 2 * slots.One, 7 * slots.One}).Draw(t, "weight"),
		}
	}), 0, 8).Draw(t, "pools")
}

// TestSharesAgreeWithBisection: the exact solution is Hadoop's, but for the last
// of its 25 bisections, wherever min shares fit.
func TestSharesAgreeWithBisection(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		pools, total := drawDemands(rt), rapid.Int32Range(0, 300).Draw(rt, "slots")
		least := int32(0)
		for _, p := range pools {
			least += min(p.Min, p.Demand)
		}
		got := shares(pools, total)
		if least > total {
			for i, p := range pools {
				if want := float64(min(p.Min, p.Demand)) * float64(total) / float64(least); math.Abs(got[i]-want) > 1e-9 {
					rt.Fatalf("share %d is %v, want %v: min shares scaled down", i, got[i], want)
				}
			}
			return
		}
		for i, want := range bisected(pools, total) {
			if math.Abs(got[i]-want) > 1e-3 {
				rt.Fatalf("share %d is %v, want %v", i, got[i], want)
			}
		}
	})
}

// TestSharesAreMaxMin: shares use all slots up to the demand. A pool below its demand has at
// least as much per weight as each pool above its min share.
func TestSharesAreMaxMin(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		pools, total := drawDemands(rt), rapid.Int32Range(1, 300).Draw(rt, "slots")
		shares := shares(pools, total)
		var sum, want float64
		for i, p := range pools {
			sum, want = sum+shares[i], want+float64(p.Demand)
			if shares[i] < -1e-9 || shares[i] > float64(p.Demand)+1e-9 {
				rt.Fatalf("share %v of a demand of %d", shares[i], p.Demand)
			}
		}
		if math.Abs(sum-min(want, float64(total))) > 1e-6 {
			rt.Fatalf("shares add up to %v; %v are wanted of %d", sum, want, total)
		}
		per := func(i int) float64 {
			w := pools[i].Weight
			if w == 0 {
				w = slots.One
			}
			return shares[i] / float64(w) * float64(slots.One)
		}
		for i := range pools {
			for j := range pools {
				wantsMore := shares[i] < float64(pools[i].Demand)-1e-9
				aboveMin := shares[j] > float64(pools[j].Min)+1e-9
				if wantsMore && aboveMin && per(i) < per(j)-1e-6 {
					rt.Fatalf("pool %d has %v per weight and wants more, pool %d has %v", i, per(i), j, per(j))
				}
			}
		}
	})
}

// shares returns the fair shares of slots, in the order of pools.
func shares(pools []policy.ShareDemand, total int32) []float64 {
	level := policy.LevelOf(pools, total)
	all := make([]float64, len(pools))
	for i, p := range pools {
		n := level.Share(p)
		all[i] = float64(n.Num) / float64(max(n.Den, 1))
	}
	return all
}
