package papers

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"
)

const (
	// Unit is 1 in a coordinate.
	Unit = 1_000_000
	// most is the largest absolute value of a coordinate, in units.
	most = 1_000_000
)

// parsePoint appends the coordinates of a point to dst. It fails if text has something else than
// numbers with at most 6 decimals, at most a million.
func parsePoint(dst []int64, text []byte) ([]int64, error) {
	for at := 0; ; {
		for at < len(text) && separates(text[at]) {
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
		for ; at < len(text) && !separates(text[at]); at++ {
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
		if digits == 0 || decimals > 6 || digits-max(decimals, 0) > 7 || n > most*Unit {
			return dst, fmt.Errorf("%q is no coordinate: a number of at most 6 decimals up to %d", text[begin:min(len(text), begin+20)], most)
		}
		if negative {
			n = -n
		}
		dst = append(dst, n)
	}
}

// separates reports whether c stands between coordinates.
func separates(c byte) bool { return c == ' ' || c == ',' || c == '\t' || c == '\r' }

// appendPoint appends a point as Parse reads it.
func appendPoint(dst []byte, point []int64) []byte {
	for i, n := range point {
		if i > 0 {
			dst = append(dst, ' ')
		}
		if n < 0 {
			dst = append(dst, '-')
			n = -n
		}
		dst = append(strconv.AppendInt(dst, n/Unit, 10), '.')
		at := len(dst)
		dst = strconv.AppendInt(dst, Unit+n%Unit, 10) // a leading 1, so that zeros are written
		dst = append(dst[:at], dst[at+1:]...)
	}
	return dst
}

// pointSet is a number of points of one dimension.
type pointSet struct {
	Dimension int
	Number    int
	values    []float64 // in millionths, point by point
}

// parsePoints reads a point from each line of text. What stands before a TAB is the name of the
// point, and is left out. It fails if there is none, or if dimensions differ.
func parsePoints(text []byte) (*pointSet, error) {
	s := &pointSet{}
	var point []int64
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if tab := bytes.IndexByte(line, '\t'); tab >= 0 {
			line = line[tab+1:]
		}
		var err error
		if point, err = parsePoint(point[:0], line); err != nil {
			return nil, err
		}
		if s.Number > 0 && len(point) != s.Dimension {
			return nil, fmt.Errorf("one centroid has %d coordinates and another one %d", s.Dimension, len(point))
		}
		s.Dimension, s.Number = len(point), s.Number+1
		for _, n := range point {
			s.values = append(s.values, float64(n))
		}
	}
	if s.Number == 0 || s.Dimension == 0 {
		return nil, fmt.Errorf("there are no centroids")
	}
	return s, nil
}

// Nearest returns the index of the point of the set that is nearest to p, the first one of
// several. p has the dimension of the set.
func (s *pointSet) Nearest(p []int64) int {
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

// pointsWithin reports whether no coordinate of two texts of centroids differs by more than tolerance.
// It is false if one of the texts is none.
func pointsWithin(before, after []byte, tolerance float64) bool {
	s, err := parsePoints(before)
	other, errAfter := parsePoints(after)
	if err != nil || errAfter != nil || s.Number != other.Number || s.Dimension != other.Dimension {
		return false
	}
	for i, v := range s.values {
		if d := v - other.values[i]; d > tolerance*Unit || d < -tolerance*Unit {
			return false
		}
	}
	return true
}

// draw draws Most different lines: those with the least CRC-32C, and of equal ones those that
// sort first. So a draw does not depend on how the input is divided, and draws from parts can be
// drawn from again. It copies the lines that it keeps.
type draw struct {
	Most  int
	Lines [][]byte // by CRC-32C, then by their bytes

	sums []uint32 // of Lines
}

// Add offers a line, which is borrowed. Empty lines are not taken.
func (d *draw) Add(line []byte) {
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
