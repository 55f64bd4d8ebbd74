package explain

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/slots"
)

// The answers use the past tense. They name a task as "map 7 of J01" and a slot with its
// kind. Times are in seconds from the start of the run.

// seconds returns a time such as 12.5s, rounded to the millisecond. It has at least one
// decimal, which distinguishes a time from a count.
func seconds(d time.Duration) string {
	text := strconv.FormatFloat(d.Round(time.Millisecond).Seconds(), 'f', 3, 64)
	text = strings.TrimRight(text, "0")
	if strings.HasSuffix(text, ".") {
		text += "0"
	}
	return text + "s"
}

// verb returns the form of a verb for n things.
func verb[N int | int32](n N, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}

// countedWere returns "1 map was" or "2 maps were".
func countedWere(n int32, noun string) string {
	return errs.Counted(n, noun) + " " + verb(n, "was", "were")
}

// list joins words as in a sentence, such as "a, b and c".
func list(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// upper returns s with a capital letter, to start a sentence.
func upper(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// indent stands before all lines of a paragraph but the first.
const indent = "    "

// firstSentence returns the first sentence of a paragraph, in one line.
func firstSentence(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if i := strings.Index(text, ". "); i >= 0 {
		text = text[:i+1]
	}
	return text
}

// paragraphOf returns a paragraph of a first sentence and further parts, which ends with a
// newline. Each part is a line, which print folds. Empty parts are left out.
func paragraphOf(first string, parts ...string) string {
	var b strings.Builder
	for i, text := range append([]string{first}, parts...) {
		if text != "" {
			b.WriteString(strings.Repeat(indent, min(i, 1)) + strings.Join(strings.Fields(text), " ") + "\n")
		}
	}
	return b.String()
}

// refusalWords says why the Ledger refused a grant. "It" in these words is the job.
func refusalWords(r slots.Refusal) string {
	return cmp.Or(map[slots.Refusal]string{
		slots.RefusedGate:        "the job's gate is closed",
		slots.RefusedDeadlock:    "the deadlock guard: every slot that a map may use would hold a reduce that waits for maps",
		slots.RefusedSameHost:    "a speculative attempt would run where the task runs or failed",
		slots.RefusedAllowance:   "the allowance of slots to lend is used up",
		slots.RefusedLocality:    "it waits for a slot nearer to its input",
		slots.RefusedFailedHere:  "its pending tasks failed on this tracker before",
		slots.RefusedBlacklisted: "too many of its attempts failed on this tracker, so it is blacklisted there",
		slots.RefusedWeight:      "the task weighs more than the tracker has room for",
		slots.RefusedSingle:      "only one attempt at a time can read the input of its maps",
	}[r], "refused as "+r.String())
}

// jobName returns the name of a job, or "job 3" if it has none.
func (t *explainer) jobName(id slots.JobID) string {
	if id < 0 || int(id) >= len(t.jobs) || t.jobs[id].name == "" {
		return fmt.Sprintf("job %d", id)
	}
	return t.jobs[id].name
}

// ofPool returns " (pool prod)", or "" if the pool has the name of the job.
func (t *explainer) ofPool(id slots.JobID) string {
	if j := &t.jobs[id]; j.pool != j.name {
		return " (pool " + j.pool + ")"
	}
	return ""
}

// taskName returns "map 7 of J01".
func (t *explainer) taskName(a slots.AttemptID) string {
	return fmt.Sprintf("%v %d of %s", a.Kind, a.Task, t.jobName(a.Job))
}

// attemptName returns the taskName, with the number of the attempt unless it is the first
// attempt.
func (t *explainer) attemptName(a slots.AttemptID) string {
	if a.N == 0 {
		return t.taskName(a)
	}
	return fmt.Sprintf("%s (attempt %d)", t.taskName(a), a.N)
}

// slotName returns "slot 3, a reduce slot of tracker 0".
func (t *explainer) slotName(id slots.SlotID) string {
	return fmt.Sprintf("slot %d, %s", id, t.slotKind(id))
}

// slotKind returns "a reduce slot of tracker 0", or "a reduce slot" if there is only one
// tracker.
func (t *explainer) slotKind(id slots.SlotID) string {
	s := t.v.Slot(id)
	kind := "a " + s.Home.String() + " slot"
	if s.Extra {
		kind = "an extra slot"
	}
	if t.v.Trackers() > 1 {
		kind += fmt.Sprintf(" of tracker %d", s.Tracker)
	}
	return kind
}

// numbers returns the numbers of a Why as a list, such as "load factor = 1.25, pending = 3".
// paragraphOf never breaks a number over two lines.
func numbers(all []slots.Number) string {
	words := make([]string, len(all))
	for i, n := range all {
		words[i] = n.Name + errs.Sticky + "=" + errs.Sticky + strings.ReplaceAll(n.Value(), " ", errs.Sticky)
	}
	return strings.Join(words, ", ")
}
