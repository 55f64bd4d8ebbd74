package reproduce

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"mrlocal/internal/chart"
	"mrlocal/workload"
)

// Text is a result as a terminal shows it.
func (r *Result) Text() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: %s\n%s; %s, %s\n", r.Name, r.Title, r.Paper, r.file.Name, counted(len(r.trials), "run"))
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, cells := range r.table(func(l *Line) string { return l.What }) {
		fmt.Fprintf(t, "  %s\n", strings.Join(cells, "\t"))
	}
	_ = t.Flush() // into memory
	return b.Bytes()
}

// table is the figures under their heads. Where there are several seeds it tells
// with how many a figure holds.
func (r *Result) table(what func(l *Line) string) (rows [][]string) {
	rows = [][]string{{"figure", "paper", "ours", "seeds", "verdict"}}
	for i := range r.Lines {
		l := &r.Lines[i]
		rows = append(rows, []string{what(l), l.Paper, l.Ours, fmt.Sprintf("%d of %d", l.Held, l.Seeds), l.says()})
	}
	if r.Seeds == 0 {
		for i := range rows {
			rows[i] = slices.Delete(rows[i], 3, 4)
		}
	}
	return rows
}

// says is the verdict and why.
func (l *Line) says() string {
	if l.Why == "" {
		return l.Verdict.String()
	}
	return l.Verdict.String() + ": " + l.Why
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// Summary counts the verdicts of all results in a line.
func Summary(all []*Result) string {
	var counts [len(verdictWords)]int
	figures, rare := 0, 0
	for _, r := range all {
		for _, l := range r.Lines {
			counts[l.Verdict]++
			figures++
			if l.Verdict != Differs && 2*l.Held < l.Seeds {
				rare++
			}
		}
	}
	text := fmt.Sprintf("%s, %s:", counted(len(all), "experiment"), counted(figures, "figure"))
	for v, n := range counts[:Differs] {
		text += fmt.Sprintf(" %d %s,", n, Verdict(v))
	}
	text += fmt.Sprintf(" %d not reproduced", counts[Differs])
	if rare > 0 {
		text += fmt.Sprintf("; %d of the others with fewer than half of their seeds only", rare)
	}
	return text + "\n"
}

// Folder is where the charts are, beside the document.
const Folder = "reproduction"

// Document is docs/reproduction.md and its charts, by path below docs.
func Document(all []*Result) (map[string][]byte, error) {
	files := map[string][]byte{}
	var b bytes.Buffer
	b.WriteString(head)
	b.WriteString(Summary(all))
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
	files["reproduction.md"] = b.Bytes()
	return files, nil
}

const head = `# Reproduction

The papers' experiments in the simulator: what the paper prints, what comes out here, and how the two stand. This file is what ` + "`mrlocal reproduce --write`" + ` writes; a test holds it to that.

Experiments are sections of the files in bench/workloads, whose format [workloads.md](workloads.md) describes: runs, figures, bands, and what is assumed or fitted stand there. Papers measured
clusters; times here come from a model of one. So makespans are mostly compared as ratios, and a figure is judged so:

| verdict | means |
| --- | --- |
| exact | the paper's figure, to its last digit |
| within the band | in the range that the file states; where the paper gives a range, that |
| calibrated | one of these two, or a comparison that holds, but constants of the file were fitted to this figure, or settings or its wording chosen after a run that showed it: it says that the model can, and no more |
| same direction | a gain is a gain and a loss a loss, of another size; or a comparison that the paper makes in words holds |

What none of these fits is said to be otherwise, with the reason, in its line.

Verdicts are those of seed 1, which also made the tables of runs and the charts. Where times or places are drawn, the runs were made with four more seeds, after all verdicts stood: the column
seeds has with how many of the five a figure holds, which is, comes out as well or better. Few of them mean that the verdict is luck.

Not everything was stated before the first run. Chosen after one were the times of OMO's sets and simple workloads and of its Tables 2 and 3, those of RAS and of DynamicMR, the workload of
dynamicmr-locality, the cost model of omo-batch, what lost memory costs under RAS, the wording of what omo-means says of the best policy and of light shuffles and what omo-a says of last batches, the second that omo-slowstart allows, and
from where on two figures of omo-terasort have the paper's direction. Each stands below, under Fitted or in the figure's line, with what it was chosen by or what comes out otherwise. Figures and bands of Dynamic Split were written down together with
its first results, its times before; two figures of omo-terasort, OMO against YARN and the makespan of OMO, came or came back after a run, the latter with the band that it had before. No band that was stated
before a run was changed after it.

`

// mostRows is how many runs a table of runs may have; more are in a chart.
const mostRows = 16

func (r *Result) section(b *bytes.Buffer) {
	fmt.Fprintf(b, "\n## %s: %s\n\n%s. File: [%s](../%s).\n", r.Name, r.Title, cell(r.Paper), r.file.Name, r.file.Name)
	for _, list := range []struct {
		name  string
		items []string
	}{{"Assumed", r.Assumed}, {"Fitted", r.Fitted}} {
		if len(list.items) > 0 {
			fmt.Fprintf(b, "\n%s:\n\n", list.name)
			for _, item := range list.items {
				fmt.Fprintf(b, "- %s\n", item)
			}
		}
	}
	b.WriteString("\n")
	for i, cells := range r.table((*Line).named) {
		fmt.Fprintf(b, "| %s |\n", strings.ReplaceAll(cell(strings.Join(cells, "\t")), "\t", " | "))
		if i == 0 {
			fmt.Fprintf(b, "|%s\n", strings.Repeat(" --- |", len(cells)))
		}
	}
	if len(r.trials) > mostRows {
		return
	}
	b.WriteString("\n| run | makespan | mean job time | utilisation | moves | fairness (Jain) |\n| --- | --- | --- | --- | --- | --- |\n")
	for i, d := range r.first.done {
		fmt.Fprintf(b, "| `%s` | %s s | %s s | %.1f %% | %d | %.3f |\n", r.first.trials[i].line(), short(d.MakespanSeconds), short(d.MeanJobSeconds()), 100*d.Utilisation, d.Moves, d.Jain)
	}
}

// named is what a line is about, and its target.
func (l *Line) named() string {
	if l.Target == "" {
		return l.What
	}
	return l.What + " (" + l.Target + ")"
}

// cell makes text fit for a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", "\\|") }

func (r *Result) chart(c *workload.ChartOf) (*chart.Chart, error) {
	drawn := &chart.Chart{Title: c.Title, XName: c.X, YName: c.Y}
	for i := range c.Lines {
		l := &c.Lines[i]
		worth, err := evaluate(l.Y, r.first.look)
		v := worth.sides[0]
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
