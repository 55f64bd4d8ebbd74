package bench

import (
	"embed"
	"io/fs"

	"mrlocal/workload"
)

// files holds the workload files of the papers and some for one machine, so that
// mrlocal reproduce needs no files. Each says where its numbers come from.
//
//go:embed workloads/*.yaml
var files embed.FS

// Workloads lists the names of the workload files, such as fig5.yaml, in
// alphabetical order.
func Workloads() (names []string) {
	all, err := fs.ReadDir(files, "workloads")
	if err != nil {
		panic(err) // the folder is embedded
	}
	for _, f := range all {
		names = append(names, f.Name())
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
