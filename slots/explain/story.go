package explain

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/slots"
	"mrlocal/trace"
)

// The story of a task consists of paragraphs on its own starts and kills, and on what
// happened to its job. It also has details that only the event file has: statuses, spills
// and the durations of attempts.

// taskID is a task as the question names it.
type taskID struct {
	text string
	job  string // a name or a number
	kind slots.Kind
	task slots.TaskID
}

// parseTask reads a task such as J01/m/7 or J01/reduce/0. The name of the job may contain
// slashes. It does not know whether the job and the task exist; story.end checks that.
func parseTask(text string) (taskID, error) {
	id := taskID{text: text}
	parts := strings.Split(text, "/")
	n := len(parts)
	// Only the last two parts are sure to be kind and number.
	bad := errs.Optionf("task "+text, "write a task as J01/m/7: job, m or r, number")
	if n < 3 {
		return id, bad
	}
	id.job = strings.Join(parts[:n-2], "/")
	switch parts[n-2] {
	case "m", "map":
	case "r", "reduce":
		id.kind = slots.Reduce
	default:
		return id, bad
	}
	number, err := strconv.ParseUint(parts[n-1], 10, 31)
	if err != nil || id.job == "" {
		return id, bad
	}
	id.task = slots.TaskID(number)
	return id, nil
}

// story is the mode that answers what happened to a task. It collects its text and writes
// it at the end, because the task may turn out not to exist.
type story struct {
	silent
	t    *explainer
	id   taskID
	job  slots.JobID // slots.NoJob: not submitted yet
	text strings.Builder

	failures int32           // failed attempts and lost outputs
	killed   bool            // the Ledger has ordered the end of an attempt since the latest start
	done     bool            // an attempt is committed, or the output is restored
	doneOn   slots.TrackerID // of the committed attempt; -1: none
	began    time.Duration   // start of the first attempt
	starts   int

	spills     int   // of all attempts since the latest start
	spillBytes int64 // as spills, in bytes of the segments
}

func (s *story) begin() error {
	s.t.terse = true
	return nil
}

// accepts accepts paragraphs about the task, and those about its job. A map does not depend
// on the gate of its job.
func (s *story) accepts(a about) bool {
	isGate := a.topic == gate && s.id.kind == slots.Map
	return s.job != slots.NoJob && !isGate && a.job == s.job && (!a.task || s.is(a.attempt))
}

// is reports whether a is an attempt of the task.
func (s *story) is(a slots.AttemptID) bool {
	return a.Job == s.job && a.Kind == s.id.kind && a.Task == s.id.task
}

// add keeps a paragraph, and counts attempts by the paragraphs on their starts.
func (s *story) add(p paragraph) {
	switch p.topic {
	case start:
		if s.starts == 0 {
			s.began = s.t.now
		}
		s.starts++
		s.killed, s.spills, s.spillBytes = false, 0, 0 // these describe one attempt
	case kill:
		s.killed = true
	}
	s.text.WriteString(p.text)
}

// event finds the job of the task, and adds the steps of the task's attempts to the story.
// Until the job is submitted, event ignores all events.
func (s *story) event(e *trace.Event, texts []string) {
	a := slots.AttemptID{Job: slots.JobID(e.Job), Kind: e.Kind, Task: slots.TaskID(e.Task), N: e.N}
	switch {
	case e.Op == trace.OpSubmit && s.job == slots.NoJob && (texts[0] == s.id.job || strconv.Itoa(int(e.Job)) == s.id.job):
		s.job = a.Job
	case e.Op == trace.OpLostTracker && s.job != slots.NoJob:
		s.trackerLost(e)
	case s.job == slots.NoJob || !s.is(a): // the event is about another task
	case e.Op == trace.OpFinish && e.Slot >= 0:
		s.finished(e, a)
	case e.Op == trace.OpPhase && e.Phase != slots.PhaseCompute && e.Phase != slots.PhaseNone:
		s.say(e.At, "attempt %d went into its %v phase.", a.N, e.Phase)
	case e.Op == trace.OpStatus:
		s.say(e.At, "attempt %d said: %s", a.N, texts[0])
	case e.Op == trace.OpSpillEnd:
		s.spills++
		s.spillBytes += e.A
	case e.Op == trace.OpRestore: // wordEvent makes the paragraph
		s.done = true
	case e.Op == trace.OpLostOutput && s.done: // wordEvent makes the paragraph
		s.done = false
		s.failures++
	}
}

// say adds the paragraph "At 3.0s ..." with a formatted text.
func (s *story) say(at time.Duration, format string, args ...any) {
	s.text.WriteString(paragraphOf("At " + seconds(at) + " " + fmt.Sprintf(format, args...)))
}

// finished says how attempt a ended. The first attempt that ends well commits the task;
// later ones do not count.
func (s *story) finished(e *trace.Event, a slots.AttemptID) {
	t := s.t
	slot := t.v.Slot(slots.SlotID(e.Slot)) // the Ledger does not have the fact yet, so the slot still holds a
	took := seconds(e.At - slot.Started)
	if s.spills > 0 {
		took += fmt.Sprintf(", having spilled %s (%.1f MiB)", errs.Counted(s.spills, "time"), float64(s.spillBytes)/(1<<20))
	}
	// An attempt that ends after its job commits nothing.
	running := t.l.JobState(a.Job) == slots.Running
	switch {
	case e.Has(trace.OK) && !s.done && running:
		s.done, s.doneOn = true, slot.Tracker
		s.say(e.At, "attempt %d was done and committed, after %s.", a.N, took)
	case e.Has(trace.OK):
		s.say(e.At, "attempt %d was done after %s, but too late to count.", a.N, took)
	case e.Has(trace.Killed) || s.killed:
		s.say(e.At, "attempt %d ended: it was killed after %s.", a.N, took)
	default:
		s.failures++
		s.say(e.At, "attempt %d failed after %s. This is failure %d; the job fails with failure %d.", a.N, took, s.failures, t.c.MaxAttempts)
	}
}

// trackerLost says what the loss of a tracker means for the task. The Ledger kills the
// attempts on the tracker. A map that is done there has to run again if its job has reduces,
// because their input is lost. It does the same as Ledger.LostTracker.
func (s *story) trackerLost(e *trace.Event) {
	t := s.t
	for _, place := range t.c.Slots {
		if place.Tracker != slots.TrackerID(e.A) {
			continue
		}
		if held := t.v.Slot(place.ID); held.Busy && s.is(held.Attempt) {
			s.say(e.At, "tracker %d was lost, and attempt %d with it. The attempt does not count as failed.", e.A, held.Attempt.N)
		}
	}
	if s.done && s.id.kind == slots.Map && s.doneOn == slots.TrackerID(e.A) && t.v.Job(s.job).Total(slots.Reduce) > 0 && !t.v.Job(s.job).Ended() {
		s.done = false
		s.say(e.At, "tracker %d was lost, and the output of the map with it. The map has to run again.", e.A)
	}
}

// end writes the story. It fails if the run has no such job or the job no such task.
func (s *story) end() error {
	t := s.t
	if s.job == slots.NoJob {
		return errs.Optionf("task "+s.id.text, "there is no job %s; %s", s.id.job, s.t.jobList())
	}
	j := t.v.Job(s.job)
	total := j.Total(s.id.kind)
	if int32(s.id.task) >= total {
		return errs.Optionf("task "+s.id.text, "%s has %s%s", t.jobName(s.job), errs.Counted(total, s.id.kind.String()), s.numbered(total))
	}
	t.print(s.text.String())
	if s.starts == 0 {
		t.print(fmt.Sprintf("It had not started by %s.\n", seconds(t.until())))
	} else {
		waited := "at once"
		if d := s.began - j.Submitted(); d > 0 {
			waited = seconds(d) + " after the job was submitted"
		}
		t.print(s.standing() + fmt.Sprintf("The task had %s and first started %s.\n", errs.Counted(s.starts, "attempt"), waited))
	}
	return nil
}

// until returns the time at which the answer ends.
func (t *explainer) until() time.Duration {
	if t.o.HasAt {
		return t.o.At
	}
	return t.now
}

// standing says whether the task runs or is pending when the story ends. It returns "" for a
// task that is done or whose job has ended.
func (s *story) standing() string {
	t := s.t
	for i := range t.c.Slots {
		if held := t.v.Slot(slots.SlotID(i)); held.Busy && s.is(held.Attempt) {
			return fmt.Sprintf("At %s attempt %d still ran, on slot %d.\n", seconds(t.until()), held.Attempt.N, i)
		}
	}
	if !s.done && t.l.JobState(s.job) == slots.Running {
		return fmt.Sprintf("At %s it was pending again.\n", seconds(t.until()))
	}
	return ""
}

// numbered returns the range of the names of total tasks, such as ", m/0 to m/7".
func (s *story) numbered(total int32) string {
	if total == 0 {
		return ""
	}
	letter := s.id.kind.String()[:1]
	return fmt.Sprintf(", %s/0 to %s/%d", letter, letter, total-1)
}

// moment is the mode that answers with the state at a time and the last decision before that
// time. The state is that of the replayed Ledger just before the first later event. It has
// a line per slot, the demand of each kind in the papers' terms, and a paragraph per job.
type moment struct {
	silent
	t     *explainer
	last  string // the paragraph on the latest decision
	final uint64 // the decision of the latest Assign that may be the answer; 0: none
	known uint64 // the latest decision of that Assign
}

// foresee takes the decisions of an Assign before they are made, and the time of the first one
// behind them; negative: it is not known. Only the last of them can be the answer, and only if
// the next one comes after the time in the question.
func (m *moment) foresee(decisions []trace.Event, next time.Duration) {
	m.final = 0
	for i := range decisions {
		e := &decisions[i]
		if m.known = e.Seq; (e.Op == trace.OpStart || e.Op == trace.OpKill) && (next < 0 || next > m.t.o.At) {
			m.final = e.Seq
		}
	}
}

// accepts accepts the decision about an attempt that may be the last one before the time in the
// question. A kill that a fact has led to is not foreseen.
func (m *moment) accepts(a about) bool {
	return a.topic.decision() && (a.seq == m.final || a.topic == kill && a.seq > m.known)
}

// add keeps the latest paragraph.
func (m *moment) add(p paragraph) { m.last = p.text }

// end writes the lines on slots, the demand and the jobs, then the last decision.
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

// mostJobs is the largest number of jobs that a state lists. A workload has thousands.
const mostJobs = 50

// slot returns the line that says what a slot holds.
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

// demand returns the paragraph on the demand for slots of kind k and on the load factor. The
// demand is the number of pending tasks plus the number of used slots. The load factor is
// the demand divided by the number of slots [DHFS13, Alg. 1, l. 1]. Under slot weights all
// three are weights.
func (m *moment) demand(k slots.Kind) string {
	v := m.t.v
	w := v.Weights()
	pending := v.Pending(k)
	used := v.Used(k)
	capacity := v.Capacity(k)
	lent := v.LentBy(k)
	text := fmt.Sprintf("%ss: %d pending, %d running. ", upper(k.String()), pending, v.Running(k))
	if w.Bound() { // the counts are in weight then
		text += fmt.Sprintf("Of the weight of %s, %d each, %d of %d used", errs.Counted(capacity, k.String()+" slot"), w.Of(k), used, w.Times(k, capacity))
		pending, capacity = w.Times(k, pending), w.Times(k, capacity)
	} else {
		text += fmt.Sprintf("%d of %s used", used, errs.Counted(capacity, k.String()+" slot"))
	}
	if lent > 0 {
		text += fmt.Sprintf(", %d of them by %ss", lent, k.Other())
	}
	text += fmt.Sprintf(". The demand for %s slots, pending tasks plus used slots, is %d", k, pending+used)
	if capacity > 0 {
		text += ": load factor " + slots.Number{Num: int64(pending + used), Den: int64(capacity)}.Value()
	}
	return paragraphOf("", text+".")
}

// job returns the paragraph on a job: its done and running tasks, and what it waits for.
func (m *moment) job(id slots.JobID) string {
	t, j := m.t, m.t.v.Job(id)
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s:", t.jobName(id), t.ofPool(id))
	for _, k := range []slots.Kind{slots.Map, slots.Reduce} {
		if j.Total(k) == 0 {
			continue
		}
		fmt.Fprintf(&b, " %d of %s done, %d running;", j.Done(k), errs.Counted(j.Total(k), k.String()), j.Running(k))
	}
	text := strings.TrimSuffix(b.String(), ";")
	switch {
	case !j.Runnable():
		text += "; it has to wait: " + t.limits(id)
	case j.Total(slots.Reduce) > 0 && !t.jobs[id].gate && t.jobs[id].sealed:
		text += fmt.Sprintf("; its gate opens at %s", errs.Counted(t.need(j), "map"))
	case j.Total(slots.Reduce) > 0 && !t.jobs[id].gate:
		text += "; its gate opens when the number of its maps is known"
	}
	return paragraphOf("", text)
}
