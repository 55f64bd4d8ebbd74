// Package reproduction writes the document of the papers' experiments, docs/reproduction.md,
// with its charts and figures below the current directory. It keeps nothing. Neighbours:
// package bench makes the texts, `mrlocal reproduce --write` calls.
package reproduction

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"mrlocal/bench"
	"mrlocal/cmd/mrlocal/internal/process"
)

// folder holds the document.
const folder = "docs"

// Check checks that the document can be written, before runs that take
// minutes.
func Check(all []*bench.Experiment) error {
	names := []string{"reproduction.md", bench.FiguresFile}
	for _, x := range all {
		// The names follow from the experiments, so the files are known before any run.
		for i := range x.Charts {
			names = append(names, path.Join(bench.Folder, x.Charts[i].Name+".svg"))
		}
	}
	for _, name := range names {
		if err := process.CheckBelow("write", filepath.Join(folder, filepath.FromSlash(name))); err != nil {
			return err
		}
	}
	return nil
}

// Write writes the document and its files below the current directory.
func Write(results []*bench.Result) error {
	// The document is made in memory first. A wrong expression of a chart leaves the files as
	// they are.
	files, err := bench.Document(results)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(folder, bench.Folder), 0o777); err != nil {
		return fmt.Errorf("write the document: %w", err)
	}
	// The order of a map is random. The sorted order makes an error name the same file each
	// time.
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := os.WriteFile(filepath.Join(folder, filepath.FromSlash(name)), files[name], 0o666); err != nil {
			return fmt.Errorf("write the document: %w", err)
		}
	}
	return nil
}
