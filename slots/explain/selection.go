package explain

import (
	"fmt"
	"strconv"
	"strings"

	"mrlocal/errs"
	"mrlocal/slots"
	"mrlocal/trace"
)

// selection answers with the decisions about a slot or a job, or with those that lent a
// slot. It is written at the end, because only then it is certain that there is such a job.
type selection struct {
	t       *explainer
	job     slots.JobID // slots.NoJob: not submitted yet
	text    strings.Builder
	written int // decisions so far
}

// begin checks the slot, which the header of the file knows.
func (m *selection) begin() error {
	m.t.terse = true
	if m.t.o.HasSlot {
		return m.t.knownSlot(m.t.o.Slot)
	}
	return nil
}

// wants what all parts of the question allow.
func (m *selection) wants(a about) bool {
	o := &m.t.o
	switch {
	case o.Lent && !(a.topic == start && a.lent), o.HasSlot && !a.isAbout(o.Slot):
		return false
	}
	return o.Job == "" || m.job != slots.NoJob && a.job == m.job
}

// isAbout reports whether a paragraph is about a slot.
func (a *about) isAbout(slot int) bool {
	return (a.topic.decision() || a.topic == change) && int(a.slot) == slot
}

// add keeps a paragraph. A loan takes one line.
func (m *selection) add(p paragraph) {
	if m.t.stop {
		return
	}
	text := p.text
	if m.t.o.Lent {
		text, _, _ = strings.Cut(firstSentence(text), lentWords)
		text += fmt.Sprintf(" (%v).\n", p.rule)
	}
	m.text.WriteString(text)
	if p.topic.decision() {
		m.written++
		m.t.stop = m.written == m.t.o.Limit
	}
}

// event finds the job, and notes how attempts on the slot end. The Ledger does not have
// the end of an attempt yet.
func (m *selection) event(e *trace.Event, texts []string) {
	switch {
	case e.Op == trace.OpSubmit && m.job == slots.NoJob:
		if texts[0] == m.t.o.Job || strconv.Itoa(int(e.Job)) == m.t.o.Job {
			m.job = slots.JobID(e.Job)
		}
	case e.Op == trace.OpStatus && m.t.o.Job != "" && !m.t.o.Lent && m.job == slots.JobID(e.Job) && (!m.t.o.HasSlot || int(e.Slot) == m.t.o.Slot):
		a := slots.AttemptID{Job: m.job, Kind: e.Kind, Task: slots.TaskID(e.Task), N: e.N}
		m.text.WriteString(paragraphOf(fmt.Sprintf("At %s %s said: %s", seconds(e.At), m.t.attemptName(a), texts[0])))
	case e.Op == trace.OpFinish && m.t.o.HasSlot && !m.t.o.Lent && int(e.Slot) == m.t.o.Slot && (m.t.o.Job == "" || m.job == slots.JobID(e.Job)):
		a := slots.AttemptID{Job: slots.JobID(e.Job), Kind: e.Kind, Task: slots.TaskID(e.Task), N: e.N}
		m.text.WriteString(paragraphOf(fmt.Sprintf("At %s %s ended.", seconds(e.At), m.t.attemptName(a))))
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
		t.print(fmt.Sprintf("(The list ends here, after %s.)\n", counted(m.written, "decision")))
	case m.written == 0 && t.o.Lent:
		t.print("No slot was lent.\n")
	case m.written == 0:
		t.print("No such decision was made.\n")
	}
	return nil
}

// slotMoment answers what a slot held at a time and which decision led to it, or why the
// slot was idle. Then comes the next decision about the slot.
// It is an idle mode that also keeps the decisions about its slot.
type slotMoment struct {
	idle
	last     string // the latest start on the slot, and what was decided about the slot since
	answered bool   // the time of the question is over, and its answer is written
}

// reached writes the answer when the first later event comes, and reports whether the replay
// goes on.
func (m *slotMoment) reached() bool {
	if !m.answered {
		m.t.settle()
		m.t.welcome()
		m.t.err = m.answer()
		m.answered = true
	}
	return m.t.err == nil
}

// wants takes every decision about the slot.
func (m *slotMoment) wants(a about) bool { return a.isAbout(int(m.slot)) }

// add keeps the text since the latest start. A start also ends an idle stretch.
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

// end writes what was not written yet.
func (m *slotMoment) end() error {
	if !m.answered {
		return m.answer()
	}
	if !m.t.stop {
		m.t.print("No later decision is about the slot.\n")
	}
	return nil
}

// answer writes what the slot holds or why it is idle, and then the decisions before.
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

// knownSlot returns an error that lists the slots of the run if it has no such slot.
// Slots of one sort that follow each other are one range of the list.
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
	return errs.Optionf(fmt.Sprintf("slot %d", slot), "the run has %s: %s", counted(len(t.c.Slots), "slot"), strings.Join(ranges, ", "))
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

// jobList lists the jobs of the run, for an error.
// A long run names only its first and its last job.
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
