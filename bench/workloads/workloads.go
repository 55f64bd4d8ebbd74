// Package workloads holds the workload files of the papers, and some for a
// machine, each with where it comes from and what it assumes. They are embedded
// in the binary, so that mrlocal reproduce needs no files.
//
// Files are parsed anew each time: whoever asks owns the result. Neighbours:
// workload reads them, reproduce runs their experiments.
package workloads

import (
	"embed"
	"io/fs"
	"path"

	"mrlocal/workload"
)

//go:embed *.yaml
var files embed.FS

// Folder is where the files are in the repository.
const Folder = "bench/workloads"

// Names lists the files, in order.
func Names() []string {
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		panic(err) // the pattern is right
	}
	return names
}

// Text is a file that Names lists.
func Text(name string) ([]byte, error) { return files.ReadFile(name) }

// Load parses a file that Names lists.
func Load(name string) (*workload.File, error) {
	text, err := Text(name)
	if err != nil {
		return nil, err
	}
	return workload.Parse(path.Join(Folder, name), text)
}
