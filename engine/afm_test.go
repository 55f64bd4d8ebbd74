package engine

import (
	"testing"

	"mrlocal/internal/membudget"
)

// TestMapsShareTheFreeMemory checks the term afm: what is not leased, divided by the running maps.
func TestMapsShareTheFreeMemory(t *testing.T) {
	budget, err := membudget.New(64 << 20)
	if err != nil {
		t.Fatal(err)
	}
	defer budget.Close()
	lease, err := budget.Reserve(t.Context(), 4<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer lease.Close()
	r := run{budget: budget}
	for running, want := range map[int64]int64{0: 60 << 20, 1: 60 << 20, 3: 20 << 20} {
		r.runningMaps.Store(running)
		if got := r.afmBytes(); got != want {
			t.Errorf("%d running maps: %d bytes, want %d", running, got, want)
		}
	}
}
