// Package bench measures whole runs. Its benchmarks run the real engine under the
// policies (`go test -bench . ./bench`). BenchmarkMachine measures what the hardware
// can do, for comparison.
//
// The scripts beside it compare mrlocal with its peers (peers.sh) and measure time against
// input and cores (scaling.sh). They check the memory bound (memory.sh) and run the
// micro-benchmarks of all hot loops (loops.sh), which live in the packages that they measure.
// expected.tsv holds the ratios of the present state on small data; .ci/run compares with
// them. paste.sh puts the scripts' tables into README.md and docs/performance.md.
//
// Each benchmark makes its inputs from a seed, in a temporary directory that it
// removes. It keeps no memory between runs.
//
// The package also embeds the papers' workload files (Workloads, LoadWorkload). It runs their
// experiments in the simulator and compares the results with the papers' figures. An
// experiment is data: a section of a workload file. It has the runs as flags of mrlocal
// sim, the paper's figures, and an expression that computes ours of each figure. It also
// states narrower bands than the usual ones, and what was assumed or fitted. All lists
// the experiments, Run makes the runs of one with all seeds and judges its figures. Text
// shows a result on a terminal; CSV, JSON and Markdown list all figures; Document writes
// docs/reproduction.md and its charts. The same file gives the same bytes. A Result
// shares no memory with the simulator.
//
// Neighbours: workload reads the files, sim runs them, view/svg draws.
package bench

import (
	"embed"
	"io/fs"
	"path"
	"strings"

	"mrlocal/workload"
)

// files holds the workload files of the papers and some for one machine, so that mrlocal
// reproduce needs no files. Each says where its numbers come from. fitted.tsv lists the
// constants that were fitted. Each line has the paper's key, the constant, its value, the
// experiment, and the start of the figure's words or *.
//
//go:embed workloads/*.yaml workloads/fitted.tsv
var files embed.FS

// fittedConstant is a line of fitted.tsv.
type fittedConstant struct{ paper, constant, value, experiment, figure string }

// fittedConstants returns the lines of fitted.tsv, without comments and heads.
func fittedConstants() (all []fittedConstant) {
	text, err := files.ReadFile("workloads/fitted.tsv")
	if err != nil {
		panic(err) // the file is embedded
	}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(cells) == 5 && cells[0] != "paper" {
			all = append(all, fittedConstant{cells[0], cells[1], cells[2], cells[3], cells[4]})
		}
	}
	return all
}

// Workloads lists the names of the workload files, such as fig5.yaml, in
// alphabetical order.
func Workloads() (names []string) {
	all, err := fs.Glob(files, "workloads/*.yaml")
	if err != nil {
		panic(err) // the pattern is well formed
	}
	for _, name := range all {
		names = append(names, path.Base(name))
	}
	return names
}

// WorkloadText returns the text of a file that Workloads lists.
func WorkloadText(name string) ([]byte, error) { return files.ReadFile("workloads/" + name) }

// LoadWorkload parses a file that Workloads lists, anew on each call. The caller owns
// the result. Errors name the file by its path in the repository.
func LoadWorkload(name string) (*workload.File, error) {
	text, err := WorkloadText(name)
	if err != nil {
		return nil, err
	}
	return workload.Parse("bench/workloads/"+name, text)
}
