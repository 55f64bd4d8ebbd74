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

// The next job makes lists of neighbours of a directed graph, for example for
// PageRank (Adjacency-List of PUMA, Purdue's MapReduce benchmarks). A line of input is an edge,
// "p TAB q". The result is "node TAB from,from… TAB to,to…". First come the nodes with an edge to
// the node, then those to which it has an edge. Each list is in byte order, and has each node once.
//
// A map emits each edge twice, with the keys "q TAB f p" and "p TAB t q". The group is the node, so
// its neighbours come sorted (secondary sort).
//
// Memory: one key, and in a reduce one line (jobs/internal/lines).

// NewAdjacencyList makes the job.
func NewAdjacencyList() (jobs.Chain, error) {
	return jobs.Chain{{
		Name: "adjacency-list", Ordered: true, BuiltIn: true,
		GroupBytes: firstField,
		NewMapper:  func() jobs.Mapper { return &adjacencyListMapper{} },
		NewReducer: func() jobs.Reducer { return &adjacencyListReducer{} },
	}}, nil
}

// The byte between a node and its neighbour says whether the edge comes from the neighbour or
// leads to it.
const (
	from = 'f'
	to   = 't'
)

// adjacencyListMapper emits edges. key is scratch.
type adjacencyListMapper struct{ key []byte }

// Map emits each edge for both of its nodes. It fails for a line that is not an edge.
func (m *adjacencyListMapper) Map(b jobs.Block, out jobs.Emitter) error {
	next := b.Offset // of the line behind this one
	for line := range b.Lines() {
		at := next
		next += int64(len(line)) + 1
		tab := bytes.IndexByte(line, '\t')
		if tab <= 0 || tab+1 == len(line) || bytes.IndexByte(line[tab+1:], '\t') >= 0 {
			if len(line) == 0 {
				continue
			}
			return errs.Inputf(b.Path, "line at byte %d: %q is not an edge: want node TAB node", at, line[:min(len(line), 60)])
		}
		p, q := line[:tab], line[tab+1:]
		m.key = append(append(append(m.key[:0], q...), '\t', from), p...)
		out.Emit(m.key, nil)
		m.key = append(append(append(m.key[:0], p...), '\t', to), q...)
		out.Emit(m.key, nil)
	}
	return nil
}

// adjacencyListReducer writes the lists of neighbours.
type adjacencyListReducer struct {
	lines.Growing
	last []byte // direction and name of the last neighbour
}

// Reduce emits a node and its neighbours.
func (r *adjacencyListReducer) Reduce(key []byte, vs *jobs.Values, out jobs.Emitter) error {
	n := firstField(key)
	r.Text, r.last = r.Text[:0], append(r.last[:0], from)
	for vs.Next() {
		neighbour := vs.Key()[n:]
		if bytes.Equal(neighbour, r.last) {
			continue
		}
		switch {
		case neighbour[0] != r.last[0]: // the first edge away
			r.Text = append(r.Text, '\t')
		case len(r.last) > 1:
			r.Text = append(r.Text, ',')
		}
		r.last = append(r.last[:0], neighbour...)
		r.Text = append(r.Text, neighbour[1:]...)
		if err := r.Check(); err != nil {
			return err
		}
	}
	if r.last[0] == from {
		r.Text = append(r.Text, '\t')
	}
	out.Emit(key[:n-1], r.Text)
	return nil
}
