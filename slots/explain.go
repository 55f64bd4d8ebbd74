package slots

import (
	"fmt"
	"strconv"
	"time"

	"mrlocal/internal/ppm"
)

// Explaining is off unless someone asks (Ledger.Explain): a run records facts
// and decisions, and a replay of them with explaining on says why each decision
// was made, so that a run is not slowed down by it. Off, it costs one comparison
// per grant and per visit, and allocates nothing.

// Number is a quantity that a decision rested on: an integer where Den is 0,
// else the ratio Num/Den.
type Number struct {
	Name     string
	Num, Den int64
}

// Whole is a Number that is an integer.
func Whole[N int32 | int64 | int](name string, n N) Number { return Number{name, int64(n), 0} }

// Decimal is a Number in parts per million.
func Decimal(name string, x float64) Number { return Number{name, int64(ppm.Near(x)), int64(One)} }

// Value is the number without its name: 42, or 3.56 (320/90). A share in parts
// per million stands alone, 0.25; where it is such a share that divides, its
// parts are not told: 3.33 (10/3).
func (n Number) Value() string {
	if n.Den == int64(One) {
		return PPM(n.Num).String()
	}
	if n.Den > 0 && n.Den%int64(One) == 0 {
		d := int64(ppm.GCD(uint64(max(n.Num, 0)), uint64(n.Den)))
		n.Num, n.Den = n.Num/d, n.Den/d
	}
	if n.Den == 0 || n.Den == 1 {
		return strconv.FormatInt(n.Num, 10)
	}
	return fmt.Sprintf("%.2f (%d/%d)", float64(n.Num)/float64(n.Den), n.Num, n.Den)
}

func (n Number) String() string { return n.Name + " = " + n.Value() }

// Beaten is a candidate that a grant passed over, and why.
type Beaten struct {
	Pool PoolID
	Job  JobID // -1: the whole pool
	Why  string
}

// MostBeaten is how many candidates a Why keeps; a policy need name no more.
const MostBeaten = 8

// Why is what a grant rested on: numbers in the paper's own terms, and at most
// eight candidates it beat.
type Why struct {
	Numbers []Number
	Beaten  []Beaten
}

// Declined is what a policy says where it stops: it starts nothing more of a
// kind on this visit.
type Declined struct {
	Kind    Kind
	Reason  string
	Numbers []Number
}

// NoJob is the Job of an Explanation's Grant where none was asked for.
const NoJob JobID = -1

// Explanation is one answer of a policy: a grant it asked for, an attempt it
// had killed, or the end of a visit.
type Explanation struct {
	Now     time.Duration
	Tracker TrackerID // the one that was visited

	Grant     Grant   // as the policy asked for it; Job is NoJob where it asked for none
	Start     Start   // of a grant that was applied
	Refused   Refusal // Granted: it was applied
	Reclaimed SlotID  // the slot whose attempt the policy had killed, or NoSlot
	Why       Why     // of the grant or the kill

	Declined []Declined // at the end of a visit: what was said on it, in order
}

// EndOfVisit reports whether e ends a visit, whatever was declined on it.
func (e *Explanation) EndOfVisit() bool { return e.Grant.Job == NoJob && e.Reclaimed == NoSlot }

// explaining is who asked, and what the policy has said since.
type explaining struct {
	to       func(e *Explanation)
	why      Why
	declined []Declined
}

// Explain has every answer of the policy from now on told to f: each grant it
// asks for, each attempt it has killed, and the end of each visit. e is valid
// during the call, and so is what it points to. nil turns it off.
func (l *Ledger) Explain(f func(e *Explanation)) {
	l.explaining = nil
	if f != nil {
		l.explaining = &explaining{to: f}
	}
}

// Explaining reports whether anyone listens: a policy builds a Why only then.
func (d *Decision) Explaining() bool { return d.l.explaining != nil }

// Because says what the next Grant or Reclaim rests on. It is for that one
// only, whether or not it is applied.
func (d *Decision) Because(w Why) {
	if x := d.l.explaining; x != nil {
		w.Beaten = w.Beaten[:min(len(w.Beaten), MostBeaten)]
		x.why = w
	}
}

// Decline says that this visit starts nothing more of kind k, and why, in words
// that fit after "because". A policy calls it wherever it stops.
func (d *Decision) Decline(k Kind, reason string, numbers ...Number) {
	if x := d.l.explaining; x != nil {
		x.declined = append(x.declined, Declined{k, reason, append([]Number(nil), numbers...)})
	}
}

// explained tells of a grant that was asked for.
func (l *Ledger) explained(g Grant, r Refusal) {
	e := Explanation{Grant: g, Refused: r, Reclaimed: NoSlot, Start: Start{Slot: NoSlot}}
	if r == Granted {
		e.Start = l.orders.Starts[len(l.orders.Starts)-1]
	}
	l.tell(&e)
}

// reclaimed tells of an attempt that the policy has killed.
func (l *Ledger) reclaimed(s SlotID) {
	l.tell(&Explanation{Grant: Grant{Job: NoJob, Slot: NoSlot, Task: NoTask}, Reclaimed: s, Start: Start{Slot: NoSlot}})
}

// visitExplained tells of the end of a visit.
func (l *Ledger) visitExplained() {
	x := l.explaining
	l.tell(&Explanation{
		Grant: Grant{Job: NoJob, Slot: NoSlot, Task: NoTask}, Reclaimed: NoSlot, Start: Start{Slot: NoSlot}, Declined: x.declined,
	})
	x.declined = x.declined[:0]
}

func (l *Ledger) tell(e *Explanation) {
	x := l.explaining
	e.Now, e.Tracker, e.Why = l.now, l.visited, x.why
	x.why = Why{}
	x.to(e)
}

// View is the Ledger's state between its calls, for whoever explains it; a
// policy has its own. It must only be read, and View.Changed not be called: what
// changed is the policy's to learn.
func (l *Ledger) View() *View { return &View{l: l} }
