package puma

import (
	"bytes"
	"strconv"

	"mrlocal/internal/errs"
	"mrlocal/jobs"
	"mrlocal/jobs/internal/lines"
)

// This file has a job that lists for each sequence of words the documents that
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
