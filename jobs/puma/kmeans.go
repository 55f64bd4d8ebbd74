package puma

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math/big"
	"strconv"

	"mrlocal/internal/errs"
	"mrlocal/jobs"
	"mrlocal/jobs/internal/lines"
)

// The next job finds the centres of K clusters by Lloyd's iteration. It is K-Means
// of PUMA, Purdue's MapReduce benchmarks. PUMA clusters movies; this job clusters points. A line
// of input is a point: numbers of at most 6 decimals between blanks or commas. The result is
// "cluster TAB centroid", by cluster.
//
// It is a chain of three jobs. The first job draws K different points. The second job reads the
// points again in rounds. The side data of a round are its centroids. Each point belongs to the
// nearest centroid, and the averages of these clusters are the centroids of the next round. The
// rounds end when no coordinate moves by more than Options.Tolerance. The third job prints the
// centroids.
//
// Memory: K points and sums in each attempt.

// KMeansOptions say how many clusters there are and when the iteration ends.
type KMeansOptions struct {
	K         int      // number of clusters, unless Given is set; 0: 10
	Rounds    int      // most rounds; 0: 20
	Tolerance *float64 // the rounds end if no coordinate moves by more; nil: 0.001
	Given     bool     // the side data of the run are the first centroids, one on each line
}

// NewKMeans makes the jobs. It fails with an options error (package errs) if an option is out of
// range.
func NewKMeans(o KMeansOptions) (jobs.Chain, error) {
	o.K, o.Rounds = cmp.Or(o.K, 10), cmp.Or(o.Rounds, 20)
	o.Tolerance = cmp.Or(o.Tolerance, new(0.001))
	switch {
	case o.K < 1 || o.K > 10_000:
		return nil, errs.Fieldf("Options.K", "%d: must be from 1 to 10000", o.K)
	case o.Rounds < 1:
		return nil, errs.Fieldf("Options.Rounds", "%d: must be at least 1", o.Rounds)
	case !(*o.Tolerance >= 0):
		return nil, errs.Fieldf("Options.Tolerance", "must be at least 0")
	}
	chain := jobs.Chain{
		lines.DrawPoints("kmeans-draw", o.K),
		{
			Name: "kmeans", Reduces: 1, BuiltIn: true, Rereads: true, Rounds: o.Rounds,
			Converged:  func(before, after []byte) bool { return lines.PointsWithin(before, after, *o.Tolerance) },
			NewMapper:  func() jobs.Mapper { return &kMeansMapper{} },
			NewReducer: func() jobs.Reducer { return &kMeansReducer{} },
		},
		{
			Name: "kmeans-print", BuiltIn: true,
			NewMapper: func() jobs.Mapper { return jobs.MapperFunc(kMeansPrintLines) },
		},
	}
	if o.Given {
		chain = chain[1:]
	}
	return chain, nil
}

// kMeansMapper adds the points of a block to the sums of their clusters.
type kMeansMapper struct {
	lines.PointReader
	sums     []int64 // for each cluster: the number of its points, and the sum of each coordinate
	key, sum []byte
}

// Map emits, for each cluster, the number of its points and the sums of their coordinates. No
// sum of a block overflows: a coordinate is at most 10^12 millionths, and a block has far fewer
// than 9 million points.
func (m *kMeansMapper) Map(b jobs.Block, out jobs.Emitter) error {
	d := m.Centroids.Dimension
	m.sums = append(m.sums[:0], make([]int64, m.Centroids.Number*(d+1))...)
	err := m.Each(b, func(_ []byte, cluster int) {
		sums := m.sums[cluster*(d+1):][:d+1]
		sums[0]++
		for i, x := range m.Point {
			sums[i+1] += x
		}
	})
	if err != nil {
		return err
	}
	for i := range m.Centroids.Number {
		m.key = binary.BigEndian.AppendUint32(m.key[:0], uint32(i))
		m.sum = m.sum[:0]
		for _, n := range m.sums[i*(d+1) : (i+1)*(d+1)] {
			m.sum = binary.LittleEndian.AppendUint64(m.sum, uint64(n))
		}
		out.Emit(m.key, m.sum)
	}
	return nil
}

// kMeansReducer computes the averages. A cluster without points keeps its centroid.
type kMeansReducer struct{ before [][]byte }

// Begin implements jobs.Attempter: it keeps the centroids of the round, by cluster.
func (r *kMeansReducer) Begin(a jobs.OwnAttempt) {
	r.before = bytes.Split(bytes.TrimSpace(a.Side), []byte("\n"))
}

// Reduce adds the sums of a cluster, and emits its number and centroid. Totals of all blocks
// may exceed 64 bits.
func (r *kMeansReducer) Reduce(key []byte, vs *jobs.Values, out jobs.Emitter) error {
	cluster := int(binary.BigEndian.Uint32(key))
	var totals []big.Int
	for vs.Next() {
		v := vs.Value()
		if totals == nil {
			totals = make([]big.Int, len(v)/8)
		}
		for i := range totals {
			totals[i].Add(&totals[i], big.NewInt(int64(binary.LittleEndian.Uint64(v[8*i:]))))
		}
	}
	name := strconv.AppendInt(nil, int64(cluster), 10)
	if totals[0].Sign() == 0 {
		centroid := r.before[cluster]
		out.Emit(name, centroid[bytes.IndexByte(centroid, '\t')+1:]) // without its name, if it has one
		return nil
	}
	centroid := make([]int64, len(totals)-1)
	for i := range centroid {
		centroid[i] = new(big.Int).Quo(&totals[i+1], &totals[0]).Int64()
	}
	out.Emit(name, lines.AppendPoint(nil, centroid))
	return nil
}

// kMeansPrintLines writes the lines of a block.
func kMeansPrintLines(b jobs.Block, out jobs.Emitter) error {
	for line := range b.Lines() {
		out.Emit(nil, line)
	}
	return nil
}

// The next job assigns points to the clusters of given centroids
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

// The next two jobs count movies and ratings (Histogram-Movies and Histogram-Ratings of PUMA, Purdue's
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
