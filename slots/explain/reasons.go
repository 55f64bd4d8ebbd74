package explain

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/slots"
	"mrlocal/trace"
)

// Reason says why an attempt was started or killed, as values for programs that show it.
// Numbers and Beaten are never nil, so that JSON has [] and not null.
type Reason struct {
	Seq     uint64       `json:"seq"`     // of the event of the decision
	At      int64        `json:"at"`      // in nanoseconds from the start of the run
	Op      string       `json:"op"`      // start or kill
	Job     int32        `json:"job"`     // id of the job
	Slot    int32        `json:"slot"`    // id of the slot
	Rule    string       `json:"rule"`    // "": the event names none
	Text    string       `json:"text"`    // the sentences, in one line
	Numbers []NamedValue `json:"numbers"` // that the decision depended on
	Beaten  []BeatenBy   `json:"beaten"`  // candidates that were not chosen
}

// NamedValue is a number that the decision depended on, in the paper's terms. Value is its
// text, with a unit where it has one.
type NamedValue struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// BeatenBy is a candidate that was not chosen, and the reason. Job is "" for a whole pool.
type BeatenBy struct {
	Pool string `json:"pool"`
	Job  string `json:"job"`
	Why  string `json:"why"`
}

// errNoDecision is the cause if Why is called with an event that is neither a start nor a kill.
var errNoDecision = errors.New("no attempt was started or killed by this event")

// Why returns the reason of the start or kill whose event has number seq, from 1. r is an
// event file from its first line, which need not be complete. Why uses only o.Name and
// o.Policy. It fails if r was changed or is not an event file, or if a replayed decision differs
// from the recorded one. It also fails if event seq is missing, or is neither a start nor a kill.
func Why(r io.Reader, seq uint64, o Options) (*Reason, error) {
	var found *Reason
	err := reasons(r, o, seq, func(x *Reason) bool {
		found = x
		return false
	})
	if err == nil && found == nil {
		err = errs.Inputf(o.Name, "event %d: %w", seq, errNoDecision)
	}
	return found, err
}

// Reasons calls yield with the reason of each start and kill, in order, until yield returns
// false. yield may keep the Reason. r and o are as for Why. Reasons fails if r was changed or
// is not an event file, or if a replayed decision differs from the recorded one. It yields the
// reasons before the place of the error.
func Reasons(r io.Reader, o Options, yield func(x *Reason) bool) error {
	return reasons(r, o, 0, yield)
}

// WhyIdle returns sentences, in one line, that say why nothing ran on a slot at time at. r
// and o are as for Why. If the slot was busy, the sentence says so. WhyIdle fails if r was
// changed or is not an event file, or if a replayed decision differs from the recorded one. It
// also fails if the run has no such slot.
func WhyIdle(r io.Reader, slot int, at time.Duration, o Options) (string, error) {
	var b bytes.Buffer
	err := Sentences(&b, r, Options{Name: o.Name, Policy: o.Policy, WhyIdle: slot, At: at, HasAt: true, Open: true})
	return oneLine(b.String()), err
}

// oneLine joins the lines of paragraphs, and replaces unbreakable spaces by plain ones.
func oneLine(text string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(text, errs.Sticky, " ")), " ")
}

// reasons replays r and yields the reason of decision seq, or those of all decisions if seq
// is 0.
func reasons(r io.Reader, o Options, seq uint64, yield func(x *Reason) bool) error {
	t := newExplainer(io.Discard, Options{Name: o.Name, Policy: o.Policy, Open: true})
	t.mode = &reasoner{t: t, seq: seq, yield: yield}
	return t.run(r)
}

// reasoner is the mode that gives reasons as values.
type reasoner struct {
	silent
	t     *explainer
	seq   uint64 // the only decision that is yielded; 0: all
	yield func(x *Reason) bool
	last  paragraph // of the decision whose event comes next
}

// accepts accepts decisions about attempts, or the one with the number seq.
func (m *reasoner) accepts(a about) bool {
	return a.topic.decision() && (m.seq == 0 || a.seq == m.seq)
}

// add keeps the paragraph until event gets the decision.
func (m *reasoner) add(p paragraph) { m.last = p }

// event yields the reason of a decision. add has the paragraph of the decision already.
func (m *reasoner) event(e *trace.Event, texts []string) {
	p := m.last
	m.last = paragraph{}
	if e.Op != trace.OpStart && e.Op != trace.OpKill || p.text == "" || m.seq != 0 && e.Seq != m.seq {
		// The replay ends once events have greater numbers than seq.
		m.t.stop = m.t.stop || m.seq != 0 && e.Seq > m.seq
		return
	}
	x := &Reason{
		Seq: e.Seq, At: int64(e.At), Op: e.Op.String(), Job: e.Job, Slot: e.Slot, Rule: string(trace.RuleOf(texts)), Text: oneLine(p.text),
		Numbers: []NamedValue{}, Beaten: []BeatenBy{},
	}
	for _, n := range p.why.Numbers {
		x.Numbers = append(x.Numbers, NamedValue{n.Name, n.Value()})
	}
	for _, b := range p.why.Beaten {
		by := BeatenBy{Why: b.Why}
		if b.Job != slots.NoJob {
			by.Job = m.t.jobName(b.Job)
		}
		if int(b.Pool) >= 0 && int(b.Pool) < m.t.v.Pools() {
			by.Pool = errs.OneLine(m.t.v.Pool(b.Pool).Config().Name)
		}
		x.Beaten = append(x.Beaten, by)
	}
	m.t.stop = !m.yield(x)
}

// copyOf returns a copy of w, which belongs to the policy and is valid only while the Ledger
// explains.
func copyOf(w slots.Why) slots.Why {
	return slots.Why{Numbers: append([]slots.Number(nil), w.Numbers...), Beaten: append([]slots.Beaten(nil), w.Beaten...)}
}
