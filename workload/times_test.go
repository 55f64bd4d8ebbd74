package workload

import (
	"math"
	"slices"
	"testing"
	"time"

	"mrlocal/slots/setup"
)

func TestAConstantTimeIsAlwaysTheSame(t *testing.T) {
	c := Constant(20 * time.Second)
	if !c.Given() || c.At(1, 2, true, 3) != 20*time.Second || c.At(9, 0, false, 0) != 20*time.Second {
		t.Error(c.At(1, 2, true, 3))
	}
	if zero := Constant(0); !zero.Given() || zero.At(1, 1, false, 1) != 0 {
		t.Error("no time at all is a time")
	}
	if (Times{}).Given() || (Times{}).At(1, 1, false, 1) != 0 {
		t.Error("times that are not given")
	}
}

func TestAListGoesByTaskAndBeginsAnew(t *testing.T) {
	l := Times{law: listed, list: []time.Duration{1, 2, 3}}
	for task, want := range []time.Duration{1, 2, 3, 1, 2, 3, 1} {
		if got := l.At(7, 5, false, task); got != want {
			t.Errorf("task %d: %d", task, got)
		}
	}
}

// Draws are the same in every version and on every processor. So the test has a golden list.
func TestDrawsAreTheSameEverywhere(t *testing.T) {
	u := Times{law: uniform, a: 25 * time.Second, b: 35 * time.Second}
	l := Times{law: lognormal, a: 20 * time.Second, sigma: 0.3}
	var got []time.Duration
	for task := range 3 {
		got = append(got, u.At(1, 0, false, task), u.At(1, 0, true, task), l.At(1, 0, false, task), l.At(2, 7, true, task))
	}
	want := []time.Duration{
		33847898166, 30698115282, 28660368784, 17934495840,
		27485712818, 30075106894, 16314177136, 17014210872,
		30654642584, 33937437768, 21013890623, 23752826516,
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d", got)
	}
}

func TestUniformTimesFillTheirRangeEvenly(t *testing.T) {
	const n = 200_000
	u := Times{law: uniform, a: 25 * time.Second, b: 35 * time.Second}
	least, most, sum, square := time.Hour, time.Duration(0), 0.0, 0.0
	for i := range n {
		d := u.At(1, i%100, i%3 == 0, i/100)
		least, most = min(least, d), max(most, d)
		sum += d.Seconds()
		square += d.Seconds() * d.Seconds()
	}
	if least < u.a || most > u.b || least > u.a+10*time.Millisecond || most < u.b-10*time.Millisecond {
		t.Errorf("from %v to %v", least, most)
	}
	mean := sum / n
	variance := square/n - mean*mean
	if math.Abs(mean-30) > 0.03 || math.Abs(variance-100.0/12) > 0.1 {
		t.Errorf("mean %v, variance %v", mean, variance)
	}
	if edge := (Times{law: uniform, a: 5, b: 6}); drawn(edge, 50)[0] != 5 || drawn(edge, 50)[49] != 6 {
		t.Error("both bounds belong to the range")
	}
}

func drawn(d Times, n int) []time.Duration {
	all := make([]time.Duration, n)
	for i := range all {
		all[i] = d.At(1, 0, false, i)
	}
	slices.Sort(all)
	return all
}

// The median is the one given, the mean exp(σ²/2) times that, and the
// logarithms' deviation is σ.
func TestLognormalTimesHaveTheirMedianMeanAndSpread(t *testing.T) {
	const n = 200_000
	for _, sigma := range []float64{0, 0.1, 0.3, 1} {
		l := Times{law: lognormal, a: 20 * time.Second, sigma: sigma}
		all := drawn(l, n)
		sum, logs, squares := 0.0, 0.0, 0.0
		for _, d := range all {
			sum += d.Seconds()
			x := math.Log(d.Seconds() / 20)
			logs += x
			squares += x * x
		}
		median, mean := all[n/2].Seconds(), sum/n
		wantMean := 20 * math.Exp(sigma*sigma/2)
		spread := math.Sqrt(squares/n - logs/n*logs/n)
		if math.Abs(median-20) > 0.1+0.2*sigma || math.Abs(mean/wantMean-1) > 0.01 || math.Abs(spread-sigma) > 0.005 {
			t.Errorf("σ %v: median %v, mean %v instead of %v, deviation %v", sigma, median, mean, wantMean, spread)
		}
	}
}

// Neighbours differ: by seed, job, kind and task.
func TestEveryArgumentOfADrawCounts(t *testing.T) {
	u := Times{law: uniform, a: 0, b: time.Hour}
	base := u.At(1, 2, false, 3)
	for what, other := range map[string]time.Duration{
		"seed": u.At(2, 2, false, 3), "job": u.At(1, 3, false, 3), "kind": u.At(1, 2, true, 3), "task": u.At(1, 2, false, 4),
		"job and task changed places": u.At(1, 3, false, 2),
	} {
		if other == base {
			t.Errorf("%s makes no difference", what)
		}
	}
}

func TestTheLongestTimeIsBounded(t *testing.T) {
	l := Times{law: lognormal, a: setup.MostTime, sigma: 5}
	for _, d := range drawn(l, 1000) {
		if d < 0 || d > setup.MostTime {
			t.Fatalf("%v", d)
		}
	}
}

func BenchmarkTimesAt(b *testing.B) {
	for name, d := range map[string]Times{
		"law=uniform":   {law: uniform, a: 25 * time.Second, b: 35 * time.Second},
		"law=lognormal": {law: lognormal, a: 20 * time.Second, sigma: 0.3},
	} {
		b.Run(name, func(b *testing.B) {
			task := 0
			for b.Loop() {
				task++
				d.At(1, 3, false, task)
			}
		})
	}
}
