package puma

import (
	"bytes"

	"mrlocal/internal/errs"
	"mrlocal/jobs"
	"mrlocal/jobs/internal/lines"
)

// The next job joins two inputs by the first field of their lines (Hadoop's
// contrib/data_join, and the join of its examples). Fields end at a TAB; empty lines are left out.
// A pair is a line of the first input and a line of the second input with the same key. The result
// has a line "key TAB rest TAB rest" for each pair. The lines are ordered by key, then in the order
// of the second input, then in the order of the first input.
//
// Block.Input says to which input a line belongs. The key of a record is "key TAB input", and the
// group is the part before the TAB. So the lines of the first input come first (secondary sort). A
// reduce keeps these lines, and reads the lines of the second input one after the other.
//
// Memory: a reduce keeps the lines of the first input with one key, and charges them to the memory
// bound of the run. So the first input should be the one with fewer lines for each key.

// JoinInputs is the number of inputs of the job.
const JoinInputs = 2

// NewJoin makes the job.
func NewJoin() (jobs.Chain, error) {
	return jobs.Chain{{
		Name: "join", Ordered: true, BuiltIn: true,
		GroupBytes: firstField,
		NewMapper:  func() jobs.Mapper { return &joinMapper{} },
		NewReducer: func() jobs.Reducer { return &joinReducer{} },
	}}, nil
}

// joinMapper emits lines. key is scratch.
type joinMapper struct{ key []byte }

// Map emits each line with its key and its input.
func (m *joinMapper) Map(b jobs.Block, out jobs.Emitter) error {
	for line := range b.Lines() {
		if len(line) == 0 {
			continue
		}
		key, rest, _ := bytes.Cut(line, []byte{'\t'})
		m.key = append(append(m.key[:0], key...), '\t', byte(min(b.Input, 1)))
		out.Emit(m.key, rest)
	}
	return nil
}

// joinReducer joins the lines of a key.
type joinReducer struct {
	lines.Growing        // the rests of the lines of the first input, one after the other
	ends          []int  // where each of them ends in Text
	pair          []byte // scratch
}

// Reduce emits all pairs of one key.
func (r *joinReducer) Reduce(key []byte, vs *jobs.Values, out jobs.Emitter) error {
	n := bytes.IndexByte(key, '\t')
	r.Text, r.ends = r.Text[:0], r.ends[:0]
	for vs.Next() {
		if vs.Key()[n+1] == 0 {
			r.Text = append(r.Text, vs.Value()...)
			r.ends = append(r.ends, len(r.Text))
			if err := r.Check(); err != nil {
				return err
			}
			continue
		}
		begin := 0
		for _, end := range r.ends {
			r.pair = append(append(r.pair[:0], key[:n+1]...), r.Text[begin:end]...) // a key may be empty, but has its TAB
			r.pair = append(append(r.pair, '\t'), vs.Value()...)
			out.Emit(nil, r.pair)
			begin = end
		}
	}
	return nil
}

// The next job joins sorted lists of k items to candidates of k+1 items, like the
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
