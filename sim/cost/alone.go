package cost

import (
	"iter"
	"time"

	"mrlocal/slots"
)

// Alone is L0 and L1: every attempt has what it needs for itself.
type Alone struct{ Config }

// Set says what an attempt does from now on. An EndCopy or EndAttempt event says when
// CopyRest or Working is over. Set returns true if CopyRest is over at once.
func (m *Alone) Set(now time.Duration, t *Task, to Activity) (over bool) {
	switch f := m.Flow(t.Job); to {
	case CopyRest:
		at := f.Copied(t.Started)
		if at <= now {
			return true
		}
		m.Queue.Push(at, EndCopy, int32(t.Slot), t.Gen)
	case Held:
		t.CopyTime = f.Copying(f.Maps)
	case Working:
		t.ends = Later(now, t.Took)
		if t.Kind == slots.Reduce {
			m.Host.Phase(t.Slot, slots.PhaseReduce)
		}
		m.Queue.Push(t.ends, EndAttempt, int32(t.Slot), t.Gen)
	}
	return false
}

// Lose calls drop, which removes lost outputs from a flow that reduces copy.
func (m *Alone) Lose(_ time.Duration, _ iter.Seq[*Task], drop func()) { drop() }

// Done returns the share of its copy, or of its work, that an attempt has done.
func (m *Alone) Done(now time.Duration, t *Task, copying bool) float64 {
	if copying {
		return doneCopying(m.Flow(t.Job), func(f *Flow) time.Duration { return f.Reached(t.Started, now) })
	}
	return doneWorking(t, t.ends-now)
}

// doneCopying returns the share of a copy that is done; reached returns how much is
// copied if copying takes time.
func doneCopying(f *Flow, reached func(f *Flow) time.Duration) float64 {
	all := f.Copying(f.Maps)
	switch {
	case f.Maps == 0:
		return 1
	case all == 0:
		return float64(f.There) / float64(f.Maps)
	}
	return float64(reached(f)) / float64(all)
}

// doneWorking returns the share of the work that is done; left is still to do.
func doneWorking(t *Task, left time.Duration) float64 {
	if t.Took <= 0 {
		return 1
	}
	return 1 - float64(left)/float64(t.Took)
}
