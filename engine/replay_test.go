package engine_test

import (
	"bytes"
	"testing"
	"time"

	"mrlocal/engine"
	"mrlocal/internal/invariant"
	"mrlocal/jobs/jobtest"
	"mrlocal/slots"
	"mrlocal/slots/explain"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/policytest"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/setup"
	"mrlocal/trace"
)

// recordedBatch returns the event file of a real run. It has jobs of two pools on two
// trackers. They wait for local slots if the policy makes jobs wait.
func recordedBatch(t *testing.T, sched string) []byte {
	t.Helper()
	delay := 2 * time.Millisecond
	o := policy.DefaultOptions()
	o.LocalityDelay = &delay
	p, err := registry.New(sched, o)
	if err != nil {
		t.Fatal(err)
	}
	in := writeFiles(t, []jobtest.File{{Path: "a", Data: text(181, 200_000)}})
	batch, _ := batchOf(t, []string{in}, "wordcount", "sort", "grep")
	for i := range batch {
		batch[i].BlockBytes = 16 << 10
	}
	var events bytes.Buffer
	_, err = engine.RunBatch(t.Context(), batch, engine.Options{
		Policy: p, Config: setup.Config{Trackers: 2, MapSlots: 1, ReduceSlots: 1, Replicas: 1, LocalityDelay: &delay, Pools: []slots.Pool{{Name: "prod", Weight: 2 * slots.One, MinMaps: 1}, {Name: "test"}}}, MemoryBytes: 64 << 20, Events: &events,
	})
	if err != nil {
		t.Fatal(err)
	}
	return events.Bytes()
}

// The wrong fact is the end of an attempt. It is dropped, swapped with the fact before
// it, or moved to 1 ns after the next time that the Ledger is asked.
func TestAReplayOfARealRunNamesTheDecisionThatAWrongFactChanges(t *testing.T) {
	ends := 8
	if invariant.Enabled {
		ends = 4 // each replay recounts the whole state at every step
	}
	for _, info := range registry.All() {
		t.Run(info.Name, func(t *testing.T) {
			file := recordedBatch(t, info.Name)
			if diff, err := explain.Replay(bytes.NewReader(file), registry.ForReplay, explain.ReplayOptions{}); err != nil || diff != nil {
				t.Fatalf("unchanged: %v, %v", diff, err)
			}
			for how, change := range map[string]func(events []trace.Event, i int) []trace.Event{
				"dropped": dropped, "swapped": swapped, "delayed": delayed,
			} {
				named := 0
				for n := range ends {
					bad := policytest.Edit(t, file, func(events []trace.Event) []trace.Event { return change(events, finish(t, events, n)) })
					diff, err := explain.Replay(bytes.NewReader(bad), registry.ForReplay, explain.ReplayOptions{})
					switch {
					case diff == nil && err == nil:
						t.Errorf("end %d %s: the replay says that all is well", n, how)
					case diff != nil && diff.Line > 0 && diff.Recorded != diff.Replayed:
						named++
					}
				}
				if named < ends/2 {
					t.Errorf("of %d ends %s only %d led to a decision that was named", ends, how, named)
				}
			}
		})
	}
}

// finish returns the place of end n among the events.
func finish(t *testing.T, events []trace.Event, n int) int {
	t.Helper()
	for i := range events {
		if events[i].Op != trace.OpFinish {
			continue
		}
		if n == 0 {
			return i
		}
		n--
	}
	t.Fatalf("the run has %d ends too few", n+1)
	return -1
}

func dropped(events []trace.Event, i int) []trace.Event { return append(events[:i:i], events[i+1:]...) }

func swapped(events []trace.Event, i int) []trace.Event {
	for j := i - 1; j >= 0; j-- {
		if events[j].Op.Class() == trace.Fact {
			events[i], events[j] = events[j], events[i]
			break
		}
	}
	return events
}

// delayed moves event i, and what followed from it, behind the next Assign and
// its decisions.
func delayed(events []trace.Event, i int) []trace.Event {
	follow := i + 1
	for follow < len(events) && events[follow].Op.Class() == trace.Decision {
		follow++
	}
	ask := follow
	for ask < len(events) && events[ask].Op.Class() != trace.Ask {
		ask++
	}
	after := ask + 1
	for after < len(events) && events[after].Op.Class() == trace.Decision {
		after++
	}
	moved := append([]trace.Event(nil), events[i:follow]...)
	for k := range moved {
		moved[k].At = events[ask].At + 1
	}
	late := append([]trace.Event(nil), events[:i]...)
	late = append(late, events[follow:after]...)
	late = append(late, moved...)
	return append(late, events[after:]...)
}
