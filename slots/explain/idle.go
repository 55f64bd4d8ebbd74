package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/slots"
	"mrlocal/trace"
)

// An event file does not record why a slot is idle. The reason follows from the state after
// each Assign, and from the policy's answers at the latest visit of the slot's tracker.
// whyIdle looks for these reasons, in this order:
//
//   - The slot is closed, or there is no job.
//   - The driver sends heartbeats, and the tracker has sent none since the slot is free.
//   - No task of a kind may start (noneReady): gates are closed, jobs wait for limits, or
//     all tasks run or are done.
//   - Tasks are pending, but the slot is of the other kind and the policy does not lend.
//   - The policy declined, or the Ledger refused its grants (declined).
//   - The state shows a reason that the policy did not give (fromState).
//
// A reason holds until another one replaces it. Many Assigns give the same reason with
// other numbers, so reasons are compared without their numbers.

// idle is the mode that answers why nothing ran on a slot, at a time or in its longest idle
// stretch. It notes a reason whenever time passes, so each reason holds until the next one.
type idle struct {
	silent
	t    *explainer
	slot slots.SlotID

	lost  bool          // the tracker of the slot is lost
	freed time.Duration // when the last attempt on the slot ended; 0: there was none
	asked time.Duration // when the policy last decided for the tracker; negative: never

	pending [trace.Kinds]time.Duration // by kind: since when tasks are pending; negative: none are

	now  *stretch // the stretch that goes on; nil: the slot is busy, or no Assign came since it is free
	best *stretch // the longest stretch that is over; nil: there is none
}

// stretch is a time in which a slot was idle, and the reasons, in order.
type stretch struct {
	from, to time.Duration
	reasons  []reason // at most mostReasons
	left     int      // number of reasons that were left out of the middle
	then     string   // the sentence on the start that ended the stretch; "": none did
}

// reason is why the slot was idle from a time on.
type reason struct {
	from, to time.Duration // to is known once another reason holds
	seen     time.Duration // the text describes the state at this time
	text     string
	key      string // the text without its numbers, to recognise the same reason
}

// mostReasons is how many reasons of a stretch are kept: the first half and the last half.
// It bounds memory and the length of the answer.
const mostReasons = 8

// begin checks that the run has the slot. The slot is idle from the start of the run.
func (m *idle) begin() error {
	if err := m.t.knownSlot(int(m.slot)); err != nil {
		return err
	}
	m.now = &stretch{}
	m.asked = -1
	m.pending = [trace.Kinds]time.Duration{-1, -1}
	return nil
}

// accepts accepts a start on the slot. Such a start ends a stretch.
func (m *idle) accepts(a about) bool {
	return a.topic == start && a.slot == m.slot
}

// usesDeclined reports whether the present visit may decline what the slot waits for. A busy slot
// does not become free during an Assign.
func (m *idle) usesDeclined() bool { return !m.t.v.Slot(m.slot).Busy }

// event notes when the slot becomes free, when it closes for good with its tracker, and when the
// policy is asked.
func (m *idle) event(e *trace.Event, _ []string) {
	switch {
	// The heartbeat of another tracker decides nothing about the slot. An AssignAll concerns all trackers.
	case e.Op == trace.OpAssign && (m.t.asked == slots.AllTrackers || m.t.asked == m.t.c.Slots[m.slot].Tracker):
		m.asked = e.At
	case e.Op == trace.OpFinish && slots.SlotID(e.Slot) == m.slot:
		m.freed = e.At
	case e.Op == trace.OpLostTracker && slots.TrackerID(e.A) == m.t.c.Slots[m.slot].Tracker:
		m.freed, m.lost = e.At, true
	}
}

// add ends the stretch at the start of an attempt on the slot.
func (m *idle) add(p paragraph) {
	if m.now == nil { // the attempt started at the first Assign after the slot became free
		return
	}
	m.now.then = firstSentence(p.text) // the rest is about the decision, not about the slot
	m.close(m.t.now)
}

// close ends the stretch that goes on. Of equally long stretches, best keeps the first.
func (m *idle) close(at time.Duration) {
	m.now.to = at
	if m.best == nil || at-m.now.from > m.best.to-m.best.from {
		m.best = m.now
	}
	m.now = nil
}

// waitsForHeartbeat is the reason of a slot whose tracker the policy could not decide for
// yet.
const waitsForHeartbeat = "its tracker had not sent a heartbeat yet, and a free slot gets a task at the next heartbeat of its tracker."

// notAsked is the reason of a slot that became free, or got work, since the latest Assign of a
// driver without heartbeats.
const notAsked = "the policy had not been asked since."

// passes notes the reason that holds from now on. If the slot has become free, it begins a
// stretch at that time.
func (m *idle) passes() {
	for k := range slots.Kind(trace.Kinds) {
		switch {
		case m.t.v.Pending(k) == 0:
			m.pending[k] = -1
		case m.pending[k] < 0:
			m.pending[k] = m.t.now
		}
	}
	if m.t.v.Slot(m.slot).Busy {
		return
	}
	if m.now == nil {
		m.now = &stretch{from: m.freed}
	}
	m.now.add(m.t.now, m.whyIdle())
}

// unasked reports whether the policy has not been asked since the slot became free, or since
// tasks of a kind are pending.
func (m *idle) unasked() bool {
	return m.asked < max(m.freed, m.pending[slots.Map], m.pending[slots.Reduce])
}

// add adds a reason that holds from time at. If the last reason differs only in numbers, the
// new text replaces the old one. If there are mostReasons already, the oldest reason of the
// second half is left out.
func (s *stretch) add(at time.Duration, text string) {
	key := withoutNumbers(text)
	if n := len(s.reasons); n > 0 && s.reasons[n-1].key == key {
		s.reasons[n-1].seen, s.reasons[n-1].text = at, text
		return
	}
	if n := len(s.reasons); n > 0 {
		s.reasons[n-1].to = at
	}
	if len(s.reasons) == mostReasons {
		half := mostReasons / 2
		copy(s.reasons[half:], s.reasons[half+1:])
		s.reasons = s.reasons[:mostReasons-1]
		s.left++
	}
	// No reason holds before the stretch begins.
	if len(s.reasons) == 0 {
		at = max(at, s.from)
	}
	s.reasons = append(s.reasons, reason{from: at, seen: at, text: text, key: key})
}

// withoutNumbers returns the words of a text that stay the same while its numbers change. It
// removes the numbers, the forms of "to be" and the plural s. The result is a key for
// comparison and is never shown.
func withoutNumbers(text string) string {
	var words []string
	for w := range strings.FieldsSeq(strings.ReplaceAll(text, errs.Sticky, " ")) {
		if strings.Trim(w, "0123456789.,;:()/s") != "" && !slices.Contains([]string{"was", "were", "is", "are"}, w) {
			words = append(words, strings.TrimSuffix(w, "s"))
		}
	}
	return strings.Join(words, " ")
}

// end writes the stretch that contains the time in the question, or the longest one. The
// longest one may be the stretch that goes on at the end of the run.
func (m *idle) end() error {
	t := m.t
	name := upper(t.slotName(m.slot))
	if s := t.v.Slot(m.slot); t.o.HasAt && s.Busy {
		t.print(paragraphOf(fmt.Sprintf("%s, was not idle at %s: it held %s.", name, seconds(t.o.At), t.holds(s))))
		return nil
	}
	m.passes()
	if m.now != nil {
		m.now.to = t.until()
	}
	// With a time in the question only the stretch at that time is the answer.
	best := m.best
	if m.now != nil && (t.o.HasAt || best == nil || m.now.to-m.now.from > best.to-best.from) {
		best = m.now
	}
	if best == nil || best.to == best.from {
		t.print(paragraphOf(name + ", was never idle."))
		return nil
	}
	if t.o.HasAt {
		t.print(paragraphOf(fmt.Sprintf("%s, was idle at %s, and had been since %s.", name, seconds(t.o.At), seconds(best.from))))
	} else {
		t.print(paragraphOf(fmt.Sprintf("%s, was idle from %s to %s: its longest idle stretch.", name, seconds(best.from), seconds(best.to))))
	}
	m.reasons(best)
	if best.then != "" {
		t.print(paragraphOf("What ended it: " + best.then))
	}
	return nil
}

// reasons prints the reasons of a stretch with their times. Those that were left out of the
// middle are a gap.
func (m *idle) reasons(s *stretch) {
	if len(s.reasons) == 0 {
		m.t.print(paragraphOf("", "The policy had not been asked yet."))
		return
	}
	for i, r := range s.reasons {
		if s.left > 0 && i == mostReasons/2 {
			m.t.print(paragraphOf("", fmt.Sprintf("(In between, the reason changed %s more.)", errs.Counted(s.left, "time"))))
		}
		to := r.to
		if i+1 == len(s.reasons) {
			to = s.to
		}
		if to == r.from && len(s.reasons) > 1 { // it held for no time
			continue
		}
		when := fmt.Sprintf("From %s to %s", seconds(r.from), seconds(to))
		if r.seen > r.from {
			when += fmt.Sprintf(" (as last seen, at %s)", seconds(r.seen))
		}
		m.t.print(paragraphOf("", when+": "+r.text))
	}
}

// whyIdle says why nothing runs on a free slot from now on. If the slot is open and jobs
// are active, it gives two reasons. The first is about tasks of the slot's own kind, the
// second about tasks of the other kind.
func (m *idle) whyIdle() string {
	t, s := m.t, m.t.v.Slot(m.slot)
	switch {
	case m.lost:
		return "the slot was closed, because its tracker was lost."
	case s.State == slots.SlotClosed && s.Extra:
		return "the slot was closed: it is an extra slot, and the policy had not opened it."
	case s.State == slots.SlotClosed:
		return "the policy had closed the slot."
	case len(t.jobs) == 0:
		return "no job had been submitted."
	case len(t.active) == 0:
		return "all submitted jobs had ended."
	case t.heartbeats && m.unasked():
		return waitsForHeartbeat
	case m.unasked():
		return notAsked
	}
	return m.whyNot(s, s.Home) + " " + upper(m.whyNot(s, s.Home.Other()))
}

// whyNot says why no task of kind k went to the slot. Any policy may put tasks of both kinds
// on an extra slot.
func (m *idle) whyNot(s slots.SlotView, k slots.Kind) string {
	t := m.t
	pending := t.v.Pending(k)
	switch {
	case pending == 0:
		return fmt.Sprintf("no %v could start: %s.", k, t.noneReady(k))
	case !s.Extra && k != s.Home && !t.traits.Lends:
		return fmt.Sprintf("%s pending, but under %s a %v slot runs only %ss.", countedWere(pending, k.String()), t.c.PolicyName, s.Home, s.Home)
	}
	return fmt.Sprintf("%s pending, but %s.", countedWere(pending, k.String()), m.declined(s, k))
}

// declined says why pending tasks of kind k did not go to the slot. It lists what the policy
// declined at the latest visit, then the grants that the Ledger refused. If there are none
// of both, it looks for a reason in the state.
func (m *idle) declined(s slots.SlotView, k slots.Kind) string {
	t := m.t
	// If AssignAll skipped the slot's tracker, its own visit is older than the latest Assign.
	v := &t.visits[s.Tracker]
	if other := &t.visits[t.last]; t.asked == slots.AllTrackers && v.ask != t.asks && other.ask == t.asks {
		v = other // AssignAll did not visit this tracker; the reasons at its last visit hold for all
	}
	var words []string
	for _, d := range v.declined {
		if d.Kind != k {
			continue
		}
		text := d.Reason
		if len(d.Numbers) > 0 {
			text += " (" + numbers(d.Numbers) + ")"
		}
		words = append(words, fmt.Sprintf("%s declined: %s", t.c.PolicyName, text))
	}
	for _, r := range v.refused {
		text := fmt.Sprintf("a %v of %s was refused: %s", k, t.jobName(r.Grant.Job), refusalWords(r.Refused))
		if r.Grant.Kind == k && len(words) < mostAlso && !slices.Contains(words, text) {
			words = append(words, text)
		}
	}
	if len(words) == 0 {
		words = append(words, m.fromState(s, k))
	}
	return strings.Join(words, "; ")
}

// fromState returns a reason that the state shows, for a policy that gives none. It looks at
// the even load of a tracker, which policies without lending keep to, and at the limits of
// pools. If neither applies, it says that the policy gave no reason.
func (m *idle) fromState(s slots.SlotView, k slots.Kind) string {
	v := m.t.v
	if most := slots.LoadCap(v, s.Tracker, k); !m.t.traits.Lends && v.RunningAt(s.Tracker, k) >= most {
		return fmt.Sprintf("its tracker had its share of the load: of %s on %s in all it takes %d, and %d ran there",
			errs.Counted(v.Pending(k)+v.Running(k), k.String()), errs.Counted(v.Capacity(k), k.String()+" slot"), most, v.RunningAt(s.Tracker, k))
	}
	// A pool at its limit is a reason only if it has pending tasks.
	var full []string
	for i := range v.Pools() {
		p := v.Pool(slots.PoolID(i))
		if most := p.Config().Max(k); p.Pending(k) > 0 && most > 0 && p.Running(k) >= most {
			full = append(full, fmt.Sprintf("pool %s was at its limit of %d", errs.OneLine(p.Config().Name), most))
		}
	}
	if len(full) > 0 {
		return list(full)
	}
	return m.t.c.PolicyName + " left it idle and gave no reason"
}

// noneReady says why no task of kind k is pending although jobs have not ended. Jobs wait
// for different things, so it lists the reasons of the first mostAlso jobs that have one.
func (t *explainer) noneReady(k slots.Kind) string {
	var words []string
	for i, id := range t.active {
		if i == mostScanned || len(words) == mostAlso {
			words = append(words, "more jobs likewise")
			break
		}
		// The cases go from the job as a whole to its gate and its single tasks.
		j, name := t.v.Job(id), t.jobName(id)
		unstarted := j.Total(k) - j.Done(k) - j.Running(k)
		switch {
		case j.Total(k) == 0 && (k == slots.Reduce || t.jobs[id].sealed): // it has no such tasks
		case !j.Runnable():
			words = append(words, fmt.Sprintf("%s waited to be admitted (%s)", name, t.limits(id)))
		case k == slots.Reduce && !t.jobs[id].gate && unstarted > 0:
			words = append(words, t.closedGate(j))
		case k == slots.Map && unstarted > 0:
			words = append(words, fmt.Sprintf("the next maps of %s were not ready", name))
		case k == slots.Map && !t.jobs[id].sealed:
			words = append(words, fmt.Sprintf("more maps of %s were not known yet", name))
		}
	}
	if len(words) == 0 {
		return fmt.Sprintf("every %v was running or done", k)
	}
	return list(words)
}

// closedGate says why the gate of a job is closed, with the numbers of this moment.
func (t *explainer) closedGate(j slots.JobView) string {
	name := t.jobName(j.ID())
	if !t.jobs[j.ID()].sealed {
		return fmt.Sprintf("the gate of %s was closed, because the number of its maps was not known yet", name)
	}
	needed := "all are needed"
	if need := t.need(j); need < j.Total(slots.Map) {
		needed = fmt.Sprintf("%d needed", need)
	}
	return fmt.Sprintf("the gate of %s was closed with %d of %s done (%s)", name, j.Done(slots.Map), errs.Counted(j.Total(slots.Map), "map"), needed)
}
