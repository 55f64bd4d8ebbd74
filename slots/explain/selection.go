package explain

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/slots"
	"mrlocal/trace"
)

// selection is the mode that answers with the decisions about a slot or a job, or with those
// that lent a slot. It collects its text and writes it at the end, because the job may turn
// out not to exist.
type selection struct {
	silent
	t       *explainer
	job     slots.JobID // slots.NoJob: not submitted yet
	text    strings.Builder
	written int // decisions so far
}

// begin checks that the run has the slot of the question.
func (m *selection) begin() error {
	m.t.terse = true
	if m.t.o.HasSlot {
		return m.t.knownSlot(m.t.o.Slot)
	}
	return nil
}

// accepts reports whether a fits all parts of the question: Lent, Slot and Job.
func (m *selection) accepts(a about) bool {
	o := &m.t.o
	return (!o.Lent || a.topic == start && a.lent) && (!o.HasSlot || a.isAbout(o.Slot)) &&
		(o.Job == "" || m.job != slots.NoJob && a.job == m.job)
}

// plain reports whether the answer lists loans, one line each.
func (m *selection) plain() bool { return m.t.o.Lent }

// isAbout reports whether a paragraph is about a slot: a start, a kill or a change of it.
func (a *about) isAbout(slot int) bool {
	return (a.topic.decision() || a.topic == change) && int(a.slot) == slot
}

// add keeps a paragraph. If the paragraph is about a loan, it keeps the first sentence up to
// the slot, and the rule.
func (m *selection) add(p paragraph) {
	if m.t.stop {
		return
	}
	text := p.text
	// lentWords say what all lines of this list have in common.
	if m.t.o.Lent {
		text, _, _ = strings.Cut(firstSentence(text), lentWords)
		text = fmt.Sprintf("%s (%v).\n", text, p.rule)
	}
	m.text.WriteString(text)
	if p.topic.decision() {
		m.written++
		m.t.stop = m.written == m.t.o.Limit
	}
}

// event finds the job of the question. It also adds facts that have no paragraphs: statuses
// of the job's attempts, and the ends of attempts on the slot, also with its tracker.
func (m *selection) event(e *trace.Event, texts []string) {
	o := &m.t.o
	say := func(a slots.AttemptID, slot int32, words string) {
		if !o.Lent && (o.Job == "" || m.job == a.Job) && (!o.HasSlot || int(slot) == o.Slot) {
			m.text.WriteString(paragraphOf(fmt.Sprintf("At %s %s %s", seconds(e.At), m.t.attemptName(a), words)))
		}
	}
	a := slots.AttemptID{Job: slots.JobID(e.Job), Kind: e.Kind, Task: slots.TaskID(e.Task), N: e.N}
	switch {
	case e.Op == trace.OpSubmit && m.job == slots.NoJob && (texts[0] == o.Job || strconv.Itoa(int(e.Job)) == o.Job):
		m.job = a.Job
	case e.Op == trace.OpStatus && o.Job != "":
		say(a, e.Slot, "said: "+texts[0])
	case e.Op == trace.OpFinish && o.HasSlot:
		say(a, e.Slot, "ended.")
	case e.Op == trace.OpLostTracker && o.HasSlot:
		// The Ledger does not have the loss yet.
		if s := m.t.v.Slot(slots.SlotID(o.Slot)); s.Busy && int64(s.Tracker) == e.A {
			say(s.Attempt, int32(s.ID), "ended: its tracker was lost.")
		}
	}
}

// end writes the answer, or fails if there is no such job.
func (m *selection) end() error {
	t := m.t
	if t.o.Job != "" && m.job == slots.NoJob {
		return errs.Optionf("job "+t.o.Job, "there is no such job; %s", t.jobList())
	}
	t.print(m.text.String())
	switch {
	case t.stop:
		t.print(fmt.Sprintf("(The list ends here, after %s.)\n", errs.Counted(m.written, "decision")))
	case m.written == 0 && t.o.Lent:
		t.print("No slot was lent.\n")
	case m.written == 0:
		t.print("No such decision was made.\n")
	}
	return nil
}

// slotMoment is the mode that answers what a slot held at a time, or why the slot was idle.
// It adds the decisions about the slot since its latest start, and the next decision after
// that time. It is an idle mode that also keeps the decisions about its slot.
type slotMoment struct {
	idle
	last     string // the latest start on the slot, and the decisions about the slot since then
	answered bool   // the time in the question is over, and the answer is written
}

// passed is called with each event after the time in the question. The first call writes the
// answer. passed reports whether the replay goes on: it ends after an error.
func (m *slotMoment) passed() bool {
	if !m.answered {
		m.t.endAssign()
		m.t.announce()
		m.t.err = m.answer()
		m.answered = true
	}
	return m.t.err == nil
}

// accepts accepts every decision about the slot.
func (m *slotMoment) accepts(a about) bool { return a.isAbout(int(m.slot)) }

// add keeps the text since the latest start, which also ends an idle stretch. After the time
// in the question it writes the next decision and ends the replay.
func (m *slotMoment) add(p paragraph) {
	if m.answered {
		if p.topic.decision() && !m.t.stop {
			m.t.print("The next decision about the slot:\n" + p.text)
			m.t.stop = true
		}
		return
	}
	if p.topic == start {
		m.idle.add(p)
		m.last = ""
	}
	m.last += p.text
}

// end writes the answer, if the run has no event after the time in the question. Otherwise
// it says that no decision came later, if none did.
func (m *slotMoment) end() error {
	if !m.answered {
		return m.answer()
	}
	if !m.t.stop {
		m.t.print("No later decision is about the slot.\n")
	}
	return nil
}

// answer writes what the slot holds or why it is idle, and then m.last.
func (m *slotMoment) answer() error {
	t := m.t
	if s := t.v.Slot(m.slot); s.Busy {
		t.print(paragraphOf(fmt.Sprintf("%s, at %s: %s.", upper(t.slotName(m.slot)), seconds(t.o.At), t.holds(s))))
	} else if err := m.idle.end(); err != nil {
		return err
	}
	if m.last == "" {
		t.print("There was no decision about the slot before.\n")
		return nil
	}
	t.print("The last decision about the slot before:\n" + m.last)
	return nil
}

// knownSlot fails if the run has no such slot. The error lists the slots of the run, in
// ranges of neighbours with the same home kind and tracker.
func (t *explainer) knownSlot(slot int) error {
	if slot < len(t.c.Slots) {
		return nil
	}
	const most = 12 // ranges
	var ranges []string
	for from := 0; from < len(t.c.Slots); {
		kind, to := t.slotSort(from), from
		for to+1 < len(t.c.Slots) && t.slotSort(to+1) == kind {
			to++
		}
		if len(ranges) == most {
			ranges = append(ranges, "…")
			break
		}
		word := strconv.Itoa(from)
		if to > from {
			word += " to " + strconv.Itoa(to)
		}
		ranges = append(ranges, fmt.Sprintf("%s (%s)", word, kind))
		from = to + 1
	}
	return errs.Optionf(fmt.Sprintf("slot %d", slot), "the run has %s: %s", errs.Counted(len(t.c.Slots), "slot"), strings.Join(ranges, ", "))
}

// slotSort returns the home kind of a slot, or "extra", and its tracker if there are several.
func (t *explainer) slotSort(slot int) string {
	s := t.c.Slots[slot]
	kind := s.Home.String()
	if s.Extra {
		kind = "extra"
	}
	if t.v.Trackers() > 1 {
		kind += fmt.Sprintf(", tracker %d", s.Tracker)
	}
	return kind
}

// jobList lists the jobs of the run, for an error. Of more than five jobs it names only the
// first and the last.
func (t *explainer) jobList() string {
	all := t.jobs
	const most = 5
	switch {
	case len(all) == 0:
		return "none was submitted"
	case len(all) > most:
		return fmt.Sprintf("the run has %d, from %s to %s", len(all), all[0].name, all[len(all)-1].name)
	}
	var names []string
	for i := range all {
		names = append(names, all[i].name)
	}
	return "the run has " + list(names)
}

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
func Why(r io.Reader, seq uint64, o Options) (found *Reason, err error) {
	err = reasons(r, o, seq, func(x *Reason) bool {
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
