package stats

import (
	"math"
	"testing"
)

func TestTheNormalQuantileIsThatOfTheErrorFunction(t *testing.T) {
	want := map[float64]float64{1e-15: -7.941345326} // where Erfinv has no digits left
	for _, p := range []float64{1e-9, 1e-4, 0.01, 0.0749, 0.0751, 0.3, 0.5, 0.7, 0.9249, 0.9251, 0.99, 1 - 1e-4, 1 - 1e-9} {
		want[p] = math.Sqrt2 * math.Erfinv(2*p-1)
	}
	for p, want := range want {
		if got := Normal(p); math.Abs(got-want) > 2e-7*max(1, math.Abs(want)) {
			t.Errorf("p %v: %v instead of %v", p, got, want)
		}
	}
}

func TestExpAndLnAreThoseOfMath(t *testing.T) {
	for x := -50.0; x < 50; x += 0.0371 {
		if got := Exp(x); math.Abs(got/math.Exp(x)-1) > 1e-13 {
			t.Fatalf("Exp(%v) = %v instead of %v", x, got, math.Exp(x))
		}
		if got, want := Ln(math.Exp(x)), math.Log(math.Exp(x)); math.Abs(got-want) > 1e-13*max(1, math.Abs(want)) {
			t.Fatalf("ln(e^%v) = %v instead of %v", x, got, want)
		}
	}
}
