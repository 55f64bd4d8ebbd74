// Package termvector is a job that lists the most frequent words of each host (Term-Vector of
// PUMA, Purdue's MapReduce benchmarks). A host is a file here. The result is
// "file TAB word:count,word:count…", in the order of the input: by falling count, then by word.
// Words that are rarer than Options.Min are left out.
//
// The key is the number of the file and a word, and the group is the file. So one reduce sees all
// words of a file in order, and need not collect the values of each. The name of the file is a key
// as well, which comes before the words.
//
// Memory: a reduce collects the words of one file that are frequent enough, and charges them
// to the bound of the run. Neighbours: package jobs finds words and adds counts.
package termvector

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
	"strconv"

	"mrlocal/errs"
	"mrlocal/jobs"
	"mrlocal/jobs/internal/lines"
)

// DefaultMin is Options.Min if that is 0.
const DefaultMin = 10

// Options say which words are frequent.
type Options struct {
	Min int64 // least count of a word in a file; 0: DefaultMin
}

// New makes the job.
func New(o Options) (jobs.Chain, error) {
	if o.Min < 0 {
		return nil, errs.Optionf("Options.Min "+strconv.FormatInt(o.Min, 10), "must not be negative")
	}
	least := uint64(cmp.Or(o.Min, DefaultMin))
	return jobs.Chain{{
		Name: "term-vector", Ordered: true, BuiltIn: true,
		GroupBytes: func([]byte) int { return fileBytes },
		NewMapper:  func() jobs.Mapper { return &mapper{DocumentWords: lines.NewDocumentWords()} },
		NewFolder:  func() jobs.Folder { return jobs.Sum{} },
		NewReducer: func() jobs.Reducer { return &reducer{min: least} },
	}}, nil
}

// A key is a file in 4 bytes, what follows, and that.
const (
	fileBytes = 4
	isName    = 0
	isWord    = 1
)

type mapper struct {
	lines.DocumentWords
	head []byte // of the keys of words
}

// Map emits each word behind its file.
func (m *mapper) Map(b jobs.Block, out jobs.Emitter) error {
	if b.File != m.File {
		m.File, m.head = b.File, binary.BigEndian.AppendUint32(m.head[:0], uint32(b.File))
		out.Emit(lines.DocumentName(append(m.head, isName), b.Path), jobs.AppendUint64(nil, 0))
		m.head = append(m.head, isWord)
	}
	m.Emit(b.Data, m.head, nil, out)
	return nil
}

type term struct {
	word  string
	count uint64
}

type reducer struct {
	lines.Growing
	min    uint64
	terms  []term
	word   []byte
	count  uint64
	charge func(int64) bool
}

// Begin implements jobs.Attempter.
func (r *reducer) Begin(a jobs.OwnAttempt) {
	r.Growing.Begin(a)
	r.charge = a.Charge
}

// Reduce writes the frequent words of a file. Counts of one word come from several maps.
func (r *reducer) Reduce(key []byte, vs *jobs.Values, out jobs.Emitter) error {
	const n = fileBytes + 1
	name := key[n:]
	r.terms, r.word, r.count = r.terms[:0], r.word[:0], 0
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
	slices.SortFunc(r.terms, func(a, b term) int {
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

// keep keeps the word at hand if it is frequent enough.
func (r *reducer) keep() error {
	const termBytes = 40 // beside the word
	if r.count < r.min {
		return nil
	}
	if r.charge != nil && !r.charge(int64(len(r.word)+termBytes)) {
		return errors.New("the words of a file do not fit into the memory of the run")
	}
	r.terms = append(r.terms, term{string(r.word), r.count})
	return nil
}
