package view

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/slots"
	"mrlocal/trace"
)

// Named is a run with the name that a headline has for it.
type Named struct {
	Name  string
	Model *Model
}

// Headline says in two sentences what runs of one workload show: which ends first and by how much, and the main
// difference between the first and the last (why), or a job that is not the rule (exception). Of a run that is alone it
// says what took most slot time besides work. It has one sentence for a run that has not ended.
func Headline(runs []Named) string {
	var all []outcome
	for _, r := range runs {
		o := outcomeOf(r)
		if !o.over {
			if r.Model.Ended {
				return fmt.Sprintf("%s stopped after %s; not all jobs had ended.", r.Name, Words(r.Model.Last))
			}
			return fmt.Sprintf("%s goes on; so far %s.", r.Name, Words(r.Model.Last))
		}
		all = append(all, o)
	}
	if len(all) == 0 {
		return ""
	}
	slices.SortStableFunc(all, func(a, b outcome) int { return cmp.Compare(a.end, b.end) })
	first, last := &all[0], &all[len(all)-1]
	odd, text := exception(all), ""
	if odd.run != nil && (odd.due || odd.by > last.end-first.end) {
		return order(all, early{}) + " " + odd.tell()
	}
	if len(all) > 1 {
		text = why(first, last)
	}
	if text == "" && first.end == last.end {
		last.books = nil // what alone tells is compared with no run
		text = alone(last)
		if len(all) > 1 && text != "" && !strings.HasPrefix(text, last.name) {
			text = strings.TrimSuffix(text, ".") + " under " + last.name + "."
		}
	}
	if long := strings.TrimSpace(order(all, odd) + " " + text); len(long) <= mostHeadline {
		return long
	}
	return strings.TrimSpace(order(all, early{}) + " " + text)
}

// mostHeadline is the most bytes of a headline that also names a job that is not the rule: three lines on a phone.
const mostHeadline = 160

// outcome has the numbers of a run that a headline needs. Lists are by the home kind of slots.
type outcome struct {
	name  string
	model *Model
	over  bool
	end   time.Duration
	bad   int // jobs that did not succeed
	slots [trace.Kinds]int32
	room  [trace.Kinds]time.Duration // slot time while the slots are open
	busy  [trace.Kinds]time.Duration
	loans [trace.Kinds]int
	lent  [trace.Kinds]time.Duration // slot time of loans
	books *account                   // see account
}

// account returns where the slot time of the run went.
func (o *outcome) account() *account {
	if o.books == nil {
		o.books = accountOf(o.model, nil)
	}
	return o.books
}

func outcomeOf(r Named) outcome {
	m := r.Model
	o := outcome{name: r.Name, model: m, over: len(m.Jobs) > 0, end: m.Makespan(), slots: m.HomeSlots()}
	for i := range m.Jobs {
		j := &m.Jobs[i]
		o.over = o.over && j.Finish >= 0
		if j.State != slots.Succeeded {
			o.bad++
		}
	}
	home := m.Slots
	for k, n := range o.slots {
		o.room[k] = time.Duration(n) * o.end
	}
	for i := range m.Decisions { // a slot is closed with a tracker that is lost
		d := &m.Decisions[i]
		if rest := max(0, o.end-d.At); d.Op == trace.OpClose && !home[d.Slot].Extra {
			o.room[home[d.Slot].Home] -= rest
		} else if d.Op == trace.OpOpen && !home[d.Slot].Extra {
			o.room[home[d.Slot].Home] += rest
		}
	}
	for i := range m.Bars {
		b := &m.Bars[i]
		took := min(m.Until(b), o.end) - min(b.From, o.end)
		if l := &home[b.Slot]; !l.Extra {
			o.busy[l.Home] += took
		}
		if b.Lent {
			o.loans[b.Kind.Other()]++
			o.lent[b.Kind.Other()] += took
		}
	}
	return o
}

// mostNamed is the most runs that a headline names one by one.
const mostNamed = 6

// order says which run ends first, and how much later the others end. odd is a job that ends earlier under another run,
// if odd.run is not nil.
func order(all []outcome, odd early) string {
	first, text := &all[0], ""
	switch {
	case len(all) == 1:
		text = fmt.Sprintf("%s ends after %s", first.name, Words(first.end))
	case all[len(all)-1].end == first.end:
		who := fmt.Sprintf("All %d runs", len(all))
		if len(all) == 2 {
			who = "Both runs"
		}
		text = fmt.Sprintf("%s end after %s", who, Words(first.end))
	case len(all) > mostNamed:
		text = fmt.Sprintf("%s ends first, after %s; the %d others %s to %s later", first.name, Words(first.end), len(all)-1, Words(all[1].end-first.end), Words(all[len(all)-1].end-first.end))
	default:
		var later []string
		for i := range all[1:] {
			o := &all[1+i]
			when := "at the same time"
			if o.end > first.end {
				if when = Words(o.end-first.end) + " later"; len(all) == 2 {
					when += ratio(first.end, o.end)
				}
			}
			if odd.run == o {
				when += fmt.Sprintf(", but its job %s %s earlier", o.model.Jobs[odd.job].Name, Words(odd.by))
			}
			later = append(later, o.name+" "+when)
		}
		text = fmt.Sprintf("%s ends first, after %s; %s", first.name, Words(first.end), strings.Join(later, ", "))
	}
	return text + failures(all) + "."
}

// failures says how many jobs did not succeed. It names up to two runs.
func failures(all []outcome) (text string) {
	n, equal := 0, true
	for i := range all {
		o := &all[i]
		if o.bad > 0 {
			n++
			text += "; " + o.failed(" of "+o.name) + " did not succeed"
		}
		equal = equal && o.bad == all[0].bad && len(o.model.Jobs) == len(all[0].model.Jobs)
	}
	switch {
	case n <= 2:
		return text
	case equal:
		return "; " + all[0].failed("") + " did not succeed in each run"
	}
	return fmt.Sprintf("; in %d of %d runs not all jobs succeeded", n, len(all))
}

// failed says how many jobs of the run did not succeed: 1 of 3 jobs, with of behind it.
func (o *outcome) failed(of string) string {
	return fmt.Sprintf("%d of %s%s", o.bad, errs.Counted(len(o.model.Jobs), "job"), of)
}

// ratio says that one time is about two, three or four times another.
func ratio(of, whole time.Duration) string {
	for i, word := range []string{"twice", "three times", "four times"} {
		if part := whole / time.Duration(i+2); (of - part).Abs() <= whole/50 {
			return " (" + word + " the time)"
		}
	}
	return ""
}

// Words returns a time with about three digits and its unit: 12.5 s.
func Words(d time.Duration) string {
	size, unit := time.Second, " s"
	switch {
	case d < 1000*time.Microsecond && d > 0:
		size, unit = time.Microsecond, " µs"
	case d < time.Second && d > 0:
		size, unit = time.Millisecond, " ms"
	}
	return number(float64(d)/float64(size)) + unit
}

// number returns a number with about three digits.
func number(v float64) string {
	digits := 0
	for limit := 100.0; v < limit && digits < 2; limit /= 10 {
		digits++
	}
	text := strconv.FormatFloat(v, 'f', digits, 64)
	if digits > 0 {
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// Wanted is how many tasks of a kind run or could start, and how many slots of that home kind are open.
type Wanted struct {
	Waiting int32 `json:"waiting"` // of Tasks, those that wait
	Tasks   int32 `json:"tasks"`
	Slots   int32 `json:"slots"`
}

// WantedBefore returns what was wanted just before the event with number seq, by kind.
func (m *Model) WantedBefore(seq uint64) (all [trace.Kinds]Wanted) {
	s := newSweep(m, &Curves{Step: 1})
	s.before = seq
	s.pass(func(time.Duration) {})
	for k := range trace.Kinds {
		for i := range s.jobs { // tasks, of which one may have two attempts
			j := &s.jobs[i]
			all[k].Waiting += j.pending[k]
			all[k].Tasks += j.pending[k] + j.tasks[k]
		}
		all[k].Slots = s.slots[k]
	}
	return all
}

// Sentence tells the decision with event number seq: who got which slot for what, and how many tasks wanted slots
// then (WantedBefore). It is empty if the decision is neither a start nor a kill.
func (m *Model) Sentence(seq uint64, wanted [trace.Kinds]Wanted) string {
	i, ok := slices.BinarySearchFunc(m.Decisions, seq, func(d Decision, seq uint64) int { return cmp.Compare(d.Seq, seq) })
	if !ok || m.Decisions[i].Bar < 0 {
		return ""
	}
	d := &m.Decisions[i]
	b := &m.Bars[d.Bar]
	job, task := m.Jobs[b.Job].Name, fmt.Sprintf("%v %d", b.Kind, b.Task)
	if b.Speculative {
		task = "a copy of " + task
	}
	home := b.Kind
	switch {
	case d.Op == trace.OpKill:
		return fmt.Sprintf("The attempt of %s of %s on slot %d was killed, %s after its start.", task, job, b.Slot, Words(d.At-b.From))
	case d.Op != trace.OpStart:
		return ""
	case b.Lent:
		home = home.Other()
		return fmt.Sprintf("%s borrowed %v slot %d for %s: %s, and %s.", job, home, b.Slot, task, waited(wanted[home], home), want(wanted[b.Kind], b.Kind))
	}
	return fmt.Sprintf("%s got %v slot %d for %s: %s.", job, home, b.Slot, task, want(wanted[b.Kind], b.Kind))
}

// waited says how many tasks of kind k waited.
func waited(w Wanted, k trace.Kind) string {
	if w.Waiting == 0 {
		return fmt.Sprintf("no %v waited", k)
	}
	return errs.Counted(w.Waiting, k.String()) + " waited"
}

// want says how many tasks of kind k wanted how many slots.
func want(w Wanted, k trace.Kind) string {
	return fmt.Sprintf("%s wanted %s", errs.Counted(w.Tasks, k.String()), errs.Counted(w.Slots, k.String()+" slot"))
}
