package slots

import "mrlocal/trace"

// record appends a fact to the stream, adds it to the digest of the next Assign and
// keeps it for the observer. texts are those of a Submit.
func (l *Ledger) record(e trace.Event, texts ...string) {
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
		l.unobserved = append(l.unobserved, e)
	}
}

// observe shows new facts to the policy, once the state includes them.
func (l *Ledger) observe() {
	for i := range l.unobserved {
		l.observer.Observe(l.unobserved[i])
	}
	l.unobserved = l.unobserved[:0]
}

// recordDecision appends a decision by rule r, or what follows from a fact, to the
// stream. The decisions of an Assign wait for its end, because the event of the Assign comes first.
func (l *Ledger) recordDecision(e trace.Event, r Rule) {
	if l.stream == nil {
		return
	}
	e.At, e.Ref = l.now, l.stream.ReferRule(r)
	if l.assigning {
		l.decisions = append(l.decisions, e)
	} else {
		l.stream.Append(e)
	}
}

func attemptEvent(op trace.Op, a AttemptID, s SlotID) trace.Event {
	return trace.Event{Op: op, Kind: a.Kind, Job: int32(a.Job), Task: int32(a.Task), N: a.N, Slot: int32(s)}
}

func jobEvent(op trace.Op, j JobID) trace.Event { return trace.Event{Op: op, Job: int32(j)} }

func slotEvent(op trace.Op, s SlotID) trace.Event { return trace.Event{Op: op, Slot: int32(s)} }
