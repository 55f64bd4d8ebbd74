package explain

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"mrlocal/errs"
	"mrlocal/report"
	"mrlocal/slots"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/replay"
	"mrlocal/trace"
)

// Recorded is one of two runs to compare. Name stands in the answer and in errors.
// Events is read several times from its start.
type Recorded struct {
	Name   string
	Events io.ReadSeeker
}

// Compare writes how two runs of the same jobs differ. It writes the first decision that
// differs, with the reasons of both, and the jobs whose times differ. Then come both
// gantts on one axis, in lines of width columns, with letters as by says, and the figures of both.
// It reports whether the runs differ: in a
// decision about an attempt or a slot, in the time of one, or in a job. The rule of a
// decision is no difference, because every policy has its own rules. Compare fails with an
// error for which errs.IsUsage is true if a file is cut short, was changed or is no event
// file.
//
// Memory: 40 bytes for each decision and 32 for each attempt of both runs; with trace.ByPhase 16
// for each phase.
// The gantts share one cell width, so that the same column is the same time in both.
func Compare(w io.Writer, a, b Recorded, by trace.Grouping, width int) (differ bool, err error) {
	var both [2]*outline
	for i, r := range []Recorded{a, b} {
		// Both files are read to their end before anything is written.
		if both[i], err = readOutline(r, by); err != nil {
			return false, err
		}
	}
	out := bufio.NewWriter(w)
	at, differ, err := writeFirst(out, both)
	if err != nil {
		return false, err
	}
	if writeJobs(out, both) {
		differ = true
	}
	if differ {
		cell := max(both[0].line.Cell(width), both[1].line.Cell(width))
		for _, o := range both {
			fmt.Fprintf(out, "\n%s:\n", o.title())
			name := func(job int32) string { return printable(o.line.Name(job)) }
			if err := o.line.Gantt(out, trace.GanttOptions{Cell: cell, Width: width, By: by, Names: name, Word: printable}); err != nil {
				return false, err
			}
		}
		if err := writeFigures(out, both); err != nil {
			return false, err
		}
	} else {
		fmt.Fprintf(out, "Both runs made the same %s at the same times.\n", counted(at, "decision"))
	}
	if err := out.Flush(); err != nil {
		return false, fmt.Errorf("write comparison: %w", err)
	}
	return differ, nil
}

// outline is what a comparison keeps of a run.
// It lives for the whole comparison, which is why it keeps no text of decisions.
type outline struct {
	Recorded
	policy string
	// In the order of the file.
	decisions []decided
	// By id: jobs get their ids in the order of submission.
	jobs []jobTimes
	// For the gantt.
	line trace.Timeline
}

// title returns the name of the run, and the policy if the name is another.
func (o *outline) title() string {
	if o.Name == o.policy {
		return o.Name
	}
	return fmt.Sprintf("%s (%s)", o.Name, printable(o.policy))
}

// decided is a decision about an attempt or a slot.
// It is comparable with ==, and small, because a run has millions.
type decided struct {
	at   time.Duration
	what decidedWhat
}

// decidedWhat is the part of a decision that a comparison of decisions looks at.
type decidedWhat struct {
	op            trace.Op
	kind          trace.Kind
	job, task, n  int32
	slot          int32
	isSpeculative bool
}

// jobTimes are the times of a job; ended < 0: it has not ended.
type jobTimes struct {
	name, pool       string
	submitted, ended time.Duration
	// Only the number: which slots were lent shows in the decisions.
	lent int // starts on lent slots
}

// took returns the time from submission to end in words.
// A job without an end is usual in a file that ends early.
func (j *jobTimes) took() string {
	if j.ended < 0 {
		return "not ended"
	}
	return seconds(j.ended - j.submitted)
}

// compared reports whether a comparison counts e as a decision. These are the decisions
// that have paragraphs about an attempt or a slot.
// The loss of a tracker closes slots, but that follows from a fact.
func compared(e *trace.Event, texts []string) bool {
	switch e.Op {
	case trace.OpStart, trace.OpKill:
		return true
	case trace.OpOpen, trace.OpDrain, trace.OpClose, trace.OpHome:
		return trace.RuleOf(texts) != trace.RuleLostTracker
	}
	return false
}

// readOutline reads the events of a run to their end.
// Errors name the run, because there are two files.
func readOutline(r Recorded, by trace.Grouping) (*outline, error) {
	o := &outline{Recorded: r}
	o.line.KeepPhases = by == trace.ByPhase
	bad := func(err error) error {
		return errs.Inputf(r.Name, "%s", strings.TrimPrefix(err.Error(), "read events: "))
	}
	if _, err := r.Events.Seek(0, io.SeekStart); err != nil {
		return nil, bad(err)
	}
	d, err := trace.NewDecoder(r.Events)
	if err != nil {
		return nil, bad(err)
	}
	o.policy = d.Header().Policy
	if err := o.line.Open(d.Header()); err != nil {
		return nil, bad(err)
	}
	for {
		e, err := d.Next()
		if errors.Is(err, io.EOF) {
			return o, nil
		}
		if err != nil {
			return nil, bad(err)
		}
		o.add(&e, d.Texts(e.Ref))
	}
}

// add notes an event. texts belong to the decoder, so printable copies what is kept.
func (o *outline) add(e *trace.Event, texts []string) {
	o.line.Add(e, texts)
	if e.Op == trace.OpSubmit && len(texts) > 1 {
		o.jobs = append(o.jobs, jobTimes{name: printable(texts[0]), pool: printable(texts[1]), submitted: e.At, ended: -1})
	}
	// A damaged file may name a job that was never submitted.
	if known := e.Job >= 0 && int(e.Job) < len(o.jobs); known {
		switch j := &o.jobs[e.Job]; {
		case e.Op == trace.OpJobEnd:
			j.ended = e.At
		case e.Op == trace.OpStart && e.Has(trace.Lent):
			j.lent++
		}
	}
	if compared(e, texts) {
		o.decisions = append(o.decisions, decided{e.At, decidedWhat{e.Op, e.Kind, e.Job, e.Task, e.N, e.Slot, e.Has(trace.Speculative)}})
	}
}

// writeFirst writes the first decision that differs, with its reasons. If all decisions
// are the same, the first that was made at another time counts. It returns the number of
// decisions before it, and whether there is one.
func writeFirst(w *bufio.Writer, both [2]*outline) (at int, differ bool, err error) {
	a, b := both[0].decisions, both[1].decisions
	// same returns how many decisions at the start of both runs are equal.
	same := func(equal func(x, y *decided) bool) int {
		n := 0
		for n < min(len(a), len(b)) && equal(&a[n], &b[n]) {
			n++
		}
		return n
	}
	// Times are compared only if all decisions are equal. Otherwise one late heartbeat
	// would hide the first decision that differs.
	how := "decide otherwise"
	at = same(func(x, y *decided) bool { return x.what == y.what })
	if at == len(a) && at == len(b) {
		how = "decide the same, but not at the same time"
		if at = same(func(x, y *decided) bool { return *x == *y }); at == len(a) {
			return at, false, nil
		}
	}
	fmt.Fprintf(w, "The first %s; then the runs %s:\n", countedAre(at, "decision"), how)
	for _, o := range both {
		// One run may end where the other goes on.
		text := "It made no further decision.\n"
		if at < len(o.decisions) {
			if text, err = o.decision(at); err != nil {
				return at, true, err
			}
		}
		fmt.Fprintf(w, "\n%s:\n%s", o.title(), text)
	}
	return at, true, nil
}

// countedAre returns "1 decision is the same" or "2 decisions are the same".
func countedAre(n int, noun string) string {
	if n == 1 {
		return noun + " is the same"
	}
	return fmt.Sprintf("%d %ss are the same", n, noun)
}

// decision returns the paragraph on a decision, with its reasons, by a replay.
// number counts from 0. The run is replayed from its start, because reasons are not
// kept.
func (o *outline) decision(number int) (string, error) {
	if _, err := o.Events.Seek(0, io.SeekStart); err != nil {
		return "", errs.Inputf(o.Name, "%v", err)
	}
	var text bytes.Buffer
	t := newExplainer(&text, Options{Name: o.Name, WhyIdle: -1})
	t.mode = &numbered{t: t, left: number}
	err := t.run(o.Events)
	return text.String(), err
}

// numbered answers with one decision that a comparison counts.
// It wants what compared counts, so the numbers of both agree.
type numbered struct {
	t    *explainer
	left int // decisions before it
}

// wants is asked before each paragraph, and add gets each that it wants.
func (m *numbered) wants(a about) bool { return a.topic.decision() || a.topic == change }

// add prints the paragraph it waits for, and ends the replay.
func (m *numbered) add(p paragraph) {
	if m.left == 0 {
		m.t.print(p.text)
		m.t.stop = true
	}
	m.left--
}

// end has nothing to write: the decision was printed by add.
func (m *numbered) end() error { return nil }

// mostDifferent is how many jobs a comparison lists.
const mostDifferent = 50

// writeJobs writes a table of the jobs that differ in their times or in their loans, and
// of the makespan. It reports whether there is a difference.
// Jobs are matched by id. If the files have other jobs, both names stand in the row.
func writeJobs(w *bufio.Writer, both [2]*outline) bool {
	a, b := both[0], both[1]
	var rows []string
	for i := range max(len(a.jobs), len(b.jobs)) {
		none := jobTimes{name: "(none)", ended: -1}
		// A job that one run does not have counts as not ended there.
		x, y := &none, &none
		if i < len(a.jobs) {
			x = &a.jobs[i]
		}
		if i < len(b.jobs) {
			y = &b.jobs[i]
		}
		if *x == *y {
			continue
		}
		name, difference := cmp.Or(x.name, "(no name)"), "-"
		if x.name != y.name {
			name += " / " + y.name
		}
		if x.ended >= 0 && y.ended >= 0 {
			// A positive difference means that the second run was slower.
			difference = signed(y.ended - y.submitted - x.ended + x.submitted)
		}
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t%s\t%d\t%d\t", name, x.took(), y.took(), difference, x.lent, y.lent))
	}
	if len(rows) == 0 && a.line.End == b.line.End {
		return false
	}
	fmt.Fprintf(w, "\nFirst is %s, second is %s. %s:\n", a.title(), b.title(), countedDiffer(len(rows)))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "job\tfirst\tsecond\tdifference\tloans of first\tof second\t")
	for _, r := range rows[:min(len(rows), mostDifferent)] {
		fmt.Fprintln(t, r)
	}
	fmt.Fprintf(t, "whole run\t%s\t%s\t%s\t%d\t%d\t\n", seconds(a.line.End), seconds(b.line.End), signed(b.line.End-a.line.End), a.loans(), b.loans())
	_ = t.Flush() // an error of w comes back at its Flush
	if len(rows) > mostDifferent {
		fmt.Fprintf(w, "(and %d more jobs)\n", len(rows)-mostDifferent)
	}
	return true
}

// countedDiffer returns "1 job differs" or "2 jobs differ".
func countedDiffer(n int) string {
	if n == 1 {
		return "1 job differs"
	}
	return fmt.Sprintf("%d jobs differ", n)
}

// loans returns the number of starts on lent slots.
func (o *outline) loans() (n int) {
	for i := range o.jobs {
		n += o.jobs[i].lent
	}
	return n
}

// signed returns a difference of times with its sign.
func signed(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + seconds(-d)
	case d > 0:
		return "+" + seconds(d)
	}
	return "0"
}

// writeFigures writes the figures of two runs side by side, which a replay of each gives. If one
// cannot be replayed here, such as a run of a policy of one's own, it says so.
func writeFigures(w *bufio.Writer, both [2]*outline) error {
	var reports []*report.Report
	for _, o := range both {
		r, err := o.figures()
		if err != nil {
			fmt.Fprintf(w, "\nNo figures: %s cannot be replayed here: %v\n", o.title(), err)
			return nil
		}
		reports = append(reports, r)
	}
	fmt.Fprintln(w)
	return report.WriteMetrics(w, []string{"first", "second"}, reports)
}

// figures returns the report of a run. Each job of a chain is a job of its own there.
func (o *outline) figures() (*report.Report, error) {
	if _, err := o.Events.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	var l *slots.Ledger
	diff, err := replay.Run(o.Events, registry.ForReplay, replay.Options{Begin: func(begun *slots.Ledger) { l = begun }})
	if err != nil {
		return nil, err
	}
	if diff != nil {
		return nil, fmt.Errorf("this program does not decide as the run did, at line %d", diff.Line)
	}
	r := report.FromLedger("replay", l)
	for id := range r.Jobs {
		r.Describe(slots.JobID(id), &slots.JobSpec{Name: o.jobs[id].name, Pool: o.jobs[id].pool, Deadline: l.View().Job(slots.JobID(id)).Deadline()})
	}
	return r, nil
}
