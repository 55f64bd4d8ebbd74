package puma

import (
	"bytes"

	"mrlocal/internal/errs"
	"mrlocal/jobs"
	"mrlocal/jobs/internal/lines"
)

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
