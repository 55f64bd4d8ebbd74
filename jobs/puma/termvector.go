package puma

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
	"strconv"

	"mrlocal/internal/errs"
	"mrlocal/jobs"
	"mrlocal/jobs/internal/lines"
)

// The next job lists the most frequent words of each host (Term-Vector of PUMA,
// Purdue's MapReduce benchmarks). A host is a file here. The result has a line for each file, in the
// order of the input: "file TAB word:count,word:count…", by descending count, then by word. Words
// with a count below Options.Min are left out.
//
// The key is the number of the file and a word, and the group is the file. So one reduce gets all
// words of a file, and equal words are neighbours. The name of the file is a key too, which comes
// before the words.
//
// Memory: a reduce collects the frequent words of one file, and charges them to the memory bound of
// the run.

// DefaultMinCount replaces an Options.Min of 0.
const DefaultMinCount = 10

// TermVectorOptions say which words are frequent.
type TermVectorOptions struct {
	Min int64 // least count of a word in a file; 0: DefaultMin
}

// NewTermVector makes the job. It fails with an options error (package errs) if Min is negative.
func NewTermVector(o TermVectorOptions) (jobs.Chain, error) {
	if o.Min < 0 {
		return nil, errs.Fieldf("Options.Min", "%d: must not be negative", o.Min)
	}
	least := uint64(cmp.Or(o.Min, DefaultMinCount))
	return jobs.Chain{{
		Name: "term-vector", Ordered: true, BuiltIn: true, ByFile: true,
		GroupBytes: func([]byte) int { return fileBytes },
		NewMapper:  func() jobs.Mapper { return &termVectorMapper{DocumentWords: lines.NewDocumentWords()} },
		NewFolder:  func() jobs.Folder { return jobs.Sum{} },
		NewReducer: func() jobs.Reducer { return &termVectorReducer{min: least} },
	}}, nil
}

// A key is the number of the file in 4 bytes, a byte that says which text follows, and that
// text.
const (
	fileBytes = 4
	isName    = 0 // the name of the file
	isWord    = 1 // a word
)

// termVectorMapper emits the words of files.
type termVectorMapper struct {
	lines.DocumentWords
	head []byte // beginning of the keys of words
}

// Map emits each word of a block behind the number of its file.
func (m *termVectorMapper) Map(b jobs.Block, out jobs.Emitter) error {
	if b.File != m.File {
		m.File, m.head = b.File, binary.BigEndian.AppendUint32(m.head[:0], uint32(b.File))
		out.Emit(lines.DocumentName(append(m.head, isName), b.Path), jobs.AppendUint64(nil, 0))
		m.head = append(m.head, isWord)
	}
	m.Emit(b.Data, m.head, nil, out)
	return nil
}

// termVectorTerm is a word and its count in a file.
type termVectorTerm struct {
	word  string
	count uint64
}

// termVectorReducer writes the frequent words of files.
type termVectorReducer struct {
	lines.Growing
	min   uint64           // Options.Min
	terms []termVectorTerm // frequent words of the current file
	word  []byte           // the current word
	count uint64           // its count so far
}

// Reduce emits the frequent words of a file. The counts of a word come from several maps, so
// Reduce adds them up.
func (r *termVectorReducer) Reduce(key []byte, vs *jobs.Values, out jobs.Emitter) error {
	const n = fileBytes + 1
	name := key[n:]
	r.terms = r.terms[:0]
	r.word = r.word[:0]
	r.count = 0
	for vs.Next() {
		if vs.Key()[fileBytes] == isName {
			continue
		}
		if word := vs.Key()[n:]; !bytes.Equal(word, r.word) {
			if err := r.keep(); err != nil {
				return err
			}
			r.word, r.count = append(r.word[:0], word...), 0
		}
		r.count += jobs.Uint64(vs.Value())
	}
	if err := r.keep(); err != nil {
		return err
	}
	slices.SortFunc(r.terms, func(a, b termVectorTerm) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.word, b.word))
	})
	r.Text = r.Text[:0]
	for _, t := range r.terms {
		if len(r.Text) > 0 {
			r.Text = append(r.Text, ',')
		}
		r.Text = strconv.AppendUint(append(append(r.Text, t.word...), ':'), t.count, 10)
		if err := r.Check(); err != nil {
			return err
		}
	}
	if len(r.terms) > 0 {
		out.Emit(name, r.Text)
	}
	return nil
}

// keep adds the current word to terms if it is frequent. It fails if the run has no memory for
// it.
func (r *termVectorReducer) keep() error {
	const termBytes = 40 // about the memory of a term without its word
	if r.count < r.min {
		return nil
	}
	if !r.Charge(len(r.word) + termBytes) {
		return errors.New("the words of a file do not fit into the memory of the run")
	}
	r.terms = append(r.terms, termVectorTerm{string(r.word), r.count})
	return nil
}
