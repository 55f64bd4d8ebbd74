// Command job is an example of a user's own job: an inverted index. For each
// word in the files and directories of its arguments, it prints the names of
// the files that have the word. mrlocal submit runs it on a Hadoop cluster.
package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mrlocal"
	"mrlocal/hadoop/stream"
	"mrlocal/jobs"
)

// indexer maps a block of a file to records: a word, and the name of the file.
type indexer struct{ words *jobs.Words }

func (x indexer) Map(b jobs.Block, out jobs.Emitter) error {
	name := []byte(filepath.Base(b.Path))   // b and its memory are borrowed during this call
	for words := range x.words.In(b.Data) { // some hundred words at a time
		jobs.EmitSpans(out, b.Data, words, name)
	}
	return nil
}

// lister reduces the names of the files with a word to a sorted list.
type lister struct{}

func (lister) Reduce(word []byte, names *jobs.Values, out jobs.Emitter) error {
	files := map[string]bool{}
	for names.Next() { // values can be read only once, and have no defined order
		files[string(names.Value())] = true
	}
	out.Emit(word, []byte(strings.Join(slices.Sorted(maps.Keys(files)), ",")))
	return nil
}

func main() {
	index := jobs.Job{
		Name: "index", Ordered: true, // the output is in the order of the words
		NewMapper:  func() jobs.Mapper { return indexer{jobs.LettersAndDigits()} }, // each attempt has its own, so it needs no lock
		NewReducer: func() jobs.Reducer { return lister{} },
	}
	if len(os.Args) > 1 && os.Args[1] == "stream" { // a task on a cluster, started by mrlocal submit ./job
		os.Exit(stream.Main(jobs.Chain{index}, os.Args[2:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
	}
	_, err := mrlocal.Run(context.Background(), index, mrlocal.Options{
		JobOptions: mrlocal.JobOptions{Inputs: os.Args[1:], Stdout: os.Stdout},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "job:", err)
		os.Exit(1)
	}
}
