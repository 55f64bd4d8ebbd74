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
	"mrlocal/cmd/mrlocal/internal/command"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/cmd/mrlocal/internal/show"
	"mrlocal/internal/errs"
	"mrlocal/workload"
)

// reproduceHelp is the help text of mrlocal reproduce below its usage.
const reproduceHelp = `Runs the experiments of the papers in the simulator: all of them, or those with the given names. It compares the results with the figures that the papers print. The binary contains the workloads: --list lists the experiments, --file prints the workload file of NAME for mrlocal sim. FILE is a workload file of your own with experiments (docs/workloads.md), such as ./mine.yaml, or - for standard input; then NAMEs are of its experiments.

--write writes docs/reproduction.md, its charts and its figures, below the current directory; without it the command prints the details of each experiment. --format prints all figures at the end, as CSV, JSON or tables of Markdown, instead of each experiment when it is done. A verdict is exact, or inside or outside the band around the figure of the paper. With words the paper only compares, and ours is true or false. Fitted: a constant of the model was chosen by this figure. Withdrawn: a band that was set after a run, so it does not count. docs/reproduction.md says more.`

// reproduceCommand returns mrlocal reproduce, which runs the experiments of the papers. It uses
// only the simulator, so its results do not depend on the machine.
func reproduceCommand() command.Command {
	return command.Command{Usage: "run the experiments of the papers and compare", Args: "[FILE…] [NAME…]", Long: reproduceHelp, Run: runReproduce, Flags: []argv.Spec{
		argv.ToggleSpec("list", "", "list the experiments, run none"),
		argv.ToggleSpec("file", "", "print the workload files of the named experiments, run none"),
		argv.ToggleSpec("write", "", "write docs/reproduction.md, its charts and its figures"),
		argv.ValueSpec("format", "print the figures as `text|csv|json|markdown`", "text"),
		show.HTMLFlag(), argv.ValueSpec("seeds", "run at most `N` seeds of each experiment", ""),
	}}
}

// runReproduce lists, prints or runs the experiments that the line names. A figure outside of its
// band is a result and not a failure, so the exit code is 0.
func runReproduce(ctx context.Context, e command.Env, line argv.Line) (int, error) {
	all, names, own, err := findExperiments(line.Words, e.Workload)
	if err != nil {
		return 0, err
	}
	some, err := bench.Named(all, names) // without names, all experiments
	switch {
	case err != nil:
		return 0, err
	case own && line.Has("file"):
		return 0, errs.Optionf("--file", "prints files of the binary; leave out your own")
	case line.Has("file"):
		text, err := experimentFiles(some)
		return command.Done, errors.Join(err, e.Write(text))
	case line.Has("list"):
		return command.Done, e.Write(listExperiments(some))
	case line.Has("write") && len(line.Words) > 0:
		return 0, errs.Optionf("--write", "writes all experiments; name none of them")
	}
	r := command.NewReader(line)
	o := experiments{seeds: r.Count("seeds", 1, mostSeeds), format: r.Choice("format", "text", "csv", "json", "markdown"), toDocs: line.Has("write"), write: e.Write}
	if o.html, err = show.HTML(r.Path("html"), process.Work{Stdout: e.Stdout}); err != nil {
		return 0, err
	}
	if r.Err != nil {
		return 0, r.Err
	}
	return command.Done, o.run(ctx, some)
}

// mostSeeds is the largest --seeds of reproduce.
const mostSeeds = 1000

// docs is the directory of the document that --write writes, below the current directory.
const docs = "docs"

// experiments has the options with which experiments of package bench are run and shown.
type experiments struct {
	seeds  int                // the largest number of seeds of each experiment; 0: the number in its file
	format string             // text, csv, json or markdown
	toDocs bool               // --write
	html   *show.Table        // of --html; nil: none
	write  func([]byte) error // writes to standard output
}

// findExperiments divides words into files and names. A word with a slash or a suffix of YAML is a
// file, and - is standard input. The other words are names of experiments. It returns the
// experiments of all files, which it reads with read. If there is no file, it returns those of the
// papers, and own is false.
func findExperiments(words []string, read func(name string) (*workload.File, error)) (all []*bench.Experiment, names []string, own bool, err error) {
	for _, word := range words {
		// No experiment has a name that could be a file here, so each word has one meaning.
		if suffix := filepath.Ext(word); word != "-" && suffix != ".yaml" && suffix != ".yml" && !strings.Contains(word, "/") {
			names = append(names, word)
			continue
		}
		own = true
		f, err := read(word)
		if err != nil {
			return nil, nil, own, err
		}
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

// listExperiments returns a table with a line for each experiment: name, title, paper.
func listExperiments(all []*bench.Experiment) []byte {
	var b bytes.Buffer
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, x := range all {
		fmt.Fprintf(t, "%s\t%s\t%s\n", x.Name, x.Title, x.Paper)
	}
	_ = t.Flush() // into memory
	return b.Bytes()
}

// experimentFiles returns the texts of the workload files of the experiments, each file once.
func experimentFiles(all []*bench.Experiment) ([]byte, error) {
	var b bytes.Buffer
	seen := map[string]bool{} // several experiments may share a file
	for _, x := range all {
		if name := filepath.Base(x.File()); !seen[name] {
			seen[name] = true
			text, err := bench.WorkloadText(name)
			if err != nil {
				return nil, err
			}
			b.Write(text)
		}
	}
	return b.Bytes(), nil
}

// run runs the experiments one after the other. In the format text, it writes each result as soon
// as it has it, and the counts of verdicts at the end. It writes other formats at the end. If
// o.toDocs is true, it also writes docs/reproduction.md and the files of this document.
func (o *experiments) run(ctx context.Context, all []*bench.Experiment) error {
	if o.toDocs {
		// The paths are checked before the runs, which take minutes.
		for _, name := range bench.DocumentFiles(all) {
			if err := process.CheckBelow("write", filepath.Join(docs, filepath.FromSlash(name))); err != nil {
				return err
			}
		}
	}
	var results []*bench.Result
	for _, x := range all {
		r, err := x.Run(ctx, o.seeds)
		// Isolate runs figures again with single changes, to find why a figure is outside of its band.
		if err == nil {
			err = r.Isolate(ctx, o.seeds)
		}
		if err != nil {
			return err
		}
		results = append(results, r)
		if o.format == "text" {
			if err := o.write(append(r.Text(), '\n')); err != nil {
				return err
			}
		}
	}
	err := errors.Join(o.finish(results), o.html.Write("The papers' figures and ours", bench.CSV(results), true, nil))
	if err != nil || !o.toDocs {
		return err
	}
	return bench.WriteDocument(docs, results)
}

// finish writes the end of the output: in the format text the counts of verdicts, else all figures.
func (o *experiments) finish(results []*bench.Result) error {
	switch o.format {
	case "csv":
		return o.write(bench.CSV(results))
	case "json":
		text, err := bench.JSON(results)
		return errors.Join(err, o.write(text))
	case "markdown":
		return o.write(bench.Markdown(results))
	}
	return o.write([]byte(bench.Summary(results)))
}
