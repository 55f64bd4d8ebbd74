package puma

import (
	"mrlocal/jobs"
	"mrlocal/jobs/internal/lines"
)

// This file has a job that lists for each word the documents that contain it
// (Inverted-Index of PUMA, Purdue's MapReduce benchmarks). A document is a file. The result is
// "word TAB document,document…" in byte order of words and documents.
//
// The key is "word TAB document", and the group is the word, so the documents of a word come sorted
// (secondary sort). jobs.Sum folds repeated pairs in the map.
//
// Memory: one key, and in a reduce one line (jobs/internal/lines).

// NewInvertedIndex makes the job.
func NewInvertedIndex() (jobs.Chain, error) {
	return jobs.Chain{{
		Name: "inverted-index", Ordered: true, BuiltIn: true,
		GroupBytes: firstField,
		NewMapper:  func() jobs.Mapper { return &invertedIndexMapper{DocumentWords: lines.NewDocumentWords()} },
		NewFolder:  func() jobs.Folder { return jobs.Sum{} },
		NewReducer: func() jobs.Reducer { return &lines.ListReducer{GroupBytes: firstField} },
	}}, nil
}

// invertedIndexMapper emits the words of documents.
type invertedIndexMapper struct {
	lines.DocumentWords
	tail []byte // TAB and name of the document
}

// Map emits each word with its document.
func (m *invertedIndexMapper) Map(b jobs.Block, out jobs.Emitter) error {
	if b.File != m.File {
		m.File, m.tail = b.File, lines.DocumentName(append(m.tail[:0], '\t'), b.Path)
	}
	m.Emit(b.Data, nil, m.tail, out)
	return nil
}
