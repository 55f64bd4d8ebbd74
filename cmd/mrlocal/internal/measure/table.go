package measure

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// Text returns a table for each choice, and the flags.
func (r *Result) Text() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: %s, %s, blocks of %d bytes; under %s, medians of %s each\n", r.Job, count(r.Maps, "map"), count(r.Reduces, "reduce"), r.BlockBytes, r.Policy, count(r.Rounds, "run"))
	for i := range r.Choices {
		r.Choices[i].write(&b)
	}
	b.WriteString("\nflags:\n")
	for _, f := range r.Flags {
		fmt.Fprintf(&b, "  %s\n", f)
	}
	return b.Bytes()
}

// write writes the table of a choice.
func (c *Choice) write(b *bytes.Buffer) {
	fmt.Fprintf(b, "\n%s: Avg_k is the mean time of %s, P = %d\n", c.Flag, c.Measured, c.Tasks)
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "k\tAvg_k\tAvg_k/k\tGain\tLose\tmakespan\t\n")
	var verdicts []string
	for i := range c.Rows {
		row := &c.Rows[i]
		// The best row is compared with no other.
		gain, lose := "-", "-"
		if row.Verdict != best {
			gain, lose = seconds(row.GainS), seconds(row.LoseS)
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%s\t\n", row.Slots, seconds(row.AvgS), seconds(row.PerSlotS), gain, lose, seconds(row.MakespanS))
		verdicts = append(verdicts, row.Verdict)
	}
	// The table is taken back from the buffer, so that each of its lines can get a verdict.
	from := b.Len()
	_ = t.Flush() // into memory
	lines := strings.SplitAfter(string(b.Bytes()[from:]), "\n")
	b.Truncate(from)
	b.WriteString(lines[0])
	for i, v := range verdicts { // the table aligns right; words behind the numbers align left
		fmt.Fprintf(b, "%s  %s\n", strings.TrimSuffix(lines[i+1], "\n"), v)
	}
	if c.Best == 0 {
		fmt.Fprintf(b, "no bound: less than %.0f %% of a reduce's time\n", 100*negligible)
	}
	if c.Edge != "" {
		fmt.Fprintln(b, c.Edge)
	}
}

// count writes a number with its noun.
func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// WriteJSON writes the --report file.
func (r *Result) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(r)
}

// seconds shows a time, positive or negative, to about three digits.
func seconds(s float64) string {
	sign := ""
	if s < 0 {
		sign, s = "-", -s
	}
	d := time.Duration(s * float64(time.Second))
	switch {
	case d >= 100*time.Second:
		return sign + d.Round(time.Second).String()
	case d >= time.Second:
		return fmt.Sprintf("%s%.2fs", sign, s)
	case d >= time.Millisecond:
		return fmt.Sprintf("%s%.3gms", sign, s*1e3)
	}
	return fmt.Sprintf("%s%.3gµs", sign, s*1e6)
}
