package setup_test

import (
	"testing"

	"mrlocal/slots"
	"mrlocal/slots/setup"
)

// lazy starts nothing.
type lazy struct{}

func (lazy) Traits() slots.Traits                { return slots.Traits{Name: "lazy"} }
func (lazy) Reset()                              {}
func (lazy) Decide(*slots.View, *slots.Decision) {}

// TestARunThatExpectsMapsIsNotStalled: more maps may become known, and known maps may start later, as
// those of an ordered result do when parts before them are written.
func TestARunThatExpectsMapsIsNotStalled(t *testing.T) {
	for name, c := range map[string]struct {
		job     slots.JobSpec
		stalled bool
	}{
		"all maps may start":            {slots.JobSpec{Maps: 3, ReadyMaps: 3, MapsSealed: true}, true},
		"more maps may become known":    {slots.JobSpec{Maps: 3, ReadyMaps: 3}, false},
		"further maps start later":      {slots.JobSpec{Maps: 3, ReadyMaps: 2, MapsSealed: true}, false},
		"only reduces, which may start": {slots.JobSpec{Reduces: 1, MapsSealed: true}, true},
	} {
		claimed, err := setup.ClaimOf(lazy{})
		if err != nil {
			t.Fatal(err)
		}
		l, err := slots.New(slots.Config{Slots: slots.Layout{Trackers: 1, MapSlots: 1, ReduceSlots: 1}.Slots()}, claimed.Policy)
		if err != nil {
			t.Fatal(err)
		}
		c.job.Name = name
		if err := claimed.Stalled(l, l.AssignAll(0).Wake, 0); err != nil {
			t.Errorf("before the job: %v", err)
		}
		l.Submit(0, c.job)
		wake := l.AssignAll(0).Wake
		if err := claimed.Stalled(l, wake, 0); (err != nil) != c.stalled {
			t.Errorf("%s: %v", name, err)
		}
		if err := claimed.Stalled(l, 1, 0); err != nil {
			t.Errorf("%s: with a wake-up: %v", name, err)
		}
		if err := claimed.Stalled(l, wake, 1); err != nil {
			t.Errorf("%s: with an attempt on a lost tracker: %v", name, err)
		}
		claimed.Release()
	}
}
