// Package sequencecount is a job that counts, for each document, each sequence of three words
// that follow each other on a line (Sequence-Count of PUMA, Purdue's MapReduce benchmarks). The
// result is "word|word|word|document TAB count" in byte order. A document is a file.
// jobs/rankedinvertedindex reads it.
//
// Memory: one key. jobs.Sum adds the counts in the kvbuffer. Neighbours: package jobs finds
// words.
package sequencecount

import (
	"bytes"

	"mrlocal/jobs"
	"mrlocal/jobs/internal/list"
)

// New makes the job.
func New() (jobs.Chain, error) {
	return jobs.Chain{{
		Name: "sequence-count", Ordered: true, BuiltIn: true,
		NewMapper:  func() jobs.Mapper { return &mapper{words: jobs.BlankSeparated(), file: -1} },
		NewFolder:  func() jobs.Folder { return jobs.Sum{} },
		NewReducer: func() jobs.Reducer { return jobs.NewSum() },
	}}, nil
}

type mapper struct {
	words *jobs.Words
	file  int32  // whose name is in tail
	tail  []byte // the document
	keys  []byte // of some hundred sequences
	spans []jobs.Span
	one   [8]byte
}

// Map emits each sequence of three words with its document.
func (m *mapper) Map(b jobs.Block, out jobs.Emitter) error {
	if b.File != m.file {
		m.file, m.tail = b.File, list.Document(m.tail[:0], b.Path)
		jobs.AppendUint64(m.one[:0], 1)
	}
	var before [2]jobs.Span // the last words of the line
	n := 0                  // how many there are
	for words := range m.words.In(b.Data) {
		m.keys, m.spans = m.keys[:0], m.spans[:0]
		for _, w := range words {
			end := before[1].Off + before[1].Len
			if n > 0 && bytes.IndexByte(b.Data[end:w.Off], '\n') >= 0 {
				n = 0
			}
			if n == 2 {
				at := len(m.keys)
				for _, s := range [3]jobs.Span{before[0], before[1], w} {
					m.keys = append(append(m.keys, b.Data[s.Off:s.Off+s.Len]...), '|')
				}
				m.keys = append(m.keys, m.tail...)
				m.spans = append(m.spans, jobs.Span{Off: uint32(at), Len: uint32(len(m.keys) - at)})
			}
			before[0], before[1], n = before[1], w, min(n+1, 2)
		}
		jobs.EmitSpans(out, m.keys, m.spans, m.one[:])
	}
	return nil
}
