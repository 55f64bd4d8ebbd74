package puma

import (
	"bytes"

	"mrlocal/internal/errs"
	"mrlocal/jobs"
	"mrlocal/jobs/internal/lines"
)

// This file has a job that joins sorted lists of k items to candidates of k+1 items, like the
// Apriori algorithm of data mining. It is Self-Join of PUMA, Purdue's MapReduce benchmarks. A line
// of input is "item,item,…". The result has a line for each prefix of k−1 items. It is the prefix,
// TAB, and the last items of its lists, "last,last…", in byte order, each once. The prefix and any
// two of the last items make a candidate.
//
// A line is its own key, so a map does not copy it. Its group is the prefix, so the last items of a
// group come sorted (secondary sort).
//
// Memory: the spans of a block, and in a reduce one line (jobs/internal/lines).

// NewSelfJoin makes the job.
func NewSelfJoin() (jobs.Chain, error) {
	return jobs.Chain{{
		Name: "self-join", Ordered: true, BuiltIn: true,
		GroupBytes: selfJoinPrefixBytes,
		NewMapper:  func() jobs.Mapper { return &selfJoinMapper{} },
		NewReducer: func() jobs.Reducer { return &lines.ListReducer{GroupBytes: selfJoinPrefixBytes} },
	}}, nil
}

// selfJoinPrefixBytes returns the length of all items but the last one, with their commas.
func selfJoinPrefixBytes(key []byte) int { return bytes.LastIndexByte(key, ',') + 1 }

// selfJoinMapper keeps the spans of a block, which it reuses.
type selfJoinMapper struct{ spans []jobs.Span }

// Map passes on the lines of a block, except for empty ones. It fails for a line with one item.
func (m *selfJoinMapper) Map(b jobs.Block, out jobs.Emitter) error {
	m.spans = m.spans[:0]
	at := 0
	for line := range b.Lines() {
		if bytes.IndexByte(line, ',') < 0 && len(line) > 0 {
			return errs.Inputf(b.Path, "line at byte %d: %q has no comma: want item,item,…", b.Offset+int64(at), line[:min(len(line), 60)])
		}
		if len(line) > 0 {
			m.spans = append(m.spans, jobs.Span{Off: uint32(at), Len: uint32(len(line))})
		}
		at += len(line) + 1
	}
	return lines.Take("self-join", b, m.spans, out)
}
