package puma

import (
	"encoding/binary"
	"strconv"

	"mrlocal/jobs"
	"mrlocal/jobs/internal/lines"
)

// This file has a job that assigns points to the clusters of given centroids
// (Classification of PUMA, Purdue's MapReduce benchmarks, which classifies movies). The centroids are
// the side data of the run, in the format of the output of jobs/puma. A line of input is a point:
// numbers of at most 6 decimals, separated by blanks or commas. The result is "cluster TAB point", by
// cluster, then in the order of the input.
//
// Memory: the centroids in each attempt.

// NewClassification makes the job.
func NewClassification() (jobs.Chain, error) {
	return jobs.Chain{{
		Name: "classification", Ordered: true, BuiltIn: true,
		NewMapper:  func() jobs.Mapper { return &classificationMapper{} },
		NewReducer: func() jobs.Reducer { return jobs.ReducerFunc(classificationReduce) },
	}}, nil
}

// classificationMapper emits points. key is scratch.
type classificationMapper struct {
	lines.PointReader
	key []byte
}

// Map emits each point with the number of its cluster. It fails for a line that is not a point.
func (m *classificationMapper) Map(b jobs.Block, out jobs.Emitter) error {
	return m.Each(b, func(line []byte, cluster int) {
		m.key = binary.BigEndian.AppendUint32(m.key[:0], uint32(cluster))
		out.Emit(m.key, line)
	})
}

// classificationReduce emits the points of a cluster with its number.
func classificationReduce(key []byte, vs *jobs.Values, out jobs.Emitter) error {
	name := strconv.AppendUint(nil, uint64(binary.BigEndian.Uint32(key)), 10)
	for vs.Next() {
		out.Emit(name, vs.Value())
	}
	return nil
}
