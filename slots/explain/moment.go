package explain

import (
	"fmt"
	"strings"

	"mrlocal/slots"
)

// The state at a time is the state of the replayed Ledger when the first later event comes.
// It has a line per slot, the demand of each kind in the papers' terms, and a line per job.

// moment answers with the state at a time and the last decision before it.
type moment struct {
	t    *explainer
	last string
}

// wants takes decisions on attempts; the last one is shown below the state.
func (m *moment) wants(a about) bool { return a.topic.decision() }

// add keeps the latest paragraph, because the time in the question may end the replay
// at any event.
func (m *moment) add(p paragraph) { m.last = p.text }

// end writes slots, demand and jobs, then the last decision.
func (m *moment) end() error {
	t := m.t
	text := fmt.Sprintf("The state at %s, under %s", seconds(t.o.At), t.c.PolicyName)
	if t.now < t.o.At && len(t.jobs) > 0 && len(t.active) == 0 { // the question is about a time after the run
		text += fmt.Sprintf(" (all jobs had ended by %s)", seconds(t.now))
	}
	t.print(text + ":\n")
	for i := range t.c.Slots {
		id := slots.SlotID(i)
		if s := t.v.Slot(id); s.Extra && s.State == slots.SlotClosed {
			continue // the policy has not opened it
		}
		t.print(m.slot(id))
	}
	for _, k := range []slots.Kind{slots.Map, slots.Reduce} {
		t.print(m.demand(k))
	}
	for i, id := range t.active {
		if i == mostJobs {
			t.print(fmt.Sprintf("%s(and %d more)\n", indent, len(t.active)-i))
			break
		}
		t.print(m.job(id))
	}
	if m.last == "" {
		t.print("There was no decision before it.\n")
		return nil
	}
	t.print("The last decision before it:\n" + m.last)
	return nil
}

// mostJobs is how many jobs a state lists.
const mostJobs = 50

// slot returns the line on a slot.
func (m *moment) slot(id slots.SlotID) string {
	s := m.t.v.Slot(id)
	holds := "idle"
	switch {
	case s.Busy:
		holds = m.t.holds(s)
		if s.State == slots.SlotDraining {
			holds += "; then the slot closes"
		}
	case s.State == slots.SlotClosed:
		holds = "closed"
	}
	return fmt.Sprintf("%s%s: %s\n", indent, m.t.slotName(id), holds)
}

// demand returns the paragraph on the slots demand of kind k, which is pending tasks and
// used slots, and on the load factor, which is the demand divided by the capacity
// [DHFS13, Alg. 1, l. 1].
func (m *moment) demand(k slots.Kind) string {
	v := m.t.v
	w := v.Weights()
	pending, used, capacity, lent := v.Pending(k), v.Used(k), v.Capacity(k), v.LentBy(k)
	text := fmt.Sprintf("%ss: %d pending, %d running. ", upper(k.String()), pending, v.Running(k))
	if w.Bound() { // the counts are in weight then
		text += fmt.Sprintf("Of the weight of %s, %d each, %d of %d used", counted(capacity, k.String()+" slot"), w.Of(k), used, w.Times(k, capacity))
		pending, capacity = w.Times(k, pending), w.Times(k, capacity)
	} else {
		text += fmt.Sprintf("%d of %s used", used, counted(capacity, k.String()+" slot"))
	}
	if lent > 0 {
		text += fmt.Sprintf(", %d of them by %ss", lent, k.Other())
	}
	text += fmt.Sprintf(". The demand for them is %d", pending+used)
	if capacity > 0 {
		text += ": load factor " + slots.Number{Num: int64(pending + used), Den: int64(capacity)}.Value()
	}
	return paragraphOf("", text+".")
}

// job returns the paragraph on a job.
func (m *moment) job(id slots.JobID) string {
	t, j := m.t, m.t.v.Job(id)
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s:", t.jobName(id), t.ofPool(id))
	for _, k := range []slots.Kind{slots.Map, slots.Reduce} {
		if j.Total(k) == 0 {
			continue
		}
		fmt.Fprintf(&b, " %d of %s done, %d running;", j.Done(k), counted(j.Total(k), k.String()), j.Running(k))
	}
	text := strings.TrimSuffix(b.String(), ";")
	switch {
	case !j.Runnable():
		text += "; it has to wait: " + t.limits(id)
	case j.Total(slots.Reduce) > 0 && !t.jobs[id].gate && t.jobs[id].sealed:
		text += fmt.Sprintf("; its gate opens at %s", counted(t.need(j), "map"))
	case j.Total(slots.Reduce) > 0 && !t.jobs[id].gate:
		text += "; its gate opens when the number of its maps is known"
	}
	return paragraphOf("", text)
}
