package term

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"mrlocal/internal/errs"
	"mrlocal/slots/report"
)

// mostRows is the largest number of jobs that a table lists. With more, the user would not see the
// summary.
const mostRows = 50

// table returns a row for each job of a run that has ended, and a line on the whole run, in lines of at most width
// columns.
func table(r *report.Report, width int) string {
	var b strings.Builder
	b.WriteString("job\tmaps\treduces\tinput\trecords in\trecords out\tspilled\tmap phase\treduce phase\twall\n")
	for i := range r.Jobs[:min(len(r.Jobs), mostRows)] {
		row(&b, &r.Jobs[i])
	}
	if more := len(r.Jobs) - mostRows; more > 0 {
		fmt.Fprintf(&b, "and %d more jobs, which --report lists\n", more)
	}
	return errs.Fit(b.String()+summary(r), width)
}

// row writes the row of a job to w.
func row(w io.Writer, j *report.JobReport) {
	c := &j.Counters
	out := c.ReduceOutputRecords
	reduce := "-" // of a job without reduces
	mapsDone := j.MapsDoneS
	if mapsDone < j.StartS { // the job ended before all its maps were done
		mapsDone = j.FinishS
	}
	if j.Reduces > 0 {
		reduce = seconds(j.FinishS - mapsDone)
	}
	fmt.Fprintf(w, "%s\t%d\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", errs.OneLine(j.Name), j.Maps, j.Reduces,
		bytesOf(c.MapInputBytes), humanize.Comma(c.MapInputRecords), humanize.Comma(out), bytesOf(c.SpilledBytes),
		seconds(mapsDone-j.StartS), reduce, seconds(j.FinishS-j.SubmitS))
}

// summary returns the line below the rows: time, rate, slots, loans and memory of the whole run.
func summary(r *report.Report) string {
	// The input of a batch is that of all jobs. In a chain it is that of the first job, because
	// each other job reads the output of the one before.
	var in int64
	for i := range r.Jobs {
		if i == 0 || r.Kind == "batch" {
			in += r.Jobs[i].Counters.MapInputBytes
		}
	}
	// A job such as sleep reads no input and has no rate.
	rate := ""
	if r.MakespanSeconds > 0 && in > 0 {
		rate = fmt.Sprintf(" (%s/s)", bytesOf(int64(float64(in)/r.MakespanSeconds)))
	}
	lent := "none lent"
	if r.Moves > 0 || r.LentSlotSeconds > 0 {
		lent = fmt.Sprintf("%s, %s of slot time lent", errs.Counted(r.Moves, "move"), seconds(r.LentSlotSeconds))
	}
	return fmt.Sprintf("%s in all%s under %s; %d slots %.0f%% used, %s; peak memory %s\n",
		seconds(r.MakespanSeconds), rate, r.Policy, len(r.Slots), 100*r.Utilisation, lent, bytesOf(r.PeakRSSBytes))
}

// bytesOf formats a number of bytes with a binary unit, for errs.Fit. A negative number counts as 0.
func bytesOf(n int64) string {
	return strings.Replace(humanize.IBytes(uint64(max(0, n))), " ", errs.Sticky, 1)
}

// seconds formats a time in seconds with about three digits.
func seconds(s float64) string {
	// A difference with a time that never came, which is -1 in a report, may be negative. It is
	// shown as 0.
	d := time.Duration(max(0, s) * float64(time.Second))
	switch {
	case d >= 100*time.Second:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return fmt.Sprintf("%.2fs", d.Seconds())
	}
	return d.Round(time.Millisecond).String()
}

// Failures returns a line that names the jobs of a run that did not succeed, or nil if there are none.
func Failures(r *report.Report) []string {
	// The line names at most this many jobs. The report has all of them.
	const mostNamed = 5
	failed := r.FailedJobs()
	if len(failed) == 0 {
		return nil
	}
	var names []string
	for _, j := range failed[:min(len(failed), mostNamed)] {
		names = append(names, errs.OneLine(j.Name))
	}
	if len(failed) > mostNamed {
		names = append(names, "…")
	}
	return []string{fmt.Sprintf("under %s %d of %d jobs did not succeed: %s", r.Policy, len(failed), len(r.Jobs), strings.Join(names, ", "))}
}
