package papers

import (
	"bytes"
	"encoding/binary"
	"strconv"

	"mrlocal/errs"
	"mrlocal/jobs"
)

// HistogramMovies makes a job that counts movies by their average rating (Histogram-Movies of
// PUMA, Purdue's MapReduce benchmarks). A line of input is "movie:user_rating,user_rating,…". A bin
// is half a rating wide and has the name of its upper end, which does not belong to it. The result
// is "bin TAB movies", by bin: "3.5" has the averages from 3 to below 3.5.
//
// Memory: 513 counts for each attempt, which the map emits at its end.
func HistogramMovies() (jobs.Chain, error) {
	return jobs.Chain{{
		Name: "histogram-movies", Reduces: 1, BuiltIn: true,
		NewMapper:  func() jobs.Mapper { return &movieMapper{} },
		NewFolder:  func() jobs.Folder { return jobs.Sum{} },
		NewReducer: func() jobs.Reducer { return jobs.ReducerFunc(writeMovies) },
	}}, nil
}

// movieMapper counts movies by the upper end of their bin, in halves.
type movieMapper struct{ movies [2*256 + 1]uint64 }

// Map counts the movies of a block. An average is a fraction, so no rounding decides the bin.
func (m *movieMapper) Map(b jobs.Block, _ jobs.Emitter) error {
	return eachMovie(b, func(_ *[256]uint64, sum, n uint64) { m.movies[2*sum/n+1]++ })
}

// Flush emits what was counted. The key is the bin in two bytes, so that keys come by bin.
func (m *movieMapper) Flush(out jobs.Emitter) error {
	for bin, n := range m.movies {
		if n > 0 {
			out.Emit(binary.BigEndian.AppendUint16(nil, uint16(bin)), jobs.AppendUint64(nil, n))
		}
	}
	return nil
}

// writeMovies writes a bin and its movies.
func writeMovies(key []byte, vs *jobs.Values, out jobs.Emitter) error {
	bin := float64(binary.BigEndian.Uint16(key)) / 2
	return jobs.NewSum().Reduce(strconv.AppendFloat(nil, bin, 'f', 1, 64), vs, out)
}

// HistogramRatings makes a job that counts how often each rating was given (Histogram-Ratings
// of PUMA, Purdue's MapReduce benchmarks). A line of input is "movie:user_rating,user_rating,…".
// The result is "rating TAB count", by rating.
//
// Memory: 256 counts for each attempt, which the map emits at its end.
func HistogramRatings() (jobs.Chain, error) {
	return jobs.Chain{{
		Name: "histogram-ratings", Reduces: 1, BuiltIn: true,
		NewMapper:  func() jobs.Mapper { return &ratingMapper{} },
		NewFolder:  func() jobs.Folder { return jobs.Sum{} },
		NewReducer: func() jobs.Reducer { return jobs.ReducerFunc(writeRatings) },
	}}, nil
}

type ratingMapper struct{ total [256]uint64 }

// Map counts the ratings of a block.
func (m *ratingMapper) Map(b jobs.Block, _ jobs.Emitter) error {
	return eachMovie(b, func(counts *[256]uint64, _, _ uint64) {
		for r, n := range counts {
			m.total[r] += n
		}
	})
}

// Flush emits what was counted. The key is the rating as one byte, so that keys come by rating.
func (m *ratingMapper) Flush(out jobs.Emitter) error {
	for r, n := range m.total {
		if n > 0 {
			out.Emit([]byte{byte(r)}, jobs.AppendUint64(nil, n))
		}
	}
	return nil
}

// writeRatings writes a rating and its count.
func writeRatings(key []byte, vs *jobs.Values, out jobs.Emitter) error {
	return jobs.NewSum().Reduce(strconv.AppendUint(nil, uint64(key[0]), 10), vs, out)
}

// eachMovie calls movie once for each line of a block that has ratings. It passes how often
// each rating stands in the line, and their sum and number. counts is borrowed until movie
// returns. It fails with an error of kind errs.BadInput for a line of another form.
func eachMovie(b jobs.Block, movie func(counts *[256]uint64, sum, n uint64)) error {
	var counts [256]uint64
	for line := range b.Lines() {
		colon := bytes.IndexByte(line, ':')
		if len(line) == 0 {
			continue
		}
		if colon < 0 {
			return wrong(b, line)
		}
		counts = [256]uint64{}
		var sum, n uint64
		for rest := line[colon+1:]; len(rest) > 0; {
			under := bytes.IndexByte(rest, '_')
			rating, at := uint64(0), under+1
			for ; at < len(rest) && rest[at] != ','; at++ {
				if c := rest[at] - '0'; c <= 9 && rating < 256 {
					rating = rating*10 + uint64(c)
					continue
				}
				rating = 256
			}
			if under < 0 || at == under+1 || rating > 255 {
				return wrong(b, line)
			}
			counts[rating]++
			sum, n = sum+rating, n+1
			rest = rest[min(at+1, len(rest)):]
		}
		if n > 0 {
			movie(&counts, sum, n)
		}
	}
	return nil
}

// wrong is the error of a line.
func wrong(b jobs.Block, line []byte) error {
	return errs.Inputf(b.Path, "%q is not movie:user_rating,user_rating,…", line[:min(len(line), 60)])
}
