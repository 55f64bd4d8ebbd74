package papers

import (
	"bytes"
	"strconv"

	"mrlocal/errs"
	"mrlocal/jobs"
)

// InvertedIndex makes a job that lists for each word the documents that have it
// (Inverted-Index of PUMA, Purdue's MapReduce benchmarks). A document is a file. The result is
// "word TAB document,document…" in byte order of words and documents.
//
// The key is "word TAB document", and the group is the word, so that the documents of a word
// come sorted (secondary sort). A sum folds repeated pairs in the map.
//
// Memory: one key, and in a reduce one line.
func InvertedIndex() (jobs.Chain, error) {
	return jobs.Chain{{
		Name: "inverted-index", Ordered: true, BuiltIn: true,
		GroupBytes: fieldBytes,
		NewMapper:  func() jobs.Mapper { return &wordMapper{words: jobs.BlankSeparated(), file: -1} },
		NewFolder:  func() jobs.Folder { return jobs.Sum{} },
		NewReducer: func() jobs.Reducer { return &listReducer{groupBytes: fieldBytes} },
	}}, nil
}

type wordMapper struct {
	words *jobs.Words
	file  int32  // whose name is in tail
	tail  []byte // TAB and the document
	keys  []byte // of some hundred words
	spans []jobs.Span
	one   [8]byte
}

// Map emits each word with its document.
func (m *wordMapper) Map(b jobs.Block, out jobs.Emitter) error {
	if b.File != m.file {
		m.file, m.tail = b.File, appendDocument(append(m.tail[:0], '\t'), b.Path)
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

// SequenceCount makes a job that counts, for each document, each sequence of three words
// that follow each other on a line (Sequence-Count of PUMA, Purdue's MapReduce benchmarks). The
// result is "word|word|word|document TAB count" in byte order. A document is a file.
// RankedInvertedIndex reads it.
//
// Memory: one key. jobs.Sum adds the counts in the kvbuffer.
func SequenceCount() (jobs.Chain, error) {
	return jobs.Chain{{
		Name: "sequence-count", Ordered: true, BuiltIn: true,
		NewMapper:  func() jobs.Mapper { return &sequenceMapper{words: jobs.BlankSeparated(), file: -1} },
		NewFolder:  func() jobs.Folder { return jobs.Sum{} },
		NewReducer: func() jobs.Reducer { return jobs.NewSum() },
	}}, nil
}

type sequenceMapper struct {
	words *jobs.Words
	file  int32  // whose name is in tail
	tail  []byte // the document
	keys  []byte // of some hundred sequences
	spans []jobs.Span
	one   [8]byte
}

// Map emits each sequence of three words with its document.
func (m *sequenceMapper) Map(b jobs.Block, out jobs.Emitter) error {
	if b.File != m.file {
		m.file, m.tail = b.File, appendDocument(m.tail[:0], b.Path)
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

// RankedInvertedIndex makes a job that lists for each sequence of words the documents that
// have it, most frequent first (Ranked-Inverted-Index of PUMA, Purdue's MapReduce benchmarks). It
// reads what SequenceCount writes, "sequence|document TAB count". The result is
// "sequence TAB count|document,count|document…": by falling count, then by document.
//
// The order of the documents comes from a secondary sort: the key is "sequence TAB", then the
// count so that it sorts by falling numbers, then the document. The group is the sequence.
//
// Memory: one key, and in a reduce one line.
func RankedInvertedIndex() (jobs.Chain, error) {
	return jobs.Chain{{
		Name: "ranked-inverted-index", Ordered: true, BuiltIn: true,
		GroupBytes: fieldBytes,
		NewMapper:  func() jobs.Mapper { return &rankedMapper{} },
		NewReducer: func() jobs.Reducer { return &rankedReducer{} },
	}}, nil
}

type rankedMapper struct{ key []byte }

// Map emits a key without a value for each line.
func (m *rankedMapper) Map(b jobs.Block, out jobs.Emitter) error {
	for line := range b.Lines() {
		tab := bytes.LastIndexByte(line, '\t')
		bar := bytes.LastIndexByte(line[:max(tab, 0)], '|')
		count, ok := number(line[tab+1:])
		if bar < 0 || !ok || bytes.IndexByte(line[:bar], '\t') >= 0 {
			return errs.Inputf(b.Path, "%q is no line of sequence-count: word|word|word|document TAB count", line[:min(len(line), 80)])
		}
		m.key = append(append(m.key[:0], line[:bar]...), '\t')
		m.key = append(jobs.AppendDescending(m.key, count), line[bar+1:tab]...)
		out.Emit(m.key, nil)
	}
	return nil
}

// number reads a decimal number.
func number(text []byte) (n uint64, ok bool) {
	if len(text) == 0 || len(text) > 19 {
		return 0, false
	}
	for _, c := range text {
		if c -= '0'; c > 9 {
			return 0, false
		}
		n = n*10 + uint64(c)
	}
	return n, true
}

type rankedReducer struct{ line }

// Reduce writes a sequence and its documents.
func (r *rankedReducer) Reduce(key []byte, vs *jobs.Values, out jobs.Emitter) error {
	n := fieldBytes(key)
	r.Text = r.Text[:0]
	for vs.Next() {
		if len(r.Text) > 0 {
			r.Text = append(r.Text, ',')
		}
		rest := vs.Key()[n:]
		r.Text = strconv.AppendUint(r.Text, jobs.Descending(rest), 10)
		r.Text = append(append(r.Text, '|'), rest[8:]...)
		if err := r.Check(); err != nil {
			return err
		}
	}
	out.Emit(key[:n-1], r.Text)
	return nil
}
