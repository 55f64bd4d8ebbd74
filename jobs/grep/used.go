package grep

import (
	"bytes"
	"io"
	"slices"

	"mrlocal/jobs"
	"mrlocal/jobs/internal/lines"
)

// Used implements jobs.PartUser, as GNU grep leaves its standard input: with -m behind the last
// selected line, also if lines after it are written (-A). All is used without -m, with -l and -L,
// and if the file has fewer lines. The frames have no offsets, so Used searches the start of the file once more.
func (r *releaser) Used(file int32, text io.Reader) (int64, error) {
	binary := r.binary == int64(file) // the mapper has stopped at its first line
	switch {
	case r.want == wantAny && r.records > 0 && r.file < int64(file): // the job has ended before the file
		return 0, nil
	case r.limit == 0:
		return 0, nil
	case r.want > wantCounts || !r.limited() || binary && r.limit > 1 || r.single && !binary && r.selected < r.limit:
		return -1, nil
	}
	s := newSearch(r.program)
	defer s.end()
	// The mappers have given back the memory that their automata charged.
	s.account(jobs.OwnAttempt{Charge: func(int64) bool { return true }})
	const leastBytes = 64 << 10
	buf, left, used := make([]byte, 0, leastBytes), r.limit, int64(0)
	for {
		n, err := io.ReadFull(text, buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		atEnd := err == io.EOF || err == io.ErrUnexpectedEOF
		if err != nil && !atEnd {
			return 0, err
		}
		whole := bytes.LastIndexByte(buf, r.eol) + 1
		if atEnd {
			whole = len(buf)
		}
		if r.eol == 0 {
			lines.Exchange(buf[:whole])
		}
		if end := r.skip(s, buf[:whole], &left); left == 0 {
			return used + int64(end), nil
		}
		if atEnd {
			return -1, nil
		}
		used += int64(whole)
		buf = append(buf[:0], buf[whole:]...)
		if len(buf) == cap(buf) { // a long line
			buf = slices.Grow(buf, cap(buf))
		}
	}
}

// skip subtracts the selected lines of data, which has whole lines, from left. If left becomes 0, it
// returns the end of the line.
func (r *releaser) skip(s *search, data []byte, left *int64) int {
	s.begin(data)
	s.tune()
	for from := 0; from < len(data); {
		start, end := s.line()
		low, next := min(start, len(data)), len(data)
		if start != none {
			next = min(end+1, next)
		}
		// With -v, the lines before the match are selected. Otherwise it is the line of the match.
		high := next
		if r.invert {
			low, high = from, low
		}
		for low < high {
			low = min(lineEnd(data[:high], low)+1, high)
			if *left--; *left == 0 {
				return low
			}
		}
		from = next
	}
	return 0
}
