package puma

import (
	"encoding/binary"
	"strconv"

	"mrlocal/jobs"
	"mrlocal/jobs/internal/lines"
)

// This file has two jobs that count movies and ratings (Histogram-Movies and Histogram-Ratings of PUMA, Purdue's
// MapReduce benchmarks). A line of input is "movie:user_rating,user_rating,…".
//
// Memory: 513 counts for each attempt, which the map emits at its end.

// NewHistogramMovies makes the job that counts movies by their average rating. The result is
// "bin TAB movies", by bin. A bin is half a rating wide. Its name is its upper end, which it does not
// include: "3.5" has the averages from 3 to below 3.5.
func NewHistogramMovies() (jobs.Chain, error) {
	// The number of a bin is its upper end, in halves. Integers compute it, so no rounding decides it.
	count := func(bins *bins, _ *[256]uint64, sum, n uint64) { bins[2*sum/n+1]++ }
	name := func(bin uint16) []byte { return strconv.AppendFloat(nil, float64(bin)/2, 'f', 1, 64) }
	return histogram("histogram-movies", 2, count, name), nil
}

// NewHistogramRatings makes the job that counts how often each rating was given. The result is
// "rating TAB count", by rating.
func NewHistogramRatings() (jobs.Chain, error) {
	count := func(bins *bins, ratings *[256]uint64, _, _ uint64) {
		for r, n := range ratings {
			bins[r] += n
		}
	}
	name := func(rating uint16) []byte { return strconv.AppendUint(nil, uint64(rating), 10) }
	return histogram("histogram-ratings", 1, count, name), nil
}

// bins has a count for each number of a histogram.
type bins [2*256 + 1]uint64

// histogram makes a job that counts movies. count adds a movie to the bins: how often each rating was given, the
// sum of the ratings and their number. name returns the text for the number of a bin. A key is the last keyBytes
// of that number in two bytes, so keys sort by number.
func histogram(job string, keyBytes int, count func(b *bins, ratings *[256]uint64, sum, n uint64), name func(number uint16) []byte) jobs.Chain {
	reduce := func(key []byte, vs *jobs.Values, out jobs.Emitter) error {
		number := append(make([]byte, 2-keyBytes), key...)
		return jobs.NewSum().Reduce(name(binary.BigEndian.Uint16(number)), vs, out)
	}
	return jobs.Chain{{
		Name: job, Reduces: 1, BuiltIn: true,
		NewMapper:  func() jobs.Mapper { return &histogramMapper{keyBytes: keyBytes, count: count} },
		NewFolder:  func() jobs.Folder { return jobs.Sum{} },
		NewReducer: func() jobs.Reducer { return jobs.ReducerFunc(reduce) },
	}}
}

// histogramMapper counts the movies of an attempt. Its fields are the arguments of histogram.
type histogramMapper struct {
	keyBytes int
	count    func(b *bins, ratings *[256]uint64, sum, n uint64)
	bins     bins
}

// Map counts the movies of a block. It fails for a line of another form.
func (m *histogramMapper) Map(b jobs.Block, _ jobs.Emitter) error {
	return lines.EachMovie(b, func(ratings *[256]uint64, sum, n uint64) { m.count(&m.bins, ratings, sum, n) })
}

// Flush emits the counts of the attempt.
func (m *histogramMapper) Flush(out jobs.Emitter) error {
	for number, n := range m.bins {
		if n > 0 {
			out.Emit(binary.BigEndian.AppendUint16(nil, uint16(number))[2-m.keyBytes:], jobs.AppendUint64(nil, n))
		}
	}
	return nil
}
