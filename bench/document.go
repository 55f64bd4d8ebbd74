package bench

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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
	claimTables(&b, all)
	b.WriteString(verdicts)
	for _, p := range byPaper(all) {
		p.table(&b)
		for _, r := range p.of {
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

// ofPaper has the results of one paper's experiments.
type ofPaper struct {
	key string // in brackets; "": experiments without a key of docs/papers
	of  []*Result
}

// byPaper groups results by paper, in the order of the experiments.
func byPaper(all []*Result) (papers []ofPaper) {
	for _, r := range all {
		// If there are several keys, the first one is the paper with the experiment.
		key := paperKey.FindString(r.Paper)
		i := slices.IndexFunc(papers, func(p ofPaper) bool { return p.key == key })
		if i < 0 {
			i, papers = len(papers), append(papers, ofPaper{key: key})
		}
		papers[i].of = append(papers[i].of, r)
	}
	return papers
}

// paperName returns the name of a paper in headings and tables.
func paperName(key string) string { return cmp.Or(key, "Other experiments") }

// table writes a heading, a table of all figures, and one of all checks.
func (p *ofPaper) table(b *bytes.Buffer) {
	fmt.Fprintf(b, "\n### %s\n\n", paperName(p.key))
	wrap(b, "", Summary(p.of))
	b.WriteString("\n| experiment | figure | theirs | ours | in band | fitted |\n| --- | --- | --- | --- | --- | --- |\n")
	var checks bytes.Buffer
	for _, r := range p.of {
		for i := range r.Lines {
			l := &r.Lines[i]
			if l.Check != "" {
				row(&checks, r.Name, l.What, l.Paper, l.Shown, l.Check)
				continue
			}
			row(b, r.Name, l.What, l.Paper, l.Shown, l.agrees(), yes(l.Fitted))
		}
	}
	if checks.Len() > 0 {
		fmt.Fprintf(b, "\n#### Checks of input, %s\n\n| experiment | check | theirs | ours | of |\n| --- | --- | --- | --- | --- |\n%s", paperName(p.key), checks.Bytes())
	}
}

// agrees returns the verdict for the table of all figures, with the truth value of a comparison. It adds
// whether something was withdrawn.
func (l *Line) agrees() string {
	said := string(l.Verdict)
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

// head is the beginning of the document, above the tables of claims.
const head = `# Reproduction

The papers' experiments in the simulator: which claims of the papers hold here, which do not, and why.
` + "`mrlocal reproduce NAME`" + ` runs an experiment and prints its details: what was assumed and fitted, bands, directions,
claims, reasons and runs. ` + "`mrlocal reproduce --write`" + ` writes this file, its charts and
[figures.json](reproduction/figures.json), which has the reasons too. A test checks that they agree.
` + "`--format csv`, `--format json` and `--format markdown`" + ` print all figures.

## Claims of the papers

A claim has one or more figures. It is held if all of them hold: a number lies in its band, a comparison is true. "3 of
5" holds in part. A claim is *fitted only* if each of its figures was fitted, or had something withdrawn. A claim
without a name of its own has the title of its experiment.

`

// verdicts is the part between the claims and the figures. It explains verdicts, bands, seeds and checks.
const verdicts = `
## How figures are judged

Experiments are sections of the files in bench/workloads; [workloads.md](workloads.md) describes their format. A
section states the runs, the figures, the bands, and what was assumed or fitted. The papers measured clusters. Times
here come from a model of a cluster, so that most makespans are compared as ratios. The [glossary](glossary.md) has the
terms.

| verdict | meaning |
| --- | --- |
| exact | a run computed the paper's figure, to its last digit |
| inside | ours is in the band: the paper's range, or at most 25 % of its figure on each side |
| outside | ours is out of the band, or the experiment is not built; a reason says why |
| words | the paper compares in words; ours is true or false, and a false one has a reason |

- *Check*: no result, and not counted as one. A check of *input* is a sum or a quotient of numbers in the workload file.
  A check of a *formula* computes the paper's formula again. A *repeat* is a figure that another line has already.
- *Curve*: a sweep is judged as a whole, because a flat line may meet each of its points. Two figures say whether ours
  has the order of the paper's points, and whether it is nearer to them than a flat line.
- *Fitted*: a constant of the model was chosen so that this figure agrees. Such a figure only shows that the model can
  produce it. The other figures test the constant. The summaries count fitted figures separately.
- *Withdrawn*: a band, limit or wording was set after a run, so it no longer counts. The one that counts was stated
  before the run. If there is none, the figure has no band and is never inside.
- *Direction*: whether ours is on the paper's side of no change. The direction is not a verdict.
- *Reason*: the cause, and the result if one thing is changed and nothing else. For example: "Isolated: with
  cluster.disk=30MB it is 10.9 % (10.5 to 11.3), inside (20 seeds)". The command makes the change, so no number of a
  reason is written by hand. If the interval in parentheses reaches out of the band, ours is inside "by its mean alone".
- *Reading*: a number that the paper does not have, such as the difference of two ways to read its text. It has no band
  and no verdict. Only the command prints it.

Where times or places are drawn at random, each experiment has 20 seeds. Ours is the mean, with a 95 % interval by
Student's t. A comparison holds if the interval of the difference does, paired by seed. Each side of a comparison is
shown as the mean over the seeds of what is compared. With one seed all is deterministic. The charts show seed 1. Keys
such as [DHFS13] are those of [docs/papers](papers/README.md).

## Figures by paper
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

// lineColumns is the number of characters of a line of prose.
const lineColumns = 118

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
