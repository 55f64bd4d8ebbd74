package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"mrlocal/bench"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/pictures"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/errs"
)

const reproduceHelp = `Runs the experiments of the papers in the simulator, all or those of the given names, and compares the results with the figures that the papers print. The binary contains the workloads: --list lists the experiments, --file prints the workload file of NAME for mrlocal sim. FILE is a workload file of your own with experiments (docs/workloads.md), such as ./mine.yaml, or - for standard input; then NAMEs are of its experiments.

--write writes docs/reproduction.md, its charts and its figures, below the current directory. --format prints all figures at the end, as CSV, JSON or tables of Markdown, instead of each experiment when it is done. A verdict is exact, inside, outside or words; docs/reproduction.md explains them.`

// docs holds the document of --write, below the current directory.
const docs = "docs"

// reproduceCommand runs in the simulator alone, so its results do not depend on
// the machine.
func reproduceCommand() command {
	return command{name: "reproduce", usage: "run the experiments of the papers and compare", args: "[FILE…] [NAME…]", long: reproduceHelp, run: runReproduce, flags: []flagSpec{
		toggle("list", "", "list the experiments, run none"),
		toggle("file", "", "print the workload files of the named experiments, run none"),
		toggle("write", "", "write docs/reproduction.md, its charts and its figures"),
		value("format", "print the figures as `text|csv|json|markdown`", "text"),
		pictures.HTMLFlag(), value("seeds", "run at most `N` seeds of each experiment", ""),
	}}
}

// runReproduce reads the flags, of which at most one applies.
func runReproduce(ctx context.Context, e env, line argv.Line) (int, error) {
	all, names, own, err := experiments(e, line.Words)
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
	r := newReader(line)
	o := reproduceOptions{seeds: r.Count("seeds", 1, mostSeeds), format: r.Choice("format", "text", "csv", "json", "markdown"), toDocs: line.Has("write")}
	if o.web, err = pictures.HTML(r.Path("html"), process.Work{Stdout: e.stdout}); err != nil {
		return 0, err
	}
	// A figure that is outside is a result and no failure: the exit code is 0.
	if r.Err != nil {
		return 0, r.Err
	}
	return exitDone, o.run(ctx, e, some)
}

// mostSeeds bounds --seeds.
const mostSeeds = 1000

// reproduceOptions says how experiments are run and shown.
type reproduceOptions struct {
	seeds  int    // most seeds of each experiment; 0: those of its file
	format string // text, csv, json or markdown
	toDocs bool
	web    *pictures.Table // nil: none
}

// experiments returns the experiments of the files among words or, without a file, those
// of the papers. The other words are names. A word with a slash or the suffix of YAML is a
// file, and - is standard input. own reports whether there is one.
func experiments(e env, words []string) (all []*bench.Experiment, names []string, own bool, err error) {
	for _, word := range words {
		// No experiment of the papers has such a name, so a word means one thing.
		if suffix := filepath.Ext(word); word != "-" && suffix != ".yaml" && suffix != ".yml" && !strings.Contains(word, "/") {
			names = append(names, word)
			continue
		}
		own = true
		f, err := readWorkload(e, word)
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

// run runs the experiments one after the other. As text, it shows each result when it is
// there, and the count of verdicts at the end; the other formats come at the end. With
// toDocs it also writes docs/reproduction.md and its files.
func (o *reproduceOptions) run(ctx context.Context, e env, all []*bench.Experiment) error {
	if o.toDocs {
		// The document is checked before runs that take minutes.
		for _, name := range bench.DocumentFiles(all) {
			if err := process.CheckBelow("write", filepath.Join(docs, filepath.FromSlash(name))); err != nil {
				return err
			}
		}
	}
	var results []*bench.Result
	for _, x := range all {
		r, err := x.Run(ctx, o.seeds)
		if err != nil {
			return err
		}
		results = append(results, r)
		// Each result appears at once: all runs together take minutes.
		if o.format == "text" {
			if err := write(e, append(r.Text(), '\n')); err != nil {
				return err
			}
		}
	}
	err := errors.Join(o.finish(e, results), o.web.Write("The papers' figures and ours", bench.CSV(results), true, nil))
	if err != nil || !o.toDocs {
		return err
	}
	return bench.WriteDocument(docs, results)
}

// finish writes what comes after all runs: the counts, or all figures.
func (o *reproduceOptions) finish(e env, results []*bench.Result) error {
	switch o.format {
	case "csv":
		return write(e, bench.CSV(results))
	case "json":
		text, err := bench.JSON(results)
		return errors.Join(err, write(e, text))
	case "markdown":
		return write(e, bench.Markdown(results))
	}
	return write(e, []byte(bench.Summary(results)))
}
