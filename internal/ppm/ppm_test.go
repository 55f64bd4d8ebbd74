package ppm_test

import (
	"testing"

	"mrlocal/internal/ppm"
)

func TestSharesAreExactDecimals(t *testing.T) {
	for text, want := range map[string]ppm.Share{
		"0": 0, "1": ppm.One, "0.05": 50_000, ".5": 500_000, "1.": ppm.One, "0.000001": 1, "0.1000000000": 100_000, "2.5": 2_500_000,
	} {
		if got, err := ppm.Parse(text); got != want || err != nil {
			t.Errorf("%q: %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", ".", "-1", "+1", "NaN", "1e9", "0.0000001", "0x1", " 1", "1,5", "99999999999999999999"} {
		if got, err := ppm.Parse(text); err == nil {
			t.Errorf("%q: %d, want an error", text, got)
		}
	}
	if got := ppm.Share(50_000).CeilOf(41); got != 3 {
		t.Errorf("ceil(0.05 · 41) = %d, want 3", got)
	}
	if got := ppm.Share(250_000).Of(18); got != 4 {
		t.Errorf("floor(0.25 · 18) = %d, want 4", got)
	}
	if got := ppm.Share(50_000).String(); got != "0.05" {
		t.Errorf("prints %s", got)
	}
}
