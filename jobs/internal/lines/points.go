package lines

import (
	"bytes"
	"fmt"
	"strconv"

	"mrlocal/errs"
	"mrlocal/jobs"
)

// A point is a line of decimal numbers between blanks or commas, of any dimension. Coordinates are
// whole millionths, so that sums of them do not depend on their order. A result that is made of sums
// is then the same however the input is divided.
const (
	// unit is 1 in a coordinate.
	unit = 1_000_000
	// mostCoordinate is the largest absolute value of a coordinate, in units.
	mostCoordinate = 1_000_000
)

// parsePoint appends the coordinates of a point to dst. It fails if text has something else than
// numbers with at most 6 decimals, at most a million.
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
		n, digits, decimals := int64(0), 0, -1 // decimals: behind the point; -1: there is no point yet
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
			return dst, fmt.Errorf("%q is no coordinate: a number of at most 6 decimals up to %d", text[begin:min(len(text), begin+20)], mostCoordinate)
		}
		if negative {
			n = -n
		}
		dst = append(dst, n)
	}
}

// separatesNumbers reports whether c stands between coordinates.
func separatesNumbers(c byte) bool { return c == ' ' || c == ',' || c == '\t' || c == '\r' }

// AppendPoint appends a point as Parse reads it.
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
		dst = strconv.AppendInt(dst, unit+n%unit, 10) // a leading 1, so that zeros are written
		dst = append(dst[:at], dst[at+1:]...)
	}
	return dst
}

// points is a number of points of one dimension.
type points struct {
	Dimension int
	Number    int
	values    []float64 // in millionths, point by point
}

// parsePoints reads a point from each line of text. What stands before a TAB is the name of the
// point, and is left out. It fails if there is none, or if dimensions differ.
func parsePoints(text []byte) (s points, err error) {
	var point []int64
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if tab := bytes.IndexByte(line, '\t'); tab >= 0 {
			line = line[tab+1:]
		}
		if point, err = parsePoint(point[:0], line); err != nil {
			return points{}, err
		}
		if s.Number > 0 && len(point) != s.Dimension {
			return points{}, fmt.Errorf("one centroid has %d coordinates and another one %d", s.Dimension, len(point))
		}
		s.Dimension, s.Number = len(point), s.Number+1
		for _, n := range point {
			s.values = append(s.values, float64(n))
		}
	}
	if s.Number == 0 || s.Dimension == 0 {
		return points{}, fmt.Errorf("there are no centroids")
	}
	return s, nil
}

// Nearest returns the index of the point of the set that is nearest to p, the first one of
// several. p has the dimension of the set.
func (s *points) Nearest(p []int64) int {
	best, index := 0.0, 0
	for i := range s.Number {
		sum := 0.0
		for k, c := range s.values[i*s.Dimension : (i+1)*s.Dimension] {
			d := float64(p[k]) - c
			sum += float64(d * d) // the conversion keeps machines from fusing the two
		}
		if i == 0 || sum < best {
			best, index = sum, i
		}
	}
	return index
}

// PointsWithin reports whether no coordinate of two texts of centroids differs by more than tolerance.
// It is false if one of the texts is none.
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

// PointReader reads the points of blocks for a mapper that embeds it. The centroids are the side data
// of the attempt.
type PointReader struct {
	Centroids points
	Point     []int64 // at hand, borrowed until the next one

	err error // of the centroids
}

// Begin implements jobs.Attempter: it reads the centroids.
func (r *PointReader) Begin(a jobs.OwnAttempt) { r.Centroids, r.err = parsePoints(a.Side) }

// Each calls visit with the line of each point, and with the index of the nearest centroid. It
// fails with an error of kind errs.BadInput if a line is no point, or if there are no centroids.
func (r *PointReader) Each(b jobs.Block, visit func(line []byte, cluster int)) error {
	if r.err != nil {
		return errs.Inputf("centroids", "%w", r.err)
	}
	for line := range b.Lines() {
		var err error
		if r.Point, err = parsePoint(r.Point[:0], line); err != nil {
			return errs.Inputf(b.Path, "%w", err)
		}
		if len(r.Point) == 0 {
			continue
		}
		if len(r.Point) != r.Centroids.Dimension {
			return errs.Inputf(b.Path, "a point has %d coordinates and the centroids have %d", len(r.Point), r.Centroids.Dimension)
		}
		visit(line, r.Centroids.Nearest(r.Point))
	}
	return nil
}
