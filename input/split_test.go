package input_test

import (
	"os"
	"testing"

	"mrlocal/input"
)

func TestTaperedSplitsAreNotSmallWhereAllSlotsHaveSeveral(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		name          string
		mib           int64
		slots, splits int
	}{
		{"4 MiB are the least where each slot has four of them", 64, 2, 16},
		{"a fourth of a slot's share is the least before that", 16, 2, 8},
		{"1 MiB is the least for many slots", 16, 16, 16},
	} {
		if err := os.WriteFile("f.txt", nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate("f.txt", c.mib<<20); err != nil {
			t.Fatal(err)
		}
		p, err := input.NewPlan([]string{"f.txt"}, input.Options{MapSlots: c.slots, SplitsPerSlot: 16, Taper: true, NoDecode: true})
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Splits) != c.splits {
			t.Errorf("%s: %d splits, want %d", c.name, len(p.Splits), c.splits)
		}
	}
}
