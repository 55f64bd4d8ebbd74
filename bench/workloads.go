// Package bench measures whole runs, and reproduces the experiments of the papers.
//
// Its benchmarks run the real engine under the policies (`go test -bench . ./bench`).
// BenchmarkMachine measures the limits of the hardware, for comparison. Each benchmark makes its
// inputs from a seed, in a temporary directory that it removes.
//
// The scripts next to it compare mrlocal with its peers (peers.sh), measure time against input and
// cores (scaling.sh), and check the memory bound (memory.sh). loops.sh runs the micro-benchmarks of
// all hot loops, which are in the packages of these loops. expected.tsv has the current ratios on
// small data, with which .ci/run compares. paste.sh puts the tables of the scripts into
// docs/performance.md and docs/loops.md.
//
// The package embeds the papers' workload files (Workloads, LoadWorkload). It runs their experiments
// in the simulator and compares the results with the papers' figures. An experiment is a section of
// a workload file. It has the runs as flags of mrlocal sim, the paper's figures, and an expression for
// each figure. It also states bands that are narrower than the usual ones, assumptions, and fitted
// constants. All returns the experiments. Experiment.Run makes all runs and judges the figures.
// Result.Text is for a terminal, CSV and JSON have all figures. The same file always gives the same
// bytes. A test makes docs/reproduction.md with its charts.
package bench

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"mrlocal/workload"
)

// embedded has the workload files of the papers, and some for one machine. They are embedded, so that
// mrlocal reproduce needs no files on disk. Comments in them name the source of each number.
// fitted.tsv lists the fitted constants. A line has the paper's key, the constant, its value, the
// experiment, and the start of the figure's words; * stands for all figures.
//
//go:embed workloads/*.yaml workloads/fitted.tsv
var embedded embed.FS

// fittedConstant is a line of fitted.tsv.
type fittedConstant struct{ paper, constant, value, experiment, figure string }

// fittedConstants returns the lines of fitted.tsv, without comments and headings.
func fittedConstants() (all []fittedConstant) {
	text, err := embedded.ReadFile("workloads/fitted.tsv")
	if err != nil {
		panic(err) // never happens: the file is embedded
	}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(cells) == 5 && cells[0] != "paper" {
			all = append(all, fittedConstant{cells[0], cells[1], cells[2], cells[3], cells[4]})
		}
	}
	return all
}

// Workloads returns the names of the embedded workload files, such as fig5.yaml, in alphabetical
// order.
func Workloads() (names []string) {
	all, err := fs.Glob(embedded, "workloads/*.yaml")
	if err != nil {
		panic(err) // never happens: the pattern is valid
	}
	for _, name := range all {
		names = append(names, path.Base(name))
	}
	return names
}

// WorkloadText returns the text of an embedded workload file. It fails if Workloads does not list
// the name. The caller owns the text.
func WorkloadText(name string) ([]byte, error) { return embedded.ReadFile("workloads/" + name) }

// LoadWorkload parses an embedded workload file, anew on each call. It fails if Workloads does not
// list the name. The caller owns the result. Errors name the file by its path in the repository.
func LoadWorkload(name string) (*workload.File, error) {
	text, err := WorkloadText(name)
	if err != nil {
		return nil, err
	}
	return workload.Parse("bench/workloads/"+name, text)
}

// List returns a table for errs.Fit with a line for each experiment: name, title, paper.
func List(all []*Experiment) []byte {
	var b bytes.Buffer
	for _, x := range all {
		fmt.Fprintf(&b, "%s\t%s\t%s\n", x.Name, x.Title, x.Paper)
	}
	return b.Bytes()
}

// Files returns the texts of the workload files of the experiments, each file once.
func Files(all []*Experiment) ([]byte, error) {
	var b bytes.Buffer
	seen := map[string]bool{} // several experiments may share a file
	for _, x := range all {
		if name := filepath.Base(x.File()); !seen[name] {
			seen[name] = true
			text, err := WorkloadText(name)
			if err != nil {
				return nil, err
			}
			b.Write(text)
		}
	}
	return b.Bytes(), nil
}

// Written returns results as csv or json. As text it returns the counts of verdicts.
func Written(results []*Result, format string) ([]byte, error) {
	switch format {
	case "csv":
		return CSV(results), nil
	case "json":
		return JSON(results)
	}
	return []byte(Summary(results)), nil
}
