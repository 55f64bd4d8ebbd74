// Package experiments runs experiments of package bench for mrlocal reproduce: it finds them
// by name or in a file of the user's own, runs them one after the other, and writes their
// results as text, CSV, JSON or Markdown, and into docs.
//
// Neighbours: cmd/mrlocal reads the flags; bench has the experiments and their verdicts.
package experiments

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

// docs holds the document of ToDocs, below the current directory.
const docs = "docs"

// Options says how experiments are run and shown.
type Options struct {
	Seeds  int    // most seeds of each experiment; 0: those of its file
	Format string // text, csv, json or markdown
	ToDocs bool
	Web    *pictures.Table    // nil: none
	Write  func([]byte) error // to standard output
}

// Find returns the experiments of the files among words, which read reads, or, without a file, those
// of the papers. The other words are names. A word with a slash or the suffix of YAML is a
// file, and - is standard input. own reports whether there is one.
func Find(words []string, read func(name string) (*workload.File, error)) (all []*bench.Experiment, names []string, own bool, err error) {
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

// List returns one line for each experiment.
func List(all []*bench.Experiment) []byte {
	var b bytes.Buffer
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, x := range all {
		fmt.Fprintf(t, "%s\t%s\t%s\n", x.Name, x.Title, x.Paper)
	}
	_ = t.Flush() // into memory
	return b.Bytes()
}

// Workloads returns the workload files of the experiments, each once.
func Workloads(all []*bench.Experiment) ([]byte, error) {
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

// Run runs the experiments one after the other. As text, it shows each result when it is
// there, and the count of verdicts at the end; the other formats come at the end. With
// ToDocs it also writes docs/reproduction.md and its files.
func (o *Options) Run(ctx context.Context, all []*bench.Experiment) error {
	if o.ToDocs {
		// The document is checked before runs that take minutes.
		for _, name := range bench.DocumentFiles(all) {
			if err := process.CheckBelow("write", filepath.Join(docs, filepath.FromSlash(name))); err != nil {
				return err
			}
		}
	}
	var results []*bench.Result
	for _, x := range all {
		r, err := x.Run(ctx, o.Seeds)
		if err == nil {
			err = r.Isolate(ctx, o.Seeds)
		}
		if err != nil {
			return err
		}
		results = append(results, r)
		// Each result appears at once: all runs together take minutes.
		if o.Format == "text" {
			if err := o.Write(append(r.Text(), '\n')); err != nil {
				return err
			}
		}
	}
	err := errors.Join(o.finish(results), o.Web.Write("The papers' figures and ours", bench.CSV(results), true, nil))
	if err != nil || !o.ToDocs {
		return err
	}
	return bench.WriteDocument(docs, results)
}

// finish writes what comes after all runs: the counts, or all figures.
func (o *Options) finish(results []*bench.Result) error {
	switch o.Format {
	case "csv":
		return o.Write(bench.CSV(results))
	case "json":
		text, err := bench.JSON(results)
		return errors.Join(err, o.Write(text))
	case "markdown":
		return o.Write(bench.Markdown(results))
	}
	return o.Write([]byte(bench.Summary(results)))
}
