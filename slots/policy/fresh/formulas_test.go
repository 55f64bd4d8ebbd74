package fresh

import "testing"

func TestMapContainers(t *testing.T) {
	if got := mapContainers(16, work{3e6, 1e6}); got != 12 {
		t.Errorf("three fourths of the work are maps: %v of 16", got)
	}
	if mapContainers(16, work{}) != 0 {
		t.Error("no work")
	}
}
