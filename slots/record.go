package slots

import (
	"math/bits"

	"mrlocal/trace"
)

// digestMask keeps digests exact in readers that know only doubles.
const digestMask = 1<<52 - 1

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
		l.mix(&e, texts)
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

func (l *Ledger) mix(e *trace.Event, texts []string) {
	h := l.digest
	for _, v := range [...]uint64{
		uint64(e.At), uint64(e.Op) | uint64(e.Kind)<<8 | uint64(e.Phase)<<16 | uint64(e.Flags)<<24 | uint64(uint32(e.Job))<<32,
		uint64(uint32(e.Task)) | uint64(uint32(e.N))<<32, uint64(e.A), uint64(e.B), uint64(e.C), uint64(e.D), uint64(e.E), uint64(e.F),
	} {
		h = mix(h, v)
	}
	for _, t := range texts {
		for i := range len(t) {
			h = mix(h, uint64(t[i]))
		}
		h = mix(h, uint64(len(t)))
	}
	l.digest = h
}

// mix is a step of a multiply-and-fold hash.
func mix(h, v uint64) uint64 {
	hi, lo := bits.Mul64(h^v^0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9)
	return hi ^ lo
}

func attemptEvent(op trace.Op, a Attempt, s SlotID, r Rule) trace.Event {
	return trace.Event{Op: op, Kind: a.Kind, Rule: r, Job: int32(a.Job), Task: int32(a.Task), N: a.N, Slot: int32(s)}
}

func jobEvent(op trace.Op, j JobID) trace.Event { return trace.Event{Op: op, Job: int32(j)} }

func slotEvent(op trace.Op, s SlotID, r Rule) trace.Event {
	return trace.Event{Op: op, Slot: int32(s), Rule: r}
}
