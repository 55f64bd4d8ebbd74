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
