// Package histogrammovies is a job that counts movies by their average rating (Histogram-Movies of
// PUMA, Purdue's MapReduce benchmarks). A line of input is "movie:user_rating,user_rating,…". A bin
// is half a rating wide and has the name of its upper end, which does not belong to it. The result
// is "bin TAB movies", by bin: "3.5" has the averages from 3 to below 3.5.
//
// Memory: 513 counts for each attempt, which the map emits at its end. Neighbours:
// jobs/internal/lines reads the lines; package jobs adds the counts.
package histogrammovies

import (
	"encoding/binary"
	"strconv"

	"mrlocal/jobs"
	"mrlocal/jobs/internal/lines"
)

// New makes the job.
func New() (jobs.Chain, error) {
	return jobs.Chain{{
		Name: "histogram-movies", Reduces: 1, BuiltIn: true,
		NewMapper:  func() jobs.Mapper { return &mapper{} },
		NewFolder:  func() jobs.Folder { return jobs.Sum{} },
		NewReducer: func() jobs.Reducer { return jobs.ReducerFunc(reduce) },
	}}, nil
}

// mapper counts movies by the upper end of their bin, in halves.
type mapper struct{ movies [2*256 + 1]uint64 }

// Map counts the movies of a block. An average is a fraction, so no rounding decides the bin.
func (m *mapper) Map(b jobs.Block, _ jobs.Emitter) error {
	return lines.EachMovie(b, func(_ *[256]uint64, sum, n uint64) { m.movies[2*sum/n+1]++ })
}

// Flush emits what was counted. The key is the bin in two bytes, so that keys come by bin.
func (m *mapper) Flush(out jobs.Emitter) error {
	for bin, n := range m.movies {
		if n > 0 {
			out.Emit(binary.BigEndian.AppendUint16(nil, uint16(bin)), jobs.AppendUint64(nil, n))
		}
	}
	return nil
}

// reduce writes a bin and its movies.
func reduce(key []byte, vs *jobs.Values, out jobs.Emitter) error {
	bin := float64(binary.BigEndian.Uint16(key)) / 2
	return jobs.NewSum().Reduce(strconv.AppendFloat(nil, bin, 'f', 1, 64), vs, out)
}
