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
	"mrlocal/cmd/mrlocal/internal/pictures"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/workload"
)

// docs holds the document of toDocs, below the current directory.
const docs = "docs"

// experiments says how experiments of package bench are run and shown.
type experiments struct {
	seeds  int    // most seeds of each experiment; 0: those of its file
	format string // text, csv, json or markdown
	toDocs bool
	html   *pictures.Table    // nil: none
	write  func([]byte) error // to standard output
}

// findExperiments returns the experiments of the files among words, which read reads, or, without a file, those
// of the papers. The other words are names. A word with a slash or the suffix of YAML is a
// file, and - is standard input. own reports whether there is one.
func findExperiments(words []string, read func(name string) (*workload.File, error)) (all []*bench.Experiment, names []string, own bool, err error) {
	for _, word := range words {
		// No experiment of the papers has such a name, so a word means one thing.
		if suffix := filepath.Ext(word); word != "-" && suffix != ".yaml" && suffix != ".yml" && !strings.Contains(word, "/") {
			names = append(names, word)
			continue
		}
		own = true
		f, err := read(word)
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

// listExperiments returns one line for each experiment.
func listExperiments(all []*bench.Experiment) []byte {
	var b bytes.Buffer
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, x := range all {
		fmt.Fprintf(t, "%s\t%s\t%s\n", x.Name, x.Title, x.Paper)
	}
	_ = t.Flush() // into memory
	return b.Bytes()
}

// experimentFiles returns the workload files of the experiments, each once.
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

// run runs the experiments one after the other. As text, it shows each result when it is
// there, and the count of verdicts at the end; the other formats come at the end. With
// toDocs it also writes docs/reproduction.md and its files.
func (o *experiments) run(ctx context.Context, all []*bench.Experiment) error {
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
		if err == nil {
			err = r.Isolate(ctx, o.seeds)
		}
		if err != nil {
			return err
		}
		results = append(results, r)
		// Each result appears at once: all runs together take minutes.
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

// finish writes what comes after all runs: the counts, or all figures.
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
