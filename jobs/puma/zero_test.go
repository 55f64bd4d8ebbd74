package puma_test

import (
	"testing"

	"mrlocal/jobs/puma"
)

// TestAGivenZeroIsNotTheDefault: a percentage of 0 keeps nothing, so it is refused. A tolerance of 0 is one.
func TestAGivenZeroIsNotTheDefault(t *testing.T) {
	for name, o := range map[string]puma.SelectionOptions{"map": {KeepMap: new(0.0)}, "reduce": {KeepReduce: new(0.0)}} {
		if _, err := puma.NewSelection(o); err == nil {
			t.Errorf("%s: a percentage of 0 is accepted", name)
		}
	}
	if _, err := puma.NewKMeans(puma.KMeansOptions{Tolerance: new(0.0)}); err != nil {
		t.Error(err)
	}
	if _, err := puma.NewKMeans(puma.KMeansOptions{Tolerance: new(-1.0)}); err == nil {
		t.Error("a negative tolerance is accepted")
	}
}
