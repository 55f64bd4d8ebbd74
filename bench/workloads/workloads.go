// Package workloads embeds the workload files of the papers and some for one
// machine, so that mrlocal reproduce needs no files. Each file says where its
// numbers come from and what it assumes.
//
// Load parses a file anew on each call; the caller owns the result. Neighbours:
// workload parses the files, bench/reproduce runs their experiments.
package workloads

import (
	"embed"
	"io/fs"
	"path"

	"mrlocal/workload"
)

//go:embed *.yaml
var files embed.FS

// Folder is the folder of the files in the repository.
const Folder = "bench/workloads"

// Names lists the names of the files in alphabetical order.
func Names() []string {
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		panic(err) // the pattern is right
	}
	return names
}

// Text returns the text of a file that Names lists.
func Text(name string) ([]byte, error) { return files.ReadFile(name) }

// Load parses a file that Names lists.
func Load(name string) (*workload.File, error) {
	text, err := Text(name)
	if err != nil {
		return nil, err
	}
	return workload.Parse(path.Join(Folder, name), text)
}
