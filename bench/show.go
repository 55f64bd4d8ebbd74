package bench

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Text returns the result as a table for a terminal.
func (r *Result) Text() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: %s\n%s; %s, %s, %s\n", r.Name, r.Title, r.Paper, r.file.Name, counted(len(r.trials), "run"), counted(r.seeds, "seed"))
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "  figure\tpaper\tours\t95 %%\tverdict\n")
	for i := range r.Lines {
		l := &r.Lines[i]
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\n", l.What, l.Paper, l.Shown, l.interval(), joined(l.judgement(), l.Reason))
	}
	for i := range r.Readings {
		ours, within := r.reading(i)
		fmt.Fprintf(t, "  %s\t\t%s\t%s\tthe paper has no figure\n", r.Readings[i].What, ours, within)
	}
	_ = t.Flush() // never fails: it writes into memory
	return b.Bytes()
}

// interval returns the 95 % interval as text; "": there is only one seed.
func (l *Line) interval() string {
	if l.CILow == "" {
		return ""
	}
	return string(l.CILow + " to " + l.CIHigh)
}

// band returns the band as text; "": there is none.
func (l *Line) band() string {
	if l.Low == "" {
		return ""
	}
	return string(l.Low + " to " + l.High)
}

// judgement returns the verdict, with the band and the direction of an open line. It also says if
// the figure is fitted or something was withdrawn.
func (l *Line) judgement() string {
	said := l.Verdict.String()
	if l.Low != "" && l.Verdict != Exact {
		said += " " + l.band()
	}
	if l.Open() && l.Direction != None {
		said += ", direction " + l.Direction.String()
	}
	if l.Fitted {
		said += ", fitted"
	}
	if l.Withdrawn != "" {
		said += ", withdrawn: " + l.Withdrawn
	}
	return said
}

// joined joins two texts with ": ". If one is empty, it returns the other.
func joined(a, b string) string {
	if a != "" && b != "" {
		a += ": "
	}
	return a + b
}

// counted returns a number with its noun: 1 run, 2 runs.
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// Summary returns a line with the counts of all verdicts. If a figure that is not open was fitted, or
// had something withdrawn, it is counted only as such.
func Summary(all []*Result) string {
	var counts [len(verdictWords)]int
	var figures, missing, wrong, fitted, withdrawn int
	for _, r := range all {
		for i := range r.Lines {
			l := &r.Lines[i]
			figures++
			switch {
			case l.Ours == "":
				missing++
			case l.Ours == "false":
				wrong++
			case l.Open():
				counts[Outside]++
			case l.Fitted:
				fitted++
			case l.Withdrawn != "":
				withdrawn++
			default:
				counts[l.Verdict]++
			}
		}
	}
	return fmt.Sprintf("%s, %s: %d exact, %d inside, %d outside; %d comparisons hold, %d do not; not built: %d; apart: %d fitted, %d withdrawn\n",
		counted(len(all), "experiment"), counted(figures, "figure"), counts[Exact], counts[Inside], counts[Outside], counts[Words], wrong, missing, fitted, withdrawn)
}

// CSV returns all figures as CSV: a record for each, after a record of headings.
func CSV(all []*Result) []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	_ = w.Write(strings.Split("experiment,figure,paper,ours,low,high,verdict,fitted,seeds,reason,direction,ci_low,ci_high,withdrawn", ","))
	for _, r := range all {
		for i := range r.Lines {
			l := &r.Lines[i]
			_ = w.Write([]string{l.Experiment, l.What, l.Paper, string(l.Ours), string(l.Low), string(l.High), l.Verdict.String(), yes(l.Fitted),
				strconv.Itoa(l.Seeds), l.Reason, l.Direction.String(), string(l.CILow), string(l.CIHigh), l.Withdrawn})
		}
	}
	w.Flush() // never fails: it writes into memory
	return b.Bytes()
}

// JSON returns all figures as an array of Lines.
func JSON(all []*Result) ([]byte, error) {
	lines := []Line{}
	for _, r := range all {
		lines = append(lines, r.Lines...)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // keeps < and > of comparisons readable
	e.SetIndent("", "  ")
	err := e.Encode(lines)
	return b.Bytes(), err
}

// Markdown returns the figures as Markdown: a table for each paper.
func Markdown(all []*Result) []byte {
	var b bytes.Buffer
	tables(&b, all)
	return b.Bytes()
}

// yes returns "yes" or "no".
func yes(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}
