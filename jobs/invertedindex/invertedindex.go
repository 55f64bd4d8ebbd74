// Package invertedindex is a job that lists for each word the documents that have it
// (Inverted-Index of PUMA, Purdue's MapReduce benchmarks). A document is a file. The result is
// "word TAB document,document…" in byte order of words and documents.
//
// The key is "word TAB document", and the group is the word, so that the documents of a word
// come sorted (secondary sort). A sum folds repeated pairs in the map.
//
// Memory: one key, and in a reduce one line (jobs/internal/list). Neighbours: package jobs
// finds words; jobs/rankedinvertedindex ranks documents.
package invertedindex

import (
	"bytes"

	"mrlocal/jobs"
	"mrlocal/jobs/internal/list"
)

// New makes the job.
func New() (jobs.Chain, error) {
	return jobs.Chain{{
		Name: "inverted-index", Ordered: true, BuiltIn: true,
		GroupBytes: func(key []byte) int { return bytes.IndexByte(key, '\t') + 1 },
		NewMapper:  func() jobs.Mapper { return &mapper{words: jobs.BlankSeparated(), file: -1} },
		NewFolder:  func() jobs.Folder { return jobs.Sum{} },
		NewReducer: func() jobs.Reducer { return &reducer{} },
	}}, nil
}

type mapper struct {
	words *jobs.Words
	file  int32  // whose name is in tail
	tail  []byte // TAB and the document
	keys  []byte // of some hundred words
	spans []jobs.Span
	one   [8]byte
}

// Map emits each word with its document.
func (m *mapper) Map(b jobs.Block, out jobs.Emitter) error {
	if b.File != m.file {
		m.file, m.tail = b.File, list.Document(append(m.tail[:0], '\t'), b.Path)
		jobs.AppendUint64(m.one[:0], 1)
	}
	for words := range m.words.In(b.Data) {
		m.keys, m.spans = m.keys[:0], m.spans[:0]
		for _, w := range words {
			at := len(m.keys)
			m.keys = append(append(m.keys, b.Data[w.Off:w.Off+w.Len]...), m.tail...)
			m.spans = append(m.spans, jobs.Span{Off: uint32(at), Len: uint32(len(m.keys) - at)})
		}
		jobs.EmitSpans(out, m.keys, m.spans, m.one[:])
	}
	return nil
}

type reducer struct {
	list.Line
	last []byte
}

// Reduce writes the documents of a word, each once.
func (r *reducer) Reduce(key []byte, vs *jobs.Values, out jobs.Emitter) error {
	n := bytes.IndexByte(key, '\t') + 1
	r.Text, r.last = r.Text[:0], r.last[:0]
	for vs.Next() {
		document := vs.Key()[n:]
		if bytes.Equal(document, r.last) { // from another map
			continue
		}
		r.last = append(r.last[:0], document...)
		if len(r.Text) > 0 {
			r.Text = append(r.Text, ',')
		}
		r.Text = append(r.Text, document...)
		if err := r.Check(); err != nil {
			return err
		}
	}
	out.Emit(key[:n-1], r.Text)
	return nil
}
