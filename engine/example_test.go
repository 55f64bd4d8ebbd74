package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mrlocal/engine"
	"mrlocal/jobs"
)

// indexer emits (word, NUL and name of the file), some hundred words at a time.
type indexer struct{ words *jobs.Words }

func (x indexer) Map(b jobs.Block, out jobs.Emitter) error {
	name := append([]byte{0}, filepath.Base(b.Path)...)
	for words := range x.words.In(b.Data) {
		jobs.EmitSpans(out, b.Data, words, name)
	}
	return nil
}

// union joins the names of a word, so that a map emits lists of names instead of single names.
type union struct{}

func (union) Fold(names, name []byte) []byte {
	if bytes.HasSuffix(names, name) { // one file's words follow one another
		return names
	}
	return append(names, name...)
}

// lister writes the files of a word, each once, in order.
type lister struct{}

func (lister) Reduce(word []byte, vs *jobs.Values, out jobs.Emitter) error {
	var names []string
	for vs.Next() {
		names = append(names, strings.Split(string(vs.Value()[1:]), "\x00")...)
	}
	slices.Sort(names)
	out.Emit(word, []byte(strings.Join(slices.Compact(names), ",")))
	return nil
}

// index is an inverted index: it lists the files that have each word.
func index() jobs.Job {
	return jobs.Job{
		Name: "index", Ordered: true,
		NewMapper:  func() jobs.Mapper { return indexer{jobs.LettersAndDigits()} },
		NewFolder:  func() jobs.Folder { return union{} },
		NewReducer: func() jobs.Reducer { return lister{} },
	}
}

func Example() {
	dir, _ := os.MkdirTemp("", "index")
	defer os.RemoveAll(dir)
	os.WriteFile(filepath.Join(dir, "a.txt"), []byte("the quick fox\n"), 0o600)
	os.WriteFile(filepath.Join(dir, "b.txt"), []byte("the lazy dog, the\n"), 0o600)
	if _, err := engine.RunChain(context.Background(), jobs.Chain{index()}, engine.Options{JobOptions: engine.JobOptions{Inputs: []string{dir}, Stdout: os.Stdout}}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// dog	b.txt
	// fox	a.txt
	// lazy	b.txt
	// quick	a.txt
	// the	a.txt,b.txt
}
