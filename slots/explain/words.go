package explain

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"mrlocal/slots"
)

// seconds prints a time as 12.5s, to the millisecond.
func seconds(d time.Duration) string {
	text := strconv.FormatFloat(d.Round(time.Millisecond).Seconds(), 'f', 3, 64)
	text = strings.TrimRight(text, "0")
	if strings.HasSuffix(text, ".") {
		text += "0"
	}
	return text + "s"
}

// counted is 1 map, 2 maps.
func counted[N int | int32 | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// were is the verb that goes with n.
func were[N int | int32](n N) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

// list joins words as a sentence has them.
func list(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// printable is a name from a file, without what a terminal would obey.
func printable(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return utf8.RuneError
	}, name)
}

// upper starts a sentence.
func upper(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// sticky is a space at which no line is broken.
const sticky = "\x00"

// lineColumns is how wide lines are; what belongs to a first line is indented.
const (
	lineColumns = 100
	indent      = "    "
)

// firstSentence is a paragraph's, set in one line.
func firstSentence(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if i := strings.Index(text, ". "); i >= 0 {
		text = text[:i+1]
	}
	return text
}

// paragraphOf sets a first sentence and what belongs to it, one part a line,
// wrapped. Empty parts are left out.
func paragraphOf(first string, parts ...string) string {
	var b strings.Builder
	wrap(&b, first, "")
	for _, p := range parts {
		if p != "" {
			wrap(&b, p, indent)
		}
	}
	return b.String()
}

// wrap writes text in lines of lineColumns at most, the first one behind
// prefix, the others indented once more.
func wrap(b *strings.Builder, text, prefix string) {
	if text == "" {
		return
	}
	column := 0
	for _, word := range strings.Fields(text) {
		switch {
		case column == 0:
			b.WriteString(prefix)
			column = len(prefix)
		case column+1+len(word) > lineColumns:
			b.WriteString("\n" + prefix + indent)
			column = len(prefix) + len(indent)
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(strings.ReplaceAll(word, sticky, " "))
		column += len(word)
	}
	b.WriteByte('\n')
}

// refusalWords say why the Ledger did not apply a grant.
func refusalWords(r slots.Refusal) string {
	switch r {
	case slots.RefusedGate:
		return "the job's gate is closed"
	case slots.RefusedDeadlock:
		return "the deadlock guard: every slot that a map may use would hold a reduce that waits for maps"
	case slots.RefusedSameHost:
		return "a copy would run beside the attempt it copies"
	case slots.RefusedAllowance:
		return "the allowance of slots to lend is used up"
	case slots.RefusedLocality:
		return "it waits for a slot nearer to its input"
	case slots.RefusedFailedHere:
		return "what is pending of it failed on this tracker before"
	case slots.RefusedBlacklisted:
		return "too many of its attempts failed on this tracker, which is blacklisted for it"
	case slots.RefusedWeight:
		return "it weighs more than its tracker has room for"
	case slots.RefusedSingle:
		return "its maps' input can be read by one attempt at a time"
	}
	return "refused as " + r.String()
}

// jobName is a job as its owner calls it.
func (t *teller) jobName(id slots.JobID) string {
	if id < 0 || int(id) >= len(t.jobs) || t.jobs[id].name == "" {
		return fmt.Sprintf("job %d", id)
	}
	return t.jobs[id].name
}

// ofPool is " (pool prod)" where the pool is not the job's own.
func (t *teller) ofPool(id slots.JobID) string {
	if j := &t.jobs[id]; j.pool != j.name {
		return " (pool " + j.pool + ")"
	}
	return ""
}

// taskName is map 7 of J01.
func (t *teller) taskName(a slots.AttemptID) string {
	return fmt.Sprintf("%v %d of %s", a.Kind, a.Task, t.jobName(a.Job))
}

// attemptName is the same, with the attempt's number where there are several.
func (t *teller) attemptName(a slots.AttemptID) string {
	if a.N == 0 {
		return t.taskName(a)
	}
	return fmt.Sprintf("%s (attempt %d)", t.taskName(a), a.N)
}

// slotName is slot 3, a reduce slot of tracker 0.
func (t *teller) slotName(id slots.SlotID) string {
	return fmt.Sprintf("slot %d, %s", id, t.slotKind(id))
}

// slotKind is a reduce slot of tracker 0. A single tracker is not named.
func (t *teller) slotKind(id slots.SlotID) string {
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

// numbers are a Why's, as part of a sentence.
func numbers(all []slots.Number) string {
	words := make([]string, len(all))
	for i, n := range all {
		words[i] = n.Name + sticky + "=" + sticky + strings.ReplaceAll(n.Value(), " ", sticky)
	}
	return strings.Join(words, ", ")
}
