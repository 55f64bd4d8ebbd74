package puma

import (
	"encoding/binary"
	"strconv"

	"mrlocal/jobs"
	"mrlocal/jobs/internal/lines"
)

// This file has a job that counts movies by their average rating (Histogram-Movies of
// PUMA, Purdue's MapReduce benchmarks). A line of input is "movie:user_rating,user_rating,…". The
// result is "bin TAB movies", by bin. A bin is half a rating wide. Its name is its upper end, which it
// does not include: "3.5" has the averages from 3 to below 3.5.
//
// Memory: 513 counts for each attempt, which the map emits at its end.

// NewHistogramMovies makes the job.
func NewHistogramMovies() (jobs.Chain, error) {
	return jobs.Chain{{
		Name: "histogram-movies", Reduces: 1, BuiltIn: true,
		NewMapper:  func() jobs.Mapper { return &histogramMoviesMapper{} },
		NewFolder:  func() jobs.Folder { return jobs.Sum{} },
		NewReducer: func() jobs.Reducer { return jobs.ReducerFunc(histogramMoviesReduce) },
	}}, nil
}

// histogramMoviesMapper counts movies by bin. The index is the upper end of the bin, in halves.
type histogramMoviesMapper struct{ movies [2*256 + 1]uint64 }

// Map counts the movies of a block. It computes the bin with integers, so no rounding decides
// it.
func (m *histogramMoviesMapper) Map(b jobs.Block, _ jobs.Emitter) error {
	return lines.EachMovie(b, func(_ *[256]uint64, sum, n uint64) { m.movies[2*sum/n+1]++ })
}

// Flush emits the counts of the attempt. The key is the bin in two bytes, so keys sort by bin.
func (m *histogramMoviesMapper) Flush(out jobs.Emitter) error {
	for bin, n := range m.movies {
		if n > 0 {
			out.Emit(binary.BigEndian.AppendUint16(nil, uint16(bin)), jobs.AppendUint64(nil, n))
		}
	}
	return nil
}

// histogramMoviesReduce emits a bin and its number of movies.
func histogramMoviesReduce(key []byte, vs *jobs.Values, out jobs.Emitter) error {
	bin := float64(binary.BigEndian.Uint16(key)) / 2
	return jobs.NewSum().Reduce(strconv.AppendFloat(nil, bin, 'f', 1, 64), vs, out)
}
