package sim

import (
	"context"
	"strings"
	"testing"
	"time"

	"mrlocal/slots"
	"mrlocal/slots/policy/fifo"
	"mrlocal/workload"
)

// restless starts tasks as FIFO does, and asks for another visit after a time. If kills
// is set, it kills at that visit what it started.
type restless struct {
	fifo.FIFO
	every time.Duration
	kills bool
}

func (p *restless) Decide(v *slots.View, d *slots.Decision) {
	for id := range slots.SlotID(v.Slots()) {
		if p.kills {
			d.Reclaim(id)
		}
	}
	p.FIFO.Decide(v, d)
	d.WakeAt(v.Now() + p.every)
}

// TestARunWithoutProgressEnds: a policy that asks for visits without letting time pass,
// one that kills what it starts, and one that does so every nanosecond. Without a bound
// these runs do not end.
func TestARunWithoutProgressEnds(t *testing.T) {
	f, err := workload.Parse("w.yaml", []byte("cluster: {trackers: 1}\njobs: [{name: J, maps: 3, map_time: 1h, reduces: 1, reduce_time: 1s}]"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		policy restless
		want   string
	}{
		{restless{*fifo.New(), 0, false}, "simulation: endless at 0s: 1004000 events for the same time, and no attempt has ended: job J has 3 maps and 1 reduce to do"},
		{restless{*fifo.New(), 1, false}, "simulation: endless at 99.999µs: 100000 events since an attempt has ended: job J has 3 maps"},
		{restless{*fifo.New(), 1, true}, "since an attempt has ended: job J has 3 maps"},
	} {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		r, err := Run(ctx, f, Options{Policy: &c.policy, mostEvents: map[bool]int64{true: 100_000}[c.policy.every > 0]})
		cancel()
		if err == nil || !strings.Contains(err.Error(), c.want) || r == nil {
			t.Errorf("%+v: %v", c.policy, err)
		}
	}
}

// TestTooManyPendingEventsEndARun checks the bound on memory.
func TestTooManyPendingEventsEndARun(t *testing.T) {
	b := newBounds(0, 0)
	if err := b.count(0, 16_000_000); err != nil {
		t.Error(err)
	}
	if err := b.count(0, 16_000_001); err == nil {
		t.Error("no error")
	}
}

// wrong starts tasks as FIFO does, and does not lend. But once it grants the reduce slot to a map.
type wrong struct {
	fifo.FIFO
	granted bool
}

func (p *wrong) Decide(v *slots.View, d *slots.Decision) {
	if !p.granted {
		p.granted = true
		func() {
			defer func() { _ = recover() }() // a checked build panics
			d.Grant(slots.Grant{Slot: 1, Kind: slots.Map, Task: slots.NoTask})
		}()
	}
	p.FIFO.Decide(v, d)
}

// TestANoteCountsRefusedGrants: at the end of a run, which would otherwise only be slower.
func TestANoteCountsRefusedGrants(t *testing.T) {
	f, err := workload.Parse("w.yaml", []byte("cluster: {trackers: 1, map_slots: 1, reduce_slots: 1}\njobs: [{name: J, maps: 3, map_time: 1s}]"))
	if err != nil {
		t.Fatal(err)
	}
	var notes []string
	if _, err := Run(t.Context(), f, Options{Policy: &wrong{FIFO: *fifo.New()}, Note: func(text string) { notes = append(notes, text) }}); err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(notes, "; "); !strings.Contains(text, "policy fifo: refused grants: 1, the first because the slot was of the other kind") {
		t.Errorf("noted: %q", text)
	}
}
