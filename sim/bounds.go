package sim

import (
	"fmt"
	"time"
)

// bounds keep a run from going on for ever, or until the memory is full. An attempt that
// ends by itself, a submission and a fault are progress. Everything else, such as a
// heartbeat, a start, a kill or a change of phase, is not.
type bounds struct {
	mostEvents  int64 // since the last progress
	mostAtOnce  int64 // since the last progress, for one instant
	mostPending int   // in the queue

	events, atOnce int64
	now            time.Duration
}

// newBounds returns bounds that no run reaches that does something. 100 million events
// are a year of heartbeats of ten trackers.
func newBounds(slotCount, jobCount int) bounds {
	n := slotCount + jobCount
	return bounds{
		mostEvents:  100_000_000 + 10_000*int64(n),
		mostAtOnce:  1_000_000 + 1000*int64(n),
		mostPending: 16_000_000 + 100*n, // 24 bytes each
	}
}

// progress starts the counts anew.
func (b *bounds) progress() { b.events, b.atOnce = 0, 0 }

// count counts an event. It fails if there were too many.
func (b *bounds) count(now time.Duration, pending int) error {
	if now != b.now {
		b.now, b.atOnce = now, 0
	}
	b.events++
	b.atOnce++
	switch {
	case b.atOnce > b.mostAtOnce:
		return fmt.Errorf("%d events for the same time, and no attempt has ended", b.mostAtOnce)
	case b.events > b.mostEvents:
		return fmt.Errorf("%d events since an attempt has ended", b.mostEvents)
	case pending > b.mostPending:
		return fmt.Errorf("%d events are pending", pending)
	}
	return nil
}
