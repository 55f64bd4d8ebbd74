package explain

import (
	"fmt"
	"slices"
	"strings"

	"mrlocal/internal/errs"
	"mrlocal/slots"
	"mrlocal/trace"
)

// A grant is worded while the Ledger makes it, because the numbers of the Ledger change with
// the next grant. The paragraph waits in explainer.grants until the file confirms the grant.
// The first sentence says what happened. The others say by which rule, with which numbers,
// and which candidates were passed over.

// opening names the policy, the slots, the percentages and the slowstart of the run. It
// leaves out the percentages if nothing may be borrowed.
func (t *explainer) opening() string {
	var maps, reduces int // extra slots are mentioned when one is opened
	for _, s := range t.c.Slots {
		switch {
		case s.Extra:
		case s.Home == slots.Map:
			maps++
		default:
			reduces++
		}
	}
	where := ""
	if n := t.v.Trackers(); n > 1 {
		where = fmt.Sprintf(" on %d trackers", n)
	}
	text := fmt.Sprintf("The policy is %s; there %s %s and %s%s.", t.c.PolicyName, verb(maps, "is", "are"), errs.Counted(maps, "map slot"), errs.Counted(reduces, "reduce slot"), where)
	if t.c.BorrowMap > 0 || t.c.BorrowReduce > 0 {
		text += fmt.Sprintf(" Reduces may borrow %s; maps may borrow %s.", borrowed(t.c.BorrowMap, maps, slots.Map), borrowed(t.c.BorrowReduce, reduces, slots.Reduce))
	}
	switch t.c.Slowstart {
	case slots.One:
		text += " The reduces of a job may start when all its maps are done."
	case 0:
		text += " The reduces of a job may start at once."
	default:
		text += fmt.Sprintf(" The reduces of a job may start when a share of %v of its maps is done.", t.c.Slowstart)
	}
	return paragraphOf(text)
}

// borrowed says how many of the slots of kind k may be lent. capacity is the number of slots
// of kind k, without extra slots.
func borrowed(share slots.PPM, capacity int, k slots.Kind) string {
	switch share {
	case 0:
		return fmt.Sprintf("no %v slot", k)
	case slots.One:
		return fmt.Sprintf("any %v slot", k)
	}
	return fmt.Sprintf("%d of the %s (a share of %v)", share.Of(int32(capacity)), errs.Counted(capacity, k.String()+" slot"), share)
}

// granted returns the paragraph on a grant. It is called at once after the Ledger has applied
// the grant, so t.v includes it.
func (t *explainer) granted(e *slots.Explanation) string {
	a := e.Start.Attempt
	what := t.attemptName(a)
	if e.Grant.Speculative {
		what = "a speculative attempt of " + what
	}
	first := fmt.Sprintf("At %s %s%s started on %s", seconds(e.Now), what, t.ofPool(a.Job), t.slotName(e.Start.Slot))
	if e.Start.Lent {
		first += lentWords
	}
	first += "." + t.near(a, e.Start.Locality)
	if t.mode.plain() {
		return paragraphOf(first)
	}
	return paragraphOf(first, t.byRule(e), t.byIdentity(e), t.basis(e), t.passedOver(e))
}

// lentWords ends the sentence on a start that lends its slot. selection.add cuts it off.
const lentWords = ", which is lent to it"

// byIdentity explains a start whose rule and slot seem to contradict each other [DHFS13,
// "counts and identities"]. Rules use the paper's counts of slots, but whether a slot is
// lent depends on the slot itself. It returns "" where rule and slot agree.
func (t *explainer) byIdentity(e *slots.Explanation) string {
	k := e.Start.Attempt.Kind
	switch {
	// MoveAlways and MoveNever say what the grant is by the paper's counts.
	case t.c.Slots[e.Start.Slot].Extra: // it has no kind that a task could borrow
	case e.Grant.Move == slots.MoveAlways && !e.Start.Lent:
		return fmt.Sprintf("The paper counts slots and does not distinguish them. By its counts this %v takes a %v slot of the tracker. But a %v slot is free, so the task runs there and no slot is lent.", k, k.Other(), k)
	case e.Grant.Move == slots.MoveNever && e.Start.Lent:
		return fmt.Sprintf("The paper counts slots and does not distinguish them. By its counts a %v slot of the tracker is free. But the free slot is a %v slot, so that slot is lent.", k, k.Other())
	}
	return ""
}

// near says where the input of a map is. It returns "" for a reduce, on a single tracker, and
// if the input has no place.
func (t *explainer) near(a slots.AttemptID, level slots.Level) string {
	if a.Kind != slots.Map || t.v.Trackers() == 1 || !t.v.Placed(a.Job) {
		return ""
	}
	switch level {
	case slots.LevelTracker:
		return " Its input is on that tracker."
	case slots.LevelGroup:
		return " Its input is in that tracker's group."
	}
	return " Its input is elsewhere."
}

// byRule names the rule of a grant, and says what it means. In a terse answer it gives the
// meaning only with the first grant of the rule.
func (t *explainer) byRule(e *slots.Explanation) string {
	rule := e.Grant.Rule
	if rule == trace.RuleNone {
		return ""
	}
	text := fmt.Sprintf("Rule %v of %s", rule, t.c.PolicyName)
	if string(rule) == t.c.PolicyName {
		text = fmt.Sprintf("Rule %v", rule)
	}
	words := t.traits.Rules[rule] // "": the name of the rule says enough
	if words == "" || t.terse && t.worded[rule] {
		return text + "."
	}
	t.worded[rule] = true
	return text + ": " + words + "."
}

// basis lists the numbers of the policy. If the policy gives none, basis says how many tasks
// and slots there were before the grant.
func (t *explainer) basis(e *slots.Explanation) string {
	if len(e.Why.Numbers) > 0 {
		return "Numbers: " + numbers(e.Why.Numbers) + "."
	}
	k := e.Start.Attempt.Kind
	pending, running := t.v.Pending(k), t.v.Running(k)-1 // before the grant, which is applied already
	if !e.Grant.Speculative {
		pending++
	}
	return fmt.Sprintf("Before it, %s pending and %d %s running; the cluster has %s.",
		countedWere(pending, k.String()), running, verb(running, "was", "were"), errs.Counted(t.v.Capacity(k), k.String()+" slot"))
}

// passedOver lists the candidates that did not get the slot: those that the Ledger refused
// and those that the policy names. If there are none and the policy gives no numbers, it
// lists a few jobs with a pending task of the same kind. The text is "" without candidates.
func (t *explainer) passedOver(e *slots.Explanation) (text string) {
	// The policy asked for these grants earlier in this visit.
	var words []string
	for _, r := range t.refused {
		if r.Grant.Kind == e.Grant.Kind {
			words = append(words, fmt.Sprintf("%s (refused: %s)", t.jobName(r.Grant.Job), refusalWords(r.Refused)))
		}
	}
	for _, b := range e.Why.Beaten {
		who := "pool " + errs.OneLine(t.v.Pool(b.Pool).Config().Name)
		if b.Job >= 0 {
			who = t.jobName(b.Job)
		}
		words = append(words, fmt.Sprintf("%s (%s)", who, b.Why))
	}
	pending, kept := t.alsoPending(e)
	if len(words) == 0 && len(e.Why.Numbers) == 0 { // the policy gives no reasons
		words = pending
	}
	if more := len(words) - slots.MostBeaten; more > 0 { // the Ledger may have refused any number of jobs
		words = append(words[:slots.MostBeaten], errs.Counted(more, "other"))
	}
	if len(words) > 0 {
		text = "It was chosen before " + list(words) + "."
	}
	if len(kept) > 0 {
		text += " Not allowed to start: " + list(kept) + "."
	}
	return text
}

// Limits of the lists that the explainer makes itself, if the policy gives no reasons.
// A few jobs suffice as examples.
const (
	mostAlso    = 3  // jobs in a list
	mostScanned = 64 // jobs that are examined for a list, to bound the time of each grant
)

// alsoPending lists jobs, other than that of the grant, that have a pending task of the same
// kind. kept has those whose pool was at its limit before the grant, words has the others.
// Both together have at most mostAlso.
func (t *explainer) alsoPending(e *slots.Explanation) (words, kept []string) {
	// The view includes the grant, so the running tasks of its pool are one too many.
	k, won := e.Grant.Kind, t.v.Job(e.Grant.Job)
	for i, id := range t.active {
		j := t.v.Job(id)
		if i == mostScanned || len(words)+len(kept) == mostAlso {
			break
		}
		if id == won.ID() || j.Ended() || j.Pending(k) == 0 {
			continue
		}
		ran := t.v.Pool(j.Pool()).Running(k)
		if j.Pool() == won.Pool() {
			ran--
		}
		if p := t.v.Pool(j.Pool()); t.traits.Uses&slots.PoolMax != 0 && p.Config().Max(k) > 0 && ran >= p.Config().Max(k) {
			kept = append(kept, fmt.Sprintf("%s (pool %s may run %s at a time)", t.jobName(id), errs.OneLine(p.Config().Name), errs.Counted(p.Config().Max(k), k.String())))
			continue
		}
		words = append(words, fmt.Sprintf("%s (%d pending, %d running)", t.jobName(id), j.Pending(k), j.Running(k)))
	}
	return words, kept
}

// aboutOf returns what the paragraph on a recorded start or kill is about. The rule of a kill is
// not set.
func aboutOf(e *trace.Event) about {
	a := about{
		topic: start, job: slots.JobID(e.Job), task: true, slot: slots.SlotID(e.Slot), lent: e.Has(trace.Lent), seq: e.Seq,
		attempt: slots.AttemptID{Job: slots.JobID(e.Job), Kind: e.Kind, Task: slots.TaskID(e.Task), N: e.N},
	}
	if e.Op == trace.OpKill {
		a.topic = kill
	}
	return a
}

// word offers the mode a paragraph on an event, and keeps track of jobs and Assigns. It runs
// before the Ledger gets a fact, and after the Ledger has made a decision. texts belong to
// the decoder and are valid during the call.
func (t *explainer) word(e *trace.Event, texts []string) {
	// An event of a tracker or a slot has no job and no attempt; its cases use neither.
	job := slots.JobID(e.Job)
	attempt := slots.AttemptID{Job: job, Kind: e.Kind, Task: slots.TaskID(e.Task), N: e.N}
	switch e.Op {
	case trace.OpAssign:
		t.asks++
		// An AssignAll has tracker -1; a driver with heartbeats names trackers.
		t.heartbeats, t.asked = t.heartbeats || e.A >= 0, slots.TrackerID(e.A)
	// announce makes the paragraph, once the Ledger has the job.
	case trace.OpSubmit:
		// The names are made printable, because the answer may go to a terminal.
		t.jobs = append(t.jobs, jobInfo{name: errs.OneLine(texts[0]), pool: errs.OneLine(texts[1]), user: texts[2], sealed: e.Has(trace.Sealed)})
		t.active = append(t.active, job)
		t.newest = job
	case trace.OpReady: // no paragraph: the engine reports splits in many small steps
		t.jobs[job].sealed = t.jobs[job].sealed || e.Has(trace.Sealed)
	case trace.OpStart:
		if len(t.grants) > 0 { // the file confirms grants in the order in which they were made
			p := t.grants[0]
			t.grants = t.grants[1:]
			if t.mode.accepts(p.about) {
				t.mode.add(p)
			}
		}
	case trace.OpKill:
		a := aboutOf(e)
		if a.rule = trace.RuleOf(texts); t.mode.accepts(a) {
			t.mode.add(paragraph{a, t.killed(e, a), t.reclaims[a.slot]})
		}
	case trace.OpLostTracker:
		t.lost++
		t.wordEvent(e, about{topic: fact, job: slots.NoJob})
	case trace.OpAbort:
		t.wordEvent(e, about{topic: fact, job: job})
	case trace.OpLostOutput, trace.OpDrop, trace.OpRestore:
		t.wordEvent(e, about{topic: fact, job: job, task: true, attempt: attempt})
	case trace.OpGate:
		t.jobs[job].gate = e.Has(trace.OK)
		t.wordEvent(e, about{topic: gate, job: job})
	case trace.OpMapsDone:
		if t.v.Job(job).Total(slots.Reduce) > 0 && t.c.Slowstart != slots.One { // otherwise the end of the job or its gate has a paragraph
			t.wordEvent(e, about{topic: gate, job: job})
		}
	case trace.OpAdmit, trace.OpJobEnd:
		t.wordEvent(e, about{topic: other, job: job})
	case trace.OpAdvance:
		t.wordEvent(e, about{topic: other, job: job, task: true, attempt: attempt})
	case trace.OpOpen, trace.OpDrain, trace.OpClose, trace.OpHome:
		if rule := trace.RuleOf(texts); rule != trace.RuleLostTracker { // the paragraph on the tracker says it
			t.wordEvent(e, about{topic: change, job: slots.NoJob, slot: slots.SlotID(e.Slot), rule: rule})
		}
	}
	t.mode.event(e, texts)
	if e.Op == trace.OpJobEnd { // after its paragraph, which needs the job
		t.active = slices.DeleteFunc(t.active, func(a slots.JobID) bool { return a == job })
	}
}

// announce offers the paragraph on the newest job. It is called at the event after the
// submission, when the Ledger has the job.
func (t *explainer) announce() {
	id := t.newest
	if id == slots.NoJob {
		return
	}
	t.newest = slots.NoJob
	t.offer(about{topic: fact, job: id}, func() string {
		j := t.v.Job(id)
		maps := errs.Counted(j.Total(slots.Map), "map")
		if !t.jobs[id].sealed {
			maps = "an unknown number of maps"
		}
		first := fmt.Sprintf("At %s %s%s was submitted: %s, %s.", seconds(j.Submitted()), t.jobName(id), t.ofPool(id), maps, errs.Counted(j.Total(slots.Reduce), "reduce"))
		if !j.Runnable() && !j.Ended() {
			first += " It has to wait: " + t.limits(id) + "."
		}
		return paragraphOf(first)
	})
}

// limits lists the running-job limits of a job's pool and user. It returns "" if there are
// none.
func (t *explainer) limits(id slots.JobID) string {
	var words []string
	if p := t.v.Pool(t.v.Job(id).Pool()).Config(); p.MaxRunning > 0 {
		words = append(words, fmt.Sprintf("pool %s may run %s at a time", errs.OneLine(p.Name), errs.Counted(p.MaxRunning, "job")))
	}
	for _, u := range t.c.Users {
		if u.Name == t.jobs[id].user && u.MaxRunning > 0 {
			words = append(words, fmt.Sprintf("user %s may run %s at a time", errs.OneLine(u.Name), errs.Counted(u.MaxRunning, "job")))
		}
	}
	return list(words)
}

// wordEvent offers a paragraph on any event but starts, kills and submissions.
func (t *explainer) wordEvent(e *trace.Event, a about) {
	t.offer(a, func() string { return paragraphOf("At " + seconds(e.At) + " " + t.eventWords(e, a)) })
}

// eventWords returns the sentence on an event, without its time. It begins with a small
// letter, because "At 3.0s" precedes it.
func (t *explainer) eventWords(e *trace.Event, a about) string {
	name := t.jobName(a.job)
	switch e.Op {
	case trace.OpLostTracker:
		tracker := slots.TrackerID(e.A)
		// The Ledger does not have the loss yet, so the attempts still count as running.
		ran := t.v.RunningAt(tracker, slots.Map) + t.v.RunningAt(tracker, slots.Reduce)
		return fmt.Sprintf("tracker %d was lost, with %s that ran there, and with the output of the maps that it had done for jobs with reduces.", tracker, errs.Counted(ran, "attempt"))
	case trace.OpLostOutput:
		return fmt.Sprintf("the output of %s was lost, so the map has to run again.", t.taskName(a.attempt))
	case trace.OpDrop:
		return t.taskName(a.attempt) + " was not needed any more."
	case trace.OpRestore:
		return fmt.Sprintf("the output of %s was taken from the journal of a killed run, so the map did not run.", t.taskName(a.attempt))
	case trace.OpAbort:
		if e.A != 0 {
			return name + " failed: the run gave it up."
		}
		return name + " was aborted."
	case trace.OpGate:
		return t.gateWords(a.job)
	case trace.OpAdmit:
		return fmt.Sprintf("%s%s was admitted, %s after it was submitted. Until then other jobs used up its limits (%s).",
			name, t.ofPool(a.job), seconds(e.At-t.v.Job(a.job).Submitted()), t.limits(a.job))
	case trace.OpMapsDone:
		return fmt.Sprintf("the last map of %s was done, so its reduces wait for no more maps.", name)
	case trace.OpJobEnd:
		return t.endWords(a.job)
	case trace.OpAdvance:
		return t.attemptName(a.attempt) + " may leave its copy phase."
	case trace.OpOpen:
		return fmt.Sprintf("the policy opened slot %d (%v).", e.Slot, a.rule)
	case trace.OpHome:
		return fmt.Sprintf("slot %d became a %v slot.", e.Slot, e.Kind)
	case trace.OpDrain:
		return fmt.Sprintf("the policy let slot %d close (%v) when its attempt ends.", e.Slot, a.rule)
	}
	return fmt.Sprintf("slot %d was closed (%v).", e.Slot, a.rule)
}

// gateWords says why the gate of a job opened or closed, with the maps that are done and the
// maps that slowstart requires. word has set jobInfo.gate to the new state before.
func (t *explainer) gateWords(id slots.JobID) string {
	j, name := t.v.Job(id), t.jobName(id)
	done := doneOf(j)
	if !t.jobs[id].gate {
		return fmt.Sprintf("the gate of %s closed again: %s, and %d %s needed.", name, done, t.need(j), verb(t.need(j), "is", "are"))
	}
	if t.c.Slowstart == 0 {
		return fmt.Sprintf("the gate of %s opened at once, because slowstart is 0: its reduces may start and wait for maps on their slots.", name)
	}
	if need := t.need(j); need < j.Total(slots.Map) {
		done += fmt.Sprintf(", and %d %s needed", need, verb(need, "was", "were"))
	}
	// The gate may have opened before and closed for a lost output, so reduces may have started.
	text := fmt.Sprintf("the gate of %s opened: %s", name, done)
	switch left := j.Total(slots.Reduce) - j.Done(slots.Reduce) - j.Running(slots.Reduce); {
	case left == 0:
		return text + "; all its reduces have been started."
	case left == 1:
		return text + ", so its reduce may start."
	default:
		return text + fmt.Sprintf(", so its %d reduces may start.", left)
	}
}

// doneOf says how many maps of a job are done, such as "12 of 80 maps are done".
func doneOf(j slots.JobView) string {
	done, total := j.Done(slots.Map), j.Total(slots.Map)
	switch {
	case total == 0:
		return "there are no maps"
	case done < total && total == 1:
		return "its only map is not done"
	case done < total:
		return fmt.Sprintf("%d of %d maps are done", done, total)
	case total == 1:
		return "its only map is done"
	}
	return fmt.Sprintf("all %s are done", errs.Counted(total, "map"))
}

// need returns how many maps have to be done so that the gate opens.
func (t *explainer) need(j slots.JobView) int32 { return t.c.Slowstart.CeilOf(j.Total(slots.Map)) }

// endWords says how and when a job ended, and whether it met its deadline.
func (t *explainer) endWords(id slots.JobID) string {
	after := seconds(t.now - t.v.Job(id).Submitted())
	switch t.l.JobState(id) {
	case slots.Failed:
		a, ok := t.l.FailedBy(id)
		if !ok {
			return fmt.Sprintf("%s failed, %s after it was submitted.", t.jobName(id), after)
		}
		return fmt.Sprintf("%s failed, %s after it was submitted: %v %d failed %s.", t.jobName(id), after, a.Kind, a.Task, errs.Counted(t.c.MaxAttempts, "time"))
	case slots.Killed:
		because := ""
		if t.lost == t.v.Trackers() {
			because = ", because every tracker was lost"
		}
		return fmt.Sprintf("%s ended: it was aborted, %s after it was submitted%s.", t.jobName(id), after, because)
	}
	text := fmt.Sprintf("%s was done, %s after it was submitted", t.jobName(id), after)
	if d := t.v.Job(id).Deadline(); d > 0 && t.now > d {
		text += fmt.Sprintf(" and %s after its deadline", seconds(t.now-d))
	} else if d > 0 {
		text += fmt.Sprintf(" and %s before its deadline", seconds(d-t.now))
	}
	return text + "."
}

// killed returns the paragraph on the kill of an attempt. The slot still holds the attempt,
// so t.v has its start time.
func (t *explainer) killed(e *trace.Event, a about) string {
	id := slots.SlotID(e.Slot)
	first := fmt.Sprintf("At %s %s, on slot %d since %s, was killed.", seconds(e.At), t.attemptName(a.attempt), id, seconds(t.v.Slot(id).Started))
	var why, grounds string // grounds has the numbers of the policy; "" for other rules
	switch a.rule {
	case trace.RuleDeadlockGuard:
		why = fmt.Sprintf("This was the deadlock guard of the Ledger: %s pending, and no map ran. Every slot that a map may use held a reduce that waits for maps. This reduce is the newest of them. It has only copied so far.",
			countedWere(t.v.Pending(slots.Map), "map"))
	case trace.RuleLostRace:
		why = "Another attempt of the same task finished first."
	case trace.RuleDropped:
		why = "The task is not needed any more."
	case trace.RuleJobEnded:
		why = "Its job has ended."
	case trace.RuleReclaim:
		why = fmt.Sprintf("%s took the slot back (rule reclaim). The attempt does not count as failed.", t.c.PolicyName)
		if n := t.reclaims[id].Numbers; len(n) > 0 {
			grounds = "Numbers: " + numbers(n) + "."
		}
	default:
		why = fmt.Sprintf("Rule %v of %s.", a.rule, t.c.PolicyName)
	}
	return paragraphOf(first, why, grounds)
}

// holds says what runs on a busy slot, such as "map 7 of J01 since 10.0s, lent".
func (t *explainer) holds(s slots.SlotView) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s since %s", t.attemptName(s.Attempt), seconds(s.Started))
	if s.Phase != slots.PhaseNone {
		fmt.Fprintf(&b, ", in its %v phase", s.Phase)
	}
	if s.Lent {
		b.WriteString(", lent")
	}
	return b.String()
}
