package reproduce

import (
	"bytes"
	"fmt"
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
	fmt.Fprintln(t, "  figure\tpaper\tours\tverdict")
	for _, l := range r.Lines {
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\n", l.What, l.Paper, l.Ours, l.says())
	}
	_ = t.Flush() // into memory
	return b.Bytes()
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
	figures := 0
	for _, r := range all {
		for _, l := range r.Lines {
			counts[l.Verdict]++
			figures++
		}
	}
	text := fmt.Sprintf("%s, %s:", counted(len(all), "experiment"), counted(figures, "figure"))
	for v, n := range counts[:Differs] {
		text += fmt.Sprintf(" %d %s,", n, Verdict(v))
	}
	return text + fmt.Sprintf(" %d not reproduced\n", counts[Differs])
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

Not everything was stated before the first run. Chosen after one were the times of OMO's sets and simple workloads and of its Tables 2 and 3, those of RAS and of DynamicMR, the workload of
dynamicmr-locality, the cost model of omo-batch, the wording of what omo-means says of the best policy and of light shuffles and what omo-a says of last batches, the second that omo-slowstart allows, and
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
	b.WriteString("\n| figure | paper | ours | verdict |\n| --- | --- | --- | --- |\n")
	for _, l := range r.Lines {
		what := l.What
		if l.Target != "" {
			what += " (" + l.Target + ")"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", cell(what), cell(l.Paper), cell(l.Ours), cell(l.says()))
	}
	if len(r.trials) > mostRows {
		return
	}
	b.WriteString("\n| run | makespan | mean job time | utilisation | moves | fairness (Jain) |\n| --- | --- | --- | --- | --- | --- |\n")
	for i, d := range r.done {
		fmt.Fprintf(b, "| `%s` | %s s | %s s | %.1f %% | %d | %.3f |\n", r.trials[i].line(), short(d.MakespanSeconds), short(d.MeanJobSeconds()), 100*d.Utilisation, d.Moves, d.Jain)
	}
}

// cell makes text fit for a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", "\\|") }

func (r *Result) chart(c *workload.ChartOf) (*chart.Chart, error) {
	drawn := &chart.Chart{Title: c.Title, XName: c.X, YName: c.Y}
	for i := range c.Lines {
		l := &c.Lines[i]
		worth, err := evaluate(l.Y, r.look)
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
