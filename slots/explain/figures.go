package explain

import (
	"bufio"
	"fmt"
	"io"

	"mrlocal/report"
	"mrlocal/slots"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/replay"
)

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
