package puma

import (
	"strconv"

	"mrlocal/jobs"
	"mrlocal/jobs/internal/lines"
)

// This file has a job that counts how often each rating was given (Histogram-Ratings
// of PUMA, Purdue's MapReduce benchmarks). A line of input is "movie:user_rating,user_rating,…".
// The result is "rating TAB count", by rating.
//
// Memory: 256 counts for each attempt, which the map emits at its end.

// NewHistogramRatings makes the job.
func NewHistogramRatings() (jobs.Chain, error) {
	return jobs.Chain{{
		Name: "histogram-ratings", Reduces: 1, BuiltIn: true,
		NewMapper:  func() jobs.Mapper { return &histogramRatingsMapper{} },
		NewFolder:  func() jobs.Folder { return jobs.Sum{} },
		NewReducer: func() jobs.Reducer { return jobs.ReducerFunc(histogramRatingsReduce) },
	}}, nil
}

// histogramRatingsMapper counts ratings. total has the count of each rating.
type histogramRatingsMapper struct{ total [256]uint64 }

// Map counts the ratings of a block. It fails for a line of another form.
func (m *histogramRatingsMapper) Map(b jobs.Block, _ jobs.Emitter) error {
	return lines.EachMovie(b, func(counts *[256]uint64, _, _ uint64) {
		for r, n := range counts {
			m.total[r] += n
		}
	})
}

// Flush emits the counts of the attempt. The key is the rating as one byte, so keys sort by
// rating.
func (m *histogramRatingsMapper) Flush(out jobs.Emitter) error {
	for r, n := range m.total {
		if n > 0 {
			out.Emit([]byte{byte(r)}, jobs.AppendUint64(nil, n))
		}
	}
	return nil
}

// histogramRatingsReduce emits a rating and the sum of its counts.
func histogramRatingsReduce(key []byte, vs *jobs.Values, out jobs.Emitter) error {
	return jobs.NewSum().Reduce(strconv.AppendUint(nil, uint64(key[0]), 10), vs, out)
}
