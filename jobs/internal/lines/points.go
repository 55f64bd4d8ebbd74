package lines

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"

	"mrlocal/internal/errs"
	"mrlocal/jobs"
)

// A point is a line of decimal numbers, separated by blanks or commas. It may have any dimension.
// Coordinates are integers, in millionths. So a sum does not depend on the order of its parts, and the
// result does not depend on how the input is divided.
const (
	// unit is the coordinate that stands for 1.
	unit = 1_000_000
	// mostCoordinate is the largest absolute value of a coordinate, in units.
	mostCoordinate = 1_000_000
)

// parsePoint appends the coordinates of a point to dst. It fails if text is not a list of
// numbers, or if a number has more than 6 decimals or is larger than mostCoordinate.
func parsePoint(dst []int64, text []byte) ([]int64, error) {
	for at := 0; ; {
		for at < len(text) && separatesNumbers(text[at]) {
			at++
		}
		if at == len(text) {
			return dst, nil
		}
		begin, negative := at, text[at] == '-'
		if negative {
			at++
		}
		n, digits := int64(0), 0
		decimals := -1 // counts digits behind the point; -1: no point yet; 7: wrong
		for ; at < len(text) && !separatesNumbers(text[at]); at++ {
			c := text[at]
			switch {
			case c-'0' <= 9 && digits < 13:
				n, digits = n*10+int64(c-'0'), digits+1
				if decimals >= 0 {
					decimals++
				}
			case c == '.' && decimals < 0:
				decimals = 0
			default:
				decimals = 7
			}
		}
		for i := max(decimals, 0); i < 6; i++ {
			n *= 10
		}
		if digits == 0 || decimals > 6 || digits-max(decimals, 0) > 7 || n > mostCoordinate*unit {
			return dst, fmt.Errorf("%q is not a coordinate: want a number of at most 6 decimals, up to %d", text[begin:min(len(text), begin+20)], mostCoordinate)
		}
		if negative {
			n = -n
		}
		dst = append(dst, n)
	}
}

// separatesNumbers reports whether c separates coordinates.
func separatesNumbers(c byte) bool { return c == ' ' || c == ',' || c == '\t' || c == '\r' }

// AppendPoint appends a point to dst and returns the result. parsePoint reads that format.
func AppendPoint(dst []byte, point []int64) []byte {
	for i, n := range point {
		if i > 0 {
			dst = append(dst, ' ')
		}
		if n < 0 {
			dst = append(dst, '-')
			n = -n
		}
		dst = append(strconv.AppendInt(dst, n/unit, 10), '.')
		at := len(dst)
		dst = strconv.AppendInt(dst, unit+n%unit, 10) // the leading 1 keeps the zeros behind it, and is removed below
		dst = append(dst[:at], dst[at+1:]...)
	}
	return dst
}

// points is a list of points of one dimension.
type points struct {
	Dimension int
	Number    int
	values    []float64 // coordinates in millionths, point by point
}

// parsePoints parses a point from each line of text, which may end in blank lines. The text before a TAB
// is the name of a point, which it ignores. It fails if there is no point, or if dimensions differ.
func parsePoints(text []byte) (s points, err error) {
	var point []int64
	for line := range bytes.Lines(bytes.TrimRight(text, " \t\r\n")) {
		line = bytes.TrimSpace(line)
		if tab := bytes.IndexByte(line, '\t'); tab >= 0 {
			line = line[tab+1:]
		}
		if point, err = parsePoint(point[:0], line); err != nil {
			return points{}, fmt.Errorf("line %d: %w", s.Number+1, err)
		}
		if len(point) == 0 {
			return points{}, fmt.Errorf("line %d: there is no centroid", s.Number+1)
		}
		if s.Number > 0 && len(point) != s.Dimension {
			return points{}, fmt.Errorf("line %d: a centroid has %s and those before have %d", s.Number+1, errs.Counted(len(point), "coordinate"), s.Dimension)
		}
		s.Dimension, s.Number = len(point), s.Number+1
		for _, n := range point {
			s.values = append(s.values, float64(n))
		}
	}
	if s.Number == 0 {
		return points{}, fmt.Errorf("there are no centroids")
	}
	return s, nil
}

// Nearest returns the index of the point that is nearest to p, the first one of several. p has
// the same dimension.
func (s *points) Nearest(p []int64) int {
	best, index := 0.0, 0
	for i := range s.Number {
		sum := 0.0
		for k, c := range s.values[i*s.Dimension : (i+1)*s.Dimension] {
			d := float64(p[k]) - c
			sum += float64(d * d) // the conversion prevents a fused multiply-add, whose result differs from machine to machine
		}
		if i == 0 || sum < best {
			best, index = sum, i
		}
	}
	return index
}

// PointsWithin reports whether the coordinates of two texts of centroids differ by at most
// tolerance. It returns false if one of the texts has no centroids.
func PointsWithin(before, after []byte, tolerance float64) bool {
	s, err := parsePoints(before)
	other, errAfter := parsePoints(after)
	if err != nil || errAfter != nil || s.Number != other.Number || s.Dimension != other.Dimension {
		return false
	}
	for i, v := range s.values {
		if d := v - other.values[i]; d > tolerance*unit || d < -tolerance*unit {
			return false
		}
	}
	return true
}

// PointReader reads the points of blocks for a mapper that embeds it. The centroids are the
// side data of the attempt.
type PointReader struct {
	Centroids points
	Point     []int64 // the current point, borrowed until the next one

	err error // of the centroids
}

// Begin implements jobs.Attempter: it parses the centroids.
func (r *PointReader) Begin(a jobs.OwnAttempt) { r.Centroids, r.err = parsePoints(a.Side) }

// Each calls visit with the line of each point and the index of the nearest centroid. line is
// borrowed until visit returns. Each fails with an input error (package errs) if a line is not
// a point, or if there are no centroids.
func (r *PointReader) Each(b jobs.Block, visit func(line []byte, cluster int)) (err error) {
	if r.err != nil {
		return &jobs.SideError{Err: r.err}
	}
	for line := range b.Lines() {
		if r.Point, err = parsePoint(r.Point[:0], line); err != nil {
			return errs.Inputf(b.Path, "%w", err)
		}
		if len(r.Point) == 0 {
			continue
		}
		if len(r.Point) != r.Centroids.Dimension {
			return errs.Inputf(b.Path, "a point has %s and the centroids have %d", errs.Counted(len(r.Point), "coordinate"), r.Centroids.Dimension)
		}
		visit(line, r.Centroids.Nearest(r.Point))
	}
	return nil
}

// EachMovie reads the movies of PUMA, Purdue's MapReduce benchmarks. A line is
// "movie:user_rating,user_rating,…", where a rating is a number from 0 to 255. EachMovie calls
// movie once for each line of a block that has ratings. counts has the count of each rating in
// the line; sum and n are their sum and number. counts is borrowed until movie returns.
// EachMovie fails with an input error (package errs) for a line of another form.
func EachMovie(b jobs.Block, movie func(counts *[256]uint64, sum, n uint64)) error {
	var counts [256]uint64
	for line := range b.Lines() {
		colon := bytes.IndexByte(line, ':')
		if len(line) == 0 {
			continue
		}
		if colon < 0 {
			return notAMovie(b, line)
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
				return notAMovie(b, line)
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

// notAMovie returns the error for a line of another form.
func notAMovie(b jobs.Block, line []byte) error {
	return errs.Inputf(b.Path, "%q is not movie:user_rating,user_rating,…", line[:min(len(line), 60)])
}

// pointDraw draws Most different lines: those with the least CRC-32C, and of lines with equal
// sums those that sort first. So a draw does not depend on how the input is divided, and
// several draws can be drawn from again. It copies the lines that it keeps.
type pointDraw struct {
	Most  int
	Lines [][]byte // in the order of their CRC-32C, then of their bytes

	sums []uint32 // CRC-32C of each of Lines
}

// Add adds a line, which is borrowed, if it belongs to the draw so far. It ignores empty lines.
func (d *pointDraw) Add(line []byte) {
	sum := crc32.Checksum(line, crc32.MakeTable(crc32.Castagnoli))
	if len(line) == 0 || len(d.Lines) >= d.Most && sum > d.sums[d.Most-1] {
		return
	}
	at, _ := slices.BinarySearch(d.sums, sum)
	for ; at < len(d.sums) && d.sums[at] == sum; at++ {
		if order := bytes.Compare(d.Lines[at], line); order == 0 {
			return
		} else if order > 0 {
			break
		}
	}
	d.Lines, d.sums = slices.Insert(d.Lines, at, bytes.Clone(line)), slices.Insert(d.sums, at, sum)
	n := min(len(d.Lines), d.Most)
	d.Lines, d.sums = d.Lines[:n], d.sums[:n]
}

// DrawPoints returns a job that draws lines of its input, most of them at most, and numbers them:
// "0 TAB line" and so on.
func DrawPoints(name string, most int) jobs.Job {
	return jobs.Job{
		Name: name, Reduces: 1, BuiltIn: true,
		NewMapper:  func() jobs.Mapper { return &drawMapper{pointDraw{Most: most}} },
		NewReducer: func() jobs.Reducer { return drawReducer{most} },
	}
}

// drawMapper draws from all blocks of an attempt.
type drawMapper struct{ pointDraw }

// Map adds the lines of a block to the draw.
func (m *drawMapper) Map(b jobs.Block, _ jobs.Emitter) error {
	for line := range b.Lines() {
		m.Add(line)
	}
	return nil
}

// Flush emits the lines of the draw, all with one key.
func (m *drawMapper) Flush(out jobs.Emitter) error {
	for _, line := range m.Lines {
		out.Emit(nil, line)
	}
	return nil
}

// drawReducer draws from the draws of all maps. The least sums of all lines are among the least
// sums of the maps.
type drawReducer struct{ most int }

// Reduce draws from the lines of all maps, and emits the result.
func (r drawReducer) Reduce(_ []byte, vs *jobs.Values, out jobs.Emitter) error {
	d := pointDraw{Most: r.most}
	for vs.Next() {
		d.Add(vs.Value())
	}
	for i, line := range d.Lines {
		out.Emit(strconv.AppendInt(nil, int64(i), 10), line)
	}
	return nil
}
