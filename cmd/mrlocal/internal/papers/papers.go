// Package papers is what mrlocal reproduce does: it lists experiments, runs them
// and shows results as they come, and writes the document of all.
//
// It keeps nothing. Neighbours: bench/reproduce makes the runs; cmd/mrlocal reads
// the flags.
package papers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"syscall"
	"text/tabwriter"

	"mrlocal/bench/reproduce"
	"mrlocal/bench/workloads"
	"mrlocal/cmd/mrlocal/internal/side"
)

// docs is where the document is written, below the current directory.
const docs = "docs"

// List writes a line an experiment.
func List(w io.Writer, all []*reproduce.Experiment) error {
	var b bytes.Buffer
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, e := range all {
		fmt.Fprintf(t, "%s\t%s\t%s\n", e.Name, e.Title, e.Paper)
	}
	_ = t.Flush() // into memory
	return write(w, b.Bytes())
}

// Files writes the workload files of experiments, each once.
func Files(w io.Writer, all []*reproduce.Experiment) error {
	seen := map[string]bool{}
	for _, e := range all {
		if name := filepath.Base(e.File()); !seen[name] {
			seen[name] = true
			text, err := workloads.Text(name)
			if err != nil {
				return err
			}
			if err := write(w, text); err != nil {
				return err
			}
		}
	}
	return nil
}

// Run runs experiments one after the other, shows each when it is done, and the
// count of verdicts at the end; with toDocs it writes the document of all.
func Run(ctx context.Context, w io.Writer, all []*reproduce.Experiment, toDocs bool) error {
	if toDocs {
		if err := checkDocs(all); err != nil {
			return err
		}
	}
	var results []*reproduce.Result
	for _, e := range all {
		r, err := e.Run(ctx)
		if err != nil {
			return err
		}
		results = append(results, r)
		if err := write(w, append(r.Text(), '\n')); err != nil {
			return err
		}
	}
	if err := write(w, []byte(reproduce.Summary(results))); err != nil || !toDocs {
		return err
	}
	files, err := reproduce.Document(results)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(docs, reproduce.Folder), 0o777); err != nil {
		return fmt.Errorf("write the document: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := os.WriteFile(filepath.Join(docs, filepath.FromSlash(name)), files[name], 0o666); err != nil {
			return fmt.Errorf("write the document: %w", err)
		}
	}
	return nil
}

// checkDocs finds out whether the document could be written, before minutes of
// runs.
func checkDocs(all []*reproduce.Experiment) error {
	names := []string{"reproduction.md"}
	for _, e := range all {
		for i := range e.Charts {
			names = append(names, path.Join(reproduce.Folder, e.Charts[i].Name+".svg"))
		}
	}
	for _, name := range names {
		if err := side.CheckBelow("write", filepath.Join(docs, filepath.FromSlash(name))); err != nil {
			return err
		}
	}
	return nil
}

// write writes a part of the result; a reader that has gone is success.
func write(w io.Writer, text []byte) error {
	_, err := w.Write(text)
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
		return nil
	}
	return err
}
