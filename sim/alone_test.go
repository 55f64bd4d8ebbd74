package sim_test

import (
	"testing"

	"mrlocal/sim"
	"mrlocal/slots/policy/fifo"
	"mrlocal/slots/setup"
)

// TestSlowdownAgainstRunningAlone is worked out by hand. One map slot and one reduce slot:
//
//	map    0 AABBBB..
//	reduce 1 ..AAABBB    A: 0 to 5; B: submitted at 1, to 9, as its reduce begins at 6
//
// Alone A takes 2 + 3 = 5 s and B 4 + 3 = 7 s.
func TestSlowdownAgainstRunningAlone(t *testing.T) {
	f := parse(t, "cluster: {trackers: 1, map_slots: 1, reduce_slots: 1}", "jobs:",
		"- {name: A, maps: 1, map_time: 2s, reduces: 1, reduce_time: 3s}",
		"- {name: B, maps: 2, map_time: 2s, reduces: 1, reduce_time: 3s, submit: 1s, deadline: 8s, after: []}")
	r := run(t, f, sim.Options{Policy: fifo.New(), Alone: true})
	if a, b := r.Jobs[0].AloneSeconds, r.Jobs[1].AloneSeconds; a != 5 || b != 7 {
		t.Errorf("alone A takes %v s and B %v s, want 5 and 7", a, b)
	}
	if mean, most := r.Slowdowns(); mean != (5./5+8./7)/2 || most != 8./7 {
		t.Errorf("slowdowns: mean %v, largest %v", mean, most)
	}
	if d := r.Deadlines(); d.Missed != 1 || d.MeanTardinessSeconds != 1 || d.MaxTardinessSeconds != 1 {
		t.Errorf("deadlines: %+v; B is a second late", d)
	}
	if s := r.SlotTime; s.Compute != 6 || s.Copy != 0 || s.Reduce != 6 || s.Idle != 6 {
		t.Errorf("slot time: %+v", s)
	}
}

// TestAloneTimesAreDrawnAsTogether: on a cluster with room for all jobs, no job slows another one.
func TestAloneTimesAreDrawnAsTogether(t *testing.T) {
	f := parse(t, "cluster: {trackers: 9, map_slots: 9, reduce_slots: 9}", "jobs:",
		"- {name: A, maps: 5, map_time: {lognormal: [9s, 1]}, reduces: 3, reduce_time: {uniform: [1s, 9s]}}",
		"- {name: B, maps: 5, map_time: {lognormal: [9s, 1]}, reduces: 3, reduce_time: {uniform: [1s, 9s]}, submit: 3s}",
		"- {name: C, maps: 5, map_time: {lognormal: [9s, 1]}, after: [A]}")
	r := run(t, f, sim.Options{Policy: fifo.New(), Alone: true, Config: setup.Config{Seed: 7}})
	for i := range r.Jobs {
		j := &r.Jobs[i]
		if j.AloneSeconds == 0 || j.AloneSeconds != j.ResponseSeconds() {
			t.Errorf("%s takes %v s, and alone %v s", j.Name, j.ResponseSeconds(), j.AloneSeconds)
		}
	}
}
