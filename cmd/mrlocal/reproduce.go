package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"mrlocal/bench"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/errs"
	"mrlocal/workload"
)

const reproduceHelp = `Runs the experiments of the papers in the simulator, all or those of the given names, and compares the results with the figures that the papers print. The binary contains the workloads: --list lists the experiments, --file prints the workload file of NAME for mrlocal sim. FILE is a workload file of your own with experiments (docs/workloads.md), such as ./mine.yaml; then NAMEs are of its experiments.

--write writes docs/reproduction.md and its charts, below the current directory.`

// reproduceCommand runs in the simulator alone, so its results do not depend on
// the machine.
func reproduceCommand() command {
	return command{name: "reproduce", usage: "run the experiments of the papers and compare", args: "[FILE…] [NAME…]", long: reproduceHelp, run: runReproduce, flags: []flagSpec{
		toggle("list", "", "list the experiments, run none"),
		toggle("file", "", "print the workload files of the named experiments, run none"),
		toggle("write", "", "write docs/reproduction.md and its charts"),
	}}
}

// runReproduce reads the flags, of which at most one applies.
func runReproduce(ctx context.Context, e env, line argv.Line) (int, error) {
	all, names, own, err := experiments(line.Words)
	if err != nil {
		return 0, err
	}
	some, err := bench.Named(all, names) // all of them without names
	switch {
	case err != nil:
		return 0, err
	case own && line.Has("file"):
		return 0, errs.Optionf("--file", "prints files of the binary; leave out your own")
	case line.Has("file"):
		return exitDone, writeWorkloads(e, some)
	case line.Has("list"):
		return exitDone, listExperiments(e, some)
	case line.Has("write") && len(line.Words) > 0:
		return 0, errs.Optionf("--write", "writes all experiments; name none of them")
	}
	// A figure that differs is a result and no failure: the exit code is 0.
	return exitDone, runExperiments(ctx, e, some, line.Has("write"))
}

// experiments returns the experiments of the files among words or, without a file, those
// of the papers. The other words are names. A word with a slash or the suffix of YAML is a
// file. own reports whether there is one.
func experiments(words []string) (all []*bench.Experiment, names []string, own bool, err error) {
	for _, word := range words {
		// No experiment of the papers has such a name, so a word means one thing.
		if suffix := filepath.Ext(word); suffix != ".yaml" && suffix != ".yml" && !strings.Contains(word, "/") {
			names = append(names, word)
			continue
		}
		own = true
		f, err := workload.Load(word)
		if err != nil {
			return nil, nil, own, err
		}
		// Experiments of several files run in the order of the words.
		of, err := bench.Of(f)
		if err != nil {
			return nil, nil, own, err
		}
		all = append(all, of...)
	}
	if !own {
		all, err = bench.All()
	}
	return all, names, own, err
}

// docsFolder holds the document, below the current directory.
const docsFolder = "docs"

// listExperiments writes one line for each experiment.
func listExperiments(e env, all []*bench.Experiment) error {
	var b bytes.Buffer
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, x := range all {
		fmt.Fprintf(t, "%s\t%s\t%s\n", x.Name, x.Title, x.Paper)
	}
	_ = t.Flush() // into memory
	return write(e, b.Bytes())
}

// writeWorkloads writes the workload files of the experiments, each once.
func writeWorkloads(e env, all []*bench.Experiment) error {
	seen := map[string]bool{} // several experiments may share a file
	for _, x := range all {
		if name := filepath.Base(x.File()); !seen[name] {
			seen[name] = true
			text, err := bench.WorkloadText(name)
			if err != nil {
				return err
			}
			if err := write(e, text); err != nil {
				return err
			}
		}
	}
	return nil
}

// runExperiments runs the experiments one after the other. It shows each result
// when it is there, and the count of verdicts at the end. With toDocs it also
// writes docs/reproduction.md and its charts.
func runExperiments(ctx context.Context, e env, all []*bench.Experiment, toDocs bool) error {
	if toDocs {
		if err := checkDocs(all); err != nil {
			return err
		}
	}
	var results []*bench.Result
	for _, x := range all {
		r, err := x.Run(ctx)
		if err != nil {
			return err
		}
		results = append(results, r)
		// Each result appears at once: all runs together take minutes.
		if err := write(e, append(r.Text(), '\n')); err != nil {
			return err
		}
	}
	if err := write(e, []byte(bench.Summary(results))); err != nil || !toDocs {
		return err
	}
	// The document is made in memory first. A wrong expression of a chart leaves the files as
	// they are.
	files, err := bench.Document(results)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(docsFolder, bench.Folder), 0o777); err != nil {
		return fmt.Errorf("write the document: %w", err)
	}
	// The order of a map is random. The sorted order makes an error name the same file each
	// time.
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := os.WriteFile(filepath.Join(docsFolder, filepath.FromSlash(name)), files[name], 0o666); err != nil {
			return fmt.Errorf("write the document: %w", err)
		}
	}
	return nil
}

// checkDocs checks that the document can be written, before runs that take
// minutes.
func checkDocs(all []*bench.Experiment) error {
	names := []string{"reproduction.md"}
	for _, x := range all {
		// The names follow from the experiments, so the files are known before any run.
		for i := range x.Charts {
			names = append(names, path.Join(bench.Folder, x.Charts[i].Name+".svg"))
		}
	}
	for _, name := range names {
		if err := process.CheckBelow("write", filepath.Join(docsFolder, filepath.FromSlash(name))); err != nil {
			return err
		}
	}
	return nil
}
