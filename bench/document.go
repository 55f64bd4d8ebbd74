package bench

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"mrlocal/view/svg"
	"mrlocal/workload"
)

// Folder is the directory of the charts and of FiguresFile. Its path is relative to docs.
const Folder = "reproduction"

// FiguresFile is the file with all figures as JSON. Its path is relative to docs.
const FiguresFile = Folder + "/figures.json"

// Document returns the files of the document of all results: reproduction.md, its charts and its
// figures as JSON. The keys are paths relative to docs. It fails if the expression of a chart is wrong.
func Document(all []*Result) (map[string][]byte, error) {
	files := map[string][]byte{}
	var b bytes.Buffer
	b.WriteString(head)
	wrap(&b, "", Summary(all))
	tables(&b, all)
	b.WriteString(details)
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
			path := chartFile(&r.Charts[i])
			files[path] = svg.Bytes()
			fmt.Fprintf(&b, "\n![%s](%s)\n", r.Charts[i].Title, path)
		}
	}
	b.WriteString(references)
	files["reproduction.md"] = b.Bytes()
	var err error
	files[FiguresFile], err = JSON(all)
	return files, err
}

// DocumentFiles returns the paths of the files that Document returns for these experiments. It needs
// no runs. The paths are relative to docs.
func DocumentFiles(all []*Experiment) []string {
	names := []string{"reproduction.md", FiguresFile}
	for _, x := range all {
		for i := range x.Charts {
			names = append(names, chartFile(&x.Charts[i]))
		}
	}
	return names
}

// chartFile returns the path of a chart, relative to docs.
func chartFile(c *workload.ChartOf) string { return Folder + "/" + c.Name + ".svg" }

// WriteDocument writes the files of Document into the directory docs. It creates the directory if it
// is missing. It fails if the expression of a chart is wrong, or if it cannot write.
func WriteDocument(docs string, all []*Result) error {
	// Document makes everything in memory, so a wrong expression leaves the files on disk unchanged.
	files, err := Document(all)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(docs, Folder), 0o777); err != nil {
		return fmt.Errorf("write the document: %w", err)
	}
	// Sorted, because the order of a map is random. So an error always names the same file.
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := os.WriteFile(filepath.Join(docs, filepath.FromSlash(name)), files[name], 0o666); err != nil {
			return fmt.Errorf("write the document: %w", err)
		}
	}
	return nil
}

// paperKey matches the key of a paper in the source of an experiment.
var paperKey = regexp.MustCompile(`\[[A-Za-z]+\d\d\]`)

// tables writes a table of all figures for each paper, in the order of the experiments.
// Experiments without a key of docs/papers share one table.
func tables(b *bytes.Buffer, all []*Result) {
	var papers []string
	of := map[string][]*Result{}
	for _, r := range all {
		// If there are several keys, the first one is the paper with the experiment.
		key := paperKey.FindString(r.Paper)
		if of[key] == nil {
			papers = append(papers, key)
		}
		of[key] = append(of[key], r)
	}
	for _, p := range papers {
		title := p
		if p == "" {
			title = "Other experiments"
		}
		fmt.Fprintf(b, "\n### %s\n\n", title)
		wrap(b, "", Summary(of[p]))
		b.WriteString("\n| experiment | figure | theirs | ours | in band | fitted |\n| --- | --- | --- | --- | --- | --- |\n")
		for _, r := range of[p] {
			for i := range r.Lines {
				l := &r.Lines[i]
				row(b, r.Name, l.What, l.Paper, l.Shown, l.agrees(), yes(l.Fitted))
			}
		}
		constants(b, of[p])
	}
}

// constants writes a table of the constants that were fitted to figures of these experiments.
func constants(b *bytes.Buffer, some []*Result) {
	heads := []string{"fitted constant", "value", "fitted to"}
	for _, c := range fittedConstants() {
		if !slices.ContainsFunc(some, func(r *Result) bool { return r.Name == c.experiment }) {
			continue
		}
		// The headings are written only if there is a constant.
		if heads != nil {
			b.WriteString("\n")
			row(b, heads...)
			b.WriteString("| --- | --- | --- |\n")
			heads = nil
		}
		row(b, c.constant, c.value, c.experiment+": "+strings.Replace(c.figure, "*", "all figures", 1))
	}
}

// agrees returns the verdict for the table of all figures, with the truth value of a comparison. It adds
// whether something was withdrawn.
func (l *Line) agrees() string {
	said := l.Verdict.String()
	if l.Verdict == Words {
		said += ", " + string(l.Ours)
	}
	if l.Withdrawn != "" {
		said += ", withdrawn"
	}
	return said
}

// row writes a row of a table in Markdown.
func row(b *bytes.Buffer, cells ...string) {
	for _, c := range cells {
		b.WriteString("| " + strings.ReplaceAll(c, "|", "\\|") + " ")
	}
	b.WriteString("|\n")
}

// head is the beginning of the document. It explains verdicts, bands and seeds.
const head = `# Reproduction

The papers' experiments in the simulator: the paper's figure, ours, and a verdict. ` + "`mrlocal reproduce --write`" + `
writes this file, its charts and [figures.json](reproduction/figures.json). A test checks that they agree.
` + "`mrlocal reproduce --format csv`" + ` gives the same figures for programs, ` + "`--format json`" + ` and
` + "`--format markdown`" + ` do, too.

Experiments are sections of the files in bench/workloads; [workloads.md](workloads.md) describes their format. A
section states the runs, the figures, the bands, and what was assumed or fitted. The papers measured clusters. Times
here come from a model of a cluster, so that most makespans are compared as ratios.

| verdict | meaning |
| --- | --- |
| exact | a run computed the paper's figure, to its last digit |
| inside | ours is in the band |
| outside | ours is out of the band, or the experiment is not built; a reason says why |
| words | the paper compares in words; ours is true or false, and a false one has a reason |

The [glossary](glossary.md) has the terms. A file may state a narrower band than the usual one; a wider one is an
error. A least value at an end of its sweep is never inside.

The direction says whether ours is on the paper's side of no change. For example, both are gains, but of different
sizes. The direction is not a verdict.

Fitted says that a constant was chosen by this figure. Such a figure only shows that the model can produce it. The
other figures test the constant. The list below a paper's table has all such constants. The summaries count fitted
figures separately. Some constants were chosen after runs that also showed other figures. The experiments say so below.

A reason names the cause, and the result if one thing is changed and nothing else. For example: "Isolated: with
cluster.disk=30MB it is 10.9 % (10.5 to 11.3), inside (20 seeds)". The cause is isolated if one change makes the
comparison true. For a figure with a band, the change brings it into the band or to the other side. Otherwise the
changes are listed under "Each alone". The 95 % interval is in parentheses. If it reaches out of the band, ours is
inside "by its mean alone". The changes are in the files, under isolate, and these commands make them again. So no
number of a reason is written by hand.

A reading is a number that the paper does not have: the difference of two readings of its text, or a property of the
model. It has no band and no verdict, and stands in a table of its own.

Withdrawn names a band, a limit or a wording that was set after a run. It no longer counts. The one that counts was
stated before the run. If there is none, the figure has no band and is never inside.

Where times or places are drawn at random, each experiment has 20 seeds. Ours is the mean, with its 95 % interval by
Student's t. A comparison holds if the interval of the difference does, paired by seed. With one seed all is
deterministic. The tables of runs and the charts show seed 1.

Keys such as [DHFS13] and names in quotes are those of [docs/papers](papers/README.md).

## Figures by paper

`

// details is the text between the tables of the papers and the sections of the experiments.
const details = `
## Experiments

The list below a table has the claims first, by the names that docs/papers gives them. Each has the numbers of its
figures. Then it has the reasons, each after the number of its figure.
`

// references turns the papers' keys into links.
const references = `
[DHFS13]: papers/dhfs13.md
[DynamicMR14]: papers/dynamicmr14.md
[Vanathi16]: papers/vanathi16.md
[Split11]: papers/split11.md
[RAS11]: papers/ras11.md
[OMO21]: papers/omo21.md
`

const (
	mostRows    = 16  // rows of a table of runs; a chart shows more runs
	lineColumns = 118 // characters of a line of prose in the document
)

// section writes the section of an experiment: assumptions, fitted constants, figures, readings and
// runs.
func (r *Result) section(b *bytes.Buffer) {
	fmt.Fprintf(b, "\n### %s: %s\n\n", r.Name, r.Title)
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
	if len(r.Lines) > 0 {
		r.figures(b)
	}
	if len(r.Readings) > 0 {
		b.WriteString("\n| reading; the paper has no figure | ours | 95 % |\n| --- | --- | --- |\n")
		for i := range r.Readings {
			ours, within := r.reading(i)
			row(b, r.Readings[i].What, ours, within)
		}
	}
	if len(r.trials) <= mostRows {
		r.runTable(b)
	}
}

// figures writes the table of figures. Below the table it lists the claims, each with the numbers
// of its figures, and then the reasons, each with the number of its figure.
func (r *Result) figures(b *bytes.Buffer) {
	b.WriteString("\n| # | figure | paper | ours | 95 % | band | verdict | direction | fitted | withdrawn |\n|" + strings.Repeat(" --- |", 10) + "\n")
	var claims, reasons []string
	// shown has the numbers of the figures that belong to a claim.
	shown := map[string][]string{}
	for i := range r.Lines {
		l := &r.Lines[i]
		number := strconv.Itoa(i + 1)
		row(b, number, l.What, l.Paper, l.Shown, l.interval(), l.band(), l.Verdict.String(), l.Direction.String(), yes(l.Fitted), l.Withdrawn)
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
	fmt.Fprintf(b, "\n`%s` with", prefix)
	b.WriteString("\n\n| flags | makespan (s) | mean job (s) | utilisation (%) | moves | Jain |\n| --- | --- | --- | --- | --- | --- |\n")
	for i, d := range r.first.done {
		flags := strings.TrimSpace(strings.TrimPrefix(r.first.trials[i].line(), prefix))
		fmt.Fprintf(b, "| `%s` | %s | %s | %.1f | %d | %.3f |\n", flags, short(d.MakespanSeconds), short(d.MeanJobSeconds()), 100*d.Utilisation, d.Moves, d.Jain)
	}
}

// wrap writes text as lines of at most lineColumns characters. The first line begins with mark, and
// the others are indented by its width.
func wrap(b *bytes.Buffer, mark, text string) {
	column := 0
	for i, word := range strings.Fields(text) {
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
