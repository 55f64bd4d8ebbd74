package explain

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/slots"
	"mrlocal/slots/report"
	"mrlocal/trace"
)

// Recorded is one of two runs to compare. Name stands in the answer and in errors. Events is
// an event file. Compare reads it several times from its start. Policy makes its policy.
type Recorded struct {
	Name   string
	Events io.ReadSeeker
	Policy NewPolicy
}

// Compare writes to w how two runs of the same jobs differ. It writes the first decision that
// differs, with the reasons of both runs, and a table of the jobs whose times differ. Then
// it writes both gantts by o, which needs no names, and the figures of both runs. The gantts share one cell width,
// so that a column is the same time in both.
//
// Compare reports whether the runs differ. They may differ in a decision about an attempt or
// a slot, in its time, or in a job. A different rule alone is not a difference, because every
// policy has its own rules. Compare fails if a file is cut short, was changed or is not an event
// file. errs.IsUsage is true for these errors.
//
// Memory: 40 bytes for each decision and 48 for each attempt of both runs, and with
// trace.ByPhase 16 for each phase.
func Compare(w io.Writer, a, b Recorded, o trace.GanttOptions) (differ bool, err error) {
	var both [2]*outline
	for i, r := range []Recorded{a, b} {
		if both[i], err = readOutline(r, o.By); err != nil {
			return false, err
		}
	}
	// at counts the decisions that are the same, including their times if all are.
	var out, text strings.Builder
	at, differ, err := writeFirst(&text, both)
	if err != nil {
		return false, err
	}
	differ = writeJobs(&text, both) || differ
	if !differ {
		fmt.Fprintf(&text, "Both runs made the same %s at the same times.\n", errs.Counted(at, "decision"))
	}
	out.WriteString(errs.Fit(text.String(), o.Width))
	if differ {
		o.Cell = max(both[0].line.Cell(o.Width), both[1].line.Cell(o.Width))
		for _, r := range both {
			out.WriteString(errs.Fit(fmt.Sprintf("\n%s:\n", r.title()), o.Width))
			o.Names = func(job int32) string { return errs.OneLine(r.line.Name(job)) }
			if err := r.line.Gantt(&out, o); err != nil {
				return false, err
			}
		}
		out.WriteString(errs.Fit(figuresOf(both), o.Width))
	}
	if _, err := io.WriteString(w, out.String()); err != nil {
		return false, fmt.Errorf("write comparison: %w", err)
	}
	return differ, nil
}

// outline is what a comparison keeps of a run. It keeps no texts of decisions, because a run
// may have millions of them; decision replays the run for the one text that is shown.
type outline struct {
	Recorded
	policy    string
	decisions []decided      // in the order of the file
	jobs      []jobTimes     // by id
	line      trace.Timeline // for the gantt and the makespan
}

// title returns the name of the run, and the policy if it differs from the name.
func (o *outline) title() string {
	if o.Name == o.policy {
		return o.Name
	}
	return fmt.Sprintf("%s (%s)", o.Name, errs.OneLine(o.policy))
}

// decided is a decision about an attempt or a slot without its rule, in 40 bytes. The fields are those of the event.
// Two are compared with ==.
type decided struct {
	at            time.Duration
	op            trace.Op
	kind          trace.Kind
	job, task, n  int32
	slot          int32
	isSpeculative bool
}

// jobTimes are the times of a job. Two jobs are the same in both runs if they are equal by ==.
type jobTimes struct {
	name, pool       string
	submitted, ended time.Duration // ended < 0: the job has not ended
	lent             int           // number of starts on lent slots
}

// took returns the response time of the job in words, or "not ended". A run that was stopped
// has jobs that have not ended.
func (j *jobTimes) took() string {
	if j.ended < 0 {
		return "not ended"
	}
	return seconds(j.ended - j.submitted)
}

// compared reports whether a comparison counts e as a decision. It counts the decisions that
// have paragraphs about an attempt or a slot, so that numbered finds them by their number.
// It does not count slots that the loss of a tracker closes.
func compared(e *trace.Event, texts []string) bool {
	switch e.Op {
	case trace.OpStart, trace.OpKill:
		return true
	case trace.OpOpen, trace.OpDrain, trace.OpClose, trace.OpHome:
		return trace.RuleOf(texts) != trace.RuleLostTracker
	}
	return false
}

// readOutline reads the events of a run to their end. It keeps phases if by is ByPhase. The
// errors name the run.
func readOutline(r Recorded, by trace.Grouping) (*outline, error) {
	o := &outline{Recorded: r}
	o.line.KeepPhases = by == trace.ByPhase
	bad := func(err error) error { return errs.Inputf(r.Name, "%v", err) }
	if _, err := r.Events.Seek(0, io.SeekStart); err != nil {
		return nil, bad(err)
	}
	d, err := trace.NewDecoder(r.Events)
	if err != nil {
		return nil, bad(err)
	}
	d.Share(trace.MaxBytes / 3) // two runs, whose attempts take more than those of a replay
	o.policy = d.Header().Policy
	if err := o.line.Open(d.Header()); err != nil {
		return nil, bad(err)
	}
	for e, err := range d.All() {
		if err != nil {
			return nil, bad(err)
		}
		o.add(e, d.Texts(e.Ref))
	}
	return o, nil
}

// add notes an event. texts belong to the decoder and are valid during the call.
func (o *outline) add(e *trace.Event, texts []string) {
	o.line.Add(e, texts)
	if e.Op == trace.OpSubmit && len(texts) > 1 {
		o.jobs = append(o.jobs, jobTimes{name: errs.OneLine(texts[0]), pool: errs.OneLine(texts[1]), submitted: e.At, ended: -1})
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
		o.decisions = append(o.decisions, decided{e.At, e.Op, e.Kind, e.Job, e.Task, e.N, e.Slot, e.Has(trace.Speculative)})
	}
}

// writeFirst writes the first decision that differs, with its reasons. If all decisions are
// the same, it writes the first decision that was made at another time. It returns the
// number of decisions before that one, and whether there is a difference.
func writeFirst(w *strings.Builder, both [2]*outline) (at int, differ bool, err error) {
	a, b := both[0].decisions, both[1].decisions
	// same returns how many decisions at the start of both runs are equal.
	same := func(equal func(x, y decided) bool) int {
		n := 0
		for n < min(len(a), len(b)) && equal(a[n], b[n]) {
			n++
		}
		return n
	}
	// Times count only if all decisions are equal. Otherwise writeFirst would show a heartbeat
	// that came a little later, and not the first decision that differs.
	how := "decide otherwise"
	at = same(func(x, y decided) bool { x.at = y.at; return x == y })
	if at == len(a) && at == len(b) {
		how = "decide the same, but not at the same time"
		if at = same(func(x, y decided) bool { return x == y }); at == len(a) {
			return at, false, nil
		}
	}
	first := strings.TrimPrefix(errs.Counted(at, "decision"), "1 ")
	fmt.Fprintf(w, "The first %s %s the same; then the runs %s:\n", first, verb(at, "is", "are"), how)
	for _, o := range both {
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

// decision returns the paragraph on a decision, with its reasons. number is its index in
// o.decisions. The replay starts at the start of the run, because only a replay gives reasons.
func (o *outline) decision(number int) (string, error) {
	if _, err := o.Events.Seek(0, io.SeekStart); err != nil {
		return "", errs.Inputf(o.Name, "%v", err)
	}
	var text bytes.Buffer
	t := newExplainer(&text, Options{Name: o.Name, Policy: o.Policy, WhyIdle: -1})
	t.mode = &numbered{t: t, left: number}
	err := t.run(o.Events)
	return text.String(), err
}

// numbered is the mode that answers with one of the decisions that compared counts.
type numbered struct {
	silent
	t    *explainer
	left int // decisions before the one to print
}

// accepts accepts the paragraphs on the decisions that compared counts.
func (m *numbered) accepts(a about) bool { return a.topic.decision() || a.topic == change }

// add counts a decision, or prints it and ends the replay.
func (m *numbered) add(p paragraph) {
	if m.left == 0 {
		m.t.print(p.text)
		m.t.stop = true
	}
	m.left--
}

// mostDifferent is the largest number of jobs in the table of a comparison.
const mostDifferent = 50

// writeJobs writes a table of the jobs that differ in their times or in their loans, with
// the makespan in the last row. It reports whether there is a difference, and writes nothing
// without one. Jobs are matched by id. If their names differ, the row has both.
func writeJobs(w *strings.Builder, both [2]*outline) bool {
	a, b := both[0], both[1]
	var rows []string
	for i := range max(len(a.jobs), len(b.jobs)) {
		none := jobTimes{name: "(none)", ended: -1} // of a run that has fewer jobs
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
			// Positive: the job took longer in the second run.
			difference = signed(y.ended - y.submitted - x.ended + x.submitted)
		}
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t%s\t%d\t%d", name, x.took(), y.took(), difference, x.lent, y.lent))
	}
	if len(rows) == 0 && a.line.End == b.line.End {
		return false
	}
	fmt.Fprintf(w, "\nFirst is %s, second is %s. %s %s:\n", a.title(), b.title(), errs.Counted(len(rows), "job"), verb(len(rows), "differs", "differ"))
	w.WriteString("job\tfirst\tsecond\tdifference\tloans of first\tof second\n")
	for _, r := range rows[:min(len(rows), mostDifferent)] {
		fmt.Fprintln(w, r)
	}
	fmt.Fprintf(w, "whole run\t%s\t%s\t%s\t%d\t%d\n", seconds(a.line.End), seconds(b.line.End), signed(b.line.End-a.line.End), a.loans(), b.loans())
	if len(rows) > mostDifferent {
		fmt.Fprintf(w, "(and %s)\n", errs.Counted(len(rows)-mostDifferent, "more job"))
	}
	return true
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

// figuresOf returns the figures of two runs side by side. They come from a replay of each
// run. If a run cannot be replayed, because this program lacks its policy, figuresOf says so.
func figuresOf(both [2]*outline) string {
	var reports []*report.Report
	for _, o := range both {
		r, err := o.figures()
		if err != nil {
			return fmt.Sprintf("\nNo figures: %s cannot be replayed here: %v\n", o.title(), err)
		}
		reports = append(reports, r)
	}
	return "\n" + report.MetricsTable([]string{"first", "second"}, reports)
}

// figures returns the report of a run, by a replay. It has each job of a chain as a job of
// its own. It fails if the run cannot be replayed or a replayed decision differs.
func (o *outline) figures() (*report.Report, error) {
	if _, err := o.Events.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	var l *slots.Ledger
	diff, err := Replay(o.Events, o.Policy, ReplayOptions{Begin: func(begun *slots.Ledger) { l = begun }})
	if err != nil {
		return nil, err
	}
	if diff != nil {
		return nil, fmt.Errorf("this program does not decide as the run did, at line %d", diff.Line)
	}
	// The Ledger of a replay does not expose names and pools; the outline has them.
	r := report.FromLedger("replay", l)
	for id := range r.Jobs {
		r.Describe(slots.JobID(id), &slots.JobSpec{Name: o.jobs[id].name, Pool: o.jobs[id].pool, Deadline: l.View().Job(slots.JobID(id)).Deadline()})
	}
	return r, nil
}
