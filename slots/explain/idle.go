package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"mrlocal/errs"
	"mrlocal/slots"
	"mrlocal/trace"
)

// idle tells why nothing ran on a slot: at a time, or in its longest idle
// stretch. It looks whenever all that was decided at an Assign is known.
type idle struct {
	quiet
	t    *teller
	slot slots.SlotID

	lost  bool          // the slot's tracker
	freed time.Duration // when the slot was left last

	now  *stretch // that goes on
	best *stretch
}

// stretch is a time in which a slot was idle, and why: reasons change.
type stretch struct {
	from, to time.Duration
	reasons  []reason
	left     int // reasons left out
	then     string
}

type reason struct {
	from, seen time.Duration // seen: the text is of then
	text       string
	key        string // the text without its numbers
}

// mostReasons bounds what is kept of a stretch: the first ones and the last.
const mostReasons = 8

func (m *idle) begin() error {
	if n := len(m.t.c.Slots); int(m.slot) >= n {
		return errs.Optionf(fmt.Sprintf("slot %d", m.slot), "the run has %s, 0 to %d", counted(n, "slot"), n-1)
	}
	m.now = &stretch{}
	return nil
}

func (m *idle) wants(a about) bool {
	return a.what == start && a.slot == m.slot
}

// follow takes what leaves the slot.
func (m *idle) follow(e *trace.Event) {
	switch {
	case e.Op == trace.OpFinish && slots.SlotID(e.Slot) == m.slot:
		m.freed = e.At
	case e.Op == trace.OpLostTracker && slots.TrackerID(e.A) == m.t.c.Slots[m.slot].Tracker:
		m.freed, m.lost = e.At, true
	}
}

// take ends the stretch where something starts on the slot.
func (m *idle) take(p paragraph) {
	if m.now == nil { // freed and filled at one instant
		return
	}
	m.now.then = firstSentence(p.text)
	m.close(m.t.now)
}

func (m *idle) close(at time.Duration) {
	m.now.to = at
	if m.best == nil || at-m.now.from > m.best.to-m.best.from {
		m.best = m.now
	}
	m.now = nil
}

const waitsForHeartbeat = "its tracker had not reported yet; a slot is filled at its tracker's next heartbeat."

// look takes in the state after an Assign.
func (m *idle) look() {
	if m.t.v.Slot(m.slot).Busy || m.now != nil && !m.lost && m.elsewhere() {
		return
	}
	if m.now == nil {
		m.now = &stretch{from: m.freed}
		if m.t.heartbeats && m.freed < m.t.now {
			m.now.add(m.freed, waitsForHeartbeat)
		}
	}
	m.now.add(m.t.now, m.whyIdle())
}

// elsewhere: the last heartbeat was another tracker's, at which nothing was
// decided about the slot.
func (m *idle) elsewhere() bool {
	return m.t.asked != slots.AllTrackers && m.t.asked != m.t.c.Slots[m.slot].Tracker
}

func (s *stretch) add(at time.Duration, text string) {
	key := withoutNumbers(text)
	if n := len(s.reasons); n > 0 && s.reasons[n-1].key == key {
		s.reasons[n-1].seen, s.reasons[n-1].text = at, text
		return
	}
	if len(s.reasons) == mostReasons {
		half := mostReasons / 2
		copy(s.reasons[half:], s.reasons[half+1:])
		s.reasons = s.reasons[:mostReasons-1]
		s.left++
	}
	if len(s.reasons) == 0 {
		at = max(at, s.from)
	}
	s.reasons = append(s.reasons, reason{at, at, text, key})
}

// withoutNumbers is what of a text stays the same while its numbers change:
// neither the numbers nor the grammar that follows them.
func withoutNumbers(text string) string {
	var words []string
	for _, w := range strings.Fields(strings.ReplaceAll(text, sticky, " ")) {
		switch {
		case strings.Trim(w, "0123456789.,;:()/s") == "", w == "was", w == "were", w == "is", w == "are":
		default:
			words = append(words, strings.TrimSuffix(w, "s"))
		}
	}
	return strings.Join(words, " ")
}

func (m *idle) end() error {
	t := m.t
	name := upper(t.slotName(m.slot))
	if s := t.v.Slot(m.slot); t.o.HasAt && s.Busy {
		t.print(paragraphOf(fmt.Sprintf("%s, was not idle at %s: it held %s.", name, seconds(t.o.At), t.holds(s))))
		return nil
	}
	m.look()
	until := t.now
	if t.o.HasAt {
		until = t.o.At
	}
	if m.now != nil {
		m.now.to = until
	}
	best := m.best
	if m.now != nil && (t.o.HasAt || best == nil || m.now.to-m.now.from > best.to-best.from) {
		best = m.now
	}
	if best == nil || best.to == best.from {
		t.print(paragraphOf(name + ", was never idle."))
		return nil
	}
	switch {
	case t.o.HasAt:
		t.print(paragraphOf(fmt.Sprintf("%s, was idle at %s, and had been since %s.", name, seconds(t.o.At), seconds(best.from))))
	default:
		t.print(paragraphOf(fmt.Sprintf("%s, was idle from %s to %s: its longest idle stretch.", name, seconds(best.from), seconds(best.to))))
	}
	m.reasons(best)
	if best.then != "" {
		t.print(paragraphOf("What ended it: " + best.then))
	}
	return nil
}

func (m *idle) reasons(s *stretch) {
	if len(s.reasons) == 0 {
		m.t.print(paragraphOf("", "The policy had not been asked yet."))
		return
	}
	for i, r := range s.reasons {
		if s.left > 0 && i == mostReasons/2 {
			m.t.print(paragraphOf("", fmt.Sprintf("(Between, the reason changed %s more.)", counted(s.left, "time"))))
		}
		to := s.to
		if i+1 < len(s.reasons) {
			to = s.reasons[i+1].from
		}
		if to == r.from && len(s.reasons) > 1 {
			continue
		}
		when := fmt.Sprintf("From %s to %s", seconds(r.from), seconds(to))
		if r.seen > r.from {
			when += fmt.Sprintf(" (as last seen, at %s)", seconds(r.seen))
		}
		m.t.print(paragraphOf("", when+": "+r.text))
	}
}

// whyIdle words why nothing is on an idle slot, now that all is decided: first
// for tasks of its own kind, then for those of the other one.
func (m *idle) whyIdle() string {
	t, s := m.t, m.t.v.Slot(m.slot)
	switch {
	case m.lost:
		return "the slot was closed, because its tracker was lost."
	case s.State == slots.SlotClosed && s.Extra:
		return "the slot was closed: it is an extra one, and the policy had not opened it."
	case s.State == slots.SlotClosed:
		return "the policy had closed the slot."
	case len(t.jobs) == 0:
		return "no job had been submitted."
	case len(t.active) == 0:
		return "all jobs that had been submitted were over."
	case t.heartbeats && (t.visits[s.Tracker].at < m.freed || t.visits[s.Tracker].ask == 0 && m.elsewhere()):
		return waitsForHeartbeat
	}
	return m.whyNot(s, s.Home) + " " + upper(m.whyNot(s, s.Home.Other()))
}

// whyNot is why no task of kind k went to the slot.
func (m *idle) whyNot(s slots.SlotView, k slots.Kind) string {
	t := m.t
	pending := t.v.Pending(k)
	switch {
	case pending == 0:
		return fmt.Sprintf("no %v could start: %s.", k, t.noneReady(k))
	case !s.Extra && k != s.Home && !m.t.traits.Lends:
		return fmt.Sprintf("%s pending, but under %s a %v slot runs %ss only.", counted(pending, k.String())+" "+were(pending), t.c.PolicyName, s.Home, s.Home)
	}
	return fmt.Sprintf("%s pending, but %s.", counted(pending, k.String())+" "+were(pending), m.declined(s, k))
}

// declined is why pending tasks of kind k were not put on the slot: what the
// policy said when it was asked last, what the Ledger refused it, or what can be
// seen.
func (m *idle) declined(s slots.SlotView, k slots.Kind) string {
	t := m.t
	v := &t.visits[s.Tracker]
	if other := &t.visits[t.last]; t.asked == slots.AllTrackers && v.ask != t.asks && other.ask == t.asks {
		v = other // the cluster was asked once, through another tracker
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
		text := fmt.Sprintf("a %v of %s was refused: %s", k, t.jobName(r.grant.Job), refusalWords(r.reason))
		if r.grant.Kind == k && len(words) < mostAlso && !slices.Contains(words, text) {
			words = append(words, text)
		}
	}
	if len(words) == 0 {
		words = append(words, m.seen(s, k))
	}
	return strings.Join(words, "; ")
}

// seen is what the state itself tells of a policy that says nothing.
func (m *idle) seen(s slots.SlotView, k slots.Kind) string {
	v := m.t.v
	if most := slots.LoadCap(v, s.Tracker, k); !m.t.traits.Lends && v.RunningAt(s.Tracker, k) >= most {
		return fmt.Sprintf("its tracker had its part of the load: with %s to run on %s in all, it takes %d, and %d ran there",
			counted(v.Pending(k)+v.Running(k), k.String()), counted(v.Capacity(k), k.String()+" slot"), most, v.RunningAt(s.Tracker, k))
	}
	var full []string
	for i := range v.Pools() {
		p := v.Pool(slots.PoolID(i))
		if most := p.Config().Max(k); p.Pending(k) > 0 && most > 0 && p.Running(k) >= most {
			full = append(full, fmt.Sprintf("pool %s ran as many as it may, %d", printable(p.Config().Name), most))
		}
	}
	if len(full) > 0 {
		return list(full)
	}
	return m.t.c.PolicyName + " left it, without saying why"
}

// noneReady is why no task of kind k is pending, though jobs run.
func (t *teller) noneReady(k slots.Kind) string {
	var words []string
	for i, id := range t.active {
		if i == mostScanned || len(words) == mostAlso {
			words = append(words, "others likewise")
			break
		}
		j, name := t.v.Job(id), t.jobName(id)
		unstarted := j.Total(k) - j.Done(k) - j.Running(k)
		switch {
		case j.Total(k) == 0 && (k == slots.Reduce || t.jobs[id].sealed):
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

func (t *teller) closedGate(j slots.JobView) string {
	name := t.jobName(j.ID())
	if !t.jobs[j.ID()].sealed {
		return fmt.Sprintf("the gate of %s was closed, because the number of its maps was not known yet", name)
	}
	needed := "all are needed"
	if need := t.need(j); need < j.Total(slots.Map) {
		needed = fmt.Sprintf("%d needed", need)
	}
	return fmt.Sprintf("the gate of %s was closed with %d of %s done (%s)", name, j.Done(slots.Map), counted(j.Total(slots.Map), "map"), needed)
}
