package slots

import "mrlocal/trace"

// fact records a fact, mixes it into the digest that the next Assign carries,
// and shows it to a policy that learns. texts belong to a Submit.
func (l *Ledger) fact(e trace.Event, texts ...string) {
	if l.stream == nil && l.observer == nil {
		return
	}
	e.At = l.now
	if l.stream != nil {
		if len(texts) > 0 {
			e.Ref = l.stream.Refer(texts...)
		}
		l.digest.Mix(&e, texts)
		l.stream.Append(e)
	}
	if l.observer != nil {
		l.seen = append(l.seen, e)
	}
}

// observed shows the policy the facts that were taken in, at the end of each.
func (l *Ledger) observed() {
	for i := range l.seen {
		l.observer.Observe(l.seen[i])
	}
	l.seen = l.seen[:0]
}

// decided records a decision, or what follows from a fact.
func (l *Ledger) decided(e trace.Event) {
	if l.stream == nil {
		return
	}
	e.At = l.now
	if l.asking {
		l.made = append(l.made, e)
	} else {
		l.stream.Append(e)
	}
}

func attemptEvent(op trace.Op, a AttemptID, s SlotID, r Rule) trace.Event {
	return trace.Event{Op: op, Kind: a.Kind, Rule: r, Job: int32(a.Job), Task: int32(a.Task), N: a.N, Slot: int32(s)}
}

func jobEvent(op trace.Op, j JobID) trace.Event { return trace.Event{Op: op, Job: int32(j)} }

func slotEvent(op trace.Op, s SlotID, r Rule) trace.Event {
	return trace.Event{Op: op, Slot: int32(s), Rule: r}
}
