package slots

import (
	"time"

	"mrlocal/internal/ppm"
	"mrlocal/trace"
)

// Explanations are off during a run, which only records facts and decisions. A replay turns
// explanations on (Ledger.Explain), and the policy then gives its reasons with each
// decision. Explanations that are off cost one comparison per grant and per visit, and
// allocate nothing.

// Number is a number that a decision depends on, with its name. It is a fraction of integers,
// so that it is exact.
type Number = ppm.Number

// Whole returns an integer Number.
func Whole[N int32 | int64 | int](name string, n N) Number { return Number{Name: name, Num: int64(n)} }

// Decimal returns a Number with six decimals.
func Decimal(name string, x float64) Number {
	return Number{Name: name, Num: int64(ppm.Near(x)), Den: int64(One)}
}

// Beaten is a candidate that the policy did not choose.
type Beaten struct {
	Pool PoolID
	Job  JobID  // NoJob: the whole pool
	Why  string // the reason, in words
}

// MostBeaten is how many candidates a Why keeps. Because drops the others, so a policy need
// not name more.
const MostBeaten = 8

// Why has the reasons of a grant or a kill. Numbers are in the terms of the paper. Beaten
// has the candidates that were not chosen, the best ones first.
type Why struct {
	Numbers []Number
	Beaten  []Beaten
}

// Declined says why a policy starts nothing more of a kind during a visit.
type Declined struct {
	Kind    Kind
	Reason  string
	Numbers []Number
}

// Explanation is one of three things: a grant that the policy asked for, an attempt that
// it had killed, or the end of a visit.
type Explanation struct {
	Now     time.Duration
	Tracker TrackerID // the tracker that is visited

	Grant     Grant   // as the policy asked for it; Job is NoJob if this is not a grant
	Start     Start   // what a grant started
	Refused   Refusal // the result of the grant
	Reclaimed SlotID  // the slot whose attempt the policy had killed; NoSlot: none
	Why       Why     // of the grant or the kill

	Declined []Declined // at the end of a visit: all that was declined, in order
}

// EndOfVisit reports whether e is the end of a visit.
func (e *Explanation) EndOfVisit() bool { return e.Grant.Job == NoJob && e.Reclaimed == NoSlot }

// explaining is the listener, and the reasons that the policy gave since the last call of the
// listener.
type explaining struct {
	listen   func(e *Explanation)
	wants    func(start int) bool // nil: all reasons are wanted
	why      Why
	declined []Declined
}

// Explain makes the Ledger call f with every answer of the policy from now on. Answers are
// the grants that the policy asks for, the attempts that it kills, and the ends of visits. The
// explanation, and all that it points to, is valid during the call. f must not call methods
// of the Ledger that change it. If f is nil, explanations are off.
//
// Reasons take longer than decisions. So wants says whether a reason is wanted for the start
// with that number in the present Assign, from 0, and for what happens until then. nil: all
// reasons are wanted.
func (l *Ledger) Explain(f func(e *Explanation), wants func(start int) bool) {
	l.explaining = nil
	if f != nil {
		l.explaining = &explaining{listen: f, wants: wants}
	}
}

// Explaining reports whether explanations are on. A policy that prepares reasons for later
// Assigns should do so only then.
func (d *Decision) Explaining() bool { return d.l.explaining != nil }

// WantsReason reports whether the reason of the next Grant, Reclaim or Decline is wanted. A
// policy should build it only then.
func (d *Decision) WantsReason() bool {
	x := d.l.explaining
	return x != nil && (x.wants == nil || x.wants(len(d.l.orders.Starts)))
}

// Because gives the reason of the next Grant or Reclaim. The reason holds for that call
// alone, whatever its result. The slices of w must stay unchanged until the call returns.
func (d *Decision) Because(w Why) {
	if x := d.l.explaining; x != nil {
		w.Beaten = w.Beaten[:min(len(w.Beaten), MostBeaten)]
		x.why = w
	}
}

// Decline says that this visit starts nothing more of kind k, and why. reason is a clause
// that can follow "because". A policy calls Decline at each place where it stops.
func (d *Decision) Decline(k Kind, reason string, numbers ...Number) {
	if x := d.l.explaining; d.WantsReason() {
		x.declined = append(x.declined, Declined{k, reason, append([]Number(nil), numbers...)})
	}
}

// explain calls the listener, if there is one, with what set sets, and with the reasons that the policy gave since
// the last call. Without set it is an explanation of nothing, because a zero id names job 0 or slot 0.
func (l *Ledger) explain(set func(e *Explanation)) {
	x := l.explaining
	if x == nil {
		return
	}
	e := Explanation{
		Now: l.now, Tracker: l.visited, Why: x.why,
		Grant: Grant{Job: NoJob, Slot: NoSlot, Task: NoTask}, Start: Start{Slot: NoSlot}, Reclaimed: NoSlot,
	}
	x.why = Why{}
	set(&e)
	x.listen(&e)
}

// View returns the Ledger's state, for drivers and explanations between calls of the
// Ledger. It must only be read: View.Changed belongs to the policy.
func (l *Ledger) View() *View { return &View{l: l} }

// record appends a fact to the stream, mixes it into the digest that the next Assign records,
// and keeps it for the observer. texts are the name, pool and user of a Submit.
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
	if l.observer != nil && e.Op != trace.OpProgress {
		l.unobserved = append(l.unobserved, e)
	}
}

// observe gives new facts to the policy. It is called once the state includes them.
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
