package papers

import (
	"bytes"

	"mrlocal/errs"
	"mrlocal/jobs"
)

// JoinInputs is how many inputs the job takes.
const JoinInputs = 2

// Join makes a job that joins two inputs by the first field of their lines (Hadoop's
// contrib/data_join, and the join of its examples). Fields end at a TAB; empty lines are left out.
// The result has a line "key TAB rest TAB rest" for each line of the first input and each line of
// the second one with the same key. The lines stand in this order: by key, then in the order of the
// second input, then of the first.
//
// The mapper knows from Block.Input to which input a line belongs. The key is "key TAB input", and
// the group is the key, so the lines of the first input come first (secondary sort). A reduce keeps
// these, and reads those of the second input one after the other.
//
// Memory: the lines of the first input with one key, charged to the bound of the run. So name the
// input with fewer lines a key first.
func Join() (jobs.Chain, error) {
	return jobs.Chain{{
		Name: "join", Ordered: true, BuiltIn: true,
		GroupBytes: fieldBytes,
		NewMapper:  func() jobs.Mapper { return &joinMapper{} },
		NewReducer: func() jobs.Reducer { return &joinReducer{} },
	}}, nil
}

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

type joinReducer struct {
	line       // the lines of the first input
	ends []int // of each of them in Text
	pair []byte
}

// Reduce writes all pairs of one key.
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
			r.pair = append(append(append(r.pair[:0], r.Text[begin:end]...), '\t'), vs.Value()...)
			out.Emit(key[:n], r.pair)
			begin = end
		}
	}
	return nil
}

// SelfJoin makes a job that joins sorted lists of k items to candidates of k+1 items, like the a
// priori algorithm of data mining (Self-Join of PUMA, Purdue's MapReduce benchmarks). A line of
// input is "item,item,…". The result is "item,…,item TAB last,last…" for each prefix of k−1
// items: all their last items in byte order, each once. Any two of the last items, behind the
// prefix, make a candidate.
//
// A line is its own key, so it is never copied in a map. Its group is the prefix, and the last
// items come sorted (secondary sort).
//
// Memory: the spans of a block, and in a reduce one line.
func SelfJoin() (jobs.Chain, error) {
	return jobs.Chain{{
		Name: "self-join", Ordered: true, BuiltIn: true,
		GroupBytes: prefixBytes,
		NewMapper:  func() jobs.Mapper { return &candidateMapper{} },
		NewReducer: func() jobs.Reducer { return &listReducer{groupBytes: prefixBytes} },
	}}, nil
}

// prefixBytes returns the length of all items but the last one, with their commas.
func prefixBytes(key []byte) int { return bytes.LastIndexByte(key, ',') + 1 }

type candidateMapper struct{ spans []jobs.Span }

// Map passes on the lines that have several items.
func (m *candidateMapper) Map(b jobs.Block, out jobs.Emitter) error {
	m.spans = m.spans[:0]
	at := 0
	for line := range b.Lines() {
		if bytes.IndexByte(line, ',') < 0 && len(line) > 0 {
			return errs.Inputf(b.Path, "line at byte %d: %q has no comma; a line is item,item,…", b.Offset+int64(at), line[:min(len(line), 60)])
		}
		if len(line) > 0 {
			m.spans = append(m.spans, jobs.Span{Off: uint32(at), Len: uint32(len(line))})
		}
		at += len(line) + 1
	}
	if taker, ok := out.(jobs.Taker); ok {
		taker.Take(b, m.spans)
		return nil
	}
	jobs.EmitSpans(out, b.Data, m.spans, nil)
	return nil
}
