package puma

import (
	"bytes"
	"strconv"

	"mrlocal/internal/errs"
	"mrlocal/jobs"
	"mrlocal/jobs/internal/lines"
)

// The next job lists for each word the documents that contain it
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

// The next job lists for each sequence of words the documents that
// contain it, most frequent first. It is Ranked-Inverted-Index of PUMA, Purdue's MapReduce
// benchmarks. The input is the output of jobs/puma, "sequence|document TAB count". The
// result is "sequence TAB count|document,count|document…", by descending count, then by document.
//
// A secondary sort orders the documents: the key is the sequence, TAB, the count in a form that
// sorts in descending order, and the document. The group is the sequence.
//
// Memory: one key, and in a reduce one line (jobs/internal/lines).

// NewRankedInvertedIndex makes the job.
func NewRankedInvertedIndex() (jobs.Chain, error) {
	return jobs.Chain{{
		Name: "ranked-inverted-index", Ordered: true, BuiltIn: true,
		GroupBytes: firstField,
		NewMapper:  func() jobs.Mapper { return &rankedInvertedIndexMapper{} },
		NewReducer: func() jobs.Reducer { return &rankedInvertedIndexReducer{} },
	}}, nil
}

// rankedInvertedIndexMapper emits keys. key is scratch.
type rankedInvertedIndexMapper struct{ key []byte }

// Map emits a key without value for each line. It fails for a line that sequencecount does not
// write.
func (m *rankedInvertedIndexMapper) Map(b jobs.Block, out jobs.Emitter) error {
	at := b.Offset // of the line
	for line := range b.Lines() {
		tab := bytes.LastIndexByte(line, '\t')
		bar := bytes.LastIndexByte(line[:max(tab, 0)], '|')
		count, err := strconv.ParseUint(string(line[tab+1:]), 10, 64)
		if bar < 0 || err != nil || bytes.IndexByte(line[:bar], '\t') >= 0 {
			return errs.Inputf(b.Path, "line at byte %d: %q is not a line of sequence-count: want word|word|word|document TAB count", at, line[:min(len(line), 80)])
		}
		m.key = append(append(m.key[:0], line[:bar]...), '\t')
		m.key = append(jobs.AppendDescending(m.key, count), line[bar+1:tab]...)
		out.Emit(m.key, nil)
		at += int64(len(line)) + 1
	}
	return nil
}

type rankedInvertedIndexReducer struct{ lines.Growing }

// Reduce emits a sequence and its documents.
func (r *rankedInvertedIndexReducer) Reduce(key []byte, vs *jobs.Values, out jobs.Emitter) error {
	n := firstField(key)
	r.Text = append(r.Text[:0], key[:n]...) // with its TAB: an Emitter writes none next to an empty key
	for vs.Next() {
		if len(r.Text) > n {
			r.Text = append(r.Text, ',')
		}
		rest := vs.Key()[n:]
		r.Text = strconv.AppendUint(r.Text, jobs.Descending(rest), 10)
		r.Text = append(append(r.Text, '|'), rest[8:]...)
		if err := r.Check(); err != nil {
			return err
		}
	}
	out.Emit(nil, r.Text)
	return nil
}

// The next job counts, for each document, the sequences of three words on a
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
