package bench

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"mrlocal/internal/chart"
	"mrlocal/workload"
)

// Text returns the result as lines for a terminal.
func (r *Result) Text() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: %s\n%s; %s, %s\n", r.Name, r.Title, r.Paper, r.file.Name, counted(len(r.trials), "run"))
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	// A terminal has room for the reason behind the verdict. The document lists reasons below
	// the table.
	for _, cells := range r.table((*Line).says) {
		fmt.Fprintf(t, "  %s\n", strings.Join(cells, "\t"))
	}
	_ = t.Flush() // into memory
	return b.Bytes()
}

// table returns the figures, one a row, below a row of heads; verdict gives the last
// cell. Where there are several seeds a cell says with how many of them a figure holds.
func (r *Result) table(verdict func(l *Line) string) (rows [][]string) {
	rows = [][]string{{"figure", "paper", "ours", "seeds", "verdict"}}
	for i := range r.Lines {
		l := &r.Lines[i]
		rows = append(rows, []string{l.What, l.Paper, l.Ours, fmt.Sprintf("%d of %d", l.Held, l.Seeds), verdict(l)})
	}
	// An experiment without seeds has no column of seeds.
	if r.Seeds == 0 {
		for i := range rows {
			rows[i] = slices.Delete(rows[i], 3, 4)
		}
	}
	return rows
}

// band is the verdict and the band.
func (l *Line) band() string { return joined(l.Verdict.String(), l.Band) }

// says is the verdict, the band and the reason.
func (l *Line) says() string { return joined(l.band(), l.Because) }

// joined puts ": " between texts where both are there.
func joined(a, b string) string {
	if a != "" && b != "" {
		a += ": "
	}
	return a + b
}

// counted writes a number with its noun: 1 run, 2 runs.
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// Summary returns a line with the counts of all verdicts.
func Summary(all []*Result) string {
	var counts [len(verdictWords)]int
	figures, rare := 0, 0
	for _, r := range all {
		for _, l := range r.Lines {
			counts[l.Verdict]++
			figures++
			// Such a verdict holds with the first seed by chance, so the summary counts it.
			if l.Verdict != Differs && 2*l.Held < l.Seeds {
				rare++
			}
		}
	}
	text := fmt.Sprintf("%s, %s:", counted(len(all), "experiment"), counted(figures, "figure"))
	// The verdicts stand from the best to the worst; Differs comes last and has other words.
	for v, n := range counts[:Differs] {
		text += fmt.Sprintf(" %d %s,", n, Verdict(v))
	}
	text += fmt.Sprintf(" %d not reproduced", counts[Differs])
	if rare > 0 {
		text += fmt.Sprintf("; %d of the others with fewer than half of their seeds only", rare)
	}
	return text + "\n"
}

// Folder is the folder of the charts, beside the document.
const Folder = "reproduction"

// Document returns docs/reproduction.md and its charts, by path below docs. It fails
// where a chart's expression is wrong.
func Document(all []*Result) (map[string][]byte, error) {
	// All files are in memory until every chart is drawn, so an error leaves no half document.
	files := map[string][]byte{}
	var b bytes.Buffer
	b.WriteString(head)
	wrap(&b, "", Summary(all))
	for _, r := range all {
		r.section(&b)
		for i := range r.Charts {
			c, err := r.chart(&r.Charts[i])
			if err != nil {
				return nil, err
			}
			var svg bytes.Buffer
			if err := c.WriteSVG(&svg); err != nil {
				return nil, err
			}
			path := Folder + "/" + r.Charts[i].Name + ".svg"
			files[path] = svg.Bytes()
			fmt.Fprintf(&b, "\n![%s](%s)\n", r.Charts[i].Title, path)
		}
	}
	b.WriteString(references)
	files["reproduction.md"] = b.Bytes()
	return files, nil
}

// head is the beginning of the document, which explains verdicts, seeds and what was chosen
// after a run.
const head = `# Reproduction

The papers' experiments in the simulator: the paper's figure, ours, and a verdict. ` + "`mrlocal reproduce --write`" + `
writes this file and its charts; a test holds the file to that output.

Experiments are sections of the files in bench/workloads; [workloads.md](workloads.md) describes their format. A
section states the runs, the figures, the bands, and what was assumed or fitted. The papers measured clusters. Times
here come from a model of a cluster, so that most makespans are compared as ratios.

| verdict | meaning |
| --- | --- |
| exact | ours is the paper's figure, to its last digit |
| within the band | ours is in the range that the file states or in the paper's own range where it gives one |
| calibrated | one of these two, or a comparison that holds, but something was fitted to this figure, see below |
| same direction | a gain is a gain of another size, a loss a loss; or a comparison in words holds |

Calibrated says that the model can show the figure, and no more: constants of the file were fitted to it, or settings
or its wording were chosen after a run that showed it. A figure that fits none of the four is marked so, with the
reason.

The list below a table has the claims, by the names that docs/papers gives them, each with the numbers of its figures;
then the reasons, each after the number of its figure.

Verdicts are those of seed 1. The same seed made the tables of runs and the charts. Where times or places are drawn at
random, four more seeds were run after all verdicts stood. The column seeds says with how many of the five the figure
comes out as well or better. If only one or two of five seeds agree, treat the verdict as chance.

Not everything was stated before the first run. These were chosen after one:

- the times of OMO's sets, of its simple workloads and of its Tables 2 and 3;
- the times of RAS and of DynamicMR, and what lost memory costs under RAS;
- the workload of dynamicmr-locality, and the cost model of omo-batch;
- the wording of what omo-means says of the best policy and of light shuffles, and of what omo-a says of last batches;
- the second that omo-slowstart allows, and the limit from which two figures of omo-terasort have the paper's direction.

Each stands below, under Fitted or with the reasons, with what it was chosen by or what comes out without it. Figures
and bands of Dynamic Split were written down together with its first results; its times were written down before. Two
figures of omo-terasort, OMO against YARN and the makespan of OMO, came or came back after a run, the latter with the
band that it had before. No band that was stated before a run was changed after it.

Keys such as [DHFS13] and names in quotes are those of [docs/papers](papers/README.md).

`

// references make links of the papers' keys.
const references = `
[DHFS13]: papers/dhfs13.md
[DynamicMR14]: papers/dynamicmr14.md
[Vanathi16]: papers/vanathi16.md
[Split11]: papers/split11.md
[RAS11]: papers/ras11.md
[OMO21]: papers/omo21.md
`

const (
	mostRows    = 16  // of a table of runs; more runs are in a chart
	lineColumns = 120 // of a line of prose in the document
)

// section writes the section of an experiment: what was assumed and fitted, the figures and the
// runs.
func (r *Result) section(b *bytes.Buffer) {
	fmt.Fprintf(b, "\n## %s: %s\n\n", r.Name, r.Title)
	wrap(b, "", fmt.Sprintf("%s. File: [%s](../%s).", r.Paper, r.file.Name, r.file.Name))
	for _, list := range []struct {
		name  string
		items []string
	}{{"Assumed", r.Assumed}, {"Fitted", r.Fitted}} {
		if len(list.items) > 0 {
			fmt.Fprintf(b, "\n%s:\n\n", list.name)
			for _, item := range list.items {
				wrap(b, "- ", item)
			}
		}
	}
	r.figures(b)
	// A sweep has too many runs for a table; its chart shows them.
	if len(r.trials) <= mostRows {
		r.runTable(b)
	}
}

// figures writes the table of figures, and below it what each claim and each
// verdict rests on: the table refers to that by the figure's number.
func (r *Result) figures(b *bytes.Buffer) {
	b.WriteString("\n")
	var claims, reasons []string
	// shown has the numbers of the figures that belong to a claim.
	shown := map[string][]string{}
	for i, cells := range r.table((*Line).band) {
		// Row 0 has the heads. The figures count from 1.
		number := strconv.Itoa(i)
		if i == 0 {
			number = "#"
		}
		fmt.Fprintf(b, "| %s | %s |\n", number, strings.ReplaceAll(cell(strings.Join(cells, "\t")), "\t", " | "))
		if i == 0 {
			fmt.Fprintf(b, "|%s\n", strings.Repeat(" --- |", len(cells)+1))
			continue
		}
		l := &r.Lines[i-1]
		// The claims keep the order in which the table first needs them.
		if l.Target != "" && shown[l.Target] == nil {
			// A claim is listed once, with the numbers of all its figures.
			claims = append(claims, l.Target)
		}
		shown[l.Target] = append(shown[l.Target], number)
		if l.Because != "" {
			reasons = append(reasons, number+": "+l.Because)
		}
	}
	if len(claims)+len(reasons) > 0 {
		b.WriteString("\n")
	}
	for _, c := range claims {
		wrap(b, "- ", fmt.Sprintf("%q: %s", c, strings.Join(shown[c], ", ")))
	}
	for _, reason := range reasons {
		wrap(b, "- ", reason)
	}
}

// runTable writes what came out of each run, by the flags that its command line has
// beyond those of all.
func (r *Result) runTable(b *bytes.Buffer) {
	var common []string
	for i := range r.first.trials {
		// Flags that all runs begin with stand once above the table.
		words := strings.Fields(r.first.trials[i].line())
		if i == 0 {
			common = words[:len(words)-2] // the policy stands in the table
		}
		n := 0
		for n < min(len(common), len(words)) && common[n] == words[n] {
			n++
		}
		common = common[:n]
	}
	// The prefix must not end between a flag and its value.
	if n := len(common); n > 0 && strings.HasPrefix(common[n-1], "--") {
		common = common[:n-1] // a flag whose values differ
	}
	prefix := strings.Join(common, " ")
	fmt.Fprintf(b, "\n`%s` with", prefix)
	b.WriteString("\n\n| flags | makespan (s) | mean job (s) | utilisation (%) | moves | Jain |\n| --- | --- | --- | --- | --- | --- |\n")
	for i, d := range r.first.done {
		flags := strings.TrimSpace(strings.TrimPrefix(r.first.trials[i].line(), prefix))
		fmt.Fprintf(b, "| `%s` | %s | %s | %.1f | %d | %.3f |\n", flags, short(d.MakespanSeconds), short(d.MeanJobSeconds()), 100*d.Utilisation, d.Moves, d.Jain)
	}
}

// wrap writes text as lines of at most lineColumns, the first after a mark and the
// others indented below it.
func wrap(b *bytes.Buffer, mark, text string) {
	column := 0
	for i, word := range strings.Fields(text) {
		// A line is measured in characters, not in bytes.
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
			b.WriteString(mark)
			column = len(mark)
		case column+1+n > lineColumns:
			b.WriteString("\n" + strings.Repeat(" ", len(mark)))
			column = len(mark)
		default:
			b.WriteString(" ")
			column++
		}
		b.WriteString(word)
		column += n
	}
	b.WriteString("\n")
}

// cell makes text fit for a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", "\\|") }

// chart draws the lines of a chart from the runs of the first seed. It fails if an expression is
// wrong or has no x.
func (r *Result) chart(c *workload.ChartOf) (*chart.Chart, error) {
	drawn := &chart.Chart{Title: c.Title, XName: c.X, YName: c.Y}
	for i := range c.Lines {
		l := &c.Lines[i]
		worth, err := evaluate(l.Y, r.first.look)
		// A line is no comparison, so it has one side.
		v := worth.sides[0]
		// A chart needs an x for each number.
		if err == nil && len(v.x) != len(v.v) {
			err = fmt.Errorf("%s: is over nothing: its runs were not swept", l.Y)
		}
		if err != nil {
			return nil, r.file.Errorf(l.Pos, "line "+l.Name, "%v", err)
		}
		for k := range v.v {
			drawn.Add(l.Name, chart.Point{X: v.x[k], Y: v.v[k]})
		}
	}
	return drawn, nil
}
