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

// indexer emits (word, name of the file) for every word: some hundred words at
// a time, which for a file of small words is much less work than one by one.
type indexer struct{ words *jobs.Words }

func (x indexer) Map(b jobs.Block, out jobs.Emitter) error {
	name := []byte(filepath.Base(b.Path))
	for words := range x.words.In(b.Data) {
		jobs.EmitSpans(out, b.Data, words, name)
	}
	return nil
}

// union keeps each name of a word once while words are collected: what a map
// hands on is as long as its lists of files, not as its text.
type union struct{}

func (union) Fold(names, name []byte) []byte {
	switch {
	case names == nil:
		return append(names, name...)
	case bytes.HasSuffix(names, name) && (len(names) == len(name) || names[len(names)-len(name)-1] == 0):
		return names // one file's words follow one another
	}
	return append(append(names, 0), name...)
}

// lister writes the files of a word, each once, in order.
type lister struct{ names []string }

func (l *lister) Reduce(word []byte, vs *jobs.Values, out jobs.Emitter) error {
	names := l.names[:0]
	for vs.Next() {
		for name := range bytes.SplitSeq(vs.Value(), []byte{0}) {
			if i, found := slices.BinarySearch(names, string(name)); !found {
				names = slices.Insert(names, i, string(name))
			}
		}
	}
	out.Emit(word, []byte(strings.Join(names, ",")))
	l.names = names
	return nil
}

// index is an inverted index: which files hold which words. Not one of the
// built-in jobs, so this is all a user writes.
func index() jobs.Job {
	return jobs.Job{
		Name: "index", Ordered: true,
		NewMapper:  func() jobs.Mapper { return indexer{jobs.LettersAndDigits()} },
		NewFolder:  func() jobs.Folder { return union{} },
		NewReducer: func() jobs.Reducer { return &lister{} },
	}
}

func Example() {
	dir, _ := os.MkdirTemp("", "index")
	defer os.RemoveAll(dir)
	os.WriteFile(filepath.Join(dir, "a.txt"), []byte("the quick fox\n"), 0o600)
	os.WriteFile(filepath.Join(dir, "b.txt"), []byte("the lazy dog, the\n"), 0o600)

	_, err := engine.Run(context.Background(), index(), engine.Options{Inputs: []string{dir}, Stdout: os.Stdout})
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
