package bench

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"mrlocal/internal/errs"
	"mrlocal/view/svg"
	"mrlocal/workload"
)

// mostRows is the number of rows of a table of runs; a chart shows more runs.
const mostRows = 16

// Text returns the result as text for errs.Fit: the figures, what was assumed and fitted, the claims of
// docs/papers, the reasons of open figures, and the runs.
func (r *Result) Text() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: %s\n%s; %s, %s, %s\n", r.Name, r.Title, r.Paper, r.file.Name, errs.Counted(len(r.trials), "run"), errs.Counted(r.seeds, "seed"))
	fmt.Fprintln(&b, "#\tfigure\tpaper\tours\t95 %\tverdict")
	// Claims have the numbers of their figures, and reasons the number of theirs.
	var claims, reasons []string
	shown := map[string][]string{}
	for i := range r.Lines {
		l := &r.Lines[i]
		number := strconv.Itoa(i + 1)
		fmt.Fprintf(&b, "%s\t%s\t%s\t%s\t%s\t%s\n", number, l.What, l.Paper, l.Shown, l.interval(), l.judgement())
		if l.Claim != "" {
			if shown[l.Claim] == nil {
				claims = append(claims, l.Claim)
			}
			shown[l.Claim] = append(shown[l.Claim], number)
		}
		if l.Reason != "" {
			reasons = append(reasons, number+": "+l.Reason)
		}
	}
	for i := range r.Readings {
		ours, within := r.reading(i)
		fmt.Fprintf(&b, "\t%s\t\t%s\t%s\tthe paper has no figure\n", r.Readings[i].What, ours, within)
	}
	for i, c := range claims {
		claims[i] = fmt.Sprintf("%q: %s", c, strings.Join(shown[c], ", "))
	}
	for _, list := range []struct {
		name  string
		items []string
	}{{"Assumed", r.Assumed}, {"Fitted", append(slices.Clone(r.Fitted), r.constants()...)}, {"Claims of docs/papers", claims}, {"Reasons", reasons}} {
		if len(list.items) > 0 {
			fmt.Fprintf(&b, "%s:\n", list.name)
		}
		for _, item := range list.items {
			fmt.Fprintf(&b, "- %s\n", item)
		}
	}
	if len(r.trials) <= mostRows {
		r.runTable(&b)
	}
	return b.Bytes()
}

// constants returns the constants that were fitted to figures of the experiment.
func (r *Result) constants() (all []string) {
	for _, c := range fittedConstants() {
		if c.experiment == r.Name {
			all = append(all, fmt.Sprintf("%s: %s, to %s", c.constant, c.value, strings.Replace(c.figure, "*", "all figures", 1)))
		}
	}
	return all
}

// runTable writes a table with the results of each run of the first seed. The words with which all
// command lines begin are written once above the table.
func (r *Result) runTable(b *bytes.Buffer) {
	var common []string
	for i := range r.first.trials {
		words := strings.Fields(r.first.trials[i].line())
		if i == 0 {
			common = words[:len(words)-2] // without --sched and the policy, so that the table shows them
		}
		n := 0
		for n < min(len(common), len(words)) && common[n] == words[n] {
			n++
		}
		common = common[:n]
	}
	// If only the values of a flag differ, the flag belongs to the table as well.
	if n := len(common); n > 0 && strings.HasPrefix(common[n-1], "--") {
		common = common[:n-1]
	}
	prefix := strings.Join(common, " ")
	fmt.Fprintf(b, "Runs: %s with\n", prefix)
	fmt.Fprint(b, "flags\tmakespan (s)\tmean job (s)\tutilisation (%)\tmoves\tJain\n")
	for i, d := range r.first.done {
		flags := strings.TrimSpace(strings.TrimPrefix(r.first.trials[i].line(), prefix))
		fmt.Fprintf(b, "%s\t%s\t%s\t%.1f\t%d\t%.3f\n", flags, short(d.MakespanSeconds), short(d.MeanJobSeconds()), 100*d.Utilisation, d.Moves, d.Jain)
	}
}

// interval returns the 95 % interval of ours; "": there is none.
func (l *Line) interval() string { return span(l.CILow, l.CIHigh) }

// span returns the words of a range; "": there is none.
func span(low, high Cell) string {
	if low == "" {
		return ""
	}
	return string(low + " to " + high)
}

// judgement returns the verdict, with the band and the direction of an open line. It also says if
// the figure is fitted or something was withdrawn.
func (l *Line) judgement() string {
	said := string(l.Verdict)
	if l.Verdict == Checked {
		return "check of " + l.Check
	}
	if l.Low != "" && l.Verdict != Exact {
		said += " " + span(l.Low, l.High)
	}
	if l.Open() && l.Direction != None {
		said += ", direction " + string(l.Direction)
	}
	if l.Fitted {
		said += ", fitted"
	}
	if l.Withdrawn != "" {
		said += ", withdrawn: " + l.Withdrawn
	}
	return said
}

// Summary returns a line with the counts of all verdicts. If a figure that is not open was fitted, or
// had something withdrawn, it is counted only as such. Checks are not figures.
func Summary(all []*Result) string {
	counts := map[Verdict]int{}
	var figures, missing, wrong, fitted, withdrawn, checks int
	for _, r := range all {
		for i := range r.Lines {
			l := &r.Lines[i]
			if l.Check != "" {
				checks++
				continue
			}
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
	return fmt.Sprintf("%s, %s: %d exact, %d inside, %d outside; comparisons: %d hold, %d do not; not built: %d; apart: %d fitted, %d withdrawn; %s\n",
		errs.Counted(len(all), "experiment"), errs.Counted(figures, "figure"), counts[Exact], counts[Inside], counts[Outside], counts[Words], wrong, missing, fitted, withdrawn, errs.Counted(checks, "check"))
}

// CSV returns all figures as CSV: a record for each that is not a check, after a record of headings.
func CSV(all []*Result) []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	_ = w.Write(strings.Split("experiment,figure,paper,ours,low,high,verdict,fitted,seeds,reason,direction,ci_low,ci_high,withdrawn", ","))
	for _, r := range all {
		for i := range r.Lines {
			l := &r.Lines[i]
			if l.Check != "" {
				continue
			}
			_ = w.Write([]string{l.Experiment, l.What, l.Paper, string(l.Ours), string(l.Low), string(l.High), string(l.Verdict), yes(l.Fitted),
				strconv.Itoa(l.Seeds), l.Reason, string(l.Direction), string(l.CILow), string(l.CIHigh), l.Withdrawn})
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

// yes returns "yes" or "no".
func yes(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

// Charts returns functions that write the charts which the experiments define, as SVG. It fails if an expression is
// wrong.
func Charts(all []*Result) (charts []func(io.Writer) error, err error) {
	for _, r := range all {
		for i := range r.Charts {
			c, err := r.chart(&r.Charts[i])
			if err != nil {
				return nil, err
			}
			charts = append(charts, c.WriteSVG)
		}
	}
	return charts, nil
}

// chart returns a chart of the runs of the first seed. It fails if an expression is wrong, or has
// values without an x.
func (r *Result) chart(c *workload.ChartOf) (*svg.Chart, error) {
	drawn := &svg.Chart{Title: c.Title, XName: c.X, YName: c.Y}
	for i := range c.Lines {
		l := &c.Lines[i]
		results, err := evaluate(l.Y, r.first.look)
		// The expression of a line has no comparison, so it has only one side.
		v := results.sides[0]
		if err == nil && len(v.x) != len(v.v) {
			err = fmt.Errorf("%s: has no values of x: its runs are not a sweep", l.Y)
		}
		if err != nil {
			return nil, r.file.Errorf(l.Pos, "line "+l.Name, "%v", err)
		}
		for k := range v.v {
			drawn.Add(l.Name, svg.Point{X: v.x[k], Y: v.v[k]})
		}
	}
	return drawn, nil
}
