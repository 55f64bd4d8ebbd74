package slots_test

import (
	"math"
	"testing"

	"mrlocal/slots"
	"mrlocal/slots/policy/policytest"
)

// TestExtraSlotsAreRoomAsFarAsTasksWork: two home slots, and some extra ones that are open all the time.
// The maps all run for 8 ns, and then nothing does for 8 ns.
func TestExtraSlotsAreRoomAsFarAsTasksWork(t *testing.T) {
	for name, c := range map[string]struct {
		extra int
		maps  int32
		want  float64
	}{
		"no extra slot":                           {0, 1, 1. / 4},
		"idle extra slots are not room":           {3, 1, 1. / 4},
		"as many tasks work as there are slots":   {3, 2, 1. / 2},
		"more tasks work than there are at home":  {3, 4, 4. / 6},
		"a reduce that waits makes no more room":  {3, -1, 1. / 4},
		"nor do many, and the figure is the same": {3, -3, 1. / 4},
	} {
		p := &anySlot{each: func(_ *slots.View, d *slots.Decision) { d.Resize(0, 2, 0, c.extra) }}
		d := newDesk(t, slots.Config{Slots: policytest.WithExtra(1, 2, 0, c.extra)}, p)
		spec := slots.JobSpec{Name: "j", Maps: max(c.maps, 1), MapsSealed: true, Reduces: max(-c.maps, 0)}
		d.Submit(0, spec)
		starts := append([]slots.Start{}, d.ask(0).Starts...)
		if int32(len(starts)) != spec.Maps+spec.Reduces {
			t.Fatalf("%s: %d starts", name, len(starts))
		}
		for _, s := range starts {
			d.Finish(8, s.Attempt, done)
		}
		d.Submit(16, slots.JobSpec{Name: "k"})
		if got := d.Stats().Utilisation(); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
