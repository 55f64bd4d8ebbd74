package dynsplit_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/policytest"
	"mrlocal/slots/policy/registry"
)

// Waiting reduces never hold all the slots of a tracker, however long each map computes and
// writes. Additional slots open and close with the periods of maps, and no reduce gets one.
func TestAdditionalSlotsAreForMaps(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		o := policy.DefaultOptions()
		o.AdditionalMapSlots = rapid.Int32Range(0, 4).Draw(rt, "additional")
		o.ReduceCompute = rapid.Int32Range(0, 2).Draw(rt, "compute")
		trackers := rapid.IntRange(1, 2).Draw(rt, "trackers")
		c := slots.Config{Slots: policytest.WithExtra(trackers, rapid.IntRange(1, 2).Draw(rt, "maps"), rapid.IntRange(1, 2).Draw(rt, "reduces"), int(o.AdditionalMapSlots))}
		times := rapid.SliceOfN(rapid.IntRange(1, 9), 1, 40).Draw(rt, "map times")
		job := policytest.ScriptJob{
			Spec:       slots.JobSpec{Name: "J", Maps: int32(len(times)), MapsSealed: true, Reduces: rapid.Int32Range(0, 8).Draw(rt, "reduces of the job")},
			MapTime:    func(task slots.TaskID) time.Duration { return time.Duration(times[task]) * time.Millisecond },
			ReduceTime: policytest.Const(time.Millisecond),
			MapIO:      time.Duration(rapid.IntRange(0, 1000).Draw(rt, "I/O")) * time.Microsecond,
		}
		p, err := registry.New("dynsplit", o)
		if err != nil {
			rt.Fatal(err)
		}
		_, err = policytest.Drive(c, p, []policytest.ScriptJob{job}, policytest.Options{Each: func(_ time.Duration, l *slots.Ledger) error {
			v := l.View()
			for id := range slots.SlotID(v.Slots()) {
				if s := v.Slot(id); c.Slots[id].Extra && s.Busy && s.Attempt.Kind == slots.Reduce {
					rt.Fatalf("reduce %v runs on the additional slot %d", s.Attempt, id)
				}
			}
			return nil
		}})
		if err != nil {
			rt.Fatal(err)
		}
	})
}
