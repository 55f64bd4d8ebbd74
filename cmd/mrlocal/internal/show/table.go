package show

import (
	"bytes"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"

	"mrlocal/report"
)

// mostRows is up to how many jobs a table lists.
const mostRows = 50

// table writes one row for each job of a run that is over, and a line on its
// slots.
func table(w io.Writer, r *report.Report) error {
	// The table is written at once, so that other output does not tear it.
	var b bytes.Buffer
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "job\tmaps\treduces\tinput\trecords in\trecords out\tspilled\tmap phase\treduce phase\twall\t")
	// A batch may have thousands of jobs, and the table would hide the summary below it.
	for i := range r.Jobs[:min(len(r.Jobs), mostRows)] {
		row(t, &r.Jobs[i])
	}
	_ = t.Flush() // into memory
	if more := len(r.Jobs) - mostRows; more > 0 {
		fmt.Fprintf(&b, "and %d more jobs, which --report lists\n", more)
	}
	b.WriteString(summary(r))
	_, err := w.Write(b.Bytes())
	return err
}

// row writes the row of a job. Times are the differences of moments since the start
// of the run.
func row(w io.Writer, j *report.JobReport) {
	c := &j.Counters
	out := c.ReduceOutputRecords
	// A job without reduces has no reduce phase.
	reduce := "-"
	mapsDone := j.MapsDoneS
	if mapsDone < j.StartS { // the job ended before its maps did
		mapsDone = j.FinishS
	}
	if j.Reduces > 0 {
		reduce = seconds(j.FinishS - mapsDone)
	}
	fmt.Fprintf(w, "%s\t%d\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", j.Name, j.Maps, j.Reduces,
		bytesOf(c.MapInputBytes), humanize.Comma(c.MapInputRecords), humanize.Comma(out), bytesOf(c.SpilledBytes),
		seconds(mapsDone-j.StartS), reduce, seconds(j.FinishS-j.SubmitS))
}

// summary is the line below the rows.
func summary(r *report.Report) string {
	var in int64 // of all jobs of a batch; of a chain the first job's, the others read what it made
	for i := range r.Jobs {
		if i == 0 || r.Kind == "batch" {
			in += r.Jobs[i].Counters.MapInputBytes
		}
	}
	// Jobs such as sleep read no input, and have no rate.
	rate := ""
	if r.MakespanSeconds > 0 && in > 0 {
		rate = fmt.Sprintf(" (%s/s)", bytesOf(int64(float64(in)/r.MakespanSeconds)))
	}
	lent := "none lent"
	if r.Moves > 0 || r.LentSlotSeconds > 0 {
		lent = fmt.Sprintf("%s, %s of slot time lent", Moves(r.Moves), seconds(r.LentSlotSeconds))
	}
	return fmt.Sprintf("%s in all%s under %s; %d slots %.0f%% used, %s; peak memory %s\n",
		seconds(r.MakespanSeconds), rate, r.Policy, len(r.Slots), 100*r.Utilisation, lent, bytesOf(r.PeakRSSBytes))
}

// Moves returns "1 move" or "2 moves".
func Moves(n int64) string {
	if n == 1 {
		return "1 move"
	}
	return fmt.Sprintf("%d moves", n)
}

// bytesOf writes a number of bytes with a binary unit.
func bytesOf(n int64) string { return humanize.IBytes(uint64(max(0, n))) }

// seconds shows a time to three digits, whatever its size.
func seconds(s float64) string {
	// A time that has not come is -1 in a report, and 0 here.
	d := time.Duration(max(0, s) * float64(time.Second))
	switch {
	case d >= 100*time.Second:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return fmt.Sprintf("%.2fs", d.Seconds())
	}
	return d.Round(time.Millisecond).String()
}
