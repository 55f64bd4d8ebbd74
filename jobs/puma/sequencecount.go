package puma

import (
	"bytes"

	"mrlocal/jobs"
	"mrlocal/jobs/internal/lines"
)

// This file has a job that counts, for each document, the sequences of three words on a
// line. It is Sequence-Count of PUMA, Purdue's MapReduce benchmarks. A document is a file. The result
// is "word|word|word|document TAB count" in byte order, which jobs/puma reads.
//
// Memory: one key. jobs.Sum adds the counts in the kvbuffer.

// NewSequenceCount makes the job.
func NewSequenceCount() (jobs.Chain, error) {
	return jobs.Chain{{
		Name: "sequence-count", Ordered: true, BuiltIn: true,
		NewMapper:  func() jobs.Mapper { return &sequenceCountMapper{DocumentWords: lines.NewDocumentWords()} },
		NewFolder:  func() jobs.Folder { return jobs.Sum{} },
		NewReducer: func() jobs.Reducer { return jobs.NewSum() },
	}}, nil
}

// sequenceCountMapper emits the sequences of documents.
type sequenceCountMapper struct {
	lines.DocumentWords
	tail []byte // name of the document
}

// Map emits each sequence of three words with its document.
func (m *sequenceCountMapper) Map(b jobs.Block, out jobs.Emitter) error {
	if b.File != m.File {
		m.File, m.tail = b.File, lines.DocumentName(m.tail[:0], b.Path)
	}
	var before [2]jobs.Span // the last two words of the line
	n := 0                  // number of words in before
	for words := range m.Finder.In(b.Data) {
		m.Keys, m.Spans = m.Keys[:0], m.Spans[:0]
		for _, w := range words {
			end := before[1].Off + before[1].Len
			if n > 0 && bytes.IndexByte(b.Data[end:w.Off], '\n') >= 0 {
				n = 0
			}
			if n == 2 {
				at := len(m.Keys)
				for _, s := range [3]jobs.Span{before[0], before[1], w} {
					m.Keys = append(append(m.Keys, b.Data[s.Off:s.Off+s.Len]...), '|')
				}
				m.Keys = append(m.Keys, m.tail...)
				m.Spans = append(m.Spans, jobs.Span{Off: uint32(at), Len: uint32(len(m.Keys) - at)})
			}
			before[0] = before[1]
			before[1] = w
			n = min(n+1, 2)
		}
		jobs.EmitSpans(out, m.Keys, m.Spans, m.One)
	}
	return nil
}
