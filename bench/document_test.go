package bench

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"mrlocal/internal/errs"
	"mrlocal/workload"
)

// Folder is the directory of the charts and of FiguresFile. Its path is relative to docs.
const Folder = "reproduction"

// FiguresFile is the file with all figures as JSON. Its path is relative to docs.
const FiguresFile = Folder + "/figures.json"

// Tables returns the tables of all figures, one for each paper.
func Tables(all []*Result) []byte {
	var b bytes.Buffer
	for _, p := range byPaper(all) {
		p.table(&b)
	}
	return b.Bytes()
}

// Document returns the files of the document of all results: reproduction.md, its charts and its
// figures as JSON. The keys are paths relative to docs. It fails if the expression of a chart is wrong.
func Document(all []*Result) (map[string][]byte, error) {
	text, err := os.ReadFile("document.txt")
	if err != nil {
		return nil, err
	}
	head, rest, _ := strings.Cut(string(text), "(claims)\n")
	verdicts, references, _ := strings.Cut(rest, "(figures)\n")
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
	files[FiguresFile], err = JSON(all)
	return files, err
}

// chartFile returns the path of a chart, relative to docs.
func chartFile(c *workload.ChartOf) string { return Folder + "/" + c.Name + ".svg" }

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
	b.WriteString(errs.Wrap(Summary(p.of), "", "", 118) + "\n")
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
