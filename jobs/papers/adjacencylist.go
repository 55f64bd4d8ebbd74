package papers

import (
	"bytes"

	"mrlocal/errs"
	"mrlocal/jobs"
)

// AdjacencyList makes a job that lists the neighbours in a directed graph, as PageRank
// needs them (Adjacency-List of PUMA, Purdue's MapReduce benchmarks). A line of input is an edge,
// "p TAB q". The result is "node TAB from,from… TAB to,to…": the nodes with an edge to it, and
// those to which it has one, in byte order, each once.
//
// A map emits each edge twice, with the keys "q TAB f p" and "p TAB t q". The group is the node,
// and its neighbours come sorted (secondary sort).
//
// Memory: one key, and in a reduce one line.
func AdjacencyList() (jobs.Chain, error) {
	return jobs.Chain{{
		Name: "adjacency-list", Ordered: true, BuiltIn: true,
		GroupBytes: fieldBytes,
		NewMapper:  func() jobs.Mapper { return &edgeMapper{} },
		NewReducer: func() jobs.Reducer { return &neighbourReducer{} },
	}}, nil
}

// The byte between a node and its neighbour: the neighbour's edge leads to the node, or away
// from it.
const (
	edgeFrom = 'f'
	edgeTo   = 't'
)

type edgeMapper struct{ key []byte }

// Map emits each edge from both ends.
func (m *edgeMapper) Map(b jobs.Block, out jobs.Emitter) error {
	for line := range b.Lines() {
		tab := bytes.IndexByte(line, '\t')
		if tab <= 0 || tab+1 == len(line) || bytes.IndexByte(line[tab+1:], '\t') >= 0 {
			if len(line) == 0 {
				continue
			}
			return errs.Inputf(b.Path, "%q is no edge: node TAB node", line[:min(len(line), 60)])
		}
		p, q := line[:tab], line[tab+1:]
		m.key = append(append(append(m.key[:0], q...), '\t', edgeFrom), p...)
		out.Emit(m.key, nil)
		m.key = append(append(append(m.key[:0], p...), '\t', edgeTo), q...)
		out.Emit(m.key, nil)
	}
	return nil
}

type neighbourReducer struct {
	line
	last []byte // direction and neighbour
}

// Reduce writes a node and its neighbours.
func (r *neighbourReducer) Reduce(key []byte, vs *jobs.Values, out jobs.Emitter) error {
	n := fieldBytes(key)
	r.Text, r.last = r.Text[:0], append(r.last[:0], edgeFrom)
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
	if r.last[0] == edgeFrom {
		r.Text = append(r.Text, '\t')
	}
	out.Emit(key[:n-1], r.Text)
	return nil
}
