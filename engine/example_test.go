package engine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mrlocal/engine"
	"mrlocal/jobs"
)

// indexer emits (word, name of the file) for every word.
type indexer struct{}

func (indexer) Map(b jobs.Block, out jobs.Emitter) error {
	name := []byte(filepath.Base(b.Path))
	for line := range b.Lines() {
		for _, word := range strings.Fields(strings.ToLower(string(line))) {
			out.Emit([]byte(word), name)
		}
	}
	return nil
}

// lister writes the files of a word, each once, in order.
type lister struct{}

func (lister) Reduce(key []byte, vs *jobs.Values, out jobs.Emitter) error {
	var names []string
	for vs.Next() {
		if i, found := slices.BinarySearch(names, string(vs.Value())); !found {
			names = slices.Insert(names, i, string(vs.Value()))
		}
	}
	out.Emit(key, []byte(strings.Join(names, ",")))
	return nil
}

// An inverted index: which files hold which words. Not one of the built-in
// jobs, so this is all a user writes.
func Example() {
	dir, _ := os.MkdirTemp("", "index")
	defer os.RemoveAll(dir)
	os.WriteFile(filepath.Join(dir, "a.txt"), []byte("the quick fox\n"), 0o600)
	os.WriteFile(filepath.Join(dir, "b.txt"), []byte("The lazy dog\n"), 0o600)

	index := jobs.Job{
		Name: "index", Ordered: true,
		NewMapper:  func() jobs.Mapper { return indexer{} },
		NewReducer: func() jobs.Reducer { return lister{} },
	}
	_, err := engine.Run(context.Background(), index, engine.Options{Inputs: []string{dir}, Stdout: os.Stdout})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// dog	b.txt
	// fox	a.txt
	// lazy	b.txt
	// quick	a.txt
	// the	a.txt,b.txt
}
